//! The retransmission timeout (RFC 6298) in the integer arithmetic of 4.3BSD (Jacobson 1988,
//! appendix A).
//!
//! ```text
//! first sample R    SRTT = R,  RTTVAR = R/2
//! later samples     RTTVAR += (|SRTT − R| − RTTVAR)/4,  SRTT += (R − SRTT)/8
//! timeout           min(max(SRTT + max(G, 4·RTTVAR), minimum) · 2ᵇ, maximum)   [ticks of length G]
//! ```
//!
//! b is the number of expiries since the last sample. A sample counts clock ticks from sending to
//! acknowledgement, at least 1; a tick of 1 ns makes the clock exact. SRTT is stored in eighths and
//! RTTVAR in quarters of a tick. Each is at least one, which implements `max(G, …)`. Because
//! quarters are truncated, three of them remain in a steady round trip. After four expiries in a
//! row, SRTT is discarded and the next sample counts as the first, as RFC 6298 §5 allows and ns-2
//! does.

use crate::{Duration, Time};

/// The options of a retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RtoOptions {
    /// The timeout before the first sample.
    pub initial: Duration,
    /// The shortest retransmission timeout.
    pub min: Duration,
    /// The longest retransmission timeout, with back-off.
    pub max: Duration,
    /// The length of a clock tick, the granularity G of RFC 6298; a nanosecond for an exact clock.
    pub tick: Duration,
}

impl Default for RtoOptions {
    /// Returns the values of RFC 6298 §2: initially 1 s, from 1 to 60 s, with an exact clock.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            tick: Duration::from_nanos(1),
        }
    }
}

impl RtoOptions {
    /// Returns the options of ns-2 2.35: initially 3 s (`rtxcur_init_`), 0.2 s (`minrto_`) to 60 s,
    /// ticks of 10 ms (`tcpTick_`).
    pub const fn ns2() -> Self {
        Self {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            tick: Duration::from_millis(10),
        }
    }
}

/// Estimates the round-trip time and computes the timeout.
#[derive(Clone, Debug)]
pub struct Rto {
    /// The current timeout: `base` with back-off.
    timeout: Duration,
    min: Duration,
    max: Duration,
    tick: Duration,
    /// 8·SRTT, in ticks; 0 before the first sample.
    srtt: i64,
    /// 4·RTTVAR, in ticks.
    rttvar: i64,
    /// The timeout without back-off, at least the minimum.
    base: Duration,
    /// The number of expiries since the last sample.
    expiries: u32,
}

/// 2¹⁶ seconds exceed any maximum in use, so more doublings make no difference.
const MAX_DOUBLINGS: u32 = 16;

impl Rto {
    /// Creates an estimator without samples.
    pub fn new(options: &RtoOptions) -> Self {
        let base = options.initial.max(options.min);
        Self {
            timeout: base.min(options.max),
            min: options.min,
            max: options.max,
            tick: options.tick,
            srtt: 0,
            rttvar: 0,
            base,
            expiries: 0,
        }
    }

    /// Returns the current retransmission timeout, with back-off.
    #[inline]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns SRTT, or `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| self.tick * self.srtt / 8)
    }

    /// Returns RTTVAR, or `None` before the first sample.
    pub fn rttvar(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| self.tick * self.rttvar / 4)
    }

    /// Adds the round trip of a segment sent at `sent` and acknowledged at `now`. Ends a back-off.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub fn sample(&mut self, sent: Time, now: Time) {
        let tick = self.tick.as_nanos();
        let sample = if tick <= 1 {
            now.since(sent).as_nanos()
        } else {
            (now.as_nanos() / tick as u64) as i64 - (sent.as_nanos() / tick as u64) as i64
        };
        let sample = sample.clamp(1, i64::MAX / 64);
        if self.srtt == 0 {
            self.srtt = sample * 8;
            self.rttvar = sample * 2;
        } else {
            let error = sample - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
        }
        let ticks = (self.srtt + 8 * self.rttvar) >> 3;
        let base = if tick <= 1 {
            Duration::from_nanos(ticks)
        } else {
            self.tick * ticks
        };
        self.base = base.max(self.min);
        self.end_back_off();
    }

    /// Doubles the next timeout after the timer expired.
    pub fn back_off(&mut self) {
        self.expiries = (self.expiries + 1).min(MAX_DOUBLINGS);
        self.timeout = (self.base * (1 << self.expiries)).min(self.max);
        if self.expiries > 3 {
            self.srtt = 0;
        }
    }

    /// Ends a back-off: the next timeout is computed without it.
    #[inline]
    pub fn end_back_off(&mut self) {
        self.expiries = 0;
        self.timeout = self.base.min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    fn rto(min: i64, tick: Duration) -> Rto {
        Rto::new(&RtoOptions {
            min: ms(min),
            tick,
            ..RtoOptions::default()
        })
    }

    fn sample(rto: &mut Rto, sent_ms: i64, now_ms: i64) {
        rto.sample(Time::ZERO + ms(sent_ms), Time::ZERO + ms(now_ms));
    }

    #[test]
    fn the_formula_by_hand() {
        let mut rto = rto(0, Duration::from_nanos(1));
        assert_eq!(rto.timeout(), ms(1000));
        assert_eq!(rto.srtt(), None);
        sample(&mut rto, 0, 100);
        // SRTT is 100 and RTTVAR 50, so the timeout is 300 ms.
        assert_eq!(rto.timeout(), ms(300));
        sample(&mut rto, 0, 140);
        // RTTVAR is 50 + (40 − 50)/4 = 47.5 and SRTT 105, so the timeout is 295 ms.
        assert_eq!(rto.timeout(), ms(295));
        assert_eq!(rto.srtt(), Some(ms(105)));
        assert_eq!(rto.rttvar(), Some(Duration::from_micros(47_500)));
    }

    #[test]
    fn stamps_half_a_clock_apart_are_a_long_round_trip() {
        for tick in [1, 10_000_000] {
            let mut rto = rto(0, Duration::from_nanos(tick));
            rto.sample(Time::ZERO, Time::MAX);
            assert_eq!(rto.timeout(), Duration::from_secs(60));
        }
    }

    #[test]
    fn minimum_back_off_and_maximum() {
        let mut rto = rto(1000, Duration::from_nanos(1));
        sample(&mut rto, 0, 100);
        assert_eq!(rto.timeout(), ms(1000));
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            rto.back_off();
            assert_eq!(rto.timeout(), Duration::from_secs(seconds));
        }
        // SRTT was discarded during the back-off, so the next sample counts as the first.
        assert_eq!(rto.srtt(), None);
        sample(&mut rto, 0, 2000);
        assert_eq!(rto.timeout(), Duration::from_secs(6));
        for _ in 0..100 {
            rto.back_off();
        }
        assert_eq!(rto.timeout(), Duration::from_secs(60));
        rto.end_back_off();
        assert_eq!(rto.timeout(), Duration::from_secs(6));
    }

    #[test]
    fn a_coarse_clock_counts_its_ticks() {
        let mut rto = rto(0, ms(10));
        // The clock ticks once between 5 and 16 ms, although 11 ms pass. SRTT is 10 and RTTVAR 5,
        // so the timeout is 30.
        sample(&mut rto, 5, 16);
        assert_eq!(rto.timeout(), ms(30));
        // The clock ticks twice in 12 ms. 8·SRTT = 8 + (2 − 1) = 9 and 4·RTTVAR = 2 + 1 − 0 = 3, so
        // the timeout is (9 + 24)/8 = 4 ticks.
        sample(&mut rto, 19, 31);
        assert_eq!(rto.timeout(), ms(40));
        // A time below one tick counts as one tick.
        sample(&mut rto, 41, 49);
        assert_eq!(rto.srtt(), Some(Duration::from_micros(11_250)));
    }

    #[test]
    fn a_steady_round_trip_leaves_three_ticks_of_margin() {
        let mut rto = rto(0, ms(10));
        for _ in 0..100 {
            sample(&mut rto, 0, 500);
        }
        assert_eq!(rto.timeout(), ms(530));
    }

    #[test]
    fn absurd_stamps_do_no_harm() {
        let mut rto = rto(0, Duration::from_nanos(1));
        for (sent, now) in [
            (Time::MAX, Time::ZERO),
            (Time::ZERO, Time::MAX),
            (Time::MAX, Time::MAX),
        ] {
            rto.sample(sent, now);
            assert!(rto.timeout() > Duration::ZERO);
            assert!(rto.timeout() <= ms(60_000));
        }
    }
}
