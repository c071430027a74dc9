//! The sink of a flow in the fast engine: it takes data, wakes, and replies.
//!
//! ```text
//! arrived → deliver ─ in order ────────────────────────────────→ send_home → foreseen or parked
//!                   ╰ else → deliver_any → give_to_sink → reply_with → parked
//! ```
//!
//! Only the answer to a segment in order can be foreseen: others may let the source retransmit.

use whyloss::Time;

use super::ends::{Ends, SINK, World};
use super::flow::{Delivered, Flow};
use super::hear::Foreseen;
use super::parcel::{Kind, Parcel};
use super::send::Sent;
use crate::host::Sink;
use crate::observe::Observer;
use crate::packet::{ANSWER_SIZE, Packet, Payload};

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Handles a data packet that reaches its sink, whose source may foresee the answer.
    #[inline(never)]
    pub(super) fn deliver<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        world: &mut World<'_, O>,
    ) {
        if let Some(answer) = self.deliver_here(now, parcel, world) {
            self.hear_foreseen(&answer, world);
        }
    }

    /// Handles a data packet that reaches the sink. Returns the answer if the source foresees it.
    #[inline(always)]
    pub(super) fn deliver_here<O: Observer>(
        &mut self,
        now: Time,
        parcel: &Parcel,
        world: &mut World<'_, O>,
    ) -> Option<Foreseen> {
        // The hot case: the next segment in order, and no deadline of the sink before it. It does
        // what `deliver_any` does.
        if let (Sink::Tcp(receiver), Kind::Segment) = (&mut self.flow.sink, parcel.kind)
            && receiver.expects(&parcel.segment())
            && receiver.next_timeout() >= now
        {
            let acknowledged = receiver.on_expected(now, &parcel.segment());
            let payload = Payload::Segment(parcel.segment());
            let packet = parcel.whole(payload);
            self.flow
                .count_received(now, &packet, true, &mut world.recorder);
            self.arm(SINK, self.flow.sink.next_timeout(), &mut world.network);
            let (next, echo) = acknowledged?;
            let mut answer = Parcel {
                number: next,
                echo,
                kind: Kind::Ack,
                ..self.blank_answer(now)
            };
            if !send_home(&mut answer, &mut self.flow, world) {
                return None;
            }
            let foreseen = Foreseen {
                at: answer.due,
                sent: now,
                next,
                echo,
            };
            // (A link may have damaged the answer, which is then not an `Ack` but aside.)
            if answer.kind == Kind::Ack && self.foresees(&foreseen) {
                return Some(foreseen);
            }
            world.network.park(answer.copy());
        } else {
            self.deliver_any(now, parcel.copy(), world);
        }
        None
    }

    /// Does what [`Self::deliver_here`] does, for all packets and sinks.
    #[inline(never)]
    fn deliver_any<O: Observer>(&mut self, now: Time, parcel: Parcel, world: &mut World<'_, O>) {
        // A fused sink gets packets ahead of time. It first acts on its deadlines before this
        // packet.
        while self.flow.sink.next_timeout() < now {
            let deadline = self.flow.sink.next_timeout();
            let answer = self.flow.wake_sink(deadline);
            self.reply(deadline, answer, world);
        }
        // Each kind has its own call, so that the compiler keeps a packet of a known kind in
        // registers.
        match parcel.kind {
            Kind::TfrcData => {
                let packet = parcel.whole(Payload::TfrcData(parcel.tfrc_data()));
                self.give_to_sink(now, &packet, world);
            }
            Kind::IftpData => {
                let packet = parcel.whole(Payload::IftpData(parcel.iftp_data()));
                self.give_to_sink(now, &packet, world);
            }
            _ => {
                let packet = parcel.unpack(&mut world.network.aside);
                self.give_to_sink(now, &packet, world);
            }
        }
    }

    #[inline(always)]
    fn give_to_sink<O: Observer>(&mut self, now: Time, packet: &Packet, world: &mut World<'_, O>) {
        match self.flow.deliver(now, packet, &mut world.recorder) {
            // Only a sink from outside may have more than one answer.
            Delivered::Taken(answer) if !matches!(self.flow.sink, Sink::Outside(_)) => {
                if let Some(payload) = answer {
                    self.reply_with(now, payload, world);
                }
                self.arm(SINK, self.flow.sink.next_timeout(), &mut world.network);
            }
            Delivered::Taken(answer) => self.reply(now, answer, world),
            Delivered::Dropped => {
                let loss = world.network.dropped(now, packet);
                // (If the truth is reported later, the source catches up then, in `Engine::tell`.)
                if loss.later.is_none() {
                    self.catch_up(now, world);
                }
                self.lose_packet(packet, loss, world);
            }
        }
    }

    /// Wakes the sink if its deadline has expired.
    #[inline(never)]
    pub(super) fn wake_sink<O: Observer>(&mut self, now: Time, world: &mut World<'_, O>) {
        let answer = self.flow.wake_sink(now);
        self.reply(now, answer, world);
    }

    /// Sends the sink's answer, and sets its next deadline.
    #[inline(never)]
    fn reply<O: Observer>(
        &mut self,
        now: Time,
        mut answer: Option<Payload>,
        world: &mut World<'_, O>,
    ) {
        while let Some(payload) = answer.take().or_else(|| self.flow.sink.poll(now)) {
            self.reply_with(now, payload, world);
        }
        self.arm(SINK, self.flow.sink.next_timeout(), &mut world.network);
    }

    /// Packs an answer and sends it.
    #[inline(always)]
    fn reply_with<O: Observer>(&mut self, now: Time, payload: Payload, world: &mut World<'_, O>) {
        let mut packet = self.blank_answer(now).whole(payload);
        packet.size = payload.size().unwrap_or(packet.size);
        self.flow.dress(&mut packet);
        let mut parcel = Parcel::pack(&packet, &mut world.network.aside);
        if send_home(&mut parcel, &mut self.flow, world) {
            world.network.park(parcel);
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
}

/// Sends an answer. Returns true if it is ahead of time at its fused source, so that the caller
/// must foresee or park it. The loss of an answer is not reported.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
fn send_home<O: Observer>(parcel: &mut Parcel, flow: &mut Flow, world: &mut World<'_, O>) -> bool {
    let network = &mut world.network;
    match network.send::<O, false>(parcel, &mut world.recorder) {
        Sent::AtSource => return true,
        Sent::Held => network.hold(parcel, O::QUEUE_LENGTH),
        Sent::Lost(..) => {
            flow.forget(&parcel.copy().unpack(&mut network.aside).payload);
        }
        Sent::InTransit => {}
        Sent::AtSink | Sent::AtGate => debug_assert!(false, "an answer at a sink"),
    }
    false
}
