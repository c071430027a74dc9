//! Runs both ends over a perfect path, with every time computed by hand.

#![expect(clippy::float_cmp, reason = "n is a whole number here, and so exact")]

mod packet;

use std::collections::VecDeque;
use std::vec::Vec;

use super::{Ack, Data, Judge, Options, Phase, Reaction, Receiver, Sender, WindowMode};
use crate::event::{AckEvent, Detection, LossEvent};
use crate::sender::veno::Veno;
use crate::sender::{Classifier, find};
use crate::{Duration, Time};

const SIZE: u32 = 1000;
/// The one-way delay. R is always twice as long, 100 ms.
const DELAY: Duration = Duration::from_millis(50);

fn options(window: WindowMode) -> Options {
    Options {
        transmission_time: Some(Duration::from_millis(1)),
        window,
        ..Options::default()
    }
}

fn micros(micros: i64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// Records its events and gives every loss the same cause.
#[derive(Debug)]
struct Recorder {
    answer: Reaction,
    acks: Vec<AckEvent>,
    losses: Vec<LossEvent>,
}

impl Judge for Recorder {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.acks.push(*ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        self.losses.push(*loss);
        self.answer
    }
}

/// A sender and a receiver with 50 ms between them.
struct Pair {
    sender: Sender,
    judge: Recorder,
    forth: VecDeque<(Time, Data)>,
    back: VecDeque<(Time, Ack)>,
    /// The departure time of each packet.
    sent: Vec<Time>,
    /// Each value of n, and when it began.
    windows: Vec<(Time, f64)>,
}

impl Pair {
    fn new(options: &Options) -> Self {
        Self::answering(options, Reaction::Halve)
    }

    fn answering(options: &Options, answer: Reaction) -> Self {
        Self {
            sender: Sender::new(options, SIZE),
            judge: Recorder {
                answer,
                acks: Vec::new(),
                losses: Vec::new(),
            },
            forth: VecDeque::new(),
            back: VecDeque::new(),
            sent: Vec::new(),
            windows: Vec::new(),
        }
    }

    /// Runs until `end`; `lost` tells which packets are lost.
    fn run(&mut self, end: Time, lost: impl Fn(u64) -> bool) {
        loop {
            let arrival = self.forth.front().map_or(Time::MAX, |&(at, _)| at);
            let answer = self.back.front().map_or(Time::MAX, |&(at, _)| at);
            let now = arrival.min(answer).min(self.sender.next_timeout());
            if now > end {
                return;
            }
            if now == arrival {
                let (_, data) = self.forth.pop_front().expect("it is the next event");
                self.back.push_back((now + DELAY, Receiver.on_data(&data)));
                continue;
            }
            if now == answer {
                let (_, ack) = self.back.pop_front().expect("it is the next event");
                self.sender.on_ack(now, &ack, &mut self.judge);
            } else {
                self.sender.on_timeout(now, &mut self.judge);
            }
            if self.windows.last().map(|window| window.1) != Some(self.sender.n()) {
                self.windows.push((now, self.sender.n()));
            }
            while let Some(data) = self.sender.poll_transmit(now) {
                assert_eq!(data.sequence, self.sent.len() as u64);
                self.sent.push(now);
                if !lost(data.sequence) {
                    self.forth.push_back((now + DELAY, data));
                }
            }
        }
    }
}

fn no(_: u64) -> bool {
    false
}

/// (1): packets leave 100 ms/n apart. With n = 2, packets 1 and 2 leave at 100 and 150 ms, and the
/// period ends with the acknowledgement of packet 1 at 200 ms. With n = 4, packets 3 to 6 leave at
/// 200, 225, 250 and 275 ms. A period has n packets and lasts a round trip, as when Reno's window
/// doubles.
#[test]
fn slow_start_by_hand() {
    let mut pair = Pair::new(&options(WindowMode::Sliding));
    let gaps = [(100, 49_000), (200, 24_000), (300, 11_500), (400, 5_250)];
    for (millis, gap) in gaps.into_iter().chain([(500, 2_125)]) {
        pair.run(micros(millis * 1000), no);
        assert_eq!(pair.sender.gap(), Duration::from_micros(gap));
    }
    assert_eq!(pair.sender.rtt(), Some(Duration::from_millis(100)));
    pair.run(micros(600_000), no);
    let windows = [
        (0, 1),
        (100, 2),
        (200, 4),
        (300, 8),
        (400, 16),
        (500, 32),
        (600, 33),
    ];
    let windows = windows.map(|(millis, n)| (micros(millis * 1000), f64::from(n)));
    assert_eq!(pair.windows, windows);
    let sent = [0, 100, 150, 200, 225, 250, 275, 300].map(|at| micros(at * 1000));
    assert_eq!(pair.sent[..8], sent);
    assert_eq!(pair.sent[8], micros(312_500));
    // 1 + 2 + 4 + 8 + 16 packets leave before the first of 32.
    assert_eq!(pair.sent[31], micros(500_000));
}

/// (2): 33 packets are 100/33 ms apart, less 1 ms. n then grows by one each period, up to 50
/// packets 2 ms apart.
#[test]
fn congestion_avoidance_and_the_maximum_window_by_hand() {
    let mut pair = Pair::new(&options(WindowMode::Sliding));
    pair.run(micros(600_000), no);
    assert_eq!(pair.sender.phase(), Phase::CongestionAvoidance);
    assert_eq!(
        pair.sender.gap(),
        Duration::from_nanos(3_030_303 - 1_000_000)
    );
    pair.run(micros(4_000_000), no);
    let n: Vec<f64> = pair.windows[6..].iter().map(|window| window.1).collect();
    let expected: Vec<f64> = (33..=50).map(f64::from).collect();
    assert_eq!(n, expected);
    // Each period lasts one round trip of 100 ms.
    let took = pair.windows[23].0 - pair.windows[6].0;
    assert_eq!(took, Duration::from_millis(1700));
    assert_eq!(pair.sender.phase(), Phase::MaximumWindow);
    assert_eq!(pair.sender.gap(), Duration::from_millis(1));
    let last = pair.sent.len() - 1;
    assert_eq!(
        pair.sent[last] - pair.sent[last - 100],
        Duration::from_millis(200)
    );
    assert!(pair.judge.losses.is_empty());
}

/// The older version of the paper: a window ends when its last packet is acknowledged, (n −
/// 1)·100/n + 100 ms after its first packet left.
#[test]
fn blocking_windows_by_hand() {
    let mut pair = Pair::new(&options(WindowMode::Blocking));
    pair.run(micros(1_003_125), no);
    let windows = [
        (0, 1),
        (100_000, 2),
        (250_000, 4),
        (425_000, 8),
        (612_500, 16),
        (806_250, 32),
        (1_003_125, 33),
    ];
    let windows = windows.map(|(at, n)| (micros(at), f64::from(n)));
    assert_eq!(pair.windows, windows);
    let sent = [0, 100, 150, 250, 275, 300, 325, 425].map(|at| micros(at * 1000));
    assert_eq!(pair.sent[..8], sent);
}

/// Returns a pair that loses `lost` packets in a row at the maximum window, starting at the tenth
/// of a blocking window. Also returns the number of the first lost packet and its departure time.
fn with_losses(answer: Reaction, window: WindowMode, lost: u64) -> (Pair, u64, Time) {
    let mut pair = Pair::answering(&options(window), answer);
    pair.run(micros(8_000_000), no);
    assert_eq!(pair.sender.phase(), Phase::MaximumWindow);
    // 1 + 2 + … + 32 + 33 + … + 49 packets leave before the first window of 50.
    let full = (pair.sent.len() as u64 - 760) / 50;
    let first = 760 + 50 * (full + 1) + 10;
    let hole = first..first + lost;
    pair.run(micros(8_700_000), |sequence| hole.contains(&sequence));
    let left = pair.sent[first as usize];
    (pair, first, left)
}

/// (3): packets leave 2 ms apart, and the window is full when 50 have left after the lost one. The
/// third one after it is acknowledged 106 ms after the lost packet left. At 150 ms, the packet that
/// left at 50 ms is acknowledged and 25 of the 50 are outstanding; packets then leave 4 ms apart.
/// The last of the 50, which left at 98 ms, ends the period at 198 ms, and n stays. The packet that
/// leaves then is acknowledged at 298 ms, and n grows.
#[test]
fn a_loss_by_hand() {
    let (pair, first, left) = with_losses(Reaction::Halve, WindowMode::Sliding, 1);
    let after = |millis| left + Duration::from_millis(millis);
    let found = pair.judge.losses[0];
    assert_eq!(
        (pair.judge.losses.len(), found.detection),
        (1, Detection::Duplicates)
    );
    assert_eq!(found.now, after(106));
    assert_eq!((found.first, found.window), (first * 1000, 50_000));
    // Three of the 50 packets in the window have arrived.
    assert_eq!(found.in_flight, 47_000);
    assert_eq!(
        pair.windows[24..26],
        [(after(106), 25.0), (after(298), 26.0)]
    );
    assert_eq!(pair.sender.ssthresh(), 25.0);
    let sent = [49, 50, 51, 52].map(|number| pair.sent[first as usize + number]);
    assert_eq!(sent, [98, 150, 154, 158].map(after));
}

/// Three lost packets in a row are one loss event: the second and third left before the first was
/// detected.
#[test]
fn one_reduction_per_window() {
    let (pair, first, _) = with_losses(Reaction::Halve, WindowMode::Sliding, 3);
    assert_eq!(pair.judge.losses.len(), 1);
    assert_eq!(pair.windows[24].1, 25.0);
    assert!(pair.sender.una() > first + 3);
    assert_eq!(pair.sender.timeouts(), 0);
}

#[test]
fn reactions_by_hand() {
    for (answer, n) in [(Reaction::FourFifths, 40.0), (Reaction::Halve, 25.0)] {
        let (pair, ..) = with_losses(answer, WindowMode::Sliding, 1);
        assert_eq!((pair.windows[24].1, pair.windows[25].1), (n, n + 1.0));
    }
    let (pair, ..) = with_losses(Reaction::Keep, WindowMode::Sliding, 1);
    assert_eq!(pair.windows.len(), 24);
    assert_eq!(pair.sender.ssthresh(), 50.0);
    // Only one spacing changes: the loss was detected 6 ms after the next packet was due, because
    // the window was full.
    let spacing = pair.sent[700..].windows(2).map(|two| two[1] - two[0]);
    let waits: Vec<Duration> = spacing
        .filter(|&span| span != Duration::from_millis(2))
        .collect();
    assert_eq!(waits.last(), Some(&Duration::from_millis(8)));
    assert_eq!(
        waits
            .iter()
            .filter(|&&span| span == waits[waits.len() - 1])
            .count(),
        1
    );
}

/// The window closes at the loss. The next window has half as many packets, 4 ms apart. It opens
/// when the last of the 50 packets is acknowledged, which left 39 packets after the lost one.
#[test]
fn a_loss_in_a_blocking_window() {
    let (pair, first, left) = with_losses(Reaction::Halve, WindowMode::Blocking, 1);
    let after = |millis| left + Duration::from_millis(millis);
    assert_eq!(pair.judge.losses[0].now, after(106));
    assert_eq!(
        pair.windows[24..26],
        [(after(106), 25.0), (after(374), 26.0)]
    );
    let sent = [39, 40, 41, 64, 65].map(|number| pair.sent[first as usize + number]);
    assert_eq!(sent, [78, 178, 182, 274, 374].map(after));
}

/// Packets from number 10 are lost; they leave while n is 8. Number 9 left at 325 ms and is
/// acknowledged at 425 ms, when n is 16. The timer has its minimum and expires at 1425 ms. Single
/// packets then leave 2 s and 4 s apart, and the threshold halves each time.
#[test]
fn a_timeout_by_hand() {
    let mut pair = Pair::new(&options(WindowMode::Sliding));
    pair.run(micros(10_000_000), |sequence| (10..28).contains(&sequence));
    let timeouts = pair.judge.losses.iter().map(|loss| {
        assert_eq!(loss.detection, Detection::Timeout);
        (
            loss.now,
            loss.first / 1000,
            loss.in_flight / 1000,
            loss.repeated,
        )
    });
    let timeouts: Vec<_> = timeouts.collect();
    // 16 packets have left, as n = 16. One leaves after each timeout.
    assert_eq!(timeouts[0], (micros(1_425_000), 10, 16, false));
    assert_eq!(timeouts[1], (micros(3_425_000), 26, 1, true));
    assert_eq!(timeouts[2], (micros(7_425_000), 27, 1, true));
    assert_eq!(timeouts.len(), 3);
    // The threshold falls from 32 to 16, 8 and 4. Slow start reaches 2 and 4; n then grows by one
    // each period.
    assert_eq!(pair.sender.ssthresh(), 4.0);
    let windows: Vec<f64> = pair.windows[5..].iter().map(|window| window.1).collect();
    assert_eq!(windows[..5], [1.0, 2.0, 4.0, 5.0, 6.0]);
    assert_eq!(pair.sender.timeouts(), 3);
}

/// The sender's B follows (4) with its n and R: 10 packets, and an RTT_base of 100 ms. A sample of
/// 180 ms makes R 110 ms, and B = (10/100 − 10/110)·100 = 10/11.
#[test]
fn the_backlog_is_equation_4() {
    let mut sender = Sender::new(
        &Options {
            max_window: 10,
            ..options(WindowMode::Sliding)
        },
        SIZE,
    );
    let mut veno = Veno::enhanced(
        Veno::BETA,
        crate::sender::vegas::RttOf::Smoothed,
        crate::Cause::Wireless,
    );
    let mut now = Time::ZERO;
    for round_trip in core::iter::repeat_n(100, 80).chain([180]) {
        let data = loop {
            now = now.max(sender.next_timeout());
            if let Some(data) = sender.poll_transmit(now) {
                break data;
            }
        };
        now = data.stamp + Duration::from_millis(round_trip);
        sender.on_ack(now, &Receiver.on_data(&data), &mut veno);
    }
    assert_eq!(sender.n(), 10.0);
    assert_eq!(sender.rtt(), Some(Duration::from_millis(110)));
    let backlog = veno
        .backlog(sender.window_bytes(), SIZE)
        .expect("there are samples");
    assert!((backlog - 10.0 / 11.0).abs() < 1e-12, "{backlog}");
}

/// Without retransmissions, events count as `event` documents: every packet but the lost one is
/// reported once as acknowledged.
#[test]
fn events_add_up() {
    let (pair, ..) = with_losses(Reaction::Halve, WindowMode::Sliding, 1);
    let mut acknowledged = 0;
    let mut acked = 0;
    for event in &pair.judge.acks {
        assert!(event.acknowledged >= acknowledged);
        assert_eq!((event.acked + event.sacked) % 1000, 0);
        assert!(event.acked + event.sacked > 0);
        acknowledged = event.acknowledged;
        acked += event.acked;
    }
    // The lost packet is settled, but not acknowledged.
    assert_eq!(acknowledged - acked, 1000);
    let sacked: u64 = pair.judge.acks.iter().map(|event| event.sacked).sum();
    assert_eq!(sacked, 3000);
}

#[test]
fn advice_of_any_classifier() {
    use super::Advice;
    use crate::Cause;
    let (pair, ..) = with_losses(Reaction::Halve, WindowMode::Sliding, 1);
    let loss = pair.judge.losses[0];
    let advice = |id: &str| {
        let mut classifier: Classifier = find(id).expect(id).build(&[]).expect(id);
        for ack in &pair.judge.acks {
            crate::sender::SenderClassifier::on_ack(&mut classifier, ack);
        }
        Advice::of(&mut classifier, &loss)
    };
    // No packet waits on this path.
    assert_eq!(
        advice("veno-enhanced"),
        Advice {
            cause: Cause::Wireless,
            reaction: Reaction::Keep
        }
    );
    assert_eq!(advice("unaware"), Cause::Congestion.into());
    assert_eq!(Advice::from(Cause::Wireless).reaction, Reaction::Keep);
}

/// Returns n after the period of packets 1 and 2. Packet 2 is due at 150 ms; its data is available
/// at `millis`.
fn n_with_data_at(millis: i64) -> f64 {
    let mut sender = Sender::new(&options(WindowMode::Sliding), SIZE);
    let mut judge = Recorder {
        answer: Reaction::Halve,
        acks: Vec::new(),
        losses: Vec::new(),
    };
    let at = |millis: i64| micros(1000 * millis);
    let send = |sender: &mut Sender, millis| {
        let data = sender.poll_transmit(at(millis)).expect("it is due");
        Receiver.on_data(&data)
    };
    let first = send(&mut sender, 0);
    sender.set_has_data(at(0), false);
    // The window is closed until the acknowledgement, so no packet is due.
    assert_eq!(sender.next_timeout(), at(1_000), "the timer");
    sender.set_has_data(at(99), true);
    sender.on_ack(at(100), &first, &mut judge);
    assert_eq!(sender.n(), 2.0);
    let second = send(&mut sender, 100);
    sender.set_has_data(at(100), false);
    sender.set_has_data(at(millis), true);
    let left = millis.max(150);
    let third = send(&mut sender, left);
    sender.on_ack(at(200), &second, &mut judge);
    sender.on_ack(at(left + 100), &third, &mut judge);
    assert!(judge.acks.iter().all(|ack| !ack.app_limited));
    sender.n()
}

/// Data that leaves as soon as allowed lets n grow like endless data. A period in which a packet
/// could have left, but was not available, does not.
#[test]
fn n_grows_by_what_is_used() {
    assert_eq!(n_with_data_at(140), 4.0);
    assert_eq!(n_with_data_at(150), 4.0);
    assert_eq!(n_with_data_at(151), 2.0);
}
