//! Encodes packets computed by hand, and checks properties of any packet.

use proptest::prelude::*;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

use crate::Time;
use crate::iftp::packet::{Format, Header, PacketError, Sum, expand_number};

const FORMATS: [Format; 4] = [
    Format::IFTP,
    Format::IFTP_W,
    Format {
        partial: false,
        wide_stamp: true,
    },
    Format {
        partial: true,
        wide_stamp: true,
    },
];
const HEADER: Header = Header {
    source_port: 0x1234,
    destination_port: 0x5678,
    number: 0x9ABC,
    stamp: 0x0102,
};

/// 1234 + 5678 + 9abc + 0102 + 000e + 4142 = 145ba (all but the checksum), 45bb, complement ba44.
#[test]
fn fig_6_by_hand() {
    let mut packet = [0; 14];
    packet[12..].copy_from_slice(b"AB");
    let encoded = Format::IFTP.encode_data(&HEADER, 0, &mut packet, Sum::default());
    assert_eq!(encoded, Ok(()));
    let expected = [
        0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xBA, 0x44, 0x01, 0x02, 0x00, 0x0E, 0x41, 0x42,
    ];
    assert_eq!(packet, expected);
    let decoded = Format::IFTP.decode_data(&packet, Sum::default());
    assert_eq!(decoded, Ok((HEADER, 14)));
}

/// Like the previous test, with a coverage of 12 instead of the length, and without the payload:
/// 1234 + 5678 + 9abc + 0102 + 000c = 10476, 0477, complement fb88. The acknowledgement: 1234 +
/// 5678 + 9abc + 0102 = 1046a, 046b, fb94.
#[test]
fn fig_7_by_hand() {
    let mut packet = [0xFF; 14];
    let encoded = Format::IFTP_W.encode_data(&HEADER, 12, &mut packet, Sum::default());
    assert_eq!(encoded, Ok(()));
    let expected = [
        0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xFB, 0x88, 0x01, 0x02, 0x00, 0x0C, 0xFF, 0xFF,
    ];
    assert_eq!(packet, expected);
    let mut ack = [0; 10];
    assert_eq!(
        Format::IFTP_W.encode_ack(&HEADER, &mut ack, Sum::default()),
        Ok(10)
    );
    let expected = [0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xFB, 0x94, 0x01, 0x02];
    assert_eq!(ack, expected);
    assert_eq!(Format::IFTP_W.decode_ack(&ack, Sum::default()), Ok(HEADER));
}

#[test]
fn wide_stamps_by_hand() {
    let header = Header {
        stamp: 0x0102_0304,
        ..HEADER
    };
    let mut packet = [0xFF; 17];
    assert_eq!(
        FORMATS[3].encode_data(&header, 16, &mut packet, Sum::default()),
        Ok(())
    );
    assert_eq!(packet[8..], [1, 2, 3, 4, 0, 16, 0, 0, 0xFF]);
    assert_eq!(
        FORMATS[3].decode_data(&packet, Sum::default()),
        Ok((header, 16))
    );
    let lengths = FORMATS.map(|format| (format.data_header(), format.ack_length()));
    assert_eq!(lengths, [(12, 12), (12, 10), (16, 16), (16, 12)]);
}

#[test]
fn errors_say_what_is_wrong() {
    let mut packet = [0; 20];
    let complaint = |result: Result<_, PacketError>| {
        result.map(|_: (Header, usize)| ()).unwrap_err().to_string()
    };
    let none = Sum::default();
    assert_eq!(
        complaint(Format::IFTP.decode_data(&packet[..11], none)),
        "11 bytes cannot hold a header of 12"
    );
    assert_eq!(
        complaint(Format::IFTP.decode_data(&packet, none)),
        "the length field says 0 bytes, but the packet has 20"
    );
    assert_eq!(
        complaint(Format::IFTP_W.decode_data(&packet, none)),
        "the checksum is zero, which no sender may send"
    );
    for illegal in [1, 11, 21, u16::MAX] {
        packet[10..12].copy_from_slice(&illegal.to_be_bytes());
        let expected = std::format!(
            "a coverage of {illegal} bytes is illegal: it must be 0 or from 12, the header, to 20, the packet"
        );
        assert_eq!(
            complaint(Format::IFTP_W.decode_data(&packet, none)),
            expected
        );
        let encoded = Format::IFTP_W.encode_data(&HEADER, illegal, &mut [0; 20], none);
        assert_eq!(encoded.unwrap_err().to_string(), expected);
    }
    assert_eq!(
        Format::IFTP.encode_data(&HEADER, 12, &mut packet, none),
        Err(PacketError::NoCoverage)
    );
    assert_eq!(
        Format::IFTP.encode_data(&HEADER, 0, &mut vec![0; 65_536], none),
        Err(PacketError::TooLong(65_536))
    );
    let wide = Header {
        stamp: 65_536,
        ..HEADER
    };
    assert_eq!(
        Format::IFTP.encode_ack(&wide, &mut packet, none),
        Err(PacketError::Stamp(65_536))
    );
    assert_eq!(
        Format::IFTP_W.decode_ack(&[1; 12], none),
        Err(PacketError::Payload(2))
    );
}

/// A computed checksum of 0 is sent as all ones. The source port and the coverage add up to ffff,
/// and all else is 0.
#[test]
fn a_checksum_of_zero_is_sent_as_all_ones() {
    let header = Header {
        source_port: 0xFFFF - 12,
        ..Header::default()
    };
    let mut packet = [0; 12];
    assert_eq!(
        Format::IFTP_W.encode_data(&header, 12, &mut packet, Sum::default()),
        Ok(())
    );
    assert_eq!(packet[6..8], [0xFF, 0xFF]);
    assert_eq!(
        Format::IFTP_W.decode_data(&packet, Sum::default()),
        Ok((header, 12))
    );
}

/// UDP-Lite does not detect this error either. The coverage changes from 12 to 14, and the two
/// added bytes equal the error of the field in one's complement.
#[test]
fn a_flipped_coverage_field_can_go_unnoticed() {
    let mut packet = [0; 14];
    packet[12..].copy_from_slice(&(!2u16).to_be_bytes());
    assert_eq!(
        Format::IFTP_W.encode_data(&HEADER, 12, &mut packet, Sum::default()),
        Ok(())
    );
    packet[11] ^= 2;
    assert_eq!(
        Format::IFTP_W.decode_data(&packet, Sum::default()),
        Ok((HEADER, 14))
    );
}

#[test]
fn numbers_and_stamps_wrap() {
    assert_eq!(expand_number(3, 65_530), 65_539);
    assert_eq!(expand_number(65_530, 65_539), 65_530);
    assert_eq!(expand_number(65_530, 3), 65_530);
    assert_eq!(expand_number(0, u64::MAX), u64::MAX);
    let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
    for format in FORMATS {
        let sent = at(10_000_000);
        assert_eq!(
            format.expand_stamp(format.stamp(sent), at(10_060_000)),
            sent
        );
    }
    // 66 s later, the packet seems to be 464 ms old.
    let stamp = Format::IFTP.stamp(at(100_000));
    assert_eq!(Format::IFTP.expand_stamp(stamp, at(166_000)), at(165_536));
}

fn header(format: Format) -> impl Strategy<Value = Header> {
    (any::<(u16, u16, u16)>(), any::<u32>()).prop_map(
        move |((source_port, destination_port, number), stamp)| Header {
            source_port,
            destination_port,
            number,
            stamp: if format.wide_stamp {
                stamp
            } else {
                stamp & 0xFFFF
            },
        },
    )
}

/// Draws a packet of any format, as encoded, and how much its checksum covers.
fn packet() -> impl Strategy<Value = (Format, Header, Vec<u8>, usize, Sum)> {
    (0..4usize).prop_flat_map(|index| {
        let format = FORMATS[index];
        let payload = proptest::collection::vec(any::<u8>(), 0..80);
        let addresses = any::<([u8; 4], [u8; 4])>();
        (
            header(format),
            payload,
            any::<prop::sample::Index>(),
            addresses,
        )
            .prop_map(move |(header, payload, covered, (source, destination))| {
                let mut bytes = vec![0; format.data_header()];
                bytes.extend(payload);
                let length = bytes.len() as u16;
                let least = format.data_header();
                let covered = if format.partial {
                    least + covered.index(bytes.len() - least + 1)
                } else {
                    bytes.len()
                };
                let pseudo = Sum::ipv4(source, destination, 253, length);
                let encoded = format.encode_data(&header, covered as u16, &mut bytes, pseudo);
                assert_eq!(encoded, Ok(()));
                (format, header, bytes, covered, pseudo)
            })
    })
}

proptest! {
    #[test]
    fn what_is_encoded_decodes((format, header, bytes, covered, pseudo) in packet()) {
        prop_assert_eq!(format.decode_data(&bytes, pseudo), Ok((header, covered)));
        let mut ack = [0xA5; 16];
        let length = format.encode_ack(&header, &mut ack, pseudo).unwrap();
        prop_assert_eq!(format.decode_ack(&ack[..length], pseudo), Ok(header));
        for bit in 0..length * 8 {
            ack[bit / 8] ^= 0x80 >> (bit % 8);
            prop_assert!(format.decode_ack(&ack[..length], pseudo).is_err(), "bit {}", bit);
            ack[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }

    /// Every flipped bit inside the coverage is detected, and none outside. The coverage field is
    /// an exception, see above.
    #[test]
    fn flipped_bits((format, header, mut bytes, covered, pseudo) in packet()) {
        let field = if format.wide_stamp { 12..14 } else { 10..12 };
        for bit in 0..bytes.len() * 8 {
            let byte = bit / 8;
            if format.partial && field.contains(&byte) {
                continue;
            }
            bytes[byte] ^= 0x80 >> (bit % 8);
            let decoded = format.decode_data(&bytes, pseudo);
            if byte < covered {
                prop_assert!(decoded.is_err(), "bit {}", bit);
            } else {
                prop_assert_eq!(decoded, Ok((header, covered)));
            }
            bytes[byte] ^= 0x80 >> (bit % 8);
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(index in 0..4usize, bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let format = FORMATS[index];
        if let Ok((header, covered)) = format.decode_data(&bytes, Sum::default()) {
            prop_assert!((format.data_header()..=bytes.len()).contains(&covered));
            prop_assert!(format.wide_stamp || header.stamp <= 0xFFFF);
        }
        let _ = format.decode_ack(&bytes, Sum::default());
    }

    #[test]
    fn numbers_come_back(near in any::<u32>(), ahead in -32_000..32_000i64) {
        let number = u64::from(near).saturating_add_signed(ahead);
        prop_assert_eq!(expand_number(number as u16, near.into()), number);
    }
}
