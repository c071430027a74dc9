//! Reads captures: blocks with pcap-file, headers with etherparse.

use std::fs::File;

use super::*;
use crate::host::datagrams::{Law, Pattern};
use crate::host::tcp;
use crate::packet::Payload;
use crate::scenario::{Flow, Transport};
use etherparse::{Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use pcap_file::pcapng::{Block, PcapNgReader};
use whyloss::{Duration, Rate, tfrc};
use whyloss_link::LinkSpec;

fn scenario(channel_before_queue: bool) -> Scenario {
    let transport = Transport::Datagrams {
        rate: Rate::default(),
        pattern: Pattern::Bursts {
            law: Law::Exponential,
            burst: Duration::ZERO,
            idle: Duration::ZERO,
        },
    };
    let flow = Flow::new("flow", (1, 0), 762, transport);
    let link = LinkSpec {
        rate: Rate::from_kbps(150),
        channel_before_queue,
        ..LinkSpec::default()
    };
    Scenario {
        nodes: vec!["b".to_owned(), "a".to_owned()],
        links: vec![Connection {
            name: "a->b".to_owned(),
            from: 1,
            to: 0,
            link,
        }],
        flows: vec![flow; 2],
        end: Time::from_nanos(5_000_000_000),
        ..Scenario::default()
    }
}

/// A frame as a reader finds it: time, length on the wire, bytes, comment.
type Found = (time::Duration, u32, Vec<u8>, Option<String>);

fn read_back(scenario: &Scenario, packets: &[(Time, Packet, usize, Fate)]) -> Vec<Found> {
    let directory = tempfile::tempdir().unwrap();
    let mut capture = Capture::create(scenario, directory.path()).unwrap();
    for (at, packet, waiting, fate) in packets {
        capture.on(&Event::Offered {
            link: 0,
            at: *at,
            packet,
            waiting: *waiting,
            fate: *fate,
            marked: false,
        });
    }
    capture.finish().unwrap();
    let file = File::open(directory.path().join("a-to-b.pcapng")).unwrap();
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let (Block::EnhancedPacket(packet), _) = block.unwrap() {
            let comment = packet.options.iter().find_map(|option| match option {
                EnhancedPacketOption::Common(CommonOption::Comment(text)) => Some(text.to_string()),
                _ => None,
            });
            found.push((
                packet.timestamp,
                packet.original_len,
                packet.data.to_vec(),
                comment,
            ));
        }
    }
    let interface = &reader.interfaces()[0];
    assert_eq!(
        (interface.linktype, interface.snaplen),
        (DataLink::RAW, SNAP_LENGTH)
    );
    assert_eq!(interface.ts_resolution(), InterfaceTsResolution::NANO);
    found
}

fn packet(flow: u32, size: u32, payload: Payload) -> Packet {
    Packet {
        hop: 0,
        flow,
        size,
        first_damaged: Packet::WHOLE,
        ecn: whyloss_link::Ecn::NotCapable,
        ecn_flag: false,
        copy: false,
        sent: Time::from_nanos(2_000_000),
        payload,
    }
}

fn draw(packet: Packet) -> (u32, Vec<u8>) {
    drawn(packet, None)
}

/// Encodes a packet of a flow with a coverage of 100 bytes; 20 of these are IPv4's header.
fn draw_covered(packet: Packet) -> (u32, Vec<u8>) {
    drawn(packet, Some(100))
}

fn drawn(packet: Packet, coverage: Option<u32>) -> (u32, Vec<u8>) {
    let at = Time::from_nanos(3);
    let mut scenario = scenario(false);
    scenario.flows[1].coverage = coverage;
    let (_, length, bytes, _) =
        read_back(&scenario, &[(at, packet, 0, Fate::Delivered(at))]).remove(0);
    (length, bytes)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|word| u64::from_be_bytes(word.try_into().unwrap()))
        .collect()
}

fn ip(bytes: &[u8]) -> (Ipv4Header, &[u8]) {
    let (header, rest) = Ipv4Header::from_slice(bytes).unwrap();
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    (header, rest)
}

#[test]
fn times_lengths_and_comments() {
    let datagram = packet(1, 762, Payload::Datagram(5));
    let at = |nanos| Time::from_nanos(nanos);
    let packets = [
        (at(1), datagram, 0, Fate::Delivered(at(9))),
        (
            at(1_000_000_001),
            datagram,
            5,
            Fate::Lost(Cause::Congestion, at(1_000_000_001)),
        ),
        (
            at(1_000_000_002),
            datagram,
            3,
            Fate::Lost(Cause::Wireless, at(1_040_640_002)),
        ),
        (
            at(5_000_000_001),
            datagram,
            0,
            Fate::Delivered(at(6_000_000_000)),
        ),
    ];
    let found = read_back(&scenario(false), &packets);
    let comments: Vec<_> = found
        .iter()
        .map(|(.., comment)| comment.as_deref())
        .collect();
    let congestion = Some("lost: congestion (queue full, 5 waiting)");
    assert_eq!(
        comments,
        [
            None,
            congestion,
            Some("lost: wireless (corrupted after transmission)")
        ]
    );
    let nanos: Vec<_> = found.iter().map(|(time, ..)| time.as_nanos()).collect();
    assert_eq!(nanos, [1, 1_000_000_001, 1_000_000_002]);
    assert!(
        found
            .iter()
            .all(|(_, length, bytes, _)| (*length, bytes.len()) == (762, 44))
    );
    let before = read_back(&scenario(true), &packets[2..3]).remove(0);
    assert_eq!(
        before.3.as_deref(),
        Some("lost: wireless (corrupted before the queue)")
    );
}

/// The bytes are those that `whyloss::iftp::packet` reads, under the experimental protocol number.
/// IFTP-W has the coverage behind IPv4's header; damage beyond it is not detected.
#[test]
fn iftp_packets() {
    use whyloss::iftp::packet::{Format, Header, Sum};
    use whyloss::iftp::{Ack, Data};
    // 70 s: the number of 16 bits and the milliseconds have wrapped.
    let stamp = Time::from_nanos(70_000_999_999);
    let sequence = 65_543;
    let forms: [(_, fn(Packet) -> _, _, _); 2] = [
        (Format::IFTP, draw, 742, 12),
        (Format::IFTP_W, draw_covered, 80, 10),
    ];
    for (format, draw, covered, length_of_ack) in forms {
        let data = Payload::IftpData(Data { sequence, stamp });
        let (length, bytes) = draw(packet(1, 762, data));
        let (header, rest) = ip(&bytes);
        assert_eq!((length, header.total_len), (762, 762));
        assert_eq!((header.protocol.0, rest.len()), (253, 12));
        let expected = Header {
            source_port: 49_153,
            destination_port: 49_152,
            number: 7,
            stamp: 70_000 - 65_536,
        };
        let mut whole = [rest, &[0; 742 - 12]].concat();
        let pseudo = Sum::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 253, 742);
        let read = |packet: &[u8]| format.decode_data(packet, pseudo);
        assert_eq!(read(&whole), Ok((expected, covered)));
        whole[covered..].fill(1);
        assert_eq!(read(&whole), Ok((expected, covered)));
        whole[covered - 1] = 1;
        assert!(read(&whole).is_err());
        let echo = stamp;
        let ack = Payload::IftpAck(Ack { sequence, echo });
        let (length, bytes) = draw(packet(1, 40, ack));
        let (header, rest) = ip(&bytes);
        assert_eq!(
            (length, header.total_len),
            (20 + u32::from(length_of_ack), 20 + length_of_ack)
        );
        let pseudo = Sum::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 253, length_of_ack);
        let expected = Header {
            source_port: 49_152,
            destination_port: 49_153,
            ..expected
        };
        assert_eq!(format.decode_ack(rest, pseudo), Ok(expected));
    }
}

/// Checks RFC 3168's bits: ECT(0) and CWR of a segment, CE, ECE of an acknowledgement. The header's
/// checksum is right.
#[test]
fn ecn_bits() {
    use whyloss_link::Ecn;
    let segment = tcp::Segment {
        sequence: 1,
        stamp: Time::from_nanos(2_000_000),
        retransmission: false,
    };
    let ack = tcp::Ack::default();
    let dressed = |payload, ecn, ecn_flag| {
        let (_, bytes) = draw(Packet {
            ecn,
            ecn_flag,
            ..packet(0, 762, payload)
        });
        let (header, rest) = ip(&bytes);
        assert_eq!(header.calc_header_checksum(), header.header_checksum);
        (header.ecn.value(), rest[13] & 0b1100_0000)
    };
    let segment = Payload::Segment(segment);
    assert_eq!(dressed(segment, Ecn::NotCapable, false), (0b00, 0));
    assert_eq!(dressed(segment, Ecn::Capable, true), (0b10, 0b1000_0000));
    assert_eq!(dressed(segment, Ecn::Marked, false), (0b11, 0));
    let ack = Payload::Ack(ack);
    assert_eq!(dressed(ack, Ecn::NotCapable, true), (0b00, 0b0100_0000));
}

/// UDP-Lite has the coverage in place of the length, and its checksum covers these bytes and the
/// pseudo-header (RFC 3828).
#[test]
fn udp_lite_packets() {
    use whyloss::iftp::packet::Sum;
    let (length, bytes) = draw_covered(packet(1, 762, Payload::Datagram(5)));
    let (header, rest) = ip(&bytes);
    assert_eq!((length, header.total_len), (762, 762));
    assert_eq!((header.protocol.0, rest.len()), (136, 8 + 16));
    let words16 = rest[..8].chunks_exact(2);
    let words16: Vec<u16> = words16
        .map(|word| u16::from_be_bytes([word[0], word[1]]))
        .collect();
    assert_eq!(words16[..3], [49_153, 49_152, 80]);
    assert_eq!(words(&rest[8..]), [5, 2_000_000]);
    let covered = [rest, &[0; 80 - 24]].concat();
    let pseudo = Sum::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 136, 742);
    assert!(pseudo.with(&covered).is_valid());
    // The checksum covers feedback completely, so it stays UDP.
    let feedback = Payload::TfrcFeedback(tfrc::Feedback {
        echo: Time::ZERO,
        hold: Duration::ZERO,
        receive_rate: 0.0,
        loss_event_rate: 0.0,
        new_loss_event: false,
    });
    let (_, bytes) = draw_covered(packet(1, 40, feedback));
    assert_eq!(ip(&bytes).0.protocol.0, 17);
}

/// A damaged packet is written with its original bytes; a comment reports the damage.
#[test]
fn damage_is_a_comment() {
    let datagram = packet(1, 762, Payload::Datagram(5));
    let at = Time::from_nanos(1);
    let found = [Fate::Delivered(at), Fate::Damaged(at, 3)]
        .map(|fate| read_back(&scenario(false), &[(at, datagram, 0, fate)]).remove(0));
    let [sent, damaged] = found;
    assert_eq!((sent.1, &sent.2), (damaged.1, &damaged.2));
    assert_eq!(sent.3, None);
    assert_eq!(
        damaged.3.as_deref(),
        Some("damaged: from bit 3 of the packet")
    );
}

#[test]
fn tfrc_fields() {
    let stamp = Time::from_nanos(2_000_000);
    let (rtt, t_rto) = (Duration::from_millis(60), Duration::ZERO);
    let data = tfrc::Data {
        sequence: 7,
        stamp,
        rtt,
        t_rto,
        round: 0,
        urgent: false,
    };
    let (length, bytes) = draw(packet(1, 762, Payload::TfrcData(data)));
    let (header, rest) = ip(&bytes);
    assert_eq!((length, header.total_len), (762, 762));
    assert_eq!(
        (header.source, header.destination),
        ([10, 0, 0, 2], [10, 0, 0, 1])
    );
    let (udp, rest) = UdpHeader::from_slice(rest).unwrap();
    assert_eq!(
        (udp.source_port, udp.destination_port, udp.length),
        (49_153, 49_152, 742)
    );
    assert_eq!(words(rest), [7, 2_000_000, 60_000_000]);
    let whole = [rest, &[0; 734 - 24]].concat();
    assert_eq!(
        udp.checksum,
        udp.calc_checksum_ipv4(&header, &whole).unwrap()
    );

    let feedback = tfrc::Feedback {
        echo: stamp,
        hold: Duration::from_millis(1),
        receive_rate: 1e5,
        loss_event_rate: 0.5,
        new_loss_event: true,
    };
    // 40 simulated bytes have no room for the fields.
    let (length, bytes) = draw(packet(0, 40, Payload::TfrcFeedback(feedback)));
    let (header, rest) = ip(&bytes);
    assert_eq!((length, header.total_len, bytes.len()), (60, 60, 60));
    assert_eq!(
        (header.source, header.destination),
        ([10, 0, 0, 1], [10, 0, 0, 2])
    );
    let (udp, rest) = UdpHeader::from_slice(rest).unwrap();
    assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&header, rest).unwrap());
    assert_eq!(
        words(rest),
        [2_000_000, 1_000_000, 1e5_f64.to_bits(), 0.5_f64.to_bits()]
    );
}

#[test]
fn tcp_numbers() {
    let stamp = Time::from_nanos(2_000_000);
    let segment = tcp::Segment {
        sequence: 3,
        stamp,
        retransmission: false,
    };
    let ack = tcp::Ack {
        next: 4,
        echo: stamp,
        sack: tcp::SackBlocks::new(4, [9..10, 5..7]),
    };
    let at = Time::from_nanos(3);
    let packets = [
        packet(0, 762, Payload::Segment(segment)),
        packet(0, 40, Payload::Ack(ack)),
    ];
    let found = read_back(
        &scenario(false),
        &packets.map(|packet| (at, packet, 0, Fate::Delivered(at))),
    );

    let (_, length, bytes, _) = &found[0];
    let (header, rest) = ip(bytes);
    let (segment, rest) = TcpHeader::from_slice(rest).unwrap();
    assert_eq!((*length, header.total_len, rest.len()), (762, 762, 0));
    assert_eq!(
        (segment.sequence_number, segment.acknowledgment_number),
        (1 + 3 * 710, 1)
    );
    assert_eq!(
        segment.checksum,
        segment.calc_checksum_ipv4(&header, &[0; 710]).unwrap()
    );

    let (_, length, bytes, _) = &found[1];
    let (header, rest) = ip(bytes);
    let (ack, rest) = TcpHeader::from_slice(rest).unwrap();
    assert_eq!((*length, header.total_len, rest.len()), (72, 72, 0));
    assert_eq!(
        (ack.sequence_number, ack.acknowledgment_number),
        (1, 1 + 4 * 710)
    );
    assert_eq!(ack.checksum, ack.calc_checksum_ipv4(&header, &[]).unwrap());
    let options: Vec<_> = ack.options_iterator().map(Result::unwrap).collect();
    let sack =
        TcpOptionElement::SelectiveAcknowledgement((6391, 7101), [Some((3551, 4971)), None, None]);
    assert!(options.contains(&TcpOptionElement::Timestamp(2000, 2000)) && options.contains(&sack));
}

/// A size that is impossible in IPv4 is not an error: the packet gets the nearest possible size.
#[test]
fn odd_sizes() {
    let segment = tcp::Segment {
        sequence: u64::MAX,
        stamp: Time::MAX,
        retransmission: true,
    };
    for (size, on_the_wire) in [(0, 53), (53, 53), (65_535, 65_535), (u32::MAX, u32::MAX)] {
        let (length, bytes) = draw(packet(0, size, Payload::Segment(segment)));
        assert_eq!((length, bytes.len()), (on_the_wire, 52));
    }
    let (length, bytes) = draw(packet(0, 0, Payload::Datagram(1)));
    assert_eq!((length, bytes.len()), (44, 44));
}

#[test]
fn the_first_error_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let taken = directory.path().join("a-to-b.pcapng");
    let mut capture = Capture::create(&scenario(false), directory.path()).unwrap();
    let at = Time::from_nanos(3);
    for sequence in 0..1000 {
        let datagram = packet(0, 762, Payload::Datagram(sequence));
        capture.on(&Event::Offered {
            link: 0,
            at,
            packet: &datagram,
            waiting: 0,
            fate: Fate::Delivered(at),
            marked: false,
        });
    }
    std::fs::create_dir(&taken).unwrap();
    let error = capture.finish().unwrap_err();
    assert_eq!(
        (error.path, error.source.kind()),
        (taken, io::ErrorKind::IsADirectory)
    );
}
