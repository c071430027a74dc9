//! The fast engine: the plain one with fewer events. It is fast for three reasons:
//!
//! - A FIFO link computes a packet's wait and arrival as soon as it gets the packet, if it gets its
//!   packets in order. So an event is needed only where packets of several links or ends meet. In a
//!   dumbbell, a packet and its acknowledgement take one, where the plain engine takes six.
//!   `shortcuts` proves why.
//! - It is compiled for each observer, and computes only what that observer needs.
//! - A packet is 48 bytes in a ring (`parcel.rs`, `ring.rs`), and an event is one word
//!   (`event_queue.rs`): a time and an entity. The entity's state tells what the event means.
//!
//! The engine tests the state of a link in the order of rows 1 to 4 ([`Engine::link_event`]), and
//! that of an end in the order of rows 5 and 6 ([`Engine::advance`]); the first that holds counts:
//!
//! | | entity | state | meaning of its event | handled by |
//! |---|---|---|---|---|
//! | 1 | link | its first packet in transit is due | the packet arrives | [`Engine::reach`] |
//! | 2 | link | a truth is due there | a judge learns of a loss | [`Engine::tell`] |
//! | 3 | link to a gate | its deadline was a crossing ago | it acts | [`Engine::wake_gated`] |
//! | 4 | busy link | its next turn is now | packets leave it | [`Engine::turn`] |
//! | 5 | source | its deadline is armed | it acts | [`Ends::wake_source`] |
//! | 6 | sink | its deadline is armed | it acts | [`Ends::wake_sink`] |
//! | 7 | any of rows 3 to 6 | none of these | none: overtaken, or its source caught up | |
//!
//! `ends.rs` follows a segment and its acknowledgement through the functions.
//! `docs/evidence/performance.md` has measurements.

use whyloss::{Cause, Duration, Time};
use whyloss_link::{Fate, Streams};

use super::ends::{Ends, SINK, World};
use super::flow::{Flow, measurement};
use super::hops::Hop;
use super::outcome::{ASK_EVERY, RunError};
use super::parcel::Parcel;
use super::send::Sent;
use super::shortcuts::Shortcuts;
use super::truths::Truth;
use crate::measure::Measurement;
use crate::observe::Observer;
use crate::scenario::Scenario;

/// The minimum number of flows for which prefetching pays; the state of fewer stays in the cache.
const MANY: usize = if cfg!(test) { 2 } else { 3_000 };

/// A run of the fast engine.
pub(super) struct Engine<'a, O> {
    pub(super) world: World<'a, O>,
    pub(super) ends: Vec<Ends>,
    handled: u64,
    /// The time of the last event; valid after the run.
    reached: Time,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl<'a, O: Observer> Engine<'a, O> {
    pub(super) fn new(
        scenario: &Scenario,
        seed: u64,
        shortcuts: Shortcuts,
        observer: &'a mut O,
    ) -> Self {
        let streams = Streams::new(seed);
        let (mut world, routes) = World::new(scenario, streams, shortcuts, observer);
        let ends = routes.into_iter().enumerate().map(|(index, route)| {
            let (flow, start) = Flow::new(scenario, index, streams);
            Ends::new(flow, route, start, &mut world.network)
        });
        Self {
            ends: ends.collect(),
            world,
            handled: 0,
            reached: Time::ZERO,
        }
    }

    pub(super) fn run(
        mut self,
        goes_on: &mut dyn FnMut(Time) -> bool,
    ) -> Result<(Measurement, Time), RunError> {
        let whole = self.advance(goes_on);
        if let Some(error) = self.world.network.overfull(self.reached) {
            return Err(error);
        }
        let window = self.world.recorder.window;
        let flows = self.ends.into_iter().map(|ends| ends.flow);
        let links = self.world.network.into_counts();
        let measurement = measurement(&mut self.world.recorder, flows, links, self.handled);
        Ok((measurement, if whole { window.end } else { self.reached }))
    }

    /// Handles every event up to the end. Returns false if `goes_on` stops the run before.
    pub(super) fn advance(&mut self, goes_on: &mut dyn FnMut(Time) -> bool) -> bool {
        let links = self.world.network.links();
        let many = self.ends.len() >= MANY;
        let mut ask_at = ASK_EVERY;
        // With many flows, every event pauses to prefetch; otherwise only those that ask.
        let mut pause_at = if many { 0 } else { ask_at };
        let mut reached = Time::ZERO;
        while let Some((now, entity)) = self.world.network.events.pop() {
            debug_assert!(now >= reached, "an event in the past");
            reached = now;
            if self.handled >= pause_at {
                if many {
                    self.prefetch_next();
                }
                if self.handled >= ask_at {
                    ask_at = self.handled + ASK_EVERY;
                    if !goes_on(now) {
                        self.reached = now;
                        self.catch_up(now);
                        return false;
                    }
                }
                pause_at = if many { 0 } else { ask_at };
            }
            if entity < links {
                self.handled += 1;
                self.link_event(now, entity);
                continue;
            }
            // Rows 5 to 7.
            let (flow, end) = ((entity - links) / 2, (entity - links) % 2);
            let ends = &mut self.ends[flow];
            if !ends.disarm(now, end) {
                continue;
            }
            self.handled += 1;
            if end == SINK {
                ends.wake_sink(now, &mut self.world);
            } else {
                ends.wake_source(now, &mut self.world);
            }
        }
        self.reached = reached;
        let end = self.world.recorder.window.end;
        debug_assert!(self.world.network.are_all_taken(end), "a lost event");
        // Deadlines at the end itself count.
        self.catch_up(end + Duration::from_nanos(1));
        goes_on(end);
        true
    }

    /// Lets every gated source act as of its deadlines before this time, unless the run ended at
    /// the limit on packets.
    fn catch_up(&mut self, before: Time) {
        if self.world.network.overfull(before).is_some() {
            return;
        }
        for ends in self.ends.iter_mut().filter(|ends| ends.is_gated()) {
            ends.catch_up(before, &mut self.world);
        }
    }

    /// Handles an event of a link: usually row 1 of the table, or else rows 2 to 4 and 7.
    #[inline(always)]
    fn link_event(&mut self, now: Time, link: usize) {
        match self.world.network.take_due(now, link) {
            Some((parcel, hop)) => self.reach(now, parcel, hop),
            None => self.other_link_event(now, link),
        }
    }

    /// Handles an event of a link over which no packet is due: rows 2 to 4 and 7.
    #[cold]
    #[inline(never)]
    fn other_link_event(&mut self, now: Time, link: usize) {
        if let Some(truth) = self.world.network.take_truth(link, now) {
            return self.tell(now, truth);
        }
        // A link to a gate is never busy.
        match self.world.network.gate_of[link] {
            Some(flow) => self.wake_gated(now, flow as usize),
            None => self.turn(now, link),
        }
    }

    /// Handles a packet that reaches a hop now.
    #[inline(always)]
    fn reach(&mut self, now: Time, parcel: Parcel, hop: Hop) {
        let flow = parcel.flow as usize;
        match hop {
            hop if !hop.is_end() => self.forward(now, parcel),
            Hop::SINK => self.ends[flow].deliver_apart(now, &parcel.copy(), &mut self.world),
            Hop::SOURCE => self.ends[flow].hear(now, &parcel, &mut self.world),
            _ => {
                debug_assert!(hop == Hop::FUSED_SOURCE, "a fused sink parks nothing");
                self.ends[flow].hear_parked(now, &parcel.copy(), &mut self.world);
            }
        }
    }

    /// Handles a packet that a busy link returns, like [`Self::reach`]. A function that is inlined
    /// everywhere cannot call itself.
    #[inline(never)]
    fn reach_apart(&mut self, now: Time, parcel: Parcel) {
        let hop = self.world.network.table.hops[parcel.hop as usize];
        self.reach(now, parcel, hop);
    }

    /// Forwards a packet that leaves one link to the next. It is due there now, or later if its
    /// arrival was computed ahead of time.
    #[inline(always)]
    fn forward(&mut self, now: Time, mut parcel: Parcel) {
        let World { recorder, network } = &mut self.world;
        let flow = parcel.flow as usize;
        match network.send(&mut parcel, recorder) {
            Sent::InTransit => {}
            Sent::AtSource => self.ends[flow].hear_early(&parcel, &mut self.world),
            Sent::AtSink => self.ends[flow].deliver(parcel.due, &parcel, &mut self.world),
            Sent::Held => {
                if let Some(onward) = network.hold_or_pass(&parcel, O::QUEUE_LENGTH) {
                    self.reach_apart(now, onward);
                }
            }
            Sent::AtGate => debug_assert!(false, "at a gate, after it"),
            Sent::Lost(cause, when) => self.lose(now, parcel.copy(), (cause, when)),
        }
    }

    /// Handles the loss of a packet on its way.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, now: Time, parcel: Parcel, lost: (Cause, Time)) {
        let (ends, world) = (&mut self.ends[parcel.flow as usize], &mut self.world);
        ends.catch_up(now, world);
        ends.lose(now, parcel, lost, &mut world.network);
    }

    /// Reports the cause of a loss to its judge, when the packet has reached the link that loses
    /// it.
    #[cold]
    #[inline(never)]
    fn tell(&mut self, now: Time, truth: Truth) {
        let ends = &mut self.ends[truth.flow as usize];
        ends.catch_up(now, &mut self.world);
        ends.flow.tell(truth.sequence, truth.cause);
    }

    /// Wakes a gated source whose packet may be at its gate, unless the event is of row 7.
    #[inline(never)]
    fn wake_gated(&mut self, now: Time, flow: usize) {
        if let Some(parcel) = self.ends[flow].wake_gated(now, &mut self.world) {
            self.forward(now, parcel);
        }
    }

    /// Handles the packets that a link returns because their fates are known, unless the event is
    /// of row 7.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, now: Time, link: usize) {
        if !self.world.network.begin_turn(link, now) {
            return;
        }
        while let Some(turned) =
            (self.world.network).take_turned(link, now, &mut self.world.recorder)
        {
            let parcel = turned.parcel;
            if turned.comes_again {
                let packet = parcel.open(&self.world.network.aside);
                self.ends[parcel.flow as usize].flow.copied(&packet.payload);
            }
            match turned.fate {
                Fate::Lost(cause, when) => self.lose(now, parcel, (cause, when)),
                _ => self.reach_apart(now, parcel),
            }
        }
        self.world.network.arm_turn(link);
    }
}
