//! Checks captures of a run with tshark: complete, well-formed, with the truth in the comments.
//!
//! Needs tshark, and so the feature of that name: `cargo test -p whyloss-sim --features tshark
//! --test tshark`.

#[path = "it/tiny.rs"]
mod tiny;

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use whyloss::{Cause, Time};
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::{Capture, Event, Packet, Simulation, Watch};

/// The engine's events for a packet that reached a link.
struct Seen {
    time: Time,
    packet: Packet,
    waiting: usize,
    fate: Fate,
}

/// Records the packets that reached each link until the end of the run.
struct Recorder {
    links: Vec<Vec<Seen>>,
    end: Time,
}

impl Watch for Recorder {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
            link,
            at: time,
            packet,
            waiting,
            fate,
            ..
        } = *event
            && time <= self.end
        {
            self.links[link].push(Seen {
                time,
                packet: *packet,
                waiting,
                fate,
            });
        }
    }
}

/// Captures a run of the tiny network into `directory`. Returns the packets that reached each of
/// its links.
fn capture(directory: &Path) -> Vec<Vec<Seen>> {
    let scenario = tiny::scenario(5_000);
    let links = scenario.links.iter().map(|_| Vec::new()).collect();
    let recorder = Recorder {
        links,
        end: scenario.end,
    };
    let mut observers = (Capture::create(&scenario, directory).unwrap(), recorder);
    Simulation::new(&scenario, 1)
        .watch(&mut observers)
        .run()
        .unwrap();
    observers.0.finish().unwrap();
    observers.1.links
}

/// The columns requested from tshark.
const FIELDS: [&str; 11] = [
    "frame.time_epoch",
    "frame.len",
    "frame.cap_len",
    "frame.comment",
    "frame.protocols",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "udp.srcport",
    "tcp.options.timestamp.tsval",
    "_ws.expert.message",
];

fn tshark(arguments: &[&str], file: &Path) -> String {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(file);
    for check in [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
    ] {
        command.args(["-o", check]);
    }
    let output = match command.args(arguments).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("this test needs tshark; install it with `apt-get install -y tshark`")
        }
        Err(error) => panic!("cannot run tshark: {error}"),
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "tshark failed on {}: {complaints}",
        file.display()
    );
    for sign in ["damaged", "cut short", "corrupt", "isn't a capture"] {
        assert!(
            !complaints.contains(sign),
            "{}: {complaints}",
            file.display()
        );
    }
    String::from_utf8(output.stdout).expect("tshark writes UTF-8")
}

/// Returns the comment that a packet must carry; empty if it was delivered.
fn comment(seen: &Seen) -> String {
    match seen.fate {
        Fate::Delivered(_) | Fate::Held => String::new(),
        Fate::Damaged(_, first) => format!("damaged: from bit {first} of the packet"),
        Fate::Lost(Cause::Congestion, _) => {
            format!("lost: congestion (queue full, {} waiting)", seen.waiting)
        }
        Fate::Lost(Cause::Wireless, _) => {
            "lost: wireless (corrupted after transmission)".to_owned()
        }
    }
}

#[test]
fn tshark_reads_every_link() {
    let directory = tempfile::tempdir().unwrap();
    let links = capture(directory.path());

    let mut protocols = std::collections::BTreeSet::new();
    let mut lost = [0; 2];
    for (stem, seen) in ["a-to-r", "radio", "b-to-r", "r-to-a"].iter().zip(&links) {
        let file = directory.path().join(format!("{stem}.pcapng"));
        let mut arguments = vec!["-T", "fields"];
        for field in FIELDS {
            arguments.extend(["-e", field]);
        }
        let output = tshark(&arguments, &file);
        let rows: Vec<&str> = output.lines().collect();
        assert_eq!(rows.len(), seen.len(), "{stem}");
        for (row, seen) in rows.iter().zip(seen) {
            let columns: Vec<&str> = row.split('\t').collect();
            let [
                time,
                length,
                stored,
                said,
                layers,
                ip,
                tcp,
                udp,
                _,
                stamp,
                expert,
            ] = columns[..]
            else {
                panic!("{stem}: {row}")
            };
            let nanos = seen.time.as_nanos();
            assert_eq!(
                time,
                format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000),
                "{row}"
            );
            assert_eq!(said, comment(seen), "{row}");
            let expected = match seen.packet.payload {
                Payload::Segment(_) | Payload::Ack(_) => "raw:ip:tcp",
                _ => "raw:ip:udp:data",
            };
            assert_eq!(layers, expected, "{row}");
            protocols.insert(layers.to_owned());
            match seen.packet.payload {
                Payload::Ack(_) | Payload::TfrcFeedback(_) => {
                    assert_eq!(length, stored, "an answer is stored whole: {row}");
                    // 1 means good. tshark cannot check a packet that is not stored completely.
                    assert!((tcp == "1") != (udp == "1"), "{row}");
                }
                _ => assert_eq!(length, seen.packet.size.to_string(), "{row}"),
            }
            assert_eq!(ip, "1", "{row}");
            assert_eq!(stamp.is_empty(), expected != "raw:ip:tcp", "{row}");
            assert!(
                !expert.contains("alformed") && !expert.contains("hecksum"),
                "{row}"
            );
            if let Fate::Lost(cause, _) = seen.fate {
                lost[cause as usize] += 1;
            }
        }
        assert_eq!(tshark(&["-Y", "_ws.malformed"], &file), "", "{stem}");
        let of_lost = tshark(&["-Y", "frame.comment contains \"lost\""], &file);
        let expected = seen
            .iter()
            .filter(|seen| matches!(seen.fate, Fate::Lost(..)));
        assert_eq!(of_lost.lines().count(), expected.count(), "{stem}");
    }
    assert_eq!(protocols.len(), 2);
    assert!(lost[0] > 0 && lost[1] > 0, "both kinds of loss: {lost:?}");
}

/// Wireshark's analysis of a TCP connection agrees with the engine.
#[test]
fn tshark_follows_tcp() {
    let directory = tempfile::tempdir().unwrap();
    let links = capture(directory.path());
    let numbers = |stem: &str, field: &str| -> Vec<String> {
        let mut options = vec!["-o", "tcp.relative_sequence_numbers:FALSE"];
        options.extend(["-Y", "tcp", "-T", "fields", "-e", field]);
        let output = tshark(&options, &directory.path().join(format!("{stem}.pcapng")));
        output.lines().map(str::to_owned).collect()
    };
    let (mut segments, mut acks, mut edges) = (Vec::new(), Vec::new(), Vec::new());
    for seen in &links[0] {
        if let Payload::Segment(segment) = seen.packet.payload {
            segments.push((1 + segment.sequence * 710).to_string());
        }
    }
    for seen in &links[2] {
        if let Payload::Ack(ack) = seen.packet.payload {
            acks.push((1 + ack.next * 710).to_string());
            let lefts = ack
                .sacked()
                .map(|range| (1 + range.start * 710).to_string());
            edges.push(lefts.collect::<Vec<_>>().join(","));
        }
    }
    assert_eq!(numbers("a-to-r", "tcp.seq_raw"), segments);
    assert!(
        numbers("a-to-r", "tcp.len")
            .iter()
            .all(|length| length == "710")
    );
    assert_eq!(numbers("b-to-r", "tcp.ack_raw"), acks);
    assert_eq!(numbers("b-to-r", "tcp.options.sack_le"), edges);
    assert!(
        edges.iter().any(|lefts| lefts.contains(',')),
        "some acknowledgement has two blocks"
    );
}
