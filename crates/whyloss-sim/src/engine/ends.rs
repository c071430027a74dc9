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
pub(super) struct World {
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
    /// The entities of the ends in the event queue. A late source has none of its own: it uses that
    /// of the link to its gate, so that one event serves its deadline and its packet's arrival
    /// (`late.rs`).
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
    pub(super) fn new(flow: Flow, index: usize, start: Time, world: &mut World) -> Self {
        let network = &world.network;
        let source = network.links() + 2 * index;
        let gate = network.gates[index].filter(|_| flow.source.is_paced());
        let (there, back) = network.table.routes[index];
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
        ends.arm(SOURCE, start, world);
        ends
    }

    /// Returns whether an end's event for this deadline is valid, and clears it. It is not valid if
    /// two earlier events overtook it, or the source has caught up: it then stays in the queue,
    /// forgotten.
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
        world: &mut World,
        observer: &mut O,
    ) {
        self.catch_up(now, world, observer);
        if let (Source::Tcp(sender), Kind::Ack) = (&mut self.flow.source, parcel.kind) {
            sender.on_ack(now, &parcel.ack(), parcel.sent);
            self.flow.judged(now, world.window, observer);
        } else if let (Source::Iftp(source), Kind::IftpAck) = (&mut self.flow.source, parcel.kind) {
            source.on_ack(now, &parcel.iftp_ack());
            self.flow.judged(now, world.window, observer);
        } else {
            let packet = parcel.copy().unpack(&mut world.network.aside);
            if !self.flow.answered(now, &packet, world.window, observer) {
                return;
            }
        }
        self.transmit(now, world, observer);
    }

    /// Handles a data packet that reaches the sink. Returns the answer if the source foresees it.
    #[inline(always)]
    pub(super) fn deliver<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        world: &mut World,
        observer: &mut O,
    ) -> Option<Foreseen> {
        // The hot case: the next segment in order, and no deadline of the sink before it. It does
        // what `deliver_packet` does.
        if let (Sink::Tcp(receiver), Kind::Segment) = (&mut self.flow.sink, parcel.kind)
            && receiver.expects(&parcel.segment())
            && receiver.next_timeout() >= now
        {
            let acknowledged = receiver.on_expected(now, &parcel.segment());
            let payload = Payload::Segment(parcel.segment());
            let packet = parcel.whole(payload);
            self.flow
                .count_received(now, &packet, true, world.window, observer);
            self.arm(SINK, self.flow.sink.next_timeout(), world);
            let (next, echo) = acknowledged?;
            let mut answer = Parcel {
                number: next,
                echo,
                kind: Kind::Ack,
                ..self.blank_answer(now)
            };
            let at = send_answer(&mut answer, &mut self.flow, world, observer)?;
            // (A link may have damaged the answer, which is then not an `Ack` but aside.)
            if answer.kind == Kind::Ack && self.foresees(at, next) {
                return Some(Foreseen {
                    at,
                    sent: now,
                    next,
                    echo,
                });
            }
            world.network.wait(answer.copy(), &mut world.events);
        } else {
            self.deliver_packet(now, parcel.copy(), world, observer);
        }
        None
    }

    /// Handles a data packet that reaches its sink, whose source may foresee the answer.
    #[inline(never)]
    pub(super) fn arrived<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        world: &mut World,
        observer: &mut O,
    ) {
        if let Some(answer) = self.deliver(now, parcel, world, observer) {
            self.foreseen(&answer, world, observer);
        }
    }

    /// Does what [`Self::deliver`] does, for all packets and sinks.
    #[inline(never)]
    fn deliver_packet<O: Observer>(
        &mut self,
        now: Time,
        parcel: Parcel,
        world: &mut World,
        observer: &mut O,
    ) {
        // A fused sink gets packets ahead of time. It first acts on its deadlines before this
        // packet.
        while self.flow.sink.next_timeout() < now {
            let deadline = self.flow.sink.next_timeout();
            let answer = self.flow.wake_sink(deadline);
            self.answer(deadline, answer, world, observer);
        }
        // Each kind has its own call, so that the compiler keeps a packet of a known kind in
        // registers.
        match parcel.kind {
            Kind::TfrcData => {
                let packet = parcel.whole(Payload::TfrcData(parcel.tfrc_data()));
                self.deliver_whole(now, &packet, world, observer);
            }
            Kind::IftpData => {
                let packet = parcel.whole(Payload::IftpData(parcel.iftp_data()));
                self.deliver_whole(now, &packet, world, observer);
            }
            _ => {
                let packet = parcel.unpack(&mut world.network.aside);
                self.deliver_whole(now, &packet, world, observer);
            }
        }
    }

    #[inline(always)]
    fn deliver_whole<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        world: &mut World,
        observer: &mut O,
    ) {
        match self.flow.deliver(now, packet, world.window, observer) {
            // Only a sink from outside may have more than one answer.
            Delivered::Taken(answer) if !matches!(self.flow.sink, Sink::Outside(_)) => {
                if let Some(payload) = answer {
                    self.answer_with(now, payload, world, observer);
                }
                self.arm(SINK, self.flow.sink.next_timeout(), world);
            }
            Delivered::Taken(answer) => self.answer(now, answer, world, observer),
            Delivered::Dropped => {
                let loss = world.network.dropped(now, packet);
                // (If the truth is reported later, the source catches up then, in `Engine::tell`.)
                if loss.later.is_none() {
                    self.catch_up(now, world, observer);
                }
                self.lose_packet(packet, loss, world);
            }
        }
    }

    /// Wakes the source if its deadline has expired.
    #[inline(never)]
    pub(super) fn wake_source<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World,
        observer: &mut O,
    ) {
        if self.flow.wake_source(now, world.window, observer) {
            self.transmit(now, world, observer);
        } else if now < self.flow.stop {
            self.arm(SOURCE, self.flow.source.next_timeout(), world);
        }
    }

    /// Wakes the sink if its deadline has expired.
    #[inline(never)]
    pub(super) fn wake_sink<O: Observer>(
        &mut self,
        now: Time,
        world: &mut World,
        observer: &mut O,
    ) {
        let answer = self.flow.wake_sink(now);
        self.answer(now, answer, world, observer);
    }

    /// Sends all that the source may send now, and sets its next deadline.
    #[inline(always)]
    pub(super) fn transmit<O: Observer>(&mut self, now: Time, world: &mut World, observer: &mut O) {
        if !self.flow.may_send(now, world.window, observer) {
            return;
        }
        let mut parcel = Parcel::default();
        while self.poll(now, &mut parcel, world, observer) {
            match world
                .network
                .send::<O, false>(&mut parcel, &mut world.events, observer)
            {
                Sent::InTransit => {}
                Sent::AtSink => self.arrived(parcel.due, &parcel.copy(), world, observer),
                Sent::AtSource | Sent::AtGate => debug_assert!(false, "data at its source"),
                Sent::Lost(cause, when) => {
                    self.lose(now, parcel.copy(), (cause, when), world);
                }
                Sent::Held => {
                    let (network, events) = (&mut world.network, &mut world.events);
                    network.hold(&parcel.copy(), events, O::QUEUE_LENGTH);
                }
            }
        }
        self.arm(SOURCE, self.flow.source.next_timeout(), world);
        self.flow.acted(now, world.window, observer);
    }

    #[inline]
    fn blank(&self, now: Time) -> Parcel {
        Parcel {
            due: now,
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
        world: &mut World,
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
            self.flow.count_sent(now, &packet, world.window, observer);
            return true;
        }
        self.poll_packet(now, parcel, world, observer)
    }

    /// Does what [`Self::poll`] does, for all sources.
    #[cold]
    #[inline(never)]
    fn poll_packet<O: Observer>(
        &mut self,
        now: Time,
        parcel: &mut Parcel,
        world: &mut World,
        observer: &mut O,
    ) -> bool {
        let Some(payload) = self.flow.source.poll(now) else {
            return false;
        };
        *parcel = self.pack_next(now, payload, world, observer);
        true
    }

    /// Counts and packs a packet that leaves the source.
    #[inline(always)]
    pub(super) fn pack_next<O: Observer>(
        &mut self,
        now: Time,
        payload: Payload,
        world: &mut World,
        observer: &mut O,
    ) -> Parcel {
        let mut packet = self.blank(now).whole(payload);
        packet.size = payload.size().unwrap_or(packet.size);
        if self.flow.capable {
            return self.pack_capable(now, packet, world, observer);
        }
        self.flow.count_sent(now, &packet, world.window, observer);
        Parcel::pack(&packet, &mut world.network.aside)
    }

    /// Counts and packs a packet that leaves an ECN-capable source. It is a function of its own, so
    /// that other sources pay only for the check.
    #[cold]
    #[inline(never)]
    fn pack_capable<O: Observer>(
        &mut self,
        now: Time,
        mut packet: Packet,
        world: &mut World,
        observer: &mut O,
    ) -> Parcel {
        self.flow.dress(&mut packet);
        self.flow.count_sent(now, &packet, world.window, observer);
        Parcel::pack(&packet, &mut world.network.aside)
    }

    /// Sends the sink's answer, and sets its next deadline.
    #[inline(never)]
    fn answer<O: Observer>(
        &mut self,
        now: Time,
        mut answer: Option<Payload>,
        world: &mut World,
        observer: &mut O,
    ) {
        while let Some(payload) = answer.take().or_else(|| self.flow.sink.poll(now)) {
            self.answer_with(now, payload, world, observer);
        }
        self.arm(SINK, self.flow.sink.next_timeout(), world);
    }

    /// Packs an answer and sends it.
    #[inline(always)]
    fn answer_with<O: Observer>(
        &mut self,
        now: Time,
        payload: Payload,
        world: &mut World,
        observer: &mut O,
    ) {
        let mut packet = self.blank_answer(now).whole(payload);
        packet.size = payload.size().unwrap_or(packet.size);
        self.flow.dress(&mut packet);
        let mut parcel = Parcel::pack(&packet, &mut world.network.aside);
        if send_answer(&mut parcel, &mut self.flow, world, observer).is_some() {
            world.network.wait(parcel, &mut world.events);
        }
    }

    #[inline]
    fn blank_answer(&self, now: Time) -> Parcel {
        Parcel {
            due: now,
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
        world: &mut World,
    ) {
        let loss = world.network.loss(now, &parcel, cause, when);
        let packet = parcel.unpack(&mut world.network.aside);
        self.flow.forget(&packet.payload);
        self.lose_packet(&packet, loss, world);
    }

    /// Handles the loss of a packet at the present time.
    pub(super) fn lose_here(
        &mut self,
        parcel: Parcel,
        cause: Cause,
        when: Time,
        world: &mut World,
    ) {
        let later = None;
        let packet = parcel.unpack(&mut world.network.aside);
        self.flow.forget(&packet.payload);
        self.lose_packet(&packet, Loss { cause, when, later }, world);
    }

    /// Counts a lost data packet and reports its cause: to the source's judge when the packet
    /// reaches the link that loses it (`truths.rs`), to the sink's judge at once, because only a
    /// later packet makes it decide.
    fn lose_packet(&mut self, packet: &Packet, loss: Loss, world: &mut World) {
        let Some(sequence) = packet.payload.sequence().filter(|_| !packet.copy) else {
            return;
        };
        self.flow.count_lost(loss.when, loss.cause, world.window);
        match loss.later {
            Some((link, at)) if !matches!(self.flow.sink, Sink::Tfrc(_)) => {
                let truth = Truth {
                    flow: self.flow.index,
                    sequence,
                    cause: loss.cause,
                };
                world.network.tell_later(link, at, truth, &mut world.events);
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
    pub(super) fn arm(&mut self, end: usize, deadline: Time, world: &mut World) {
        if deadline < self.armed[end] {
            self.overtake(end, deadline, world);
        }
    }

    /// Overtakes the pending event. (Off the hot path, whose deadlines wait for pending events.)
    #[inline(never)]
    fn overtake(&mut self, end: usize, deadline: Time, world: &mut World) {
        self.overtaken[end] = std::mem::replace(&mut self.armed[end], deadline);
        let late = if end == SOURCE {
            self.late
        } else {
            Duration::ZERO
        };
        world
            .events
            .push(self.entities[end] as usize, deadline.later(late));
    }
}

/// Sends an answer. Returns the time at which it reaches its source, if the source is fused. The
/// loss of an answer is not reported.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
fn send_answer<O: Observer>(
    parcel: &mut Parcel,
    flow: &mut Flow,
    world: &mut World,
    observer: &mut O,
) -> Option<Time> {
    let (events, network) = (&mut world.events, &mut world.network);
    match network.send::<O, false>(parcel, events, observer) {
        Sent::AtSource => return Some(parcel.due),
        Sent::Held => network.hold(parcel, events, O::QUEUE_LENGTH),
        Sent::Lost(..) => {
            flow.forget(&parcel.copy().unpack(&mut network.aside).payload);
        }
        Sent::InTransit => {}
        Sent::AtSink | Sent::AtGate => debug_assert!(false, "an answer at a sink"),
    }
    None
}
