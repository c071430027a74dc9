//! Checks the stable part of `--format json`: every key and its type, as documented in
//! `docs/reference/command.md` and `docs/reference/scenarios.md`.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};

/// The object on each line of standard output.
fn objects(arguments: &[&str]) -> Vec<Map<String, Value>> {
    let output = Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments)
        .args(["--format", "json"])
        .output()
        .expect("the command starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("an object on a line"))
        .collect()
}

fn keys(object: &Map<String, Value>) -> Vec<&str> {
    object.keys().map(String::as_str).collect()
}

fn list<'a>(object: &'a Map<String, Value>, key: &str) -> Vec<&'a Map<String, Value>> {
    let list = object[key].as_array().expect("a list");
    assert!(!list.is_empty(), "{key}");
    list.iter()
        .map(|item| item.as_object().expect("an object"))
        .collect()
}

#[test]
fn reproduce_prints_an_object_per_experiment() {
    let experiments = objects(&[
        "reproduce",
        "cen-table-2",
        "cen-table-3",
        "cen-fig-8",
        "--seeds",
        "2",
    ]);
    let ids: Vec<_> = experiments.iter().map(|object| &object["id"]).collect();
    assert_eq!(ids, ["cen-table-2", "cen-table-3", "cen-fig-8"]);
    for object in &experiments {
        assert_eq!(
            keys(object),
            [
                "cells",
                "claims",
                "confidence",
                "id",
                "score",
                "seeds",
                "title"
            ]
        );
        assert!(object["title"].is_string() && object["seeds"] == 2);
        for cell in list(object, "cells") {
            let figure = object["id"] == "cen-fig-8";
            let point = cell.contains_key("x");
            assert!(figure || !point, "{cell:?}");
            let beside = ["unaware", "oracle", "fitted"];
            let beside = beside.iter().filter(|key| cell.contains_key(**key)).count();
            assert_eq!(cell.len() - beside, if point { 8 } else { 7 }, "{cell:?}");
            assert!(!point || cell["x"].is_f64());
            for key in ["row", "column", "unit"] {
                assert!(cell[key].is_string(), "{cell:?}");
            }
            for key in ["paper", "mean", "half_width"] {
                assert!(cell[key].is_f64() || cell[key].is_null(), "{cell:?}");
            }
            assert!(cell["within"].is_boolean() || cell["within"].is_null());
            assert!(cell["within"].is_null() || cell["paper"].is_f64());
        }
        for claim in list(object, "claims") {
            assert_eq!(keys(claim), ["evidence", "holds", "id", "text", "weight"]);
            assert!(claim["holds"].is_boolean(), "{claim:?}");
            for key in ["evidence", "id", "text"] {
                assert!(claim[key].is_string(), "{claim:?}");
            }
        }
    }
    let verdicts = list(&experiments[0], "cells");
    let with = |within: Value| verdicts.iter().any(|cell| cell["within"] == within);
    assert!(with(true.into()) && with(false.into()) && with(Value::Null));
}

const FLOW: [&str; 11] = [
    "sent",
    "received",
    "delivered",
    "throughput_bps",
    "lost",
    "mc",
    "mw",
    "accuracy",
    "packets",
    "gaps",
    "timeouts",
];

const CONFUSION: [&str; 4] = [
    "congestion_called_congestion",
    "congestion_called_wireless",
    "wireless_called_congestion",
    "wireless_called_wireless",
];

const DELAY: [&str; 9] = [
    "jitter_ms",
    "jitter_ms2",
    "max_ms",
    "mean_ms",
    "min_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "rfc3550_jitter_ms",
];

#[test]
fn run_prints_every_metric_of_flows_and_links() {
    let runs = objects(&["run", "scenarios/wlh.toml", "--seeds", "1"]);
    let [run] = &runs[..] else {
        panic!("one object");
    };
    let flows = list(run, "flows");
    assert_eq!(flows.len(), 3);
    let total = run["total"].as_object().expect("an object");
    for flow in flows.iter().copied().chain([total]) {
        for key in FLOW {
            assert!(flow.contains_key(key), "{key} in {flow:?}");
        }
        for key in ["sent", "received", "delivered", "damaged", "timeouts"] {
            assert!(flow[key].is_u64(), "{key} in {flow:?}");
        }
        assert!(flow["throughput_bps"].is_f64());
        for key in ["mc", "mw", "accuracy"] {
            assert!(flow[key].is_f64() || flow[key].is_null());
        }
        by_cause(&flow["lost"]);
        for key in ["packets", "gaps"] {
            let confusion = flow[key].as_object().expect("an object");
            assert!(keys(confusion).iter().all(|key| CONFUSION.contains(key)));
            assert!(confusion.len() == 4 && confusion.values().all(Value::is_u64));
        }
    }
    for flow in &flows {
        let delay = flow["delay"].as_object().expect("an object");
        assert_eq!(keys(delay), DELAY);
        let nothing = flow["received"] == 0;
        assert!(delay.values().all(|ms| nothing == ms.is_null()));
    }
    let ms = DELAY.map(|key| flows[0]["delay"][key].as_f64().expect("a number"));
    let [jitter, variance, max, mean, min, p50, p95, p99, _] = ms;
    assert!((jitter * jitter - variance).abs() < 1e-9);
    assert!(min <= mean && mean <= max);
    assert!(min <= p50 && p50 <= p95 && p95 <= p99 && p99 <= max);
    assert!(flows[0]["name"] == "video-1" && flows[0]["background"] == false);
    assert_eq!(flows[1]["background"], true);
    for link in list(run, "links") {
        assert_eq!(
            keys(link),
            ["damaged", "delivered", "lost", "name", "utilisation"]
        );
        assert!(link["name"].is_string() && link["delivered"].is_u64());
        assert!(link["damaged"].is_u64());
        assert!(link["utilisation"].is_f64());
        by_cause(&link["lost"]);
    }
}

#[test]
fn run_prints_the_frames_of_media_streams() {
    let runs = objects(&["run", "scenarios/media.toml", "--seeds", "1"]);
    let frames = list(&runs[0], "frames");
    assert_eq!(frames.len(), 21);
    for (index, item) in frames.iter().enumerate() {
        let expected = [
            "damaged",
            "frames",
            "late",
            "name",
            "never",
            "playout_ms",
            "whole",
        ];
        assert_eq!(keys(item), expected);
        assert_eq!(item["playout_ms"], [100.0, 200.0, 400.0][index % 3]);
        assert!(item["frames"].as_u64() > Some(2_000));
        let shares = ["whole", "damaged", "late", "never"];
        let sum: f64 = shares.iter().filter_map(|key| item[*key].as_f64()).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{item:?}");
    }
    assert_eq!(frames[0]["name"], "video-udp");
    let without = objects(&["run", "scenarios/two-hop.toml", "--seeds", "1"]);
    assert!(!without[0].contains_key("frames"));
}

fn by_cause(lost: &Value) {
    let lost = lost.as_object().expect("an object");
    assert_eq!(keys(lost), ["congestion", "wireless"]);
    assert!(lost.values().all(Value::is_u64));
}

#[test]
fn bench_prints_one_object() {
    // The documents' examples use the same cache, because the program for ns-3 takes eight seconds
    // to compile.
    let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/whyloss");
    let objects = objects(&[
        "bench",
        "--quick",
        "--workload",
        "one-flow",
        "--cache",
        cache,
    ]);
    let [object] = &objects[..] else {
        panic!("one object, not {}", objects.len());
    };
    assert_eq!(
        keys(object),
        [
            "failures",
            "gaps",
            "growth",
            "memory",
            "missing",
            "repetitions",
            "sweep",
            "workloads"
        ]
    );
    assert_eq!(object["repetitions"], 1);
    assert!(object["growth"].is_null() && object["sweep"].is_null());
    let workloads = list(object, "workloads");
    let [row] = &workloads[..] else {
        panic!("one workload, not {}", workloads.len());
    };
    assert_eq!(keys(row), ["flows", "name", "ns2", "ns3", "whyloss"]);
    assert_eq!(row["name"], "one flow");
    assert!(row["flows"].is_null());
    // This checks no speed, only the deliveries of 10 Mbit/s in 20 s, with one event per packet.
    let ours = row["whyloss"].as_object().expect("an object");
    assert_eq!(
        keys(ours),
        [
            "events_per_packet",
            "instructions_per_packet",
            "packets",
            "packets_of_whyloss",
            "packets_per_cpu_second",
            "peak_memory",
            "simulated"
        ]
    );
    let packets = ours["packets"].as_f64().expect("a number");
    assert!((10_000.0..=16_667.0).contains(&packets), "{packets}");
    assert_eq!(ours["simulated"], 20.0);
    let events = ours["events_per_packet"].as_f64().expect("a number");
    assert!((0.9..1.5).contains(&events), "{events}");
    let rate = ours["packets_per_cpu_second"]
        .as_object()
        .expect("a spread");
    assert_eq!(keys(rate), ["max", "median", "min"]);
    assert!(rate["median"].as_f64().is_some_and(|rate| rate > 0.0));
    // Peers may be missing. Those present do the same work: they deliver nearly as many packets.
    for peer in ["ns2", "ns3"] {
        let Some(side) = row[peer].as_object() else {
            continue;
        };
        let number = |key: &str| side[key].as_f64().expect("a number");
        let share = number("packets") / number("packets_of_whyloss");
        assert!((0.9..1.1).contains(&share), "{peer}: {share}");
        assert!(side["ratio"].is_object(), "{peer}");
    }
    assert_eq!(object["memory"]["bytes_per_flow"], Value::Null);
}
