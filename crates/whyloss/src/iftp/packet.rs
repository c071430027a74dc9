//! The packets of IFTP and IFTP-W as bytes (ElAarag et al. 2008, Figs. 6 and 7), with an Internet
//! checksum (RFC 1071).
//!
//! ```text
//!  0                   1                   2                   3       byte
//! +-------------------------------+-------------------------------+
//! |          source port          |       destination port        |   0
//! +-------------------------------+-------------------------------+
//! |         packet number         |           checksum            |   4
//! +-------------------------------+-------------------------------+
//! |           timestamp           |  length (IFTP), coverage (-W) |   8
//! +-------------------------------+-------------------------------+
//! | payload …                                                     |  12
//! ```
//!
//! Fields are big-endian. An acknowledgement has no payload. In IFTP-W, it also has no coverage
//! field, and its checksum covers all of it. With a timestamp of 32 bits, the last field moves to
//! byte 12, two bytes of zero follow it, and the header has 16 bytes. An IFTP-W acknowledgement
//! then ends after the timestamp, with 12 bytes. `docs/reference/iftp.md` has the layouts.
//!
//! The paper gives neither widths nor units. Fields have 16 bits, as its figures suggest (ELA-6).
//! The timestamp counts milliseconds and wraps after 65.536 s; with 32 bits, it counts
//! microseconds and wraps after 71.6 min.
//!
//! Length and coverage count the header. Coverage and checksum follow UDP-Lite (RFC 3828, 3.1): a
//! coverage of 0 means the whole packet. A coverage from 1 to the header's length minus 1, or above
//! the packet's length, is illegal. A checksum computed as 0 is sent as all ones, and a packet with
//! a checksum of 0 is invalid. A flipped bit in the *coverage field* moves the end of the covered
//! part. As in UDP-Lite, the checksum detects it only with probability 1 − 2⁻¹⁶. It always detects
//! a flipped bit elsewhere in the covered part.

use core::fmt;

use crate::Time;

pub use super::checksum::Sum;

/// The layout of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Format {
    /// IFTP-W: a coverage field instead of the length.
    pub partial: bool,
    /// A timestamp of 32 bits instead of 16.
    pub wide_stamp: bool,
}

/// The header fields that the two ends choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// The packet's number, modulo 2¹⁶.
    pub number: u16,
    /// The timestamp, in ticks of [`Format::tick_nanos`].
    pub stamp: u32,
}

/// Why bytes cannot be decoded or a packet cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// There is no room for the header.
    TooShort {
        /// The number of bytes present.
        found: usize,
        /// The size of the header, in bytes.
        header: usize,
    },
    /// The packet is longer than a field of 16 bits can count.
    TooLong(usize),
    /// An acknowledgement has bytes after its header.
    Payload(usize),
    /// The length field is not the packet's length.
    Length {
        /// The value of the field.
        field: u16,
        /// The number of bytes present.
        found: usize,
    },
    /// The coverage ends inside the header or after the packet.
    Coverage {
        /// The value of the field.
        field: u16,
        /// The size of the header, in bytes.
        header: usize,
        /// The size of the packet, in bytes.
        packet: usize,
    },
    /// A coverage was given, but the format has no field for it.
    NoCoverage,
    /// The timestamp needs more bits than the format has.
    Stamp(u32),
    /// The checksum is missing: it is zero.
    NoChecksum,
    /// The checksum does not match the covered bytes.
    Checksum,
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort { found, header } => {
                write!(f, "{found} bytes cannot hold a header of {header}")
            }
            Self::TooLong(found) => {
                write!(f, "{found} bytes are more than a packet can have, 65535")
            }
            Self::Payload(found) => {
                write!(
                    f,
                    "an acknowledgement has no payload, but {found} bytes follow its header"
                )
            }
            Self::Length { field, found } => {
                write!(
                    f,
                    "the length field says {field} bytes, but the packet has {found}"
                )
            }
            Self::Coverage {
                field,
                header,
                packet,
            } => write!(
                f,
                "a coverage of {field} bytes is illegal: it must be 0 or from {header}, the header, to {packet}, the packet"
            ),
            Self::NoCoverage => f.write_str("only IFTP-W can cover less than the whole packet"),
            Self::Stamp(stamp) => write!(f, "the timestamp {stamp} does not fit into 16 bits"),
            Self::NoChecksum => f.write_str("the checksum is zero, which no sender may send"),
            Self::Checksum => f.write_str("the checksum does not match: a covered byte is damaged"),
        }
    }
}

impl core::error::Error for PacketError {}

impl Format {
    /// The IFTP format (ElAarag et al. 2008, Fig. 6): a full checksum and a narrow timestamp.
    pub const IFTP: Self = Self {
        partial: false,
        wide_stamp: false,
    };
    /// The IFTP-W format (ElAarag et al. 2008, Fig. 7): a partial checksum and a narrow timestamp.
    pub const IFTP_W: Self = Self {
        partial: true,
        wide_stamp: false,
    };

    /// Returns the length of a data packet's header in bytes: 12, or 16 with a wide timestamp.
    pub const fn data_header(self) -> usize {
        if self.wide_stamp { 16 } else { 12 }
    }

    /// Returns the length of an acknowledgement in bytes: that of a data header, or 10 or 12 in
    /// IFTP-W, whose acknowledgements have no coverage.
    pub const fn ack_length(self) -> usize {
        match (self.partial, self.wide_stamp) {
            (true, false) => 10,
            (true, true) => 12,
            (false, _) => self.data_header(),
        }
    }

    /// Returns the tick of the timestamp in nanoseconds: a millisecond, or a microsecond with a
    /// wide stamp.
    pub const fn tick_nanos(self) -> u64 {
        if self.wide_stamp { 1_000 } else { 1_000_000 }
    }

    /// Returns the timestamp for `time` in whole ticks, modulo the width of the field.
    pub const fn stamp(self, time: Time) -> u32 {
        let ticks = time.as_nanos() / self.tick_nanos();
        if self.wide_stamp {
            ticks as u32
        } else {
            ticks as u16 as u32
        }
    }

    /// Returns the latest tick up to `now` with this timestamp. A round trip longer than the
    /// stamp's period appears shorter by whole periods.
    pub fn expand_stamp(self, stamp: u32, now: Time) -> Time {
        let ticks = now.as_nanos() / self.tick_nanos();
        let age = self.stamp(now).wrapping_sub(stamp);
        let age = if self.wide_stamp {
            u64::from(age)
        } else {
            u64::from(age as u16)
        };
        Time::from_nanos(ticks.saturating_sub(age) * self.tick_nanos())
    }

    /// Writes the header of a data packet into the beginning of `packet`, which already holds the
    /// payload. The checksum covers the first `coverage` bytes (0 for all), and `pseudo`, the
    /// pseudo-header of the network layer.
    ///
    /// # Errors
    /// Returns an error if the packet is too short or long, the coverage illegal, or the timestamp
    /// too wide.
    pub fn encode_data(
        self,
        header: &Header,
        coverage: u16,
        packet: &mut [u8],
        pseudo: Sum,
    ) -> Result<(), PacketError> {
        let length = check_length(packet.len(), self.data_header())?;
        let last = if self.partial {
            coverage
        } else if coverage == 0 || coverage == length {
            length
        } else {
            return Err(PacketError::NoCoverage);
        };
        let covered = self.covered(coverage, packet.len())?;
        self.encode(header, Some(last), packet, covered, pseudo)
    }

    /// Writes an acknowledgement into the beginning of `packet` and returns its length in bytes.
    ///
    /// # Errors
    /// Returns an error if `packet` is too short, or the timestamp too wide.
    pub fn encode_ack(
        self,
        header: &Header,
        packet: &mut [u8],
        pseudo: Sum,
    ) -> Result<usize, PacketError> {
        let length = self.ack_length();
        let found = packet.len();
        let Some(packet) = packet.get_mut(..length) else {
            return Err(PacketError::TooShort {
                found,
                header: length,
            });
        };
        let last = (!self.partial).then_some(length as u16);
        self.encode(header, last, packet, length, pseudo)?;
        Ok(length)
    }

    /// Decodes a data packet into its header and the number of bytes that the checksum covered. The
    /// payload begins after [`Self::data_header`] bytes.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a packet of this format, or a covered byte is damaged.
    pub fn decode_data(self, packet: &[u8], pseudo: Sum) -> Result<(Header, usize), PacketError> {
        let length = check_length(packet.len(), self.data_header())?;
        let field = word(packet, self.last_field());
        let covered = if self.partial {
            self.covered(field, packet.len())?
        } else if field == length {
            packet.len()
        } else {
            let found = packet.len();
            return Err(PacketError::Length { field, found });
        };
        let header = self.decode(packet, covered, pseudo)?;
        Ok((header, covered))
    }

    /// Decodes an acknowledgement.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an acknowledgement of this format, or are damaged.
    pub fn decode_ack(self, packet: &[u8], pseudo: Sum) -> Result<Header, PacketError> {
        let (found, length) = (packet.len(), self.ack_length());
        check_length(found, length)?;
        if found > length {
            return Err(PacketError::Payload(found - length));
        }
        if !self.partial {
            let field = word(packet, self.last_field());
            if usize::from(field) != found {
                return Err(PacketError::Length { field, found });
            }
        }
        self.decode(packet, found, pseudo)
    }

    /// Returns the offset of the length or coverage field.
    const fn last_field(self) -> usize {
        if self.wide_stamp { 12 } else { 10 }
    }

    /// Returns the number of bytes that a coverage field means, if it is valid.
    fn covered(self, field: u16, packet: usize) -> Result<usize, PacketError> {
        let header = self.data_header();
        match usize::from(field) {
            0 => Ok(packet),
            covered if (header..=packet).contains(&covered) => Ok(covered),
            _ => Err(PacketError::Coverage {
                field,
                header,
                packet,
            }),
        }
    }

    fn encode(
        self,
        header: &Header,
        last: Option<u16>,
        packet: &mut [u8],
        covered: usize,
        pseudo: Sum,
    ) -> Result<(), PacketError> {
        put(packet, 0, header.source_port);
        put(packet, 2, header.destination_port);
        put(packet, 4, header.number);
        put(packet, 6, 0);
        match (self.wide_stamp, u16::try_from(header.stamp)) {
            (true, _) => {
                put(packet, 8, (header.stamp >> 16) as u16);
                put(packet, 10, header.stamp as u16);
            }
            (false, Ok(stamp)) => put(packet, 8, stamp),
            (false, Err(_)) => return Err(PacketError::Stamp(header.stamp)),
        }
        if let Some(last) = last {
            put(packet, self.last_field(), last);
            if self.wide_stamp {
                put(packet, 14, 0);
            }
        }
        put(packet, 6, pseudo.with(&packet[..covered]).checksum());
        Ok(())
    }

    /// Returns the header, if the checksum matches. All lengths have been checked.
    fn decode(self, packet: &[u8], covered: usize, pseudo: Sum) -> Result<Header, PacketError> {
        if word(packet, 6) == 0 {
            return Err(PacketError::NoChecksum);
        }
        if !pseudo.with(&packet[..covered]).is_valid() {
            return Err(PacketError::Checksum);
        }
        let high = u32::from(word(packet, 8));
        Ok(Header {
            source_port: word(packet, 0),
            destination_port: word(packet, 2),
            number: word(packet, 4),
            stamp: if self.wide_stamp {
                high << 16 | u32::from(word(packet, 10))
            } else {
                high
            },
        })
    }
}

/// Expands a 16-bit packet number to the full number nearest to `near`. If two are equally near,
/// returns the larger.
pub const fn expand_number(number: u16, near: u64) -> u64 {
    const HALF: u64 = 1 << 15;
    let ahead = number.wrapping_sub(near as u16) as u64;
    if ahead <= HALF {
        near.saturating_add(ahead)
    } else {
        let behind = (1 << 16) - ahead;
        // No number is below 0, the first one.
        if behind > near {
            near.saturating_add(ahead)
        } else {
            near - behind
        }
    }
}

fn check_length(found: usize, header: usize) -> Result<u16, PacketError> {
    if found < header {
        return Err(PacketError::TooShort { found, header });
    }
    u16::try_from(found).map_err(|_| PacketError::TooLong(found))
}

fn put(packet: &mut [u8], at: usize, value: u16) {
    packet[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}
