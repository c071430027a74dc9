//! Diagnoses as their users ask for them. One program, so that what these tests have in common is
//! compiled and linked once.

mod anonymise;
mod captures;
mod encapsulations;
mod limits;
mod network;
mod networks;
mod rtp;
mod truth;
