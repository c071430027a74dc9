//! The paper's three TCPs on one stack, and what it leaves open about that stack.
//!
//! | open | chosen | why |
//! |---|---|---|
//! | whose TCP | ns-2's, with its Reno recovery for all three | the paper ran ns-2's Reno and UCLA's module, an heir of it |
//! | acknowledgements | of every segment | ns-2's plain sink, the default |
//! | round trips | of every acknowledgement | LDEA wants one at each (BAL-3) |
//! | RTO | 6 s at first, at least 1 s, ticks of 10 ms | ns-2 of 2004, which the paper cites: 0.2 s are its default since October 2004, 3 s since 2006 |
//! | receiver's stamps | exact | ns-2's are; a real clock has ticks (BAL-2: 1 ms) |
//! | initial ssthresh | the receiver's window, which never limits (BAL-A4) | "set too high" |
//!
//! `bal-sensitivity` varies each of them.

use whyloss::Duration;
use whyloss::bandwidth::{DuplicateAcks, EstimatorSpec, WestwoodSpec};
use whyloss::congestion::{ControllerKind, WestwoodOptions, WirelessPolicy};
use whyloss_sim::host::tcp::{Options, Recovery, RtoOptions, RttSampling};

use crate::variant::{Variant, classifier};

/// Bytes of every data packet, and of a segment in windows and estimates.
pub(crate) const PACKET: u32 = 1000;
/// The receiver's window in segments: above any pipe and its buffer (2·BDP reaches 900 segments at 180 ms).
const WINDOW: u32 = 10_000;

/// What the three have in common, and how two of them estimate.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// All but the controller.
    pub(crate) options: Options,
    /// Westwood's filter.
    pub(crate) westwood: WestwoodSpec,
    /// What duplicate acknowledgements count for in SARBE.
    pub(crate) duplicates: DuplicateAcks,
}

impl Default for Stack {
    fn default() -> Self {
        Self {
            options: Options {
                rtt_sampling: RttSampling::EveryAck,
                timestamp_tick: Some(Duration::from_nanos(1)),
                rto: RtoOptions {
                    initial: Duration::from_secs(6),
                    min: Duration::from_secs(1),
                    ..RtoOptions::ns2()
                },
                delayed_ack: None,
                ..Options::ns2(Recovery::Reno, PACKET, WINDOW)
            },
            westwood: WestwoodSpec::TIMED,
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
        Variant {
            id: "reno",
            name: "Reno",
            ..Variant::plain(self.options.recovery, self.options)
        }
    }

    /// TCP Westwood (BAL-1).
    pub(crate) fn westwood(&self) -> Variant {
        let estimator = EstimatorSpec::Westwood(self.westwood);
        self.controlled(ControllerKind::Westwood(WestwoodOptions::new(estimator)))
            .with(
                "westwood",
                "Westwood",
                classifier("unaware", &[]),
                WirelessPolicy::default(),
            )
    }

    /// TCP BaLDE: SARBE, LDEA, and the window kept at a loss that LDEA calls wireless (BAL-5 … BAL-7).
    pub(crate) fn balde(&self) -> Variant {
        self.controlled(ControllerKind::Balde(self.duplicates))
            .with(
                "balde",
                "BaLDE",
                classifier("ldea", &[]),
                WirelessPolicy::KeepWindow,
            )
    }

    /// All three, in the paper's order.
    pub(crate) fn all(&self) -> [Variant; 3] {
        [self.reno(), self.westwood(), self.balde()]
    }

    fn controlled(&self, kind: ControllerKind) -> Variant {
        let mut variant = self.reno();
        variant.options.controller.kind = kind;
        variant
    }
}
