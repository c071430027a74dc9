//! Schemes: combinations of a classifier, a controller and a policy that papers publish under one
//! name. Each file defines one scheme or its variants. Scenarios, experiments, QUIC, `whyloss
//! kernel check` and Python use these definitions.
//!
//! | file | names | classifier | controller | a loss called wireless |
//! |---|---|---|---|---|
//! | [`newreno_lp`] | NewReno-LP, NewReno-Ideal-LP | Vegas predictor, or the truth | Reno | window = FlightSize |
//! | [`ideal_lda`] | NewRenoLDA, WestwoodLDA | the truth | Reno, Westwood | window kept |
//! | [`vegas`] | Vegas, VegasLDA | none, or the truth | Vegas | window and timeout kept |
//! | [`westwood`] | Westwood, as in the papers and in UCLA's module; Westwood+ | none | Westwood | – |
//! | [`westwood_nr`] | Westwood-NR | none | Westwood with ABSE | – |
//! | [`tibet`] | TIBET | none | Westwood with TIBET's filter | – |
//! | [`balde`] | TCP BaLDE | LDEA | BaLDE with SARBE | window kept, ssthresh set |
//! | [`veno`] | TCP Veno | Veno | Veno | window · 4/5 |
//! | [`whyloss`] | Whyloss, Whyloss over Reno | its own trees | CUBIC, Reno | cut by the odds |
//! | [`iftp`] | IFTP, IFTP-W | none | IFTP | – |
//! | [`iftpv`] | IFTPV | enhanced Veno | IFTP | rate kept, or 4/5 |
//! | [`tfrc`] | TFRC of Cen et al. with any receiver classifier | any | TFRC | not in the loss history |
//!
//! [`REGISTRY`] lists the schemes that run anywhere. [`IDEAL`] lists those that need true causes,
//! which only a simulation knows. [`IFTP`] lists the schemes for IFTP senders. Build any other
//! scheme from the names or values of its three parts:
//!
//! ```
//! use whyloss::congestion::{ControllerKind, CubicDialect, Start};
//! use whyloss::event::{AckEvent, Detection, LossEvent};
//! use whyloss::policy::WirelessPolicy;
//! use whyloss::schemes::{Scheme, find};
//! use whyloss::sender::trees::Trees;
//! use whyloss::{Cause, Duration, Time};
//!
//! let newreno_lp = find("newreno-lp").expect("registered").build(&[])?;
//! let cubic_trees = Scheme::of("cubic", "keep", "trees")?;
//! let same = Scheme::new(ControllerKind::Cubic(CubicDialect::Rfc9438), WirelessPolicy::Keep, Trees::default());
//! assert_eq!(cubic_trees, same);
//!
//! let mut control = cubic_trees.start(&Start::new(1200))?;
//! let now = Time::from_nanos(1_000_000_000);
//! let ack = AckEvent::new(now, 1200).acked(1200).acknowledged(1200).in_flight(10_800);
//! control.on_ack(&ack.window(12_000).rtt(Some(Duration::from_millis(50))));
//! let loss = LossEvent::new(now, Detection::Duplicates, 1200).first(1200);
//! let cause = control.on_loss(&loss.in_flight(12_000).window(13_200));
//! assert_eq!(cause, Cause::Congestion);
//! assert!(control.window() < 13_200);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Loss detection and recovery (NewReno's, Vegas's) belong to the transport. Each file names the
//! recovery that its paper uses.
//!
//! # Adding a scheme
//!
//! Add one file here, its `mod` line, and one line in [`REGISTRY`].

pub mod balde;
mod control;
pub mod ideal_lda;
pub mod iftp;
pub mod iftpv;
pub mod newreno_lp;
pub mod tfrc;
pub mod tibet;
pub mod vegas;
pub mod veno;
pub mod westwood;
pub mod westwood_nr;
pub mod whyloss;

pub use control::{CongestionControl, NeedsRateSamples};
pub use ideal_lda::{Lookup, LookupOf};

use core::fmt;

use crate::congestion::{
    self, ControllerKind, ControllerSpec, CopaModes, CubicDialect, Decrease, ScreamTarget, Start,
};
use crate::iftp::Options;
use crate::macros::entries;
use crate::policy::{self, WirelessPolicy};
use crate::receiver;
use crate::registry::{self, Name, ParameterError};
use crate::sender::fq_rtt::FqRtt;
use crate::sender::trees::Trees;
use crate::sender::{self, Classifier, Unaware};

/// A classifier, a controller and a policy that belong together.
///
/// `J` finds the causes of losses: a classifier in its initial state, or [what an oracle looks
/// up](Lookup). `C` controls congestion: a window controller with its policy, or the options of a
/// rate controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme<J = Classifier, C = ControllerSpec> {
    /// The congestion controller with its policy, or the options of a rate controller.
    pub controller: C,
    /// The classifier, or the lookup of an oracle.
    pub classifier: J,
}

impl<J, C> Scheme<J, C> {
    /// Replaces the scheme's classifier by `classifier`.
    pub fn classified<K>(self, classifier: K) -> Scheme<K, C> {
        self.map(|_| classifier)
    }

    /// Replaces the classifier by the result of `change`.
    pub fn map<K>(self, change: impl FnOnce(J) -> K) -> Scheme<K, C> {
        Scheme {
            controller: self.controller,
            classifier: change(self.classifier),
        }
    }
}

impl Scheme {
    /// Combines a controller, a policy and a classifier.
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

    /// Combines a controller, a policy and a classifier by their names in the registries, with
    /// default parameters.
    ///
    /// # Errors
    /// Returns an error if a registry has no such name.
    pub fn of(controller: &str, policy: &str, classifier: &str) -> Result<Self, SchemeError> {
        let kind = named("controller", congestion::find(controller), controller)?;
        let wireless = named("policy", policy::find(policy), policy)?;
        let classifier = named("classifier", sender::find(classifier), classifier)?;
        Ok(Self::new(kind, wireless, classifier))
    }

    /// Starts a connection under this scheme, for a transport that reports no rate samples.
    ///
    /// # Errors
    /// Returns an error if the controller wants rate samples. For a transport that reports them,
    /// use [`start_metered`](Self::start_metered); `connection::Connection` measures them itself.
    pub fn start(&self, start: &Start) -> Result<CongestionControl, NeedsRateSamples> {
        CongestionControl::new(self.classifier.clone(), self.controller.build(start))
    }

    /// Starts a connection under this scheme, for a transport that reports rate samples and lost
    /// packets.
    pub fn start_metered(&self, start: &Start) -> CongestionControl {
        CongestionControl::metered(self.classifier.clone(), self.controller.build(start))
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

/// Why a scheme cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SchemeError {
    /// The registry of this kind (controller, policy or classifier) has no such name.
    Unknown(&'static str, Name),
    /// The default parameters are not valid together.
    Parameter(ParameterError),
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(what, name) => match *what {
                "controller" => unknown(f, what, *name, congestion::REGISTRY),
                "policy" => unknown(f, what, *name, policy::REGISTRY),
                _ if receiver::find(name.as_str()).is_some() => {
                    write!(f, "`{name}` is a receiver classifier; senders have ")?;
                    list(f, sender::REGISTRY)
                }
                _ => unknown(f, what, *name, sender::REGISTRY),
            },
            Self::Parameter(error) => error.fmt(f),
        }
    }
}

/// Writes a message about an unknown name, with a similar name or all valid ones.
fn unknown<C>(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    name: Name,
    known: &[registry::Entry<C>],
) -> fmt::Result {
    write!(f, "no {what} is called `{name}`; ")?;
    match registry::nearest(name.as_str(), known.iter().map(|entry| entry.id)) {
        Some(near) => write!(f, "did you mean `{near}`?"),
        None => f.write_str("there are ").and_then(|()| list(f, known)),
    }
}

fn list<C>(f: &mut fmt::Formatter<'_>, known: &[registry::Entry<C>]) -> fmt::Result {
    for (index, entry) in known.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{}", entry.id)?;
    }
    Ok(())
}

impl core::error::Error for SchemeError {}

/// One line of the registry.
pub type Entry<J = Classifier, C = ControllerSpec> = registry::Entry<Scheme<J, C>>;

/// Returns a scheme without a classifier.
fn unaware(kind: impl Into<ControllerKind>) -> Scheme {
    Scheme::new(kind.into(), WirelessPolicy::default(), Unaware)
}

fn newreno() -> Scheme {
    unaware(ControllerKind::Reno(Decrease::FlightSize))
}

fn cubic(classifier: impl Into<Classifier>) -> Scheme {
    let kind = ControllerKind::Cubic(CubicDialect::Rfc9438);
    Scheme::new(kind, WirelessPolicy::Keep, classifier)
}

/// The schemes that need no knowledge of true causes, under their names in the literature.
pub static REGISTRY: &[Entry] = entries!(Scheme {
    "newreno", "NewReno", "Reno's window; every loss counts as congestion; for use with NewReno's recovery",
    "RFC 5681, RFC 6582", () => newreno();

    "newreno-lp", "NewReno-LP",
    "NewReno that sets its window to FlightSize at a loss while the Vegas predictor sees no queue",
    "Martignon & Fratta 2005, section 2", () => newreno_lp::scheme();

    "westwood", "Westwood",
    "sets the window to the estimated bandwidth-delay product at a loss; for use with Reno's recovery",
    "Casetti et al., MobiCom 2001; Milenkoski & Stojcevska 2010, section 3.2", () => westwood::scheme();

    "westwood-ucla", "Westwood (UCLA)",
    "Westwood as in UCLA's ns-2 module, which divides its estimate at timeouts; for use with fast retransmit alone",
    "tcp-westwood.cc 1.3, 2002; Milenkoski & Stojcevska 2010, section 3.2", () => westwood::ucla();

    "westwood-ucla-nr", "Westwood-NR (UCLA)",
    "Westwood as in UCLA's ns-2 module that derives from NewReno; for use with NewReno's recovery",
    "tcp-w-nr.cc 1.2, 2001; Martignon & Fratta 2005, section 3", () => westwood::ucla_newreno();

    "westwood-nr", "Westwood-NR", "Westwood with ABSE's estimate; for use with NewReno's recovery",
    "Wang et al., GLOBECOM 2002; Martignon & Fratta 2005, section 3", () => westwood_nr::scheme();

    "westwood-plus", "Westwood+",
    "Westwood with one sample per round trip; for use with NewReno's recovery",
    "Mascolo et al., CCR 34(2), 2004", () => westwood::plus();

    "tibet", "TIBET",
    "Westwood that filters segment sizes and gaps separately; for use with NewReno's recovery",
    "Capone, Fratta & Martignon, IEEE TMC 3(2), 2004", () => tibet::scheme();

    "balde", "BaLDE",
    "estimates bandwidth from the receiver's timestamps; keeps its window at a loss while LDEA sees no congestion",
    "Le & Hong, IEICE Trans. E89-B(4), 2006", () => balde::scheme();

    "veno", "Veno", "halves at a loss with three segments queued, and keeps four fifths with fewer",
    "Fu & Liew, IEEE JSAC 21(2), 2003", () => veno::scheme();

    "vegas", "Vegas", "keeps one to three segments in the queue; for use with Vegas's recovery",
    "Brakmo & Peterson, IEEE JSAC 13(8), 1995", () => vegas::scheme();

    "cubic", "CUBIC", "grows by a cubic function of the time since the last loss; every loss counts as congestion",
    "RFC 9438", () => cubic(Unaware);

    "cubic-fqrtt", "CUBIC with fqRTT",
    "CUBIC that keeps its window at a loss while the round-trip time is far from that of a full queue",
    "quicly, issue 687, 2026", () => cubic(FqRtt::default());

    "cubic-trees", "CUBIC with trees",
    "CUBIC that keeps its window at a loss that forty small decision trees call wireless",
    "this project, docs/evidence/classifier.md", () => cubic(Trees::default());

    "bbr", "BBR version 3", "paces at the measured bandwidth; reacts to losses above 2 %",
    "draft-ietf-ccwg-bbr-06, 2026", () => unaware(ControllerKind::Bbr);

    "copa", "Copa",
    "sets its rate by the queueing delay; reacts to losses only beside flows that fill the queue",
    "Arun & Balakrishnan, NSDI 2018", () => unaware(ControllerKind::Copa(CopaModes::Both));

    "scream", "SCReAM", "keeps a queueing delay of 0.1 to 0.4 s, for media; only the window",
    "RFC 8298, section 4.1.2", () => unaware(ControllerKind::Scream(ScreamTarget::Adapts));

    "whyloss", "Whyloss",
    "CUBIC that cuts its window less, or not at all, if a radio probably lost the packet",
    "this project, docs/reference/scheme.md", () => whyloss::scheme();

    "whyloss-reno", "Whyloss over Reno",
    "Reno that cuts its window less, or not at all, if a radio probably lost the packet",
    "this project, docs/reference/scheme.md", () => whyloss::reno();
});

/// The ideal schemes, which need the true cause of each loss.
pub static IDEAL: &[Entry<Lookup>] = entries!(Scheme<Lookup> {
    "newreno-ideal-lp", "NewReno-Ideal-LP", "NewReno-LP that knows the true causes",
    "Martignon & Fratta 2005, section 5.1", () => newreno_lp::ideal();

    "newreno-lda", "NewRenoLDA",
    "NewReno that knows which losses are wireless, and keeps its window at them",
    "Milenkoski & Stojcevska 2010, section 4.1", () => ideal_lda::ideal(newreno());

    "westwood-lda", "WestwoodLDA",
    "UCLA's Westwood that knows which losses are wireless, and keeps window and estimate at them",
    "Milenkoski & Stojcevska 2010, section 4.2", () => ideal_lda::ideal(westwood::ucla());

    "vegas-lda", "VegasLDA",
    "Vegas that knows which losses are wireless, and keeps window and timeout at them",
    "Milenkoski & Stojcevska 2010, section 4.3", () => ideal_lda::ideal(vegas::scheme());
});

/// The schemes for IFTP senders: the rate control and its classifier.
pub static IFTP: &[Entry<Classifier, Options>] = entries!(Scheme<Classifier, Options> {
    "iftp", "IFTP", "a rate that follows Reno's window; every loss counts as congestion",
    "ElAarag, Moedinger & Hogg 2008, section 4", () => iftp::scheme();

    "iftpv", "IFTPV",
    "IFTP that asks enhanced Veno: a random loss costs nothing, or a fifth while congestion losses get more frequent",
    "ElAarag, Moedinger & Hogg 2008, section 10.2", () => iftpv::scheme();
});

/// Returns the scheme of [`REGISTRY`] with this id; `None` if there is none.
pub fn find(id: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.id == id)
}

#[cfg(test)]
mod tests;
