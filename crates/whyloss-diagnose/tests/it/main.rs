//! Tests diagnoses through the public interface. All tests are one program, to compile and link
//! only once.

mod anonymise;
mod captures;
mod encapsulations;
mod limits;
mod network;
mod networks;
mod rtp;
mod truth;
