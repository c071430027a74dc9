//! Tests gaps computed by hand, and that every number is accounted for.

use super::*;
use crate::receiver::Unaware;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec::Vec;

/// Records each number and how many packets were missing before it.
#[derive(Clone, Debug, Default)]
struct Told(Vec<(u64, u64)>);

impl ReceiverClassifier for Told {
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        self.0.push((arrival.sequence, missing));
        (missing > 0).then_some(Cause::Wireless)
    }
}

/// Feeds one number per millisecond; returns the kind of each arrival and the losses found by then.
fn feed<C: ReceiverClassifier>(
    tracker: &mut LossTracker<C>,
    numbers: &[u64],
) -> Vec<(Seen, Vec<(u64, u64)>)> {
    let mut now = tracker.news * 1_000_000;
    let mut result = Vec::new();
    for &number in numbers {
        now += 1_000_000;
        let at = Time::from_nanos(now);
        let mut lost = Vec::new();
        let seen = tracker.on_packet(&Arrival::new(number, at, at, 100), |loss| {
            lost.push((loss.first, loss.count));
        });
        result.push((seen, lost));
    }
    result
}

const NEXT: Seen = Seen::New { missing: 0 };

#[test]
fn a_gap_counts_at_once_unless_told_to_wait() {
    let mut tracker = LossTracker::rtp(Told::default());
    let result = feed(&mut tracker, &[7, 8, 11, 12]);
    assert_eq!(
        result,
        [
            (Seen::First, Vec::new()),
            (NEXT, Vec::new()),
            (Seen::New { missing: 2 }, Vec::from([(9, 2)])),
            (NEXT, Vec::new()),
        ]
    );
    assert_eq!(tracker.classifier().0, [(7, 0), (8, 0), (11, 2), (12, 0)]);
}

#[test]
fn the_end_of_a_stream_tells_what_is_missing() {
    let end = |numbers: &[u64], last| {
        let mut tracker = LossTracker::rtp(Told::default()).wait_for_packets(3);
        feed(&mut tracker, numbers);
        let mut lost = Vec::new();
        tracker.finish(last, Time::MAX, |loss| {
            lost.push((loss.first % 65_536, loss.count, loss.cause));
        });
        // Packet 9 begins a new stream.
        assert_eq!(feed(&mut tracker, &[9])[0].0, Seen::First);
        lost
    };
    // Packet 8 is missing, and the stream ends with 11; the same across a wrap-around.
    assert_eq!(end(&[7, 9], None), [(8, 1, Cause::Wireless)]);
    let both = [(8, 1, Cause::Wireless), (10, 2, Cause::Congestion)];
    assert_eq!(end(&[7, 9], Some(11)), both);
    assert_eq!(end(&[65_534], Some(1)), [(65_535, 3, Cause::Congestion)]);
    // A repeated or distant last number reports no loss.
    for last in [9, 8, 40_000] {
        assert_eq!(end(&[8, 9], Some(last)), []);
    }
    assert_eq!(end(&[], Some(3)), []);
}

#[test]
fn sixteen_and_thirty_two_bits_wrap_around() {
    for bits in [16, 32, 64] {
        let last = u64::MAX >> (64 - bits);
        let mut tracker = LossTracker::new(Told::default(), bits);
        let result = feed(&mut tracker, &[last - 1, last, 0, 2]);
        assert_eq!(result[3].0, Seen::New { missing: 1 }, "{bits}");
        // Numbers continue past the wrap-around, as far as 64 bits can hold them.
        assert_eq!(result[3].1, [(last.wrapping_add(2), 1)], "{bits}");
    }
}

#[test]
fn overtaken_packets_are_not_lost() {
    let mut tracker = LossTracker::rtp(Told::default()).wait_for_packets(3);
    let result = feed(&mut tracker, &[1, 2, 6, 4, 7, 8, 5]);
    assert_eq!(result[2], (Seen::New { missing: 3 }, Vec::new()));
    // Packet 4 splits the hole. Packet 8 is the third one after it.
    assert_eq!(result[3], (Seen::Late, Vec::new()));
    assert_eq!(result[5], (NEXT, Vec::from([(3, 1), (5, 1)])));
    assert_eq!(result[6], (Seen::TooLate, Vec::new()));
    assert_eq!(
        tracker.classifier().0,
        [(1, 0), (2, 0), (6, 3), (4, 0), (7, 0), (8, 0), (5, 0)]
    );
}

#[test]
fn time_ends_the_wait_with_a_packet_or_without() {
    let new = || LossTracker::rtp(Unaware).wait_for(Duration::from_millis(2));
    let mut tracker = new();
    let result = feed(&mut tracker, &[1, 3, 4, 5]);
    assert_eq!(result[3].1, [(2, 1)]);
    assert_eq!(tracker.next_timeout(), Time::MAX);
    let mut tracker = new();
    feed(&mut tracker, &[1, 3]);
    let due = tracker.next_timeout();
    assert_eq!(due, Time::from_nanos(4_000_000));
    let mut lost = Vec::new();
    tracker.on_timeout(due, |loss| lost.push(loss.first));
    assert_eq!(lost, [2]);
}

#[test]
fn duplicates_and_strangers_are_told_to_nobody() {
    let mut tracker = LossTracker::rtp(Told::default()).wait_for_packets(9);
    let result = feed(&mut tracker, &[1, 2, 2, 1, 40_000, 3, 5, 4, 4]);
    let seen: Vec<Seen> = result.into_iter().map(|(seen, _)| seen).collect();
    assert_eq!(
        seen,
        [
            Seen::First,
            NEXT,
            Seen::Duplicate,
            Seen::Duplicate,
            Seen::Suspect,
            NEXT,
            Seen::New { missing: 1 },
            Seen::Late,
            Seen::Duplicate
        ]
    );
    assert_eq!(
        tracker.classifier().0,
        [(1, 0), (2, 0), (3, 0), (5, 1), (4, 0)]
    );
}

#[test]
fn a_restart_takes_two_packets_and_ends_every_wait() {
    let mut tracker = LossTracker::rtp(Told::default()).wait_for_packets(9);
    let result = feed(&mut tracker, &[1, 3, 40_000, 40_001, 40_003]);
    assert_eq!(result[2], (Seen::Suspect, Vec::new()));
    assert_eq!(result[3], (Seen::Restart, Vec::from([(2, 1)])));
    assert_eq!(result[4].0, Seen::New { missing: 1 });
    assert_eq!(tracker.classifier().0[2], (65_536 + 40_001, 0));
}

#[test]
fn with_too_many_holes_the_oldest_counts() {
    let mut tracker = LossTracker::rtp(Unaware).wait_for_packets(1000);
    let numbers: Vec<u64> = (0..40).map(|k| 2 * k).collect();
    let lost: Vec<_> = feed(&mut tracker, &numbers)
        .into_iter()
        .flat_map(|(_, lost)| lost)
        .collect();
    assert_eq!(lost.len(), 39 - HOLES);
    assert_eq!(lost[0], (1, 1));
}

#[test]
fn a_split_of_the_oldest_hole_gives_up_its_older_half() {
    let mut tracker = LossTracker::rtp(Unaware).wait_for_packets(1000);
    let mut numbers = Vec::from([1, 5]);
    numbers.extend((0..HOLES as u64 - 1).map(|k| 7 + 2 * k));
    numbers.push(3);
    let result = feed(&mut tracker, &numbers);
    assert!(result[..=HOLES].iter().all(|(_, lost)| lost.is_empty()));
    assert_eq!(result[HOLES + 1], (Seen::Late, Vec::from([(2, 1)])));
}

proptest! {
    /// For arrivals in any order within the way back, each number is reported once as new, late or
    /// lost. The others were overtaken in time.
    #[test]
    fn everything_is_accounted_for(
        steps in prop::collection::vec((0_u64..4, 0_usize..6), 1..300),
        bits in prop_oneof![Just(16_u32), Just(32)],
        start in any::<u64>(),
        packets in 1_u64..6,
    ) {
        // The sender's numbers: some are lost, some arrive after up to five later ones.
        let mut line: Vec<(usize, u64)> = Vec::new();
        let mut number = start;
        for (k, (skip, back)) in steps.into_iter().enumerate() {
            number = number.wrapping_add(1 + skip / 3);
            line.push((k + back, number));
        }
        line.sort_by_key(|&(place, _)| place);
        let mask = u64::MAX >> (64 - bits);
        let mut tracker = LossTracker::new(Told::default(), bits).wait_for_packets(packets);
        let (mut gone, mut came) = (BTreeSet::new(), BTreeSet::new());
        for (k, &(_, number)) in line.iter().enumerate() {
            let at = Time::from_nanos(k as u64);
            let seen = tracker.on_packet(&Arrival::new(number, at, at, 1), |loss| {
                for k in 0..loss.count {
                    assert!(gone.insert(loss.first.wrapping_add(k)), "told twice");
                }
            });
            let told = tracker.classifier().0.last().copied();
            match seen {
                Seen::First | Seen::New { .. } | Seen::Late => {
                    let (told, _) = told.expect("told");
                    prop_assert_eq!(told & mask, number & mask);
                    prop_assert!(came.insert(told), "came twice");
                    prop_assert!(!gone.contains(&told));
                }
                Seen::TooLate => {}
                other => prop_assert!(false, "{other:?}"),
            }
        }
        // Every packet up to the highest has arrived, is lost, or is still expected.
        let waits: u64 = tracker.holes[..tracker.waiting].iter().map(|hole| hole.loss.count).sum();
        let (first, last) = (*came.first().expect("one came"), *came.last().expect("one came"));
        prop_assert_eq!(came.len() as u64 + gone.len() as u64 + waits, last - first + 1);
    }

    /// For any numbers, nothing panics, and no wait lasts forever.
    #[test]
    fn any_numbers(
        numbers in prop::collection::vec((any::<u64>(), any::<u64>()), 0..200),
        bits in 0_u32..80,
        packets in any::<Option<u64>>(),
        span in any::<Option<i64>>(),
        jump in any::<u64>(),
    ) {
        let mut tracker = LossTracker::new(Told::default(), bits).longest_jump(jump);
        tracker.packets = packets;
        tracker.span = span.map(Duration::from_nanos);
        for (number, at) in numbers {
            let at = Time::from_nanos(at);
            tracker.on_packet(&Arrival::new(number, at, at, 1), |loss| assert!(loss.count > 0));
            tracker.on_timeout(at, |loss| assert!(loss.count > 0));
        }
    }
}
