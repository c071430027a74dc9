//! RACK (RFC 8985 §6): a segment is lost when one that left later has arrived and enough time for
//! reordering has passed.
//!
//! ```text
//! step 2  xmit_ts, end_seq   of the most recently sent segment among those that arrived; rtt: its round-trip time
//! step 3  reordering seen    a segment that left once arrives below fack, the highest that has arrived
//! step 4  reo_wnd          = min(mult · min_RTT/4, SRTT); 0 as long as no reordering was seen, in a recovery or with three
//!                            segments sacked
//!         mult             = 1, and one more for each round trip with a D-SACK; 1 again after 16 recoveries without
//! step 5  lost               left before (xmit_ts, end_seq), and now ≥ its departure + rtt + reo_wnd; before that, the
//!                            reordering timer waits for the last segment that only time keeps from being lost
//! ```
//!
//! Each segment of the window is in flight, lost or arrived; the segments in flight are the pipe.
//! Departures are kept in order, so that step 5 looks only at segments that left before `xmit_ts`
//! and have not arrived.
//!
//! The code departs from the text in two points. *Step 2* ignores a retransmission if the echoed
//! stamp is older. Here this holds only for cumulative acknowledgements, because a receiver with a
//! gap echoes the stamp of the segment before the gap (RFC 7323 §4.3). Otherwise the sender would
//! not notice the arrival of its own probe behind other losses of the tail. *`min_RTT`* is the
//! minimum over the whole connection, not over a window of time.

use std::collections::VecDeque;

use whyloss::{Duration, Time};

use super::scoreboard::{DUP_THRESH, Scoreboard};
use crate::host::tcp::Ack;
use crate::host::tcp::ranges::Ranges;

/// The number of recoveries without a D-SACK after which the reordering window is small again.
const PERSIST: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    UnderWay,
    Lost,
    Arrived,
}

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When the segment last left.
    left: Time,
    state: State,
    retransmitted: bool,
}

/// A segment that an acknowledgement reports as arrived.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    sequence: u64,
    left: Time,
    retransmitted: bool,
    sacked: bool,
}

/// The state of RACK, which records when segments left.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The first segment that is not acknowledged.
    first: u64,
    segments: VecDeque<Sent>,
    /// The departures in order. Entries of segments that have left again, arrived or are lost have
    /// no meaning.
    departures: VecDeque<(Time, u64)>,
    /// The segments that were found lost and may not have left again.
    lost: Ranges,
    /// The segments that the current acknowledgement reports as arrived.
    arrivals: Vec<Arrival>,
    /// The segments that the last search found lost.
    pub(super) found: Vec<u64>,
    /// The number of segments in the network, as far as the sender knows.
    pub(super) pipe: u64,
    /// One past the highest segment ever found lost.
    pub(super) lost_end: u64,
    /// RACK.xmit_ts and RACK.end_seq: the departure and number of the most recently sent segment
    /// that has arrived.
    newest: (Time, u64),
    /// RACK.rtt, the round trip of that segment.
    rtt: Duration,
    /// RACK.fack, one past the highest segment that has arrived.
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    dsack_round: Option<u64>,
    reo_wnd: Duration,
    /// When the reordering timer expires; [`Time::MAX`] if it does not run.
    pub(super) reordering_at: Time,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            first: 0,
            segments: VecDeque::new(),
            departures: VecDeque::new(),
            lost: Ranges::default(),
            arrivals: Vec::new(),
            found: Vec::new(),
            pipe: 0,
            lost_end: 0,
            newest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_round: None,
            reo_wnd: Duration::ZERO,
            reordering_at: Time::MAX,
        }
    }
}

/// The state of the connection that step 4 needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    pub(super) min_rtt: Duration,
    pub(super) srtt: Option<Duration>,
    /// Whether the sender is in a fast recovery, or in one after a timeout.
    pub(super) in_recovery: bool,
    /// The number of sacked segments (RACK.segs_sacked).
    pub(super) sacked: u64,
}

impl Rack {
    /// Handles a transmission (§6.1): a segment leaves for the first time or again.
    pub(super) fn leave(&mut self, sequence: u64, now: Time) {
        let sent = Sent {
            left: now,
            state: State::UnderWay,
            retransmitted: sequence < self.end(),
        };
        if let Some(known) = self.get(sequence) {
            let was_under_way = known.state == State::UnderWay;
            *known = sent;
            self.pipe += u64::from(!was_under_way);
        } else {
            self.segments.push_back(sent);
            self.pipe += 1;
        }
        self.departures.push_back((now, sequence));
    }

    /// Records the segments that an acknowledgement reports as arrived, and returns their number.
    /// Call this before the scoreboard's update.
    pub(super) fn arrive(&mut self, ack: &Ack, board: &Scoreboard, max: u64) -> u64 {
        self.arrivals.clear();
        while self.first < ack.next
            && let Some(sent) = self.segments.pop_front()
        {
            let sequence = self.first;
            self.first += 1;
            self.note_arrival(sequence, sent, false);
        }
        for block in ack.sacked() {
            let block = block.start.max(ack.next + 1)..block.end.min(max);
            for sequence in board.news(block).flatten() {
                if let Some(known) = self.get(sequence) {
                    let sent = *known;
                    known.state = State::Arrived;
                    self.note_arrival(sequence, sent, true);
                }
            }
        }
        self.lost.remove_below(ack.next);
        self.arrivals.len() as u64
    }

    fn note_arrival(&mut self, sequence: u64, sent: Sent, sacked: bool) {
        if sent.state == State::Arrived {
            return;
        }
        self.pipe -= u64::from(sent.state == State::UnderWay);
        self.arrivals.push(Arrival {
            sequence,
            left: sent.left,
            retransmitted: sent.retransmitted,
            sacked,
        });
    }

    /// Performs steps 2 and 3, for the segments that [arrived](Self::arrive).
    pub(super) fn update(&mut self, now: Time, echo: Time, min_rtt: Duration) {
        let newest = self.newest_arrival(now, echo, min_rtt);
        let fack = self.fack;
        for arrival in &self.arrivals {
            let end = arrival.sequence + 1;
            self.fack = self.fack.max(end);
            self.reordering_seen |= end < fack && !arrival.retransmitted;
        }
        if let Some((left, end)) = newest {
            self.rtt = now - left;
            self.newest = self.newest.max((left, end));
        }
    }

    /// Returns the departure and the end of the most recently sent segment among those that
    /// [arrived](Self::arrive). Leaves out arrivals that may be those of an earlier transmission.
    pub(super) fn newest_arrival(
        &self,
        now: Time,
        echo: Time,
        min_rtt: Duration,
    ) -> Option<(Time, u64)> {
        let is_certain = |arrival: &&Arrival| {
            let is_late = !arrival.sacked && echo < arrival.left || now - arrival.left < min_rtt;
            !(arrival.retransmitted && is_late)
        };
        let certain = self.arrivals.iter().filter(is_certain);
        certain
            .map(|arrival| (arrival.left, arrival.sequence + 1))
            .max()
    }

    /// Performs the first half of step 4 for an acknowledgement of all before `una`, which may
    /// report a duplicate. `nxt` is the next segment to send.
    pub(super) fn adapt(&mut self, duplicate: bool, una: u64, nxt: u64) {
        if self.dsack_round.is_some_and(|end| una >= end) {
            self.dsack_round = None;
        }
        if duplicate && self.dsack_round.is_none() {
            self.dsack_round = Some(nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = PERSIST;
        }
    }

    /// Ends a recovery, including one after a timeout.
    pub(super) fn end_recovery(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Performs the second half of step 4.
    fn reordering_window(&self, conditions: &Conditions) -> Duration {
        let certain = conditions.in_recovery || conditions.sacked >= u64::from(DUP_THRESH);
        if certain && !self.reordering_seen {
            return Duration::ZERO;
        }
        let min_rtt = conditions.min_rtt.min(self.rtt);
        let window = min_rtt * i64::from(self.reo_wnd_mult) / 4;
        window.min(conditions.srtt.unwrap_or(self.rtt))
    }

    /// Performs steps 4 and 5: finds lost segments, and sets the reordering timer for those that
    /// may be lost.
    pub(super) fn detect(&mut self, now: Time, conditions: &Conditions) {
        self.reo_wnd = self.reordering_window(conditions);
        self.found.clear();
        let mut waiting = Duration::ZERO;
        let mut kept = 0;
        for _ in 0..self.departures.partition_point(|d| d.0 <= self.newest.0) {
            let Some((left, sequence)) = self.departures.pop_front() else {
                break;
            };
            let under_way = |sent: &Sent| sent.left == left && sent.state == State::UnderWay;
            if !self.of(sequence).is_some_and(under_way) {
                continue;
            }
            let remaining = left + self.rtt + self.reo_wnd - now;
            let before = (left, sequence + 1) < self.newest;
            if before && remaining <= Duration::ZERO {
                self.lose(sequence);
            } else {
                // After the loop, these rotate back to the front.
                self.departures.push_back((left, sequence));
                kept += 1;
                if before {
                    waiting = waiting.max(remaining);
                }
            }
        }
        self.departures.rotate_right(kept);
        self.reordering_at = if waiting > Duration::ZERO {
            now + waiting
        } else {
            Time::MAX
        };
    }

    /// Handles the expiry of the retransmission timer (§6.3): segment `una` and segments that left
    /// long enough ago are lost. If the receiver has `reneged`, segments that had arrived are also
    /// lost.
    pub(super) fn on_timeout(&mut self, now: Time, una: u64, reneged: bool) {
        self.found.clear();
        let oldest = self.rtt + self.reo_wnd;
        for sequence in self.first..self.end() {
            let Some(sent) = self.of(sequence) else {
                continue;
            };
            let is_lost = match sent.state {
                State::UnderWay => sequence == una || now - sent.left >= oldest,
                State::Lost => false,
                State::Arrived => reneged,
            };
            if is_lost {
                self.lose(sequence);
            }
        }
        self.reordering_at = Time::MAX;
    }

    /// Returns the lowest segment that is lost.
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        while let Some(range) = self.lost.first() {
            let sequence = range.start;
            if self
                .of(sequence)
                .is_some_and(|sent| sent.state == State::Lost)
            {
                return Some(sequence);
            }
            // The segment was retransmitted, or arrived after all.
            self.lost.remove_below(sequence + 1);
        }
        None
    }

    fn lose(&mut self, sequence: u64) {
        if let Some(sent) = self.get(sequence) {
            let was_under_way = sent.state == State::UnderWay;
            sent.state = State::Lost;
            self.pipe -= u64::from(was_under_way);
            self.lost.insert(sequence..sequence + 1);
            self.lost_end = self.lost_end.max(sequence + 1);
            self.found.push(sequence);
        }
    }

    /// Returns one past the last segment that has left.
    fn end(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    fn of(&self, sequence: u64) -> Option<&Sent> {
        self.segments
            .get(sequence.checked_sub(self.first)? as usize)
    }

    fn get(&mut self, sequence: u64) -> Option<&mut Sent> {
        let index = sequence.checked_sub(self.first)? as usize;
        self.segments.get_mut(index)
    }
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "lists of one range are meant"
)]
mod tests {
    use super::*;
    use crate::host::tcp::SackBlocks;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn conditions() -> Conditions {
        Conditions {
            min_rtt: Duration::from_millis(100),
            srtt: Some(Duration::from_millis(120)),
            in_recovery: false,
            sacked: 1,
        }
    }

    /// Returns the state after segments 0 to 9 have left, one every 10 ms.
    fn ten() -> Rack {
        let mut rack = Rack::default();
        for sequence in 0..10 {
            rack.leave(sequence, ms(10 * sequence));
        }
        rack
    }

    /// Handles the arrival of one sacked segment at `at` ms.
    fn sack(rack: &mut Rack, at: u64, sequence: u64) {
        let ack = Ack {
            next: 0,
            echo: ms(0),
            sack: SackBlocks::new(0, [sequence..sequence + 1]),
        };
        rack.arrive(&ack, &Scoreboard::default(), 10);
        rack.update(ms(at), ms(0), conditions().min_rtt);
    }

    #[test]
    fn what_left_before_waits_for_the_reordering_window() {
        // Segment 4 left at 40 ms and takes 100 ms. Segments 0 to 3 are lost at an age of 125 ms:
        // at 125, 135, 145 and 155 ms.
        let mut rack = ten();
        sack(&mut rack, 140, 4);
        rack.detect(ms(140), &conditions());
        assert_eq!((&rack.found[..], rack.pipe), (&[0, 1][..], 7));
        assert_eq!(rack.reordering_at, ms(155));
        rack.detect(ms(155), &conditions());
        assert_eq!((&rack.found[..], rack.pipe), (&[2, 3][..], 5));
        assert_eq!(rack.reordering_at, Time::MAX);
        // The segments are retransmitted in order, and are then in flight.
        for sequence in 0..4 {
            assert_eq!(rack.next_lost(), Some(sequence));
            rack.leave(sequence, ms(155));
        }
        assert_eq!((rack.next_lost(), rack.pipe), (None, 9));
    }

    #[test]
    fn there_is_no_window_where_reordering_was_never_seen_and_losses_are_certain() {
        let certain = [
            Conditions {
                sacked: 3,
                ..conditions()
            },
            Conditions {
                in_recovery: true,
                ..conditions()
            },
        ];
        for conditions in certain {
            let mut rack = ten();
            sack(&mut rack, 140, 4);
            rack.detect(ms(140), &conditions);
            assert_eq!(rack.found, [0, 1, 2, 3]);
            // Segment 2, which left once, arrives after segment 4: reordering is seen, so the
            // window is no longer 0. The round trip is 121 ms.
            let mut rack = ten();
            sack(&mut rack, 140, 4);
            sack(&mut rack, 141, 2);
            rack.detect(ms(146), &conditions);
            assert_eq!(rack.found, [0]);
        }
    }

    #[test]
    fn the_window_grows_with_each_round_of_duplicates_and_no_further_than_srtt() {
        let mut rack = ten();
        sack(&mut rack, 140, 4);
        let window = |rack: &Rack| rack.reordering_window(&conditions());
        assert_eq!(window(&rack), Duration::from_millis(25));
        rack.adapt(true, 0, 10);
        rack.adapt(true, 5, 10);
        assert_eq!(window(&rack), Duration::from_millis(50), "once in a round");
        rack.adapt(true, 10, 20);
        assert_eq!(window(&rack), Duration::from_millis(75));
        for round in 2..6 {
            rack.adapt(true, 10 * round, 10 * round + 10);
        }
        assert_eq!(window(&rack), Duration::from_millis(120));
        // Sixteen recoveries without a D-SACK.
        (0..15).for_each(|_| rack.end_recovery());
        assert_eq!(window(&rack), Duration::from_millis(120));
        rack.end_recovery();
        assert_eq!(window(&rack), Duration::from_millis(25));
    }

    #[test]
    fn an_arrival_too_early_for_the_retransmission_says_nothing() {
        let mut rack = ten();
        rack.leave(9, ms(150));
        // 60 ms is below the smallest round trip of 100 ms, so the first copy has arrived.
        sack(&mut rack, 210, 9);
        rack.detect(ms(210), &conditions());
        assert!(rack.found.is_empty());
        let mut rack = ten();
        rack.leave(9, ms(150));
        sack(&mut rack, 250, 9);
        rack.detect(ms(250), &conditions());
        assert_eq!(rack.found, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_timeout_spares_what_left_lately() {
        // Segment 4 took 100 ms, and the window is 25 ms. At 160 ms, segments sent by 35 ms are
        // lost, and the first segment in any case.
        let mut rack = ten();
        sack(&mut rack, 140, 4);
        rack.leave(0, ms(145));
        rack.detect(ms(140), &conditions());
        rack.on_timeout(ms(160), 0, false);
        assert_eq!(rack.found, [0, 2, 3]);
        // If the receiver reneged, segments that had arrived are also lost.
        rack.on_timeout(ms(160), 0, true);
        assert_eq!(rack.found, [4]);
    }
}
