//! A packet under way.

use whyloss::Time;
use whyloss::{iftp, tfrc};

use whyloss_link::Ecn;

use crate::host::outside::Datagram;
use crate::host::tcp;

/// Bytes of an acknowledgement or a feedback packet on the wire, headers included.
pub(crate) const ANSWER_SIZE: u32 = 40;

/// A packet under way: small, `Copy`, and without a header it does not need.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Where it is on its route: an index into the network's table of hops.
    pub(crate) hop: u32,
    /// Index of its flow.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// The first of its bits that some link damaged; [`Self::WHOLE`] if none was.
    pub first_damaged: u32,
    /// Its ECN field in the IP header.
    pub ecn: Ecn,
    /// TCP's ECN flag: CWR in a segment, ECE in an acknowledgement.
    pub ecn_flag: bool,
    /// Whether it is the copy of a packet that a link sent twice ([`whyloss_link::handover`]). The
    /// packet's own fate is told; a copy takes time and room, and may be of use to its sink, but is
    /// neither delivered data nor a loss.
    pub copy: bool,
    /// When it was sent.
    pub sent: Time,
    /// Its contents.
    pub payload: Payload,
}

impl Packet {
    /// No bit is damaged.
    pub const WHOLE: u32 = u32::MAX;

    /// Whether ECN has nothing to do with it, nor damage, and it is no copy.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !self.is_damaged() && self.ecn == Ecn::NotCapable && !self.ecn_flag && !self.copy
    }

    /// Whether any of its bits is damaged.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.first_damaged != Self::WHOLE
    }
}

/// The contents of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// A packet of a source without congestion control: its number.
    Datagram(u64),
    /// TFRC data.
    TfrcData(tfrc::Data),
    /// TFRC feedback.
    TfrcFeedback(tfrc::Feedback),
    /// IFTP data.
    IftpData(iftp::Data),
    /// An IFTP acknowledgement.
    IftpAck(iftp::Ack),
    /// A TCP segment.
    Segment(tcp::Segment),
    /// A TCP acknowledgement.
    Ack(tcp::Ack),
    /// A datagram of a host from outside.
    Outside(Datagram),
}

impl Payload {
    /// Bytes on the wire, if that is the payload's business; else all data of a flow is of one
    /// size, and so are its answers.
    #[inline]
    pub(crate) fn size(&self) -> Option<u32> {
        match self {
            Self::Outside(datagram) => Some(datagram.size),
            _ => None,
        }
    }

    /// The sequence number, in packets, if this is data on its way from source to sink.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets under way are most of a run's memory, and copied at every hop.
    #[test]
    fn packets_are_small() {
        assert!(
            size_of::<(Time, Packet)>() <= 88,
            "{}",
            size_of::<(Time, Packet)>()
        );
    }
}
