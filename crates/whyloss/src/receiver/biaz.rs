//! Biaz and mBiaz: a loss is wireless if the packet after the gap arrives on time.
//!
//! Biaz & Vaidya, "Discriminating congestion losses from wireless losses using inter-arrival times
//! at the receiver", ASSET 1999. mBiaz is from Cen, Cosman & Voelker, MMCN 2002, section 3.1.
//!
//! ```text
//! wireless  ⇔  (n+1)·T_min ≤ T_i < (n+c)·T_min        else congestion
//!
//! n      packets missing in the gap
//! T_i    ns, from the arrival before the gap to the one that reveals it
//! T_min  ns, the smallest inter-arrival time so far
//! c      2 in Biaz, 1.2 in mBiaz, 1.25 in the journal version of 2003
//! ```
//!
//! If the packet arrives earlier, a buffer dropped the missing packets. If it arrives later, queues
//! grew.
//!
//! The lower bound holds with *equality* when packets travel back to back (CEN-A10), so it is
//! compared in integers.
//!
//! Where the source is silent:
//! - T_min is the minimum over all inter-arrival times, including those across gaps (CEN-A3). Times
//!   of zero or less are ignored, because a T_min of zero would make every later loss congestion.
//!   They come from a repeated packet, a batch with one stamp, or a clock set back.
//! - Without a T_min or an arrival before the gap, there is no evidence for radio loss, so the loss
//!   is congestion.
//! - The "arrival before the gap" is the latest arrival of any packet, even a late one, because the
//!   link last carried that packet.
//! - Updating T_min first makes no difference: a T_i that is a new minimum is too early either way.

use super::{Arrival, ReceiverClassifier, in_order};
use crate::{Cause, Duration, Time};

/// Biaz or mBiaz, depending on the upper bound c: a loss is wireless if the packet after the gap
/// arrives on time.
#[derive(Clone, Debug, PartialEq)]
pub struct Biaz {
    /// The width c − 1 of the on-time range, in units of T_min.
    slack: f64,
    /// T_min; infinite before the first interval.
    t_min: Duration,
    previous: Option<Time>,
    update_first: bool,
}

impl Biaz {
    /// The c of Biaz in the upper bound (n + c)·T_min. After n lost packets, a later arrival means
    /// congestion.
    pub const BIAZ: f64 = 2.0;
    /// The c of mBiaz in the upper bound (n + c)·T_min.
    pub const MBIAZ: f64 = 1.2;
    /// The c of mBiaz in the upper bound of the 2003 journal version, according to two public
    /// implementations (CEN-15).
    pub const MBIAZ_2003: f64 = 1.25;

    /// Creates mBiaz, with c = [`Self::MBIAZ`].
    pub fn mbiaz() -> Self {
        Self::new(Self::MBIAZ)
    }

    /// Creates mBiaz of the journal version, with c = [`Self::MBIAZ_2003`].
    pub fn mbiaz_2003() -> Self {
        Self::new(Self::MBIAZ_2003)
    }

    /// Creates a classifier with the upper bound (n + `upper`)·T_min for the arrival after n lost
    /// packets, where T_min is the smallest inter-arrival time. Below 1, no loss is ever wireless.
    pub fn new(upper: f64) -> Self {
        Self {
            slack: upper - 1.0,
            t_min: Duration::MAX,
            previous: None,
            update_first: true,
        }
    }

    /// Sets whether the packet that reveals a gap updates the smallest inter-arrival time T_min
    /// before (default) or after the decision.
    #[must_use]
    pub fn update_first(mut self, update_first: bool) -> Self {
        self.update_first = update_first;
        self
    }

    /// Returns a classifier with another upper bound and the same state.
    pub(super) fn with_upper(&self, upper: f64) -> Self {
        Self {
            slack: upper - 1.0,
            ..self.clone()
        }
    }

    /// Returns T_min, the smallest inter-arrival time so far; `None` before the first.
    pub fn t_min(&self) -> Option<Duration> {
        (self.t_min < Duration::MAX).then_some(self.t_min)
    }

    /// Returns T_i for an arrival that has not yet passed [`update`](Self::update).
    #[inline]
    pub(super) fn interval(&self, arrival: &Arrival) -> Option<Duration> {
        self.previous.map(|previous| arrival.received - previous)
    }

    #[inline]
    pub(super) fn update(&mut self, arrival: &Arrival, interval: Option<Duration>) {
        if let Some(interval) = interval
            && interval > Duration::ZERO
        {
            self.t_min = self.t_min.min(interval);
        }
        self.previous = Some(arrival.received);
    }

    #[inline]
    pub(super) fn judge(&self, interval: Option<Duration>, missing: u64) -> Cause {
        let (Some(t_i), Some(t_min)) = (interval, self.t_min()) else {
            return Cause::Congestion;
        };
        // Lateness relative to the lower bound, in 128 bits because a peer's header can carry any
        // n.
        let late =
            i128::from(t_i.as_nanos()) - (i128::from(missing) + 1) * i128::from(t_min.as_nanos());
        Cause::wireless_if(late >= 0 && (late as f64) < self.slack * t_min.as_nanos() as f64)
    }
}

impl Default for Biaz {
    /// Biaz as published: the upper bound is (n+2)·T_min.
    fn default() -> Self {
        Self::new(Self::BIAZ)
    }
}

impl ReceiverClassifier for Biaz {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let interval = self.interval(arrival);
        in_order(
            self,
            self.update_first,
            missing,
            |state| state.update(arrival, interval),
            |state| state.judge(interval, missing),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arrival;
    use super::*;
    use crate::Rate;
    use Cause::{Congestion, Wireless};

    /// Returns the verdict on a gap of `missing` packets that ends after `t_i` ns, with T_min
    /// `t_min` ns.
    fn verdict(mut classifier: Biaz, t_min: u64, missing: u64, t_i: u64) -> Cause {
        assert_eq!(classifier.on_arrival(&arrival(0, 0), 0), None);
        assert_eq!(classifier.on_arrival(&arrival(t_min, 0), 0), None);
        match classifier.on_arrival(&arrival(t_min + t_i, 0), missing) {
            Some(cause) => cause,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bounds_by_hand() {
        // With T_min = 10 and n = 2, a packet is on time if 30 ≤ T_i < 40 in Biaz, T_i < 32 in
        // mBiaz, and T_i < 32.5 in 2003.
        for (upper, on_time) in [
            (Biaz::BIAZ, 30..40),
            (Biaz::MBIAZ, 30..32),
            (Biaz::MBIAZ_2003, 30..33),
        ] {
            for t_i in 10..60 {
                let expected = Cause::wireless_if(on_time.contains(&t_i));
                assert_eq!(verdict(Biaz::new(upper), 10, 2, t_i), expected, "{t_i}");
            }
        }
    }

    #[test]
    fn back_to_back_packets_are_on_time() {
        // CEN-A10: with 762 bytes at 150, 800 or 1600 kbit/s, T_i equals the lower bound for any
        // gap.
        for kbps in [150, 800, 1600] {
            let slot = Rate::from_kbps(kbps).transmission_time(762).as_nanos() as u64;
            for missing in 1..=1000 {
                let on_time = (missing + 1) * slot;
                for upper in [Biaz::BIAZ, Biaz::MBIAZ, Biaz::MBIAZ_2003] {
                    assert_eq!(verdict(Biaz::new(upper), slot, missing, on_time), Wireless);
                    assert_eq!(
                        verdict(Biaz::new(upper), slot, missing, on_time - 1),
                        Congestion
                    );
                }
                let upper = on_time + slot;
                assert_eq!(verdict(Biaz::new(2.0), slot, missing, upper - 1), Wireless);
                assert_eq!(verdict(Biaz::new(2.0), slot, missing, upper), Congestion);
            }
        }
    }

    #[test]
    fn repeated_and_backward_stamps_leave_t_min_alone() {
        let mut classifier = Biaz::new(2.0);
        for (received, t_min) in [
            (100, None),
            (100, None),
            (140, Some(40)),
            (120, Some(40)),
            (150, Some(30)),
        ] {
            classifier.on_arrival(&arrival(received, 0), 0);
            assert_eq!(classifier.t_min(), t_min.map(Duration::from_nanos));
        }
    }

    #[test]
    fn no_evidence_is_congestion() {
        for update_first in [true, false] {
            let mut classifier = Biaz::new(2.0).update_first(update_first);
            // The first gap has no inter-arrival time; the second has only that of the first gap.
            for received in [0, 20] {
                assert_eq!(
                    classifier.on_arrival(&arrival(received, 0), 1),
                    Some(Congestion)
                );
            }
        }
    }

    #[test]
    fn huge_gaps_do_not_overflow() {
        assert_eq!(
            verdict(Biaz::new(2.0), 1 << 62, u64::MAX, 1 << 62),
            Congestion
        );
    }
}
