//! The fast engine: as few events as what must be the same allows. `run.rs` says what its words mean, `network/fuse.rs` what
//! needs no event of its own.

use whyloss::Time;
use whyloss_link::{Fate, Streams};

use super::ends::{Ends, SINK};
use super::flow::Flow;
use super::{ASK_EVERY, RunError, Start, entities};
use crate::event_queue::EventQueue;
use crate::measure::{Measurement, Window};
use crate::network::{Arrived, Fuse, Network, Sent};
use crate::observe::Observer;
use crate::parcel::Parcel;
use crate::scenario::Scenario;

/// A run.
pub(super) struct Engine {
    pub(super) path: Path,
    pub(super) ends: Vec<Ends>,
    handled: u64,
    /// The time of the last event.
    reached: Time,
}

/// What lies between the hosts.
pub(super) struct Path {
    pub(super) window: Window,
    pub(super) network: Network,
    pub(super) events: EventQueue,
}

impl Engine {
    pub(super) fn new(scenario: &Scenario, seed: u64, fuse: Fuse) -> Self {
        let streams = Streams::new(seed);
        let window = Window::of(scenario);
        let network = Network::new(scenario, streams, window, fuse);
        let mut events = EventQueue::new(entities(scenario), scenario.end);
        let ends = (0..scenario.flows.len()).map(|index| {
            let times = Start::draw(scenario, index, streams);
            let flow = Flow::new(scenario, index, (times.start, times.stop), streams);
            let ends = Ends::new(flow, index, times.start, &network);
            events.push(ends.entity, times.start);
            ends
        });
        let ends = ends.collect();
        Self {
            path: Path {
                window,
                network,
                events,
            },
            ends,
            handled: 0,
            reached: Time::ZERO,
        }
    }

    pub(super) fn run<O: Observer>(mut self, observer: &mut O) -> Result<Measurement, RunError> {
        self.advance(observer);
        if let Some(error) = self.path.network.overfull(self.reached) {
            return Err(error);
        }
        Ok(Measurement {
            window: self.path.window.length,
            flows: self.ends.into_iter().map(|ends| ends.flow.count).collect(),
            links: self.path.network.into_counts(),
            events: self.handled,
        })
    }

    /// Handles every event up to the end.
    pub(super) fn advance<O: Observer>(&mut self, observer: &mut O) {
        let links = self.path.network.links();
        let mut ask_at = ASK_EVERY;
        let mut reached = Time::ZERO;
        while let Some((now, entity)) = self.path.events.pop() {
            reached = now;
            if O::CLOCK && self.handled >= ask_at {
                ask_at = self.handled + ASK_EVERY;
                if !observer.goes_on(now) {
                    return;
                }
            }
            if entity < links {
                self.handled += 1;
                self.arrival(now, entity, observer);
                continue;
            }
            let (flow, end) = ((entity - links) / 2, (entity - links) % 2);
            let ends = &mut self.ends[flow];
            if !ends.disarm(now, end) {
                continue;
            }
            self.handled += 1;
            if end == SINK {
                ends.wake_sink(now, &mut self.path, observer);
            } else {
                ends.wake_source(now, &mut self.path, observer);
            }
        }
        self.reached = reached;
        if O::CLOCK {
            observer.goes_on(self.path.window.end());
        }
    }

    /// A packet is at the far end of a link.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn arrival<O: Observer>(&mut self, now: Time, link: usize, observer: &mut O) {
        let Path {
            network, events, ..
        } = &mut self.path;
        let Some((parcel, arrived)) = network.take(link, events) else {
            return self.turn(now, link, observer);
        };
        let flow = parcel.flow as usize;
        match arrived {
            Arrived::Between => {}
            Arrived::AtSource => {
                self.ends[flow].answered(now, &parcel, &mut self.path, observer);
                return;
            }
            Arrived::AtSink => {
                self.arrival_at_sink(now, &parcel.copy(), observer);
                return;
            }
            Arrived::AtFusedSource => {
                self.arrival_at_fused_source(now, link, &parcel.copy(), observer);
                return;
            }
            Arrived::Truth => {
                let (sequence, cause) = parcel.copy().told();
                self.ends[flow].flow.tell(sequence, cause);
                return;
            }
        }
        self.forward(now, now, parcel, observer);
    }

    /// A packet goes on from between two links, where it is at `at`: now, or later if that is known.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn forward<O: Observer>(&mut self, now: Time, at: Time, mut parcel: Parcel, observer: &mut O) {
        let Path {
            network, events, ..
        } = &mut self.path;
        let flow = parcel.flow as usize;
        match network.send(at, &mut parcel, events, observer) {
            Sent::UnderWay => {}
            Sent::AtSource(at) => {
                self.ends[flow].nears(at, parcel.copy(), &mut self.path, observer);
            }
            Sent::AtSink(at) => {
                let ends = &mut self.ends[flow];
                if let Some(answer) = ends.deliver(at, &parcel, &mut self.path, observer) {
                    ends.foreseen(&answer, &mut self.path, observer);
                }
            }
            Sent::Lost(_, when) if when == Fate::HELD.when() => {
                if let Some(onward) = network.hold_or_pass(at, &parcel, events, O::QUEUE_LENGTH) {
                    self.go_on(now, onward, observer);
                }
            }
            Sent::Lost(cause, when) => {
                let path = &mut self.path;
                self.ends[flow].lose(now, parcel.copy(), (cause, when), path, O::QUEUE_LENGTH);
            }
        }
    }

    /// A link that cannot answer at once gives back the packets whose fate has come.
    #[cold]
    #[inline(never)]
    fn turn<O: Observer>(&mut self, now: Time, link: usize, observer: &mut O) {
        if !self.path.network.begin_turn(link, now) {
            return;
        }
        while let Some(truth) = self.path.network.truth(link, now) {
            let flow = truth.flow as usize;
            let (sequence, cause) = truth.told();
            self.ends[flow].flow.tell(sequence, cause);
        }
        while let Some(turned) = self.path.network.turn(link, now, observer) {
            let parcel = turned.parcel;
            let flow = parcel.flow as usize;
            if turned.comes_again {
                let packet = parcel.open(&self.path.network.aside);
                self.ends[flow].flow.copied(&packet.payload);
            }
            match turned.place {
                Ok(Arrived::AtSink) => self.arrival_at_sink(now, &parcel, observer),
                Ok(Arrived::AtSource) => {
                    self.ends[flow].answered(now, &parcel, &mut self.path, observer);
                }
                Ok(_) => self.go_on(now, parcel, observer),
                Err(Fate::Lost(cause, when)) => {
                    self.ends[flow].lose_here(parcel, cause, when, &mut self.path);
                }
                Err(_) => {}
            }
        }
        self.path.network.arm_turn(link, &mut self.path.events);
    }

    /// A packet goes on from the end of such a link, where it is when it is due.
    #[inline(never)]
    fn go_on<O: Observer>(&mut self, now: Time, parcel: Parcel, observer: &mut O) {
        self.forward(now, parcel.due, parcel, observer);
    }

    /// A data packet is at its sink, which is not fused.
    #[inline(never)]
    fn arrival_at_sink<O: Observer>(&mut self, now: Time, parcel: &Parcel, observer: &mut O) {
        let (ends, path) = (&mut self.ends[parcel.flow as usize], &mut self.path);
        if let Some(answer) = ends.deliver(now, parcel, path, observer) {
            ends.foreseen(&answer, path, observer);
        }
    }

    /// An answer that had to wait is at its source, which may foresee those behind it.
    #[inline(never)]
    fn arrival_at_fused_source<O: Observer>(
        &mut self,
        now: Time,
        link: usize,
        parcel: &Parcel,
        observer: &mut O,
    ) {
        let (ends, path) = (&mut self.ends[parcel.flow as usize], &mut self.path);
        // If nothing is left in transit, what comes next arms the link.
        let more = path.network.some_wait(link);
        ends.answered(now, parcel, path, observer);
        if more {
            ends.look_ahead(link, path, observer);
            path.network.arm(link, &mut path.events);
        }
    }
}
