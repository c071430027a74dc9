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

use whyloss::congestion::{WestwoodOptions, WirelessPolicy};
use whyloss_sim::decider::SenderDecider;
use whyloss_sim::host::tcp::{Dialect, Options, Recovery};

use crate::variant::Variant;

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

/// A protocol of the paper: the original, and the one with the LDA.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) plain: Variant,
    pub(crate) lda: Variant,
}

impl Pair {
    /// The same with other options.
    pub(crate) fn with(&self, change: impl Fn(&mut Options)) -> Self {
        let mut pair = self.clone();
        pair.plain = pair.plain.with_tcp(&change);
        pair.lda = pair.lda.with_tcp(&change);
        pair
    }

    /// The same with another classifier.
    pub(crate) fn classified(&self, classifier: SenderDecider) -> Self {
        let mut pair = self.clone();
        pair.lda = pair.lda.classified(classifier);
        pair
    }

    /// The LDA variant under another name, with another reaction to a loss called wireless.
    pub(crate) fn reacting(
        &self,
        id: &'static str,
        name: &'static str,
        wireless: WirelessPolicy,
    ) -> Variant {
        let react = |options: &mut Options| options.controller.wireless = wireless;
        self.lda.clone().called(id, name).with_tcp(react)
    }

    fn named(plain: &str, lda: &str, options: Options) -> Self {
        Self {
            plain: Variant::named(plain, options),
            lda: Variant::named(lda, options),
        }
    }
}

/// NewReno and NewRenoLDA.
pub(crate) fn newreno() -> Pair {
    Pair::named("newreno", "newreno-lda", base(Recovery::NewReno))
}

/// Westwood and WestwoodLDA.
pub(crate) fn westwood() -> Pair {
    let options = Options {
        limited_transmit: false,
        ..base(Recovery::FastRetransmit)
    };
    let mut pair = Pair::named("westwood-ucla", "westwood-lda", options);
    pair.plain = pair.plain.called("westwood", "Westwood");
    pair
}

/// Westwood's equations alone: without the module's factor, and with its recovery or this one.
pub(crate) fn westwood_upon(other: Option<(Recovery, Dialect)>) -> Pair {
    westwood().with(|options| {
        if let Some((recovery, dialect)) = other {
            *options = Options {
                dialect,
                controller: options.controller,
                ..base(recovery)
            };
        }
        options.controller.kind = WestwoodOptions::per_ack().into();
    })
}

/// Vegas and VegasLDA.
pub(crate) fn vegas() -> Pair {
    Pair::named("vegas", "vegas-lda", base(Recovery::Vegas))
}

/// What web servers use: ns-2's plain TCP, which PackMime takes by default, is Reno here.
pub(crate) fn web() -> Options {
    base(Recovery::Reno)
}
