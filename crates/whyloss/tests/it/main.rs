//! Properties of every algorithm of the registries, for any order of events. All are in one
//! program, so that only one is linked.

mod bunched;
mod iftp;
mod receiver;
mod sender;
