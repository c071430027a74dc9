//! The source of a flow in the fast engine: it wakes, and sends.
//!
//! A greedy TCP flow is the hot case. While nothing is lost, it turns one parcel into the next,
//! without a [`Packet`](crate::packet::Packet) unless an observer needs it.

use whyloss::Time;

use super::ends::{Ends, SOURCE, World};
use super::hops::Hop;
use super::parcel::{Kind, Parcel};
use super::send::Sent;
use crate::host::{Source, tfrc};
use crate::observe::Observer;
use crate::packet::Payload;

#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
impl Ends {
    /// Wakes the source if its deadline has expired.
    #[inline(never)]
    pub(super) fn wake_source<O: Observer>(&mut self, now: Time, world: &mut World<'_, O>) {
        if self.flow.wake_source(now, &mut world.recorder) {
            self.transmit(now, world);
        } else if now < self.flow.stop {
            self.arm(SOURCE, self.flow.source.next_timeout(), &mut world.network);
        }
    }

    /// Sends all that the source may send and sets its next deadline.
    ///
    /// A source that has foreseen an acknowledgement acts ahead of its time: `deliver`,
    /// `hear_early`, `hear_foreseen`, `transmit` and `send` would be a circle if `send` returned
    /// `AtSink`. It does not, because the data of such a source has a stop
    /// (`shortcuts/foresee.rs`). The loss of a packet at the first link is reported immediately; no
    /// verdict is requested before `as_of`.
    #[inline(always)]
    pub(super) fn transmit<O: Observer>(&mut self, as_of: Time, world: &mut World<'_, O>) {
        if !self.flow.may_send(as_of, &mut world.recorder) {
            return;
        }
        let mut parcel = Parcel::default();
        while self.poll(as_of, &mut parcel, world) {
            match world.network.send(&mut parcel, &mut world.recorder) {
                Sent::InTransit => {}
                Sent::AtSink => {
                    debug_assert!(
                        world.network.table.end_of(self.back) != Hop::FUSED_SOURCE,
                        "data without a stop, from a source that foresees"
                    );
                    self.deliver_apart(parcel.due, &parcel.copy(), world);
                }
                Sent::AtSource | Sent::AtGate => debug_assert!(false, "data at its source"),
                Sent::Lost(cause, when) => {
                    self.lose(as_of, parcel.copy(), (cause, when), &mut world.network);
                }
                Sent::Held => world.network.hold(&parcel.copy(), O::QUEUE_LENGTH),
            }
        }
        self.arm(SOURCE, self.flow.source.next_timeout(), &mut world.network);
        self.flow.show_acted(as_of, &mut world.recorder);
    }

    /// Writes the next packet that the source may send into `parcel`, and counts it. Returns
    /// false if there is none. An optional parcel would not stay in registers.
    #[inline(always)]
    pub(super) fn poll<O: Observer>(
        &mut self,
        as_of: Time,
        parcel: &mut Parcel,
        world: &mut World<'_, O>,
    ) -> bool {
        // Each kind of source has its own call, so that its payload stays in registers.
        let payload = match &mut self.flow.source {
            Source::Tcp(sender) if !self.flow.capable => {
                let Some(segment) = sender.poll_transmit(as_of) else {
                    return false;
                };
                *parcel = self.blank(as_of, self.flow.wire_size, self.there);
                parcel.number = segment.sequence;
                if segment.retransmission {
                    parcel.kind = Kind::Retransmission;
                }
                let packet = parcel.whole(Payload::Segment(segment));
                self.flow.count_sent(as_of, &packet, &mut world.recorder);
                return true;
            }
            Source::Tfrc(sender) => tfrc::poll(sender, as_of).map(Payload::TfrcData),
            Source::Iftp(source) => source.poll(as_of).map(Payload::IftpData),
            _ => return self.poll_other(as_of, parcel, world),
        };
        let Some(payload) = payload else {
            return false;
        };
        *parcel = self.pack_next(as_of, payload, world);
        true
    }

    /// Polls like [`Self::poll`], for all sources.
    #[cold]
    #[inline(never)]
    fn poll_other<O: Observer>(
        &mut self,
        as_of: Time,
        parcel: &mut Parcel,
        world: &mut World<'_, O>,
    ) -> bool {
        let Some(payload) = self.flow.source.poll(as_of) else {
            return false;
        };
        *parcel = self.pack_next(as_of, payload, world);
        true
    }

    /// Counts and packs a packet that leaves the source.
    #[inline(always)]
    fn pack_next<O: Observer>(
        &mut self,
        as_of: Time,
        payload: Payload,
        world: &mut World<'_, O>,
    ) -> Parcel {
        if self.flow.capable {
            return self.pack_capable(as_of, payload, world);
        }
        let blank = self.blank(as_of, self.flow.wire_size, self.there);
        let mut packet = blank.whole(payload);
        packet.size = payload.size().unwrap_or(packet.size);
        self.flow.count_sent(as_of, &packet, &mut world.recorder);
        Parcel::pack(&packet, &mut world.network.aside)
    }

    /// Counts and packs a packet that leaves an ECN-capable source. It is a function of its own, so
    /// that other sources pay only for the check.
    #[cold]
    #[inline(never)]
    fn pack_capable<O: Observer>(
        &mut self,
        as_of: Time,
        payload: Payload,
        world: &mut World<'_, O>,
    ) -> Parcel {
        let size = self.flow.wire_size;
        let packet = self.flow.packet(as_of, self.there, size, payload);
        self.flow.count_sent(as_of, &packet, &mut world.recorder);
        Parcel::pack(&packet, &mut world.network.aside)
    }
}
