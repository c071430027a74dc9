//! QUIC flows: what a scenario says about them, and how they come by their protocol engines.
//!
//! The engines (quinn, noq) are [hosts from outside](super::outside): this crate knows none.
//! A program that has them [installs](install) them once at its start. A run of a QUIC
//! flow without them is refused ([`RunError::NoEngine`](crate::RunError::NoEngine)).

use std::sync::OnceLock;

use whyloss::Time;
use whyloss::congestion::ControllerSpec;

use super::outside::{Beginning, Host, Hosts};

/// A scenario's settings of a QUIC flow, but for its classifier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Whose protocol engine it is, at both ends.
    pub stack: Stack,
    /// The congestion control at the source.
    pub controller: Controller,
}

/// A protocol engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stack {
    /// `quinn-proto`.
    Quinn,
    /// `noq-proto`.
    Noq,
}

/// The congestion control at the source of a QUIC flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Controller {
    /// One of the stack's own, which knows no classifier.
    Own(Own),
    /// One of ours, under its policy.
    Ours(ControllerSpec),
}

/// A controller that the stacks bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// RFC 9002's.
    NewReno,
    /// CUBIC.
    Cubic,
    /// BBR: quinn's is version 1, noq's version 3. Both draw random numbers that no seed fixes.
    Bbr,
}

/// Makes the two ends of a QUIC flow.
pub type Engine = fn(&Options, Beginning) -> Hosts;

static ENGINE: OnceLock<Engine> = OnceLock::new();

/// Gives all runs of this process the engines that `engine` makes. Only the first call counts.
pub fn install(engine: Engine) {
    let _ = ENGINE.set(engine);
}

/// Whether engines are there.
pub(crate) fn is_installed() -> bool {
    ENGINE.get().is_some()
}

/// The two ends of a flow; without engines, ends that do nothing.
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
