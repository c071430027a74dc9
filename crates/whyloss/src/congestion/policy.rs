//! What a loss called wireless does to the window: a policy around any controller, so that any classifier can be paired
//! with any of them.
//!
//! ```text
//! policy                 3 duplicates                                     timeout (cwnd = SMSS always)
//! as congestion          what the controller does at congestion           likewise
//! keep                   nothing at all                                   ssthresh = max(cwnd, ssthresh)
//! keep window            the window stays, what else the algorithm does   as keep
//!                        at a loss is done (estimate, timeout, ssthresh)
//! flight size            cwnd = ssthresh = FlightSize (NewReno-LP)        ssthresh = FlightSize
//! percent p              cwnd = ssthresh = max(p·cwnd/100, 2·SMSS)        ssthresh likewise
//! keep unless queued p   as congestion if RTT − RTT_min > p·RTT_min/100,  likewise
//!                        else keep
//! ```
//!
//! A repeated timeout leaves ssthresh as it is (RFC 5681 §3.1): what is under way then is a lone retransmission, which
//! says nothing about the path.
//!
//! Sources: keep, Milenkoski & Stojcevska 2010 section 4 (MIL-2, -4, -6); keep window, their section 8 (MIL-8); flight
//! size, Martignon & Fratta 2005 section 2 (MAR-3, -A5); percent, TCP Veno and Feno take 80 (MIL-8); keep unless queued,
//! after Papadimitriou et al. 2010, whose threshold is not printed where we could read it (MIL-8).

use super::{AnyController, Controller};
use crate::event::LossEvent;
use crate::{Cause, Time};

/// What a loss called wireless does to the window. See the table at the [controllers](crate::congestion).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WirelessPolicy {
    /// Nothing: the segment is retransmitted, and the controller does not hear of the loss.
    #[default]
    Keep,
    /// The window stays, but what else the algorithm does at a loss is done: Westwood goes on estimating, Vegas raises
    /// its timeout, BaLDE sets ssthresh.
    KeepWindow,
    /// The same as a congestion loss.
    AsCongestion,
    /// ssthresh and the window become what was under way (NewReno-LP).
    FlightSize,
    /// The window shrinks to so many percent.
    Percent(u8),
    /// [`WirelessPolicy::Keep`] unless the queueing delay exceeds so many percent of the smallest round-trip time.
    KeepUnlessQueued(u16),
}

/// How much of a loss called wireless a controller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spared {
    /// The algorithm shall behave as if it had not noticed, in whatever the revealing acknowledgement changed as well
    /// (MIL-4, MIL-6).
    Wholly,
    /// Only the window stays.
    Window,
}

/// A controller and its policy about losses called wireless.
#[derive(Clone, Debug)]
pub struct Governed<C = AnyController> {
    /// The controller.
    pub controller: C,
    policy: WirelessPolicy,
    segment_size: u32,
    spares_losses: bool,
}

impl<C: Controller> Governed<C> {
    /// `controller` under `policy`, in segments of `segment_size` bytes.
    pub fn new(controller: C, policy: WirelessPolicy, segment_size: u32) -> Self {
        Self {
            controller,
            policy,
            segment_size: segment_size.max(1),
            spares_losses: false,
        }
    }

    /// Whether the loss event told last was not treated as congestion: then the controller shall not be told of its
    /// packets either ([`Controller::on_packet_lost`]).
    pub fn spares_losses(&self) -> bool {
        self.spares_losses
    }

    /// A recovery begins, for a loss of this cause.
    pub fn on_loss(&mut self, loss: &LossEvent, cause: Cause) {
        let policy = self.decide(loss, cause);
        let controller = &mut self.controller;
        match policy {
            WirelessPolicy::AsCongestion | WirelessPolicy::KeepUnlessQueued(_) => {
                controller.on_loss(loss);
            }
            WirelessPolicy::Keep => controller.on_spared_loss(loss, Spared::Wholly),
            WirelessPolicy::KeepWindow => controller.on_spared_loss(loss, Spared::Window),
            WirelessPolicy::FlightSize | WirelessPolicy::Percent(_) => {
                let window = self.reduced(policy, loss);
                self.controller.set_window(window, window);
            }
        }
    }

    /// A recovery ends, see [`Controller::on_recovery_end`]. What `at_most` takes off a window that was spared, slow start
    /// brings back.
    pub fn on_recovery_end(&mut self, now: Time, at_most: u64) {
        let window = self.controller.window();
        if self.spares_losses && at_most < window {
            let ssthresh = self.controller.ssthresh().max(window);
            self.controller.set_window(window, ssthresh);
        }
        self.controller.on_recovery_end(now, at_most);
    }

    /// The retransmission timer expired, for a loss of this cause.
    pub fn on_timeout(&mut self, loss: &LossEvent, cause: Cause) {
        let policy = self.decide(loss, cause);
        let before = self.controller.ssthresh();
        let ssthresh = match policy {
            WirelessPolicy::AsCongestion | WirelessPolicy::KeepUnlessQueued(_) => None,
            _ if loss.repeated => Some(before),
            WirelessPolicy::Keep | WirelessPolicy::KeepWindow => {
                // Unlimited means slow start still runs: it shall not run past what was reached.
                let least = if before == u64::MAX { 0 } else { before };
                Some(least.max(loss.window).max(2 * u64::from(self.segment_size)))
            }
            WirelessPolicy::FlightSize | WirelessPolicy::Percent(_) => {
                Some(self.reduced(policy, loss))
            }
        };
        self.controller.on_timeout(loss);
        if let Some(ssthresh) = ssthresh {
            let window = self.controller.window();
            self.controller.set_window(window, ssthresh);
        }
    }

    /// The policy that applies to this loss; [`WirelessPolicy::AsCongestion`] if none does.
    fn decide(&mut self, loss: &LossEvent, cause: Cause) -> WirelessPolicy {
        let policy = self.applying(loss, cause);
        self.spares_losses = policy != WirelessPolicy::AsCongestion;
        policy
    }

    fn applying(&self, loss: &LossEvent, cause: Cause) -> WirelessPolicy {
        if cause == Cause::Congestion {
            return WirelessPolicy::AsCongestion;
        }
        let WirelessPolicy::KeepUnlessQueued(percent) = self.policy else {
            return self.policy;
        };
        let (Some(rtt), Some(min)) = (loss.rtt, loss.min_rtt) else {
            return WirelessPolicy::AsCongestion;
        };
        let queued = (rtt - min).as_nanos().saturating_mul(100);
        if queued > min.as_nanos().saturating_mul(i64::from(percent)) {
            WirelessPolicy::AsCongestion
        } else {
            WirelessPolicy::Keep
        }
    }

    fn reduced(&self, policy: WirelessPolicy, loss: &LossEvent) -> u64 {
        let window = match policy {
            WirelessPolicy::Percent(percent) => {
                let percent = u64::from(percent.min(100));
                loss.window / 100 * percent + loss.window % 100 * percent / 100
            }
            _ => loss.in_flight,
        };
        window.max(2 * u64::from(self.segment_size))
    }
}
