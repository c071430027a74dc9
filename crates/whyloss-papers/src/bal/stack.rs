//! The paper's three TCPs on one stack, and what it leaves open about that stack.
//!
//! | open | chosen | why |
//! |---|---|---|
//! | whose TCP | that of [`ns2_of_2004`](crate::ns2_of_2004), Reno's for Reno and BaLDE | the paper cites ns-2 with that year |
//! | Westwood | UCLA's module, its repair of losses and its filter by time (m = 2) included | "We used the recent Westwood module of NS-2 in all comparisons" |
//! | acknowledgements | of every segment | ns-2's plain sink, the default |
//! | round trips | of every acknowledgement | LDEA wants one at each (BAL-3) |
//! | receiver's stamps | exact | ns-2's are; a real clock has ticks (BAL-2: 1 ms) |
//! | initial ssthresh | the receiver's window, which never limits (BAL-A4) | "set too high" |
//!
//! `bal-sensitivity` varies each of them.

use whyloss::Duration;
use whyloss::bandwidth::{DuplicateAcks, EstimatorSpec, WestwoodSpec};
use whyloss::congestion::{ControllerKind, Reaction, WestwoodOptions};
use whyloss::schemes;
use whyloss_sim::decider::Decider;
use whyloss_sim::host::tcp::{Options, Recovery};

use crate::ns2_of_2004;
use crate::variant::Variant;

/// Bytes of every data packet, and of a segment in windows and estimates.
pub(crate) const PACKET: u32 = 1000;
/// The receiver's window in segments: above any pipe and its buffer (2·BDP reaches 900 segments at 180 ms).
const WINDOW: u32 = 10_000;

/// Whose losses UCLA's module repairs in its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Module {
    /// Westwood's, whose module it is.
    #[default]
    Westwood,
    /// Those of all three.
    All,
    /// Nobody's: Westwood's equations stand on the common recovery.
    Nobody,
}

/// What the three have in common, and how two of them estimate.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// All but the controller.
    pub(crate) options: Options,
    /// Whose losses the module repairs.
    pub(crate) module: Module,
    /// Westwood's filter.
    pub(crate) westwood: WestwoodSpec,
    /// What duplicate acknowledgements count for in SARBE.
    pub(crate) duplicates: DuplicateAcks,
}

impl Default for Stack {
    fn default() -> Self {
        Self {
            options: Options {
                delayed_ack: None,
                ..ns2_of_2004::tcp(Recovery::Reno, PACKET, WINDOW)
            },
            module: Module::default(),
            westwood: WestwoodSpec::UCLA_TIMED,
            duplicates: DuplicateAcks::Wait,
        }
    }
}

impl Stack {
    /// A receiver whose time stamps have this tick.
    pub(crate) fn with_stamps(tick: Duration) -> Self {
        let mut stack = Self::default();
        stack.options.timestamp_tick = Some(tick);
        stack
    }

    /// TCP Reno.
    pub(crate) fn reno(&self) -> Variant {
        let mut options = self.options;
        if self.module == Module::All {
            options.recovery = Recovery::FastRetransmit;
            options.limited_transmit = false;
        }
        let variant = Variant::of_tcp("reno", "Reno", options);
        Variant {
            size: PACKET,
            ..variant
        }
    }

    /// TCP Westwood (BAL-1).
    pub(crate) fn westwood(&self) -> Variant {
        let mut options = WestwoodOptions::new(EstimatorSpec::Westwood(self.westwood));
        let mut variant = self.reno();
        if self.module != Module::Nobody {
            options.reaction = Reaction::Ucla;
            variant = variant.with_tcp(|base| *base = ns2_of_2004::module(*base));
        }
        variant.controlled("westwood", "Westwood", options)
    }

    /// TCP BaLDE: SARBE, LDEA, and the window kept at a loss that LDEA calls wireless (BAL-5 … BAL-7).
    pub(crate) fn balde(&self) -> Variant {
        let mut scheme = schemes::balde::scheme();
        scheme.controller.kind = ControllerKind::Balde(self.duplicates);
        self.reno()
            .with_tcp(|options| options.controller = scheme.controller)
            .classified(Decider::of(scheme.classifier))
            .called("balde", "BaLDE")
    }

    /// All three, in the paper's order.
    pub(crate) fn all(&self) -> [Variant; 3] {
        [self.reno(), self.westwood(), self.balde()]
    }
}
