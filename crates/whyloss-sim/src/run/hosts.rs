//! The two ends of a flow at work: what comes to them, what they send, and what is counted of it.
//!
//! A greedy TCP flow that nobody watches is the hot case: while nothing is lost it goes from parcel to parcel, without a
//! [`Packet`].

use whyloss::event::Detection;
use whyloss::{Cause, Time};
use whyloss_link::Streams;

use super::Path;
use crate::host::tcp::{Ack, SackBlocks};
use crate::host::{Sink, Source};
use crate::measure::FlowResult;
use crate::network::{Network, Sent};
use crate::observe::Observer;
use crate::packet::{Packet, Payload};
use crate::parcel::{Kind, Parcel};
use crate::scenario::Scenario;

/// Bytes of an acknowledgement or a feedback packet on the wire, headers included.
pub(crate) const ANSWER_SIZE: u32 = 40;

/// Ends of a flow.
const SOURCE: usize = 0;
pub(super) const SINK: usize = 1;

/// The two ends of a flow, and its counts.
pub(super) struct Hosts {
    pub(super) source: Source,
    pub(super) sink: Sink,
    pub(super) count: FlowResult,
    /// When source and sink will be woken.
    armed: [Time; 2],
    stop: Time,
    /// The source's entity in the event queue; the sink's is the next.
    pub(super) entity: usize,
    flow: u32,
    /// Where the ways there and back begin in the network's table.
    there: u32,
    back: u32,
    wire_size: u32,
    /// Bits from the start of a data packet that must be whole.
    covered: u32,
}

/// An answer that the source [foresees](crate::host::tcp::Sender::foresees): an acknowledgement. (A whole
/// parcel would do as well, for 23 instructions more per packet.)
pub(super) struct Foreseen {
    /// When it comes.
    at: Time,
    /// When it left.
    sent: Time,
    next: u64,
    echo: Time,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Hosts {
    /// The ends of flow number `index`, whose source starts and stops at these times.
    pub(super) fn new(
        scenario: &Scenario,
        index: usize,
        (start, stop): (Time, Time),
        streams: Streams,
        network: &Network,
    ) -> Self {
        let flow = &scenario.flows[index];
        Self {
            source: Source::new(scenario, index, start, streams),
            sink: Sink::new(flow, index as u64, streams),
            count: FlowResult {
                name: flow.name.clone(),
                background: flow.background,
                ..FlowResult::default()
            },
            armed: [start, Time::MAX],
            stop,
            entity: network.links() + 2 * index,
            flow: index as u32,
            there: network.forward(index),
            back: network.back(index),
            wire_size: flow.wire_size(),
            covered: flow.covered_bits(),
        }
    }

    /// Whether an end's event counts. If not, an earlier deadline took its place.
    #[inline]
    pub(super) fn disarm(&mut self, now: Time, end: usize) -> bool {
        let counts = self.armed[end] == now;
        if counts {
            self.armed[end] = Time::MAX;
        }
        counts
    }

    /// An answer reaches the source.
    #[inline(always)]
    pub(super) fn answered<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        path: &mut Path,
        observer: &mut O,
    ) {
        if let (Source::Tcp(sender), Kind::Ack) = (&mut self.source, parcel.kind) {
            sender.on_ack(now, &parcel.ack(), parcel.sent);
        } else {
            let packet = parcel.copy().unpack(&mut path.network.aside);
            if packet.is_damaged() {
                // An answer is sensitive all over.
                return;
            }
            self.source.receive(now, &packet);
        }
        self.judged(now, path, observer);
        self.transmit(now, path, observer);
    }

    /// An answer that the source foresaw: nothing happens to the source before it comes.
    #[inline(always)]
    pub(super) fn foreseen<O: Observer>(
        &mut self,
        answer: &Foreseen,
        path: &mut Path,
        observer: &mut O,
    ) {
        if let Source::Tcp(sender) = &mut self.source {
            let ack = Ack {
                next: answer.next,
                echo: answer.echo,
                sack: SackBlocks::NONE,
            };
            sender.on_foreseen_ack(answer.at, &ack, answer.sent);
        }
        self.transmit(answer.at, path, observer);
    }

    /// Takes the answers that wait behind a link as long as the source foresees them.
    pub(super) fn look_ahead<O: Observer>(
        &mut self,
        link: usize,
        path: &mut Path,
        observer: &mut O,
    ) {
        while let Some(answer) = path.network.first_for_source(link)
            && answer.flow == self.flow
            && self.foresees(answer.due, answer.number)
        {
            let foreseen = Foreseen {
                at: answer.due,
                sent: answer.sent,
                next: answer.number,
                echo: answer.echo,
            };
            path.network.take_first(link);
            self.foreseen(&foreseen, path, observer);
        }
    }

    /// A data packet reaches the sink. Gives the answer to it if the source foresees that.
    #[inline(always)]
    pub(super) fn deliver<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        path: &mut Path,
        observer: &mut O,
    ) -> Option<Foreseen> {
        if let (Sink::Tcp(receiver), Kind::Segment, false) =
            (&mut self.sink, parcel.kind, O::WATCHES)
            && receiver.expects(&parcel.segment())
        {
            if path.window.contains(now) {
                self.count.received += 1;
                self.count.received_bytes += u64::from(parcel.size);
                self.count.delivered += 1;
            }
            let acknowledged = receiver.on_expected(now, &parcel.segment());
            self.arm(SINK, self.sink.next_timeout(), path);
            let (next, echo) = acknowledged?;
            let mut answer = Parcel {
                number: next,
                echo,
                kind: Kind::Ack,
                ..self.blank_answer(now)
            };
            let at = send_answer(now, &mut answer, path, observer)?;
            if path.network.none_waits_before(&answer) && self.foresees(at, next) {
                return Some(Foreseen {
                    at,
                    sent: now,
                    next,
                    echo,
                });
            }
            path.network.wait(at, answer.copy(), &mut path.events);
        } else {
            self.deliver_packet(now, parcel.copy(), path, observer);
        }
        None
    }

    /// Whether the source foresees what an acknowledgement of all before `next` that comes at `at` makes it do.
    #[inline]
    fn foresees(&self, at: Time, next: u64) -> bool {
        match &self.source {
            Source::Tcp(sender) => sender.foresees(at, next),
            _ => false,
        }
    }

    /// [`Self::deliver`] of a packet that waited nowhere.
    #[inline(never)]
    fn deliver_at_once<O: Observer>(
        &mut self,
        now: Time,
        parcel: Parcel,
        path: &mut Path,
        observer: &mut O,
    ) {
        let foreseen = self.deliver(now, &parcel, path, observer);
        debug_assert!(foreseen.is_none(), "data of fused sources waits somewhere");
    }

    /// [`Self::deliver`], for all packets, sinks and observers.
    #[inline(never)]
    fn deliver_packet<O: Observer>(
        &mut self,
        now: Time,
        parcel: Parcel,
        path: &mut Path,
        observer: &mut O,
    ) {
        let packet = parcel.unpack(&mut path.network.aside);
        if packet.first_damaged < self.covered {
            observer.dropped(self.flow as usize, now, &packet);
            self.lost(now, &packet, Cause::Wireless, path);
            return;
        }
        let counted = path.window.contains(now);
        let (answer, first_copy) = self.take(now, &packet, counted, observer);
        let count = &mut self.count;
        if counted {
            count.received += 1;
            count.damaged += u64::from(packet.is_damaged());
            count.received_bytes += u64::from(packet.size);
            count.delivered += u64::from(first_copy);
        }
        observer.arrived(self.flow as usize, now, &packet, self.sink.classifier());
        self.answer(now, answer, path, observer);
    }

    /// Hands a data packet to the sink. Gives its answer, and whether it had not had the packet before.
    fn take<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        counted: bool,
        observer: &mut O,
    ) -> (Option<Payload>, bool) {
        let count = &mut self.count;
        let mut first_copy = true;
        let answer = match (&mut self.sink, &packet.payload) {
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
                let flow = packet.flow as usize;
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
        (answer, first_copy)
    }

    /// The source's deadline may have come.
    #[inline(never)]
    pub(super) fn wake_source<O: Observer>(
        &mut self,
        now: Time,
        path: &mut Path,
        observer: &mut O,
    ) {
        // Woken in vain, it still remembers the last event's verdict, which has been counted.
        if self.source.next_timeout() <= now {
            if self.source.wake(now) && path.window.contains(now) {
                self.count.timeouts += 1;
            }
            self.judged(now, path, observer);
        }
        self.transmit(now, path, observer);
    }

    /// The sink's deadline may have come.
    #[inline(never)]
    pub(super) fn wake_sink<O: Observer>(&mut self, now: Time, path: &mut Path, observer: &mut O) {
        let answer = if self.sink.next_timeout() <= now {
            self.sink.wake(now)
        } else {
            None
        };
        self.answer(now, answer, path, observer);
    }

    /// Counts what a sender's classifier said about the loss that the last event found, if it found one.
    #[inline(always)]
    fn judged<O: Observer>(&mut self, now: Time, path: &Path, observer: &mut O) {
        let flow = self.flow as usize;
        if let Some(sender) = self.source.tcp() {
            observer.reacted(flow, now, sender);
        }
        let Some((said, packets)) = self.source.judgement() else {
            return;
        };
        for &(sequence, truth) in packets {
            observer.judged(flow, now, sequence, truth, said.verdict);
        }
        if path.window.contains(now) {
            let count = &mut self.count;
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

    /// Sends all that the source may send now, and notes its next deadline.
    #[inline(always)]
    fn transmit<O: Observer>(&mut self, now: Time, path: &mut Path, observer: &mut O) {
        if now >= self.stop {
            return;
        }
        if O::WATCHES
            && let Some(allowance) = self.source.allowance()
        {
            observer.allowed(self.flow as usize, now, allowance);
        }
        let blank = Parcel {
            sent: now,
            flow: self.flow,
            size: self.wire_size,
            hop: self.there,
            ..Parcel::default()
        };
        loop {
            let mut parcel = blank;
            if let Source::Tcp(sender) = &mut self.source {
                let Some(segment) = sender.poll_transmit(now) else {
                    break;
                };
                parcel.number = segment.sequence;
                if segment.retransmission {
                    parcel.kind = Kind::Retransmission;
                }
            } else {
                let Some(payload) = self.source.poll(now) else {
                    break;
                };
                parcel = pack(blank, payload, path);
            }
            if path.window.contains(now) {
                self.count.sent += 1;
            }
            match path
                .network
                .send(now, &mut parcel, &mut path.events, observer)
            {
                Sent::UnderWay => {}
                Sent::AtSink(at) => {
                    self.deliver_at_once(at, parcel.copy(), path, observer);
                }
                Sent::AtSource(_) => debug_assert!(false, "data at its source"),
                Sent::Lost(cause, at) => self.lose(at, parcel.copy(), cause, path),
            }
        }
        self.arm(SOURCE, self.source.next_timeout(), path);
    }

    /// Sends what the sink answers, and notes its next deadline.
    #[inline(never)]
    fn answer<O: Observer>(
        &mut self,
        now: Time,
        answer: Option<Payload>,
        path: &mut Path,
        observer: &mut O,
    ) {
        if let Some(payload) = answer {
            let mut parcel = pack(self.blank_answer(now), payload, path);
            if let Some(at) = send_answer(now, &mut parcel, path, observer) {
                path.network.wait(at, parcel, &mut path.events);
            }
        }
        self.arm(SINK, self.sink.next_timeout(), path);
    }

    #[inline]
    fn blank_answer(&self, now: Time) -> Parcel {
        Parcel {
            sent: now,
            flow: self.flow,
            size: ANSWER_SIZE,
            hop: self.back,
            ..Parcel::default()
        }
    }

    /// A packet is lost on its way.
    #[cold]
    pub(super) fn lose(&mut self, at: Time, parcel: Parcel, cause: Cause, path: &mut Path) {
        let packet = parcel.unpack(&mut path.network.aside);
        self.lost(at, &packet, cause, path);
    }

    /// Counts a lost data packet, and tells the truth about it.
    fn lost(&mut self, at: Time, packet: &Packet, cause: Cause, path: &Path) {
        let Some(sequence) = packet.payload.sequence() else {
            return;
        };
        if path.window.contains(at) {
            self.count.lost.add(cause);
        }
        if let Sink::Tfrc(sink) = &mut self.sink {
            sink.lost(sequence, cause);
        } else {
            self.source.on_lost(sequence, cause);
        }
    }

    /// Makes sure that a host is woken at its deadline. A later deadline than the pending one waits for that: the host
    /// is then woken in vain and armed anew, which costs less than moving an event for every acknowledgement. An earlier
    /// one overtakes it, and the pending one is ignored when it comes.
    #[inline]
    fn arm(&mut self, end: usize, deadline: Time, path: &mut Path) {
        if deadline < self.armed[end] {
            self.armed[end] = deadline;
            path.events.push(self.entity + end, deadline);
        }
    }
}

/// This parcel with this payload.
#[inline(never)]
fn pack(parcel: Parcel, payload: Payload, path: &mut Path) -> Parcel {
    let packet = Packet {
        hop: parcel.hop,
        flow: parcel.flow,
        size: parcel.size,
        first_damaged: Packet::WHOLE,
        sent: parcel.sent,
        payload,
    };
    Parcel::pack(&packet, &mut path.network.aside)
}

/// Sends an answer. Gives when it comes to its source, if that is fused. Nobody is told if it is lost.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
fn send_answer<O: Observer>(
    now: Time,
    parcel: &mut Parcel,
    path: &mut Path,
    observer: &mut O,
) -> Option<Time> {
    let (events, network) = (&mut path.events, &mut path.network);
    match network.send(now, parcel, events, observer) {
        Sent::AtSource(at) => return Some(at),
        Sent::Lost(..) => {
            parcel.copy().unpack(&mut network.aside);
        }
        Sent::UnderWay => {}
        Sent::AtSink(_) => debug_assert!(false, "an answer at a sink"),
    }
    None
}

/// The cause of two losses taken together: congestion if either is.
fn worse(a: (Cause, Cause), b: (Cause, Cause)) -> (Cause, Cause) {
    let either = |a, b| if a == Cause::Congestion { a } else { b };
    (either(a.0, b.0), either(a.1, b.1))
}
