//! The receiver: cumulative, delayed and selective acknowledgements (RFC 5681 §4.2, RFC 2018, RFC
//! 7323 §4.3).
//!
//! ```text
//! in order, nothing beyond, none waiting    the acknowledgement waits for the next segment (or more) or the delay
//! anything else                             the acknowledgement leaves immediately
//! echo                                      the stamp of the earliest segment not acknowledged yet, or of the latest
//! SACK blocks                               the block of the segment that arrived, then those reported before
//! ```
//!
//! A segment beyond the receiver's window is dropped. If the sender uses RACK-TLP, the first block
//! reports a segment that arrived twice (RFC 2883, one segment in a block).

use std::ops::Range;

use super::ranges::Ranges;
use super::{Ack, Dialect, Echo, Options, Recovery, SackBlocks, Segment};
use crate::prefetch::prefetch;
use whyloss::{Duration, Time};

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next segment expected; all segments before it were delivered.
    next: u64,
    /// The number of the next segment in the last acknowledgement sent.
    acked: u64,
    /// The stamp to echo: TS.Recent of RFC 7323.
    recent: Time,
    echo: Echo,
    /// The deadline of a waiting acknowledgement; [`Time::MAX`] if none waits.
    deadline: Time,
    /// The time that an acknowledgement may wait; zero if it may not.
    delay: Duration,
    /// The maximum number of segments in order that one acknowledgement answers.
    every: u8,
    /// The number of segments in order whose acknowledgement waits.
    waiting: u8,
    duplicates: u64,
    /// The number of segments in `beyond`.
    ahead: u32,
    /// The segments beyond the first hole; `None` if there is no hole.
    beyond: Option<Box<Beyond>>,
    window: u32,
    /// The recovery of the sender, which decides whether it can read SACK and D-SACK blocks.
    recovery: Recovery,
    handshake: bool,
    dialect: Dialect,
    /// Whether acknowledgements carry ECE.
    echoes: bool,
}

/// The segments that arrived beyond the first hole.
#[derive(Clone, Debug, Default)]
struct Beyond {
    ranges: Ranges,
    /// One segment of each of the last reported blocks, the most recent first. Segments below the
    /// hole no longer count.
    latest: [u64; 3],
}

impl Receiver {
    /// Returns a receiver that waits for segment 0.
    pub fn new(options: &Options) -> Self {
        Self {
            next: 0,
            acked: 0,
            recent: Time::ZERO,
            echo: options.echo,
            deadline: Time::MAX,
            delay: options
                .delayed_ack
                .unwrap_or(Duration::ZERO)
                .max(Duration::ZERO),
            every: options.ack_every,
            waiting: 0,
            duplicates: 0,
            ahead: 0,
            beyond: None,
            window: options.receive_window.max(1),
            recovery: options.recovery,
            handshake: options.handshake,
            dialect: options.dialect,
            echoes: false,
        }
    }

    /// Prefetches the state for arrivals out of order.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.beyond.as_deref().map(prefetch);
    }

    /// Handles a segment and returns the acknowledgement to send now, if there is one.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> Option<Ack> {
        if self.expects(segment) {
            let sack = SackBlocks::NONE;
            let ack = self.on_expected(now, segment);
            return ack.map(|(next, echo)| Ack { next, echo, sack });
        }
        self.note(segment);
        self.on_disorder(now, segment.sequence)
    }

    /// Returns whether this is the next segment and nothing has arrived beyond it.
    #[inline]
    pub(crate) fn expects(&self, segment: &Segment) -> bool {
        segment.sequence == self.next && self.ahead == 0
    }

    /// Handles an [expected](Self::expects) segment like [`Self::on_segment`]. Its acknowledgement
    /// needs only the next number and an echo.
    #[inline]
    pub(crate) fn on_expected(&mut self, now: Time, segment: &Segment) -> Option<(u64, Time)> {
        self.note(segment);
        self.next += 1;
        self.may_acknowledge(now).then(|| {
            self.settle();
            (self.next, self.recent)
        })
    }

    /// Stores the stamp of a segment if it is to be echoed.
    #[inline]
    fn note(&mut self, segment: &Segment) {
        let in_line = segment.sequence <= self.acked && segment.stamp >= self.recent;
        if in_line || self.echo == Echo::Latest {
            self.recent = segment.stamp;
        }
    }

    /// Handles the ECN mark and the CWR flag of an arriving segment (RFC 3168 §6.1.3). With ECN,
    /// call this before [`Self::on_segment`].
    pub fn on_marks(&mut self, marked: bool, cwr: bool) {
        self.echoes = marked || (self.echoes && !cwr);
    }

    /// Returns whether an acknowledgement that leaves now carries ECE.
    pub fn echoes(&self) -> bool {
        self.echoes
    }

    /// Returns when a delayed acknowledgement is due; [`Time::MAX`] if none waits.
    pub fn next_timeout(&self) -> Time {
        self.deadline
    }

    /// Handles the time of [`Receiver::next_timeout`] and returns the acknowledgement that waited.
    pub fn on_timeout(&mut self, now: Time) -> Option<Ack> {
        let due = self.deadline <= now && self.deadline != Time::MAX;
        due.then(|| self.acknowledge(SackBlocks::NONE))
    }

    /// Returns the number of segments delivered to the application: all before the first hole.
    pub fn in_order(&self) -> u64 {
        self.next
    }

    /// Returns the number of segments that arrived again.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    #[inline]
    fn acknowledge(&mut self, sack: SackBlocks) -> Ack {
        self.settle();
        Ack {
            next: self.next,
            echo: self.recent,
            sack,
        }
    }

    /// Records that an acknowledgement of all segments in order leaves.
    #[inline]
    fn settle(&mut self) {
        self.deadline = Time::MAX;
        self.waiting = 0;
        self.acked = self.next;
    }

    /// Returns whether a segment in order is acknowledged immediately. Otherwise, its
    /// acknowledgement waits.
    #[inline]
    fn may_acknowledge(&mut self, now: Time) -> bool {
        let may_wait = self.delay > Duration::ZERO && self.waiting + 1 < self.every;
        if may_wait && (self.next > 1 || !self.handshake) {
            if self.waiting == 0 {
                self.deadline = now + self.delay;
            }
            self.waiting += 1;
            return false;
        }
        true
    }

    /// Handles a segment that is out of order, a duplicate, or in a hole.
    #[cold]
    fn on_disorder(&mut self, now: Time, sequence: u64) -> Option<Ack> {
        let duplicates = self.duplicates;
        if sequence < self.next {
            self.duplicates += 1;
            if self.dialect == Dialect::Ns2 && self.ahead == 0 && sequence + 1 == self.next {
                let at_once = self.may_acknowledge(now);
                return at_once.then(|| self.acknowledge(SackBlocks::NONE));
            }
        } else if sequence - self.next < u64::from(self.window) {
            self.on_segment_ahead(sequence);
        }
        let reports = matches!(self.recovery, Recovery::Sack | Recovery::Rack);
        let mut sack = match &self.beyond {
            Some(beyond) if reports => SackBlocks::new(self.next, beyond.blocks()),
            _ => SackBlocks::NONE,
        };
        if self.recovery == Recovery::Rack && self.duplicates > duplicates {
            sack = sack.with_duplicate(self.next, sequence);
        }
        Some(self.acknowledge(sack))
    }

    /// Stores a segment that fills the first hole or is beyond it.
    fn on_segment_ahead(&mut self, sequence: u64) {
        let beyond = self.beyond.get_or_insert_default();
        if sequence == self.next {
            self.next = beyond.ranges.hole_from(sequence + 1);
            self.ahead -= beyond.ranges.remove_below(self.next) as u32;
            if self.ahead == 0 {
                self.beyond = None;
            }
        } else if beyond.ranges.insert(sequence..sequence.saturating_add(1)) > 0 {
            self.ahead += 1;
            beyond.note(sequence);
        } else {
            self.duplicates += 1;
            beyond.note(sequence);
        }
    }
}

impl Beyond {
    /// Moves the block of `sequence` to the front, as the most recent one.
    fn note(&mut self, sequence: u64) {
        let Some(block) = self.ranges.find(sequence) else {
            return;
        };
        let kept = self.latest.iter().position(|old| block.contains(old));
        let vacated = kept.unwrap_or(self.latest.len() - 1);
        self.latest.copy_within(..vacated, 1);
        self.latest[0] = sequence;
    }

    /// Returns the blocks to report, the most recent first, each once.
    fn blocks(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let block = |sequence: &u64| self.ranges.find(*sequence);
        self.latest
            .iter()
            .enumerate()
            .filter_map(move |(i, sequence)| {
                let found = block(sequence)?;
                let reported = self.latest[..i].iter().any(|old| found.contains(old));
                (!reported).then(|| found.clone())
            })
    }
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "lists of one range are meant"
)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Delivers segment `sequence`, sent at `sent` ms, at `at` ms.
    fn arrive(receiver: &mut Receiver, at: u64, sequence: u64, sent: u64) -> Option<Ack> {
        let segment = Segment {
            sequence,
            stamp: ms(sent),
            retransmission: false,
        };
        receiver.on_segment(ms(at), &segment)
    }

    fn next(ack: Option<Ack>) -> Option<u64> {
        ack.map(|ack| ack.next)
    }

    fn prompt() -> Receiver {
        Receiver::new(&Options {
            delayed_ack: None,
            ..Options::default()
        })
    }

    fn blocks(ack: Option<Ack>) -> Vec<Range<u64>> {
        ack.iter().flat_map(Ack::sacked).collect()
    }

    #[test]
    fn stretch_acknowledgements_wait_for_more_segments() {
        let mut receiver = Receiver::new(&Options {
            ack_every: 4,
            ..Options::default()
        });
        for k in 0..3 {
            assert_eq!(arrive(&mut receiver, 10 + k, k, k), None);
            assert_eq!(receiver.next_timeout(), ms(110));
        }
        let ack = arrive(&mut receiver, 13, 3, 3).expect("the fourth");
        // The acknowledgement echoes the earliest timestamp.
        assert_eq!((ack.next, ack.echo), (4, ms(0)));
        // After two more segments, the acknowledgement leaves when the first of them has waited for
        // 100 ms.
        assert_eq!(arrive(&mut receiver, 20, 4, 9), None);
        assert_eq!(arrive(&mut receiver, 50, 5, 9), None);
        assert_eq!(next(receiver.on_timeout(ms(120))), Some(6));
        // A segment out of order is acknowledged immediately, and the count of four restarts.
        assert_eq!(next(arrive(&mut receiver, 130, 7, 9)), Some(6));
        assert_eq!(next(arrive(&mut receiver, 131, 6, 9)), Some(8));
        for k in 8..11 {
            assert_eq!(arrive(&mut receiver, 140, k, 9), None);
        }
        assert_eq!(next(arrive(&mut receiver, 140, 11, 9)), Some(12));
    }

    #[test]
    fn every_second_segment_or_a_timer() {
        let mut receiver = Receiver::new(&Options::default());
        assert_eq!(arrive(&mut receiver, 10, 0, 0), None);
        assert_eq!(receiver.next_timeout(), ms(110));
        let ack = arrive(&mut receiver, 20, 1, 5);
        // The acknowledgement echoes the timestamp of the delayed segment.
        assert_eq!(ack.map(|ack| (ack.next, ack.echo)), Some((2, ms(0))));
        assert_eq!(receiver.next_timeout(), Time::MAX);
        assert_eq!(arrive(&mut receiver, 30, 2, 15), None);
        assert_eq!(receiver.on_timeout(ms(129)), None);
        let ack = receiver.on_timeout(ms(130));
        assert_eq!(ack.map(|ack| (ack.next, ack.echo)), Some((3, ms(15))));
        assert_eq!(receiver.on_timeout(Time::MAX), None);
    }

    #[test]
    fn disorder_and_filled_holes_are_acknowledged_at_once() {
        let mut receiver = Receiver::new(&Options::default());
        assert_eq!(arrive(&mut receiver, 0, 0, 0), None);
        assert_eq!(next(arrive(&mut receiver, 1, 2, 0)), Some(1));
        assert_eq!(next(arrive(&mut receiver, 2, 4, 0)), Some(1));
        // Fills one hole of two, then the other.
        assert_eq!(next(arrive(&mut receiver, 3, 1, 0)), Some(3));
        assert_eq!(next(arrive(&mut receiver, 4, 3, 0)), Some(5));
        assert_eq!(arrive(&mut receiver, 5, 5, 0), None);
        assert_eq!(receiver.in_order(), 6);
    }

    #[test]
    fn a_handshake_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(&Options {
            handshake: true,
            ..Options::default()
        });
        assert_eq!(next(arrive(&mut receiver, 0, 0, 0)), Some(1));
        assert_eq!(arrive(&mut receiver, 1, 1, 0), None);
    }

    #[test]
    fn the_most_recent_block_comes_first() {
        let mut receiver = prompt();
        arrive(&mut receiver, 0, 0, 0);
        assert_eq!(blocks(arrive(&mut receiver, 1, 2, 0)), [2..3]);
        assert_eq!(blocks(arrive(&mut receiver, 1, 3, 0)), [2..4]);
        assert_eq!(blocks(arrive(&mut receiver, 1, 6, 0)), [6..7, 2..4]);
        assert_eq!(blocks(arrive(&mut receiver, 1, 8, 0)), [8..9, 6..7, 2..4]);
        assert_eq!(
            blocks(arrive(&mut receiver, 1, 10, 0)),
            [10..11, 8..9, 6..7]
        );
        // A duplicate repeats its block first; a filled hole merges two blocks.
        assert_eq!(blocks(arrive(&mut receiver, 1, 6, 0)), [6..7, 10..11, 8..9]);
        assert_eq!(blocks(arrive(&mut receiver, 1, 7, 0)), [6..9, 10..11]);
        assert_eq!(receiver.duplicates(), 1);
        // The first hole fills, the second does not.
        let ack = arrive(&mut receiver, 1, 1, 0);
        assert_eq!(next(ack), Some(4));
        assert_eq!(blocks(ack), [6..9, 10..11]);
        arrive(&mut receiver, 1, 4, 0);
        arrive(&mut receiver, 1, 9, 0);
        let ack = arrive(&mut receiver, 1, 5, 0);
        assert_eq!((next(ack), blocks(ack)), (Some(11), vec![]));
    }

    #[test]
    fn what_comes_twice_is_reported_to_who_can_read_it() {
        for (recovery, reported) in [(Recovery::Rack, true), (Recovery::Sack, false)] {
            let mut receiver = Receiver::new(&Options {
                recovery,
                delayed_ack: None,
                ..Options::default()
            });
            let twice = |ack: Option<Ack>| ack.and_then(|ack| ack.duplicate());
            assert_eq!(twice(arrive(&mut receiver, 0, 0, 0)), None);
            assert_eq!(twice(arrive(&mut receiver, 1, 3, 0)), None);
            // A duplicate below the left edge, then one beyond it.
            let ack = arrive(&mut receiver, 2, 0, 0);
            assert_eq!(twice(ack), reported.then_some(0..1));
            let ack = arrive(&mut receiver, 3, 3, 0);
            assert_eq!(twice(ack), reported.then_some(3..4));
            let repeated = usize::from(reported);
            assert_eq!(blocks(ack)[repeated..], [3..4]);
        }
    }

    #[test]
    fn echo_follows_the_left_edge() {
        let mut receiver = prompt();
        let echo = |ack: Option<Ack>| ack.map(|ack| ack.echo);
        assert_eq!(echo(arrive(&mut receiver, 9, 0, 1)), Some(ms(1)));
        assert_eq!(echo(arrive(&mut receiver, 9, 2, 3)), Some(ms(1)));
        assert_eq!(echo(arrive(&mut receiver, 9, 3, 4)), Some(ms(1)));
        assert_eq!(echo(arrive(&mut receiver, 9, 1, 8)), Some(ms(8)));
    }

    #[test]
    fn the_latest_segment_may_be_echoed_instead() {
        let options = Options {
            echo: Echo::Latest,
            ..Options::default()
        };
        let mut receiver = Receiver::new(&options);
        let echo = |ack: Option<Ack>| ack.map(|ack| ack.echo);
        assert_eq!(arrive(&mut receiver, 10, 0, 1), None);
        assert_eq!(echo(arrive(&mut receiver, 20, 1, 5)), Some(ms(5)));
        assert_eq!(echo(arrive(&mut receiver, 30, 3, 9)), Some(ms(9)));
        assert_eq!(echo(arrive(&mut receiver, 40, 2, 7)), Some(ms(7)));
        assert_eq!(arrive(&mut receiver, 50, 4, 12), None);
        assert_eq!(echo(receiver.on_timeout(ms(150))), Some(ms(12)));
    }

    #[test]
    fn hostile_segments_do_no_harm() {
        let mut receiver = prompt();
        for sequence in [u64::MAX, u64::MAX - 1, 1 << 40, 0, 0, 1 << 20, 2] {
            arrive(&mut receiver, 1, sequence, 0);
        }
        assert_eq!((receiver.in_order(), receiver.ahead), (1, 2));
        assert_eq!(receiver.duplicates(), 1);
    }
}
