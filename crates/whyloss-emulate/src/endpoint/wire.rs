//! The protocol between `whyloss send` and `whyloss recv`, in datagrams of UDP or UDP-Lite.
//!
//! ```text
//!  0                   1                   2                   3
//! +-------------------+-------------------+---------+---------+
//! |        "WL"       |  version, kind    |      session      |   all but IFTP's packets
//! +-------------------+-------------------+-------------------+
//!
//! sender                               receiver
//!   Hello: its request      64 bytes ──→
//!                           ←── 16 bytes   Cookie: a keyed hash of address and request; no state
//!                                          is kept
//!   Start: with the cookie  64 bytes ──→
//!                            ←── 8 bytes   Accept
//!   Data …                           ──→
//!                                    ←──   Feedback …
//!   End                              ──→
//!                                    ←──   Ended
//!                                    ←──   Reset: why there is no such session
//! ```
//!
//! Numbers are big-endian, and times are in nanoseconds. The cookie proves the sender's address.
//! Before the sender has returned it, the receiver sends no more bytes than it got. A `Reset` is
//! shorter than the datagram that it answers. Sequence numbers start at the sender's first number
//! and wrap. IFTP's packets are those of `docs/reference/iftp.md` with a timestamp of 32 bits. The
//! fields of their two ports, which UDP already has, hold the session.

use etherparse::IpNumber;
use whyloss::iftp::packet::{Format, Sum};
use whyloss::tfrc::{Data, Feedback};
use whyloss::{Duration, Time};

/// The IP protocol number of UDP-Lite (RFC 3828).
pub const UDP_LITE: IpNumber = IpNumber(136);

/// The size of the headers of IPv4 and UDP, in bytes.
pub const BELOW: u32 = 28;

/// The number of bytes before the payload of a TFRC data packet.
pub const DATA_HEADER: usize = 52;

const MAGIC: [u8; 2] = *b"WL";
const VERSION: u8 = 1;
const COMMON: usize = 8;
/// The size of a [`Message::Hello`] and of a [`Message::Start`], in bytes.
const OPENING: usize = 64;

/// The terms of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The session's number, which its packets carry.
    pub session: u32,
    /// The transport of the session.
    pub carrier: Carrier,
    /// The size of a data packet in bytes, with the headers of IPv4 and UDP.
    pub packet: u16,
    /// The number of bytes of a data packet that a checksum covers.
    pub coverage: u16,
    /// The sequence number of the first packet.
    pub first: u32,
    /// Whether payloads are [`pattern`](super::pattern)s that the receiver can check.
    pub pattern: bool,
}

/// The transport of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// The transport is TFRC.
    Tfrc,
    /// The transport is IFTP, IFTP-W or one of their variants with a classifier.
    Iftp,
}

/// Explains why there is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The receiver does not know the session: it was restarted, or has given up the sender.
    Unknown,
    /// Another session is in progress.
    Busy,
    /// The receiver expects another transport.
    Carrier,
}

/// A control message between the two ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The sender requests a session.
    Hello(Terms),
    /// The receiver requests proof that its datagrams reach the sender.
    Cookie(u64),
    /// The sender returns the cookie.
    Start(Terms, u64),
    /// The receiver accepts the session.
    Accept,
    /// The sender has sent everything.
    End {
        /// The number of packets sent.
        packets: u64,
        /// The number of payload bytes sent.
        bytes: u64,
        /// The digest of the whole payload.
        digest: u64,
    },
    /// The receiver confirms the end.
    Ended {
        /// The number of packets that arrived.
        packets: u64,
        /// The number of packets whose payload differs from what was sent.
        wrong: u64,
    },
    /// The receiver rejects a datagram, because there is no such session.
    Reset(Refusal),
}

/// A data packet of TFRC, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfrcData {
    /// The packet's sequence number, modulo 2³².
    pub number: u32,
    /// The TFRC header. `number` replaces its [`Data::sequence`].
    pub data: Data,
    /// A digest of the payload.
    pub check: u32,
}

/// A feedback packet of TFRC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcFeedback {
    /// The sequence number of the data packet that this packet answers.
    pub number: u32,
    /// The contents of the report.
    pub feedback: Feedback,
}

const HELLO: u8 = 1;
const COOKIE: u8 = 2;
const START: u8 = 3;
const ACCEPT: u8 = 4;
const DATA: u8 = 5;
const FEEDBACK: u8 = 6;
const END: u8 = 7;
const ENDED: u8 = 8;
const RESET: u8 = 9;

/// Writes one field after another.
struct Put(Vec<u8>);

impl Put {
    fn begin(kind: u8, session: u32) -> Self {
        let mut put = Self(Vec::with_capacity(OPENING));
        put.0.extend([MAGIC[0], MAGIC[1], VERSION, kind]);
        put.u32(session);
        put
    }

    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend(value.to_be_bytes());
    }

    fn span(&mut self, value: Duration) {
        self.0.extend(value.as_nanos().to_be_bytes());
    }
}

/// Reads one field after another.
struct Take<'a>(&'a [u8]);

impl Take<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.bytes().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_be_bytes)
    }

    fn time(&mut self) -> Option<Time> {
        self.u64().map(Time::from_nanos)
    }

    fn span(&mut self) -> Option<Duration> {
        self.bytes()
            .map(|bytes| Duration::from_nanos(i64::from_be_bytes(bytes)))
    }
}

/// Returns the session and the kind of a packet other than IFTP's, and its remaining bytes.
fn open(packet: &[u8]) -> Option<(u32, u8, Take<'_>)> {
    let mut take = Take(packet);
    let magic: [u8; 2] = take.bytes()?;
    let (version, kind) = (take.u8()?, take.u8()?);
    let session = take.u32()?;
    (magic == MAGIC && version == VERSION).then_some((session, kind, take))
}

/// Returns whether a session number differs from the beginning of a control message, so that IFTP's
/// packets can carry it.
pub fn is_session(number: u32) -> bool {
    number >> 16 != u32::from(u16::from_be_bytes(MAGIC))
}

impl Message {
    /// Encodes the message as a datagram of `session`.
    pub fn encode(&self, session: u32) -> Vec<u8> {
        let mut put;
        match *self {
            Self::Hello(terms) => put = terms.encode(HELLO, 0),
            Self::Start(terms, cookie) => put = terms.encode(START, cookie),
            Self::Cookie(cookie) => {
                put = Put::begin(COOKIE, session);
                put.u64(cookie);
            }
            Self::Accept => put = Put::begin(ACCEPT, session),
            Self::End {
                packets,
                bytes,
                digest,
            } => {
                put = Put::begin(END, session);
                put.u64(packets);
                put.u64(bytes);
                put.u64(digest);
            }
            Self::Ended { packets, wrong } => {
                put = Put::begin(ENDED, session);
                put.u64(packets);
                put.u64(wrong);
            }
            Self::Reset(refusal) => {
                put = Put::begin(RESET, session);
                put.u8(match refusal {
                    Refusal::Unknown => 0,
                    Refusal::Busy => 1,
                    Refusal::Carrier => 2,
                });
            }
        }
        put.0
    }

    /// Decodes a control message and its session; `None` if the bytes are not a control message.
    pub fn decode(packet: &[u8]) -> Option<(u32, Self)> {
        let (session, kind, mut take) = open(packet)?;
        let message = match kind {
            HELLO | START => {
                if packet.len() != OPENING {
                    return None;
                }
                let (terms, cookie) = Terms::decode(session, &mut take)?;
                if kind == HELLO {
                    Self::Hello(terms)
                } else {
                    Self::Start(terms, cookie)
                }
            }
            COOKIE => Self::Cookie(take.u64()?),
            ACCEPT => Self::Accept,
            END => Self::End {
                packets: take.u64()?,
                bytes: take.u64()?,
                digest: take.u64()?,
            },
            ENDED => Self::Ended {
                packets: take.u64()?,
                wrong: take.u64()?,
            },
            RESET => Self::Reset(match take.u8()? {
                0 => Refusal::Unknown,
                1 => Refusal::Busy,
                2 => Refusal::Carrier,
                _ => return None,
            }),
            _ => return None,
        };
        Some((session, message))
    }
}

impl Terms {
    fn encode(self, kind: u8, cookie: u64) -> Put {
        let mut put = Put::begin(kind, self.session);
        put.u64(cookie);
        put.u8(match self.carrier {
            Carrier::Tfrc => 0,
            Carrier::Iftp => 1,
        });
        put.u8(u8::from(self.pattern));
        put.u16(self.packet);
        put.u16(self.coverage);
        put.u32(self.first);
        put.0.resize(OPENING, 0);
        put
    }

    fn decode(session: u32, take: &mut Take<'_>) -> Option<(Self, u64)> {
        let cookie = take.u64()?;
        let carrier = match take.u8()? {
            0 => Carrier::Tfrc,
            1 => Carrier::Iftp,
            _ => return None,
        };
        let pattern = match take.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let (packet, coverage, first) = (take.u16()?, take.u16()?, take.u32()?);
        Some((
            Self {
                session,
                carrier,
                packet,
                coverage,
                first,
                pattern,
            },
            cookie,
        ))
    }
}

impl TfrcData {
    /// Encodes the packet with its payload.
    pub fn encode(&self, session: u32, payload: &[u8]) -> Vec<u8> {
        let mut put = Put::begin(DATA, session);
        put.u32(self.number);
        put.u64(self.data.stamp.as_nanos());
        put.span(self.data.rtt);
        put.span(self.data.t_rto);
        put.u32(self.data.round);
        put.u32(u32::from(self.data.urgent));
        put.u32(self.check);
        put.u32(0);
        debug_assert_eq!(put.0.len(), DATA_HEADER, "DATA_HEADER counts the fields");
        put.0.extend(payload);
        put.0
    }

    /// Decodes a data packet into its session, fields and payload; `None` if the bytes are not a
    /// data packet.
    pub fn decode(packet: &[u8]) -> Option<(u32, Self, &[u8])> {
        let (session, DATA, mut take) = open(packet)? else {
            return None;
        };
        let number = take.u32()?;
        let (stamp, rtt, t_rto) = (take.time()?, take.span()?, take.span()?);
        let (round, urgent, check, _) = (take.u32()?, take.u32()? == 1, take.u32()?, take.u32()?);
        let data = Data {
            sequence: 0,
            stamp,
            rtt,
            t_rto,
            round,
            urgent,
        };
        Some((
            session,
            Self {
                number,
                data,
                check,
            },
            &packet[DATA_HEADER..],
        ))
    }
}

impl TfrcFeedback {
    /// Returns the bytes of the packet in session `session`.
    pub fn encode(&self, session: u32) -> Vec<u8> {
        let mut put = Put::begin(FEEDBACK, session);
        put.u32(self.number);
        put.u64(self.feedback.echo.as_nanos());
        put.span(self.feedback.hold);
        put.u64(self.feedback.receive_rate.to_bits());
        put.u64(self.feedback.loss_event_rate.to_bits());
        put.u32(u32::from(self.feedback.new_loss_event));
        put.0
    }

    /// Decodes a feedback packet and its session; `None` if the bytes are not feedback.
    pub fn decode(packet: &[u8]) -> Option<(u32, Self)> {
        let (session, FEEDBACK, mut take) = open(packet)? else {
            return None;
        };
        let number = take.u32()?;
        let feedback = Feedback {
            echo: take.time()?,
            hold: take.span()?,
            receive_rate: f64::from_bits(take.u64()?),
            loss_event_rate: f64::from_bits(take.u64()?),
            new_loss_event: take.u32()? == 1,
        };
        Some((session, Self { number, feedback }))
    }
}

/// Returns the format of IFTP's packets in this protocol. Timestamps have 32 bits; with `partial`,
/// packets have a coverage (IFTP-W).
pub fn iftp_format(partial: bool) -> Format {
    Format {
        partial,
        wide_stamp: true,
    }
}

/// Returns the sequence number of the data packet of TFRC or IFTP in a datagram's payload, as sent.
/// Returns `None` for other payloads.
pub fn sequence_of(payload: &[u8]) -> Option<u32> {
    if let Some((_, data, _)) = TfrcData::decode(payload) {
        return Some(data.number);
    }
    // Only its length or its zeros, and its checksum, identify an IFTP packet.
    let zeros = payload.get(14..16)? == [0, 0];
    let read = |partial| {
        iftp_format(partial)
            .decode_data(payload, Sum::default())
            .ok()
    };
    let header = read(false)
        .or_else(|| read(true))
        .filter(|_| zeros && open(payload).is_none())?;
    Some(u32::from(header.0.number))
}

/// Expands a 32-bit sequence number. Returns the offset from `first` that is nearest to `near` and
/// matches `wire` modulo 2³², or `None` if it is negative.
pub fn expand(wire: u32, first: u32, near: u64) -> Option<u64> {
    let ahead = wire.wrapping_sub(first).wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(ahead))
}

/// Expands a 16-bit packet number of IFTP. Returns the offset from `first` that is nearest to `near`
/// and matches `wire` modulo 2¹⁶, or `None` if it is negative.
pub fn expand_short(wire: u16, first: u32, near: u64) -> Option<u64> {
    let ahead = wire.wrapping_sub(first as u16).wrapping_sub(near as u16) as i16;
    near.checked_add_signed(i64::from(ahead))
}

/// The size of an opening message in bytes; the answer to it may not be longer.
pub const LARGEST_UNPROVEN: usize = COMMON + 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms() -> Terms {
        Terms {
            session: 0xdead_beef,
            carrier: Carrier::Iftp,
            packet: 762,
            coverage: 60,
            first: u32::MAX - 1,
            pattern: true,
        }
    }

    #[test]
    fn messages_come_back() {
        let messages = [
            Message::Hello(terms()),
            Message::Start(terms(), 7),
            Message::Cookie(u64::MAX),
            Message::Accept,
            Message::End {
                packets: 1,
                bytes: 2,
                digest: 3,
            },
            Message::Ended {
                packets: 1,
                wrong: 0,
            },
            Message::Reset(Refusal::Busy),
        ];
        for message in messages {
            let bytes = message.encode(0xdead_beef);
            assert_eq!(Message::decode(&bytes), Some((0xdead_beef, message)));
            assert!(sequence_of(&bytes).is_none());
        }
        // An answer to an unproven address is shorter than the request.
        let opening = Message::Hello(terms()).encode(0).len();
        for answer in [
            Message::Cookie(0),
            Message::Accept,
            Message::Reset(Refusal::Unknown),
        ] {
            assert!(answer.encode(0).len() <= LARGEST_UNPROVEN.min(opening));
        }
    }

    #[test]
    fn numbers_wrap() {
        assert_eq!(expand(3, u32::MAX - 1, 0), Some(5));
        assert_eq!(expand(u32::MAX - 1, u32::MAX - 1, 3), Some(0));
        assert_eq!(expand(u32::MAX - 2, u32::MAX - 1, 3), None);
        assert_eq!(expand(4, 0, (5 << 32) + 7), Some((5 << 32) + 4));
        assert_eq!(expand_short(2, 0xFFFF, 0x1_0000), Some(0x1_0003));
        assert_eq!(expand_short(0xFFFE, 0xFFFF, 0), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut whole = vec![b'W', b'L', 1];
            whole.extend(&bytes);
            for packet in [&bytes[..], &whole] {
                Message::decode(packet);
                TfrcData::decode(packet);
                TfrcFeedback::decode(packet);
                sequence_of(packet);
            }
        }

        #[test]
        fn data_comes_back(number: u32, stamp: u64, round: u32, urgent: bool, payload in prop::collection::vec(any::<u8>(), 0..50)) {
            let data = Data {
                sequence: 0,
                stamp: Time::from_nanos(stamp),
                rtt: Duration::from_millis(100),
                t_rto: Duration::from_millis(400),
                round,
                urgent,
            };
            let packet = TfrcData { number, data, check: 9 };
            let bytes = packet.encode(5, &payload);
            prop_assert_eq!(TfrcData::decode(&bytes), Some((5, packet, &payload[..])));
            prop_assert_eq!(sequence_of(&bytes), Some(number));
            let feedback = Feedback {
                echo: Time::from_nanos(stamp),
                hold: Duration::from_nanos(3),
                receive_rate: 1e5,
                loss_event_rate: 0.25,
                new_loss_event: urgent,
            };
            let packet = TfrcFeedback { number, feedback };
            prop_assert_eq!(TfrcFeedback::decode(&packet.encode(5)), Some((5, packet)));
        }
    }
}
