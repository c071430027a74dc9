//! Properties of every algorithm of the registries, for any order of events. One program, which is
//! linked once.

mod bunched;
mod iftp;
mod receiver;
mod sender;
