//! Traces and captures of a whole run: they agree with what the run counted, change nothing, and are the same bytes
//! twice.

mod tiny;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use whyloss::Cause;
use whyloss_sim::{Capture, Measurement, Trace, TraceOptions, run};

/// Runs the tiny network with both observers on `directory`.
fn record(directory: &Path) -> Measurement {
    let scenario = tiny::scenario(5_000);
    let trace = Trace::create(&scenario, directory, TraceOptions::default()).unwrap();
    let mut observers = (
        Some(trace),
        Some(Capture::create(&scenario, directory).unwrap()),
    );
    let measurement = run(&scenario, 1, &mut observers).unwrap();
    observers.0.map_or(Ok(()), Trace::finish).unwrap();
    observers.1.map_or(Ok(()), Capture::finish).unwrap();
    measurement
}

fn bytes(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(directory).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (
            entry.file_name().into_string().unwrap(),
            fs::read(entry.path()).unwrap(),
        )
    });
    files.collect()
}

/// The rows of a CSV file, without its header.
fn rows(directory: &Path, name: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(directory.join(name)).unwrap();
    reader
        .records()
        .map(|row| row.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

#[test]
fn same_bytes_twice_and_the_run_is_the_same_without() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let measurement = record(first.path());
    assert_eq!(measurement, record(second.path()));
    // What nobody watches takes fewer events.
    let unwatched = run(&tiny::scenario(5_000), 1, &mut ()).unwrap();
    assert!(unwatched.events <= measurement.events);
    let events = measurement.events;
    assert_eq!(
        measurement,
        Measurement {
            events,
            ..unwatched
        }
    );
    let files = bytes(first.path());
    assert!(files == bytes(second.path()));
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    let expected = [
        "a-to-r.pcapng",
        "a-to-r.queue.csv",
        "b-to-r.pcapng",
        "b-to-r.queue.csv",
        "cross.arrivals.csv",
        "cross.losses.csv",
        "r-to-a.pcapng",
        "r-to-a.queue.csv",
        "radio.pcapng",
        "radio.queue.csv",
        "tcp.allowance.csv",
        "tcp.arrivals.csv",
        "tcp.losses.csv",
        "video%201.allowance.csv",
        "video%201.arrivals.csv",
        "video%201.losses.csv",
    ];
    assert_eq!(names, expected);
}

/// The window of the tiny network is the whole run, so rows and counts are of the same packets.
#[test]
fn tables_agree_with_the_counts() {
    let directory = tempfile::tempdir().unwrap();
    let measurement = record(directory.path());
    for (stem, flow) in ["tcp", "video%201", "cross"].iter().zip(&measurement.flows) {
        let arrivals = rows(directory.path(), &format!("{stem}.arrivals.csv"));
        assert_eq!(arrivals.len() as u64, flow.received, "{stem}");
        assert!(arrivals.is_sorted_by_key(|row| row[0].parse::<f64>().unwrap().to_bits()));
        let losses = rows(directory.path(), &format!("{stem}.losses.csv"));
        let with = |truth: &str, verdict: Option<&str>| {
            let counted = losses
                .iter()
                .filter(|row| row[3] == truth && verdict.is_none_or(|v| row[4] == v));
            counted.count() as u64
        };
        assert!(losses.iter().all(|row| row[2] == "radio"));
        let lost = (with("congestion", None), with("wireless", None));
        assert_eq!(lost, (flow.lost.congestion, flow.lost.wireless), "{stem}");
        let words = [
            (Cause::Congestion, "congestion"),
            (Cause::Wireless, "wireless"),
        ];
        for (truth, word) in words {
            for (verdict, said) in words {
                let judged = if *stem == "tcp" {
                    0
                } else {
                    flow.packets.count(truth, verdict)
                };
                assert_eq!(
                    with(word, Some(said)),
                    judged,
                    "{stem}: {word} called {said}"
                );
            }
        }
    }
    let radio = rows(directory.path(), "radio.queue.csv");
    let fates = |fate: &str| radio.iter().filter(|row| row[2] == fate).count() as u64;
    let lost = measurement.links[1].lost;
    assert_eq!(fates("congestion"), lost.congestion);
    // The engine knows a packet's fate as it reaches the link; some of these are corrupted after the end of the run.
    assert!((lost.wireless..lost.wireless + 6).contains(&fates("wireless")));
    for row in &radio {
        let waiting: u32 = row[1].parse().unwrap();
        assert!(
            if row[2] == "congestion" {
                waiting == 5
            } else {
                waiting < 5
            },
            "{row:?}"
        );
    }
}
