//! Limits the reports that a sender accepts from a receiver, and its sending rate.
//!
//! A receiver chooses every number in its feedback, and profits from too high a rate (RFC 5348,
//! 10.1 to 10.3). The sender knows its own packets and their times, and checks each report against
//! them:
//!
//! ```text
//! impossible  X_recv or p that is NaN or out of range, an echo that is not the packet's stamp, a
//!             hold longer than the time since, losses before a packet carried an R         ignored
//! surplus     a second report within R/2 that does not raise p                             ignored
//! R_sample    at least half of the shortest time from a packet to its report; holds are cut to
//!             fit
//! X_recv      at most the highest rate sent in the last four round trips
//! rate        at most max(2 · highest X_recv so far, 4 · W_init/R), and --max-rate, always
//! ```
//!
//! Honest receivers meet only the last of these limits, so their sessions follow RFC 5348.

use whyloss::tfrc::Feedback;
use whyloss::{Duration, Time};

/// The shortest time over which a sending rate is measured.
const LEAST_WINDOW: Duration = Duration::from_millis(10);
/// The number of remembered sending rates, because X_recv lags by the travel time of packets and
/// reports.
const WINDOWS: usize = 4;
/// The unused sending time, in seconds, that a sender may make up for in one burst.
const DEPTH: f64 = 0.02;
/// The number of packets that may leave in one burst at any rate: W_init (RFC 5348, 4.2).
const LEAST_DEPTH: f64 = 4.0;

/// The fate of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Report {
    /// The report cannot be true.
    Impossible,
    /// The report arrives too soon after the last one.
    Surplus,
    /// The part of the report that the transport may use.
    Useful(Feedback),
}

/// The limits of a sender. Rates are in bytes per second and count whole packets.
#[derive(Debug)]
pub(super) struct Guard {
    packet: f64,
    most: f64,
    /// The rate that reports justify, in bytes per second. It is infinite before the first report,
    /// and for transports that are bounded by their acknowledgements.
    justified: f64,
    /// The highest accepted X_recv, in bytes per second.
    peak: f64,
    /// The shortest time from a packet to its report.
    trip: Option<Duration>,
    /// The time of the last useful report.
    used: Option<Time>,
    /// The sequence number of the packet that the last useful report answers.
    newest: u64,
    /// The rates of the last windows, in bytes per second.
    rates: [f64; WINDOWS],
    /// The start of the current window.
    began: Time,
    /// The bytes sent in the current window.
    bytes: f64,
    /// The number of bytes that may leave back to back.
    tokens: f64,
    /// When `tokens` was counted.
    counted: Time,
}

impl Guard {
    /// Creates a guard for packets of `packet` bytes that allows at most `most` bytes a second.
    pub(super) fn new(packet: u32, most: f64, now: Time) -> Self {
        let packet = f64::from(packet.max(1));
        Self {
            packet,
            most: most.max(1.0),
            justified: f64::INFINITY,
            peak: 0.0,
            trip: None,
            used: None,
            newest: 0,
            rates: [0.0; WINDOWS],
            began: now,
            bytes: 0.0,
            tokens: LEAST_DEPTH * packet,
            counted: now,
        }
    }

    /// Returns the highest rate at which packets may leave, in bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.most.min(self.justified)
    }

    /// Returns when a packet may leave.
    pub(super) fn due(&self) -> Time {
        if self.tokens > 0.0 {
            return self.counted;
        }
        let wait = Duration::from_secs_f64((1.0 - self.tokens) / self.rate());
        self.counted + wait.max(Duration::from_nanos(1))
    }

    /// Returns whether a packet may leave now.
    pub(super) fn is_open(&mut self, now: Time) -> bool {
        let rate = self.rate();
        let depth = (DEPTH * rate).max(LEAST_DEPTH * self.packet);
        let gained = (now - self.counted).max(Duration::ZERO).as_secs_f64() * rate;
        self.tokens = (self.tokens + gained).min(depth);
        self.counted = self.counted.max(now);
        self.tokens > 0.0
    }

    /// Records that a packet of `bytes` bytes has left.
    pub(super) fn on_sent(&mut self, bytes: u32) {
        self.tokens -= f64::from(bytes);
        self.bytes += f64::from(bytes);
    }

    /// Judges a report of packet `number`, which left at `sent`. `rtt` and `p` are the transport's
    /// current values.
    pub(super) fn judge(
        &mut self,
        now: Time,
        (number, sent): (u64, Time),
        feedback: &Feedback,
        rtt: Option<Duration>,
        p: f64,
    ) -> Report {
        let trip = now - sent;
        let possible = feedback.echo == sent
            && (Duration::ZERO..=trip).contains(&feedback.hold)
            && (0.0..f64::INFINITY).contains(&feedback.receive_rate)
            && (0.0..=1.0).contains(&feedback.loss_event_rate)
            && (rtt.is_some() || feedback.loss_event_rate == 0.0);
        if !possible {
            return Report::Impossible;
        }
        let least = self.trip.map_or(trip, |least| least.min(trip));
        self.trip = Some(least);
        let rtt = rtt.unwrap_or(Duration::ZERO);
        let soon = self.used.is_some_and(|used| now - used < rtt / 2);
        if number < self.newest || soon && feedback.loss_event_rate <= p {
            return Report::Surplus;
        }
        self.used = Some(now);
        self.newest = number;
        let receive_rate = feedback.receive_rate.min(self.sent_rate(now, rtt));
        self.peak = self.peak.max(receive_rate);
        Report::Useful(Feedback {
            hold: feedback.hold.min(trip - least / 2),
            receive_rate,
            ..*feedback
        })
    }

    /// Records that the transport has used a report, and its R.
    pub(super) fn on_used(&mut self, rtt: Option<Duration>) {
        let rtt = rtt.map_or(0.0, Duration::as_secs_f64).max(1e-9);
        let first = (4.0 * self.packet).min(4380_f64.max(2.0 * self.packet));
        self.justified = (2.0 * self.peak).max(4.0 * first / rtt);
    }

    /// Returns the highest rate of the last windows and this one. A window ends after a round trip.
    fn sent_rate(&mut self, now: Time, rtt: Duration) -> f64 {
        let least = rtt.max(LEAST_WINDOW);
        let span = now - self.began;
        // Adds one packet, because a window begins and ends at random between packets.
        let rate = (self.bytes + self.packet) / span.max(least).as_secs_f64();
        let highest = self.rates.iter().fold(rate, |most, &rate| most.max(rate));
        if span >= least {
            self.rates.rotate_right(1);
            self.rates[0] = rate;
            self.began = now;
            self.bytes = 0.0;
        }
        highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn feedback(echo: Time, hold: Duration, x: f64, p: f64) -> Feedback {
        Feedback {
            echo,
            hold,
            receive_rate: x,
            loss_event_rate: p,
            new_loss_event: p > 0.0,
        }
    }

    #[test]
    fn what_cannot_be_is_ignored() {
        let mut guard = Guard::new(1_000, 1e6, at(0));
        let mut judge = |echo, hold, x, p, rtt| {
            guard.judge(at(100), (0, at(0)), &feedback(echo, hold, x, p), rtt, 0.0)
        };
        let zero = Duration::ZERO;
        for report in [
            judge(at(1), zero, 0.0, 0.0, None),
            judge(at(0), Duration::from_millis(101), 0.0, 0.0, None),
            judge(at(0), Duration::from_millis(-1), 0.0, 0.0, None),
            judge(at(0), zero, f64::NAN, 0.0, None),
            judge(at(0), zero, f64::INFINITY, 0.0, None),
            judge(at(0), zero, -1.0, 0.0, None),
            judge(at(0), zero, 0.0, f64::NAN, Some(RTT)),
            judge(at(0), zero, 0.0, 1.5, Some(RTT)),
            // Losses are counted after a packet has carried an R.
            judge(at(0), zero, 0.0, 1e-300, None),
        ] {
            assert_eq!(report, Report::Impossible);
        }
        assert!(matches!(
            judge(at(0), zero, 0.0, 0.0, None),
            Report::Useful(_)
        ));
    }

    #[test]
    fn one_report_counts_in_half_a_round_trip() {
        let mut guard = Guard::new(1_000, 1e6, at(0));
        let mut judge = |now, number, p| {
            let report = feedback(at(0), Duration::ZERO, 0.0, p);
            guard.judge(at(now), (number, at(0)), &report, Some(RTT), 0.1)
        };
        assert!(matches!(judge(100, 5, 0.1), Report::Useful(_)));
        assert_eq!(judge(149, 5, 0.1), Report::Surplus);
        assert!(matches!(judge(149, 5, 0.2), Report::Useful(_)));
        assert!(matches!(judge(200, 6, 0.1), Report::Useful(_)));
        // This report is older than the last.
        assert_eq!(judge(400, 5, 0.1), Report::Surplus);
    }

    #[test]
    fn rates_and_holds_are_held_to_what_was_sent() {
        let mut guard = Guard::new(1_000, 1e9, at(0));
        for _ in 0..9 {
            guard.on_sent(1_000);
        }
        let report = feedback(at(0), RTT, 1e300, 0.0);
        let judged = guard.judge(at(100), (0, at(0)), &report, Some(RTT), 0.0);
        let Report::Useful(judged) = judged else {
            panic!("{judged:?}");
        };
        // The limit is nine packets and one in 100 ms, and R is half of the time that the report
        // took.
        assert!((judged.receive_rate - 1e5).abs() < 1e-6);
        assert_eq!(judged.hold, RTT / 2);
        guard.on_used(Some(RTT));
        // 2 · 10⁵ is more than 4 · 4,000 bytes in 100 ms.
        assert!((guard.rate() - 2e5).abs() < 1e-6);
    }

    #[test]
    fn no_second_has_more_than_its_share() {
        let (most, packet) = (1e5, 1_000);
        let mut guard = Guard::new(packet, most, at(0));
        let (mut now, mut sent) = (at(0), 0.0);
        while now < at(1_000) {
            if guard.is_open(now) {
                guard.on_sent(packet);
                sent += f64::from(packet);
            } else {
                assert!(guard.due() > now);
                now = guard.due();
            }
        }
        assert!(sent > 0.99 * most, "{sent}");
        assert!(sent <= most + 5.0 * f64::from(packet), "{sent}");
    }
}
