//! Checks traces and captures of a whole run: they agree with its counts, do not change it, and are
//! reproducible to the byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::tiny;
use whyloss::Cause;
use whyloss_sim::{Capture, CsvFiles, Measurement, Simulation, Trace, TraceOptions};

/// Runs the tiny network with both observers on `directory`.
fn record(directory: &Path) -> Measurement {
    let scenario = tiny::scenario(5_000);
    let files = CsvFiles::create(directory).unwrap();
    let trace = Trace::new(&scenario, TraceOptions::default(), files);
    let mut observers = (trace, Some(Capture::create(&scenario, directory).unwrap()));
    let measurement = Simulation::new(&scenario, 1)
        .watch(&mut observers)
        .run()
        .unwrap();
    observers.0.finish().unwrap();
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

/// Returns the rows of a CSV file, without its header.
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
    // An unwatched run takes fewer events.
    let unwatched = Simulation::new(&tiny::scenario(5_000), 1)
        .run()
        .expect("it passes its checks");
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
        ".whyloss-files",
        "a-to-r.pcapng",
        "arrivals.csv",
        "b-to-r.pcapng",
        "links.csv",
        "losses.csv",
        "r-to-a.pcapng",
        "radio.pcapng",
        "sources.csv",
        "transfers.csv",
    ];
    assert_eq!(names, expected);
}

/// The window of the tiny network is the whole run, so rows and counts cover the same packets.
#[test]
fn tables_agree_with_the_counts() {
    let directory = tempfile::tempdir().unwrap();
    let measurement = record(directory.path());
    for flow in &measurement.flows {
        let name = &flow.name;
        let of_flow = |table: &str| {
            let rows = rows(directory.path(), &format!("{table}.csv")).into_iter();
            rows.filter(|row| row[1] == *name).collect::<Vec<_>>()
        };
        let arrivals = of_flow("arrivals");
        assert_eq!(arrivals.len() as u64, flow.received, "{name}");
        assert!(arrivals.is_sorted_by_key(|row| row[0].parse::<f64>().unwrap().to_bits()));
        let losses = of_flow("losses");
        let with = |truth: &str, verdict: Option<&str>| {
            let counted = losses
                .iter()
                .filter(|row| row[4] == truth && verdict.is_none_or(|v| row[5] == v));
            counted.count() as u64
        };
        assert!(losses.iter().all(|row| row[3] == "radio"));
        let lost = (with("congestion", None), with("wireless", None));
        assert_eq!(lost, (flow.lost.congestion, flow.lost.wireless), "{name}");
        let words = [
            (Cause::Congestion, "congestion"),
            (Cause::Wireless, "wireless"),
        ];
        for (truth, word) in words {
            for (verdict, said) in words {
                assert_eq!(
                    with(word, Some(said)),
                    flow.packets.count(truth, verdict),
                    "{name}: {word} called {said}"
                );
            }
        }
    }
    let mut radio = rows(directory.path(), "links.csv");
    radio.retain(|row| row[1] == "radio");
    let fates = |fate: &str| radio.iter().filter(|row| row[5] == fate).count() as u64;
    let lost = measurement.links[1].lost;
    assert_eq!(fates("congestion"), lost.congestion);
    // The engine computes a packet's fate as the packet reaches the link. Some packets are
    // corrupted after the end of the run.
    assert!((lost.wireless..lost.wireless + 6).contains(&fates("wireless")));
    for row in &radio {
        let waiting: u32 = row[4].parse().unwrap();
        assert!(
            if row[5] == "congestion" {
                waiting == 5
            } else {
                waiting < 5
            },
            "{row:?}"
        );
    }
}
