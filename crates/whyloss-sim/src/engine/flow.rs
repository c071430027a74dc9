//! A flow at work: its two ends, their reactions to packets, and its counts.
//!
//! Both engines use it. It uses neither links nor events: the engine sends the packets that it
//! returns, and wakes it at its deadlines.

use whyloss::event::Detection;
use whyloss::{Cause, Duration, Time};
use whyloss_link::{Ecn, Streams};

use super::recorder::Recorder;
use super::tally::{Rare, Tally};
use crate::host::outside::{Datagram, End};
use crate::host::supply::SizedTransfers;
use crate::host::transfers::TransferResult;
use crate::host::{self, Sink, Source};
use crate::measure::{FlowResult, LinkResult, Measurement, Window};
use crate::observe::{Event, Observer};
use crate::packet::{Packet, Payload};
use crate::scenario::Scenario;

/// The two ends of a flow, and its counts.
pub(super) struct Flow {
    pub(super) source: Source,
    pub(super) sink: Sink,
    pub(super) count: Tally,
    /// The time from which the source sends nothing and has no deadline.
    pub(super) stop: Time,
    pub(super) index: u32,
    pub(super) wire_size: u32,
    /// The number of bits from the start of a data packet that must be undamaged.
    covered: u32,
    started: bool,
    transfers: Option<Box<Transfers>>,
    /// Whether the flow's packets use ECN.
    pub(super) capable: bool,
}

/// The transfers of a flow.
struct Transfers {
    /// The number of segments of each transfer, and the bytes of data in one.
    segments: u64,
    payload: u64,
    /// The number of segments before the first one.
    opening: u64,
    /// The number of transfers that the sink has completely.
    completed: u64,
    result: TransferResult,
}

/// The outcome of a data packet at its sink.
pub(super) enum Delivered {
    /// The sink took the packet, and may answer immediately.
    Taken(Option<Payload>),
    /// The sink dropped the packet because of damage within its coverage.
    Dropped,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Flow {
    /// Creates flow number `index`. Returns it with the time at which its source starts.
    pub(super) fn new(scenario: &Scenario, index: usize, streams: Streams) -> (Self, Time) {
        let flow = &scenario.flows[index];
        let mut random = streams.stream("times", index as u64);
        let mut between = |(first, last): (Time, Time)| {
            first + Duration::from_secs_f64((last - first).as_secs_f64() * random.uniform())
        };
        let start = between(flow.start);
        let stop = flow.stop.map_or(Time::MAX, between);
        let (source, sink) = host::ends(scenario, index, (start, stop), streams);
        let transfers = flow.has_transfers().then(|| Transfers {
            segments: (flow.application.transfers()).map_or(1, |all| all.segments(flow)),
            payload: SizedTransfers::payload(flow),
            opening: flow.transport.opening(),
            completed: 0,
            result: TransferResult::default(),
        });
        let flow = Self {
            source,
            sink,
            count: Tally::default(),
            stop,
            index: index as u32,
            wire_size: flow.wire_size(),
            covered: flow.covered_bits(),
            started: false,
            transfers: transfers.map(Box::new),
            capable: flow.transport.is_ecn_capable(),
        };
        (flow, start)
    }

    /// Returns a packet with this payload that leaves one of the ends now, at this hop. It has
    /// `size` bytes, unless the payload determines the size.
    #[inline(always)]
    pub(super) fn packet(&mut self, now: Time, hop: u32, size: u32, payload: Payload) -> Packet {
        let mut packet = Packet {
            hop,
            flow: self.index,
            size: payload.size().unwrap_or(size),
            first_damaged: Packet::WHOLE,
            ecn: Ecn::NotCapable,
            ecn_flag: false,
            copy: false,
            sent: now,
            payload,
        };
        if self.capable {
            self.dress(&mut packet);
        }
        packet
    }

    /// Writes the ECN fields of a packet that leaves one of the ends.
    #[cold]
    #[inline(never)]
    fn dress(&mut self, packet: &mut Packet) {
        match (&self.sink, &packet.payload) {
            (Sink::Tcp(receiver), Payload::Ack(_)) => packet.ecn_flag = receiver.echoes(),
            _ => self.source.dress(packet),
        }
    }

    /// Wakes the source at its deadline, or at its start, and lets it act on the deadline. Returns
    /// whether it may send.
    #[inline(always)]
    pub(super) fn wake_source<O: Observer>(
        &mut self,
        now: Time,
        recorder: &mut Recorder<'_, O>,
    ) -> bool {
        if now >= self.stop {
            return false;
        }
        let first = !self.started;
        self.started = true;
        let due = self.source.next_timeout() <= now;
        if due && self.source.is_only_to_send(now) {
            self.show_reacted(now, recorder);
        } else if due {
            if self.source.wake(now) && recorder.counts(now) {
                self.count.add(Rare::Timeout);
            }
            self.show_judged(now, recorder);
        }
        first || due
    }

    /// Wakes the sink if its deadline has expired, and returns its answer.
    pub(super) fn wake_sink(&mut self, now: Time) -> Option<Payload> {
        if self.sink.next_timeout() <= now {
            self.sink.wake(now)
        } else {
            None
        }
    }

    /// Returns whether the source may send at `now`. If it has stopped, shows its state to the
    /// observer.
    #[inline(always)]
    pub(super) fn may_send<O: Observer>(
        &mut self,
        now: Time,
        recorder: &mut Recorder<'_, O>,
    ) -> bool {
        let may = now < self.stop;
        if !may {
            self.show_acted(now, recorder);
        }
        may
    }

    /// Shows the state of the source to the observer, after it has sent.
    #[inline(always)]
    pub(super) fn show_acted<O: Observer>(&self, now: Time, recorder: &mut Recorder<'_, O>) {
        if O::STATES
            && let Some(state) = self.source.state()
        {
            let (flow, at, state) = (self.index as usize, now, &state);
            recorder.on(now, &Event::Acted { flow, at, state });
        }
    }

    /// Counts a data packet that leaves the source.
    #[inline(always)]
    pub(super) fn count_sent<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        recorder: &mut Recorder<'_, O>,
    ) {
        if recorder.counts(now) {
            self.count.sent += 1;
        }
        let (flow, at) = (self.index as usize, now);
        recorder.on(now, &Event::Sent { flow, at, packet });
    }

    /// Passes an answer to the source. Returns whether the source took it; any damage makes it drop
    /// the answer.
    pub(super) fn hear<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        recorder: &mut Recorder<'_, O>,
    ) -> bool {
        let whole = !packet.is_damaged();
        if whole {
            match (&mut self.source, &mut self.sink, &packet.payload) {
                (Source::Outside(source), Sink::Outside(sink), Payload::Outside(datagram)) => {
                    source.receive(now, sink, *datagram);
                }
                (source, ..) => source.receive(now, packet),
            }
            self.show_judged(now, recorder);
        } else {
            self.forget(&packet.payload);
        }
        whole
    }

    /// Passes a data packet to the sink.
    #[inline(always)]
    pub(super) fn deliver<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        recorder: &mut Recorder<'_, O>,
    ) -> Delivered {
        if packet.first_damaged < self.covered {
            let (flow, at) = (self.index as usize, now);
            recorder.on(now, &Event::Dropped { flow, at, packet });
            return Delivered::Dropped;
        }
        let (answer, first_copy) = self.take(now, packet, recorder);
        self.count_received(now, packet, first_copy, recorder);
        Delivered::Taken(answer)
    }

    /// Counts a data packet that the sink took.
    #[inline(always)]
    pub(super) fn count_received<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        first_copy: bool,
        recorder: &mut Recorder<'_, O>,
    ) {
        if recorder.counts(now) {
            let count = &mut self.count;
            count.received += 1;
            if packet.is_damaged() {
                count.add(Rare::Damaged);
            }
            if packet.ecn.is_marked() {
                count.add(Rare::Marked);
            }
            count.received_bytes += u64::from(packet.size);
            count.delivered += u64::from(first_copy);
        }
        let arrived = Event::Arrived {
            flow: self.index as usize,
            at: now,
            packet,
            classifier: self.sink.classifier(),
        };
        recorder.on(now, &arrived);
        if self.transfers.is_some() {
            self.complete(now, recorder);
        }
    }

    /// Counts the transfers that the packet just delivered completes at the sink, and shows them to
    /// the observer.
    #[cold]
    #[inline(never)]
    fn complete<O: Observer>(&mut self, now: Time, recorder: &mut Recorder<'_, O>) {
        let Some(transfers) = &mut self.transfers else {
            return;
        };
        if now > recorder.window.end {
            return;
        }
        let (flow, payload) = (self.index as usize, transfers.payload);
        let mut count = |began: Time, segments: u64| {
            if recorder.counts(began) {
                transfers.result.times.record(now - began);
            }
            let (done, size) = (Some(now), segments * payload);
            let transfer = Event::Transfer {
                flow,
                began,
                done,
                size,
            };
            recorder.on(now, &transfer);
        };
        let whole = match &self.sink {
            Sink::Outside(end) => end.completed(),
            Sink::Tcp(receiver) => {
                if let Source::Web(web) = &mut self.source {
                    if let Some(began) = web.completed(receiver.in_order()) {
                        count(began, web.segments());
                    }
                    return;
                }
                receiver.in_order().saturating_sub(transfers.opening) / transfers.segments
            }
            _ => return,
        };
        let Some(backlog) = self.source.backlog() else {
            return;
        };
        while transfers.completed < whole {
            transfers.completed += 1;
            if let Some(began) = backlog.completed() {
                count(began, transfers.segments);
            }
        }
    }

    /// Returns the result of a run, except for what the scenario says about the flow. Shows the
    /// incomplete transfers to the observer.
    pub(super) fn into_result<O: Observer>(mut self, recorder: &mut Recorder<'_, O>) -> FlowResult {
        let window = recorder.window;
        let call = match &self.sink {
            Sink::Outside(end) => end.call().map(Box::new),
            _ => None,
        };
        let closed = match (&self.source, &self.sink) {
            (Source::Outside(source), Sink::Outside(sink)) => {
                let closed = [source.closed(), sink.closed()].into_iter().flatten();
                // A sink whose events are computed ahead of time may have gone past the end.
                let closed = closed.filter(|closed| closed.at <= window.end);
                closed.min_by_key(|closed| closed.at).map(Box::new)
            }
            _ => None,
        };
        if let Some(transfers) = &mut self.transfers {
            let (flow, payload) = (self.index as usize, transfers.payload);
            let mut count = |began: Time, segments: u64| {
                transfers.result.unfinished += u64::from(window.contains(began));
                let (done, size) = (None, segments * payload);
                let transfer = Event::Transfer {
                    flow,
                    began,
                    done,
                    size,
                };
                recorder.on(began, &transfer);
            };
            match &mut self.source {
                Source::Web(web) => {
                    if let Some(began) = web.unfinished() {
                        count(began, web.segments());
                    }
                }
                source => {
                    let begun = source
                        .backlog()
                        .into_iter()
                        .flat_map(|all| all.unfinished());
                    begun.for_each(|began| count(began, transfers.segments));
                }
            }
        }
        let transfers = self.transfers.map(|transfers| Box::new(transfers.result));
        FlowResult {
            counts: self.count.counts(),
            transfers,
            call,
            closed,
            ..FlowResult::default()
        }
    }

    /// Lets the sink take a data packet. Returns the answer and whether the packet was new to it.
    #[inline(always)]
    fn take<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        recorder: &mut Recorder<'_, O>,
    ) -> (Option<Payload>, bool) {
        let (count, flow) = (&mut self.count, self.index as usize);
        let mut first_copy = !packet.copy;
        let answer = match (&mut self.sink, &packet.payload) {
            (Sink::Tcp(receiver), Payload::Segment(segment)) => {
                if self.capable {
                    receiver.on_marks(packet.ecn.is_marked(), packet.ecn_flag);
                }
                let duplicates = receiver.duplicates();
                let ack = receiver.on_segment(now, segment);
                first_copy = receiver.duplicates() == duplicates;
                ack.map(Payload::Ack)
            }
            (Sink::Outside(sink), Payload::Outside(datagram)) => {
                if let Source::Outside(source) = &mut self.source {
                    sink.receive(now, source, *datagram);
                }
                let delivered = sink.newly_delivered();
                if recorder.counts(now) {
                    count.application_bytes += delivered;
                }
                None
            }
            (Sink::Iftp(receiver), Payload::IftpData(data)) => {
                Some(Payload::IftpAck(receiver.on_data(data)))
            }
            (Sink::Tfrc(sink), Payload::TfrcData(data)) => {
                let mut gap: Option<(Cause, Cause)> = None;
                let came = (packet.size, packet.ecn.is_marked());
                let feedback = sink.on_data(now, data, came, |sequence, truth, verdict| {
                    let judged = Event::Judged {
                        flow,
                        at: now,
                        sequence,
                        truth,
                        verdict,
                    };
                    recorder.on(now, &judged);
                    if recorder.counts(now) {
                        count.add(Rare::Packet(truth, verdict));
                    }
                    gap = Some(
                        gap.map_or((truth, verdict), |so_far| worse(so_far, (truth, verdict))),
                    );
                });
                if let Some((truth, verdict)) = gap.filter(|_| recorder.counts(now)) {
                    count.add(Rare::Gap(truth, verdict));
                }
                feedback.map(Payload::TfrcFeedback)
            }
            _ => None,
        };
        (answer, first_copy)
    }

    /// Shows to the observer that a TCP source took an acknowledgement or met a deadline.
    #[inline(always)]
    pub(super) fn show_reacted<O: Observer>(&mut self, now: Time, recorder: &mut Recorder<'_, O>) {
        if O::SOURCES
            && let Some(sender) = self.source.tcp()
        {
            let (flow, at) = (self.index as usize, now);
            recorder.on(now, &Event::Reacted { flow, at, sender });
        }
    }

    /// Shows the source's reaction. Shows and counts its classifier's verdict on the loss that the
    /// last event found, if any.
    #[inline(always)]
    pub(super) fn show_judged<O: Observer>(&mut self, now: Time, recorder: &mut Recorder<'_, O>) {
        self.show_reacted(now, recorder);
        let flow = self.index as usize;
        let Some((said, packets)) = self.source.judgement() else {
            return;
        };
        for &(sequence, truth) in packets {
            let judged = Event::Judged {
                flow,
                at: now,
                sequence,
                truth,
                verdict: said.verdict,
            };
            recorder.on(now, &judged);
        }
        if recorder.counts(now) {
            let count = &mut self.count;
            for &(_, truth) in packets {
                count.add(Rare::Packet(truth, said.verdict));
            }
            if let Some(truth) = said.truth {
                count.add(Rare::Gap(truth, said.verdict));
            }
            if said.detection != Detection::Timeout {
                count.add(Rare::Recovery(said.verdict));
            }
        }
        self.source.scored();
    }

    /// Records that a packet is no longer in flight and reached no end.
    pub(super) fn forget(&mut self, payload: &Payload) {
        if let Some((sender, datagram)) = self.sender_of(payload) {
            sender.forget(datagram);
        }
    }

    /// Records that a packet has a copy in flight, so that its sender's bytes are needed twice.
    pub(super) fn copied(&mut self, payload: &Payload) {
        if let Some((sender, datagram)) = self.sender_of(payload) {
            sender.copied(datagram);
        }
    }

    /// Returns the end from outside that sent a packet, and its datagram.
    fn sender_of(&mut self, payload: &Payload) -> Option<(&mut End, Datagram)> {
        match (&mut self.source, &mut self.sink, payload) {
            (Source::Outside(source), Sink::Outside(sink), Payload::Outside(datagram)) => {
                Some((if datagram.answer { sink } else { source }, *datagram))
            }
            _ => None,
        }
    }

    /// Counts a data packet that was lost at this time.
    pub(super) fn count_lost(&mut self, at: Time, cause: Cause, window: Window) {
        if window.contains(at) {
            self.count.add(Rare::Lost(cause));
        }
    }

    /// Returns whether the sink judges losses, not the source.
    pub(super) fn sink_judges(&self) -> bool {
        matches!(self.sink, Sink::Tfrc(_))
    }

    /// Reports the cause of a lost data packet to the end that judges it.
    pub(super) fn tell(&mut self, sequence: u64, cause: Cause) {
        if let Sink::Tfrc(sink) = &mut self.sink {
            sink.lost(sequence, cause);
        } else {
            self.source.on_lost(sequence, cause);
        }
    }
}

/// Returns the measurement of a run from its flows, the counts of its links and the number of its
/// events. Shows the last events to the observer.
pub(super) fn measurement<O: Observer>(
    recorder: &mut Recorder<'_, O>,
    flows: impl Iterator<Item = Flow>,
    links: Vec<LinkResult>,
    events: u64,
) -> Measurement {
    Measurement {
        window: recorder.window.length(),
        flows: flows.map(|flow| flow.into_result(recorder)).collect(),
        links,
        events,
    }
}

/// Returns the cause of two losses together: congestion if either is.
fn worse(a: (Cause, Cause), b: (Cause, Cause)) -> (Cause, Cause) {
    let either = |a, b| if a == Cause::Congestion { a } else { b };
    (either(a.0, b.0), either(a.1, b.1))
}
