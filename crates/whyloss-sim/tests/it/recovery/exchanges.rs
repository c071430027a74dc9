//! Runs a sender and a receiver over a path that loses or delays given segments. Every departure
//! over several round trips is derived by hand.
//!
//! Each direction takes 50 ms and the path has no rate, so segments that leave together arrive
//! together, in order, and a round trip takes 100 ms. Ten segments leave at 0. Only the script
//! loses segments, every segment is acknowledged unless a script says otherwise, and limited
//! transmit is off.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use whyloss::{Duration, Time};
use whyloss_sim::host::tcp::{Ack, Options, Receiver, Recovery, Segment, Sender};

use crate::script::{ms, options};

const ONE_WAY: Duration = Duration::from_millis(50);

/// The fate of one departure of a segment.
enum Fate {
    Lost,
    /// Delayed by this time, in milliseconds.
    Late(i64),
}

use Fate::{Late, Lost};

struct Exchange {
    sender: Sender,
    receiver: Receiver,
    /// The fate of a departure: the segment, the number of its departure from 0, and the fate.
    data: Vec<(u64, usize, Fate)>,
    /// The delay, in milliseconds, of acknowledgements sent between the two times.
    acks: (Time, Time, i64),
    /// By time, then by order of departure.
    data_under_way: BinaryHeap<Reverse<(Time, usize)>>,
    acks_under_way: BinaryHeap<Reverse<(Time, usize)>>,
    segments: Vec<Segment>,
    answers: Vec<Ack>,
}

impl Exchange {
    fn new(options: &Options) -> Self {
        Self {
            sender: Sender::new(options),
            receiver: Receiver::new(options),
            data: vec![],
            acks: (Time::ZERO, Time::ZERO, 0),
            data_under_way: BinaryHeap::new(),
            acks_under_way: BinaryHeap::new(),
            segments: vec![],
            answers: vec![],
        }
    }

    /// Returns an exchange that loses the first departures of these segments.
    fn losing(options: &Options, lost: &[u64]) -> Self {
        let mut exchange = Self::new(options);
        exchange.data.extend(lost.iter().map(|&s| (s, 0, Lost)));
        exchange
    }

    /// Returns the departures until `end`: times in milliseconds, each with its segments in order.
    fn run(&mut self, end: u64) -> Vec<(u64, Vec<u64>)> {
        let mut now = Time::ZERO;
        self.transmit(now);
        loop {
            let at = |heap: &BinaryHeap<Reverse<(Time, usize)>>| {
                heap.peek().map_or(Time::MAX, |entry| entry.0.0)
            };
            let data = at(&self.data_under_way);
            let ack = at(&self.acks_under_way);
            let delayed = self.receiver.next_timeout();
            let timer = self.sender.next_timeout();
            // At equal times, arrivals come before timers.
            let next = data.min(ack).min(delayed).min(timer);
            if next > ms(end) {
                break;
            }
            now = next;
            if now == data {
                let (_, i) = self.data_under_way.pop().expect("it is the next event").0;
                let answer = self.receiver.on_segment(now, &self.segments[i]);
                self.answer(now, answer);
            } else if now == ack {
                let (_, i) = self.acks_under_way.pop().expect("it is the next event").0;
                self.sender.on_ack(now, &self.answers[i], now - ONE_WAY);
                self.transmit(now);
            } else if now == delayed {
                let answer = self.receiver.on_timeout(now);
                self.answer(now, answer);
            } else {
                self.sender.on_timeout(now);
                self.transmit(now);
            }
        }
        let mut log: Vec<(u64, Vec<u64>)> = vec![];
        for segment in &self.segments {
            let at = segment.stamp.as_nanos() / 1_000_000;
            match log.last_mut().filter(|row| row.0 == at) {
                Some(row) => row.1.push(segment.sequence),
                None => log.push((at, vec![segment.sequence])),
            }
        }
        log
    }

    fn transmit(&mut self, now: Time) {
        while let Some(segment) = self.sender.poll_transmit(now) {
            let sequence = segment.sequence;
            let departures = self.segments.iter().filter(|s| s.sequence == sequence);
            let departure = departures.count();
            let fate = self
                .data
                .iter()
                .find(|f| (f.0, f.1) == (sequence, departure));
            self.segments.push(segment);
            let late = match fate {
                Some((.., Lost)) => continue,
                Some((.., Late(late))) => *late,
                None => 0,
            };
            let at = now + ONE_WAY + Duration::from_millis(late);
            self.data_under_way
                .push(Reverse((at, self.segments.len() - 1)));
        }
    }

    fn answer(&mut self, now: Time, answer: Option<Ack>) {
        if let Some(ack) = answer {
            self.answers.push(ack);
            let (from, to, late) = self.acks;
            let late = if (from..to).contains(&now) { late } else { 0 };
            let at = now + ONE_WAY + Duration::from_millis(late);
            self.acks_under_way
                .push(Reverse((at, self.answers.len() - 1)));
        }
    }
}

fn prompt(recovery: Recovery) -> Options {
    Options {
        delayed_ack: None,
        ..options(recovery)
    }
}

/// Returns a row of the log.
fn at(millis: u64, segments: impl IntoIterator<Item = u64>) -> (u64, Vec<u64>) {
    (millis, segments.into_iter().collect())
}

/// Returns the first two rows of all exchanges that lose 3 and perhaps later segments. 0, 1 and 2
/// open the window to 13 from 3. The third duplicate, at the same time, sends 3 again. FlightSize
/// 13 makes the window 6.5; 16 is one past the last segment sent.
fn begun() -> [(u64, Vec<u64>); 2] {
    [at(0, 0..10), at(100, (10..16).chain([3]))]
}

#[test]
fn one_loss() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut exchange = Exchange::losing(&prompt(recovery), &[3]);
        let log = exchange.run(300);
        assert_eq!(log[..2], begun(), "{recovery:?}");
        // At 100 there were six duplicates, from 4 to 9. At 200 come six more, from 10 to 15, and
        // the answer to 3, which acknowledges everything before 16.
        // Reno and NewReno: with the eighth duplicate, the window is 6 + 8 = 14 from 3, so the
        // eighth to the twelfth release 16 to 20.
        // SACK: with the eighth, 11, L = 9 and pipe = (16 − 9 − 3) + 1 = 5 of 6. Each later one
        // leaves pipe there.
        // The end: Reno and SACK have 6.5 from 16, NewReno min(6.5, 5 + 1). All send 21.
        assert_eq!(log[2], at(200, 16..22), "{recovery:?}");
        // Six acknowledgements. From 6500 bytes they add 153, 151, 147 and 143, which makes 7094:
        // two with the fourth. NewReno's first is slow start, 7000 bytes: two with that one.
        assert_eq!(log[3..], [at(300, 22..29)], "{recovery:?}");
        assert_eq!(exchange.sender.ssthresh(), 6500);
        assert_eq!(exchange.sender.fast_recoveries(), 1);
        assert_eq!(exchange.sender.retransmitted(), 1);
    }
}

#[test]
fn two_losses_reno() {
    // The third duplicate of 3 answers 7, the fifth and last of the first window 9.
    let mut exchange = Exchange::losing(&prompt(Recovery::Reno), &[3, 6]);
    let log = exchange.run(500);
    assert_eq!(log[..2], begun());
    let rest = [
        // Duplicates 6 to 11: 6 + 8 from 3 are sixteen with the eighth. Then 3's answer, 6, ends
        // the recovery: six from 6.
        at(200, 16..20),
        // Four duplicates of 6 are another loss. FlightSize 14, by the letter of RFC 5681
        // everything not acknowledged, makes 7.
        at(300, [6]),
        // Everything up to 19. Seven from 20.
        at(400, 20..27),
        // Seven acknowledgements in congestion avoidance: 7000 bytes grow to no more than 7942.
        at(500, 27..34),
    ];
    assert_eq!(log[2..], rest);
    assert_eq!(exchange.sender.fast_recoveries(), 2);
    assert_eq!(exchange.sender.ssthresh(), 7000);
}

#[test]
fn two_losses_newreno() {
    let mut exchange = Exchange::losing(&prompt(Recovery::NewReno), &[3, 6]);
    let log = exchange.run(400);
    assert_eq!(log[..2], begun());
    let rest = [
        // As Reno's, but 6 acknowledges three in part: 6.5 + 11 − 3 + 1 = 15.5 from 6. 6 again,
        // then 20.
        at(200, [16, 17, 18, 19, 6, 20]),
        // Four duplicates: up to 19.5 from 6. 6's answer, 20, is the end: five are in flight, so
        // six from 20; the next acknowledgement is slow start's: seven from 21.
        at(300, 21..28),
        // Seven in congestion avoidance from 7000 bytes.
        at(400, 28..35),
    ];
    assert_eq!(log[2..], rest);
    assert_eq!(exchange.sender.fast_recoveries(), 1);
    assert_eq!(exchange.sender.ssthresh(), 6500);
}

#[test]
fn two_losses_sack() {
    let mut exchange = Exchange::losing(&prompt(Recovery::Sack), &[3, 6]);
    let log = exchange.run(400);
    assert_eq!(log[..2], begun());
    let rest = [
        // 10: L = 8, pipe = 5 + 1. 11: L = 9, pipe = (16 − 9 − 3) + 1 = 5, and 6 is lost. 12 to 15:
        // two were sent again and three to four are above, 5 each. 6, acknowledged: 16 to 19 and
        // segment 6 are 5.
        at(200, [6, 16, 17, 18, 19, 20]),
        // 16 is the end: 6500 bytes from 16. 17 to 21 add 153, 151, 147, 143 (two leave), 141.
        at(300, 21..28),
        // From 7235 bytes, 22 to 28 add 138, 136, 133, 131, 129 and 127: past 8000 with the sixth,
        // 27.
        at(400, 28..36),
    ];
    assert_eq!(log[2..], rest);
    assert_eq!(exchange.sender.fast_recoveries(), 1);
    assert_eq!(exchange.sender.ssthresh(), 6500);
}

#[test]
fn three_losses_reno() {
    // The third duplicate of 3 answers 7, the fourth and last of the first window 9.
    let mut exchange = Exchange::losing(&prompt(Recovery::Reno), &[3, 6, 8]);
    let log = exchange.run(1700);
    assert_eq!(log[..2], begun());
    let rest = [
        // Duplicates 5 to 10: 16, 17, 18 with the last three. 6 ends the recovery.
        at(200, 16..19),
        // Three duplicates of 6: FlightSize 13 makes 6.5.
        at(300, [6]),
        // 8 ends this one, at 400: 6.5 from 8 are fewer than the eleven in flight, and no
        // acknowledgement will reveal the loss of 8. A second later the timer expires: ssthresh =
        // 11/2.
        at(1400, [8]),
        // All up to 18: slow start from two, four, to 5.5.
        at(1500, 19..21),
        at(1600, 21..25),
        // 22 and 23 send two each, 24 and 25 one.
        at(1700, 25..31),
    ];
    assert_eq!(log[2..], rest);
    assert_eq!(exchange.sender.fast_recoveries(), 2);
    assert_eq!(exchange.sender.timeouts(), 1);
    assert_eq!(exchange.sender.ssthresh(), 5500);
}

#[test]
fn three_losses_newreno() {
    let mut exchange = Exchange::losing(&prompt(Recovery::NewReno), &[3, 6, 8]);
    let log = exchange.run(400);
    assert_eq!(log[..2], begun());
    let rest = [
        // 6: 6.5 + 10 − 3 + 1 = 14.5 from 6.
        at(200, [16, 17, 18, 6, 19]),
        // Three duplicates, from 16 to 18, make it 17.5. 8 in part: − 2 + 1 = 16.5 from 8: 8 again
        // and 23. The duplicate of 19: 24.
        at(300, [20, 21, 22, 8, 23, 24]),
        // Three duplicates, from 20 to 22: 20.5 from 8. 8's answer, 23, is the end with five in
        // flight: six from 23; slow start to seven from 24; seven from 25.
        at(400, 25..32),
    ];
    assert_eq!(log[2..], rest);
    assert_eq!(exchange.sender.fast_recoveries(), 1);
    assert_eq!(exchange.sender.timeouts(), 0);
}

#[test]
fn three_losses_sack() {
    let mut exchange = Exchange::losing(&prompt(Recovery::Sack), &[3, 6, 8]);
    let log = exchange.run(300);
    assert_eq!(log[..2], begun());
    let rest = [
        // 10: L = 7, pipe = 6 + 1. 11: L = 9, 4 + 1, and 6 and 8 are lost: 6. 12: L = 10, 3 + 2: 8.
        // 13 to 15: two to three above and three sent again, 5 each. 6, acknowledged: 16 to 18, 6
        // and 8.
        at(200, [6, 8, 16, 17, 18, 19]),
        // 8, acknowledged: 16 to 19 and 8 are 5: 20. 16 is the end: as with two losses.
        at(300, 20..27),
    ];
    assert_eq!(log[2..], rest);
    assert_eq!(exchange.sender.fast_recoveries(), 1);
    assert_eq!(exchange.sender.ssthresh(), 6500);
}

#[test]
fn a_stalled_path_sends_everything_again() {
    // The ten arrive together at 1200, and behind them the copy of segment 0 that the timer sent at
    // 1000. At 1250 come ten acknowledgements and a duplicate; the nine copies of 1 to 9 bring nine
    // more at 1350. See `spurious`.
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut exchange = Exchange::new(&prompt(recovery));
        exchange.data.extend((0..10).map(|s| (s, 0, Late(1150))));
        exchange.data.push((0, 1, Late(150)));
        let log = exchange.run(1350);
        let spike = [at(0, 0..10), at(1000, [0]), at(1250, 1..16)];
        assert_eq!(log[..3], spike, "{recovery:?}");
        assert_eq!(exchange.receiver.duplicates(), 10);
        if recovery == Recovery::Reno {
            // The second of the nine makes three duplicates, and 10 is taken for lost: FlightSize 6
            // makes 3. Three duplicates and three are the six in flight; the seven others release
            // one each; 11 to 16 then deflate.
            assert_eq!(log[3..], [at(1350, [10].into_iter().chain(16..23))]);
            assert_eq!(exchange.sender.fast_recoveries(), 1);
        } else {
            // Six acknowledgements from 6099.3 bytes: 6263, 6423, 6578, 6730, 6879, 7024: two with
            // the last.
            assert_eq!(log[3..], [at(1350, 16..23)], "{recovery:?}");
            assert_eq!(exchange.sender.fast_recoveries(), 0);
            assert_eq!(exchange.sender.ssthresh(), 5000);
        }
    }
}

#[test]
fn acknowledgements_overtaken_spare_the_copies() {
    // The ten acknowledgements of 50 take 1150 ms longer, to 1250. The copy of segment 0, sent at
    // 1000, reaches the receiver, and 10 is acknowledged at 1100. The overtaken acknowledgements
    // contain nothing new.
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut exchange = Exchange::new(&prompt(recovery));
        exchange.acks = (ms(50), ms(51), 1150);
        let log = exchange.run(1300);
        let rows = [
            at(0, 0..10),
            at(1000, [0]),
            // Two from 10; three from 11, four from 12; five, ssthresh, from 13, then one each.
            at(1100, 10..12),
            at(1200, 12..16),
            at(1300, 16..21),
        ];
        assert_eq!(log, rows, "{recovery:?}");
        assert_eq!(exchange.sender.retransmitted(), 1);
        assert_eq!(exchange.sender.fast_recoveries(), 0);
    }
}

#[test]
fn delayed_acknowledgements_slow_slow_start() {
    // Every second segment is acknowledged, so there are half as many acknowledgements, each with
    // one segment of growth. 4, 6, 9 segments leave per round trip. The acknowledgement of the
    // ninth of these, 18, waits for 19, and so 13 + 13/2 follow by twos and threes.
    let mut exchange = Exchange::new(&Options {
        initial_window: 4,
        segments: Some(31),
        ..options(Recovery::NewReno)
    });
    let log = exchange.run(1000);
    let rows = [
        at(0, 0..4),
        at(100, 4..10),
        at(200, 10..19),
        at(300, 19..31),
    ];
    assert_eq!(log, rows);
    // 30 is alone: its acknowledgement, due at 350 + 100, arrives last.
    assert_eq!(exchange.sender.acknowledged(), 31);
    assert_eq!(exchange.sender.next_timeout(), Time::MAX);
    assert_eq!(exchange.sender.retransmitted(), 0);
}
