//! The sink of a flow in the fast engine: it takes data, wakes, and replies.
//!
//! Whether an answer is foreseen is for its source to say (`Sender::foresees`). The hot case asks
//! it ([`Ends::hear_early`]); other replies park without asking, and an event is always right.

use whyloss::{Cause, Time};

use super::ends::{Ends, SINK, World};
use super::flow::{Delivered, Flow};
use super::parcel::{Kind, Parcel};
use super::send::Sent;
use crate::host::Sink;
use crate::observe::Observer;
use crate::packet::{ANSWER_SIZE, Packet, Payload};

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Handles a data packet that reaches the sink.
    #[inline(always)]
    pub(super) fn deliver<O: Observer>(
        &mut self,
        as_of: Time,
        parcel: &Parcel,
        world: &mut World<'_, O>,
    ) {
        // The hot case: the next segment in order, and no deadline of the sink before it. A
        // `Segment` is whole, unmarked and no copy (`Kind`), so `deliver_other` would do the same.
        // With ECN, only a SYN is one: other data is ECN-capable, or a retransmission.
        if let (Sink::Tcp(receiver), Kind::Segment) = (&mut self.flow.sink, parcel.kind)
            && receiver.expects(&parcel.segment())
            && receiver.next_timeout() >= as_of
        {
            let acknowledged = receiver.on_expected(as_of, &parcel.segment());
            let packet = parcel.whole(Payload::Segment(parcel.segment()));
            self.flow
                .count_received(as_of, &packet, true, &mut world.recorder);
            self.arm(SINK, self.flow.sink.next_timeout(), &mut world.network);
            if let Some((next, echo)) = acknowledged {
                let mut answer = Parcel {
                    number: next,
                    echo,
                    kind: Kind::Ack,
                    ..self.blank(as_of, ANSWER_SIZE, self.back)
                };
                if send_home(&mut answer, &mut self.flow, world) {
                    self.hear_early(&answer, world);
                }
            }
        } else {
            self.deliver_other(as_of, parcel.copy(), world);
        }
    }

    /// Delivers like [`Self::deliver`], in a function that is not inlined.
    #[inline(never)]
    pub(super) fn deliver_apart<O: Observer>(
        &mut self,
        as_of: Time,
        parcel: &Parcel,
        world: &mut World<'_, O>,
    ) {
        self.deliver(as_of, parcel, world);
    }

    /// Delivers like [`Self::deliver`], for all packets and sinks.
    #[inline(never)]
    fn deliver_other<O: Observer>(
        &mut self,
        as_of: Time,
        parcel: Parcel,
        world: &mut World<'_, O>,
    ) {
        // A fused sink gets packets ahead of time. It first acts on its deadlines before this
        // packet.
        while self.flow.sink.next_timeout() < as_of {
            self.wake_sink(self.flow.sink.next_timeout(), world);
        }
        // Each kind has its own call, so that the compiler keeps a packet of a known kind in
        // registers.
        match parcel.kind {
            Kind::TfrcData => {
                let packet = parcel.whole(Payload::TfrcData(parcel.tfrc_data()));
                self.give(as_of, &packet, world);
            }
            Kind::IftpData => {
                let packet = parcel.whole(Payload::IftpData(parcel.iftp_data()));
                self.give(as_of, &packet, world);
            }
            _ => {
                let packet = parcel.unpack(&mut world.network.aside);
                self.give(as_of, &packet, world);
            }
        }
    }

    /// Gives a packet to the sink.
    #[inline(always)]
    fn give<O: Observer>(&mut self, as_of: Time, packet: &Packet, world: &mut World<'_, O>) {
        match self.flow.deliver(as_of, packet, &mut world.recorder) {
            // Only a sink from outside may have more than one answer.
            Delivered::Taken(answer) if !matches!(self.flow.sink, Sink::Outside(_)) => {
                if let Some(payload) = answer {
                    self.reply_with(as_of, payload, world);
                }
                self.arm(SINK, self.flow.sink.next_timeout(), &mut world.network);
            }
            Delivered::Taken(answer) => self.reply(as_of, answer, world),
            Delivered::Dropped => {
                // Ahead of time, the sink drops a packet whose loss the source's judge may not know
                // yet. The source then catches up when it is told, in `Engine::tell`.
                let tell_at = self.sink_is_ahead.then_some(as_of);
                if tell_at.is_none() {
                    self.catch_up(as_of, world);
                }
                let lost = (Cause::Wireless, as_of);
                self.report_loss(packet, lost, tell_at, &mut world.network);
            }
        }
    }

    /// Wakes the sink if its deadline has expired.
    #[inline(never)]
    pub(super) fn wake_sink<O: Observer>(&mut self, as_of: Time, world: &mut World<'_, O>) {
        let answer = self.flow.wake_sink(as_of);
        self.reply(as_of, answer, world);
    }

    /// Sends the sink's answer and sets its next deadline.
    #[inline(never)]
    fn reply<O: Observer>(
        &mut self,
        as_of: Time,
        mut answer: Option<Payload>,
        world: &mut World<'_, O>,
    ) {
        while let Some(payload) = answer.take().or_else(|| self.flow.sink.poll(as_of)) {
            self.reply_with(as_of, payload, world);
        }
        self.arm(SINK, self.flow.sink.next_timeout(), &mut world.network);
    }

    /// Packs an answer and sends it.
    #[inline(always)]
    fn reply_with<O: Observer>(&mut self, as_of: Time, payload: Payload, world: &mut World<'_, O>) {
        let packet = self.flow.packet(as_of, self.back, ANSWER_SIZE, payload);
        let mut parcel = Parcel::pack(&packet, &mut world.network.aside);
        if send_home(&mut parcel, &mut self.flow, world) {
            world.network.park_at_source(parcel);
        }
    }
}

/// Sends an answer. Returns true if the answer is ahead of time at its fused source; the caller
/// must then foresee or park it. The loss of an answer is not reported.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
fn send_home<O: Observer>(parcel: &mut Parcel, flow: &mut Flow, world: &mut World<'_, O>) -> bool {
    let network = &mut world.network;
    match network.send(parcel, &mut world.recorder) {
        Sent::AtSource => return true,
        Sent::Held => network.hold(parcel, O::QUEUE_LENGTH),
        Sent::Lost(..) => flow.forget(&parcel.copy().unpack(&mut network.aside).payload),
        Sent::InTransit => {}
        Sent::AtSink | Sent::AtGate => debug_assert!(false, "an answer at a sink"),
    }
    false
}
