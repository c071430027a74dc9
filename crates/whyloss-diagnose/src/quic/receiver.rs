//! What a QUIC endpoint received: numbers that are used once, so that a hole is a packet that never came.

use std::collections::VecDeque;

use crate::ledger::Ledger;
use crate::loss::{Evidence, Loss, Side};

/// Numbers that may still come.
const MISSING: usize = 1 << 10;
/// A jump by more is no gap.
const JUMP: u64 = 1 << 16;

/// The packets of one number space.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    next: Option<u64>,
    missing: VecDeque<Loss>,
    pub(super) ledger: Ledger,
    pub(super) received: u64,
    /// Whether there was more than acknowledgements.
    pub(super) data: bool,
    pub(super) span: Option<(u64, u64)>,
}

impl Receiver {
    /// The endpoint receives a packet, which asks for an answer or not.
    pub(super) fn on_packet(&mut self, now: u64, record: u64, number: u64, bytes: u32, asks: bool) {
        self.data |= asks && bytes > 0;
        self.span = Some((self.span.map_or(now, |span| span.0), now));
        self.received += u64::from(bytes);
        self.ledger.counts.data_packets += 1;
        self.ledger.counts.data_bytes += u64::from(bytes);
        let next = self.next.unwrap_or(number);
        if number < next {
            let late = self.missing.iter().position(|loss| loss.offset == number);
            if let Some(late) = late {
                self.missing.remove(late);
                self.ledger.counts.reordered += 1;
            }
            return;
        }
        if number - next > JUMP {
            self.ledger.counts.restarts += 1;
        } else {
            for missing in next..number {
                self.missing.push_back(Loss {
                    time: now,
                    frame: record,
                    offset: missing,
                    bytes,
                    packets: 1,
                    side: Side::Before,
                    retransmission: false,
                    evidence: Evidence::Number,
                    event: None,
                    order: missing,
                    around: crate::delay::Around::default(),
                    run: (number - next) as u32,
                    verdict: None,
                    truth: None,
                });
                if self.missing.len() > MISSING
                    && let Some(loss) = self.missing.pop_front()
                {
                    self.ledger.keep(loss);
                }
            }
        }
        self.next = Some(number + 1);
    }

    /// The log is over.
    pub(super) fn finish(&mut self) {
        for loss in self.missing.drain(..) {
            self.ledger.keep(loss);
        }
        self.ledger.finish();
    }
}
