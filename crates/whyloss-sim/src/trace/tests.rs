//! Hand-fed traces, field by field.

use std::fmt::Write as _;

use super::*;
use crate::decider::{RECEIVERS, SenderDecider};
use crate::host::tcp::Segment;
use crate::scenario::{Application, Connection, Flow};
use whyloss::tfrc;

fn ms(millis: i64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn scenario() -> Scenario {
    let flow = |name: &str, transport| Flow {
        name: name.to_owned(),
        source: 0,
        sink: 1,
        route: Vec::new(),
        return_route: Vec::new(),
        packet_size: 762,
        coverage: None,
        transport,
        application: Application::Greedy,
        start: (Time::ZERO, Time::ZERO),
        stop: None,
        background: false,
    };
    let link = |name: &str, from, to| Connection {
        name: name.to_owned(),
        from,
        to,
        link: whyloss_link::LinkSpec::default(),
    };
    let classifier = RECEIVERS.build("zigzag", &[]).expect("registered");
    let tfrc = Transport::Tfrc {
        options: tfrc::Options::rfc5348(),
        classifier: classifier.expect("in range"),
    };
    let tcp = Transport::Tcp {
        options: crate::host::tcp::Options::default(),
        classifier: SenderDecider::unaware(),
    };
    Scenario {
        nodes: vec!["a".to_owned(), "b".to_owned()],
        links: vec![link("a->b", 0, 1), link("last, hop", 1, 0)],
        flows: vec![flow("tcp", tcp), flow("video", tfrc)],
        end: ms(1000),
        ..Scenario::default()
    }
}

fn packet(flow: u32, sequence: u64, sent: Time) -> Packet {
    let payload = if flow == 0 {
        Payload::Segment(Segment {
            sequence,
            stamp: sent,
            retransmission: false,
        })
    } else {
        let (rtt, t_rto) = (Duration::ZERO, Duration::ZERO);
        Payload::TfrcData(tfrc::Data {
            sequence,
            stamp: sent,
            rtt,
            t_rto,
            round: 0,
            urgent: false,
        })
    };
    Packet {
        hop: 0,
        flow,
        size: 762,
        first_damaged: Packet::WHOLE,
        sent,
        payload,
    }
}

/// Two losses of a TFRC flow, found out of order, one of them judged, and some of all else.
fn feed(trace: &mut Trace) {
    use Cause::{Congestion, Wireless};
    trace.allowed(0, ms(0), 1524.0);
    trace.allowed(0, ms(1), 1524.0);
    trace.allowed(0, ms(2), 2286.0);
    trace.allowed(1, ms(2), 0.5);
    trace.offered(0, ms(3), &packet(0, 0, ms(3)), 0, Fate::Delivered(ms(9)));
    trace.offered(
        0,
        ms(4),
        &packet(0, 1, ms(4)),
        1,
        Fate::Lost(Wireless, ms(6)),
    );
    trace.offered(
        0,
        ms(5),
        &packet(1, 8, ms(5)),
        2,
        Fate::Lost(Congestion, ms(5)),
    );
    trace.offered(
        1,
        ms(7),
        &packet(1, 7, ms(2)),
        0,
        Fate::Lost(Wireless, ms(8)),
    );
    trace.arrived(0, ms(9), &packet(0, 0, ms(10)), None);
    trace.judged(1, ms(12), 8, Congestion, Wireless);
    trace.arrived(1, ms(12), &packet(1, 9, ms(6)), None);
    trace.offered(
        0,
        ms(2000),
        &packet(0, 2, ms(2000)),
        0,
        Fate::Lost(Wireless, ms(2000)),
    );
}

fn files(options: TraceOptions) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut trace = Trace::create(&scenario(), directory.path(), options).unwrap();
    feed(&mut trace);
    trace.finish().unwrap();
    let mut entries: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    let mut all = String::new();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy();
        write!(all, "{name}\n{}\n", std::fs::read_to_string(&path).unwrap()).unwrap();
    }
    all
}

#[test]
fn tables() {
    insta::assert_snapshot!(files(TraceOptions::default()));
}

/// From 4 ms to 9 ms, thinned to a row in 10 ms: losses stay.
#[test]
fn part_of_the_tables() {
    let options = TraceOptions {
        from: ms(4),
        to: ms(9),
        thin: Duration::from_millis(10),
    };
    insta::assert_snapshot!(files(options));
}

/// Packet 0 is damaged beyond what counts and taken, packet 1 where it counts and dropped by its sink, `b`.
#[test]
fn damage() {
    let directory = tempfile::tempdir().unwrap();
    let mut trace = Trace::create(&scenario(), directory.path(), TraceOptions::default()).unwrap();
    for (sequence, bit) in [(0, 4711), (1, 7)] {
        let mut packet = packet(1, sequence, ms(1));
        trace.offered(0, ms(1), &packet, 0, Fate::Damaged(ms(3), bit));
        packet.first_damaged = bit;
        if sequence == 0 {
            trace.arrived(1, ms(3), &packet, None);
        } else {
            trace.dropped(1, ms(4), &packet);
        }
    }
    trace.judged(1, ms(5), 1, Cause::Wireless, Cause::Wireless);
    trace.arrived(1, ms(5), &packet(1, 2, ms(2)), None);
    trace.finish().unwrap();
    let rows = |file: &str| {
        let text = std::fs::read_to_string(directory.path().join(file)).unwrap();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        rows("a-to-b.queue.csv"),
        ["0.001000000,0,damaged", "0.001000000,0,damaged"]
    );
    assert_eq!(
        rows("video.arrivals.csv"),
        [
            "0.003000000,0,0.002000000,762,4711",
            "0.005000000,2,0.003000000,762,"
        ]
    );
    assert_eq!(
        rows("video.losses.csv"),
        ["0.004000000,1,b,wireless,wireless,0.005000000"]
    );
}

#[test]
fn seconds_are_exact() {
    assert_eq!(
        Seconds::from(Time::MAX).to_string(),
        "18446744073.709551615"
    );
    assert_eq!(
        Seconds::from(Duration::from_nanos(-1)).to_string(),
        "-0.000000001"
    );
    assert_eq!(Seconds::from(Duration::ZERO).to_string(), "0.000000000");
}

#[test]
fn a_directory_that_is_a_file_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Trace::create(&scenario(), file.path(), TraceOptions::default()).unwrap_err();
    assert_eq!(error.path, file.path());
}

/// Nothing panics when the disk is full, and `finish` says which file met it first.
#[cfg(target_os = "linux")]
#[test]
fn the_first_error_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let full = directory.path().join("tcp.allowance.csv");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let mut trace = Trace::create(&scenario(), directory.path(), TraceOptions::default()).unwrap();
    // More than the buffer holds.
    for step in 0..2000 {
        trace.allowed(0, ms(step / 2), step as f64);
    }
    assert!(trace.error.is_some());
    feed(&mut trace);
    let error = trace.finish().unwrap_err();
    assert_eq!(error.path, full);
    assert_eq!(error.source.kind(), std::io::ErrorKind::StorageFull);
}
