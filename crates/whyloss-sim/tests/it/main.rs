//! Tests the simulator through its public interface. All tests are one program, to compile and link
//! only once.

#![allow(
    clippy::single_range_in_vec_init,
    reason = "lists of one range are meant"
)]

mod aqm;
mod bit_errors;
mod copa;
mod delays;
mod ecn;
mod example_scenarios;
mod handovers;
mod iftp;
mod modern_controllers;
mod observers;
mod practitioners;
mod recovery;
mod scenario_messages;
mod scenario_properties;
mod scream;
mod script;
mod supplied;
mod tcp_against_ns2;
mod tcp_pair;
mod tcp_scripts;
mod tcp_vegas_scripts;
mod tiny;
mod traces;
mod transfers;
