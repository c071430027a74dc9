//! Checks inputs that would need unlimited memory: the longest-idle or oldest parts are dropped,
//! and the report says so.

use std::fmt::Write as _;
use std::io::Cursor;

use whyloss_diagnose::{Diagnosis, Error, Options, diagnose, diagnose_path, report};

const MIB: u64 = 1 << 20;

fn read(bytes: Vec<u8>, memory: u64) -> Diagnosis {
    let options = Options {
        memory,
        ..Options::default()
    };
    diagnose(Box::new(Cursor::new(bytes)), options).expect("a diagnosis")
}

/// Returns a log in which each of `connections` connections receives these numbers.
fn qlog(connections: u64, numbers: &[u64]) -> Vec<u8> {
    let mut log = String::from("{\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n");
    for connection in 0..connections {
        for (at, number) in numbers.iter().enumerate() {
            let time = connection * 100 + at as u64;
            let _ = writeln!(
                log,
                "{{\"time\":{time},\"name\":\"packet_received\",\"group_id\":\"{connection}\",\"data\":{{\"header\":\
                 {{\"packet_number\":{number}}},\"raw\":{{\"length\":1200}}}}}}"
            );
        }
    }
    log.into_bytes()
}

/// Asserts that the text, the JSON and the notes contain `what`.
fn says(diagnosis: &Diagnosis, what: &str) {
    let notes = diagnosis.notes.iter().chain(&diagnosis.partial);
    assert!(
        notes.clone().any(|note| note.contains(what)),
        "{:?}",
        diagnosis.notes
    );
    assert!(report::text::render(diagnosis, None).contains(what));
    assert!(
        report::json::render(diagnosis, None)
            .to_string()
            .contains(what)
    );
}

#[test]
fn a_gap_takes_memory_once() {
    // 2,000 connections with 60,000 packets each would take 50 GB if packets were stored one by
    // one.
    let diagnosis = read(qlog(2000, &[0, 1, 60_000]), 1 << 30);
    assert_eq!(diagnosis.flows.len(), 2000);
    for flow in &diagnosis.flows {
        assert_eq!(flow.portrait.by_cause.total(), 59_998);
        assert_eq!(flow.portrait.runs, [0, 0, 0, 0, 59_998]);
        assert_eq!(flow.losses.len(), 129);
    }
    assert!(diagnosis.notes.is_empty());
}

#[test]
fn flows_with_the_fewest_losses_are_dropped_when_memory_is_short() {
    let mut log = qlog(40, &[0, 2]);
    log.extend(&qlog(300, &[0, 1, 60_000])[..]);
    let diagnosis = read(log, 8 * MIB);
    assert!((20..300).contains(&diagnosis.flows.len()));
    assert!(diagnosis.flows.iter().all(|flow| flow.losses.len() > 1));
    says(
        &diagnosis,
        "flows, those with the fewest losses, were dropped: the memory limit of 8 MiB",
    );
}

#[test]
fn connections_are_closed_when_memory_is_short() {
    let numbers: Vec<u64> = (0..200).map(|number| number * 3).collect();
    let diagnosis = read(qlog(100, &numbers), 4 * MIB);
    says(
        &diagnosis,
        "were closed early: the memory limit of 4 MiB (`--memory`) was reached",
    );
}

#[test]
fn numbers_and_ids_that_cannot_be_are_passed_over() {
    let mut log = qlog(1, &[0, 1, 1 << 62, u64::MAX, 2]);
    let id = "x".repeat(300);
    log.extend(
        format!(
            "{{\"time\":1,\"name\":\"packet_received\",\"group_id\":\"{id}\",\"data\":{{}}}}\n"
        )
        .bytes(),
    );
    let diagnosis = read(log, 1 << 30);
    assert_eq!(diagnosis.flows[0].counts.data_packets, 3);
    says(
        &diagnosis,
        "2 events lack a time or the number of their packet",
    );
    says(
        &diagnosis,
        "1 events are about a connection whose id is too long",
    );
}

#[test]
fn the_log_of_a_network_is_cut_where_memory_ends() {
    let mut log = String::new();
    for number in 0..20_000 {
        let _ = writeln!(
            log,
            "{{\"packet\":{number},\"link\":\"l\",\"protocol\":17,\"source\":\"10.0.0.1\",\"destination\":\"10.0.0.2\",\
             \"source_port\":1,\"destination_port\":2,\"sequence\":null,\"bytes\":100,\"enqueued\":{number},\
             \"scheduled\":{number},\"departed\":{number},\"fate\":\"delivered\"}}"
        );
    }
    let diagnosis = read(log.clone().into_bytes(), MIB);
    assert!((3500..4000).contains(&diagnosis.flows[0].counts.data_packets));
    says(&diagnosis, "it does not fit into the memory limit of 1 MiB");
    // Half of a doubled limit is in use, so the same memory is left. The message names the user's
    // limit.
    let options = Options {
        memory: 2 * MIB,
        taken: MIB,
        ..Options::default()
    };
    let bytes = Cursor::new(log.clone().into_bytes());
    let beside = diagnose(Box::new(bytes), options).expect("a diagnosis");
    assert_eq!(beside.flows, diagnosis.flows);
    says(&beside, "it does not fit into the memory limit of 2 MiB");
    let whole = read(log.into_bytes(), 1 << 30);
    assert_eq!(
        (whole.flows[0].counts.data_packets, whole.partial),
        (20_000, None)
    );
}

#[test]
fn rows_and_cells_of_tables_have_limits() {
    let directory = tempfile::tempdir().expect("a directory");
    let losses = "time_s,flow,sequence,where,truth,sent_s\n1,f,1,l,congestion,0\n";
    let write = |name: &str, text: &str| {
        std::fs::write(directory.path().join(name), text).expect("a table");
    };
    let problem = |arrivals: &str| {
        write("arrivals.csv", arrivals);
        match diagnose_path(directory.path(), Options::default()) {
            Err(Error::Part { path, problem }) => {
                assert!(path.ends_with("arrivals.csv"));
                problem
            }
            other => panic!("{other:?}"),
        }
    };
    write("losses.csv", losses);
    let head = "time_s,flow,sequence,rott_s,size_bytes\n";
    let long = format!("{head}1,{},0,0.1,1500\n", "f".repeat(5000));
    assert_eq!(
        problem(&long),
        "row 1 has a cell of 5000 bytes; expected at most 4096"
    );
    let endless = format!("{head}1,f,0,0.1,\"{}", "\n".repeat(2 << 20));
    assert_eq!(problem(&endless), "a row is longer than 1 MiB");
    let short = format!("{head}1,f\n");
    assert_eq!(problem(&short), "line 2 has 2 cells; expected 5");
}
