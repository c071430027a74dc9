//! Transfers of a finite size: decides when they start, and measures when they are complete.
//!
//! ```text
//! once        one transfer, at the flow's start
//! in turn     each begins when the source learns that the previous one has arrived
//! Poisson     `per_second` transfers per second on average; each waits for earlier ones
//! completion  from when the source has a transfer to send until the sink has all of it, in order
//! ```
//!
//! All transfers of a flow use one connection, so each starts with the window that earlier ones
//! left. [Web traffic](super::web) uses a new connection for each transfer instead.

use std::collections::VecDeque;
use std::iter::Sum;

use whyloss::{Duration, Time};
use whyloss_link::Random;

use super::supply::{Arrivals, SizedTransfers};
use crate::delay::DelaySummary;

/// The active and future transfers of a flow.
#[derive(Debug)]
pub(crate) struct Backlog {
    size: u64,
    arrivals: Arrivals,
    random: Random,
    /// When the next transfer begins; [`Time::MAX`] if this is not known.
    due: Time,
    /// The number of transfers that have begun.
    begun: u64,
    /// The start times of the transfers that are incomplete at the sink, oldest first.
    beginnings: VecDeque<Time>,
}

impl Backlog {
    /// Returns the transfers of a flow that starts at `start`.
    pub(crate) fn new(transfers: &SizedTransfers, start: Time, random: Random) -> Self {
        let mut backlog = Self {
            size: transfers.size,
            arrivals: transfers.arrivals,
            random,
            due: start,
            begun: 0,
            beginnings: VecDeque::new(),
        };
        if let Arrivals::Poisson { per_second } = backlog.arrivals {
            let gap = backlog.gap(per_second);
            backlog.due += gap;
        }
        backlog
    }

    /// Returns when to wake the source for the next transfer; [`Time::MAX`] if only an answer can
    /// begin one.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Returns the size of a transfer, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Begins the transfers that are due at `now`. `finished` is the number of transfers that the
    /// source knows to have arrived. Returns the number begun so far.
    pub(crate) fn refresh(&mut self, now: Time, finished: u64) -> u64 {
        match self.arrivals {
            Arrivals::Once => {
                if self.due <= now {
                    self.begin(self.due);
                    self.due = Time::MAX;
                }
            }
            Arrivals::InTurn => {
                let first = self.due <= now;
                if first || (self.begun > 0 && finished >= self.begun) {
                    self.begin(now);
                    self.due = Time::MAX;
                }
            }
            Arrivals::Poisson { per_second } => {
                while self.due <= now {
                    self.begin(self.due);
                    let gap = self.gap(per_second);
                    self.due += gap;
                }
            }
        }
        self.begun
    }

    /// Records that the oldest unfinished transfer is complete at the sink. Returns its start time.
    pub(crate) fn completed(&mut self) -> Option<Time> {
        self.beginnings.pop_front()
    }

    /// Returns the start times of the transfers that are incomplete at the sink, oldest first.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = Time> + '_ {
        self.beginnings.iter().copied()
    }

    fn begin(&mut self, at: Time) {
        self.begun += 1;
        self.beginnings.push_back(at);
    }

    /// Draws the time to the next transfer: at least a nanosecond, so that any moment has a finite
    /// number of arrivals.
    fn gap(&mut self, per_second: f64) -> Duration {
        Duration::from_secs_f64(self.random.exponential(1.0 / per_second))
            .max(Duration::from_nanos(1))
    }
}

/// The completion times of a flow's transfers that began inside the measurement window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransferResult {
    /// The completion times: from the start of a transfer until the sink has all of it. Ignore the
    /// jitter in this summary.
    pub times: DelaySummary,
    /// The number of transfers that were incomplete at the end of the run.
    pub unfinished: u64,
}

impl<'a> Sum<&'a Self> for TransferResult {
    /// Returns the result of the transfers of several flows together.
    fn sum<I: Iterator<Item = &'a Self>>(results: I) -> Self {
        let mut all = Self::default();
        for result in results {
            all.times.merge(&result.times);
            all.unfinished += result.unfinished;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss_link::Streams;

    fn backlog(arrivals: Arrivals) -> Backlog {
        let transfers = SizedTransfers {
            size: 1_000,
            arrivals,
        };
        let random = Streams::new(3).stream("transfers", 0);
        Backlog::new(&transfers, seconds(1), random)
    }

    fn seconds(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn once_begins_at_the_start_and_never_again() {
        let mut backlog = backlog(Arrivals::Once);
        assert_eq!(
            (backlog.refresh(Time::ZERO, 0), backlog.due()),
            (0, seconds(1))
        );
        assert_eq!(
            (backlog.refresh(seconds(2), 0), backlog.due()),
            (1, Time::MAX)
        );
        assert_eq!(backlog.refresh(seconds(9), 1), 1);
        // The transfer began when it was due, even if the source was polled later.
        assert_eq!(backlog.completed(), Some(seconds(1)));
        assert_eq!(backlog.completed(), None);
    }

    #[test]
    fn in_turn_waits_until_the_one_before_has_arrived() {
        let mut backlog = backlog(Arrivals::InTurn);
        assert_eq!(backlog.refresh(seconds(1), 0), 1);
        assert_eq!(
            (backlog.refresh(seconds(3), 0), backlog.due()),
            (1, Time::MAX)
        );
        assert_eq!(backlog.refresh(seconds(4), 1), 2);
        assert_eq!(
            backlog.unfinished().collect::<Vec<_>>(),
            [seconds(1), seconds(4)]
        );
    }

    #[test]
    fn poisson_has_its_rate_and_does_not_wait() {
        let mut backlog = backlog(Arrivals::Poisson { per_second: 2.0 });
        let begun = backlog.refresh(seconds(10_001), 0);
        // 20 000 on average, with a standard deviation of 141.
        assert!((19_400..20_600).contains(&begun), "{begun}");
        assert_eq!(backlog.unfinished().count() as u64, begun);
        assert!(
            backlog
                .unfinished()
                .zip(backlog.unfinished().skip(1))
                .all(|(a, b)| a < b)
        );
    }
}
