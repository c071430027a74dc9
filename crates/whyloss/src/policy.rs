//! How a wireless loss affects the window: policies that work with any controller and any
//! classifier.
//!
//! ```text
//! policy                 3 duplicates                               timeout (cwnd = SMSS always)
//! as congestion          the controller's response to congestion    likewise
//! keep                   nothing at all                             ssthresh = max(cwnd, ssthresh)
//! keep window            window unchanged; the controller's other   as keep
//!                        responses apply (estimate, ssthresh)
//! flight size            cwnd = ssthresh = FlightSize (NewReno-LP)  ssthresh = FlightSize
//! percent p              cwnd = ssthresh = max(p·cwnd/100, 2·SMSS)  ssthresh likewise
//! keep unless queued p   RTT − RTT_min > p·RTT_min/100: as          likewise
//!                        congestion; else as keep
//! ```
//!
//! A repeated timeout leaves ssthresh unchanged (RFC 5681 §3.1): only a retransmission is in
//! flight, which says nothing about the path.
//!
//! Sources: keep is from Milenkoski & Stojcevska 2010, section 4 (MIL-2, -4, -6), and keep window
//! from their section 8 (MIL-8). Flight size is from Martignon & Fratta 2005, section 2
//! (MAR-3, -A5). Percent is 80 in TCP Veno and Feno (MIL-8). Keep unless queued is from Papadimitriou et
//! al. 2010 (MIL-8); we could not find its threshold in print.

use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::congestion::{AnyController, Controller};
use crate::event::{AckEvent, Detection, LossEvent, MarkEvent, SentEvent};
use crate::macros::registry;
use crate::registry::whole;
use crate::{Cause, Rate, Time};

/// Selects the effect of a wireless loss on the window. The [module](self) has a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum WirelessPolicy {
    /// The segment is retransmitted, and the controller is not informed of the loss.
    #[default]
    Keep,
    /// The window stays, but the algorithm's other responses apply: Westwood continues its
    /// estimate, Vegas raises its timeout, BaLDE sets ssthresh.
    KeepWindow,
    /// The loss is treated as congestion.
    AsCongestion,
    /// ssthresh and the window become the data in flight, FlightSize (NewReno-LP).
    FlightSize,
    /// The window shrinks to this percentage of its size.
    Percent(u8),
    /// Like [`WirelessPolicy::Keep`], unless the queueing delay exceeds this percentage of the
    /// smallest round-trip time.
    KeepUnlessQueued(u16),
}

/// How much of a spared loss a controller notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spared {
    /// The algorithm behaves as if there were no loss. Other effects of the revealing
    /// acknowledgement are also undone (MIL-4, MIL-6).
    Wholly,
    /// Only the window is spared; the algorithm's other state reacts as to any loss.
    Window,
}

registry! {
    /// Every policy.
    WirelessPolicy {
        "keep", "Keep", "the loss is repaired, and the controller does not hear of it",
        "Milenkoski & Stojcevska 2010, section 4", () => WirelessPolicy::Keep;

        "keep-window", "Keep window", "the window stays, but the controller updates the rest of its state",
        "Milenkoski & Stojcevska 2010, section 8; Le & Hong 2006, section 3.2", () => WirelessPolicy::KeepWindow;

        "as-congestion", "As congestion", "as at a congestion loss",
        "Jacobson, SIGCOMM 1988", () => WirelessPolicy::AsCongestion;

        "flight-size", "Flight size", "window and ssthresh become the data in flight (NewReno-LP)",
        "Martignon & Fratta 2005, section 2", () => WirelessPolicy::FlightSize;

        "percent", "Percent", "the window shrinks to a given percentage",
        "Fu & Liew, IEEE JSAC 21(2), 2003: 80",
        (percent = whole(80, 1, 100, "percent of the window that remain"))
        => WirelessPolicy::Percent(percent as u8);

        "keep-unless-queued", "Keep unless queued",
        "as congestion while the round-trip time is far above its lowest, otherwise keep",
        "after Papadimitriou et al. 2010",
        (percent = whole(50, 1, 10_000, "percent of RTT_min by which RTT may exceed it"))
        => WirelessPolicy::KeepUnlessQueued(percent as u16);
    }
}

/// A controller under a policy for wireless losses: the interface for a transport.
///
/// All events and queries of the controller pass through here, so that no loss evades the policy.
#[derive(Clone, Debug)]
pub struct UnderPolicy<C = AnyController> {
    controller: C,
    policy: WirelessPolicy,
    spares_losses: bool,
    kept_window: bool,
    own_cause: Option<Cause>,
}

impl<C: Controller> UnderPolicy<C> {
    /// Creates the combination of `controller` and `policy`.
    pub fn new(controller: C, policy: WirelessPolicy) -> Self {
        Self {
            controller,
            policy,
            spares_losses: false,
            kept_window: false,
            own_cause: None,
        }
    }

    /// Returns the controller.
    #[inline]
    pub fn controller(&self) -> &C {
        &self.controller
    }

    /// Returns the policy.
    pub fn policy(&self) -> WirelessPolicy {
        self.policy
    }

    /// Returns whether the last loss event was not treated as congestion. If so, the controller
    /// does not see its lost packets.
    pub fn spares_losses(&self) -> bool {
        self.spares_losses
    }

    /// Returns whether the last loss event left the window as it was. If so, a mark of the same
    /// window still has to cut it.
    pub fn kept_window(&self) -> bool {
        self.kept_window
    }

    /// Returns the cause that the controller assigned to the last loss event, if it decided and
    /// weighs causes itself ([`Controller::own_cut`]): wireless if it cut nothing.
    pub fn own_cause(&self) -> Option<Cause> {
        self.own_cause
    }

    /// Reports that a packet leaves, see [`Controller::on_sent`].
    #[inline]
    pub fn on_sent(&mut self, sent: &SentEvent) {
        self.controller.on_sent(sent);
    }

    /// Reports an acknowledgement, see [`Controller::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, ack: &AckEvent) {
        self.controller.on_ack(ack);
    }

    /// Reports that a recovery begins after a loss of this cause.
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
                let window = Self::reduced(policy, loss);
                self.controller.set_window(window, window);
            }
        }
        self.own_cause = self.cause_by(policy);
        self.kept_window = self.own_cause == Some(Cause::Wireless)
            || matches!(policy, WirelessPolicy::Keep | WirelessPolicy::KeepWindow);
    }

    /// Returns the controller's own cause of a loss event under this policy.
    fn cause_by(&self, policy: WirelessPolicy) -> Option<Cause> {
        let cut = match policy {
            WirelessPolicy::AsCongestion | WirelessPolicy::KeepUnlessQueued(_) => {
                self.controller.own_cut()?
            }
            _ => return None,
        };
        Some(Cause::wireless_if(cut == 0))
    }

    /// Reports marks as congestion under every policy, see [`Controller::on_mark`].
    pub fn on_mark(&mut self, mark: &MarkEvent) {
        self.spares_losses = false;
        self.kept_window = false;
        self.controller.on_mark(mark);
    }

    /// Reports that a recovery ends, which limits the window to `at_most` bytes. If that cuts a
    /// window that a wireless verdict spared, slow start restores it.
    pub fn on_recovery_end(&mut self, now: Time, at_most: u64) {
        let window = self.controller.window();
        if self.spares_losses && at_most < window {
            let ssthresh = self.controller.ssthresh().max(window);
            self.controller.set_window(window, ssthresh);
        }
        self.controller.on_recovery_end(now, at_most);
    }

    /// Reports a timeout or persistent congestion after a loss of this cause. After persistent
    /// congestion two segments may be in flight (RFC 9002 §7.6.2); after a timeout the controller
    /// decides.
    pub fn on_timeout(&mut self, loss: &LossEvent, cause: Cause) {
        let policy = self.decide(loss, cause);
        self.kept_window = false;
        let before = self.controller.ssthresh();
        let two = two_segments(loss);
        let ssthresh = match policy {
            WirelessPolicy::AsCongestion | WirelessPolicy::KeepUnlessQueued(_) => None,
            _ if loss.repeated => Some(before),
            WirelessPolicy::Keep | WirelessPolicy::KeepWindow => {
                // An unlimited threshold means slow start, which must end at the window reached.
                let least = if before == u64::MAX { 0 } else { before };
                Some(least.max(loss.window).max(two))
            }
            WirelessPolicy::FlightSize | WirelessPolicy::Percent(_) => {
                Some(Self::reduced(policy, loss))
            }
        };
        self.controller.on_timeout(loss);
        self.own_cause = self.cause_by(policy);
        let mut window = self.controller.window();
        let persistent = loss.detection == Detection::PersistentCongestion && window < two;
        if persistent {
            window = two;
        }
        if persistent || ssthresh.is_some() {
            let ssthresh = ssthresh.unwrap_or_else(|| self.controller.ssthresh());
            self.controller.set_window(window, ssthresh);
        }
    }

    /// Undoes the last loss event, because all its packets arrived after all (RFC 4015, RFC 9438
    /// §4.9). `cwnd` and `ssthresh` are the values before the event, which the transport must keep.
    pub fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64) {
        self.controller.on_spurious_loss(now, cwnd, ssthresh);
    }

    /// Sets the size of full segments to `segment_size` bytes after an MTU change.
    pub fn on_mtu_change(&mut self, segment_size: u32) {
        self.controller.on_mtu_change(segment_size.max(1));
    }

    /// Reports a delivery rate sample, see [`Controller::on_rate_sample`].
    pub fn on_rate_sample(&mut self, sample: &RateSample) {
        self.controller.on_rate_sample(sample);
    }

    /// Reports a lost packet, see [`Controller::on_packet_lost`]. Has no effect in a loss event
    /// that the policy spares.
    pub fn on_packet_lost(&mut self, packet: &LostPacket) {
        if !self.spares_losses {
            self.controller.on_packet_lost(packet);
        }
    }

    /// Sets the window and ssthresh, in bytes, if the stack has better values, such as those of a
    /// saved path.
    pub fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.controller.set_window(cwnd, ssthresh);
    }

    /// Returns whether the controller needs delivery rates and lost packets, see
    /// [`Controller::wants_rate_samples`].
    #[inline]
    pub fn wants_rate_samples(&self) -> bool {
        self.controller.wants_rate_samples()
    }

    /// Returns the congestion window in bytes; at least one segment.
    #[inline]
    pub fn window(&self) -> u64 {
        self.controller.window()
    }

    /// Returns the slow start threshold in bytes; [`u64::MAX`] if there is none.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        self.controller.ssthresh()
    }

    /// Returns the rate at which to pace packets; `None` if acknowledgements clock packets out.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }

    /// Returns the controller's bandwidth estimate; `None` if the controller estimates none.
    pub fn bandwidth(&self) -> Option<Rate> {
        self.controller.bandwidth()
    }

    /// Returns the policy for `loss`; [`WirelessPolicy::AsCongestion`] if no other applies.
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

    fn reduced(policy: WirelessPolicy, loss: &LossEvent) -> u64 {
        let window = match policy {
            WirelessPolicy::Percent(percent) => {
                let percent = u64::from(percent.min(100));
                loss.window / 100 * percent + loss.window % 100 * percent / 100
            }
            _ => loss.in_flight,
        };
        window.max(two_segments(loss))
    }
}

fn two_segments(loss: &LossEvent) -> u64 {
    2 * u64::from(loss.segment_size.max(1))
}
