//! Follows the packets that a QUIC endpoint received. Numbers are used once, so a missing number is
//! a lost packet.

use crate::arrivals::JUMP;
use crate::delay::{Around, Neighbours};
use crate::ledger::Ledger;
use crate::loss::{Evidence, Loss, Side};
use crate::missing::{Gap, Missing};

/// The packets of one number space.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    next: Option<u64>,
    missing: Missing,
    pub(super) ledger: Ledger,
    pub(super) received: u64,
    /// Whether any packet had more than acknowledgements.
    pub(super) data: bool,
    pub(super) span: Option<(u64, u64)>,
}

impl Receiver {
    /// Records that the endpoint receives a packet. `asks` tells whether the packet elicits an
    /// acknowledgement.
    pub(super) fn on_packet(&mut self, now: u64, record: u64, number: u64, bytes: u32, asks: bool) {
        self.data |= asks && bytes > 0;
        self.span = Some((self.span.map_or(now, |span| span.0), now));
        self.received += u64::from(bytes);
        self.ledger.counts.data_packets += 1;
        self.ledger.counts.data_bytes += u64::from(bytes);
        let next = self.next.unwrap_or(number);
        if number < next {
            if self.missing.fill(number).is_some() {
                self.ledger.counts.reordered += 1;
            }
            return;
        }
        self.next = Some(number.saturating_add(1));
        if number - next > JUMP {
            self.ledger.counts.restarts += 1;
        } else if number > next {
            let loss = Loss {
                time: now,
                frame: record,
                offset: next,
                bytes,
                packets: 1,
                side: Side::Before,
                retransmission: false,
                evidence: Evidence::Number,
                event: None,
                order: next,
                around: Around::default(),
                run: (number - next) as u32,
                verdict: None,
                truth: None,
            };
            let gap = Gap {
                first: next,
                end: number,
                loss,
                neighbours: Neighbours::default(),
            };
            self.missing.open(&gap, &mut self.ledger);
        }
    }

    /// Ends the log.
    pub(super) fn finish(&mut self) {
        self.missing.finish(&mut self.ledger);
        self.ledger.finish();
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.missing.memory() + self.ledger.memory()
    }
}
