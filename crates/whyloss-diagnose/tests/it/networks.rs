//! Tests diagnoses of networks: the log of an emulated link, and the tables of a simulated run.

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::Path;

use whyloss::{Cause, Time};
use whyloss_diagnose::truth::Fate;
use whyloss_diagnose::{Diagnosis, Error, Options, Vantage, diagnose, diagnose_path, report};
use whyloss_sim::packet::Payload;
use whyloss_sim::trace::{CsvFiles, Trace, TraceOptions};
use whyloss_sim::{Event, Scenario, Simulation, Watch};

/// The log that an emulator of the same links would write: a line for each packet at each link.
struct Log {
    links: Vec<String>,
    lines: String,
    numbers: std::collections::HashMap<(u32, bool, u64, Time), u64>,
    /// Data packets lost, by cause.
    lost: [u64; 2],
}

impl Log {
    fn new(scenario: &Scenario) -> Self {
        Self {
            links: scenario.links.iter().map(|l| l.name.clone()).collect(),
            lines: String::new(),
            numbers: std::collections::HashMap::new(),
            lost: [0; 2],
        }
    }
}

impl Watch for Log {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
            link,
            at,
            packet,
            fate,
            ..
        } = *event
        {
            let (ends, sequence, data) = match packet.payload {
                Payload::Segment(segment) => (
                    "10.0.0.1\",\"destination\":\"10.0.0.3\",\"source_port\":5000,\"destination_port\":80",
                    segment.sequence,
                    true,
                ),
                _ => (
                    "10.0.0.3\",\"destination\":\"10.0.0.1\",\"source_port\":80,\"destination_port\":5000",
                    0,
                    false,
                ),
            };
            let next = self.numbers.len() as u64;
            let number = *self
                .numbers
                .entry((packet.flow, data, sequence, packet.sent))
                .or_insert(next);
            let (word, when) = match fate {
                whyloss_link::Fate::Lost(cause, when) => {
                    self.lost[usize::from(cause == Cause::Wireless)] += u64::from(data);
                    (
                        if cause == Cause::Congestion {
                            "overflow"
                        } else {
                            "channel"
                        },
                        when,
                    )
                }
                whyloss_link::Fate::Delivered(when) | whyloss_link::Fate::Damaged(when, _) => {
                    ("delivered", when)
                }
                whyloss_link::Fate::Held => unreachable!("told once it is known"),
            };
            let departed = if word == "delivered" {
                when.as_nanos().to_string()
            } else {
                "null".to_owned()
            };
            let _ = writeln!(
                self.lines,
                "{{\"offer\":{next},\"packet\":{number},\"link\":\"{}\",\"from\":\"a\",\"to\":\"b\",\"protocol\":6,\"source\":\"{ends},\
             \"sequence\":{},\"ip_id\":1,\"bytes\":{},\"enqueued\":{},\"waiting\":0,\"scheduled\":{},\"departed\":{departed},\"fate\":\"{word}\"}}",
                self.links[link],
                (1 + sequence * 1448) as u32,
                packet.size,
                at.as_nanos(),
                when.as_nanos(),
            );
        }
    }
}

/// Runs a scenario. Writes its tables into the directory, and returns its log.
fn ran(directory: &Path) -> Log {
    let scenario = Scenario::from_toml(crate::network::NETWORK, "test", &[]).expect("a scenario");
    let files = CsvFiles::create(directory).expect("files");
    let mut both = (
        Log::new(&scenario),
        Trace::new(&scenario, TraceOptions::default(), files),
    );
    Simulation::new(&scenario, 1)
        .watch(&mut both)
        .run()
        .expect("a run");
    both.1.finish().expect("files");
    both.0
}

fn by_cause(diagnosis: &Diagnosis) -> [u64; 2] {
    let flow = &diagnosis.flows[0];
    assert_eq!(flow.vantage, Vantage::Log);
    assert!(flow.losses.iter().all(|loss| {
        let sure = loss.verdict.expect("a cause");
        sure.confidence >= 1.0 && loss.truth == Some(Fate::Lost(sure.cause))
    }));
    let causes = flow.portrait.by_cause;
    assert_eq!(causes.unknown, 0);
    [causes.congestion, causes.wireless]
}

/// Checks the portrait of the path: 4 Mbit/s, 40 ms and transmission times, room for 15 packets.
fn portrait(diagnosis: &Diagnosis) {
    let portrait = &diagnosis.flows[0].portrait;
    let within = |value: Option<f64>, low: f64, high: f64| {
        let value = value.expect("known");
        assert!((low..high).contains(&value), "{value} {portrait:?}");
    };
    within(portrait.base_rtt_ms, 42.0, 46.0);
    within(portrait.full_mbps, 3.6, 4.4);
    // The buffer holds fifteen packets of 1500 bytes at 4 Mbit/s.
    within(portrait.buffer_ms, 38.0, 46.0);
    within(portrait.queueing_ms.map(|q| q[2]), 30.0, 48.0);
    assert!(portrait.runs.iter().sum::<u64>() > 10);
    assert!(portrait.wireless_at_ms < portrait.buffer_ms);
}

#[test]
fn the_log_of_a_link_tells_every_loss_and_its_cause() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = ran(directory.path());
    let read = diagnose(Box::new(Cursor::new(log.lines.clone())), Options::default());
    let diagnosis = read.expect("a diagnosis");
    assert_eq!(diagnosis.flows.len(), 1);
    assert_eq!(by_cause(&diagnosis), log.lost);
    portrait(&diagnosis);
    assert!(
        diagnosis.notes[0].starts_with("lost at `wire`: "),
        "{:?}",
        diagnosis.notes
    );
    let score = diagnosis.score.as_ref().expect("a score");
    assert!(
        score
            .classifiers
            .iter()
            .any(|(id, c)| *id == "zbs" && c.accuracy().is_some_and(|a| a > 0.5))
    );
    let text = report::text::render(&diagnosis, Some(1));
    assert!(
        text.contains("by the network") && !text.contains("found 0"),
        "{text}"
    );
    // The log is read from a directory, compressed, and truncated.
    std::fs::write(directory.path().join("packets.jsonl"), &log.lines).expect("a file");
    let of_directory = diagnose_path(directory.path(), Options::default());
    assert_eq!(of_directory.expect("a diagnosis"), diagnosis);
    let half = log.lines.len() / 2;
    let half = diagnose(
        Box::new(Cursor::new(log.lines[..half].to_owned())),
        Options::default(),
    );
    assert!(half.expect("a diagnosis").partial.is_some());
}

#[test]
fn the_tables_of_a_run_tell_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = ran(directory.path());
    let diagnosis = diagnose_path(directory.path(), Options::default()).expect("a diagnosis");
    assert_eq!(diagnosis.flows.len(), 1);
    assert_eq!(by_cause(&diagnosis), log.lost);
    portrait(&diagnosis);
    let of_log =
        diagnose(Box::new(Cursor::new(log.lines)), Options::default()).expect("a diagnosis");
    let story = |diagnosis: &Diagnosis| -> Vec<_> {
        let losses = diagnosis.flows[0].losses.iter();
        losses
            .map(|loss| {
                (
                    loss.time,
                    loss.order,
                    loss.run,
                    loss.retransmission,
                    loss.verdict,
                )
            })
            .collect()
    };
    assert_eq!(story(&diagnosis), story(&of_log));
    let name = diagnosis.flows[0].names()[0].clone();
    assert!(report::csv::render(&diagnosis, None).contains(&format!("\n1,{name},,simulated,")));
}

#[test]
fn what_is_half_a_trace_is_refused_in_a_sentence() {
    let directory = tempfile::tempdir().expect("a directory");
    let refused = |path: &Path| {
        diagnose_path(path, Options::default())
            .expect_err("no diagnosis")
            .to_string()
    };
    assert!(refused(directory.path()).starts_with("the directory has no `packets.jsonl`"));
    ran(directory.path());
    let losses = directory.path().join("losses.csv");
    assert!(refused(&losses).contains("one table of a simulated run's trace"));
    // Tables of an earlier version lack departure times.
    std::fs::write(
        &losses,
        "time_s,flow,sequence,where,truth\n1.0,a,7,wire,congestion\n",
    )
    .expect("a file");
    assert!(refused(directory.path()).contains("run it again"));
    for (bytes, sentence) in [
        (&b"PAR1...."[..], "not through a pipe"),
        (b"{\"a\":1}\n", "its first record is neither"),
    ] {
        let read = diagnose(Box::new(Cursor::new(bytes.to_vec())), Options::default());
        let error: Error = read.expect_err("no diagnosis");
        assert!(error.to_string().contains(sentence), "{error}");
    }
}
