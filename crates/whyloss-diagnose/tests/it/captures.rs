//! Diagnoses captures of a simulated network, complete and damaged in many ways.

use std::io::{Cursor, Read, Write as _};

use whyloss::Cause;
use whyloss_diagnose::loss::Side;
use whyloss_diagnose::{Diagnosis, Error, Options, Vantage, diagnose, report};
use whyloss_sim::{NodeCapture, Scenario, Simulation};

/// Returns a capture at the node of this index, as bytes.
fn capture(node: usize) -> Vec<u8> {
    capture_of(crate::network::NETWORK, node)
}

fn capture_of(network: &str, node: usize) -> Vec<u8> {
    let scenario = Scenario::from_toml(network, "test", &[]).expect("a scenario");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("capture.pcapng");
    let mut capture = NodeCapture::new(&scenario, node, &path);
    Simulation::new(&scenario, 1)
        .watch(&mut capture)
        .run()
        .expect("a run");
    capture.finish().expect("a capture");
    std::fs::read(&path).expect("a capture")
}

fn read(bytes: &[u8]) -> Result<Diagnosis, Error> {
    diagnose(Box::new(Cursor::new(bytes.to_vec())), Options::default())
}

#[test]
fn every_place_tells_the_same_story() {
    let places = [0, 1, 2].map(|node| read(&capture(node)).expect("a diagnosis"));
    let vantages = places
        .each_ref()
        .map(|diagnosis| diagnosis.flows[0].vantage.name());
    assert_eq!(vantages, ["sender", "between", "receiver"]);
    let lost = |place: usize, side| places[place].flows[0].lost(side);
    let all = lost(0, Side::Beyond);
    assert!(all > 20, "{all}");
    assert_eq!((lost(0, Side::Before), lost(2, Side::Beyond)), (0, 0));
    // A later point of capture does not see retransmissions that were lost before it.
    let between = lost(1, Side::Before) + lost(1, Side::Beyond);
    assert!(between <= all && between + 3 >= all, "{between} of {all}");
    assert!(
        matches!(places[1].flows[0].vantage, Vantage::Between(share) if (share - 0.5).abs() < 0.1)
    );
    let causes = |cause| {
        places[0].flows[0]
            .losses
            .iter()
            .filter(|loss| loss.verdict.is_some_and(|v| v.cause == cause))
            .count()
    };
    assert!(causes(Cause::Congestion) > 5 && causes(Cause::Wireless) > 5);
    let base = places[0].flows[0]
        .portrait
        .base_rtt_ms
        .expect("a round trip");
    assert!((40.0..50.0).contains(&base), "{base}");
}

#[test]
fn compressed_captures_and_slow_pipes_are_read_like_files() {
    struct Slow(Cursor<Vec<u8>>);
    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let many = buffer.len().min(7);
            self.0.read(&mut buffer[..many])
        }
    }
    let bytes = capture(0);
    let plain = read(&bytes).expect("a diagnosis");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let zstd = ruzstd::encoding::compress_to_vec(
        bytes.as_slice(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    assert_eq!(read(&gzip).expect("gzip"), plain);
    assert_eq!(read(&zstd).expect("zstd"), plain);
    assert_eq!(
        read(&[zstd.clone(), Vec::new()].concat()).expect("zstd"),
        plain
    );
    let slow = diagnose(Box::new(Slow(Cursor::new(bytes))), Options::default());
    assert_eq!(slow.expect("a pipe"), plain);
}

#[test]
fn a_capture_that_ends_early_is_partial() {
    let bytes = capture(0);
    let half = read(&bytes[..bytes.len() / 2]).expect("a diagnosis");
    assert!(
        half.partial
            .is_some_and(|why| why.contains("ends within a packet"))
    );
    assert!(half.frames > 1000);
    for length in (0..400).chain((400..bytes.len()).step_by(bytes.len() / 50)) {
        // The result is an error or partial.
        let _ = read(&bytes[..length]);
    }
}

#[test]
fn damaged_captures_do_no_harm() {
    let bytes = capture(1);
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..40 {
        let mut damaged = bytes[..200_000.min(bytes.len())].to_vec();
        for _ in 0..200 {
            let at = random(damaged.len());
            damaged[at] ^= 1 << random(8);
        }
        if let Ok(diagnosis) = read(&damaged) {
            let _ = report::text::render(&diagnosis, None);
            let _ = report::json::render(&diagnosis, None);
        }
    }
}

#[test]
fn what_is_no_capture_is_refused_in_a_sentence() {
    for (bytes, sentence) in [
        (&b""[..], "it is empty"),
        (
            b"PK\x03\x04 not this",
            "begins with the bytes [50, 4b, 03, 04]",
        ),
        (b"\xd4\xc3\xb2\xa1\x02", "its header says pcap"),
        (b"\x0a\x0d\x0d\x0a\x00\x00", "its header says pcapng"),
        (b"\x1f\x8b\x08\x00", ""),
        (b"\x28\xb5\x2f\xfd", "its header says zstd"),
    ] {
        let error = read(bytes).expect_err("no capture").to_string();
        assert!(error.contains(sentence), "{error}");
    }
}

/// The times and bytes of a capture's packets.
type Frames = Vec<(std::time::Duration, Vec<u8>)>;

fn frames(bytes: &[u8]) -> Frames {
    let mut frames = Vec::new();
    let mut reader = pcap_file::pcapng::PcapNgReader::new(bytes).expect("a capture");
    while let Some(block) = reader.next_block() {
        if let (pcap_file::pcapng::blocks::block_common::Block::EnhancedPacket(packet), _) =
            block.expect("a block")
        {
            frames.push((packet.timestamp, packet.data.into_owned()));
        }
    }
    frames
}

/// Writes the first bytes of each packet, at most `snapped`, as pcap.
fn written(frames: &Frames, snapped: usize) -> Vec<u8> {
    let header = pcap_file::pcap::PcapHeader {
        datalink: pcap_file::DataLink::RAW,
        ts_resolution: pcap_file::pcap::PcapTsResolution::NanoSecond,
        ..pcap_file::pcap::PcapHeader::default()
    };
    let mut writer = pcap_file::pcap::PcapWriter::with_header(Vec::new(), header).expect("memory");
    for (time, data) in frames {
        let kept = &data[..data.len().min(snapped)];
        let packet = pcap_file::pcap::PcapPacket::new(*time, data.len() as u32, kept);
        writer
            .write_packet(&packet.expect("a packet"))
            .expect("memory");
    }
    writer.into_inner()
}

#[test]
fn options_that_were_cut_off_are_noted_once() {
    let frames = frames(&capture(0));
    let notes = |snapped| read(&written(&frames, snapped)).expect("a diagnosis").notes;
    assert_eq!(notes(96), [""; 0]);
    // Timestamps of data are whole, SACK blocks are not.
    let [note] = &notes(64)[..] else {
        panic!("no note, or several")
    };
    assert!(
        note.contains("captured with TCP options cut off") && note.contains("tcpdump -s 96"),
        "{note}"
    );
    let cut = read(&written(&frames, 64)).expect("a diagnosis");
    let mut limits = cut.flows[0].cannot_tell.iter();
    assert!(limits.any(|limit| limit.starts_with("what options say")));
}

/// A download fills a deep queue and loses nothing. The queue shows at both ends, and by default.
#[test]
fn both_ends_see_the_queue_of_a_download() {
    const DEEP: &str = r#"
duration = "8 s"
[[link]]
name = "line"
from = "server"
to = "client"
rate = "10 Mbit/s"
delay = "10 ms"
queue = { packets = 1000 }
[[flow]]
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic", window = 300 }
"#;
    let ends = [0, 1].map(|node| read(&capture_of(DEEP, node)).expect("a diagnosis"));
    let names = ends.each_ref().map(|end| end.flows[0].vantage.name());
    assert_eq!(names, ["sender", "receiver"]);
    let [sender, receiver] = ends.each_ref().map(|end| {
        assert_eq!(end.flows[0].losses.len(), 0);
        let text = report::text::render(end, None);
        assert!(text.contains("a queue makes this path slow"), "{text}");
        end.flows[0].portrait.queueing_ms.expect("delays")
    });
    assert!(sender[0] > 200.0, "{sender:?}");
    for (sender, receiver) in sender.iter().zip(receiver) {
        let error = (receiver / sender - 1.0).abs();
        assert!(error < 0.1, "{receiver} ms, and {sender} ms at the sender");
    }
}

#[test]
fn a_capture_out_of_order_is_put_in_order() {
    let bytes = capture(0);
    let plain = read(&bytes).expect("a diagnosis");
    let frames = frames(&bytes);
    // Packets are written in bunches: those of each seventh millisecond, except the first, are 30
    // ms late. Packets of the same time stay together, since their order could not be recovered.
    let mut late = frames;
    late.sort_by_key(|(time, _)| {
        let millis = time.as_millis();
        let late = if millis > 300 && millis % 7 == 0 {
            30
        } else {
            0
        };
        *time + std::time::Duration::from_millis(late)
    });
    let ordered = read(&written(&late, usize::MAX)).expect("a diagnosis");
    let note = &ordered.notes[0];
    for part in ["order of their times", "up to 28.7 ms", "harmless"] {
        assert!(note.contains(part), "{note}");
    }
    let story = |diagnosis: &Diagnosis| -> Vec<_> {
        let losses = diagnosis.flows[0].losses.iter();
        losses
            .map(|loss| (loss.time, loss.offset, loss.bytes, loss.side))
            .collect()
    };
    assert_eq!(story(&ordered), story(&plain));
    let counts = [&ordered, &plain].map(|diagnosis| diagnosis.flows[0].counts);
    assert_eq!(counts[0].retransmissions, counts[1].retransmissions);
    // Before the first late packet, the sorter could not know about delays.
    assert!(counts[0].reordered < 5, "{counts:?}");
}
