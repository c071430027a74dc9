//! Schemes: a classifier, a controller and a policy that belong together, and the machine that runs them.
//!
//! The systems of the papers are such combinations and have names of their own ([`REGISTRY`]); any other is made of three
//! names, or of values:
//!
//! ```
//! use whyloss::congestion::{ControllerKind, CubicDialect, Start};
//! use whyloss::event::{AckEvent, Detection, LossEvent};
//! use whyloss::policy::WirelessPolicy;
//! use whyloss::scheme::{Scheme, find};
//! use whyloss::sender::fq_rtt::FqRtt;
//! use whyloss::{Cause, Duration, Time};
//!
//! let newreno_lp = find("newreno-lp").expect("registered").build(&[])?;
//! let cubic_fqrtt = Scheme::of("cubic", "keep", "fqrtt")?;
//! assert_eq!(
//!     cubic_fqrtt,
//!     Scheme::new(ControllerKind::Cubic(CubicDialect::Rfc9438), WirelessPolicy::Keep, FqRtt::default()),
//! );
//!
//! let mut control = cubic_fqrtt.start(&Start::new(1200));
//! let now = Time::from_nanos(1_000_000_000);
//! control.on_ack(&AckEvent::new(now, 1200).acked(1200).rtt(Some(Duration::from_millis(50))));
//! let cause = control.on_loss(&LossEvent::new(now, Detection::Duplicates, 1200).in_flight(12_000).window(13_200));
//! assert_eq!(cause, Cause::Congestion);
//! assert!(control.window() < 13_200);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Which recovery goes with a scheme (NewReno's, Vegas's) is the transport's business; the registry's lines say it where
//! the paper does. The papers' ideal variants are a scheme with an oracle for its classifier, which only a simulation or
//! an emulation can have.

use core::fmt;

use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::congestion::{
    self, AnyController, BacklogRtt, Controller, ControllerKind, ControllerSpec, CopaModes,
    CubicDialect, Decrease, ScreamTarget, Start, VegasDialect,
};
use crate::event::{AckEvent, Detection, LossEvent, SentEvent};
use crate::policy::{self, Governed, WirelessPolicy};
use crate::registry::{self, Name, ParameterError};
use crate::sender::vegas::Vegas;
use crate::sender::veno::Veno;
use crate::sender::{self, Classifier, SenderClassifier, Unaware};
use crate::{Cause, Rate, Time};

/// A classifier, a controller and a policy that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Which controller, under which policy.
    pub controller: ControllerSpec,
    /// What decides the causes of losses, at its start.
    pub classifier: Classifier,
}

impl Scheme {
    /// Puts the three together.
    pub fn new(
        kind: ControllerKind,
        wireless: WirelessPolicy,
        classifier: impl Into<Classifier>,
    ) -> Self {
        Self {
            controller: ControllerSpec { kind, wireless },
            classifier: classifier.into(),
        }
    }

    /// Puts together what the registries call by these names, with their default parameters.
    ///
    /// # Errors
    /// When a registry does not know its name.
    pub fn of(controller: &str, policy: &str, classifier: &str) -> Result<Self, SchemeError> {
        let kind = named("controller", congestion::find(controller), controller)?;
        let wireless = named("policy", policy::find(policy), policy)?;
        let classifier = named("classifier", sender::find(classifier), classifier)?;
        Ok(Self::new(kind, wireless, classifier))
    }

    /// Starts a connection under this scheme.
    pub fn start(&self, start: &Start) -> CongestionControl {
        CongestionControl::new(self.classifier.clone(), self.controller.build(start))
    }
}

fn named<C>(
    what: &'static str,
    entry: Option<&registry::Entry<C>>,
    id: &str,
) -> Result<C, SchemeError> {
    let unknown = || SchemeError::Unknown(what, Name::new(id));
    let entry = entry.ok_or_else(unknown)?;
    entry.build(&[]).map_err(SchemeError::Parameter)
}

/// Why a scheme cannot be put together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SchemeError {
    /// No controller, policy or classifier (which of them comes first) has this name.
    Unknown(&'static str, Name),
    /// The defaults do not go together.
    Parameter(ParameterError),
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(what, name) => write!(f, "no {what} is called `{name}`"),
            Self::Parameter(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SchemeError {}

/// A connection under a scheme: told what happens to it, it says how much may be under way.
///
/// It tells the classifier and the controller of everything in the order that both expect, asks the one for causes and
/// has the other act upon them under its policy. Any classifier and any controller will do, also one's own. The calls and
/// when they are due are those of the [controllers' contract](crate::congestion).
#[derive(Clone, Debug)]
pub struct CongestionControl<S = Classifier, C = AnyController> {
    classifier: S,
    control: Governed<C>,
    /// cwnd and ssthresh before the last loss event, if that can be undone.
    before: Option<(u64, u64)>,
}

impl<S: SenderClassifier, C: Controller> CongestionControl<S, C> {
    /// Puts a classifier and a controller under its policy together.
    pub fn new(classifier: S, control: Governed<C>) -> Self {
        Self {
            classifier,
            control,
            before: None,
        }
    }

    /// The classifier, to look at.
    pub fn classifier(&self) -> &S {
        &self.classifier
    }

    /// The controller under its policy, to look at.
    pub fn control(&self) -> &Governed<C> {
        &self.control
    }

    /// A packet leaves.
    #[inline]
    pub fn on_sent(&mut self, sent: &SentEvent) {
        self.classifier.on_sent(sent);
        self.control.on_sent(sent);
    }

    /// An acknowledgement arrives; before it, if the controller [wants](Governed::wants_rate_samples) one, its
    /// [rate sample](Self::on_rate_sample).
    #[inline]
    pub fn on_ack(&mut self, ack: &AckEvent) {
        self.classifier.on_ack(ack);
        self.control.on_ack(ack);
    }

    /// An acknowledgement shows a delivery rate.
    pub fn on_rate_sample(&mut self, sample: &RateSample) {
        self.control.on_rate_sample(sample);
    }

    /// A loss event, a timeout, persistent congestion or ECN marks: answers with the cause it was given.
    pub fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let cause = if loss.detection == Detection::EcnCe {
            Cause::Congestion
        } else {
            self.classifier.on_loss(loss)
        };
        self.before = Some((self.control.window(), self.control.ssthresh()));
        if loss.detection.is_timeout() {
            self.control.on_timeout(loss, cause);
        } else {
            self.control.on_loss(loss, cause);
        }
        cause
    }

    /// A packet is marked as lost, after the loss event it belongs to.
    pub fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.control.on_packet_lost(packet);
    }

    /// A recovery ends; the window must not exceed `at_most` now ([`u64::MAX`]: no such bound).
    pub fn on_recovery_end(&mut self, now: Time, at_most: u64) {
        self.control.on_recovery_end(now, at_most);
    }

    /// All that the last loss event called lost has arrived: what it did to the window is undone. Does nothing the second
    /// time.
    pub fn on_spurious_loss(&mut self, now: Time) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.control.on_spurious_loss(now, cwnd, ssthresh);
        }
    }

    /// Full segments have `segment_size` bytes from now on.
    pub fn on_mtu_change(&mut self, segment_size: u32) {
        self.control.on_mtu_change(segment_size);
    }

    /// How many bytes may be under way; at least one segment.
    #[inline]
    pub fn window(&self) -> u64 {
        self.control.window()
    }

    /// The slow start threshold in bytes; [`u64::MAX`] if there is none (yet).
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }

    /// The rate to pace packets at; `None`: as acknowledgements clock them.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }
}

/// One line of the registry.
pub type Entry = registry::Entry<Scheme>;

/// A scheme without a classifier of its own.
fn unaware(kind: ControllerKind) -> Scheme {
    Scheme::new(kind, WirelessPolicy::default(), Unaware)
}

/// Every scheme that has a name in the literature.
pub static REGISTRY: &[Entry] = &[
    Entry::new(
        ("newreno", "NewReno"),
        "Reno's window, every loss congestion; goes with NewReno's recovery",
        "RFC 5681, RFC 6582",
        &[],
        |_| Ok(unaware(ControllerKind::Reno(Decrease::FlightSize))),
    ),
    Entry::new(
        ("newreno-lp", "NewReno-LP"),
        "NewReno that takes a loss for wireless while the Vegas predictor sees no queue: the window becomes FlightSize",
        "Martignon & Fratta 2005, section 2",
        &[],
        |_| {
            Ok(Scheme::new(
                ControllerKind::Reno(Decrease::FlightSize),
                WirelessPolicy::FlightSize,
                Vegas::predictor(),
            ))
        },
    ),
    Entry::new(
        ("westwood", "Westwood"),
        "at a loss, what the acknowledgements' rate fills; goes with Reno's recovery",
        "Casetti et al., MobiCom 2001; Milenkoski & Stojcevska 2010, section 3.2",
        &[],
        |_| Ok(unaware(ControllerKind::westwood())),
    ),
    Entry::new(
        ("westwood-nr", "Westwood-NR"),
        "Westwood with ABSE's estimate; goes with NewReno's recovery",
        "Wang et al., GLOBECOM 2002; Martignon & Fratta 2005, section 3",
        &[],
        |_| Ok(unaware(ControllerKind::westwood_nr())),
    ),
    Entry::new(
        ("westwood-plus", "Westwood+"),
        "Westwood with one sample per round trip; goes with NewReno's recovery",
        "Mascolo et al., CCR 34(2), 2004",
        &[],
        |_| Ok(unaware(ControllerKind::westwood_plus())),
    ),
    Entry::new(
        ("tibet", "TIBET"),
        "Westwood with segment sizes and gaps filtered apart; goes with NewReno's recovery",
        "Capone, Fratta & Martignon, IEEE TMC 3(2), 2004",
        &[],
        |_| Ok(unaware(ControllerKind::tibet())),
    ),
    Entry::new(
        ("balde", "BaLDE"),
        "the bandwidth by the receiver's stamps; the window stays where LDEA sees no incipient congestion",
        "Le & Hong, IEICE Trans. E89-B(4), 2006",
        &[],
        |_| {
            Ok(Scheme::new(
                ControllerKind::balde(),
                WirelessPolicy::KeepWindow,
                Vegas::ldea(),
            ))
        },
    ),
    Entry::new(
        ("veno", "Veno"),
        "half at a loss with three segments queued, four fifths with less",
        "Fu & Liew, IEEE JSAC 21(2), 2003",
        &[],
        |_| {
            Ok(Scheme::new(
                ControllerKind::Veno(BacklogRtt::LastRound),
                WirelessPolicy::Percent(80),
                Veno::paper(),
            ))
        },
    ),
    Entry::new(
        ("vegas", "Vegas"),
        "one to three segments in the queues; goes with Vegas's recovery",
        "Brakmo & Peterson, IEEE JSAC 13(8), 1995",
        &[],
        |_| Ok(unaware(ControllerKind::Vegas(VegasDialect::Paper))),
    ),
    Entry::new(
        ("cubic", "CUBIC"),
        "a cubic function of the time since the last loss, every loss congestion",
        "RFC 9438",
        &[],
        |_| Ok(unaware(ControllerKind::Cubic(CubicDialect::Rfc9438))),
    ),
    Entry::new(
        ("cubic-fqrtt", "CUBIC with fqRTT"),
        "CUBIC that keeps its window at a loss while the round-trip time is far from that of a full queue",
        "quicly, issue 687, 2026",
        &[],
        |_| Scheme::of("cubic", "keep", "fqrtt").map_err(|_| "its parts in the registries"),
    ),
    Entry::new(
        ("bbr", "BBR version 3"),
        "paces at the measured bandwidth; heeds losses above 2 %",
        "draft-ietf-ccwg-bbr-06, 2026",
        &[],
        |_| Ok(unaware(ControllerKind::Bbr)),
    ),
    Entry::new(
        ("copa", "Copa"),
        "the rate that the queueing delay allows; heeds losses only beside flows that fill the queue",
        "Arun & Balakrishnan, NSDI 2018",
        &[],
        |_| Ok(unaware(ControllerKind::Copa(CopaModes::Both))),
    ),
    Entry::new(
        ("scream", "SCReAM"),
        "a queueing delay of 0.1 to 0.4 s, for media; its window alone",
        "RFC 8298, section 4.1.2",
        &[],
        |_| Ok(unaware(ControllerKind::Scream(ScreamTarget::Adapts))),
    ),
];

/// Finds the scheme of that id.
pub fn find(id: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.id == id)
}

#[cfg(test)]
mod tests;
