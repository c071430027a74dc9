//! Veno and enhanced Veno: a loss at a small backlog is random, unless congestion losses become
//! more frequent.
//!
//! Fu & Liew, "TCP Veno", IEEE JSAC 21(2), 2003, with the round-trip time that Linux's `tcp_veno`
//! intends. Zhou & Fu, IEEE Communications Letters 10(6), 2006, as described for IFTPV by ElAarag,
//! Moedinger & Hogg, "TCP friendly protocols for media streams", 2008, section 10.2.
//!
//! ```text
//! B = w·(1 − RTT_min/RTT)                                       at the loss, in segments
//! Veno           B < β ⇒ wireless, else congestion              β = 3
//! enhanced Veno  B < β and con_lr_cur ≤ con_lr_prev ⇒ random
//!                B < β and con_lr_cur > con_lr_prev ⇒ random, while the network gets congestive
//!                B ≥ β                              ⇒ congestion
//!
//! con_lr_prev = C_prev/(T_2 − T_1)     T_1, T_2, T_3   the last three random losses (B < β), this one included
//! con_lr_cur  = C_cur/(T_3 − T_2)      C               congestion losses between them
//!
//! RTT   Veno: the smallest of the last round trip; enhanced: smoothed with gain 1/8
//! w     the window in use when the loss is found
//! ```
//!
//! The source has three reactions (window unchanged, 4/5, 1/2). [`Veno::judge`] distinguishes all
//! three. A verdict has only two causes, so a parameter maps the middle reaction.
//!
//! Where the sources are silent:
//! - Linux forgets the smallest round-trip time at every acknowledgement instead of every round
//!   trip, so it uses the last sample. This file follows the intent stated in Linux. The parameter
//!   `rtt` can select the last sample.
//! - B = β is congestion, as printed, and so is a loss without a round-trip time.
//! - A random loss updates con_lr before it is judged (ELA-8). With fewer than three random losses,
//!   or if the first two came at the same time, con_lr does not rise. Losses are counted per loss
//!   event, since a classifier sees only these.
//! - Veno classifies timeouts, as Linux does. For enhanced Veno, they are "a sign of extreme
//!   network condition" (ELA-8), so they count as congestion.

use super::SenderClassifier;
use super::backlog::{Backlog, RttOf, Segments};
use crate::event::{AckEvent, LossEvent};
use crate::{Cause, Time};
use core::cmp::Ordering;

/// Veno's judgement of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Judgement {
    /// The loss is random: the channel caused it.
    Random,
    /// The loss is random, while congestion losses get more frequent.
    RandomWhileCongestive,
    /// The loss is caused by congestion.
    Congestion,
}

/// Veno or enhanced Veno: wireless if fewer than β segments of the window wait in queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Veno {
    beta: Segments,
    backlog: Backlog,
    timeouts: bool,
    congestive: Cause,
    rate: Option<CongestionLossRate>,
}

impl Veno {
    /// The threshold β, in segments. A loss at this backlog or more is a congestion loss.
    pub const BETA: f64 = 3.0;

    /// Creates Veno as published: β = 3, the smallest round-trip time of the last round trip.
    pub fn paper() -> Self {
        Self::new(Self::BETA, RttOf::Round)
    }

    /// Creates the enhanced Veno of IFTPV.
    pub fn iftpv() -> Self {
        Self::enhanced(Self::BETA, RttOf::Smoothed, Cause::Congestion)
    }

    /// Creates Veno with this threshold in segments, rounded to a thousandth.
    pub fn new(beta: f64, rtt: RttOf) -> Self {
        Self {
            beta: Segments::new(beta),
            backlog: Backlog::new(rtt),
            timeouts: true,
            congestive: Cause::Wireless,
            rate: None,
        }
    }

    /// Creates enhanced Veno. While congestion losses become more frequent, a random loss gets the
    /// cause `congestive`.
    pub fn enhanced(beta: f64, rtt: RttOf, congestive: Cause) -> Self {
        Self {
            congestive,
            rate: Some(CongestionLossRate::default()),
            timeouts: false,
            ..Self::new(beta, rtt)
        }
    }

    /// Sets whether timeouts are classified; if not, they are congestion.
    #[must_use]
    pub fn timeouts(mut self, timeouts: bool) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Returns the backlog, the number of segments of a window of `window` bytes that wait in
    /// queues; `None` before the first round-trip time.
    pub fn backlog(&self, window: u64, segment_size: u32) -> Option<f64> {
        self.backlog.segments(window, segment_size)
    }

    /// Judges a loss event and counts it, like [`SenderClassifier::on_loss`], but returns all three
    /// reactions.
    pub fn judge(&mut self, loss: &LossEvent) -> Judgement {
        let classified = self.timeouts || !loss.detection.is_timeout();
        let (window, segment_size) = (loss.window, loss.segment_size);
        let backlog = self.backlog.compare(window, segment_size, self.beta);
        let random = classified && backlog == Some(Ordering::Less);
        let Some(rate) = &mut self.rate else {
            return if random {
                Judgement::Random
            } else {
                Judgement::Congestion
            };
        };
        if !random {
            rate.count_congestion();
            Judgement::Congestion
        } else if rate.rises_with_random(loss.now) {
            Judgement::RandomWhileCongestive
        } else {
            Judgement::Random
        }
    }

    /// Returns the cause that a judgement implies.
    pub fn cause(&self, judgement: Judgement) -> Cause {
        match judgement {
            Judgement::Random => Cause::Wireless,
            Judgement::RandomWhileCongestive => self.congestive,
            Judgement::Congestion => Cause::Congestion,
        }
    }
}

impl SenderClassifier for Veno {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.backlog.on_ack(ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let judgement = self.judge(loss);
        self.cause(judgement)
    }
}

/// con_lr: congestion losses per time between random losses.
#[derive(Clone, Debug, Default, PartialEq)]
struct CongestionLossRate {
    /// The number of congestion losses since the last random loss.
    count: u64,
    /// The time of the last random loss.
    last: Option<Time>,
    /// The number of congestion losses between the last two random losses, and the time between
    /// these in ns.
    interval: Option<(u64, u64)>,
}

impl CongestionLossRate {
    fn count_congestion(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Records a random loss; returns whether con_lr has risen.
    fn rises_with_random(&mut self, now: Time) -> bool {
        let before = self.interval;
        let count = core::mem::take(&mut self.count);
        self.interval = self.last.map(|last| {
            let span = (now - last).as_nanos().max(0);
            (count, span.unsigned_abs())
        });
        self.last = Some(now);
        let (Some((c_prev, prev)), Some((c_cur, cur))) = (before, self.interval) else {
            return false;
        };
        // C_cur/cur > C_prev/prev, without division.
        u128::from(c_cur) * u128::from(prev) > u128::from(c_prev) * u128::from(cur)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, timeout};
    use super::*;

    #[test]
    fn the_threshold_by_hand() {
        // The smallest round-trip time is 80 ns, and that of the last round is 100 ns, so a fifth
        // of the window waits.
        let mut veno = Veno::new(Veno::BETA, RttOf::Round);
        for (acknowledged, rtt) in [(0, 80), (4000, 100), (5000, 100), (8000, 110)] {
            veno.on_ack(&AckEvent {
                acknowledged,
                in_flight: 4000,
                ..ack(rtt, 0)
            });
        }
        assert_eq!(veno.backlog(15_000, 1000), Some(3.0));
        for (window, expected) in [(14_999, Cause::Wireless), (15_000, Cause::Congestion)] {
            assert_eq!(veno.on_loss(&loss(window)), expected);
            assert_eq!(veno.on_loss(&timeout(window)), expected);
        }
    }

    #[test]
    fn no_evidence_is_congestion() {
        let mut veno = Veno::new(Veno::BETA, RttOf::Last);
        assert_eq!(veno.on_loss(&loss(0)), Cause::Congestion);
    }

    /// Returns enhanced Veno with a backlog of 0 segments at a window of 0, and of 30 at a window
    /// of 60.
    fn enhanced(congestive: Cause) -> Veno {
        let mut veno = Veno::enhanced(Veno::BETA, RttOf::Last, congestive);
        veno.on_ack(&ack(50, 0));
        veno.on_ack(&ack(100, 0));
        veno
    }

    fn at(now: u64, window: u64) -> LossEvent {
        LossEvent {
            now: Time::from_nanos(now),
            ..loss(window)
        }
    }

    #[test]
    fn congestion_loss_rates_by_hand() {
        const RANDOM: u64 = 0;
        const QUEUED: u64 = 60_000;
        let mut veno = enhanced(Cause::Wireless);
        for (now, window, expected) in [
            (0, RANDOM, Judgement::Random),
            (5, QUEUED, Judgement::Congestion),
            // C_prev is 1 in 10. Two random losses do not yet give two rates.
            (10, RANDOM, Judgement::Random),
            (11, QUEUED, Judgement::Congestion),
            (12, QUEUED, Judgement::Congestion),
            // The rate 2/20 equals 1/10.
            (30, RANDOM, Judgement::Random),
            (31, QUEUED, Judgement::Congestion),
            // The rate 1/9 exceeds 2/20.
            (39, RANDOM, Judgement::RandomWhileCongestive),
            (40, QUEUED, Judgement::Congestion),
            // The rate 1/10 is below 1/9.
            (49, RANDOM, Judgement::Random),
            // A rate of 0 is below any other.
            (50, RANDOM, Judgement::Random),
            (51, QUEUED, Judgement::Congestion),
            // Any rate exceeds 0.
            (99, RANDOM, Judgement::RandomWhileCongestive),
            // No rate exceeds that of losses at the same time.
            (99, RANDOM, Judgement::Random),
            (100, QUEUED, Judgement::Congestion),
            (101, RANDOM, Judgement::Random),
        ] {
            assert_eq!(veno.judge(&at(now, window)), expected, "at {now}");
        }
    }

    #[test]
    fn the_middle_answer_is_a_parameter() {
        for congestive in [Cause::Wireless, Cause::Congestion] {
            let mut veno = enhanced(congestive);
            let verdicts = [(0, 0), (10, 0), (15, 60_000), (20, 0), (90, 0)]
                .map(|(now, window)| veno.on_loss(&at(now, window)));
            assert_eq!(
                verdicts,
                [
                    Cause::Wireless,
                    Cause::Wireless,
                    Cause::Congestion,
                    congestive,
                    Cause::Wireless
                ]
            );
        }
    }

    #[test]
    fn timeouts_count_as_congestion_for_the_enhanced() {
        let mut veno = enhanced(Cause::Wireless);
        let judgements = [at(0, 0), at(10, 0), timeout(0), at(20, 0)].map(|loss| veno.judge(&loss));
        assert_eq!(
            judgements,
            [
                Judgement::Random,
                Judgement::Random,
                Judgement::Congestion,
                Judgement::RandomWhileCongestive
            ]
        );
    }
}
