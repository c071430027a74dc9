//! Parses the header and options of a TCP segment, as far as they were captured.

use super::Pass;

/// The maximum number of SACK blocks that a header has room for.
pub(crate) const BLOCKS: usize = 4;

/// A TCP segment (RFC 9293), with the options that matter for losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number of the first byte of data.
    pub sequence: u32,
    /// The next number that the sender of this segment expects, if [`Flags::ack`].
    pub acknowledgement: u32,
    /// The number of bytes of data on the wire, even if the capture has fewer.
    pub length: u32,
    /// The flags of the header.
    pub flags: Flags,
    /// The receive window as in the header, before the window scale applies.
    pub window: u16,
    /// The timestamp option (RFC 7323), TSval and TSecr; `None` if the segment lacks it.
    pub stamps: Option<(u32, u32)>,
    /// The SACK blocks (RFC 2018), as start and end; the first [`Self::blocks`] are in use.
    pub sack: [(u32, u32); BLOCKS],
    /// The number of SACK blocks.
    pub blocks: u8,
    /// The maximum segment size in bytes, which a SYN may announce; `None` if the segment lacks it.
    pub mss: Option<u16>,
    /// The shift count of the window scale option, which a SYN may carry; `None` if the segment
    /// lacks it.
    pub scale: Option<u8>,
    /// Whether a SYN permits SACK.
    pub sack_permitted: bool,
    /// Whether the capture cuts the options short.
    pub cut: bool,
}

/// The flags of a segment that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are bits of a header")]
pub struct Flags {
    /// SYN: opens a connection.
    pub syn: bool,
    /// ACK: carries an acknowledgement.
    pub ack: bool,
    /// FIN: ends one direction.
    pub fin: bool,
    /// RST: ends the connection immediately.
    pub rst: bool,
}

impl Segment {
    /// Reads the captured part of a segment that has `length` bytes on the wire, its header
    /// included.
    #[inline]
    pub(super) fn read(bytes: &[u8], length: u32) -> Result<Self, Pass> {
        let fixed = bytes.first_chunk::<20>().ok_or(Pass::Short)?;
        let double =
            |at| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let header = usize::from(fixed[12] >> 4) * 4;
        if header < 20 {
            return Err(Pass::Malformed);
        }
        let bit = |n: u8| fixed[13] >> n & 1 == 1;
        let mut segment = Self {
            sequence: double(4),
            acknowledgement: double(8),
            length: length.checked_sub(header as u32).ok_or(Pass::Malformed)?,
            flags: Flags {
                fin: bit(0),
                syn: bit(1),
                rst: bit(2),
                ack: bit(4),
            },
            window: u16::from_be_bytes([fixed[14], fixed[15]]),
            cut: bytes.len() < header,
            ..Self::default()
        };
        let options = &bytes[20..header.min(bytes.len())];
        // The options are timestamps alone, padded as all stacks pad them.
        if let &[1, 1, 8, 10, a, b, c, d, e, f, g, h] = options {
            let double = u32::from_be_bytes;
            segment.stamps = Some((double([a, b, c, d]), double([e, f, g, h])));
        } else {
            segment.options(options);
        }
        Ok(segment)
    }

    /// Reads the complete options, up to the first malformed one.
    #[inline(never)]
    fn options(&mut self, mut options: &[u8]) {
        while let [kind, rest @ ..] = options {
            match kind {
                0 => return,
                1 => {
                    options = rest;
                    continue;
                }
                _ => {}
            }
            let Some(&length) = rest.first() else { return };
            let Some(body) = options.get(2..usize::from(length)) else {
                return;
            };
            options = &options[usize::from(length)..];
            let double = |at: usize| {
                u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]])
            };
            match (kind, body.len()) {
                (2, 2) => self.mss = Some(u16::from_be_bytes([body[0], body[1]])),
                (3, 1) => self.scale = Some(body[0].min(14)),
                (4, 0) => self.sack_permitted = true,
                (5, 8 | 16 | 24 | 32) => {
                    self.blocks = (body.len() / 8) as u8;
                    for (block, at) in self.sack.iter_mut().zip((0..body.len()).step_by(8)) {
                        *block = (double(at), double(at + 4));
                    }
                }
                (8, 8) => self.stamps = Some((double(0), double(4))),
                _ => {}
            }
        }
    }

    /// Returns the SACK blocks in use.
    pub fn sacked(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.blocks).min(BLOCKS)]
    }
}
