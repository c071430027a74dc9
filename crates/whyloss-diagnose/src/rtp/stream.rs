//! One stream: what passes, what is missing, and what its receiver says of it.

use std::collections::{HashMap, VecDeque};

use whyloss::Time;

use super::clock::Clock;
use super::feedback::{Block, Heard, Instant, Told};
use super::header::{Header, transport_number};
use super::{Ends, Seen};
use crate::arrivals::{Arrivals, Arrived, Place};
use crate::delay::Around;
use crate::flow::{Direction, Flow, Protocol, packets};
use crate::loss::{Evidence, Loss, Side};
use crate::stamps::FIRST;
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
    /// Its place among those that passed.
    place: u64,
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
    places: u64,
    /// What passed and did not arrive.
    lost: Vec<Passed>,
    /// What passed as it arrived behind the point of capture, numbered by its place, so that what was lost before it is no
    /// gap; delays are those from here to there, as feedback tells them.
    behind: Arrivals,
    /// What makes the first of those delays what it is taken for: when it passed, and when it arrived.
    clock_behind: Option<(u64, Instant)>,
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
            places: 0,
            lost: Vec::new(),
            behind: Arrivals::default(),
            clock_behind: None,
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
                place: self.places,
                transport: transport_number(bytes),
                seen,
                bytes: length,
                lost: false,
            });
            self.places += 1;
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
            Told::Arrived { first, heard, .. } => {
                self.named = true;
                for (step, &heard) in (0..).zip(heard) {
                    let number = first.wrapping_add(step);
                    match heard {
                        Heard::Arrived(at) => {
                            self.on_arrived(|one| one.number as u16 == number, at);
                        }
                        Heard::Missing => self.on_missing(number),
                    }
                }
            }
            Told::Transport { first, heard } => {
                let speaks = self
                    .passed
                    .back()
                    .is_some_and(|one| one.transport.is_some());
                self.named |= speaks;
                for (step, &heard) in (0..).zip(heard).filter(|_| speaks) {
                    let number = first.wrapping_add(step);
                    let same = |one: &Passed| one.transport == Some(number);
                    if let Heard::Arrived(at) = heard {
                        self.on_arrived(same, at);
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
    fn on_arrived(&mut self, is: impl Fn(&Passed) -> bool, at: Option<Instant>) {
        let again = self.arrivals.ledger.counts.retransmissions > 0;
        let Some(one) = self.passed.iter_mut().rev().find(|one| is(one)) else {
            return;
        };
        one.lost &= again;
        let (Some(at), false) = (at, one.lost) else {
            return;
        };
        let (passed, first) = *self.clock_behind.get_or_insert((one.seen.now, at));
        let there = i128::from(at.since(first)) / 1000;
        let here = (i128::from(one.seen.now) - i128::from(passed)) / 1000;
        let delay = (there - here + i128::from(FIRST)).clamp(0, u32::MAX.into()) as u32;
        self.behind.on_packet(Arrived {
            now: one.seen.now.saturating_add(u64::from(delay) * 1000),
            frame: one.seen.frame,
            number: one.place,
            bytes: one.bytes,
            sent: Some((Time::from_nanos(one.seen.now), delay)),
        });
    }

    /// Feedback about it comes no more.
    fn settle(&mut self, one: Passed) {
        if one.lost {
            self.lost.push(one);
        }
    }

    /// Takes what was lost behind the point of capture into the account, with what feedback tells of delays there.
    fn settle_all(&mut self) {
        for one in std::mem::take(&mut self.passed) {
            self.settle(one);
        }
        self.behind.finish();
        let gaps = self.behind.ledger.losses.iter();
        let gaps: HashMap<u64, &Loss> = gaps.map(|gap| (gap.offset, gap)).collect();
        for one in std::mem::take(&mut self.lost) {
            let gap = gaps.get(&one.place);
            let event = gap.and_then(|gap| self.behind.ledger.events.get(gap.event? as usize));
            let event = event.and_then(|event| self.arrivals.ledger.event(*event));
            self.arrivals.ledger.keep(Loss {
                time: one.seen.now,
                frame: one.seen.frame,
                offset: one.number,
                bytes: one.bytes,
                packets: 1,
                side: Side::Beyond,
                retransmission: false,
                evidence: Evidence::Feedback,
                event,
                order: one.number,
                around: gap.map_or_else(Around::default, |gap| gap.around),
                run: 1,
                verdict: None,
                truth: None,
            });
        }
    }

    /// All that is known of it; `before` is the round trip from here to its sender, ns.
    pub(super) fn flow(mut self, before: Option<u64>) -> Flow {
        self.settle_all();
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
                delays: self.behind.one_way,
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
        if of(Side::Beyond) > 0 && self.clock_behind.is_none() {
            limits.push(
                "causes of losses behind the point of capture: their receiver says what it lacks, not when the others arrived"
                    .to_owned(),
            );
        }
        limits
    }
}
