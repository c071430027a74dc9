//! Brings loss differentiation to QUIC: any sender classifier, controller and policy of
//! [`whyloss`], as a congestion controller of quinn and noq.
//!
//! [`SchemeConfig`] is a factory for both stacks. Enable the feature of your stack; without it,
//! `ControllerFactory` is not implemented.
//!
//! ```toml
//! [dependencies]
//! # Not on crates.io yet.
//! whyloss = { git = "https://github.com/whyloss/whyloss" }
//! whyloss-quic = { git = "https://github.com/whyloss/whyloss", features = ["quinn"] }
//! ```
//!
//! With quinn, pass the factory to the `TransportConfig`:
//!
//! ```
//! use std::sync::Arc;
//! use whyloss_quic::SchemeConfig;
//!
//! let scheme = whyloss::schemes::find("whyloss").expect("registered").build(&[])?;
//! let factory = Arc::new(SchemeConfig::new(scheme));
//! // transport.congestion_controller_factory(factory);
//! # drop(factory);
//! # Ok::<(), whyloss::registry::ParameterError>(())
//! ```
//!
//! `examples/transfer.rs` is a complete program that sends a file; build it with `--features
//! sockets`.
//!
//! With the feature `sim`, both stacks' protocol engines are hosts of
//! `whyloss-sim` (`transport = { kind = "quic", stack = "quinn" }` in scenarios).
//!
//! # Reports of the stacks
//!
//! | | quinn-proto 0.11 | noq-proto 1 |
//! |---|---|---|
//! | acknowledged packets | send time and size | also their numbers |
//! | lost packets | send time of the last, bytes of all | each, by number |
//! | number of losses | – (several if they exceed a packet's bytes) | yes |
//! | pure ACKs | only when sent | only when lost, without bytes |
//! | MTU probes | only when acknowledged | when sent |
//! | spurious losses | – | yes |
//! | whether the window limits the sender | – (inferred from bytes in flight) | yes |
//! | send time of an acknowledgement | – | – |
//! | peer's ACK delay | subtracted only from the smoothed RTT, a batch late | as in quinn |
//! | probe timeouts | – | – |
//! | pacing | by window and RTT; logs the controller's rate | by the controller's rate, if any |
//!
//! [`whyloss::connection`] infers what quinn does not report. If a report is ambiguous, it
//! attributes the loss to an earlier packet of the same burst. Round-trip times come from the
//! newest packet of an acknowledgement and include the peer's delay: a peer acknowledges two
//! packets together, or a single one after up to 25 ms. The stacks hide the receiver's clock, so
//! controllers that need it (BaLDE) use the sender's.
//!
//! Losses are found by packets or time (RFC 9002 §6.1) and reported once per recovery period
//! (§7.3.2) and at persistent congestion (§7.6). ECN marks count as congestion. The window never
//! falls below two packets. With quinn, only the window enforces BBR's rate.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "quinn", feature = "noq")),
    allow(dead_code, reason = "used only by the stack whose feature is off")
)]

#[doc(hidden)]
pub mod bench;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(feature = "sim")]
pub mod sim;

use std::time::Instant;

use whyloss::Time;
use whyloss::congestion::{ControllerSpec, Start};
use whyloss::connection::Connection;
use whyloss::schemes::{CongestionControl, Scheme};
use whyloss::sender::{Classifier, SenderClassifier};

/// Creates a congestion controller for each connection, from a classifier, a controller and a
/// policy.
///
/// Implements quinn's `ControllerFactory` with the feature `quinn`, and noq's with `noq`.
#[derive(Clone, Debug)]
pub struct SchemeConfig<S = Classifier> {
    classifier: S,
    controller: ControllerSpec,
    initial_window: Option<u64>,
}

impl SchemeConfig {
    /// Creates controllers of this scheme, with the initial window of RFC 9002.
    pub fn new(scheme: Scheme) -> Self {
        Self::with(scheme.classifier, scheme.controller)
    }
}

impl<S: SenderClassifier + Clone> SchemeConfig<S> {
    /// Uses a custom classifier, which is cloned for each connection.
    pub fn with(classifier: S, controller: ControllerSpec) -> Self {
        Self {
            classifier,
            controller,
            initial_window: None,
        }
    }

    /// Sets the initial window in bytes.
    pub fn initial_window(&mut self, bytes: u64) -> &mut Self {
        self.initial_window = Some(bytes);
        self
    }

    fn start(&self, mtu: u16) -> Start {
        let start = Connection::<S>::start(mtu.into());
        Start {
            initial_window: self.initial_window.unwrap_or(start.initial_window),
            ..start
        }
    }

    fn connection(&self, mtu: u16) -> Connection<S> {
        let controller = self.controller.build(&self.start(mtu));
        let control = CongestionControl::metered(self.classifier.clone(), controller);
        Connection::with(control, mtu.into())
    }
}

/// Converts the stack's clock to time since the connection began.
#[derive(Clone, Copy, Debug)]
struct Clock {
    epoch: Instant,
    /// The last conversion, kept because most callbacks share an instant and a conversion is slow.
    last: (Instant, Time),
}

impl Clock {
    fn new(epoch: Instant) -> Self {
        let last = (epoch, Time::ZERO);
        Self { epoch, last }
    }

    /// Returns the current time and remembers the conversion.
    #[inline]
    fn now(&mut self, now: Instant) -> Time {
        if now != self.last.0 {
            self.last = (now, self.time(now));
        }
        self.last.1
    }

    /// Converts an instant into the time since the epoch.
    #[inline]
    fn time(self, then: Instant) -> Time {
        then.saturating_duration_since(self.epoch).into()
    }

    /// Returns when a packet left; `None` if it left before the epoch. Such a packet took another
    /// path, so its round trip and loss say nothing about this one.
    #[inline]
    fn departure(self, sent: Instant) -> Option<Time> {
        sent.checked_duration_since(self.epoch).map(Time::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "only the epoch: all else is virtual time"
    )]
    fn packets_of_an_old_path_have_no_departure() {
        let before = Instant::now();
        let epoch = before + Duration::from_millis(1);
        let clock = Clock::new(epoch);
        let after = |ms| epoch + Duration::from_millis(ms);
        assert_eq!(clock.departure(epoch), Some(Time::ZERO));
        assert_eq!(clock.departure(after(5)), Some(clock.time(after(5))));
        assert_eq!(clock.departure(before), None);
    }
}
