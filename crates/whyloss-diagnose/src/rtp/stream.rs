//! One stream: what passes, what is missing, and what its receiver says of it.

use std::collections::VecDeque;

use super::clock::Clock;
use super::feedback::{Block, Told};
use super::header::{Header, transport_number};
use super::{Ends, Seen};
use crate::arrivals::{Arrivals, Arrived, Place};
use crate::delay::{Around, Delays};
use crate::flow::{Direction, Flow, Protocol, packets};
use crate::loss::{Evidence, Loss, Side};
use crate::vantage::Vantage;

/// Packets that feedback may speak of.
const PASSED: usize = 1 << 12;
/// Where numbers begin, so that none before the first is negative.
const ORIGIN: u64 = 1 << 16;
/// A report that comes later than this after the sender's, ns, is about another.
const REPORT: u64 = 60_000_000_000;

/// A packet that passed.
#[derive(Clone, Copy, Debug)]
struct Passed {
    number: u64,
    transport: Option<u16>,
    seen: Seen,
    bytes: u32,
    lost: bool,
}

/// One stream.
pub(super) struct Stream {
    ends: Ends,
    clock: Clock,
    arrivals: Arrivals,
    passed: VecDeque<Passed>,
    first_number: Option<u16>,
    /// From the point of capture to the receiver and back, ns.
    beyond: Option<u64>,
    /// What the receiver says it lost in all.
    reported: Option<i32>,
    /// Whether the receiver says which packets it lacks.
    named: bool,
}

impl Stream {
    pub(super) fn new(ends: Ends) -> Self {
        Self {
            ends,
            clock: Clock::default(),
            arrivals: Arrivals::default(),
            passed: VecDeque::new(),
            first_number: None,
            beyond: None,
            reported: None,
            named: false,
        }
    }

    /// When it was last seen, ns.
    pub(super) fn last(&self) -> u64 {
        self.arrivals.span.map_or(0, |span| span.1)
    }

    /// When it was first seen, ns.
    pub(super) fn first(&self) -> u64 {
        self.arrivals.span.map_or(0, |span| span.0)
    }

    /// The shortest round trip from here to the receiver, ns.
    pub(super) fn beyond(&self) -> Option<u64> {
        self.beyond
    }

    pub(super) fn on_packet(&mut self, seen: Seen, header: Header, length: u32, bytes: &[u8]) {
        let Some(number) = self.number(header.sequence) else {
            // It left before the first that was seen.
            self.arrivals.ledger.counts.reordered += 1;
            return;
        };
        let sent = self.clock.read(seen.now, header.stamp, header.payload_type);
        let place = self.arrivals.on_packet(Arrived {
            now: seen.now,
            frame: seen.frame,
            number,
            bytes: length,
            sent,
        });
        if place == Place::New {
            self.passed.push_back(Passed {
                number,
                transport: transport_number(bytes),
                seen,
                bytes: length,
                lost: false,
            });
            if self.passed.len() > PASSED
                && let Some(oldest) = self.passed.pop_front()
            {
                self.settle(oldest);
            }
        }
    }

    /// The whole number of a packet, by the half that it carries.
    fn number(&mut self, sequence: u16) -> Option<u64> {
        self.first_number.get_or_insert(sequence);
        let next = match self.arrivals.next() {
            0 => ORIGIN + u64::from(sequence),
            next => next,
        };
        let step = sequence.wrapping_sub(next as u16) as i16;
        let number = next.checked_add_signed(step.into())?;
        let first = ORIGIN + u64::from(self.first_number?);
        (number >= first).then_some(number)
    }

    /// The receiver, or another on its way, says something.
    pub(super) fn on_told(&mut self, seen: Seen, told: &Told, sent: Option<u64>) {
        match told {
            Told::Sender { .. } => {}
            Told::Block(block) => self.on_block(seen, *block, sent),
            Told::Nack { numbers, .. } => {
                self.named = true;
                for &number in numbers {
                    self.on_missing(number);
                }
            }
            Told::Arrived { first, arrived, .. } => {
                self.named = true;
                for (step, &arrived) in (0..).zip(arrived) {
                    let number = first.wrapping_add(step);
                    if arrived {
                        self.on_arrived(|one| one.number as u16 == number);
                    } else {
                        self.on_missing(number);
                    }
                }
            }
            Told::Transport { first, arrived } => {
                let speaks = self
                    .passed
                    .back()
                    .is_some_and(|one| one.transport.is_some());
                self.named |= speaks;
                for (step, &arrived) in (0..).zip(arrived).filter(|_| speaks) {
                    let number = first.wrapping_add(step);
                    let same = |one: &Passed| one.transport == Some(number);
                    if arrived {
                        self.on_arrived(same);
                    } else if let Some(one) = self.passed.iter_mut().rev().find(|one| same(one)) {
                        one.lost = true;
                    }
                }
            }
        }
    }

    fn on_block(&mut self, seen: Seen, block: Block, sent: Option<u64>) {
        self.reported = Some(block.lost);
        let held = u64::from(block.since) * 1_000_000_000 / 65_536;
        let passed = sent.and_then(|sent| seen.now.checked_sub(sent));
        if let Some(round_trip) = passed
            .filter(|&ns| ns < REPORT)
            .and_then(|ns| ns.checked_sub(held))
        {
            let least = self
                .beyond
                .map_or(round_trip, |least| least.min(round_trip));
            self.beyond = Some(least);
        }
    }

    /// The receiver lacks that number.
    fn on_missing(&mut self, sequence: u16) {
        let Some(number) = self.number(sequence) else {
            return;
        };
        if self.arrivals.confirm(number) {
            return;
        }
        if let Some(one) = self
            .passed
            .iter_mut()
            .rev()
            .find(|one| one.number == number)
        {
            one.lost = true;
        }
    }

    /// The receiver has it after all. (One that it asked for and was sent again it lists as arrived, too: then it was lost.)
    fn on_arrived(&mut self, is: impl Fn(&Passed) -> bool) {
        let again = self.arrivals.ledger.counts.retransmissions > 0;
        if let Some(one) = self.passed.iter_mut().rev().find(|one| is(one))
            && !again
        {
            one.lost = false;
        }
    }

    /// Feedback about it comes no more.
    fn settle(&mut self, one: Passed) {
        if !one.lost {
            return;
        }
        self.arrivals.ledger.keep(Loss {
            time: one.seen.now,
            frame: one.seen.frame,
            offset: one.number,
            bytes: one.bytes,
            packets: 1,
            side: Side::Beyond,
            retransmission: false,
            evidence: Evidence::Feedback,
            event: None,
            order: one.number,
            // Delays up to here tell nothing of queues behind.
            around: Around::default(),
            run: 1,
            verdict: None,
            truth: None,
        });
    }

    /// All that is known of it; `before` is the round trip from here to its sender, ns.
    pub(super) fn flow(mut self, before: Option<u64>) -> Flow {
        for one in std::mem::take(&mut self.passed) {
            self.settle(one);
        }
        self.arrivals.finish();
        let limits = self.limits(before);
        let first = ORIGIN + u64::from(self.first_number.unwrap_or(0));
        let mut ledger = self.arrivals.ledger;
        for loss in &mut ledger.losses {
            loss.offset = loss.offset.saturating_sub(first);
        }
        let span = self.arrivals.span.unwrap_or_default();
        let mut flow = Flow::of_direction(
            Direction {
                protocol: Protocol::Rtp,
                ends: self.ends,
                span,
                vantage: Vantage::of_reports(before, self.beyond),
                delivered: self.arrivals.received,
                largest: self.arrivals.largest,
                ledger,
                delays: Delays::default(),
                one_way: self.arrivals.one_way,
                rates: self.arrivals.rates,
            },
            limits,
        );
        flow.first_sequence = u32::from(self.first_number.unwrap_or(0));
        flow.portrait.base_rtt_ms = before
            .zip(self.beyond)
            .map(|(before, beyond)| (before + beyond) as f64 / 1e6);
        flow
    }

    fn limits(&self, before: Option<u64>) -> Vec<String> {
        let mut limits = Vec::new();
        let losses = &self.arrivals.ledger.losses;
        let of = |side| losses.iter().filter(|loss| loss.side == side).count() as i64;
        if let Vantage::Unknown(why) = Vantage::of_reports(before, self.beyond) {
            limits.push(format!("where the capture was taken: {why}"));
        }
        if self.clock.rate().is_none() && !losses.is_empty() {
            limits.push(
                "causes: the rate of the time stamps could not be made out, so there are no delays"
                    .to_owned(),
            );
        }
        match self.reported {
            Some(lost) => {
                let more = i64::from(lost) - of(Side::Before) - of(Side::Beyond);
                if more > 0 && !self.named {
                    limits.push(format!(
                        "which {} were lost behind the point of capture: the receiver only counts them",
                        packets(more as u64)
                    ));
                }
            }
            None if !self.named => limits.push(
                "what was lost behind the point of capture: no RTCP about this stream was captured, or it is encrypted".to_owned(),
            ),
            None => {}
        }
        if of(Side::Beyond) > 0 {
            limits.push(
                "causes of losses behind the point of capture: the delay up to there is not known"
                    .to_owned(),
            );
        }
        limits
    }
}
