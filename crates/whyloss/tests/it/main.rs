//! Properties of every algorithm of the registries, for any order of events. All are in one
//! program, to link only once.

mod bunched;
mod iftp;
mod receiver;
mod sender;
