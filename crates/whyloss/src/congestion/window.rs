//! The congestion window of controllers that grow like Reno: slow start and congestion avoidance
//! (RFC 5681 §3.1).
//!
//! ```text
//! cwnd < ssthresh:  cwnd += min(acked, SMSS)
//! otherwise:        cwnd += SMSS·acked/cwnd   [`Growth::PerByte`]
//!                   cwnd += SMSS²/cwnd        [`Growth::PerAck`]                              [bytes]
//!                   cwnd += SMSS for each cwnd acknowledged  [`Growth::PerWindow`]
//! ```
//!
//! The RFC recommends counting bytes; counting acknowledgements grows half as fast with delayed
//! acknowledgements. The remainder of the quotient is carried over, so growth is exact for any
//! window. After a timeout, a filled hole can acknowledge more than a window. This counts as one
//! window: "cwnd MUST NOT be increased by more than SMSS bytes per RTT" (RFC 5681 §3.1). The window
//! does not grow during a recovery, nor while the application limits it (RFC 7661 §4.3 gives the
//! reason).

use super::Start;
use crate::event::AckEvent;

/// The way congestion avoidance grows the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Growth {
    /// Counts acknowledged bytes, as RFC 5681 §3.1 and RFC 3465 recommend. The window grows by a
    /// segment per round trip.
    #[default]
    PerByte,
    /// Counts acknowledgements (equation 3 of RFC 5681; ns-2). If they are delayed, the window
    /// grows by half a segment per round trip.
    PerAck,
    /// Grows by a whole segment for each window of acknowledged bytes (RFC 3465 §2.1; RFC 9002
    /// §7.3.3 allows no more), as in quinn and noq.
    PerWindow,
}

/// A congestion window that grows like Reno's, with cwnd and ssthresh in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    cwnd: u64,
    ssthresh: u64,
    /// The remainder of growth that is not yet a byte of cwnd, in bytes²; below cwnd. With
    /// [`Growth::PerWindow`], the bytes acknowledged since the last growth.
    credit: u64,
    segment_size: u32,
    growth: Growth,
}

#[expect(
    clippy::inline_always,
    reason = "of an acknowledgement only what it looks at is worked out"
)]
impl Window {
    /// Creates the window in its initial state.
    pub fn new(start: &Start) -> Self {
        let segment_size = start.segment_size.max(1);
        Self {
            cwnd: start.initial_window.max(u64::from(segment_size)),
            ssthresh: start.initial_ssthresh,
            credit: 0,
            segment_size,
            growth: start.growth,
        }
    }

    /// Grows the window for one acknowledgement, unless a recovery or the application prevents it.
    #[inline(always)]
    pub fn grow(&mut self, ack: &AckEvent) {
        if !may_grow(ack) {
            return;
        }
        if self.in_slow_start() {
            self.slow_start(ack.acked);
        } else {
            self.avoid_congestion(ack.acked, 1);
        }
    }

    /// Grows the window in slow start for an acknowledgement of `acked` bytes.
    #[inline(always)]
    pub fn slow_start(&mut self, acked: u64) {
        self.cwnd = self.cwnd.saturating_add(acked.min(self.segment()));
    }

    /// Grows the window for one acknowledgement in congestion avoidance, at `1/slower` of Reno's
    /// pace.
    #[inline(always)]
    pub fn avoid_congestion(&mut self, acked: u64, slower: u64) {
        let segment = self.segment();
        let counted = match self.growth {
            Growth::PerByte => acked.min(self.cwnd),
            Growth::PerAck => segment,
            Growth::PerWindow => return self.wait_for_a_window(acked.min(self.cwnd), slower),
        };
        let credit = self
            .credit
            .saturating_add(segment.saturating_mul(counted) / slower);
        self.credit = credit % self.cwnd;
        self.cwnd = self.cwnd.saturating_add(credit / self.cwnd);
    }

    /// Grows by the rule of [`Growth::PerWindow`].
    #[inline(never)]
    fn wait_for_a_window(&mut self, acked: u64, slower: u64) {
        self.credit = self.credit.saturating_add(acked);
        let window = self.cwnd.saturating_mul(slower);
        if self.credit >= window {
            self.credit -= window;
            self.cwnd = self.cwnd.saturating_add(self.segment());
        }
    }

    /// Returns whether the window is in slow start.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Sets cwnd and ssthresh in bytes; cwnd stays at least one segment.
    pub fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = cwnd.max(self.segment());
        self.ssthresh = ssthresh;
        self.credit = 0;
    }

    /// Limits cwnd to `at_most` bytes; cwnd stays at least one segment.
    pub fn limit(&mut self, at_most: u64) {
        self.set(self.cwnd.min(at_most), self.ssthresh);
    }

    /// Sets the segment size in bytes; cwnd stays at least one segment.
    pub fn resize(&mut self, segment_size: u32) {
        self.segment_size = segment_size.max(1);
        self.set(self.cwnd, self.ssthresh);
    }

    /// Returns the congestion window cwnd, in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Returns ssthresh in bytes; [`u64::MAX`] if there is none yet.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Returns SMSS in bytes; at least 1.
    #[inline]
    pub fn segment(&self) -> u64 {
        u64::from(self.segment_size)
    }
}

/// Returns whether an acknowledgement may grow a window.
#[inline]
pub fn may_grow(ack: &AckEvent) -> bool {
    ack.acked > 0 && !ack.in_recovery && !ack.app_limited
}

/// Implements the methods of a controller whose window is a [`Window`].
macro_rules! by_window {
    () => {
        fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
            self.window.set(cwnd, ssthresh);
        }

        #[inline]
        fn window(&self) -> u64 {
            self.window.cwnd()
        }

        fn ssthresh(&self) -> u64 {
            self.window.ssthresh()
        }
    };
}
pub(super) use by_window;

/// Implements the methods of a controller whose window is a real number `cwnd` of bytes, without a
/// threshold.
macro_rules! by_real_window {
    () => {
        fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
            self.set_window(at_most.min(self.window()), u64::MAX);
        }

        fn on_mtu_change(&mut self, segment_size: u32) {
            self.segment_size = segment_size.max(1);
            self.cwnd = self.cwnd.max(self.segment());
        }

        fn set_window(&mut self, cwnd: u64, _ssthresh: u64) {
            // Keep the fraction of a byte.
            if cwnd != self.window() {
                self.cwnd = (cwnd as f64).max(self.segment());
            }
        }

        #[inline]
        fn window(&self) -> u64 {
            self.cwnd as u64
        }

        fn ssthresh(&self) -> u64 {
            u64::MAX
        }
    };
}
pub(super) use by_real_window;

#[cfg(test)]
mod tests {
    use super::super::tests::{START, ack};
    use super::*;

    #[test]
    fn slow_start_adds_a_segment_per_acknowledgement() {
        let mut window = Window::new(&START);
        for acked in [1000, 2000, 500] {
            window.grow(&ack(acked));
        }
        assert_eq!(window.cwnd(), 2000 + 1000 + 1000 + 500);
    }

    #[test]
    fn congestion_avoidance_carries_fractions() {
        let mut window = Window::new(&START);
        window.set(7000, 7000);
        // 10⁶/7000 is 142 bytes and a rest of 6000; (10⁶ + 6000)/7142 is 140 bytes and a rest of
        // 6120.
        window.grow(&ack(1000));
        assert_eq!((window.cwnd(), window.credit), (7142, 6000));
        window.grow(&ack(1000));
        assert_eq!((window.cwnd(), window.credit), (7282, 6120));
        // A window of a million segments also grows, by a byte per 1000 acknowledgements; 10⁶/10⁹
        // alone would round to zero. Of the 10¹⁰ credited, 9 bytes took 9·10⁹ + (0 + 1 + … + 8).
        window.set(1_000_000_000, 0);
        for _ in 0..10_000 {
            window.grow(&ack(1000));
        }
        assert_eq!((window.cwnd(), window.credit), (1_000_000_009, 999_999_964));
    }

    #[test]
    fn delayed_acknowledgements_count_for_what_they_acknowledge() {
        for (growth, grown) in [(Growth::PerByte, 200), (Growth::PerAck, 100)] {
            let mut window = Window::new(&Start { growth, ..START });
            window.set(10_000, 10_000);
            // The window grows by 1000·2000/10 000 per byte, or by 1000²/10 000 per
            // acknowledgement.
            window.grow(&ack(2000));
            assert_eq!(window.cwnd(), 10_000 + grown, "{growth:?}");
        }
    }

    #[test]
    fn whole_segments_wait_for_a_whole_window() {
        let mut window = Window::new(&Start {
            growth: Growth::PerWindow,
            ..START
        });
        window.set(4000, 4000);
        let mut steps = [0; 14];
        for step in &mut steps {
            window.grow(&ack(1000));
            *step = window.cwnd() / 1000;
        }
        // The fifth segment takes four acknowledgements, the sixth five.
        assert_eq!(steps, [4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6]);
        // Five segments of a window of six were acknowledged. Halving the window discards this
        // credit.
        window.set(3000, 3000);
        for grown in [3000, 3000, 4000] {
            window.grow(&ack(1000));
            assert_eq!(window.cwnd(), grown);
        }
    }

    #[test]
    fn an_acknowledgement_of_more_than_a_window_is_worth_a_segment() {
        // After a timeout, a filled hole acknowledges data that a larger window had sent.
        let mut window = Window::new(&START);
        window.set(2000, 2000);
        window.grow(&ack(50_000));
        assert_eq!(window.cwnd(), 3000);
    }

    #[test]
    fn no_growth_in_recovery_for_duplicates_or_without_data() {
        let mut window = Window::new(&START);
        window.grow(&ack(0));
        window.grow(&AckEvent {
            app_limited: true,
            ..ack(1000)
        });
        window.grow(&AckEvent {
            in_recovery: true,
            ..ack(1000)
        });
        assert_eq!(window.cwnd(), 2000);
    }
}
