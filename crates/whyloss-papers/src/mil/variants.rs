//! The variants of TCP that the paper compares, and those that its conclusion asks for.
//!
//! | variant | recovery | controller | classifier | a loss called wireless |
//! |---|---|---|---|---|
//! | NewReno | NewReno | Reno | unaware | – |
//! | NewRenoLDA (MIL-2) | NewReno | Reno | ideal | window kept |
//! | Westwood (MIL-3) | fast retransmit alone | UCLA's Westwood, a sample per acknowledgement | unaware | – |
//! | WestwoodLDA (MIL-4) | likewise | likewise | ideal | window kept, no sample from that acknowledgement |
//! | Vegas (MIL-5) | Vegas | Vegas | unaware | – |
//! | VegasLDA (MIL-6) | Vegas | Vegas | ideal | window and timeout kept |
//!
//! Westwood's equations 3 to 6 have the constants of the UCLA module for ns-2 (`tcp-westwood.cc` 1.3, filter type 1), so it is
//! that module: every third duplicate retransmits and is a loss, nothing inflates the window, and a timeout divides the
//! estimate by a factor that losses in slow start raise and losses in congestion avoidance reset. Who skips the congestion
//! action, as the LDA does, skips the factor's change with it.
//!
//! The ideal LDA (MIL-7) looks up the first lost packet, remembers what was corrupted once, and is not asked at
//! retransmission timeouts.

use whyloss::congestion::{ControllerKind, WirelessPolicy};
use whyloss_sim::decider::SenderDecider;
use whyloss_sim::host::tcp::{Dialect, Options, Recovery};

use crate::variant::{Variant, classifier};

/// Bytes of a data packet on the wire.
pub(crate) const PACKET: u32 = 1000;

/// Bytes that a packet counts for in the window: its payload.
pub(crate) const SEGMENT: u32 = PACKET - 40;
/// The receiver's window: never the limit (MIL-12).
const WINDOW: u32 = 10_000;

/// ns-2's TCP with its default timers and a sink that acknowledges every packet, as tcp-eval takes it.
fn base(recovery: Recovery) -> Options {
    Options {
        delayed_ack: None,
        ..Options::ns2(recovery, SEGMENT, WINDOW)
    }
}

/// The paper's ideal LDA (MIL-7).
pub(crate) fn ideal() -> SenderDecider {
    classifier(
        "oracle",
        &[("of", 1.0), ("remembers", 1.0), ("timeouts", 0.0)],
    )
}

/// A congestion scheme of the paper: the original, and the one with the LDA.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    pub(crate) plain: Variant,
    pub(crate) lda: Variant,
}

impl Scheme {
    /// The same with other options.
    pub(crate) fn with(&self, change: impl Fn(&mut Options)) -> Self {
        let mut scheme = self.clone();
        change(&mut scheme.plain.options);
        change(&mut scheme.lda.options);
        scheme
    }

    /// The same with another classifier.
    pub(crate) fn classified(&self, classifier: SenderDecider) -> Self {
        let mut scheme = self.clone();
        scheme.lda.classifier = classifier;
        scheme
    }

    fn new(plain: Variant, id: &'static str, name: &'static str) -> Self {
        let lda = plain.with(id, name, ideal(), WirelessPolicy::Keep);
        Self { plain, lda }
    }
}

/// NewReno and NewRenoLDA.
pub(crate) fn newreno() -> Scheme {
    let plain = Variant::plain(Recovery::NewReno, base(Recovery::NewReno));
    Scheme::new(plain, "newreno-lda", "NewRenoLDA")
}

/// Westwood and WestwoodLDA.
pub(crate) fn westwood() -> Scheme {
    let options = Options {
        limited_transmit: false,
        ..base(Recovery::FastRetransmit)
    };
    westwood_with(options, ControllerKind::westwood_ucla())
}

/// The equations alone, upon another recovery.
pub(crate) fn westwood_upon(recovery: Recovery, dialect: Dialect) -> Scheme {
    let options = Options {
        dialect,
        ..base(recovery)
    };
    westwood_with(options, ControllerKind::westwood())
}

/// Westwood and WestwoodLDA with these options and this controller.
pub(crate) fn westwood_with(options: Options, kind: ControllerKind) -> Scheme {
    let mut plain = Variant::plain(options.recovery, options);
    plain.options.controller.kind = kind;
    let plain = plain.with(
        "westwood",
        "Westwood",
        SenderDecider::unaware(),
        WirelessPolicy::Keep,
    );
    Scheme::new(plain, "westwood-lda", "WestwoodLDA")
}

/// Vegas and VegasLDA.
pub(crate) fn vegas() -> Scheme {
    let plain = Variant::plain(Recovery::Vegas, base(Recovery::Vegas));
    Scheme::new(plain, "vegas-lda", "VegasLDA")
}

/// What web servers use: ns-2's plain TCP, which PackMime takes by default, is Reno here.
pub(crate) fn web() -> Options {
    base(Recovery::Reno)
}
