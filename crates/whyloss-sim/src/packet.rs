//! A simulated packet, and its contents for each transport.

use whyloss::Time;
use whyloss::{iftp, tfrc};

use whyloss_link::Ecn;

use crate::host::outside::Datagram;
use crate::host::tcp;

/// The size of an acknowledgement or a feedback packet on the wire in bytes, headers included.
pub(crate) const ANSWER_SIZE: u32 = 40;

/// A packet in flight, kept small and `Copy`, with only the fields that its protocol needs.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The packet's position on its route: the number of the hop in the plain engine, an index into
    /// the table of hops in the fast one.
    pub(crate) hop: u32,
    /// The index of the packet's flow.
    pub flow: u32,
    /// The size on the wire, in bytes.
    pub size: u32,
    /// The offset of the first damaged bit; [`Self::WHOLE`] if no bit is damaged.
    pub first_damaged: u32,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// TCP's ECN flag: CWR in a segment, ECE in an acknowledgement.
    pub ecn_flag: bool,
    /// Whether the packet is the copy of a packet that a link sent twice
    /// ([`whyloss_link::handover`]). A copy takes time and room, and its sink may use it, but it
    /// counts neither as delivered data nor as a loss.
    pub copy: bool,
    /// When the packet was sent.
    pub sent: Time,
    /// The contents of the packet.
    pub payload: Payload,
}

impl Packet {
    /// The value of `first_damaged` when no bit is damaged.
    pub const WHOLE: u32 = u32::MAX;

    /// Returns whether the packet is neither ECN-capable nor damaged nor a copy, without ECN flag.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_damaged() && self.ecn == Ecn::NotCapable && !self.ecn_flag && !self.copy
    }

    /// Returns whether any bit of the packet is damaged.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.first_damaged != Self::WHOLE
    }
}

/// The contents of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// A packet of a source without congestion control, with its number.
    Datagram(u64),
    /// A data packet of TFRC.
    TfrcData(tfrc::Data),
    /// A feedback packet of TFRC.
    TfrcFeedback(tfrc::Feedback),
    /// A data packet of IFTP.
    IftpData(iftp::Data),
    /// An acknowledgement of IFTP.
    IftpAck(iftp::Ack),
    /// A segment of TCP with data.
    Segment(tcp::Segment),
    /// An acknowledgement of TCP without data.
    Ack(tcp::Ack),
    /// A datagram of a host from outside.
    Outside(Datagram),
}

impl Payload {
    /// Returns the size on the wire in bytes, if it depends on the payload. Otherwise all data
    /// packets of a flow have one size, and all its answers another.
    #[inline]
    pub(crate) fn size(&self) -> Option<u32> {
        match self {
            Self::Outside(datagram) => Some(datagram.size),
            _ => None,
        }
    }

    /// Returns the sequence number, in packets, if this is data on its way from source to sink.
    #[inline]
    pub fn sequence(&self) -> Option<u64> {
        match self {
            Self::Datagram(sequence) => Some(*sequence),
            Self::TfrcData(data) => Some(data.sequence),
            Self::Segment(segment) => Some(segment.sequence),
            Self::IftpData(data) => Some(data.sequence),
            Self::Outside(datagram) => (!datagram.answer).then_some(datagram.number),
            Self::TfrcFeedback(_) | Self::IftpAck(_) | Self::Ack(_) => None,
        }
    }

    /// Returns whether this is an answer, on its way from sink to source.
    #[inline]
    pub(crate) fn is_answer(&self) -> bool {
        self.sequence().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets in flight are most of a run's memory and are copied at every hop, so their size is
    /// bounded.
    #[test]
    fn packets_are_small() {
        assert!(
            size_of::<(Time, Packet)>() <= 88,
            "{}",
            size_of::<(Time, Packet)>()
        );
    }
}
