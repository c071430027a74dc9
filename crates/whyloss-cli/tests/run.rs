//! `whyloss run` as a process: what it prints in each format, what it refuses, and with which exit code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn scenario(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    root.join(name).display().to_string()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .arg("run")
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn stdout(output: &Output) -> String {
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The WLH example cut to ten seconds of data.
const SHORT: [&str; 2] = ["--set", "duration=30 s"];

fn short(more: &[&str]) -> Output {
    let wlh = scenario("wlh.toml");
    run(&[&[wlh.as_str()][..], &SHORT, more].concat())
}

#[test]
fn json_of_one_seed_has_plain_numbers() {
    let text = stdout(&short(&["--seeds", "1", "--format", "json"]));
    let object: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(object["seeds"], serde_json::json!([1]));
    assert_eq!(object["window_s"], 10.0);
    let flow = &object["flows"][0];
    assert_eq!(flow["name"], "video-1");
    assert!(flow["received"].as_u64() <= flow["sent"].as_u64());
    let count = |cause: &str, verdict: &str| {
        flow["packets"][format!("{cause}_called_{verdict}")]
            .as_u64()
            .expect("a count")
    };
    // Ten seconds lose some packets to the radio; the share is what the counts say.
    assert!(flow["lost"]["wireless"].as_u64().expect("a count") > 0);
    let wrong = count("wireless", "congestion");
    let all = wrong + count("wireless", "wireless");
    let mw = flow["mw"].as_f64().expect("a share");
    assert!((mw - wrong as f64 / all as f64).abs() < 1e-12);
    // Rate times time, in packets of the size on the wire.
    let link = &object["links"][4];
    assert_eq!(link["name"], "last-1");
    let used = link["utilisation"].as_f64().expect("a share");
    assert!((0.0..=1.01).contains(&used), "{used}");
}

#[test]
fn several_seeds_have_mean_interval_and_values() {
    let text = stdout(&short(&["--seed", "5", "--seeds", "3", "--format", "json"]));
    let object: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(object["seeds"], serde_json::json!([5, 6, 7]));
    let sent = &object["flows"][0]["sent"];
    let values: Vec<f64> = sent["values"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    assert_eq!(values.len(), 3);
    let mean = values.iter().sum::<f64>() / 3.0;
    assert!((sent["mean"].as_f64().expect("a mean") - mean).abs() < 1e-9);
    assert!(sent["ci95"].as_f64().expect("an interval") >= 0.0);
    // The middle seed by itself gives the middle value.
    let alone = stdout(&short(&["--seed", "6", "--seeds", "1", "--format", "json"]));
    let alone: Value = serde_json::from_str(&alone).expect("JSON");
    assert_eq!(alone["flows"][0]["sent"].as_f64(), Some(values[1]));
}

#[test]
fn threads_do_not_change_a_byte() {
    let with = |jobs| stdout(&short(&["--seeds", "4", "--format", "csv", "--jobs", jobs]));
    assert_eq!(with("1"), with("3"));
}

#[test]
fn csv_has_a_row_for_each_value_and_seed() {
    let text = stdout(&short(&["--seeds", "2", "--format", "csv"]));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("kind,name,metric,seed,value"));
    assert!(lines.clone().all(|line| line.split(',').count() == 5));
    let sent = |line: &&str| line.starts_with("flow,video-1,sent,");
    assert_eq!(lines.filter(sent).count(), 2);
}

#[test]
fn tables_name_flows_and_busy_links() {
    let text = stdout(&short(&["--seeds", "2"]));
    for expected in [
        "video-1",
        "warm-up-2 (background)",
        "last-1",
        "2 seeds",
        "not shown",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
}

/// A column for damage where there is some; a count for programs in any case.
#[test]
fn damage_is_shown_where_there_is_some() {
    let noisy = [
        "--set",
        "link.last.channel={ kind = \"bit-errors\", rate = 1e-5 }",
        "--set",
        "flow.video.coverage=40 B",
    ];
    let columns = |text: &str| text.matches("  damaged").count();
    assert_eq!(columns(&stdout(&short(&["--seeds", "1"]))), 0);
    let table = [&noisy[..], &["--seeds", "1"]].concat();
    assert_eq!(columns(&stdout(&short(&table))), 2);
    let json = [&noisy[..], &["--seeds", "1", "--format", "json"]].concat();
    let object: Value = serde_json::from_str(&stdout(&short(&json))).expect("JSON");
    let damaged = object["flows"][0]["damaged"].as_u64().expect("a count");
    assert!(damaged > 0 && Some(damaged) <= object["flows"][0]["received"].as_u64());
    // The radio damages what the sink drops, too.
    let by_radio = object["links"][4]["damaged"].as_u64().expect("a count");
    assert!(by_radio >= damaged);
    assert_eq!(object["links"][4]["lost"]["wireless"], 0);
}

#[test]
fn the_examples_run() {
    for name in ["wb.toml", "wlan.toml", "two-hop.toml", "media.toml"] {
        let file = scenario(name);
        let text = stdout(&run(&[&file, "--seeds", "1", "--format", "json"]));
        let object: Value = serde_json::from_str(&text).expect("JSON");
        assert!(object["total"]["received"].as_u64() > Some(100), "{name}");
    }
}

#[test]
fn wrong_input_is_exit_two_and_says_where() {
    let wlh = scenario("wlh.toml");
    for (arguments, expected) in [
        (vec!["no-such-file.toml"], "no-such-file.toml"),
        (
            vec![&wlh, "--set", "link.shared.rate=1 Mbps"],
            "did you mean `Mbit/s`?",
        ),
        (vec![&wlh, "--set", "duration=1 s"], "wlh.toml:"),
        (vec![&wlh, "--set", "duration"], "KEY=VALUE"),
        (vec![&wlh, "--seeds", "0"], "--seeds"),
        (vec![&wlh, "--format", "xml"], "--format"),
    ] {
        let output = run(&arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(output.stdout.is_empty());
        assert!(message.contains(expected), "{expected} in\n{message}");
    }
}

/// A directory of its own under the system's, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("whyloss-run-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory");
        Self(dir)
    }

    fn path(&self, below: &str) -> String {
        self.0.join(below).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn traces_and_captures_are_written_below_each_seed() {
    let scratch = Scratch::new("write");
    let (trace, pcap) = (scratch.path("trace"), scratch.path("pcap"));
    let plain = stdout(&short(&["--seeds", "2", "--format", "json"]));
    let arguments = [
        "--seeds", "2", "--format", "json", "--trace", &trace, "--pcap", &pcap,
    ];
    // Watching changes nothing.
    assert_eq!(stdout(&short(&arguments)), plain);
    for seed in ["seed-1", "seed-2"] {
        let arrivals = Path::new(&trace).join(seed).join("video-1.arrivals.csv");
        let rows = fs::read_to_string(arrivals)
            .expect("a trace")
            .lines()
            .count();
        assert!(rows > 10);
        assert!(Path::new(&pcap).join(seed).join("last-1.pcapng").is_file());
    }
}

#[test]
fn an_unusable_directory_is_said_before_anything_runs() {
    let scratch = Scratch::new("refuse");
    let file = scratch.path("file");
    fs::write(&file, "").expect("a file");
    let below = format!("{file}/below");
    for option in ["--trace", "--pcap"] {
        let output = short(&[option, &below]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(option) && message.contains("below"),
            "{message}"
        );
    }
}
