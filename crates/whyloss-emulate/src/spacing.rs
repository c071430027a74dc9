//! Keeps the spacing of packets after a pause of the host.
//!
//! If the host pauses for some milliseconds, the packet that was due then leaves late, and the next
//! one on time: closer to it than any link could bring it. Classifiers that keep the shortest gap
//! never recover from this, and packet trains show a bandwidth that does not exist. Therefore
//! packets catch up slowly: each keeps at least 15/16 of the scheduled distance to the one before it
//! on the same link. Distances below 2 ms are not kept, because lateness would last for too many
//! packets.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

/// The shortest distance between two packets that is kept.
const LEAST: Duration = Duration::from_millis(2);
/// The kept share of a distance, in sixteenths.
const KEPT: i64 = 15;

/// The last departure from a link, and the packets that wait to keep their distance from it.
#[derive(Debug)]
pub(crate) struct Spacing<P> {
    /// When the last packet was scheduled, and when it left.
    last: Option<(Time, Time)>,
    waiting: VecDeque<(Time, P)>,
    /// The greatest lateness with which a packet waits.
    most: Duration,
}

impl<P> Spacing<P> {
    /// Creates a link from which no packet has left. No packet waits for longer than `most` after
    /// its scheduled time.
    pub(crate) fn new(most: Duration) -> Self {
        Self {
            most,
            last: None,
            waiting: VecDeque::new(),
        }
    }

    /// Takes a packet that is scheduled at this time, not before earlier ones. Returns it if it may
    /// leave now, with its scheduled time.
    pub(crate) fn offer(&mut self, now: Time, scheduled: Time, packet: P) -> Option<(Time, P)> {
        if self.waiting.is_empty() && self.release(scheduled) <= now {
            return Some((scheduled, packet));
        }
        self.waiting.push_back((scheduled, packet));
        None
    }

    /// Returns the next waiting packet that may leave now, with its scheduled time.
    pub(crate) fn take(&mut self, now: Time) -> Option<(Time, P)> {
        if self.next() > now {
            return None;
        }
        self.waiting.pop_front()
    }

    /// Notes that a packet has left.
    pub(crate) fn left(&mut self, scheduled: Time, departed: Time) {
        self.last = Some((scheduled, departed));
    }

    /// Returns when the next waiting packet may leave; [`Time::MAX`] if none waits.
    pub(crate) fn next(&self) -> Time {
        let first = self.waiting.front();
        first.map_or(Time::MAX, |(scheduled, _)| self.release(*scheduled))
    }

    /// Returns all waiting packets.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = P> {
        self.waiting.drain(..).map(|(_, packet)| packet)
    }

    /// Returns when a packet with this scheduled time may leave.
    fn release(&self, scheduled: Time) -> Time {
        match self.last {
            Some((before, departed)) if scheduled - before >= LEAST => {
                let kept = departed + (scheduled - before) / 16 * KEPT;
                scheduled.max(kept.min(scheduled + self.most))
            }
            _ => scheduled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Returns when packets leave that are scheduled `gap` apart, if the host pauses from `pause.0`
    /// to `pause.1`.
    fn departures(most: Duration, gap: Duration, pause: (Time, Time)) -> Vec<Time> {
        let mut spacing = Spacing::new(most);
        let mut left = Vec::new();
        let awake = |at: Time| {
            if (pause.0..pause.1).contains(&at) {
                pause.1
            } else {
                at
            }
        };
        let note = |spacing: &mut Spacing<()>, left: &mut Vec<Time>, scheduled, now| {
            spacing.left(scheduled, now);
            left.push(now);
        };
        for number in 1..=50 {
            let scheduled = Time::ZERO + gap * number;
            loop {
                let now = awake(spacing.next().min(scheduled));
                let Some((waited, ())) = spacing.take(now) else {
                    break;
                };
                note(&mut spacing, &mut left, waited, now);
            }
            let now = awake(scheduled);
            if spacing.offer(now, scheduled, ()).is_some() {
                note(&mut spacing, &mut left, scheduled, now);
            }
        }
        left
    }

    #[test]
    fn packets_catch_up_slowly_after_a_pause() {
        let pause = (Time::from_nanos(75_000_000), Time::from_nanos(86_000_000));
        let left = departures(ms(50), ms(8), pause);
        assert_eq!(left[9], pause.1, "6 ms late");
        let gaps: Vec<_> = left.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|&gap| gap >= ms(8) / 16 * KEPT), "{gaps:?}");
        // Each packet gains half a millisecond, so the twelfth after the pause is on time.
        assert_eq!(left[21], Time::ZERO + ms(8) * 22);
        assert!(left[20] > Time::ZERO + ms(8) * 21);
    }

    #[test]
    fn no_packet_waits_for_longer_than_it_may() {
        let pause = (Time::from_nanos(75_000_000), Time::from_nanos(86_000_000));
        let left = departures(ms(2), ms(8), pause);
        assert_eq!(left[10], Time::ZERO + ms(8) * 11 + ms(2));
    }

    #[test]
    fn short_distances_are_not_kept() {
        let pause = (Time::from_nanos(4_500_000), Time::from_nanos(8_500_000));
        let left = departures(ms(50), ms(1), pause);
        assert_eq!(left[4..8], [pause.1; 4]);
        assert_eq!(left[8], Time::ZERO + ms(9));
    }
}
