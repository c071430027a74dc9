//! Parses the header of RTP (RFC 3550, section 5.1), as far as it was captured.

/// The header fields that matter for losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) payload_type: u8,
    pub(super) sequence: u16,
    pub(super) stamp: u32,
    pub(super) ssrc: u32,
}

impl Header {
    /// Reads the fixed part of the header; `None` if the datagram cannot be RTP. `length` is the
    /// datagram's length; `bytes` may be a part of the datagram.
    pub(super) fn read(bytes: &[u8], length: u32) -> Option<Self> {
        let fixed = bytes.get(..12)?;
        let word = |at: usize| {
            u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
        };
        let sources = u32::from(fixed[0] & 15);
        let payload_type = fixed[1] & 0x7f;
        // RTCP's types 192 to 223 look like these payload types with a marker (RFC 5761, section
        // 4).
        let rtcp = (64..96).contains(&payload_type);
        let whole = length > 12 + 4 * sources;
        (fixed[0] >> 6 == 2 && !rtcp && whole).then(|| Self {
            payload_type,
            sequence: u16::from_be_bytes([fixed[2], fixed[3]]),
            stamp: word(4),
            ssrc: word(8),
        })
    }
}

/// Returns whether a datagram looks like RTCP (RFC 5761, section 4).
pub(super) fn is_rtcp(bytes: &[u8]) -> bool {
    bytes.len() >= 8 && bytes[0] >> 6 == 2 && (192..224).contains(&bytes[1])
}

/// Returns the transport-wide number of the packet; `None` if it has none.
///
/// The number is found as the only two-byte extension in use
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01), because a capture lacks the signalling
/// that assigns its identifier. Elements have one byte of header (RFC 8285, section 4.2).
pub(super) fn transport_number(bytes: &[u8]) -> Option<u16> {
    const ONE_BYTE: [u8; 2] = [0xbe, 0xde];
    let first = *bytes.first()?;
    let at = 12 + 4 * usize::from(first & 15);
    let extension = bytes.get(at..).filter(|_| first >> 4 & 1 == 1)?;
    let words = usize::from(u16::from_be_bytes([*extension.get(2)?, *extension.get(3)?]));
    let extension = extension
        .get(..2)
        .filter(|kind| *kind == ONE_BYTE)
        .and(extension.get(4..))?;
    let mut elements = &extension[..extension.len().min(4 * words)];
    while let [head, rest @ ..] = elements {
        let length = usize::from(head & 15) + 1;
        match head >> 4 {
            0 => elements = rest,
            15 => return None,
            _ if length == 2 => return Some(u16::from_be_bytes([*rest.first()?, *rest.get(1)?])),
            _ => elements = rest.get(length..)?,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_what_only_looks_like_one() {
        let mut bytes = vec![0x90, 0xe0, 0, 7, 0, 0, 0, 9, 1, 2, 3, 4];
        // The extension has an audio level (one byte), padding, and the number.
        bytes.extend([0xbe, 0xde, 0, 2, 0x10, 0x7f, 0, 0x51, 0x12, 0x34, 0, 0]);
        let header = Header::read(&bytes, 200).expect("a header");
        assert_eq!((header.payload_type, header.sequence), (96, 7));
        assert_eq!((header.stamp, header.ssrc), (9, 0x0102_0304));
        assert_eq!(transport_number(&bytes), Some(0x1234));
        assert_eq!(transport_number(&bytes[..21]), None);
        assert_eq!(Header::read(&bytes, 12), None);
        assert_eq!(Header::read(&[0x45; 20], 20), None);
        let report = [0x80, 200, 0, 1, 0, 0, 0, 1];
        assert!(is_rtcp(&report));
    }
}
