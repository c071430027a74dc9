//! Compares the events that classifiers get from a stack with packet numbers and from a stack with
//! sending times.

use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

use proptest::prelude::*;

use crate::Cause::{self, Congestion, Wireless};
use crate::congestion::{ControllerKind, ControllerSpec, Decrease, WirelessPolicy};
use crate::event::{AckEvent, Detection, LossEvent, SentEvent};
use crate::schemes::{CongestionControl, Scheme};
use crate::sender::fq_rtt::FqRtt;
use crate::sender::{SenderClassifier, Unaware};
use crate::{Duration, Time};

use super::Connection;

const MTU: u64 = 1000;

#[derive(Clone, Debug, PartialEq)]
enum Heard {
    Sent(SentEvent),
    Ack(AckEvent),
    Loss(LossEvent),
}

/// Records every event and gives every loss the same cause.
#[derive(Clone, Debug)]
struct Recorder(Rc<RefCell<Vec<Heard>>>, Cause);

impl SenderClassifier for Recorder {
    fn on_sent(&mut self, sent: &SentEvent) {
        self.0.borrow_mut().push(Heard::Sent(*sent));
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.borrow_mut().push(Heard::Ack(*ack));
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        self.0.borrow_mut().push(Heard::Loss(*loss));
        self.1
    }
}

const RENO: ControllerSpec = ControllerSpec {
    kind: ControllerKind::Reno(Decrease::FlightSize),
    wireless: WirelessPolicy::Keep,
};

fn adapter<S: SenderClassifier>(classifier: S) -> Connection<S> {
    under(classifier, RENO)
}

fn under<S: SenderClassifier>(classifier: S, controller: ControllerSpec) -> Connection<S> {
    let start = Connection::<S>::start(MTU as u32);
    let control = CongestionControl::metered(classifier, controller.build(&start));
    Connection::with(control, MTU as u32)
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// An adapter and the packets sent through it, for either kind of stack.
struct Stack<S> {
    adapter: Connection<S>,
    numbered: bool,
    left: Vec<Time>,
    largest: Option<u64>,
}

impl<S: SenderClassifier> Stack<S> {
    fn new(classifier: S, numbered: bool) -> Self {
        Self {
            adapter: adapter(classifier),
            numbered,
            left: Vec::new(),
            largest: None,
        }
    }

    fn send(&mut self, now: Time, count: u64) {
        for _ in 0..count {
            self.adapter.on_sent(now, MTU, self.left.len() as u64);
            self.left.push(now);
        }
    }

    fn ack(&mut self, now: Time, numbers: &[u64]) {
        for &number in numbers {
            let left = self.left[number as usize];
            if self.numbered {
                self.adapter.on_acked(now, left, MTU, number);
            } else {
                self.adapter.on_acked_at(now, left, MTU);
            }
        }
        self.largest = self.largest.max(numbers.last().copied());
        self.adapter.on_end_acks(now, false, self.largest);
    }

    fn lose(&mut self, now: Time, numbers: &[u64], persistent: bool) {
        let left = self.left[*numbers.last().expect("some") as usize];
        if self.numbered {
            for &number in numbers {
                self.adapter.on_packet_lost(number, MTU);
            }
        } else {
            self.adapter.on_lost_until(left, MTU * numbers.len() as u64);
        }
        self.adapter.on_lost(now, left, persistent);
    }
}

fn recorded(numbered: bool) -> (Stack<Recorder>, Rc<RefCell<Vec<Heard>>>) {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let recorder = Recorder(Rc::clone(&heard), Wireless);
    (Stack::new(recorder, numbered), heard)
}

/// Returns, for each recorded acknowledgement: (acked, sacked, acknowledged, in flight, in
/// recovery), in packets.
fn acks(heard: &Rc<RefCell<Vec<Heard>>>) -> Vec<(u64, u64, u64, u64, bool)> {
    let heard = heard.borrow();
    let ack = |heard: &Heard| match heard {
        Heard::Ack(ack) => Some((
            ack.acked / MTU,
            ack.sacked / MTU,
            ack.acknowledged / MTU,
            ack.in_flight / MTU,
            ack.in_recovery,
        )),
        _ => None,
    };
    heard.iter().filter_map(ack).collect()
}

fn losses(heard: &Rc<RefCell<Vec<Heard>>>) -> Vec<LossEvent> {
    let heard = heard.borrow();
    let loss = |heard: &Heard| match heard {
        Heard::Loss(loss) => Some(*loss),
        _ => None,
    };
    heard.iter().filter_map(loss).collect()
}

#[test]
fn a_single_loss_holds_the_edge_until_the_recovery_ends() {
    for numbered in [false, true] {
        let (mut stack, heard) = recorded(numbered);
        for number in 0..8 {
            stack.send(ms(number), 1);
        }
        stack.ack(ms(100), &[0]);
        // Packet 1 is lost.
        stack.ack(ms(102), &[2, 3]);
        stack.ack(ms(104), &[4]);
        stack.lose(ms(104), &[1], false);
        stack.send(ms(104), 2);
        stack.ack(ms(106), &[5, 6]);
        stack.ack(ms(107), &[7]);
        stack.ack(ms(204), &[8, 9]);
        assert_eq!(
            acks(&heard),
            [
                (1, 0, 1, 7, false),
                (0, 2, 1, 7, false),
                (0, 1, 1, 7, false),
                (0, 2, 1, 9, true),
                (0, 1, 1, 9, true),
                // The recovery ends only when a packet that left after its beginning is
                // acknowledged.
                (0, 2, 1, 9, true),
            ],
            "{numbered}"
        );
        stack.send(ms(205), 1);
        stack.ack(ms(305), &[10]);
        assert_eq!(acks(&heard)[6], (9, 0, 11, 0, true));
        let [loss] = losses(&heard)[..] else {
            panic!("{heard:?}")
        };
        assert_eq!(
            (loss.first, loss.in_flight, loss.sent, loss.detection),
            (MTU, 7 * MTU, Some(ms(1)), Detection::Duplicates)
        );
        assert_eq!(loss.rtt, Some(Duration::from_millis(100)));
    }
}

#[test]
fn a_second_loss_lets_go_of_the_edge() {
    for numbered in [false, true] {
        // The stack detects the losses a batch later, or immediately.
        for at_once in [false, true] {
            let (mut stack, heard) = recorded(numbered);
            for number in 0..9 {
                stack.send(ms(number), 1);
            }
            if at_once {
                stack.ack(ms(103), &[0, 3]);
                stack.ack(ms(106), &[4, 6]);
                stack.lose(ms(106), &[1, 2], false);
            } else {
                stack.ack(ms(104), &[0, 4]);
                stack.lose(ms(104), &[1], false);
                stack.ack(ms(106), &[6]);
                stack.lose(ms(106), &[2, 3], false);
            }
            stack.ack(ms(107), &[7]);
            let told = acks(&heard);
            // The edge passes the packets after the losses. Packet 5 is not settled, so this is a
            // partial acknowledgement.
            let last = told.last().expect("one");
            let passed = if at_once { 2 } else { 1 };
            assert_eq!(*last, (passed, 1, 5, 4, true), "{numbered} {told:?}");
            assert_eq!(losses(&heard).len(), 1);
        }
    }
}

#[test]
fn the_recovery_takes_no_notice_of_what_left_before_it() {
    for numbered in [false, true] {
        let (mut stack, heard) = recorded(numbered);
        for number in 0..10 {
            stack.send(ms(number), 1);
        }
        stack.ack(ms(103), &[3]);
        stack.lose(ms(103), &[0], false);
        stack.ack(ms(108), &[8]);
        stack.lose(ms(108), &[1, 2, 4, 5], false);
        for at in 110..115 {
            stack.send(ms(at), 1);
        }
        stack.ack(ms(214), &[10, 14]);
        assert_eq!(losses(&heard).len(), 1);
        stack.lose(ms(214), &[11], false);
        let second = losses(&heard)[1];
        assert_eq!((second.first, second.in_flight), (11 * MTU, 4 * MTU));
        // Persistent congestion is also reported during a recovery, and ends it.
        stack.lose(ms(215), &[12], true);
        let third = losses(&heard)[2];
        assert_eq!(third.detection, Detection::PersistentCongestion);
        assert_eq!(stack.adapter.window(), 2 * MTU);
    }
}

/// A mark on a packet that left before a recovery cuts the window once if the loss was spared, and
/// not if the loss has cut it.
#[test]
fn a_mark_cuts_the_window_of_a_spared_loss() {
    for (cause, marks) in [(Wireless, [2, 1, 1]), (Congestion, [1, 1, 1])] {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let mut stack = Stack::new(Recorder(heard, cause), true);
        for number in 0..10 {
            stack.send(ms(number), 1);
        }
        stack.ack(ms(104), &[1, 2, 3, 4]);
        stack.lose(ms(104), &[0], false);
        let windows = marks.map(|_| {
            let window = stack.adapter.control().window();
            stack.adapter.on_marked(ms(105), ms(5));
            window
        });
        let last = stack.adapter.control().window();
        assert_eq!(windows.map(|window| window / last), marks, "{cause:?}");
    }
}

/// Among isolated losses, only the first may set fqRTT. If later ones did, the threshold would fall
/// to the round-trip time of an empty queue, and every loss would look like congestion.
#[test]
fn single_losses_do_not_teach_fqrtt() {
    for numbered in [false, true] {
        let mut stack = Stack::new(FqRtt::new(FqRtt::GUARD, 0.1), numbered);
        let mut number = 0;
        let mut round = |stack: &mut Stack<FqRtt>, start: u64, rtt: u64, lost: Option<u64>| {
            for at in 0..20 {
                stack.send(ms(start + at), 1);
            }
            for at in 0..20 {
                if Some(at) != lost {
                    stack.ack(ms(start + rtt + at), &[number + at]);
                }
                if let Some(lost) = lost
                    && at == lost + 3
                {
                    stack.lose(ms(start + rtt + at), &[number + lost], false);
                }
            }
            number += 20;
        };
        round(&mut stack, 0, 100, None);
        // A full queue doubles the round-trip time.
        round(&mut stack, 1_000, 200, Some(5));
        round(&mut stack, 2_000, 100, None);
        for lap in 3..20 {
            let before = stack.adapter.window();
            round(&mut stack, lap * 1_000, 100, Some(5));
            assert!(
                stack.adapter.window() >= before,
                "{numbered} {lap}: a loss at an empty queue took the window from {before} to {}",
                stack.adapter.window()
            );
            round(&mut stack, lap * 1_000 + 500, 100, None);
        }
    }
}

#[test]
fn of_a_burst_the_last_ones_were_acknowledged_and_the_first_ones_lost() {
    let (mut stack, heard) = recorded(false);
    // The stack sends two bursts of four packets and a single packet.
    stack.send(ms(0), 4);
    stack.send(ms(1), 4);
    stack.send(ms(2), 1);
    stack.ack(ms(100), &[0, 1]);
    assert_eq!(
        acks(&heard)[..2],
        [(1, 0, 1, 8, false), (1, 0, 2, 7, false)]
    );
    // Packet 2 is lost. The largest acknowledged number shows that packet 3 arrived.
    stack.ack(ms(101), &[3, 4]);
    assert_eq!(acks(&heard)[2], (0, 2, 2, 7, false));
    stack.ack(ms(102), &[5]);
    stack.lose(ms(102), &[2], false);
    assert_eq!(losses(&heard)[0].first, 2 * MTU);

    // Packets that left together under one number are acknowledged in parts.
    let mut adapter = adapter(Unaware);
    adapter.on_sent(ms(0), 4 * MTU, 3);
    adapter.on_acked_at(ms(100), ms(0), MTU);
    adapter.on_acked_at(ms(100), ms(0), MTU);
    adapter.on_end_acks(ms(100), false, Some(1));
    adapter.on_acked_at(ms(101), ms(0), 2 * MTU);
    adapter.on_end_acks(ms(101), false, Some(3));
    adapter.on_sent(ms(102), MTU, 4);
    assert_eq!(adapter.in_flight(), MTU);
}

#[test]
fn the_largest_number_tells_which_packet_of_a_burst_arrived() {
    for burst in [3, 30] {
        let (mut stack, heard) = recorded(false);
        stack.send(ms(0), burst);
        stack.ack(ms(100), &[1]);
        stack.ack(ms(101), &[0]);
        let acks = acks(&heard);
        assert_eq!(acks[0], (0, 1, 0, burst, false));
        assert_eq!(acks[2], (1, 0, 2, burst - 2, false));
    }
}

/// A packet that substitutes for a lost one of the same burst does not count as unreported.
#[test]
fn a_burst_is_overtaken_as_a_whole() {
    let (mut stack, heard) = recorded(false);
    stack.send(ms(0), 10);
    stack.ack(ms(100), &[0, 1]);
    // Packet 3 is lost: packets 2 and 4 are acknowledged in one batch.
    stack.ack(ms(101), &[2, 4]);
    stack.ack(ms(102), &[5]);
    stack.ack(ms(103), &[6]);
    stack.lose(ms(103), &[3], false);
    assert_eq!(losses(&heard)[0].first, 2 * MTU);
}

/// After a migration, a stack reports the losses of the old path too. They are none of the new
/// path's packets.
#[test]
fn a_packet_of_another_path_is_not_lost() {
    let mut adapter = adapter(Unaware);
    for number in 100..110 {
        adapter.on_sent(ms(number), MTU, number);
    }
    for number in [3, 98, 99, 110] {
        adapter.on_packet_lost(number, MTU);
        assert_eq!(adapter.in_flight(), 10 * MTU, "{number}");
    }
    adapter.on_acked(ms(200), ms(100), MTU, 100);
    adapter.on_acked(ms(200), ms(102), MTU, 102);
    adapter.on_end_acks(ms(200), false, Some(102));
    for (number, in_flight) in [(100, 8), (102, 8), (101, 7), (101, 7), (109, 6)] {
        adapter.on_packet_lost(number, MTU);
        assert_eq!(adapter.in_flight(), in_flight * MTU, "{number}");
    }
}

/// After a NAT rebinding, noq reports the losses of the old path without a congestion event. A later
/// loss begins with its own packet, so the window is cut as if nothing had come before.
#[test]
fn losses_of_an_old_path_leave_the_next_loss_alone() {
    let after = |rebinding: bool| {
        let (mut stack, heard) = recorded(true);
        stack.send(ms(0), 10);
        if rebinding {
            stack.send(ms(1), 10);
        }
        stack.ack(ms(100), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let (mut next, now) = (stack.left.len() as u64, 200);
        stack.send(ms(now), 10);
        if rebinding {
            (10..20).for_each(|number| stack.adapter.on_packet_lost(number, MTU));
        }
        let all: Vec<u64> = (next..next + 10).collect();
        stack.ack(ms(now + 100), &all);
        next += 10;
        stack.send(ms(now + 200), 10);
        stack.ack(ms(now + 300), &[next + 1, next + 2, next + 3]);
        stack.lose(ms(now + 300), &[next], false);
        losses(&heard)[0]
    };
    let (plain, rebound) = (after(false), after(true));
    assert_eq!(rebound.in_flight, 10 * MTU);
    assert_eq!(
        (rebound.in_flight, rebound.detection),
        (plain.in_flight, plain.detection)
    );
}

/// noq reports lost packets that carried only acknowledgements, whose sending it did not report.
#[test]
fn a_number_between_those_sent_is_unknown() {
    let mut adapter = adapter(Unaware);
    for number in [0, 1, 2, 4, 5] {
        adapter.on_sent(ms(number), MTU, number);
    }
    adapter.on_packet_lost(3, MTU);
    adapter.on_packet_lost(4, 0);
    assert_eq!(adapter.in_flight(), 5 * MTU);
    assert!(adapter.recovery.first.is_none() && adapter.recovery.lost == 0);
}

/// quinn reports the sending of packets that carry only acknowledgements, and nothing else of them.
/// They are none of the lost packets, although they left earlier.
#[test]
fn acknowledgements_alone_are_not_lost_with_later_packets() {
    let in_flight = |acks: u64| {
        let (mut stack, heard) = recorded(false);
        stack.send(ms(0), 10);
        let all: Vec<u64> = (0..10).collect();
        stack.ack(ms(100), &all);
        for ack in 0..acks {
            stack.adapter.on_sent(ms(200 + ack), 40, 10 + ack);
            stack.left.push(ms(200 + ack));
        }
        let next = 10 + acks;
        for number in 0..10 {
            stack.send(ms(500 + number), 1);
        }
        let arrived: Vec<u64> = (next + 2..next + 10).collect();
        stack.ack(ms(700), &arrived);
        stack.lose(ms(700), &[next, next + 1], false);
        (losses(&heard)[0].in_flight, stack.adapter.in_flight())
    };
    assert_eq!(in_flight(0), (10 * MTU, 0));
    assert_eq!(in_flight(200), (10 * MTU, 0));
}

/// Packets that carry only acknowledgements are never acknowledged, but do not hold back the edge
/// forever.
#[test]
fn what_is_never_told_of_is_settled_once_it_is_overtaken() {
    let (mut stack, heard) = recorded(false);
    stack.send(ms(0), 1);
    stack.adapter.on_sent(ms(1), 40, 1);
    stack.left.push(ms(1));
    for number in 2..8 {
        stack.send(ms(number), 1);
    }
    stack.ack(ms(100), &[0]);
    stack.ack(ms(104), &[2, 3, 4]);
    stack.ack(ms(105), &[5]);
    let told: Vec<u64> = losses(&heard).iter().map(|loss| loss.first).collect();
    assert!(told.is_empty());
    let heard = heard.borrow();
    let Some(Heard::Ack(ack)) = heard.last() else {
        panic!("{heard:?}")
    };
    assert_eq!((ack.acknowledged, ack.acked), (5 * MTU + 40, MTU));
}

/// Both kinds of stacks report a path that drops at random. Classifiers receive the same events if
/// every packet has a different time. Controllers that measure rates end with the same window.
#[test]
fn both_kinds_of_stacks_tell_the_same() {
    for controller in ["reno", "cubic", "bbr", "westwood-nr"] {
        for seed in 1..30_u64 {
            let run = |numbered: bool| {
                let scheme = Scheme::of(controller, "keep", "unaware").expect("known");
                let heard = Rc::new(RefCell::new(Vec::new()));
                let recorder = Recorder(Rc::clone(&heard), Congestion);
                let adapter = under(recorder, scheme.controller);
                let mut stack = Stack {
                    adapter,
                    numbered,
                    left: Vec::new(),
                    largest: None,
                };
                let mut random = seed;
                let mut draw = move |n: u64| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    (random >> 33) % n
                };
                // The time of each arrival, and the packets missing so far.
                let mut arrivals: Vec<u64> = Vec::new();
                let mut missing: Vec<u64> = Vec::new();
                for step in 0..3_000_u64 {
                    let now = ms(step);
                    if step < 2_800 {
                        let number = stack.left.len() as u64;
                        stack.send(now, 1);
                        if draw(20) == 0 {
                            missing.push(number);
                        } else {
                            arrivals.push(number);
                        }
                    }
                    let mut batch = Vec::new();
                    while arrivals.first().is_some_and(|&number| number + 50 <= step) && draw(3) > 0
                    {
                        batch.push(arrivals.remove(0));
                    }
                    if batch.is_empty() {
                        continue;
                    }
                    stack.ack(now, &batch);
                    let largest = stack.largest.unwrap_or(0);
                    let gone: Vec<u64> = missing
                        .iter()
                        .copied()
                        .filter(|&number| number + 3 <= largest)
                        .collect();
                    missing.retain(|&number| number + 3 > largest);
                    if !gone.is_empty() {
                        stack.lose(now, &gone, false);
                    }
                }
                (heard.take(), stack.adapter.window())
            };
            let (times, numbers) = (run(false), run(true));
            assert!(losses(&Rc::new(RefCell::new(times.0.clone()))).len() > 10);
            assert_eq!(times, numbers, "{controller} {seed}");
        }
    }
}

proptest! {
    /// The delay of acknowledgements that the peer reports does not count as a queue, on a path of
    /// 50 ms.
    #[test]
    fn the_delay_that_the_peer_reports_is_no_queue(
        round_trips in prop::collection::vec((0_i64..20_000_000, 0_i64..20_000_000, any::<bool>()), 1..50),
    ) {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let mut connection = adapter(Recorder(Rc::clone(&heard), Wireless));
        let (mut now, mut least) = (ms(1), i64::MAX);
        for (number, &(queue, delay, told)) in (0..).zip(&round_trips) {
            let path = 50_000_000 + queue;
            let measured = path + delay;
            least = least.min(measured);
            connection.on_packet_sent(number, MTU, now, false);
            now += Duration::from_nanos(measured);
            if told {
                connection.on_rtt(Duration::from_nanos(path));
                // An acknowledgement without new packets also consumes the round-trip time.
                if queue % 5 == 0 {
                    connection.on_packets_acked([], now);
                }
            }
            connection.on_packets_acked([number], now);
            let used = told && queue % 5 > 0;
            let expected = if used { path.max(least) } else { measured };
            let rtt = heard.borrow().iter().rev().find_map(|heard| match heard {
                Heard::Ack(ack) => ack.rtt,
                _ => None,
            });
            prop_assert_eq!(rtt, Some(Duration::from_nanos(expected)));
            prop_assert_eq!(connection.min_rtt, Some(Duration::from_nanos(least)));
        }
    }

    /// No value that a stack reports leads to a measurement outside the valid range.
    #[test]
    fn a_told_round_trip_stays_within_those_measured(told in any::<i64>(), first in 1_u64..100, then in 1_u64..100) {
        let mut connection = adapter(Unaware);
        connection.on_packet_sent(0, MTU, ms(0), false);
        connection.on_packets_acked([0], ms(first));
        connection.on_packet_sent(1, MTU, ms(first), false);
        connection.on_rtt(Duration::from_nanos(told));
        connection.on_packets_acked([1], ms(first + then));
        let (least, most) = (first.min(then) as i64, then as i64);
        let within = told.clamp(least * 1_000_000, most * 1_000_000);
        prop_assert_eq!(connection.latest_rtt, Some(Duration::from_nanos(within)));
    }
}
