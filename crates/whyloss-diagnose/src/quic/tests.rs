use std::fmt::Write as _;
use std::io::Cursor;

use whyloss::Cause;

use crate::loss::Side;
use crate::{Diagnosis, Error, Options, Vantage, diagnose};

/// Sends a packet of 1200 bytes every ms through a queue that fills and empties, with a round trip
/// of at least 20 ms. The channel loses every 97th packet while the queue is short. The full queue
/// drops the last two of each filling. Each packet has a separate acknowledgement.
struct Path {
    events: Vec<(f64, String, String)>,
    lost: [u64; 2],
}

impl Path {
    fn new(packets: u64) -> Self {
        let mut events = Vec::new();
        let mut lost = [0; 2];
        for number in 0..packets {
            let at = number as f64;
            let height = (number % 400) as f64 / 400.0;
            let full = number % 400 >= 398;
            let bad = number % 97 == 50 && height < 0.4;
            events.push((
                at,
                "packet_sent".to_owned(),
                format!(
                    r#"{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{{"frame_type":"stream"}}]}}"#
                ),
            ));
            let arrived = at + 20.0 + 60.0 * height;
            if full || bad {
                lost[usize::from(bad)] += 1;
                events.push((
                    at + 95.0,
                    "packet_lost".to_owned(),
                    format!(r#"{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"trigger":"time_threshold"}}"#),
                ));
            } else {
                events.push((
                    arrived,
                    "packet_received".to_owned(),
                    format!(
                        r#"{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":40}},"frames":[{{"frame_type":"ack","ack_delay":0,"acked_ranges":[[{number},{number}]]}}]}}"#
                    ),
                ));
            }
        }
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { events, lost }
    }

    fn event(at: f64, name: &str, data: &str) -> String {
        let category = if name == "packet_lost" {
            "recovery"
        } else {
            "transport"
        };
        format!(r#"{{"time":{at},"name":"{category}:{name}","data":{data}}}"#)
    }

    fn document(&self) -> String {
        let events: Vec<String> = self
            .events
            .iter()
            .map(|(at, name, data)| Self::event(*at, name, data))
            .collect();
        format!(
            r#"{{"qlog_version":"0.3","traces":[{{"vantage_point":{{"type":"server"}},"common_fields":{{"reference_time":1700000000000}},"events":[{}]}}]}}"#,
            events.join(",\n")
        )
    }

    fn sequence(&self) -> String {
        let mut text = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"common_fields\":{\"reference_time\":1700000000000}}}\n".to_owned();
        for (at, name, data) in &self.events {
            let name = if name == "packet_lost" {
                "quic:packet_lost"
            } else {
                name
            };
            let _ = writeln!(
                text,
                "\u{1e}{{\"time\":{at},\"name\":\"quic:{name}\",\"data\":{data}}}"
            );
        }
        text
    }

    /// Returns the events as draft 01 writes them: arrays, µs, and times as differences.
    fn arrays(&self) -> String {
        let mut last = 0.0;
        let mut events = Vec::new();
        for (at, name, data) in &self.events {
            events.push(format!(
                r#"["{}","TRANSPORT","{}",{data}]"#,
                (at - last) * 1000.0,
                name.to_uppercase()
            ));
            last = *at;
        }
        format!(
            r#"{{"qlog_version":"draft-01","traces":[{{"configuration":{{"time_units":"us"}},"common_fields":{{"time_format":"delta","reference_time":1700000000000000}},"event_fields":["relative_time","CATEGORY","EVENT_TYPE","DATA"],"events":[{}]}}]}}"#,
            events.join(",")
        )
    }
}

fn read(text: &str) -> Result<Diagnosis, Error> {
    diagnose(
        Box::new(Cursor::new(text.as_bytes().to_vec())),
        Options::default(),
    )
}

#[test]
fn losses_and_their_causes_are_those_of_the_path() {
    let path = Path::new(8000);
    let diagnosis = read(&path.document()).expect("a log");
    assert_eq!(diagnosis.partial, None);
    assert_eq!(
        diagnosis.flows.len(),
        1,
        "acknowledgements alone are no flow of data"
    );
    let flow = &diagnosis.flows[0];
    assert_eq!(flow.vantage, Vantage::Sender);
    assert_eq!(flow.lost(Side::Beyond), path.lost[0] + path.lost[1]);
    assert_eq!(flow.portrait.base_rtt_ms, Some(20.0));
    let causes = flow.portrait.by_cause;
    assert!(causes.unknown < causes.total() / 2, "{causes:?}");
    let right = flow.losses.iter().filter(|loss| {
        let full = loss.offset % 400 >= 398;
        let truth = Cause::congestion_if(full);
        loss.verdict.is_some_and(|verdict| verdict.cause == truth)
    });
    let told = causes.congestion + causes.wireless;
    assert!(right.count() as u64 * 20 >= told * 19, "{causes:?}");
}

#[test]
fn every_way_to_write_a_log_tells_the_same() {
    let path = Path::new(2000);
    let one = read(&path.document()).expect("a document");
    for other in [
        path.sequence(),
        path.sequence().replace('\u{1e}', ""),
        path.arrays(),
    ] {
        let other = read(&other).expect("a log");
        assert_eq!(other.partial, None);
        assert_eq!(other.flows[0].portrait, one.flows[0].portrait);
        let times = |diagnosis: &Diagnosis| -> Vec<(u64, u64)> {
            let losses = diagnosis.flows[0].losses.iter();
            losses
                .map(|loss| (loss.offset, loss.time / 1_000_000))
                .collect()
        };
        assert_eq!(times(&other), times(&one));
    }
}

#[test]
fn what_is_acknowledged_after_all_was_not_lost() {
    let mut path = Path::new(1000);
    let (at, ..) = path.events[path.events.len() - 1];
    let first =
        |name: &str, data: &str| name == "packet_lost" && data.contains(r#""packet_number":50}"#);
    assert!(path.events.iter().any(|(_, name, data)| first(name, data)));
    path.events.push((
        at + 1.0,
        "packet_received".to_owned(),
        r#"{"header":{"packet_type":"1RTT","packet_number":2000},"frames":[{"frame_type":"ack","acked_ranges":[["50","50"]]}]}"#.to_owned(),
    ));
    let flow = &read(&path.document()).expect("a log").flows[0];
    assert_eq!(flow.counts.spurious, 1);
    assert_eq!(flow.lost(Side::Beyond), path.lost[0] + path.lost[1] - 1);
}

#[test]
fn a_log_without_losses_of_its_own_is_read_by_overtaking() {
    let mut path = Path::new(2000);
    path.events.retain(|(_, name, _)| name != "packet_lost");
    let flow = &read(&path.document()).expect("a log").flows[0];
    // No packet arrived after the last two.
    assert_eq!(flow.lost(Side::Beyond), path.lost[0] + path.lost[1] - 2);
}

#[test]
fn numbers_that_never_came_are_lost_before() {
    let mut text = String::new();
    for number in (0..100).filter(|number| number % 10 != 7).chain([17]) {
        let data = format!(
            r#"{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{{"frame_type":"stream"}}]}}"#
        );
        let _ = writeln!(
            text,
            "{}",
            Path::event(number as f64, "packet_received", &data)
        );
    }
    let flow = &read(&text).expect("a log").flows[0];
    assert_eq!((flow.lost(Side::Before), flow.counts.reordered), (9, 1));
    assert_eq!(flow.portrait.by_cause.unknown, 9);
    assert!(
        flow.cannot_tell
            .iter()
            .any(|limit| limit.contains("timestamps")),
        "{:?}",
        flow.cannot_tell
    );
}

#[test]
fn what_is_broken_is_said() {
    let whole = Path::new(500).document();
    let cut = read(&whole[..whole.len() / 2]).expect("the beginning");
    assert!(cut.partial.is_some() && !cut.flows.is_empty());
    for text in [
        "{",
        "[1, 2]",
        "{\"a\": 1}",
        "{\"traces\": 3}",
        "{\"link\": \"x\"}\n{}",
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains("JSON"), "{text}: {error}");
    }
    let odd = r#"{"qlog_version":"0.3","trace":{}}
{"time":-1,"name":"x","data":{}}
{"time":1e300,"name":"quic:packet_sent","data":{"header":{"packet_number":1e300}}}
{"time":"x","name":7}
{"time":1,"name":"quic:packet_sent","data":[]}
7
"#;
    let odd = read(odd).expect("read");
    assert!(odd.flows.is_empty() && odd.notes.len() == 1, "{odd:?}");
    let long = format!("{{\"traces\":[{{\"a\":\"{}\"}}]}}", "x".repeat(17 << 20));
    let error = read(&long).expect_err("too long").to_string();
    assert!(error.contains("1 MiB"), "{error}");
}
