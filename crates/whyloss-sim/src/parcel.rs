//! A packet as the fast engine carries it: 64 bytes, from which the [`Packet`] that others see is made.
//!
//! ```text
//! due 8, sent 8, number 8, echo 8, rtt 8, flow 4, size 4, hop 4, first damaged 4, round 4, kind 1, flags 1     bytes
//! ```
//!
//! Most payloads fit in these fields: TCP segments, acknowledgements without SACK blocks, datagrams, what IFTP sends, and TFRC
//! data whose retransmission timeout is four round trips. Other payloads are kept [aside](Aside) under a number.

use whyloss::{Duration, Time, iftp, tfrc};
use whyloss_link::Ecn;

use crate::host::tcp::{Ack, SackBlocks, Segment};
use crate::packet::{Packet, Payload};

/// A packet under way. (Handed on by value, so that it stays in registers.)
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    /// When it arrives at the end of the link that it is in transit over.
    pub(crate) due: Time,
    pub(crate) sent: Time,
    /// The number of data, the next that an acknowledgement expects, or where the payload is aside.
    pub(crate) number: u64,
    /// The stamp that an acknowledgement echoes.
    pub(crate) echo: Time,
    /// The round trip that TFRC data tells.
    pub(crate) rtt: Duration,
    pub(crate) flow: u32,
    pub(crate) size: u32,
    pub(crate) hop: u32,
    /// The first of its bits that some link damaged; [`Packet::WHOLE`] if none was.
    pub(crate) first_damaged: u32,
    /// The round that TFRC data tells.
    pub(crate) round: u32,
    pub(crate) kind: Kind,
    /// What is unusual about it: a sum of the constants below.
    pub(crate) flags: u8,
}

impl Default for Parcel {
    #[inline]
    fn default() -> Self {
        Self {
            due: Time::ZERO,
            sent: Time::ZERO,
            number: 0,
            echo: Time::ZERO,
            rtt: Duration::ZERO,
            flow: 0,
            size: 0,
            hop: 0,
            first_damaged: Packet::WHOLE,
            round: 0,
            kind: Kind::Segment,
            flags: 0,
        }
    }
}

/// It is ECN-capable.
const CAPABLE: u8 = 1;
/// A queue marked it.
const MARKED: u8 = 2;
/// It says CWR in a segment, ECE in an acknowledgement.
const SAYS: u8 = 4;
/// It is the [copy](Packet::copy) of a packet.
const COPY: u8 = 8;
/// Some of its bits are damaged.
const DAMAGED: u8 = 16;

/// What a parcel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A TCP segment, whose stamp says when it was sent.
    Segment,
    Retransmission,
    Ack,
    Datagram,
    IftpData,
    IftpAck,
    TfrcData,
    /// TFRC data that is to be answered at once.
    UrgentTfrcData,
    Aside,
}

/// Payloads that do not fit parcels.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    kept: Vec<Payload>,
    free: Vec<u32>,
}

impl Parcel {
    /// The parcel of a packet. (Inlined: who packs has just made the packet, of one kind.)
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn pack(packet: &Packet, aside: &mut Aside) -> Self {
        let mut parcel = Self {
            sent: packet.sent,
            flow: packet.flow,
            size: packet.size,
            hop: packet.hop,
            first_damaged: packet.first_damaged,
            flags: if packet.copy { COPY } else { 0 },
            ..Self::default()
        };
        parcel.says(packet.ecn, packet.ecn_flag);
        if packet.is_damaged() {
            parcel.flags |= DAMAGED;
        }
        match &packet.payload {
            Payload::Segment(segment) if segment.stamp == packet.sent => {
                parcel.number = segment.sequence;
                if segment.retransmission {
                    parcel.kind = Kind::Retransmission;
                }
            }
            Payload::Ack(ack) if ack.sack.is_empty() => {
                (parcel.number, parcel.echo) = (ack.next, ack.echo);
                parcel.kind = Kind::Ack;
            }
            Payload::Datagram(number) => {
                parcel.number = *number;
                parcel.kind = Kind::Datagram;
            }
            Payload::IftpData(data) if data.stamp == packet.sent => {
                parcel.number = data.sequence;
                parcel.kind = Kind::IftpData;
            }
            Payload::IftpAck(ack) => {
                (parcel.number, parcel.echo) = (ack.sequence, ack.echo);
                parcel.kind = Kind::IftpAck;
            }
            Payload::TfrcData(data) if data.stamp == packet.sent && data.t_rto == data.rtt * 4 => {
                (parcel.number, parcel.rtt, parcel.round) = (data.sequence, data.rtt, data.round);
                parcel.kind = if data.urgent {
                    Kind::UrgentTfrcData
                } else {
                    Kind::TfrcData
                };
            }
            _ => {
                parcel.number = aside.keep(packet.payload);
                parcel.kind = Kind::Aside;
            }
        }
        parcel
    }

    /// The packet with this payload.
    #[inline]
    pub(crate) fn with(&self, payload: Payload) -> Packet {
        Packet {
            hop: self.hop,
            flow: self.flow,
            size: self.size,
            first_damaged: self.first_damaged,
            ecn: self.ecn(),
            ecn_flag: self.flags & SAYS != 0,
            copy: self.flags & COPY != 0,
            sent: self.sent,
            payload,
        }
    }

    /// The packet in it.
    #[inline]
    pub(crate) fn open(self, aside: &Aside) -> Packet {
        let payload = match self.kind {
            Kind::Segment | Kind::Retransmission => Payload::Segment(self.segment()),
            Kind::Ack => Payload::Ack(self.ack()),
            Kind::Datagram => Payload::Datagram(self.number),
            Kind::IftpData => Payload::IftpData(self.iftp_data()),
            Kind::IftpAck => Payload::IftpAck(self.iftp_ack()),
            Kind::TfrcData | Kind::UrgentTfrcData => Payload::TfrcData(self.tfrc_data()),
            Kind::Aside => aside.kept[self.number as usize],
        };
        self.with(payload)
    }

    /// Whether ECN has nothing to do with it, nor damage, and it is no copy.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.flags == 0
    }

    /// Its ECN field.
    #[inline]
    pub(crate) fn ecn(&self) -> Ecn {
        match self.flags & (CAPABLE | MARKED) {
            0 => Ecn::NotCapable,
            CAPABLE => Ecn::Capable,
            _ => Ecn::Marked,
        }
    }

    /// Writes what it says about ECN when it leaves.
    #[inline]
    pub(crate) fn says(&mut self, ecn: Ecn, flag: bool) {
        self.flags |= match ecn {
            Ecn::NotCapable => 0,
            Ecn::Capable => CAPABLE,
            Ecn::Marked => CAPABLE | MARKED,
        };
        self.flags |= if flag { SAYS } else { 0 };
    }

    /// Marks it, which is ECN-capable.
    pub(crate) fn mark(&mut self) {
        self.flags |= MARKED;
    }

    /// The packet in it, which has come to its end.
    #[inline]
    pub(crate) fn unpack(self, aside: &mut Aside) -> Packet {
        let packet = self.open(aside);
        if self.kind == Kind::Aside {
            aside.free.push(self.number as u32);
        }
        packet
    }

    /// Notes damage that begins with this bit.
    pub(crate) fn damage(&mut self, first: u32) {
        self.first_damaged = self.first_damaged.min(first);
        self.flags |= DAMAGED;
    }

    /// One of a packet and its copy. If the other is still to come, each has its own payload aside.
    #[cold]
    pub(crate) fn one_of_two(
        mut self,
        is_copy: bool,
        other_comes: bool,
        aside: &mut Aside,
    ) -> Self {
        if other_comes && self.kind == Kind::Aside {
            self.number = aside.keep(aside.kept[self.number as usize]);
        }
        self.flags |= if is_copy { COPY } else { 0 };
        self
    }

    /// The same, field by field: what is handed to a function that is not inlined lives in memory, so that the hot path
    /// hands on a copy.
    #[inline]
    pub(crate) fn copy(self) -> Self {
        Self {
            due: self.due,
            sent: self.sent,
            number: self.number,
            echo: self.echo,
            rtt: self.rtt,
            flow: self.flow,
            size: self.size,
            hop: self.hop,
            first_damaged: self.first_damaged,
            round: self.round,
            kind: self.kind,
            flags: self.flags,
        }
    }

    /// The segment that it is.
    #[inline]
    pub(crate) fn segment(self) -> Segment {
        Segment {
            sequence: self.number,
            stamp: self.sent,
            retransmission: self.kind == Kind::Retransmission,
        }
    }

    /// The TFRC data that it is.
    #[inline]
    pub(crate) fn tfrc_data(self) -> tfrc::Data {
        tfrc::Data {
            sequence: self.number,
            stamp: self.sent,
            rtt: self.rtt,
            t_rto: self.rtt * 4,
            round: self.round,
            urgent: self.kind == Kind::UrgentTfrcData,
        }
    }

    /// The data of IFTP that it is.
    #[inline]
    pub(crate) fn iftp_data(self) -> iftp::Data {
        iftp::Data {
            sequence: self.number,
            stamp: self.sent,
        }
    }

    /// The acknowledgement of IFTP that it is.
    #[inline]
    pub(crate) fn iftp_ack(self) -> iftp::Ack {
        iftp::Ack {
            sequence: self.number,
            echo: self.echo,
        }
    }

    /// The acknowledgement that it is.
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
    fn keep(&mut self, payload: Payload) -> u64 {
        if let Some(free) = self.free.pop() {
            self.kept[free as usize] = payload;
            u64::from(free)
        } else {
            self.kept.push(payload);
            self.kept.len() as u64 - 1
        }
    }

    /// How much there is room for.
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
        assert_eq!(size_of::<Parcel>(), 64);
    }

    /// A packet of each kind.
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
        /// Nothing is lost on the way, and what was kept aside makes room for others.
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
                    parcel.damage(first);
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
