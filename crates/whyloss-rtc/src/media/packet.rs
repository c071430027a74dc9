//! RTP packets of a call (RFC 3550, section 5.1).
//!
//! ```text
//! RTP header            12 bytes; payload type 96, or 97 of a repair; 90 kHz
//! one-byte extension     8 bytes, with TWCC: element 1 is the transport-wide number (RFC 8285)
//! lost number            2 bytes, in a repair (RFC 4588, section 4)
//! piece                  8 bytes: frame, index, and number of pieces, whose first bit says "key"
//! ```

use whyloss::{Duration, Time};

/// The source (SSRC) of every packet.
pub const SSRC: u32 = 0x7768_796c;
const MEDIA: u8 = 96;
const REPAIR: u8 = 97;
/// The maximum number of pieces of a frame.
pub const PIECES: u16 = 0x7fff;

/// A piece of a frame: the payload of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The frame's number, counted by the encoder.
    pub frame: u32,
    /// The index of the piece in the frame, from 0.
    pub index: u16,
    /// The number of pieces of the frame.
    pub pieces: u16,
    /// Whether the frame is a key frame, which depends on no other frame.
    pub key: bool,
    /// The capture time of the frame, in 1/90,000 s.
    pub captured: u32,
    /// The bytes of video in the piece.
    pub bytes: u16,
}

/// An RTP packet of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The sequence number in the stream.
    pub number: u16,
    /// The transport-wide number; `None` if the packet has no such header extension.
    pub transport: Option<u16>,
    /// The sequence number of the lost packet that this packet repairs; `None` for an original.
    pub repairs: Option<u16>,
    /// The payload: a piece of a frame.
    pub piece: Piece,
}

/// Returns the size of a packet's headers in bytes: the RTP header and the piece header.
///
/// `transport` adds the extension with the transport-wide number; `repair` adds the number of the
/// lost packet.
pub const fn overhead(transport: bool, repair: bool) -> u32 {
    12 + if transport { 8 } else { 0 } + if repair { 2 } else { 0 } + 8
}

impl Packet {
    /// Appends the packet to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let piece = &self.piece;
        let last = piece.index + 1 == piece.pieces;
        let kind = if self.repairs.is_some() {
            REPAIR
        } else {
            MEDIA
        };
        let extended = u8::from(self.transport.is_some()) << 4;
        bytes.extend([0x80 | extended, u8::from(last) << 7 | kind]);
        bytes.extend(self.number.to_be_bytes());
        bytes.extend(piece.captured.to_be_bytes());
        bytes.extend(SSRC.to_be_bytes());
        if let Some(number) = self.transport {
            let [high, low] = number.to_be_bytes();
            bytes.extend([0xbe, 0xde, 0, 1, 0x11, high, low, 0]);
        }
        if let Some(lost) = self.repairs {
            bytes.extend(lost.to_be_bytes());
        }
        bytes.extend(piece.frame.to_be_bytes());
        bytes.extend(piece.index.to_be_bytes());
        bytes.extend((piece.pieces | u16::from(piece.key) << 15).to_be_bytes());
        bytes.resize(bytes.len() + usize::from(piece.bytes), 0);
    }

    /// Parses a packet of a call; `None` if the bytes are not one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (&[flags, kind, a, b, c, d, e, f, ..], mut rest) = (bytes, bytes.get(12..)?) else {
            return None;
        };
        if flags >> 6 != 2 {
            return None;
        }
        rest = rest.get(4 * usize::from(flags & 15)..)?;
        let mut transport = None;
        if flags & 0x10 != 0 {
            let &[high, low, more, less, ..] = rest else {
                return None;
            };
            let length = 4 * usize::from(u16::from_be_bytes([more, less]));
            let elements = rest.get(4..4 + length)?;
            if [high, low] == [0xbe, 0xde] {
                transport = number(elements);
            }
            rest = &rest[4 + length..];
        }
        let repairs = match kind & 0x7f {
            MEDIA => None,
            REPAIR => {
                let lost = u16::from_be_bytes([*rest.first()?, *rest.get(1)?]);
                rest = &rest[2..];
                Some(lost)
            }
            _ => return None,
        };
        let &[i, j, k, l, m, n, o, p, ref video @ ..] = rest else {
            return None;
        };
        let (index, pieces) = (
            u16::from_be_bytes([m, n]),
            u16::from_be_bytes([o & 0x7f, p]),
        );
        (index < pieces).then_some(Self {
            number: u16::from_be_bytes([a, b]),
            transport,
            repairs,
            piece: Piece {
                frame: u32::from_be_bytes([i, j, k, l]),
                index,
                pieces,
                key: o >> 7 == 1,
                captured: u32::from_be_bytes([c, d, e, f]),
                bytes: u16::try_from(video.len()).ok()?,
            },
        })
    }
}

/// Returns the transport-wide number among the elements of an extension.
fn number(mut elements: &[u8]) -> Option<u16> {
    while let [first, rest @ ..] = elements {
        // A zero byte is padding.
        let length = if *first == 0 {
            0
        } else {
            usize::from(first & 15) + 1
        };
        let value = rest.get(..length)?;
        if let (1, [high, low]) = (first >> 4, value) {
            return Some(u16::from_be_bytes([*high, *low]));
        }
        elements = &rest[length..];
    }
    None
}

/// Returns whether a datagram is RTCP rather than RTP (RFC 5761, section 4).
pub fn is_rtcp(bytes: &[u8]) -> bool {
    matches!(bytes, [_, 192..=223, ..])
}

/// Returns a capture time in ticks of RTP.
pub(crate) fn ticks(at: Time) -> u32 {
    (u128::from(at.as_nanos()) * 9 / 100_000) as u32
}

/// Returns the time from a capture to `now`, which may be at most half of the clock's 13 hours.
pub(crate) fn since(captured: u32, now: Time) -> Duration {
    let apart = ticks(now).wrapping_sub(captured).cast_signed();
    Duration::from_nanos(i64::from(apart) * 100_000 / 9)
}
