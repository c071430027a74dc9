//! The engine: takes the earliest event, lets whom it concerns act, and sends what comes of it.

use whyloss::event::Detection;
use whyloss::{Cause, Duration, Time};
use whyloss_link::{Fate, Streams};

use crate::event_queue::EventQueue;
use crate::host::{Sink, Source};
use crate::measure::{FlowResult, Measurement, Window};
use crate::network::{Arrived, Network};
use crate::observe::Observer;
use crate::packet::{Packet, Payload};
use crate::scenario::{CheckError, Scenario};

/// Bytes of an acknowledgement or a feedback packet on the wire, headers included.
const ANSWER_SIZE: u32 = 40;

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
    Ok(Engine::new(scenario, seed, true).run(observer))
}

struct Engine {
    end: Time,
    window: Window,
    network: Network,
    events: EventQueue,
    hosts: Vec<Hosts>,
    handled: u64,
}

/// The two ends of a flow, and its counts.
struct Hosts {
    source: Source,
    stop: Time,
    wire_size: u32,
    /// Bits from the start of a data packet that must be whole.
    covered: u32,
    sink: Sink,
    count: FlowResult,
}

impl Engine {
    fn new(scenario: &Scenario, seed: u64, fuse: bool) -> Self {
        let streams = Streams::new(seed);
        let window = Window {
            from: scenario.measure_from,
            to: scenario.end,
        };
        let network = Network::new(scenario, streams, window, fuse);
        let links = network.links();
        let mut events = EventQueue::new(links + 2 * scenario.flows.len());
        let hosts = scenario.flows.iter().enumerate().map(|(index, flow)| {
            let index = index as u64;
            let mut random = streams.stream("times", index);
            let mut between = |(first, last): (Time, Time)| {
                first + Duration::from_secs_f64((last - first).as_secs_f64() * random.uniform())
            };
            let start = between(flow.start);
            let stop = flow.stop.map_or(Time::MAX, between);
            events.set(links + 2 * index as usize, start);
            Hosts {
                source: Source::new(scenario, index as usize, start, streams),
                stop,
                wire_size: flow.wire_size(),
                covered: flow.covered_bits(),
                sink: Sink::new(flow, index, streams),
                count: FlowResult {
                    name: flow.name.clone(),
                    background: flow.background,
                    ..FlowResult::default()
                },
            }
        });
        let hosts = hosts.collect();
        Self {
            end: scenario.end,
            window,
            network,
            events,
            hosts,
            handled: 0,
        }
    }

    fn run<O: Observer>(mut self, observer: &mut O) -> Measurement {
        self.advance(observer);
        Measurement {
            window: self.window.to - self.window.from,
            flows: self.hosts.into_iter().map(|hosts| hosts.count).collect(),
            links: self.network.into_counts(),
            events: self.handled,
        }
    }

    /// Handles every event up to the end.
    fn advance<O: Observer>(&mut self, observer: &mut O) {
        let links = self.network.links();
        loop {
            let (now, entity) = self.events.next();
            if now > self.end {
                break;
            }
            self.handled += 1;
            if entity < links {
                self.arrival(now, entity, observer);
            } else {
                let (flow, at_sink) = ((entity - links) / 2, (entity - links) % 2 == 1);
                if at_sink {
                    self.wake_sink(now, flow, observer);
                } else {
                    self.wake_source(now, flow, observer);
                }
            }
        }
    }

    /// A packet leaves the pipe of a link.
    #[inline]
    fn arrival<O: Observer>(&mut self, now: Time, link: usize, observer: &mut O) {
        let Some(packet) = self.network.take(link, &mut self.events) else {
            return;
        };
        match self.network.arrived(&packet) {
            None => self.send(now, packet, observer),
            // An answer is sensitive all over.
            Some(Arrived::AtSource) if packet.is_damaged() => {}
            Some(Arrived::AtSource) => {
                let flow = packet.flow as usize;
                self.hosts[flow].source.receive(now, &packet);
                self.judged(now, flow, observer);
                self.transmit(now, flow, observer);
            }
            Some(Arrived::AtSink) => self.deliver(now, &packet, observer),
        }
    }

    /// A data packet reaches its sink.
    #[inline]
    fn deliver<O: Observer>(&mut self, now: Time, packet: &Packet, observer: &mut O) {
        let flow = packet.flow as usize;
        let hosts = &mut self.hosts[flow];
        if packet.first_damaged < hosts.covered {
            self.drop_damaged(now, packet, observer);
            return;
        }
        let counted = self.window.contains(now);
        let count = &mut hosts.count;
        let mut first_copy = true;
        let answer = match (&mut hosts.sink, &packet.payload) {
            (Sink::Tcp(receiver), Payload::Segment(segment)) => {
                let duplicates = receiver.duplicates();
                let ack = receiver.on_segment(now, segment);
                first_copy = receiver.duplicates() == duplicates;
                ack.map(Payload::Ack)
            }
            (Sink::Iftp(receiver), Payload::IftpData(data)) => {
                Some(Payload::IftpAck(receiver.on_data(data)))
            }
            (Sink::Tfrc(sink), Payload::TfrcData(data)) => {
                let mut gap: Option<(Cause, Cause)> = None;
                let feedback = sink.on_data(now, data, packet.size, |sequence, truth, verdict| {
                    observer.judged(flow, now, sequence, truth, verdict);
                    if counted {
                        count.packets.record(truth, verdict);
                    }
                    gap = Some(
                        gap.map_or((truth, verdict), |so_far| worse(so_far, (truth, verdict))),
                    );
                });
                if let Some((truth, verdict)) = gap.filter(|_| counted) {
                    count.gaps.record(truth, verdict);
                }
                feedback.map(Payload::TfrcFeedback)
            }
            _ => None,
        };
        if counted {
            count.received += 1;
            count.damaged += u64::from(packet.is_damaged());
            count.received_bytes += u64::from(packet.size);
            count.delivered += u64::from(first_copy);
        }
        observer.arrived(flow, now, packet, hosts.sink.classifier());
        self.answer(now, flow, answer, observer);
    }

    /// A source's deadline may have come.
    fn wake_source<O: Observer>(&mut self, now: Time, flow: usize, observer: &mut O) {
        let hosts = &mut self.hosts[flow];
        // Woken in vain, it still remembers the last event's verdict, which has been counted.
        if hosts.source.next_timeout() <= now {
            if hosts.source.wake(now) && self.window.contains(now) {
                hosts.count.timeouts += 1;
            }
            self.judged(now, flow, observer);
        }
        let entity = self.source_entity(flow);
        self.events.set(entity, Time::MAX);
        self.transmit(now, flow, observer);
    }

    /// Counts what a sender's classifier said about the loss that the last event found, if it found one.
    #[inline]
    fn judged<O: Observer>(&mut self, now: Time, flow: usize, observer: &mut O) {
        let hosts = &mut self.hosts[flow];
        if let Some(sender) = hosts.source.tcp() {
            observer.reacted(flow, now, sender);
        }
        let Some((said, packets)) = hosts.source.judgement() else {
            return;
        };
        for &(sequence, truth) in packets {
            observer.judged(flow, now, sequence, truth, said.verdict);
        }
        if self.window.contains(now) {
            let count = &mut hosts.count;
            for &(_, truth) in packets {
                count.packets.record(truth, said.verdict);
            }
            if let Some(truth) = said.truth {
                count.gaps.record(truth, said.verdict);
            }
            if said.detection != Detection::Timeout {
                count.recoveries.add(said.verdict);
            }
        }
    }

    /// A sink's deadline may have come.
    fn wake_sink<O: Observer>(&mut self, now: Time, flow: usize, observer: &mut O) {
        let sink = &mut self.hosts[flow].sink;
        let answer = if sink.next_timeout() <= now {
            sink.wake(now)
        } else {
            None
        };
        let entity = self.source_entity(flow) + 1;
        self.events.set(entity, Time::MAX);
        self.answer(now, flow, answer, observer);
    }

    /// Sends all that a source may send now, and notes its next deadline.
    #[inline]
    fn transmit<O: Observer>(&mut self, now: Time, flow: usize, observer: &mut O) {
        let hosts = &mut self.hosts[flow];
        if now >= hosts.stop {
            return;
        }
        if let Some(allowance) = hosts.source.allowance() {
            observer.allowed(flow, now, allowance);
        }
        let (hop, size) = (self.network.forward(flow), hosts.wire_size);
        while let Some(payload) = self.hosts[flow].source.poll(now) {
            if self.window.contains(now) {
                self.hosts[flow].count.sent += 1;
            }
            let packet = Packet {
                hop,
                flow: flow as u32,
                size,
                first_damaged: Packet::WHOLE,
                sent: now,
                payload,
            };
            self.send(now, packet, observer);
        }
        self.arm(
            self.source_entity(flow),
            self.hosts[flow].source.next_timeout(),
        );
    }

    /// Sends what a sink answers, and notes its next deadline.
    #[inline]
    fn answer<O: Observer>(
        &mut self,
        now: Time,
        flow: usize,
        answer: Option<Payload>,
        observer: &mut O,
    ) {
        if let Some(payload) = answer {
            let hop = self.network.back(flow);
            let packet = Packet {
                hop,
                flow: flow as u32,
                size: ANSWER_SIZE,
                first_damaged: Packet::WHOLE,
                sent: now,
                payload,
            };
            self.send(now, packet, observer);
        }
        self.arm(
            self.source_entity(flow) + 1,
            self.hosts[flow].sink.next_timeout(),
        );
    }

    /// Sends a packet, and tells the truth about it where it is lost.
    #[inline]
    fn send<O: Observer>(&mut self, now: Time, packet: Packet, observer: &mut O) {
        let Some(Fate::Lost(cause, at)) =
            self.network.send(now, packet, &mut self.events, observer)
        else {
            return;
        };
        self.lost(at, &packet, cause);
    }

    /// A sink drops a data packet for damage where it is sensitive.
    #[cold]
    fn drop_damaged<O: Observer>(&mut self, now: Time, packet: &Packet, observer: &mut O) {
        observer.dropped(packet.flow as usize, now, packet);
        self.lost(now, packet, Cause::Wireless);
    }

    /// Counts a lost data packet, and tells the truth about it.
    fn lost(&mut self, at: Time, packet: &Packet, cause: Cause) {
        let Some(sequence) = packet.payload.sequence() else {
            return;
        };
        let hosts = &mut self.hosts[packet.flow as usize];
        let counted = self.window.contains(at);
        if counted {
            hosts.count.lost.add(cause);
        }
        if let Sink::Tfrc(sink) = &mut hosts.sink {
            sink.lost(sequence, cause);
        } else {
            hosts.source.on_lost(sequence, cause);
        }
    }

    /// Makes sure that a host is woken at its deadline. A later deadline than the pending one waits for that: the host
    /// is then woken in vain and armed anew, which costs less than moving an event for every acknowledgement.
    #[inline]
    fn arm(&mut self, entity: usize, deadline: Time) {
        if deadline < self.events.due(entity) {
            self.events.set(entity, deadline);
        }
    }

    fn source_entity(&self, flow: usize) -> usize {
        self.network.links() + 2 * flow
    }
}

/// The cause of two losses taken together: congestion if either is.
fn worse(a: (Cause, Cause), b: (Cause, Cause)) -> (Cause, Cause) {
    let either = |a, b| if a == Cause::Congestion { a } else { b };
    (either(a.0, b.0), either(a.1, b.1))
}

#[cfg(test)]
mod tests;
