//! Properties that an anonymised capture keeps.

use std::io::Cursor;
use std::net::Ipv4Addr;

use etherparse::{PacketBuilder, TcpOptionElement};
use pcap_file::pcap::{PcapPacket, PcapWriter};
use whyloss_diagnose::anonymise::Anonymiser;
use whyloss_diagnose::loss::Loss;
use whyloss_diagnose::{Diagnosis, Options, diagnose, report};

const SERVER: [u8; 4] = [192, 0, 2, 33];
const CLIENT: [u8; 4] = [198, 51, 100, 44];
const CARDS: [[u8; 6]; 2] = [
    [0xde, 0xad, 0xbe, 0xef, 0x10, 0x01],
    [0xde, 0xad, 0xbe, 0xef, 0x20, 0x02],
];
const SECRET: &[u8] = b"Qx7:Zw9:Vk2:Jp4:Yh8:Gn3";
const SEGMENT: usize = 1000;
/// The segments that pass the point of capture and never arrive.
const LOST: [u32; 3] = [40, 41, 120];

/// Returns a capture of a transfer with segments lost after the point of capture, in Ethernet with
/// a VLAN, and of an ARP packet.
fn capture() -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new()).expect("memory");
    let mut put = |at: u64, bytes: &[u8]| {
        let time = std::time::Duration::from_micros(at);
        let packet = PcapPacket::new(time, bytes.len() as u32, bytes).expect("a packet");
        writer.write_packet(&packet).expect("memory");
    };
    let mut arp = vec![0xff; 6];
    arp.extend(CARDS[0]);
    arp.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    arp.extend(CARDS[0]);
    arp.extend(SERVER);
    arp.extend([0; 6]);
    arp.extend(CLIENT);
    put(1, &arp);
    let payload: Vec<u8> = SECRET.iter().copied().cycle().take(SEGMENT).collect();
    let data = |number: u32, at: u64| {
        let mut bytes = Vec::new();
        PacketBuilder::ethernet2(CARDS[0], CARDS[1])
            .single_vlan(7.try_into().expect("an identifier"))
            .ipv4(SERVER, CLIENT, 33)
            .tcp(80, 4000, 1 + number * SEGMENT as u32, 500)
            .ack(1)
            .options(&[TcpOptionElement::Timestamp((at / 1000) as u32, 1)])
            .expect("options")
            .write(&mut bytes, &payload)
            .expect("memory");
        bytes
    };
    let ack = |next: u32, sack: Option<(u32, u32)>, echo: u64| {
        let edge = |number: u32| 1 + number * SEGMENT as u32;
        let mut options = vec![TcpOptionElement::Timestamp(9, (echo / 1000) as u32)];
        options.extend(sack.map(|(from, to)| {
            TcpOptionElement::SelectiveAcknowledgement((edge(from), edge(to)), [None; 3])
        }));
        let mut bytes = Vec::new();
        PacketBuilder::ethernet2(CARDS[1], CARDS[0])
            .single_vlan(7.try_into().expect("an identifier"))
            .ipv4(CLIENT, SERVER, 55)
            .tcp(4000, 80, 1, 500)
            .ack(edge(next))
            .options(&options)
            .expect("options")
            .write(&mut bytes, &[])
            .expect("memory");
        bytes
    };
    // A round trip of 20 ms is two slots. A lost segment comes again four slots later.
    let mut frames: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut next = 0;
    let mut hole: Option<(u32, u64)> = None;
    for number in 0..200_u32 {
        let at = 10_000 * u64::from(number + 1);
        frames.push((at, data(number, at)));
        if LOST.contains(&number) {
            hole.get_or_insert((number, at));
            continue;
        }
        match hole {
            None => {
                next = number + 1;
                frames.push((at + 20_000, ack(next, None, at)));
            }
            Some((first, since)) => {
                let from = first + if first == 40 { 2 } else { 1 };
                let sack = Some((from, number + 1));
                frames.push((at + 20_000, ack(next, sack, since - 10_000)));
                if number == from + 3 {
                    for again in first..from {
                        frames.push((at + 21_000, data(again, at + 21_000)));
                    }
                }
                if number == from + 5 {
                    // The retransmission causes the first acknowledgement beyond it.
                    frames.push((at + 22_000, ack(number + 1, None, at + 1_000)));
                    next = number + 1;
                    hole = None;
                }
            }
        }
    }
    frames.sort_by_key(|frame| frame.0);
    for (at, bytes) in frames {
        put(at, &bytes);
    }
    writer.into_inner()
}

fn read(bytes: &[u8]) -> Diagnosis {
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    diagnose(reader, Options::default()).expect("a diagnosis")
}

/// Returns whether `bytes` contains `part`.
fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn nothing_of_addresses_and_payload_is_left() {
    let original = capture();
    let mut diagnosis = read(&original);
    let losses = diagnosis.flows[0].losses.clone();
    assert_eq!(losses.len(), LOST.len(), "{losses:?}");
    let anonymiser = Anonymiser::default();
    diagnosis.anonymise(&anonymiser);
    let mut capture = Vec::new();
    let reader = Box::new(Cursor::new(original.clone()));
    let comments = report::annotated::write(&diagnosis, reader, &mut capture, Some(&anonymiser));
    assert_eq!(comments.expect("a capture"), LOST.len() as u64);
    let outputs = [
        capture.clone(),
        report::text::render(&diagnosis, Some(1)).into_bytes(),
        report::json::render(&diagnosis, None)
            .to_string()
            .into_bytes(),
        report::csv::render(&diagnosis, None).into_bytes(),
    ];
    for address in [SERVER, CLIENT] {
        let text = Ipv4Addr::from(address).to_string();
        assert!(has(&original, &address));
        for output in &outputs {
            assert!(!has(output, &address) && !has(output, text.as_bytes()));
        }
    }
    for secret in [&SECRET[..5], &SECRET[7..12], &CARDS[0][..], &CARDS[1][..]] {
        assert!(has(&original, secret));
        assert!(outputs.iter().all(|output| !has(output, secret)));
    }
    // Otherwise, the losses and their frames are the same.
    let again = read(&capture);
    assert_eq!(again.frames, diagnosis.frames);
    let story = |losses: &[Loss]| -> Vec<_> {
        let told = losses.iter();
        told.map(|loss| {
            (
                loss.frame,
                loss.offset,
                loss.bytes,
                loss.time,
                loss.evidence,
            )
        })
        .collect()
    };
    assert_eq!(story(&again.flows[0].losses), story(&losses));
    assert_eq!(again.flows[0].source, diagnosis.flows[0].source);
    assert_eq!(again.flows[0].portrait, diagnosis.flows[0].portrait);
}

#[test]
fn without_an_anonymiser_packets_are_copied() {
    let original = capture();
    let diagnosis = read(&original);
    let mut capture = Vec::new();
    let reader = Box::new(Cursor::new(original));
    report::annotated::write(&diagnosis, reader, &mut capture, None).expect("a capture");
    assert!(has(&capture, SECRET) && has(&capture, &SERVER));
}
