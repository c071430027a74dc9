//! Diagnoses exchanges written by hand.

use std::net::SocketAddr;

use super::{Connection, Connections, Half};
use crate::flow::Flow;
use crate::loss::{Evidence, Side};
use crate::memory::Memory;
use crate::packet::{Flags, Segment};
use crate::vantage::Vantage;

const MS: u64 = 1_000_000;
const SIZE: u32 = 1000;

/// A connection whose data flows from port 1 to port 2, with timestamps in milliseconds.
struct Exchange {
    connections: Connections,
    frame: u64,
    base: u32,
    stamps: bool,
}

impl Exchange {
    fn new(base: u32) -> Self {
        Self {
            connections: Connections::new(10, Memory::new(1 << 30)),
            frame: 0,
            base,
            stamps: true,
        }
    }

    fn pass(&mut self, from: u16, ms: u64, segment: &Segment) {
        self.frame += 1;
        let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
        self.connections.on_segment(
            (end(from), end(3 - from)),
            (ms * MS, self.frame, None),
            segment,
            |_| {},
        );
    }

    /// Passes segment number `n` at `ms`; it left at `sent`.
    fn data(&mut self, ms: u64, n: u32, sent: u32) {
        let segment = Segment {
            sequence: self.base.wrapping_add(n * SIZE),
            length: SIZE,
            flags: Flags {
                ack: true,
                ..Flags::default()
            },
            stamps: self.stamps.then_some((sent, 1)),
            ..Segment::default()
        };
        self.pass(1, ms, &segment);
    }

    /// Acknowledges all segments before `next` and these blocks, and echoes the stamp of `echo`.
    fn ack(&mut self, ms: u64, next: u32, echo: u32, blocks: &[(u32, u32)]) {
        let number = |n: u32| self.base.wrapping_add(n * SIZE);
        let mut segment = Segment {
            acknowledgement: number(next),
            flags: Flags {
                ack: true,
                ..Flags::default()
            },
            stamps: self.stamps.then_some((ms as u32, echo)),
            blocks: blocks.len() as u8,
            ..Segment::default()
        };
        for (block, (start, end)) in segment.sack.iter_mut().zip(blocks) {
            *block = (number(*start), number(*end));
        }
        self.pass(2, ms, &segment);
    }

    fn end(self) -> Half {
        let mut connection: Option<Connection> = None;
        self.connections.finish(|last| connection = Some(last));
        let Some(Some(mut half)) = connection.map(|mut connection| connection.halves[0].take())
        else {
            panic!("no data")
        };
        half.finish();
        *half
    }
}

/// Returns an exchange of segments 0 to 3 without losses, with a round trip of 100 ms.
fn warm(base: u32) -> Exchange {
    let mut exchange = Exchange::new(base);
    for n in 0..4 {
        exchange.data(u64::from(n) + 1, n, n + 1);
    }
    for n in 0..4 {
        exchange.ack(u64::from(n) + 101, n + 1, n + 1, &[]);
    }
    exchange
}

#[test]
fn a_hole_that_is_repaired_is_a_loss_and_numbers_wrap() {
    for base in [1, u32::MAX - 6500] {
        let mut exchange = warm(base);
        for n in 4..8 {
            exchange.data(200 + u64::from(n), n, 200 + n);
        }
        for n in 5..8 {
            exchange.ack(300 + u64::from(n), 4, 4, &[(5, n + 1)]);
        }
        exchange.data(308, 4, 308);
        exchange.ack(408, 8, 308, &[]);
        let half = exchange.end();
        let [loss] = half.ledger.losses[..] else {
            panic!("{:?}", half.ledger.losses)
        };
        assert_eq!(
            (loss.side, loss.offset, loss.time, loss.frame),
            (Side::Beyond, 4000, 204 * MS, 9)
        );
        assert_eq!(
            (loss.evidence, loss.retransmission, loss.run),
            (Evidence::TimeStamp, false, 1)
        );
        assert_eq!(
            (
                half.ledger.counts.spurious,
                half.ledger.counts.retransmissions
            ),
            (0, 1)
        );
        assert_eq!(half.ledger.events.len(), 1);
    }
}

#[test]
fn what_was_sent_again_too_early_is_no_loss() {
    let mut exchange = warm(1);
    exchange.data(200, 4, 200);
    exchange.data(260, 4, 260);
    // The acknowledgement echoes the first passage, and comes 40 ms after the second.
    exchange.ack(300, 5, 200, &[]);
    let half = exchange.end();
    assert_eq!(
        (half.ledger.losses.len(), half.ledger.counts.spurious),
        (0, 1)
    );
}

#[test]
fn what_had_been_acknowledged_is_no_loss() {
    let mut exchange = warm(1);
    exchange.data(300, 2, 300);
    let half = exchange.end();
    assert_eq!(
        (half.ledger.losses.len(), half.ledger.counts.spurious),
        (0, 1)
    );
}

#[test]
fn a_duplicate_report_takes_a_loss_back() {
    let mut exchange = warm(1);
    exchange.stamps = false;
    for n in 4..8 {
        exchange.data(200 + u64::from(n), n, 0);
    }
    exchange.ack(305, 4, 0, &[(5, 6)]);
    exchange.data(310, 4, 0);
    // The original comes late: the retransmission left more than the shortest round trip ago.
    exchange.ack(411, 8, 0, &[]);
    exchange.ack(412, 8, 0, &[(4, 5)]);
    let half = exchange.end();
    assert_eq!(
        (half.ledger.losses.len(), half.ledger.counts.spurious),
        (0, 1)
    );
}

#[test]
fn a_gap_is_lost_if_it_is_filled_by_something_later_and_reordered_if_by_something_earlier() {
    let (mut lost, mut overtaken) = (warm(1), warm(1));
    for exchange in [&mut lost, &mut overtaken] {
        exchange.data(200, 4, 200);
        exchange.data(202, 6, 202);
    }
    lost.data(310, 5, 305);
    overtaken.data(310, 5, 201);
    let (lost, overtaken) = (lost.end(), overtaken.end());
    let [loss] = lost.ledger.losses[..] else {
        panic!("{:?}", lost.ledger.losses)
    };
    assert_eq!(
        (loss.side, loss.evidence, loss.offset),
        (Side::Before, Evidence::Gap, 5000)
    );
    assert_eq!(lost.ledger.counts.reordered, 0);
    assert_eq!(
        (
            overtaken.ledger.losses.len(),
            overtaken.ledger.counts.reordered
        ),
        (0, 1)
    );
}

#[test]
fn what_arrived_without_having_been_seen_was_lost_by_the_capture() {
    let mut exchange = warm(1);
    exchange.data(200, 4, 200);
    exchange.data(202, 6, 202);
    exchange.ack(302, 7, 202, &[]);
    let half = exchange.end();
    assert_eq!(
        (
            half.ledger.losses.len(),
            half.ledger.counts.uncaptured_bytes
        ),
        (0, 1000)
    );
}

#[test]
fn keep_alives_are_no_retransmissions() {
    let mut exchange = warm(1);
    let probe = Segment {
        sequence: 4000,
        length: 1,
        ..Segment::default()
    };
    for second in 1..5 {
        exchange.pass(1, second * 1000, &probe);
    }
    let half = exchange.end();
    assert_eq!(
        (
            half.ledger.counts.keep_alives,
            half.ledger.counts.retransmissions
        ),
        (4, 0)
    );
}

#[test]
fn a_lost_retransmission_is_a_second_loss() {
    let mut exchange = warm(1);
    for n in 4..8 {
        exchange.data(200 + u64::from(n), n, 200 + n);
    }
    exchange.ack(307, 4, 4, &[(5, 8)]);
    exchange.data(308, 4, 308);
    exchange.data(309, 8, 309);
    exchange.ack(409, 4, 4, &[(5, 9)]);
    exchange.data(1310, 4, 1310);
    exchange.ack(1410, 9, 1310, &[]);
    let half = exchange.end();
    let again: Vec<bool> = half
        .ledger
        .losses
        .iter()
        .map(|loss| loss.retransmission)
        .collect();
    assert_eq!(again, [false, true]);
    assert_eq!(half.ledger.events.len(), 2);
}

#[test]
fn nonsense_is_bounded() {
    let mut exchange = warm(1);
    for n in 0..20_000_u32 {
        let sequence = n.wrapping_mul(0x9e37_79b9);
        let segment = Segment {
            sequence,
            length: 60_000,
            ..Segment::default()
        };
        exchange.pass(1, u64::from(n), &segment);
        exchange.ack(
            u64::from(n),
            n,
            0,
            &[(n.wrapping_mul(77), n.wrapping_mul(99))],
        );
    }
    let half = exchange.end();
    assert!(half.ledger.losses.len() <= 1 << 16);
}

#[test]
fn probes_of_a_closed_window_are_no_losses() {
    let mut exchange = Exchange::new(1);
    for n in 0..5 {
        exchange.data(10 * u64::from(n), n, n);
        exchange.ack(10 * u64::from(n) + 5, n + 1, n, &[]);
    }
    // The test's acknowledgements have a window of 0. A probe of one byte is sent three times, and
    // finally accepted.
    for ms in [100, 300, 700] {
        let probe = Segment {
            sequence: exchange.base.wrapping_add(5 * SIZE),
            length: 1,
            flags: Flags {
                ack: true,
                ..Flags::default()
            },
            stamps: Some((ms, 1)),
            ..Segment::default()
        };
        exchange.pass(1, ms.into(), &probe);
    }
    let taken = Segment {
        acknowledgement: exchange.base.wrapping_add(5 * SIZE + 1),
        window: 1000,
        flags: Flags {
            ack: true,
            ..Flags::default()
        },
        stamps: Some((1, 700)),
        ..Segment::default()
    };
    exchange.pass(2, 705, &taken);
    let half = exchange.end();
    let counts = half.ledger.counts;
    assert_eq!((counts.keep_alives, counts.retransmissions), (3, 0));
    assert_eq!((counts.uncaptured_bytes, half.ledger.losses.len()), (0, 0));
}

/// Without timestamps, a receiver's capture has no delays of the path.
#[test]
fn a_receiver_without_timestamps_shows_no_queue() {
    let mut exchange = Exchange::new(1);
    exchange.stamps = false;
    let syn = |acknowledgement: u32, ack| Segment {
        acknowledgement,
        flags: Flags {
            syn: true,
            ack,
            ..Flags::default()
        },
        ..Segment::default()
    };
    exchange.pass(1, 100, &syn(0, false));
    exchange.pass(2, 101, &syn(1, true));
    for n in 0..40 {
        let ms = 200 + 10 * u64::from(n);
        exchange.pass(
            1,
            ms,
            &Segment {
                acknowledgement: 1,
                sequence: 1 + n * SIZE,
                length: SIZE,
                flags: Flags {
                    ack: true,
                    ..Flags::default()
                },
                ..Segment::default()
            },
        );
        exchange.ack(ms + 1, n + 1, 0, &[]);
    }
    let mut flows = Vec::new();
    let connections = exchange.connections;
    connections.finish(|connection| flows.extend(Flow::of_connection(connection)));
    let [flow] = &flows[..] else {
        panic!("{flows:?}")
    };
    assert_eq!(flow.vantage, Vantage::Receiver);
    assert_eq!(flow.portrait.queueing_ms, None);
    let limits = flow.cannot_tell.join("\n");
    assert!(
        limits.contains("one-way delays: there are none"),
        "{limits}"
    );
}
