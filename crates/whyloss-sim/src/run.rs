//! The engine: takes the earliest event, lets whom it concerns act, and sends what comes of it.

mod hosts;

use whyloss::{Duration, Time};
use whyloss_link::Streams;

use crate::event_queue::EventQueue;
use crate::measure::{Measurement, Window};
use crate::network::{Arrived, Fuse, Network, Sent};
use crate::observe::Observer;
use crate::parcel::Parcel;
use crate::scenario::{CheckError, Scenario};

pub(crate) use self::hosts::ANSWER_SIZE;
use self::hosts::{Hosts, SINK};

/// Runs one replication of a scenario.
///
/// The result depends on the scenario and the seed alone. Memory does not grow with simulated time.
///
/// # Errors
/// Whatever [`Scenario::check`] finds wrong; nothing is run then.
pub fn run<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    observer: &mut O,
) -> Result<Measurement, CheckError> {
    scenario.check()?;
    let fuse = if O::WATCHES { Fuse::Links } else { Fuse::Ends };
    Ok(Engine::new(scenario, seed, fuse).run(observer))
}

struct Engine {
    path: Path,
    hosts: Vec<Hosts>,
    handled: u64,
}

/// What lies between the hosts.
struct Path {
    window: Window,
    network: Network,
    events: EventQueue,
}

impl Engine {
    fn new(scenario: &Scenario, seed: u64, fuse: Fuse) -> Self {
        let streams = Streams::new(seed);
        let window = Window {
            from: scenario.measure_from,
            length: scenario.end - scenario.measure_from,
        };
        let network = Network::new(scenario, streams, window, fuse);
        let mut events = EventQueue::new(entities(scenario), scenario.end);
        let hosts = scenario.flows.iter().enumerate().map(|(index, flow)| {
            let mut random = streams.stream("times", index as u64);
            let mut between = |(first, last): (Time, Time)| {
                first + Duration::from_secs_f64((last - first).as_secs_f64() * random.uniform())
            };
            let start = between(flow.start);
            let stop = flow.stop.map_or(Time::MAX, between);
            let hosts = Hosts::new(scenario, index, (start, stop), streams, &network);
            events.push(hosts.entity, start);
            hosts
        });
        let hosts = hosts.collect();
        Self {
            path: Path {
                window,
                network,
                events,
            },
            hosts,
            handled: 0,
        }
    }

    fn run<O: Observer>(mut self, observer: &mut O) -> Measurement {
        self.advance(observer);
        let window = self.path.window;
        Measurement {
            window: window.length,
            flows: self.hosts.into_iter().map(|hosts| hosts.count).collect(),
            links: self.path.network.into_counts(),
            events: self.handled,
        }
    }

    /// Handles every event up to the end.
    fn advance<O: Observer>(&mut self, observer: &mut O) {
        let links = self.path.network.links();
        while let Some((now, entity)) = self.path.events.pop() {
            if entity < links {
                self.handled += 1;
                self.arrival(now, entity, observer);
                continue;
            }
            let (flow, end) = ((entity - links) / 2, (entity - links) % 2);
            let hosts = &mut self.hosts[flow];
            if !hosts.disarm(now, end) {
                continue;
            }
            self.handled += 1;
            if end == SINK {
                hosts.wake_sink(now, &mut self.path, observer);
            } else {
                hosts.wake_source(now, &mut self.path, observer);
            }
        }
    }

    /// A packet leaves the pipe of a link.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn arrival<O: Observer>(&mut self, now: Time, link: usize, observer: &mut O) {
        let Path {
            network, events, ..
        } = &mut self.path;
        let Some((mut parcel, arrived)) = network.take(link, events) else {
            return;
        };
        match arrived {
            Arrived::Between => {}
            Arrived::AtSource => {
                let hosts = &mut self.hosts[parcel.flow as usize];
                hosts.answered(now, &parcel, &mut self.path, observer);
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
        }
        match network.send(now, &mut parcel, events, observer) {
            Sent::UnderWay => {}
            Sent::AtSource(_) => {
                debug_assert!(false, "only a sink's answer comes to a fused source");
            }
            Sent::AtSink(at) => {
                let hosts = &mut self.hosts[parcel.flow as usize];
                if let Some(answer) = hosts.deliver(at, &parcel, &mut self.path, observer) {
                    hosts.foreseen(&answer, &mut self.path, observer);
                }
            }
            Sent::Lost(cause, at) => {
                let hosts = &mut self.hosts[parcel.flow as usize];
                hosts.lose(at, parcel.copy(), cause, &mut self.path);
            }
        }
    }

    /// A data packet that left the pipe of a link is at its sink.
    #[inline(never)]
    fn arrival_at_sink<O: Observer>(&mut self, now: Time, parcel: &Parcel, observer: &mut O) {
        let hosts = &mut self.hosts[parcel.flow as usize];
        let foreseen = hosts.deliver(now, parcel, &mut self.path, observer);
        debug_assert!(foreseen.is_none(), "only fused sinks have fused sources");
    }

    /// An answer that left the pipe of a link is at its source, which may foresee those behind it.
    #[inline(never)]
    fn arrival_at_fused_source<O: Observer>(
        &mut self,
        now: Time,
        link: usize,
        parcel: &Parcel,
        observer: &mut O,
    ) {
        let (hosts, path) = (&mut self.hosts[parcel.flow as usize], &mut self.path);
        // If nothing is left in the pipe, what comes into it next arms it.
        let more = path.network.some_wait(link);
        hosts.answered(now, parcel, path, observer);
        if more {
            hosts.look_ahead(link, path, observer);
            path.network.arm(link, &mut path.events);
        }
    }
}

/// Entities of the event queue: every link, and the two ends of every flow.
pub(crate) fn entities(scenario: &Scenario) -> usize {
    scenario.links.len() + 2 * scenario.flows.len()
}

#[cfg(test)]
mod tests;
