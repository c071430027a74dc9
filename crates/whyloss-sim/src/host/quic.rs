//! QUIC flows: their settings in a scenario, and the installation of their protocol engines.
//!
//! The engines (quinn, noq) are [hosts from outside](super::outside), so this crate needs no QUIC
//! code. A program that has them [installs](install) them once at its start. Without them, a run
//! with a QUIC flow fails with [`RunError::NoEngine`](crate::RunError::NoEngine).

use std::sync::OnceLock;

use whyloss::Time;
use whyloss::congestion::ControllerSpec;

use super::outside::{Beginning, Host, Hosts};

/// The settings of a QUIC flow in a scenario, except for its classifier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The protocol engine at both ends.
    pub stack: Stack,
    /// The congestion control at the source.
    pub controller: Controller,
}

/// Names a QUIC protocol engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stack {
    /// The engine `quinn-proto`.
    Quinn,
    /// The engine `noq-proto`.
    Noq,
}

/// The congestion control at the source of a QUIC flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Controller {
    /// A controller of the stack itself, which uses no classifier.
    Own(Own),
    /// A controller of this project, under its policy.
    Ours(ControllerSpec),
}

/// Names a controller that the stacks provide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// NewReno (RFC 9002), as the stack implements it.
    NewReno,
    /// CUBIC, as the stack implements it.
    Cubic,
    /// BBR: version 1 in quinn, version 3 in noq. Both draw random numbers that no seed fixes.
    Bbr,
}

/// Creates the two ends of a QUIC flow.
pub type Engine = fn(&Options, Beginning) -> Hosts;

static ENGINE: OnceLock<Engine> = OnceLock::new();

/// Installs the QUIC engines that `engine` makes, for all runs of this process. Only the first call
/// counts.
pub fn install(engine: Engine) {
    let _ = ENGINE.set(engine);
}

/// Returns whether engines are installed.
pub(crate) fn is_installed() -> bool {
    ENGINE.get().is_some()
}

/// Creates the two ends of a flow; without engines, ends that do nothing.
pub(crate) fn hosts(options: &Options, beginning: Beginning) -> Hosts {
    match ENGINE.get() {
        Some(engine) => engine(options, beginning),
        None => nothing(),
    }
}

/// Makes two ends that do nothing.
pub(super) fn nothing() -> Hosts {
    Hosts {
        source: Box::new(Nothing),
        sink: Box::new(Nothing),
    }
}

/// An end that does nothing.
struct Nothing;

impl Host for Nothing {
    fn receive(&mut self, _now: Time, _datagram: &[u8]) {}

    fn wake(&mut self, _now: Time) {}

    fn next_timeout(&self) -> Time {
        Time::MAX
    }

    fn poll_transmit(&mut self, _now: Time, _datagram: &mut Vec<u8>) -> bool {
        false
    }
}
