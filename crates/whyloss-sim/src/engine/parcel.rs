//! A packet as the engine carries it: 48 bytes, from which the [`Packet`] that others see can be
//! made.
//!
//! ```text
//! due 8, sent 8, two numbers 16, flow 4, size 4, hop 4, kind 4              bytes
//! ```
//!
//! Most payloads fit into the two numbers: a TCP segment, an acknowledgement without SACK blocks, a
//! datagram, a packet of IFTP, or TFRC data whose retransmission timeout is four round trips. Other
//! packets, ECN-capable and damaged packets, and copies are kept [aside](Aside); the parcel's
//! number is their index.
//!
//! [`Packet`] is a second format for speed. A single one of 64 bytes, with flags, took 3 to 6 %
//! more instructions for TCP and 12 to 16 % more for IFTP and TFRC (tried, reverted in 990c453e).

use whyloss::{Duration, Time, iftp, tfrc};
use whyloss_link::Ecn;

use crate::host::tcp::{Ack, SackBlocks, Segment};
use crate::packet::{Packet, Payload};

/// A packet in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parcel {
    /// When the packet is at its `hop`.
    pub(crate) due: Time,
    /// When its end sent it.
    pub(crate) sent: Time,
    /// The sequence number of a data packet, the next number of an acknowledgement, or the index of
    /// the packet in [`Aside`].
    pub(crate) number: u64,
    /// The echo of an acknowledgement, or the [fields of TFRC data](of_tfrc).
    pub(crate) echo: Time,
    pub(crate) flow: u32,
    pub(crate) size: u32,
    /// The hop at which it is when `due`: an index in the [table of hops](super::hops).
    pub(crate) hop: u32,
    pub(crate) kind: Kind,
}

/// The kind of the payload.
///
/// A packet of any kind but `Other` is [plain](Packet::is_plain): whole, unmarked, not ECN-capable
/// and no copy. Code that knows the kind needs no check for these.
///
/// A kind is 32 bits wide to fill the padding, which would otherwise be copied separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A TCP segment, stamped with its departure.
    #[default]
    Segment,
    Retransmission,
    Ack,
    Datagram,
    IftpData,
    IftpAck,
    TfrcData,
    /// Kept in [`Aside`].
    Other,
}

/// The number of bits for the round trip of a TFRC header, in nanoseconds, and for its count of
/// rounds.
const RTT_BITS: u32 = 34;
const ROUND_BITS: u32 = 29;

/// Returns the fields of TFRC data other than number and stamp, if they fit into one word.
#[inline]
fn of_tfrc(data: &tfrc::Data) -> Option<u64> {
    let (rtt, round) = (data.rtt.as_nanos() as u64, u64::from(data.round));
    let fits = rtt >> RTT_BITS == 0 && round >> ROUND_BITS == 0 && data.t_rto == data.rtt * 4;
    fits.then(|| (rtt << ROUND_BITS | round) << 1 | u64::from(data.urgent))
}

/// The packets that do not fit into parcels.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    kept: Vec<Packet>,
    free: Vec<u32>,
}

impl Parcel {
    /// Packs a packet that its end sends now. Inlined, because the caller has just made the packet
    /// and its kind is constant there.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn pack(packet: &Packet, aside: &mut Aside) -> Self {
        let mut parcel = Self {
            due: packet.sent,
            sent: packet.sent,
            flow: packet.flow,
            size: packet.size,
            hop: packet.hop,
            ..Self::default()
        };
        match &packet.payload {
            Payload::Segment(segment) if segment.stamp == packet.sent && packet.is_plain() => {
                parcel.number = segment.sequence;
                if segment.retransmission {
                    parcel.kind = Kind::Retransmission;
                }
            }
            Payload::Ack(ack) if ack.sack.is_empty() && packet.is_plain() => {
                (parcel.number, parcel.echo) = (ack.next, ack.echo);
                parcel.kind = Kind::Ack;
            }
            Payload::Datagram(number) if packet.is_plain() => {
                parcel.number = *number;
                parcel.kind = Kind::Datagram;
            }
            Payload::IftpData(data) if data.stamp == packet.sent && packet.is_plain() => {
                parcel.number = data.sequence;
                parcel.kind = Kind::IftpData;
            }
            Payload::IftpAck(ack) if packet.is_plain() => {
                (parcel.number, parcel.echo) = (ack.sequence, ack.echo);
                parcel.kind = Kind::IftpAck;
            }
            Payload::TfrcData(data)
                if data.stamp == packet.sent
                    && packet.is_plain()
                    && let Some(said) = of_tfrc(data) =>
            {
                (parcel.number, parcel.echo) = (data.sequence, Time::from_nanos(said));
                parcel.kind = Kind::TfrcData;
            }
            _ => {
                parcel.number = aside.keep(packet);
                parcel.kind = Kind::Other;
            }
        }
        parcel
    }

    /// Returns the packet with this payload and without damage.
    #[inline]
    pub(crate) fn whole(&self, payload: Payload) -> Packet {
        Packet {
            hop: self.hop,
            flow: self.flow,
            size: self.size,
            first_damaged: Packet::WHOLE,
            ecn: Ecn::NotCapable,
            ecn_flag: false,
            copy: false,
            sent: self.sent,
            payload,
        }
    }

    /// Returns the packet.
    pub(crate) fn open(self, aside: &Aside) -> Packet {
        let payload = match self.kind {
            Kind::Segment | Kind::Retransmission => Payload::Segment(self.segment()),
            Kind::Ack => Payload::Ack(self.ack()),
            Kind::Datagram => Payload::Datagram(self.number),
            Kind::IftpData => Payload::IftpData(self.iftp_data()),
            Kind::IftpAck => Payload::IftpAck(self.iftp_ack()),
            Kind::TfrcData => Payload::TfrcData(self.tfrc_data()),
            Kind::Other => {
                return Packet {
                    hop: self.hop,
                    ..aside.kept[self.number as usize]
                };
            }
        };
        self.whole(payload)
    }

    /// Returns the packet's ECN field.
    #[inline]
    pub(crate) fn ecn(&self, aside: &Aside) -> Ecn {
        if self.kind == Kind::Other {
            aside.kept[self.number as usize].ecn
        } else {
            Ecn::NotCapable
        }
    }

    /// Marks the packet, which is ECN-capable.
    pub(crate) fn mark(&self, aside: &mut Aside) {
        if self.kind == Kind::Other {
            aside.kept[self.number as usize].ecn = Ecn::Marked;
        }
    }

    /// Returns the packet and frees its slot in [`Aside`]. The parcel must not be used again.
    #[inline(never)]
    pub(crate) fn unpack(self, aside: &mut Aside) -> Packet {
        let packet = self.open(aside);
        if self.kind == Kind::Other {
            aside.free.push(self.number as u32);
        }
        packet
    }

    /// Returns the parcel with damage from this bit on.
    #[cold]
    pub(crate) fn damaged(self, first: u32, aside: &mut Aside) -> Self {
        let mut packet = self.unpack(aside);
        packet.first_damaged = packet.first_damaged.min(first);
        self.repack(&packet, aside)
    }

    fn repack(self, packet: &Packet, aside: &mut Aside) -> Self {
        Self {
            due: self.due,
            ..Self::pack(packet, aside)
        }
    }

    /// Returns a packet or its copy. If the second of the two is still in flight, it keeps the slot
    /// in [`Aside`].
    #[cold]
    pub(crate) fn one_of_two(self, is_copy: bool, other_comes: bool, aside: &mut Aside) -> Self {
        let mut packet = if other_comes {
            self.open(aside)
        } else {
            self.unpack(aside)
        };
        packet.copy |= is_copy;
        self.repack(&packet, aside)
    }

    /// Copies the parcel field by field. A value passed to a function that is not inlined lives in
    /// memory, so the hot path passes a copy.
    #[inline]
    pub(crate) fn copy(self) -> Self {
        Self {
            due: self.due,
            sent: self.sent,
            number: self.number,
            echo: self.echo,
            flow: self.flow,
            size: self.size,
            hop: self.hop,
            kind: self.kind,
        }
    }

    /// Returns the packet at the next hop of its way.
    #[inline]
    pub(crate) fn onward(self) -> Self {
        Self {
            hop: self.hop + 1,
            ..self.copy()
        }
    }

    /// Unpacks a parcel that holds a segment.
    #[inline]
    pub(crate) fn segment(self) -> Segment {
        Segment {
            sequence: self.number,
            stamp: self.sent,
            retransmission: self.kind == Kind::Retransmission,
        }
    }

    /// Unpacks a parcel that holds TFRC data.
    #[inline]
    pub(crate) fn tfrc_data(self) -> tfrc::Data {
        let said = self.echo.as_nanos();
        let rtt = Duration::from_nanos((said >> (ROUND_BITS + 1)) as i64);
        tfrc::Data {
            sequence: self.number,
            stamp: self.sent,
            rtt,
            t_rto: rtt * 4,
            round: (said >> 1) as u32 & ((1 << ROUND_BITS) - 1),
            urgent: said & 1 == 1,
        }
    }

    /// Unpacks a parcel that holds IFTP data.
    #[inline]
    pub(crate) fn iftp_data(self) -> iftp::Data {
        iftp::Data {
            sequence: self.number,
            stamp: self.sent,
        }
    }

    /// Unpacks a parcel that holds an IFTP acknowledgement.
    #[inline]
    pub(crate) fn iftp_ack(self) -> iftp::Ack {
        iftp::Ack {
            sequence: self.number,
            echo: self.echo,
        }
    }

    /// Unpacks a parcel that holds a TCP acknowledgement.
    #[inline]
    pub(crate) fn ack(self) -> Ack {
        Ack {
            next: self.number,
            echo: self.echo,
            sack: SackBlocks::NONE,
        }
    }
}

impl Aside {
    fn keep(&mut self, packet: &Packet) -> u64 {
        if let Some(free) = self.free.pop() {
            self.kept[free as usize] = *packet;
            u64::from(free)
        } else {
            self.kept.push(*packet);
            self.kept.len() as u64 - 1
        }
    }

    /// Returns the number of packets for which there is room.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.kept.capacity()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parcels_are_small() {
        assert_eq!(size_of::<Parcel>(), 48);
    }

    /// Returns a packet of each kind.
    fn packet(kind: u8, number: u64, first_damaged: u32) -> Packet {
        let (sent, echo) = (Time::from_nanos(number), Time::from_nanos(number / 2));
        let segment = |stamp, retransmission| {
            Payload::Segment(Segment {
                sequence: number,
                stamp,
                retransmission,
            })
        };
        let ack = |sack| {
            Payload::Ack(Ack {
                next: number,
                echo,
                sack,
            })
        };
        Packet {
            hop: number as u32 % 7,
            flow: number as u32 % 5,
            size: 40 + u32::from(kind),
            first_damaged,
            ecn: [Ecn::NotCapable, Ecn::Capable, Ecn::Marked][number as usize % 5 % 3],
            ecn_flag: number.is_multiple_of(7),
            copy: number.is_multiple_of(11),
            sent,
            payload: match kind {
                0 => segment(sent, false),
                1 => segment(sent, true),
                2 => segment(Time::MAX, false),
                3 => ack(SackBlocks::NONE),
                4 => ack(SackBlocks::new(number, Some(number + 2..number + 5))),
                5 => Payload::IftpData(iftp::Data {
                    sequence: number,
                    stamp: sent,
                }),
                6 => Payload::IftpAck(iftp::Ack {
                    sequence: number,
                    echo,
                }),
                // Round trips up to 40 s, rounds up to 2³⁰.
                7..=9 => {
                    let rtt = Duration::from_nanos(number as i64 * 40_000_000);
                    Payload::TfrcData(tfrc::Data {
                        sequence: number,
                        stamp: sent,
                        rtt,
                        t_rto: if kind < 9 { rtt * 4 } else { rtt * 3 },
                        round: number as u32 * if kind == 7 { 1 } else { 1 << 20 },
                        urgent: number.is_multiple_of(2),
                    })
                }
                _ => Payload::Datagram(number),
            },
        }
    }

    proptest! {
        /// Nothing is lost on the way, and slots in [`Aside`] are used again.
        #[test]
        fn what_is_packed_is_unpacked(
            packets in prop::collection::vec((0u8..11, 0u64..1_000, prop::option::of(0u32..100), prop::option::of(0u32..100)), 0..100),
        ) {
            let mut aside = Aside::default();
            let mut under_way = Vec::new();
            for (kind, number, before, then) in packets {
                let mut packet = packet(kind, number, before.unwrap_or(Packet::WHOLE));
                let mut parcel = Parcel::pack(&packet, &mut aside);
                if let Some(first) = then {
                    parcel = parcel.damaged(first, &mut aside);
                    packet.first_damaged = packet.first_damaged.min(first);
                }
                prop_assert_eq!(format!("{:?}", parcel.open(&aside)), format!("{packet:?}"));
                under_way.push((packet, parcel));
                if under_way.len() > 10 {
                    let (packet, parcel) = under_way.swap_remove(number as usize % 10);
                    prop_assert_eq!(format!("{:?}", parcel.unpack(&mut aside)), format!("{packet:?}"));
                }
            }
            for (packet, parcel) in under_way {
                prop_assert_eq!(format!("{:?}", parcel.unpack(&mut aside)), format!("{packet:?}"));
            }
            prop_assert!(aside.kept.len() <= 12);
            prop_assert_eq!(aside.free.len(), aside.kept.len());
        }
    }
}
