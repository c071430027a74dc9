//! Follows arriving packets whose numbers are used once: a missing number is a packet lost before
//! this point.
//!
//! RTP, QUIC and the logs of networks count in this way. If the departure times are known, on any
//! clock, the relative one-way delays go to the receiver classifiers and to the combined verdict.

use whyloss::Time;
use whyloss::receiver::Arrival;

use crate::classifiers::Receivers;
use crate::delay::{Around, Delays};
use crate::ledger::Ledger;
use crate::loss::{Event, Evidence, Loss, Side, Votes};
use crate::missing::{Gap, Missing};
use crate::rates::Rates;

/// The largest jump of the numbers that counts as a gap.
pub(crate) const JUMP: u64 = 1 << 16;
/// The number of arrivals before which classifiers have too little evidence for a verdict.
const SHORT: u64 = 10;

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// The arrival time, in ns since 1970.
    pub(crate) now: u64,
    /// The index of the frame or record.
    pub(crate) frame: u64,
    /// The packet's sequence number.
    pub(crate) number: u64,
    pub(crate) bytes: u32,
    /// The departure on the sender's clock, and the relative delay in µs.
    pub(crate) sent: Option<(Time, u32)>,
}

/// The relation of an arrival's number to earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The packet is the expected one, or comes after a gap.
    New,
    /// The packet was missing until now.
    Late,
    /// The packet came before, or is too old.
    Again,
}

/// The packets of one number space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    next: Option<u64>,
    missing: Missing,
    receivers: Option<Box<Receivers>>,
    pub(crate) ledger: Ledger,
    pub(crate) one_way: Delays,
    pub(crate) rates: Rates,
    pub(crate) received: u64,
    pub(crate) largest: u32,
    pub(crate) span: Option<(u64, u64)>,
}

impl Arrivals {
    /// Creates a state that reports each missing number as a separate loss, so that packets of a
    /// network's own log can be looked up one by one.
    pub(crate) fn singly() -> Self {
        Self {
            missing: Missing::singly(),
            ..Self::default()
        }
    }

    pub(crate) fn on_packet(&mut self, packet: Arrived) -> Place {
        let Arrived {
            now,
            number,
            bytes,
            sent,
            ..
        } = packet;
        self.span = Some((self.span.map_or(now, |span| span.0), now));
        self.received += u64::from(bytes);
        self.largest = self.largest.max(bytes);
        self.ledger.counts.data_packets += 1;
        self.ledger.counts.data_bytes += u64::from(bytes);
        self.rates.measure(now, self.received, None);
        let next = self.next.unwrap_or(number);
        if number < next {
            return self.on_late(number);
        }
        self.next = Some(number.saturating_add(1));
        if number - next > JUMP {
            self.ledger.counts.restarts += 1;
            return Place::New;
        }
        if let Some((_, delay)) = sent {
            self.one_way.add(now, number, delay);
            // Gaps take the delays of their neighbours when they appear, so older delays can go.
            self.one_way.forget(number);
        }
        let missing = number - next;
        let votes = sent.map_or_else(Votes::default, |(sent, _)| {
            self.ask(
                &Arrival::new(number, sent, Time::from_nanos(now), bytes),
                missing,
            )
        });
        if missing > 0 {
            self.on_gap(&packet, next, votes);
        }
        Place::New
    }

    fn ask(&mut self, arrival: &Arrival, missing: u64) -> Votes {
        let receivers = self
            .receivers
            .get_or_insert_with(|| Box::new(Receivers::new()));
        let votes = receivers.on_arrival(arrival, missing);
        if self.ledger.counts.data_packets < SHORT {
            return Votes::default();
        }
        votes
    }

    fn on_gap(&mut self, packet: &Arrived, next: u64, votes: Votes) {
        let event = packet.sent.and_then(|_| {
            self.ledger.event(Event {
                time: packet.now,
                detection: None,
                votes,
            })
        });
        let loss = Loss {
            time: packet.now,
            frame: packet.frame,
            offset: next,
            bytes: packet.bytes,
            packets: 1,
            side: Side::Before,
            retransmission: false,
            evidence: Evidence::Number,
            event,
            order: next,
            around: Around::default(),
            run: (packet.number - next) as u32,
            verdict: None,
            truth: None,
        };
        let gap = Gap {
            first: next,
            end: packet.number,
            loss,
            neighbours: self.one_way.neighbours(next),
        };
        self.missing.open(&gap, &mut self.ledger);
    }

    fn on_late(&mut self, number: u64) -> Place {
        match self.missing.fill(number) {
            Some(true) => self.ledger.counts.reordered += 1,
            // The receiver requested the packet, and it was sent again.
            Some(false) => self.ledger.counts.retransmissions += 1,
            None => {
                self.ledger.counts.retransmissions += 1;
                return Place::Again;
            }
        }
        Place::Late
    }

    /// Records that the receiver lacks this number. Returns whether it is also missing here.
    pub(crate) fn confirm(&mut self, number: u64) -> bool {
        self.missing.ask(number)
    }

    /// Sets the sequence number of the first packet: missing numbers from this one onwards were
    /// lost.
    pub(crate) fn expect(&mut self, first: u64) {
        self.next.get_or_insert(first);
    }

    /// Returns the number that is expected next.
    pub(crate) fn next(&self) -> u64 {
        self.next.unwrap_or(0)
    }

    /// Ends the input: all missing numbers are lost.
    pub(crate) fn finish(&mut self) {
        self.missing.finish(&mut self.ledger);
        self.ledger.finish();
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let receivers = self.receivers.as_ref().map(|all| all.memory());
        receivers.unwrap_or(0)
            + self.missing.memory()
            + self.ledger.memory()
            + self.one_way.memory()
            + self.rates.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(arrivals: &mut Arrivals, number: u64) -> Place {
        let now = number * 1_000_000;
        arrivals.on_packet(Arrived {
            now,
            frame: number,
            number,
            bytes: 100,
            sent: Some((Time::from_nanos(now), 5_000)),
        })
    }

    #[test]
    fn gaps_are_losses_unless_they_are_filled() {
        let mut arrivals = Arrivals::default();
        for number in [7, 8, 10, 11, 9, 14, 15] {
            arrive(&mut arrivals, number);
        }
        assert!(arrivals.confirm(13) && !arrivals.confirm(9));
        // The packet was requested and sent again, and still counts as lost.
        assert_eq!(arrive(&mut arrivals, 13), Place::Late);
        assert_eq!(arrive(&mut arrivals, 8), Place::Again);
        arrivals.finish();
        let lost: Vec<_> = arrivals
            .ledger
            .losses
            .iter()
            .map(|l| (l.offset, l.run))
            .collect();
        assert_eq!(lost, [(12, 2), (13, 2)]);
        let counts = arrivals.ledger.counts;
        assert_eq!((counts.reordered, counts.retransmissions), (1, 2));
    }

    #[test]
    fn a_jump_is_no_gap() {
        let mut arrivals = Arrivals::default();
        arrive(&mut arrivals, 1);
        arrive(&mut arrivals, 1 << 20);
        arrivals.finish();
        assert!(arrivals.ledger.losses.is_empty());
        assert_eq!(arrivals.ledger.counts.restarts, 1);
    }
}
