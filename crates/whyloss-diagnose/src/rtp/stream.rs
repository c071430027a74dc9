//! Follows one RTP stream: its packets, its gaps, and the reports of its receiver.

use std::collections::{HashMap, VecDeque};

use whyloss::Time;

use super::clock::Clock;
use super::feedback::{Block, Heard, Instant, Told};
use super::header::{Header, transport_number};
use super::{Ends, Seen};
use crate::arrivals::{Arrivals, Arrived, Place};
use crate::delay::Around;
use crate::flow::{Direction, Flow, Protocol, packets};
use crate::ledger::KEPT;
use crate::loss::{Evidence, Loss, Side};
use crate::stamps::FIRST;
use crate::steps::step;
use crate::vantage::Vantage;

/// The number of packets that feedback may refer to.
const PASSED: usize = 1 << 12;
/// The origin of numbers, so that none before the first is negative.
const ORIGIN: u64 = 1 << 16;
/// The longest time in ns from a sender report to the receiver report that refers to it.
const REPORT: u64 = 60_000_000_000;

/// A packet that passed the point of capture.
#[derive(Clone, Copy, Debug)]
struct Passed {
    number: u64,
    /// The index of the packet among those that passed.
    place: u64,
    seen: Seen,
    bytes: u32,
    lost: bool,
}

impl Passed {
    /// Marks the packet as arrived. With `again`, a retransmission arrived, so a lost packet stays
    /// lost.
    fn arrive(&mut self, again: bool) -> Self {
        self.lost &= again;
        *self
    }
}

/// One stream.
pub(super) struct Stream {
    ends: Ends,
    clock: Clock,
    arrivals: Arrivals,
    passed: VecDeque<Passed>,
    places: u64,
    /// Whether the latest packet had a transport-wide number.
    transport: bool,
    /// The packets that passed and did not arrive, within the limit on memory.
    lost: Vec<Passed>,
    /// The packets as they arrived after the point of capture. They are numbered by index, so that
    /// earlier losses leave no gap. Delays run from here to the receiver, by its feedback.
    behind: Arrivals,
    /// When the first of these packets passed and when it arrived. Both times anchor the delays.
    clock_behind: Option<(u64, Instant)>,
    first_number: Option<u16>,
    /// The round trip from the point of capture to the receiver, in ns.
    beyond: Option<u64>,
    /// The cumulative number of losses that the receiver reports.
    reported: Option<i32>,
    /// Whether the receiver lists the missing packets.
    named: bool,
    /// The bytes at the last count of memory, and the number of events so far.
    held: usize,
    events: u64,
}

/// The number of events after which memory is counted again. Before, it is counted whenever the
/// events have doubled.
const COUNTED: u64 = 64;
/// The maximum number of wraps of 16-bit numbers among the packets that feedback may refer to.
const TURNS: u64 = 16;

impl Stream {
    pub(super) fn new(ends: Ends) -> Self {
        Self {
            ends,
            clock: Clock::default(),
            arrivals: Arrivals::default(),
            passed: VecDeque::new(),
            places: 0,
            transport: false,
            lost: Vec::new(),
            behind: Arrivals::default(),
            clock_behind: None,
            first_number: None,
            beyond: None,
            reported: None,
            named: false,
            held: 0,
            events: 0,
        }
    }

    /// Counts the memory if that is due. Returns the numbers of bytes before and after.
    pub(super) fn account(&mut self) -> Option<(usize, usize)> {
        self.events += 1;
        if !self.events.is_multiple_of(COUNTED) && !self.events.is_power_of_two() {
            return None;
        }
        let before = self.held;
        self.held = size_of::<Self>()
            + (self.passed.capacity() + self.lost.capacity()) * size_of::<Passed>()
            + self.arrivals.memory()
            + self.behind.memory();
        Some((before, self.held))
    }

    /// Returns the bytes at the last count of memory.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Records whether the receiver has reported transport-wide numbers.
    pub(super) fn hear(&mut self, told: bool) {
        self.named |= told && self.transport;
    }

    /// Returns the time of the last packet, in ns.
    pub(super) fn last(&self) -> u64 {
        self.arrivals.span.map_or(0, |span| span.1)
    }

    /// Returns the time of the first packet, in ns.
    pub(super) fn first(&self) -> u64 {
        self.arrivals.span.map_or(0, |span| span.0)
    }

    /// Returns the shortest round trip from here to the receiver, in ns.
    pub(super) fn beyond(&self) -> Option<u64> {
        self.beyond
    }

    /// Handles a packet. Returns its transport-wide number and its index, if it has both.
    pub(super) fn on_packet(
        &mut self,
        seen: Seen,
        header: Header,
        length: u32,
        bytes: &[u8],
    ) -> Option<(u16, u64)> {
        let Some(number) = self.number(header.sequence) else {
            // The packet left before the first one that was seen.
            self.arrivals.ledger.counts.reordered += 1;
            return None;
        };
        let sent = self.clock.read(seen.now, header.stamp, header.payload_type);
        let place = self.arrivals.on_packet(Arrived {
            now: seen.now,
            frame: seen.frame,
            number,
            bytes: length,
            sent,
        });
        if place != Place::New {
            return None;
        }
        let place = self.places;
        self.passed.push_back(Passed {
            number,
            place,
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
        let transport = transport_number(bytes);
        self.transport = transport.is_some();
        Some((transport?, place))
    }

    /// Returns the packet with this number, if feedback may refer to it.
    fn find(&mut self, number: u64) -> Option<&mut Passed> {
        step(self.passed.len().checked_ilog2().unwrap_or(0) as usize + 1);
        let at = self.passed.partition_point(|one| one.number < number);
        let found = self.passed.get_mut(at)?;
        (found.number == number).then_some(found)
    }

    /// Returns the full sequence number of the latest packet whose low 16 bits are `sequence`.
    fn latest(&mut self, sequence: u16) -> Option<u64> {
        let (first, last) = (self.passed.front()?.number, self.passed.back()?.number);
        let back = u64::from((last as u16).wrapping_sub(sequence));
        let turns = (0..TURNS).map(|turn| back + (turn << 16));
        let numbers = turns.map_while(|back| last.checked_sub(back));
        let numbers: Vec<u64> = numbers.take_while(|&number| number >= first).collect();
        numbers
            .into_iter()
            .find(|&number| self.find(number).is_some())
    }

    /// Extends the 16 bits in a packet to its full number.
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

    /// Handles a report by the receiver, or by a middlebox.
    pub(super) fn on_told(&mut self, seen: Seen, told: &Told, sent: Option<u64>) {
        match told {
            // `on_transport` handles these numbers.
            Told::Sender { .. } | Told::Transport { .. } => {}
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
                            if let Some(number) = self.latest(number) {
                                let again = self.again();
                                if let Some(one) = self.find(number) {
                                    let one = one.arrive(again);
                                    self.on_arrived(one, at);
                                }
                            }
                        }
                        Heard::Missing => self.on_missing(number),
                    }
                }
            }
        }
    }

    /// Handles the report on the packet with this index.
    pub(super) fn on_transport(&mut self, place: u64, heard: Heard) {
        step(1);
        let again = self.again();
        let first = self.passed.front().map_or(0, |one| one.place);
        let index = place.checked_sub(first).map(|index| index as usize);
        let Some(one) = index.and_then(|index| self.passed.get_mut(index)) else {
            return;
        };
        match heard {
            Heard::Missing => one.lost = true,
            Heard::Arrived(at) => {
                let one = one.arrive(again);
                self.on_arrived(one, at);
            }
        }
    }

    /// Returns whether any packet was sent again.
    fn again(&self) -> bool {
        self.arrivals.ledger.counts.retransmissions > 0
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

    /// Records that the receiver lacks this number.
    fn on_missing(&mut self, sequence: u16) {
        let Some(number) = self.number(sequence) else {
            return;
        };
        if self.arrivals.confirm(number) {
            return;
        }
        if let Some(one) = self.find(number) {
            one.lost = true;
        }
    }

    /// Records that the receiver has the packet.
    fn on_arrived(&mut self, one: Passed, at: Option<Instant>) {
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

    /// Settles a packet that gets no more feedback.
    fn settle(&mut self, one: Passed) {
        if one.lost && self.lost.len() < KEPT {
            self.lost.push(one);
        } else if one.lost {
            self.arrivals.ledger.counts.losses_not_kept += 1;
        }
    }

    /// Adds the losses after the point of capture, with the delays from feedback.
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

    /// Returns the flow. `before` is the round trip from here to the sender, in ns.
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
        let of = |side| {
            let losses = losses.iter().filter(|loss| loss.side == side);
            losses.map(|loss| i64::from(loss.packets)).sum::<i64>()
        };
        if let Vantage::Unknown(why) = Vantage::of_reports(before, self.beyond) {
            limits.push(format!("where the capture was taken: {why}"));
        }
        if self.clock.rate().is_none() && !losses.is_empty() {
            limits.push(
                "causes: the rate of the timestamps could not be made out, so there are no delays"
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
