//! Checks when a receiver acknowledges (RFC 5681 §4.2, RFC 1122 §4.2.3.2, RFC 9293 §3.8.6.3).

use std::ops::Range;

use whyloss::{Duration, Time};
use whyloss_sim::host::tcp::{Ack, Dialect, Options, Receiver, Recovery, Segment};

use crate::script::{MSS, ms};

/// A receiver whose segments took 20 ms.
struct Arrivals(Receiver);

/// The content of an acknowledgement.
type Said = (u64, Vec<Range<u64>>);

fn said(ack: Option<Ack>) -> Option<Said> {
    ack.map(|ack| (ack.next, ack.sacked().collect()))
}

fn plain(next: u64) -> Said {
    (next, vec![])
}

impl Arrivals {
    fn new(options: &Options) -> Self {
        Self(Receiver::new(options))
    }

    fn at(&mut self, at: u64, sequence: u64) -> Option<Said> {
        let segment = Segment {
            sequence,
            stamp: ms(at - 20),
            retransmission: false,
        };
        said(self.0.on_segment(ms(at), &segment))
    }

    /// Returns the delayed acknowledgement, which is due at `at` and not earlier.
    fn delayed(&mut self, at: u64) -> Option<Said> {
        assert_eq!(self.0.next_timeout(), ms(at));
        assert_eq!(self.0.on_timeout(ms(at) - Duration::from_nanos(1)), None);
        said(self.0.on_timeout(ms(at)))
    }
}

/// Returns options under which acknowledgements wait for 100 ms.
fn delaying() -> Options {
    Options::rfc(MSS)
}

#[test]
fn rfc5681_4_2_at_least_every_second_segment() {
    let mut receiver = Arrivals::new(&delaying());
    assert_eq!(receiver.at(20, 0), None);
    assert_eq!(receiver.at(21, 1), Some(plain(2)));
    assert_eq!(receiver.0.next_timeout(), Time::MAX);
    // After the first pair, single segments wait as well.
    assert_eq!(receiver.at(22, 2), None);
    assert_eq!(receiver.at(23, 3), Some(plain(4)));
    // The second may come as late as the delay allows: 200 + 100 = 300.
    assert_eq!(receiver.at(200, 4), None);
    assert_eq!(receiver.at(299, 5), Some(plain(6)));
}

#[test]
fn rfc5681_4_2_within_the_delay_of_the_first_unacknowledged_segment() {
    for delay in [1, 40, 100, 200, 500] {
        let mut receiver = Arrivals::new(&Options {
            delayed_ack: Some(Duration::from_millis(delay as i64)),
            ..delaying()
        });
        assert_eq!(receiver.at(1000, 0), None);
        assert_eq!(receiver.delayed(1000 + delay), Some(plain(1)));
        assert_eq!(receiver.0.next_timeout(), Time::MAX);
        // The delay counts from the arrival, not from a periodic timer.
        assert_eq!(receiver.at(2017, 1), None);
        assert_eq!(receiver.delayed(2017 + delay), Some(plain(2)));
    }
}

#[test]
fn rfc1122_a_receiver_need_not_delay() {
    let mut receiver = Arrivals::new(&Options {
        delayed_ack: None,
        ..delaying()
    });
    for sequence in 0..5 {
        assert_eq!(
            receiver.at(20 + sequence, sequence),
            Some(plain(sequence + 1))
        );
    }
    assert_eq!(receiver.0.next_timeout(), Time::MAX);
}

#[test]
fn rfc5681_4_2_at_once_out_of_order() {
    let mut receiver = Arrivals::new(&delaying());
    assert_eq!(receiver.at(20, 0), None);
    // 1 is missing. The duplicate takes with it the acknowledgement of 0 that waited, so that no
    // timer runs.
    assert_eq!(receiver.at(21, 2), Some((1, vec![2..3])));
    assert_eq!(receiver.0.next_timeout(), Time::MAX);
    // Each later segment is acknowledged, so that three trigger a fast retransmit.
    assert_eq!(receiver.at(22, 3), Some((1, vec![2..4])));
    assert_eq!(receiver.at(23, 4), Some((1, vec![2..5])));
}

#[test]
fn rfc5681_4_2_at_once_when_a_gap_is_filled() {
    let mut receiver = Arrivals::new(&delaying());
    assert_eq!(receiver.at(20, 0), None);
    assert_eq!(receiver.at(21, 3), Some((1, vec![3..4])));
    assert_eq!(receiver.at(22, 6), Some((1, vec![6..7, 3..4])));
    // A segment fills part of a gap from below, then part in the middle, …
    assert_eq!(receiver.at(23, 1), Some((2, vec![6..7, 3..4])));
    assert_eq!(receiver.at(24, 5), Some((2, vec![5..7, 3..4])));
    // … one gap completely while another remains, …
    assert_eq!(receiver.at(25, 2), Some((4, vec![5..7])));
    // … and finally the last gap.
    assert_eq!(receiver.at(26, 4), Some(plain(7)));
    // Without gaps, every second segment is acknowledged again.
    assert_eq!(receiver.at(27, 7), None);
    assert_eq!(receiver.at(28, 8), Some(plain(9)));
}

#[test]
fn rfc9293_3_10_7_4_at_once_on_what_had_arrived() {
    let mut receiver = Arrivals::new(&delaying());
    assert_eq!(receiver.at(20, 0), None);
    assert_eq!(receiver.at(21, 1), Some(plain(2)));
    assert_eq!(receiver.at(22, 2), None);
    // A needless retransmission while an acknowledgement waits: both are answered by one.
    assert_eq!(receiver.at(23, 0), Some(plain(3)));
    assert_eq!(receiver.0.next_timeout(), Time::MAX);
    assert_eq!(receiver.at(24, 2), Some(plain(3)));
    assert_eq!(receiver.0.duplicates(), 2);
    // A segment beyond the window is dropped, but answered by an acknowledgement.
    let mut narrow = Arrivals::new(&Options {
        receive_window: 4,
        ..delaying()
    });
    assert_eq!(narrow.at(20, 4), Some(plain(0)));
    assert_eq!(narrow.at(21, 3), Some((0, vec![3..4])));
}

#[test]
fn ns2_may_delay_the_answer_to_a_copy_of_the_last_segment() {
    let mut receiver = Arrivals::new(&Options {
        dialect: Dialect::Ns2,
        recovery: Recovery::Reno,
        ..delaying()
    });
    assert_eq!(receiver.at(20, 0), None);
    assert_eq!(receiver.at(21, 1), Some(plain(2)));
    assert_eq!(receiver.at(22, 1), None);
    assert_eq!(receiver.delayed(122), Some(plain(2)));
    assert_eq!(receiver.at(130, 0), Some(plain(2)));
}
