//! What holds for every algorithm of the registries, whatever the order of events. One program, which is linked once.

mod bunched;
mod iftp;
mod receiver;
mod sender;
