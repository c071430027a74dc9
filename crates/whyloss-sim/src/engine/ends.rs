//! A flow's two ends in the fast engine: their deadlines, the links into which they send, and the
//! events that are computed ahead of time.
//!
//! A greedy TCP flow is the hot case. While nothing is lost, it turns one parcel into the next,
//! without a [`Packet`] unless an observer needs it.

use whyloss::{Cause, Duration, Time};

use super::event_queue::EventQueue;
use super::flow::{Delivered, Flow};
use super::network::{Loss, Network, Sent};
use super::parcel::{Kind, Parcel};
use super::truths::Truth;
use crate::host::{Sink, Source};
use crate::measure::Window;
use crate::observe::Observer;
use crate::packet::{ANSWER_SIZE, Packet, Payload};

/// The indices of a flow's ends.
pub(super) const SOURCE: usize = 0;
pub(super) const SINK: usize = 1;

/// The network and the events between the hosts.
pub(super) struct Path {
    pub(super) window: Window,
    pub(super) network: Network,
    pub(super) events: EventQueue,
}

/// The two ends of a flow.
pub(super) struct Ends {
    pub(super) flow: Flow,
    /// The deadlines for which events of the source and the sink are set.
    pub(super) armed: [Time; 2],
    /// The pending event of each end that an earlier one overtook.
    pub(super) overtaken: [Time; 2],
    /// The entities of the ends in the event queue.
    pub(super) entities: [u32; 2],
    /// The time after its deadlines at which the source is woken (`shortcuts/gate.rs`).
    pub(super) late: Duration,
    /// The first hops of the ways there and back in the network's table.
    pub(super) there: u32,
    pub(super) back: u32,
}

/// An acknowledgement that the source [foresees](crate::host::tcp::Sender::foresees). (A whole
/// parcel would cost 23 more instructions per packet.)
pub(super) struct Foreseen {
    /// The time at which it reaches the source.
    pub(super) at: Time,
    /// The time at which it left the sink.
    pub(super) sent: Time,
    pub(super) next: u64,
    pub(super) echo: Time,
}

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Creates the ends of flow number `index`, whose source is woken at `start`.
    pub(super) fn new(flow: Flow, index: usize, start: Time, path: &mut Path) -> Self {
        let network = &path.network;
        let source = network.links() + 2 * index;
        let gate = network.gates.get(&index).filter(|_| flow.source.is_paced());
        let (there, back) = network.routes[index];
        let mut ends = Self {
            flow,
            armed: [Time::MAX; 2],
            overtaken: [Time::MAX; 2],
            entities: [gate.map_or(source, |gate| gate.link), source + 1]
                .map(|entity| entity as u32),
            late: gate.map_or(Duration::ZERO, |gate| gate.crossing),
            there,
            back,
        };
        ends.arm(SOURCE, start, path);
        ends
    }

    /// Returns whether an end's event for this deadline is valid. It is not if an earlier event
    /// took its place, and another one was set since.
    #[inline]
    pub(super) fn disarm(&mut self, deadline: Time, end: usize) -> bool {
        let counts = self.armed[end] == deadline;
        if counts {
            self.armed[end] = std::mem::replace(&mut self.overtaken[end], Time::MAX);
        }
        counts
    }

    /// Handles an answer that reaches the source.
    #[inline(always)]
    pub(super) fn answered<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        path: &mut Path,
        observer: &mut O,
    ) {
        self.catch_up(now, path, observer);
        if let (Source::Tcp(sender), Kind::Ack) = (&mut self.flow.source, parcel.kind) {
            sender.on_ack(now, &parcel.ack(), parcel.sent);
            self.flow.judged(now, path.window, observer);
        } else if let (Source::Iftp(source), Kind::IftpAck) = (&mut self.flow.source, parcel.kind) {
            source.on_ack(now, &parcel.iftp_ack());
            self.flow.judged(now, path.window, observer);
        } else {
            let packet = parcel.copy().unpack(&mut path.network.aside);
            if !self.flow.answered(now, &packet, path.window, observer) {
                return;
            }
        }
        self.transmit(now, path, observer);
    }

    /// Handles a data packet that reaches the sink. Returns the answer if the source foresees it.
    #[inline(always)]
    pub(super) fn deliver<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        path: &mut Path,
        observer: &mut O,
    ) -> Option<Foreseen> {
        if let (Sink::Tcp(receiver), Kind::Segment) = (&mut self.flow.sink, parcel.kind)
            && receiver.expects(&parcel.segment())
            && receiver.next_timeout() >= now
        {
            let acknowledged = receiver.on_expected(now, &parcel.segment());
            let payload = Payload::Segment(parcel.segment());
            let packet = parcel.whole(payload);
            self.flow
                .count_received(now, &packet, true, path.window, observer);
            self.arm(SINK, self.flow.sink.next_timeout(), path);
            let (next, echo) = acknowledged?;
            let mut answer = Parcel {
                number: next,
                echo,
                kind: Kind::Ack,
                ..self.blank_answer(now)
            };
            let at = send_answer(now, &mut answer, &mut self.flow, path, observer)?;
            if answer.kind == Kind::Ack && self.foresees(at, next) {
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

    /// Handles a data packet that reaches its sink, whose source may foresee the answer.
    #[inline(never)]
    pub(super) fn arrived<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        path: &mut Path,
        observer: &mut O,
    ) {
        if let Some(answer) = self.deliver(now, parcel, path, observer) {
            self.foreseen(&answer, path, observer);
        }
    }

    /// Does what [`Self::deliver`] does, for all packets and sinks.
    #[inline(never)]
    fn deliver_packet<O: Observer>(
        &mut self,
        now: Time,
        parcel: Parcel,
        path: &mut Path,
        observer: &mut O,
    ) {
        // A deadline that comes before the packet of a fused sink: no packet comes before that one.
        while self.flow.sink.next_timeout() < now {
            let deadline = self.flow.sink.next_timeout();
            let answer = self.flow.wake_sink(deadline);
            self.answer(deadline, answer, path, observer);
        }
        // Those that fit parcels are delivered without a packet in memory.
        match parcel.kind {
            Kind::TfrcData => {
                let packet = parcel.whole(Payload::TfrcData(parcel.tfrc_data()));
                self.deliver_whole(now, &packet, path, observer);
            }
            Kind::IftpData => {
                let packet = parcel.whole(Payload::IftpData(parcel.iftp_data()));
                self.deliver_whole(now, &packet, path, observer);
            }
            _ => {
                let packet = parcel.unpack(&mut path.network.aside);
                self.deliver_whole(now, &packet, path, observer);
            }
        }
    }

    #[inline(always)]
    fn deliver_whole<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        path: &mut Path,
        observer: &mut O,
    ) {
        match self.flow.deliver(now, packet, path.window, observer) {
            Delivered::Taken(answer) if !matches!(self.flow.sink, Sink::Outside(_)) => {
                if let Some(payload) = answer {
                    self.answer_with(now, payload, path, observer);
                }
                self.arm(SINK, self.flow.sink.next_timeout(), path);
            }
            Delivered::Taken(answer) => self.answer(now, answer, path, observer),
            Delivered::Dropped => {
                let loss = path.network.dropped(now, packet);
                if loss.later.is_none() {
                    self.catch_up(now, path, observer);
                }
                self.lose_packet(packet, loss, path);
            }
        }
    }

    /// Wakes the source if its deadline has come.
    #[inline(never)]
    pub(super) fn wake_source<O: Observer>(
        &mut self,
        now: Time,
        path: &mut Path,
        observer: &mut O,
    ) {
        if self.flow.wake_source(now, path.window, observer) {
            self.transmit(now, path, observer);
        } else if now < self.flow.stop {
            self.arm(SOURCE, self.flow.source.next_timeout(), path);
        }
    }

    /// Wakes the sink if its deadline has come.
    #[inline(never)]
    pub(super) fn wake_sink<O: Observer>(&mut self, now: Time, path: &mut Path, observer: &mut O) {
        let answer = self.flow.wake_sink(now);
        self.answer(now, answer, path, observer);
    }

    /// Sends all that the source may send now, and sets its next deadline.
    #[inline(always)]
    pub(super) fn transmit<O: Observer>(&mut self, now: Time, path: &mut Path, observer: &mut O) {
        if !self.flow.may_send(now, path.window, observer) {
            return;
        }
        let mut parcel = Parcel::default();
        while self.poll(now, &mut parcel, path, observer) {
            match path
                .network
                .send::<O, false>(now, &mut parcel, &mut path.events, observer)
            {
                Sent::UnderWay => {}
                Sent::AtSink(at) => self.arrived(at, &parcel.copy(), path, observer),
                Sent::AtSource(_) | Sent::AtGate(_) => debug_assert!(false, "data at its source"),
                Sent::Lost(cause, when) => {
                    self.lose(now, parcel.copy(), (cause, when), path);
                }
                Sent::Held => {
                    let (network, events) = (&mut path.network, &mut path.events);
                    network.hold(now, &parcel.copy(), events, O::QUEUE_LENGTH);
                }
            }
        }
        self.arm(SOURCE, self.flow.source.next_timeout(), path);
        self.flow.acted(now, path.window, observer);
    }

    #[inline]
    fn blank(&self, now: Time) -> Parcel {
        Parcel {
            sent: now,
            flow: self.flow.index,
            size: self.flow.wire_size,
            hop: self.there,
            ..Parcel::default()
        }
    }

    /// Writes the next packet that the source may send now into `parcel`, and counts it. Returns
    /// false if there is none. (An optional parcel would not stay in registers.)
    #[inline(always)]
    pub(super) fn poll<O: Observer>(
        &mut self,
        now: Time,
        parcel: &mut Parcel,
        path: &mut Path,
        observer: &mut O,
    ) -> bool {
        if let Source::Tcp(sender) = &mut self.flow.source
            && !self.flow.capable
        {
            let Some(segment) = sender.poll_transmit(now) else {
                return false;
            };
            *parcel = self.blank(now);
            parcel.number = segment.sequence;
            if segment.retransmission {
                parcel.kind = Kind::Retransmission;
            }
            let packet = parcel.whole(Payload::Segment(segment));
            self.flow.count_sent(now, &packet, path.window, observer);
            return true;
        }
        self.poll_packet(now, parcel, path, observer)
    }

    /// Does what [`Self::poll`] does, for all sources.
    #[cold]
    #[inline(never)]
    fn poll_packet<O: Observer>(
        &mut self,
        now: Time,
        parcel: &mut Parcel,
        path: &mut Path,
        observer: &mut O,
    ) -> bool {
        let Some(payload) = self.flow.source.poll(now) else {
            return false;
        };
        *parcel = self.pack_next(now, payload, path, observer);
        true
    }

    /// Counts and packs a packet that leaves the source.
    #[inline(always)]
    pub(super) fn pack_next<O: Observer>(
        &mut self,
        now: Time,
        payload: Payload,
        path: &mut Path,
        observer: &mut O,
    ) -> Parcel {
        let mut packet = self.blank(now).whole(payload);
        packet.size = payload.size().unwrap_or(packet.size);
        if self.flow.capable {
            return self.pack_capable(now, packet, path, observer);
        }
        self.flow.count_sent(now, &packet, path.window, observer);
        Parcel::pack(&packet, &mut path.network.aside)
    }

    /// Counts and packs a packet that leaves an ECN-capable source. It is a function of its own, so
    /// that other sources pay only for the check.
    #[cold]
    #[inline(never)]
    fn pack_capable<O: Observer>(
        &mut self,
        now: Time,
        mut packet: Packet,
        path: &mut Path,
        observer: &mut O,
    ) -> Parcel {
        self.flow.dress(&mut packet);
        self.flow.count_sent(now, &packet, path.window, observer);
        Parcel::pack(&packet, &mut path.network.aside)
    }

    /// Sends the sink's answer, and sets its next deadline.
    #[inline(never)]
    fn answer<O: Observer>(
        &mut self,
        now: Time,
        mut answer: Option<Payload>,
        path: &mut Path,
        observer: &mut O,
    ) {
        while let Some(payload) = answer.take().or_else(|| self.flow.sink.poll(now)) {
            self.answer_with(now, payload, path, observer);
        }
        self.arm(SINK, self.flow.sink.next_timeout(), path);
    }

    /// Sends an answer.
    #[inline(always)]
    fn answer_with<O: Observer>(
        &mut self,
        now: Time,
        payload: Payload,
        path: &mut Path,
        observer: &mut O,
    ) {
        let mut packet = self.blank_answer(now).whole(payload);
        packet.size = payload.size().unwrap_or(packet.size);
        self.flow.dress(&mut packet);
        let mut parcel = Parcel::pack(&packet, &mut path.network.aside);
        if let Some(at) = send_answer(now, &mut parcel, &mut self.flow, path, observer) {
            path.network.wait(at, parcel, &mut path.events);
        }
    }

    #[inline]
    fn blank_answer(&self, now: Time) -> Parcel {
        Parcel {
            sent: now,
            flow: self.flow.index,
            size: ANSWER_SIZE,
            hop: self.back,
            ..Parcel::default()
        }
    }

    /// Handles the loss of a packet that was sent at `now`.
    #[cold]
    pub(super) fn lose(
        &mut self,
        now: Time,
        parcel: Parcel,
        (cause, when): (Cause, Time),
        path: &mut Path,
    ) {
        let loss = path.network.loss(now, &parcel, cause, when);
        let packet = parcel.unpack(&mut path.network.aside);
        self.flow.forget(&packet.payload);
        self.lose_packet(&packet, loss, path);
    }

    /// Handles the loss of a packet at the present time.
    pub(super) fn lose_here(&mut self, parcel: Parcel, cause: Cause, when: Time, path: &mut Path) {
        let later = None;
        let packet = parcel.unpack(&mut path.network.aside);
        self.flow.forget(&packet.payload);
        self.lose_packet(&packet, Loss { cause, when, later }, path);
    }

    /// Counts a lost data packet and reports its cause. The source's judge learns of it when the
    /// packet would be where it is lost, because a verdict may be asked for before. The sink's
    /// judge learns of it at once, because only a later packet makes it decide.
    fn lose_packet(&mut self, packet: &Packet, loss: Loss, path: &mut Path) {
        let Some(sequence) = packet.payload.sequence().filter(|_| !packet.copy) else {
            return;
        };
        self.flow.count_lost(loss.when, loss.cause, path.window);
        match loss.later {
            Some((link, at)) if !matches!(self.flow.sink, Sink::Tfrc(_)) => {
                let truth = Truth {
                    flow: self.flow.index,
                    sequence,
                    cause: loss.cause,
                };
                path.network.tell_later(link, at, truth, &mut path.events);
            }
            _ => self.flow.tell(sequence, loss.cause),
        }
    }

    /// Makes sure that a host is woken at its deadline. If the new deadline is later than the
    /// pending event, that event wakes the host in vain and is set anew, which costs less than
    /// moving an event at every acknowledgement. If it is earlier, a new event overtakes the
    /// pending one, which then serves the deadlines after it. (A source whose window opens and
    /// closes sets its retransmission timer at each packet. Without this rule, all of these events
    /// would be pending.)
    #[inline]
    pub(super) fn arm(&mut self, end: usize, deadline: Time, path: &mut Path) {
        if deadline < self.armed[end] {
            self.overtake(end, deadline, path);
        }
    }

    /// Overtakes the pending event. (Off the hot path, whose deadlines wait for pending events.)
    #[inline(never)]
    fn overtake(&mut self, end: usize, deadline: Time, path: &mut Path) {
        self.overtaken[end] = std::mem::replace(&mut self.armed[end], deadline);
        let late = if end == SOURCE {
            self.late
        } else {
            Duration::ZERO
        };
        path.events
            .push(self.entities[end] as usize, deadline.later(late));
    }
}

/// Sends an answer. Returns the time at which it reaches its source, if the source is fused. The
/// loss of an answer is not reported.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
fn send_answer<O: Observer>(
    now: Time,
    parcel: &mut Parcel,
    flow: &mut Flow,
    path: &mut Path,
    observer: &mut O,
) -> Option<Time> {
    let (events, network) = (&mut path.events, &mut path.network);
    match network.send::<O, false>(now, parcel, events, observer) {
        Sent::AtSource(at) => return Some(at),
        Sent::Held => network.hold(now, parcel, events, O::QUEUE_LENGTH),
        Sent::Lost(..) => {
            flow.forget(&parcel.copy().unpack(&mut network.aside).payload);
        }
        Sent::UnderWay => {}
        Sent::AtSink(_) | Sent::AtGate(_) => debug_assert!(false, "an answer at a sink"),
    }
    None
}
