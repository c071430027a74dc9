//! Loss differentiation in QUIC: any sender classifier with any controller and policy of
//! [`whyloss`], as a congestion controller of quinn and noq.
//!
//! [`SchemeConfig`] is a factory for both stacks; each needs the feature of its name, or the
//! compiler says that `ControllerFactory` is not implemented for it:
//!
//! ```toml
//! [dependencies]
//! whyloss = "0.1"
//! whyloss-quic = { version = "0.1", features = ["quinn"] }
//! ```
//!
//! A program that uses quinn hands the factory to its `TransportConfig`:
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
//! `examples/transfer.rs` is a program around them that sends a file; `--features sockets` builds
//! it.
//!
//! With the feature `sim`, both stacks' protocol engines are hosts of
//! `whyloss-sim` (`transport = { kind = "quic", stack = "quinn" }` in scenarios).
//!
//! # Reports of the stacks
//!
//! | | quinn-proto 0.11 | noq-proto 1 |
//! |---|---|---|
//! | which packet is acknowledged | the time it was sent at, and its size | and its number |
//! | which packets are lost | the time the last of them was sent at, and the bytes of all | each, with its number |
//! | how many are lost | – (more than one if they are more than a packet's bytes) | yes |
//! | what else was sent | acknowledgements alone are told as sent, and never as acknowledged or lost; probes for a larger MTU are told as acknowledged alone | both are told as sent |
//! | a loss was spurious | – | yes |
//! | the window stopped the sender | – (inferred from what is under way) | yes |
//! | when the peer sent its acknowledgement | – | – |
//! | the peer's delay | taken off the smoothed round-trip time only, which comes a batch late | likewise |
//! | a probe timeout | – | – |
//! | pacing | by window and round-trip time; a controller's rate is for its log | by the controller's rate, if it has one |
//!
//! What quinn does not say, the ledger of [`whyloss::connection`] fills in; where it has to guess,
//! a loss is taken for an earlier one than it was, by less than a burst. Round-trip times are
//! measured here, from the newest packet of an acknowledgement, with the peer's delay: two packets
//! are acknowledged at once, a lone one after up to 25 ms. Nothing is told of the receiver's clock,
//! so controllers that need it (BaLDE) measure with the sender's.
//!
//! Losses are told once per recovery period (RFC 9002 §7.3.2), found by packets or time (§6.1), and
//! at persistent congestion (§7.6); ECN marks are congestion. The window never falls below two
//! packets. With quinn, BBR's rate is kept by its window alone.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "quinn", feature = "noq")),
    allow(dead_code, reason = "what only the stack that is missing tells")
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

/// Makes the congestion controllers of connections: a classifier, a controller and a policy.
///
/// With the feature `quinn` it is a `ControllerFactory` of quinn, with the feature `noq` one of
/// noq.
#[derive(Clone, Debug)]
pub struct SchemeConfig<S = Classifier> {
    classifier: S,
    controller: ControllerSpec,
    initial_window: Option<u64>,
}

impl SchemeConfig {
    /// Controllers under this scheme, with the initial window of RFC 9002.
    pub fn new(scheme: Scheme) -> Self {
        Self::with(scheme.classifier, scheme.controller)
    }
}

impl<S: SenderClassifier + Clone> SchemeConfig<S> {
    /// Controllers with a classifier of one's own, of which each connection gets a copy.
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

/// The stack's clock as ours: time since the connection began.
#[derive(Clone, Copy, Debug)]
struct Clock {
    epoch: Instant,
    /// The last present, which most callbacks share with the one before: to tell time from an
    /// `Instant` takes longer than much of what follows.
    last: (Instant, Time),
}

impl Clock {
    fn new(epoch: Instant) -> Self {
        let last = (epoch, Time::ZERO);
        Self { epoch, last }
    }

    /// The present.
    #[inline]
    fn now(&mut self, now: Instant) -> Time {
        if now != self.last.0 {
            self.last = (now, self.time(now));
        }
        self.last.1
    }

    /// Some time before.
    #[inline]
    fn time(self, then: Instant) -> Time {
        then.saturating_duration_since(self.epoch).into()
    }
}
