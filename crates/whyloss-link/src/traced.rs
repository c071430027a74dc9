//! The pace of a [`Link`](crate::Link) that sends at the times of a recorded trace, in the format
//! of mahimahi's packet-delivery files.
//!
//! A file has one time in milliseconds on each line, in ascending order. Each time is an
//! *opportunity* to send 1500 bytes. Packets leave in order: several small packets share an
//! opportunity, and a large packet spans several. Unused bytes of an opportunity are lost. The last
//! time is the length of the trace, which then starts again (Netravali et al., "Mahimahi", USENIX
//! ATC 2015, section 2.2.2). mahimahi counts the 4 bytes that its device adds to each packet; here
//! sizes are those of IP packets.
//!
//! ```text
//! opportunity i    at ⌊i/n⌋·T + t_(i mod n);  T = t_(n−1)
//! ```

use std::fmt;
use std::sync::Arc;

use thiserror::Error;
use whyloss::{Rate, Time};

/// The number of bytes that one opportunity can send.
pub const OPPORTUNITY: u32 = 1_500;

/// The maximum number of opportunities in a trace.
pub const MOST_OPPORTUNITIES: usize = 10_000_000;

/// The opportunities of a trace, shared by all links that replay it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities(Arc<[u32]>);

/// Explains why a text is not a trace.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpportunityError {
    /// The line with this number, counted from 1, has no time.
    #[error("line {0} is no time in whole milliseconds below 2³²")]
    NoTime(usize),
    /// The time on the line with this number is earlier than the one above it.
    #[error("line {0} goes back in time; times must not decrease")]
    Backwards(usize),
    /// The trace has no length.
    #[error("the trace must have an opportunity later than 0 ms: its last time is its length")]
    NoLength,
    /// The trace has more than [`MOST_OPPORTUNITIES`] lines.
    #[error("the trace has more than {MOST_OPPORTUNITIES} lines")]
    TooLong,
}

/// Writes the trace in mahimahi's format.
impl fmt::Display for Opportunities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|time| writeln!(f, "{time}"))
    }
}

impl Opportunities {
    /// Reads mahimahi's format: a time in milliseconds on each line.
    ///
    /// # Errors
    /// Returns an error that names the first invalid line.
    pub fn parse(text: &str) -> Result<Self, OpportunityError> {
        let mut times = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let time = line.trim().parse::<u32>();
            let time = time.map_err(|_| OpportunityError::NoTime(index + 1))?;
            if times.last().is_some_and(|&last| last > time) {
                return Err(OpportunityError::Backwards(index + 1));
            }
            if times.len() == MOST_OPPORTUNITIES {
                return Err(OpportunityError::TooLong);
            }
            times.push(time);
        }
        match times.last() {
            None | Some(0) => Err(OpportunityError::NoLength),
            Some(_) => Ok(Self(times.into())),
        }
    }

    /// Returns the mean rate of the trace.
    pub fn rate(&self) -> Rate {
        let bits = self.0.len() as u64 * u64::from(OPPORTUNITY) * 8;
        Rate::from_bps(bits * 1_000 / self.period())
    }

    /// Returns the period T, in milliseconds.
    fn period(&self) -> u64 {
        u64::from(self.0.last().copied().unwrap_or(1).max(1))
    }

    /// Returns the time of opportunity number `index`.
    fn at(&self, index: u64) -> Time {
        let n = self.0.len() as u64;
        let millis = (index / n) * self.period() + u64::from(self.0[(index % n) as usize]);
        Time::from_nanos(millis.saturating_mul(1_000_000))
    }

    /// Returns the index of the first opportunity at `now` or later.
    fn first_from(&self, now: Time) -> u64 {
        let millis = now.as_nanos().div_ceil(1_000_000);
        let n = self.0.len() as u64;
        // A multiple of T is the end of one round and may be the beginning of the next.
        let round = millis.saturating_sub(1) / self.period();
        let within = millis - round * self.period();
        let index = self.0.partition_point(|&at| u64::from(at) < within) as u64;
        round * n + index
    }
}

/// The replay of a trace by one link.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    opportunities: Opportunities,
    /// The index of the opportunity in use, and the bytes that it has left.
    current: u64,
    left: u32,
}

impl Replay {
    pub(crate) fn new(opportunities: &Opportunities) -> Self {
        Self {
            opportunities: opportunities.clone(),
            current: 0,
            left: OPPORTUNITY,
        }
    }

    /// Returns the index of the first opportunity, not before `free`, that has bytes left.
    fn next(&self, free: Time) -> u64 {
        if self.left > 0 && self.opportunities.at(self.current) >= free {
            return self.current;
        }
        let next = self.current + u64::from(self.left == 0);
        next.max(self.opportunities.first_from(free))
    }

    /// Returns the time of the first opportunity, not before `free`, that has bytes left.
    pub(crate) fn ready(&self, free: Time) -> Time {
        self.opportunities.at(self.next(free))
    }

    /// Uses the opportunities not before `free` for a packet. Returns the departure times of its
    /// first and last byte.
    pub(crate) fn send(&mut self, free: Time, size: u32) -> (Time, Time) {
        let next = self.next(free);
        if next != self.current {
            self.current = next;
            self.left = OPPORTUNITY;
        }
        let start = self.opportunities.at(self.current);
        let mut rest = size;
        while rest > self.left {
            rest -= self.left;
            self.current += 1;
            self.left = OPPORTUNITY;
        }
        self.left -= rest;
        (start, self.opportunities.at(self.current))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use whyloss::{Cause, Duration};

    use super::*;
    use crate::queue::{Limit, QueueSpec};
    use crate::{Fate, Link, LinkSpec, Streams};

    fn millis(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn link(text: &str, queue: QueueSpec) -> Link {
        let spec = LinkSpec {
            trace: Some(Opportunities::parse(text).unwrap()),
            delay: Duration::from_millis(10),
            queue,
            ..LinkSpec::default()
        };
        Link::new(&spec, Streams::new(1), 0)
    }

    #[test]
    fn opportunities_by_hand() {
        // Rounds of 20 ms: 0, 5, 5, 20 | 20, 25, 25, 40 | …
        let two = QueueSpec::drop_tail(Limit::Packets(2));
        let mut link = link("0\n5\n5\n20\n", two);
        let offers = [
            (0, 1_500, Some(0)),
            // Two packets use the two opportunities at 5 ms.
            (1, 1_500, Some(5)),
            (1, 1_500, Some(5)),
            // Two packets already wait.
            (2, 40, None),
            // The second packet needs a byte of the next opportunity, which is also at 20 ms: a
            // round starts as the last one ends.
            (6, 750, Some(20)),
            (6, 751, Some(20)),
            // Later packets cannot use the rest of an opportunity.
            (21, 1_499, Some(25)),
            (26, 3_001, Some(45)),
        ];
        for (at, size, departure) in offers {
            let expected = departure.map_or(Fate::Lost(Cause::Congestion, millis(at)), |leaves| {
                Fate::Delivered(millis(leaves + 10))
            });
            assert_eq!(link.offer(millis(at), size), expected, "{at} {size}");
        }
    }

    #[test]
    fn what_is_no_trace() {
        let error = |text| Opportunities::parse(text).unwrap_err();
        assert_eq!(error(""), OpportunityError::NoLength);
        assert_eq!(error("0\n0\n"), OpportunityError::NoLength);
        assert_eq!(error("1\nx\n"), OpportunityError::NoTime(2));
        assert_eq!(error("1\n\n"), OpportunityError::NoTime(2));
        assert_eq!(error("3\n2\n"), OpportunityError::Backwards(2));
        let rate = Opportunities::parse("1\n2\n3\n").unwrap().rate();
        assert_eq!(rate, Rate::from_mbps(12));
    }

    proptest! {
        /// Departures equal those of a queue that is served one opportunity at a time.
        #[test]
        fn served_as_defined(
            gaps in prop::collection::vec(0u32..9, 1..12),
            offers in prop::collection::vec((0u64..6, 1u32..4_000), 1..60),
        ) {
            let mut at = 0;
            let times: Vec<u32> = gaps.iter().map(|gap| { at += gap; at }).collect();
            prop_assume!(at > 0);
            let lines: Vec<String> = times.iter().map(ToString::to_string).collect();
            let text = lines.join("\n");
            let mut link = link(&text, QueueSpec::default());
            let mut now = 0;
            let offers: Vec<(u64, u32)> = offers.iter().map(|&(gap, size)| { now += gap; (now, size) }).collect();
            let fates: Vec<Fate> = offers.iter().map(|&(at, size)| link.offer(millis(at), size)).collect();
            let mut departures = Vec::new();
            let mut left: Vec<u32> = offers.iter().map(|offer| offer.1).collect();
            for index in 0u64.. {
                let round = index / times.len() as u64;
                let time = round * u64::from(at) + u64::from(times[index as usize % times.len()]);
                let mut budget = OPPORTUNITY;
                while departures.len() < offers.len() && budget > 0 && offers[departures.len()].0 <= time {
                    let rest = &mut left[departures.len()];
                    let sent = budget.min(*rest);
                    *rest -= sent;
                    budget -= sent;
                    if *rest == 0 {
                        departures.push(time);
                    }
                }
                if departures.len() == offers.len() {
                    break;
                }
            }
            for (fate, departure) in fates.iter().zip(&departures) {
                prop_assert_eq!(*fate, Fate::Delivered(millis(departure + 10)));
            }
        }
    }
}
