//! Checks that one capture in every documented encapsulation gives the same diagnosis.

use std::io::Cursor;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution, PcapWriter};
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::block_common::Block;
use whyloss_diagnose::{Diagnosis, Error, Options, diagnose};
use whyloss_sim::{NodeCapture, Scenario, Simulation};

/// A packet of IPv4 without a link layer: its time, its length on the wire, and its captured bytes.
type Frame = (Duration, u32, Vec<u8>);

/// Returns the frames of a sender's capture.
fn frames() -> Vec<Frame> {
    let short = [("duration".to_owned(), "12 s".to_owned())];
    let scenario =
        Scenario::from_toml(crate::network::NETWORK, "test", &short).expect("a scenario");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("capture.pcapng");
    let mut capture = NodeCapture::new(&scenario, 0, &path);
    Simulation::new(&scenario, 1)
        .watch(&mut capture)
        .run()
        .expect("a run");
    capture.finish().expect("a capture");
    let bytes = std::fs::read(&path).expect("a capture");
    let mut reader = PcapNgReader::new(bytes.as_slice()).expect("a capture");
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        if let (Block::EnhancedPacket(packet), _) = block.expect("a block") {
            frames.push((
                packet.timestamp,
                packet.original_len,
                packet.data.into_owned(),
            ));
        }
    }
    frames
}

/// Returns the frames as a pcap of this link type.
fn pcap(link: u32, resolution: PcapTsResolution, frames: &[Frame]) -> Vec<u8> {
    let header = PcapHeader {
        datalink: DataLink::from(link),
        ts_resolution: resolution,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(Vec::new(), header).expect("memory");
    for (time, length, data) in frames {
        let packet = PcapPacket::new(*time, *length, data).expect("a packet");
        writer.write_packet(&packet).expect("memory");
    }
    writer.into_inner()
}

fn read(bytes: &[u8]) -> Result<Diagnosis, Error> {
    diagnose(Box::new(Cursor::new(bytes.to_vec())), Options::default())
}

/// Returns the losses without their frame numbers, which fragments change.
fn story(diagnosis: &Diagnosis) -> Vec<(u64, u64, u32, u32)> {
    let losses = diagnosis.flows[0].losses.iter();
    losses
        .map(|loss| (loss.time, loss.offset, loss.bytes, loss.packets))
        .collect()
}

fn behind(header: &[u8], frames: &[Frame]) -> Vec<Frame> {
    let wrapped = frames.iter().map(|(time, length, data)| {
        let data = [header, data].concat();
        (*time, length + header.len() as u32, data)
    });
    wrapped.collect()
}

/// Adds an outer IPv4 header to each packet.
fn in_ip(protocol: u8, inner: &[u8], frames: &[Frame]) -> Vec<Frame> {
    let wrapped = frames.iter().map(|(time, length, data)| {
        let total = 20 + inner.len() as u32 + length;
        let mut outer = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
        outer[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        outer.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        (*time, total, [&outer, inner, data].concat())
    });
    wrapped.collect()
}

/// Adds four bytes of options to the IPv4 headers.
fn with_options(frames: &[Frame]) -> Vec<Frame> {
    let wrapped = frames.iter().map(|(time, length, data)| {
        let mut data = data.clone();
        data[0] = 0x46;
        data[2..4].copy_from_slice(&((length + 4) as u16).to_be_bytes());
        data.splice(20..20, [1, 1, 1, 0]);
        (*time, length + 4, data)
    });
    wrapped.collect()
}

/// Converts the packets to IPv6 with hop-by-hop and destination options.
fn as_ipv6(frames: &[Frame]) -> Vec<Frame> {
    let wrapped = frames.iter().map(|(time, length, data)| {
        let payload = length - 20 + 16;
        let mut header = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
        header[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
        for end in [12, 16] {
            let prefix = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
            header.extend(prefix);
            header.extend(&data[end..end + 4]);
        }
        header.extend([60, 0, 1, 4, 0, 0, 0, 0]);
        header.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        (*time, 40 + payload, [&header, &data[20..]].concat())
    });
    wrapped.collect()
}

/// Splits each packet with data into two fragments, the second cut to its header.
fn in_fragments(frames: &[Frame]) -> Vec<Frame> {
    let mut pieces = Vec::new();
    for (index, (time, length, data)) in frames.iter().enumerate() {
        let mut first = data.clone();
        first[4..6].copy_from_slice(&(index as u16).to_be_bytes());
        if *length < 1000 {
            pieces.push((*time, *length, first));
            continue;
        }
        let head = 20 + 800;
        let mut second = first[..20].to_vec();
        first[2..4].copy_from_slice(&(head as u16).to_be_bytes());
        first[6..8].copy_from_slice(&0x2000_u16.to_be_bytes());
        let rest = length - 800;
        second[2..4].copy_from_slice(&(rest as u16).to_be_bytes());
        second[6..8].copy_from_slice(&100_u16.to_be_bytes());
        pieces.push((*time, head, first));
        pieces.push((*time, rest, second));
    }
    pieces
}

#[test]
fn every_wrapping_tells_the_same_story() {
    let frames = frames();
    let nanos = PcapTsResolution::NanoSecond;
    let raw = read(&pcap(101, nanos, &frames)).expect("a diagnosis");
    let expected = story(&raw);
    assert!(expected.len() > 10, "{}", expected.len());
    let ethernet = |rest: &[u8]| behind(&[&[2; 12], rest].concat(), &frames);
    let six = as_ipv6(&frames);
    let wrappings: [(&str, u32, Vec<Frame>); 23] = [
        ("Ethernet", 1, ethernet(&[8, 0])),
        ("VLAN", 1, ethernet(&[0x81, 0, 0, 7, 8, 0])),
        (
            "QinQ",
            1,
            ethernet(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9, 8, 0]),
        ),
        (
            "QinQ of old",
            1,
            ethernet(&[0x91, 0, 0, 7, 0x81, 0, 0, 9, 8, 0]),
        ),
        (
            "MPLS",
            1,
            ethernet(&[0x88, 0x47, 0, 0, 0x10, 64, 0, 0, 0x21, 64]),
        ),
        (
            "PPPoE",
            1,
            ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 5, 222, 0, 0x21]),
        ),
        (
            "LLC with SNAP",
            1,
            ethernet(&[5, 220, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
        ),
        (
            "FDDI",
            10,
            behind(
                &[&[0x50; 13][..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat(),
                &frames,
            ),
        ),
        ("PPP", 9, behind(&[0xff, 3, 0, 0x21], &frames)),
        ("PPP in HDLC", 50, behind(&[0xff, 3, 0, 0x21], &frames)),
        (
            "PPPoE alone",
            51,
            behind(&[0x11, 0, 0, 1, 5, 222, 0, 0x21], &frames),
        ),
        ("GRE", 101, in_ip(47, &[0, 0, 8, 0], &frames)),
        (
            "GRE with key and number",
            101,
            in_ip(47, &[0x30, 0, 8, 0, 0, 0, 0, 9, 0, 0, 0, 1], &frames),
        ),
        ("IP in IP", 101, in_ip(4, &[], &frames)),
        (
            "Linux cooked",
            113,
            behind(&[&[0; 14][..], &[8, 0]].concat(), &frames),
        ),
        (
            "Linux cooked 2",
            276,
            behind(&[&[8, 0][..], &[0; 18]].concat(), &frames),
        ),
        ("null", 0, behind(&[2, 0, 0, 0], &frames)),
        ("loop", 108, behind(&[0, 0, 0, 2], &frames)),
        ("options of IPv4", 228, with_options(&frames)),
        ("IPv6 with extension headers", 229, six.clone()),
        ("IPv6 in IPv4", 101, in_ip(41, &[], &six)),
        ("fragments", 101, in_fragments(&frames)),
        (
            "IP in IP in fragments",
            101,
            in_fragments(&in_ip(4, &[], &frames)),
        ),
    ];
    for (name, link, wrapped) in wrappings {
        let diagnosis = read(&pcap(link, nanos, &wrapped)).expect("a diagnosis");
        assert_eq!(story(&diagnosis), expected, "{name}");
        assert_eq!(diagnosis.skipped, raw.skipped, "{name}");
        let verdicts = [&diagnosis, &raw].map(|one| one.flows[0].portrait.by_cause);
        assert_eq!(verdicts[0], verdicts[1], "{name}");
    }
    // Microseconds change only the precision.
    let micros = read(&pcap(101, PcapTsResolution::MicroSecond, &frames)).expect("a diagnosis");
    let rounded = expected.iter();
    let rounded: Vec<_> = rounded
        .map(|&(time, offset, bytes, packets)| (time / 1000 * 1000, offset, bytes, packets))
        .collect();
    assert_eq!(story(&micros), rounded);
}

#[test]
fn lengths_and_times_of_4_gb_do_no_harm() {
    let frames = frames();
    let nanos = PcapTsResolution::NanoSecond;
    let mut bytes = pcap(101, nanos, &frames[..200]);
    let before = bytes.len();
    // A packet with a length of 4 GB on the wire is accepted. A packet with a captured length of
    // 4 GB ends the file.
    let mut wire = frames[200].clone();
    wire.1 = u32::MAX;
    bytes.extend(&pcap(101, nanos, &[wire])[24..]);
    bytes.extend(&pcap(101, nanos, &frames[201..202])[24..]);
    let whole = read(&bytes).expect("a diagnosis");
    assert_eq!((whole.frames, whole.partial), (202, None));
    bytes.truncate(before);
    bytes.extend([0xff; 16]);
    bytes.extend([0; 1000]);
    let partial = read(&bytes).expect("a diagnosis");
    assert_eq!(partial.frames, 200);
    assert!(partial.partial.is_some());
    // The times are at the end of the 32-bit seconds.
    let late: Vec<Frame> = frames
        .iter()
        .map(|(time, length, data)| {
            (
                Duration::from_secs(u64::from(u32::MAX) - 20) + *time,
                *length,
                data.clone(),
            )
        })
        .collect();
    let late = read(&pcap(101, nanos, &late)).expect("a diagnosis");
    let plain = read(&pcap(101, nanos, &frames)).expect("a diagnosis");
    assert_eq!(story(&late).len(), story(&plain).len());
}

#[test]
fn packets_snapped_at_64_bytes_still_tell_of_losses() {
    let frames = frames();
    let nanos = PcapTsResolution::NanoSecond;
    let whole = read(&pcap(101, nanos, &frames)).expect("a diagnosis");
    // Headers of Ethernet, IP and TCP have 14, 20 and 20 bytes. Ten bytes of options remain, half
    // of the timestamps.
    let mut snapped = behind(&[&[2; 12][..], &[8, 0]].concat(), &frames);
    for (_, _, data) in &mut snapped {
        data.truncate(64);
    }
    let cut = read(&pcap(1, nanos, &snapped)).expect("a diagnosis");
    let [all, found] = [&whole, &cut].map(story);
    let same = all.iter().filter(|loss| found.contains(loss)).count();
    assert!(
        same * 10 >= all.len() * 9,
        "{same} of {}: {:?}",
        all.len(),
        (&cut.flows.len(), &cut.skipped, &found)
    );
    assert!(found.len() * 10 <= all.len() * 11, "{}", found.len());
    let told = cut.flows[0].cannot_tell.join("; ");
    assert!(told.contains("options"), "{told}");
}

/// Returns the frames, each followed by a copy a little later.
fn mirrored(frames: &[Frame], later: Duration) -> Vec<Frame> {
    let copies = frames
        .iter()
        .map(|(time, length, data)| (*time + later, *length, data.clone()));
    let mut all: Vec<Frame> = frames.iter().cloned().chain(copies).collect();
    all.sort_by_key(|frame| frame.0);
    all
}

#[test]
fn a_port_that_mirrors_every_packet_twice_makes_no_losses() {
    let frames = frames();
    let nanos = PcapTsResolution::NanoSecond;
    let expected = story(&read(&pcap(101, nanos, &frames)).expect("a diagnosis"));
    assert!(expected.len() > 10, "{}", expected.len());
    // The copies have timestamps alone, or also identifications.
    let mut numbered = frames.clone();
    for (id, (_, _, data)) in (1_u16..).zip(&mut numbered) {
        data[4..6].copy_from_slice(&id.to_be_bytes());
    }
    for (frames, later) in [
        (&frames, 20),
        (&as_ipv6(&frames), 200),
        (&numbered, 3000),
        (&numbered, 20_000),
    ] {
        let twice = mirrored(frames, Duration::from_micros(later));
        let diagnosis = read(&pcap(101, nanos, &twice)).expect("a diagnosis");
        assert_eq!(story(&diagnosis), expected, "{later} µs");
        let counts = diagnosis.flows[0].counts;
        assert!(
            counts.copies + 8 >= counts.data_packets && counts.spurious < 8,
            "{counts:?}"
        );
    }
}

#[test]
fn times_that_stand_still_or_step_back_give_no_false_delays() {
    let frames = frames();
    let nanos = PcapTsResolution::NanoSecond;
    let plain = read(&pcap(101, nanos, &frames)).expect("a diagnosis");
    let still: Vec<Frame> = frames
        .iter()
        .map(|(_, length, data)| (Duration::from_secs(5), *length, data.clone()))
        .collect();
    let still = read(&pcap(101, nanos, &still)).expect("a diagnosis");
    let flow = &still.flows[0];
    assert!(flow.losses.len() > 10);
    assert!(flow.losses.iter().all(|loss| loss.verdict.is_none()));
    let told = flow.cannot_tell.join("; ");
    assert!(told.contains("delays are not known"), "{told}");
    let middle = frames.len() / 2;
    let back: Vec<Frame> = frames
        .iter()
        .enumerate()
        .map(|(index, (time, length, data))| {
            let ahead = Duration::from_secs(if index < middle { 60 } else { 0 });
            (*time + ahead, *length, data.clone())
        })
        .collect();
    let back = read(&pcap(101, nanos, &back)).expect("a diagnosis");
    let told = back.notes.join("; ");
    assert!(
        told.contains("1 packets lie more than 2 s behind"),
        "{told}"
    );
    let [before, after] = [&plain, &back].map(|one| &one.flows[0]);
    assert_eq!(before.portrait.base_rtt_ms, after.portrait.base_rtt_ms);
    assert_eq!(before.vantage, after.vantage);
}
