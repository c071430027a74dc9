//! Tests `whyloss run` as a process: the output in each format, the rejected inputs, and the exit
//! codes.

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
    // The channel loses packets within ten seconds; the printed share agrees with the counts.
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
    // Run alone, the middle seed has the middle value.
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

/// Output for people has a column for damage only if there is damage; output for programs always
/// has it.
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
    // The radio's count includes damaged packets that the sink drops.
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
        (vec![&wlh, "--trace-thin", "1 s"], "--trace <DIR>"),
        (
            vec![&wlh, "--trace", "t", "--trace-thin", "1"],
            "a duration such as",
        ),
        (
            vec![&wlh, "--set", "link.last.delay=0.1 ns"],
            "at least 1 ns, the least there is",
        ),
        (
            vec![
                &wlh,
                "--set",
                "link.last.channel={ kind = \"gilbert-elliott\", loss = 0.5, stay = 1 }",
            ],
            "stay is 1",
        ),
        (
            vec![&wlh, "--set", "flow.video.transport=tcp"],
            "`zigzag` is a receiver's classifier",
        ),
        (
            vec![&wlh, "--set", "link.last.count=99999999999999999999"],
            "found 99999999999999999999, expected a whole number from 0 to 10000",
        ),
    ] {
        let output = run(&arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(output.stdout.is_empty());
        assert!(message.contains(expected), "{expected} in\n{message}");
    }
}

/// A separate temporary directory, removed at the end.
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
    // A trace does not change the results.
    assert_eq!(stdout(&short(&arguments)), plain);
    for seed in ["seed-1", "seed-2"] {
        let rows = |table: &str| {
            let file = Path::new(&trace).join(seed).join(format!("{table}.csv"));
            let text = fs::read_to_string(file).expect("a table");
            let of_video = text.lines().filter(|row| row.contains("video-1"));
            of_video.count()
        };
        for table in ["sources", "arrivals", "losses", "links"] {
            assert!(rows(table) > 10, "{table}");
        }
        assert!(Path::new(&pcap).join(seed).join("last-1.pcapng").is_file());
    }
}

/// The last row is about all downloads, whose rows are in the trace.
#[test]
fn downloads_are_counted_together() {
    let scratch = Scratch::new("downloads");
    let trace = scratch.path("trace");
    let file = scenario("downloads.toml");
    let arguments = ["--format", "json", "--trace", &trace, "--trace-thin", "1 s"];
    let text = stdout(&run(&[&[file.as_str()][..], &arguments].concat()));
    let results: Value = serde_json::from_str(&text).expect("JSON");
    let transfers = results["transfers"].as_array().expect("a list");
    assert_eq!(transfers.len(), 201);
    let all = &transfers[200];
    assert_eq!(all["name"], "download");
    assert_eq!(
        (&all["completed"], &all["unfinished"]),
        (&200.into(), &0.into())
    );
    let table = fs::read_to_string(Path::new(&trace).join("transfers.csv")).expect("a table");
    let times = table.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        let seconds = |cell: &str| cell.parse::<f64>().expect("seconds");
        1e3 * (seconds(cells[3]) - seconds(cells[0]))
    });
    let mean = times.sum::<f64>() / 200.0;
    let found = all["mean_ms"].as_f64().expect("a mean");
    assert!((mean - found).abs() < 1e-3, "{mean} {found}");
}

/// A controller that weighs causes itself gives no verdicts, so there is nothing to score.
#[test]
fn only_schemes_with_a_classifier_are_scored() {
    let codel = scenario("codel-radio.toml");
    for (scheme, is_scored) in [("cubic-trees", true), ("whyloss", false)] {
        let scheme = format!("flow.bulk.scheme={scheme}");
        let lossy = "link.radio.channel.loss=0.01";
        let mut arguments = vec![codel.as_str(), "--format", "json"];
        arguments.extend(["--set", "duration=30 s", "--set", &scheme, "--set", lossy]);
        let results: Value = serde_json::from_str(&stdout(&run(&arguments))).expect("JSON");
        for flow in [&results["flows"][0], &results["total"]] {
            assert!(flow["lost"]["wireless"].as_u64() > Some(0), "{scheme}");
            assert_eq!(flow["mw"].is_number(), is_scored, "{scheme}");
        }
    }
}

/// A TCP flow's classifier decides at the sender: its verdicts are in the table, and their counts
/// agree.
#[test]
fn senders_verdicts_are_traced() {
    let scratch = Scratch::new("verdicts");
    let (file, trace) = (scratch.path("tcp.toml"), scratch.path("trace"));
    let text = r#"
        duration = "30 s"
        [[link]]
        name = "radio"
        from = "a"
        to = "b"
        rate = "2 Mbit/s"
        delay = "20 ms"
        queue = { packets = 8 }
        channel = { kind = "bernoulli", loss = 0.01 }
        [[flow]]
        name = "download"
        from = "a"
        to = "b"
        transport = "tcp"
        classifier = "veno"
    "#;
    fs::write(&file, text).expect("a file");
    let thinned = ["--trace", &trace, "--trace-thin", "1 s"];
    let all = [&[file.as_str(), "--format", "json"][..], &thinned].concat();
    let object: Value = serde_json::from_str(&stdout(&run(&all))).expect("JSON");
    let losses = fs::read_to_string(Path::new(&trace).join("losses.csv")).expect("a table");
    for truth in ["congestion", "wireless"] {
        for verdict in ["congestion", "wireless"] {
            let called = format!(",{truth},{verdict},");
            let rows = losses.lines().filter(|row| row.contains(&called)).count();
            let counted = &object["flows"][0]["packets"][format!("{truth}_called_{verdict}")];
            assert_eq!(Some(rows as u64), counted.as_u64(), "{called}");
        }
    }
    assert!(losses.lines().count() > 20);
    let links = fs::read_to_string(Path::new(&trace).join("links.csv")).expect("a table");
    let delivered = links.lines().filter(|row| row.contains(",delivered,"));
    assert!(delivered.count() <= 2 * 31);
}

/// 341 flows with three files each would exceed the usual limit of 1024 open files.
#[test]
fn many_flows_need_few_files() {
    let scratch = Scratch::new("many");
    let trace = scratch.path("trace");
    let more = ["--set", "flow.warm-up.count=400", "--seeds", "1"];
    let files = [
        "--trace",
        &trace,
        "--trace-format",
        "parquet",
        "--set",
        "duration=23 s",
    ];
    let output = short(&[&more[..], &files].concat());
    stdout(&output);
    let written = fs::read_dir(&trace).expect("a directory");
    let names = written.map(|entry| entry.expect("an entry").file_name());
    let tables = names.filter(|name| name.to_string_lossy().ends_with(".parquet"));
    assert_eq!(tables.count(), 5);
}

/// A failed write, here at the limit on the size of files, loses the tables but not the results.
#[cfg(target_os = "linux")]
#[test]
fn a_failing_disk_leaves_the_results() {
    let scratch = Scratch::new("full");
    let trace = scratch.path("trace");
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -f 8; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_whyloss"),
        ])
        .args(["run", &scenario("wlh.toml"), "--set", "duration=30 s"])
        .args(["--seeds", "1", "--trace", &trace])
        .output()
        .expect("the command starts");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains(".csv`: File too large") && message.contains("these files are missing"),
        "{message}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("video-1"));
    let names = fs::read_dir(&trace).expect("a directory");
    let names: Vec<_> = names
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(names, [".whyloss-files"]);
}

/// A second run with one flow removes the first run's files and leaves files that are not ours.
#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let scratch = Scratch::new("second");
    let out = scratch.path("out");
    let pictures = || {
        let names = fs::read_dir(&out).expect("a directory");
        let names = names.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name.starts_with("flow"))
            .collect();
        names.sort();
        names
    };
    stdout(&short(&[
        "--seeds",
        "1",
        "--set",
        "flow.video.count=2",
        "--set",
        "link.lan.count=2",
        "--set",
        "link.last.count=2",
        "--out",
        &out,
    ]));
    assert_eq!(pictures(), ["flow-1.svg", "flow-2.svg"]);
    fs::write(Path::new(&out).join("flow.txt"), "theirs").expect("room");
    stdout(&short(&["--seeds", "1", "--out", &out]));
    assert_eq!(pictures(), ["flow-1.svg", "flow.txt"]);
}

/// 10,000 flows of 1 Mbit/s into 1 Mbit/s with an unlimited queue: with either engine, the run ends
/// and names the link.
#[test]
fn too_many_packets_are_exit_one_and_say_where() {
    let scratch = Scratch::new("flood");
    let file = scratch.path("flood.toml");
    let text = r#"
        duration = "100 s"
        most_packets = 50_000
        link = [
            { name = "wide", from = "s", to = "r", rate = "20 Gbit/s", delay = "1 ms", queue = "unlimited" },
            { name = "narrow", from = "r", to = "m", rate = "1 Mbit/s", delay = "1 ms", queue = "unlimited" },
            { name = "last", from = "m", to = "d", rate = "1 Mbit/s", delay = "1 ms", queue = "unlimited" },
        ]
        [[flow]]
        from = "s"
        to = "d"
        count = 9_999
        packet = "1000 B"
        transport = { kind = "cbr", rate = "1 Mbit/s" }
        [[flow]]
        from = "m"
        to = "d"
        packet = "1000 B"
        transport = { kind = "cbr", rate = "1 kbit/s" }
    "#;
    fs::write(&file, text).expect("written");
    for engine in [&[][..], &["--plain"]] {
        let output = run(&[&[file.as_str()], engine].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(output.stdout.is_empty());
        let expected = "link `narrow` holds too many packets";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_scenario_may_come_from_standard_input() {
    use std::io::Write as _;
    use std::process::Stdio;
    let text = fs::read(scenario("wlh.toml")).expect("a scenario");
    let mut child = Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .args([
            "run",
            "-",
            "--seeds",
            "1",
            "--format",
            "csv",
            "--set",
            "duration=30 s",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&text).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        stdout(&output),
        stdout(&short(&["--seeds", "1", "--format", "csv"]))
    );
}

/// SIGTERM acts like Ctrl-C: a single long run stops soon, and its trace up to there is whole.
#[cfg(unix)]
#[test]
fn a_single_run_stops_when_asked() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    let scratch = Scratch::new("stop");
    let trace = scratch.path("trace");
    let wlh = scenario("wlh.toml");
    let child = Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .args(["run", &wlh, "--seeds", "1", "--set", "duration=900000 s"])
        .args(["--trace", &trace, "--trace-thin", "100 s"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the command starts");
    // The command handles signals before it opens its files.
    while !Path::new(&trace).join(".whyloss-files").is_file() {
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(pid, Signal::SIGTERM).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(
        message.contains("0 of 1 seed finished, the next was stopped at"),
        "{message}"
    );
    assert!(message.contains("its traces end there"), "{message}");
    assert!(output.stdout.is_empty());
    let links = fs::read_to_string(Path::new(&trace).join("links.csv")).expect("a table");
    assert!(links.ends_with('\n'));
}

/// The page is self-contained, and shows the command that makes it again.
#[test]
fn out_writes_a_page() {
    let scratch = Scratch::new("page");
    let dir = scratch.path("out");
    stdout(&short(&["--seeds", "2", "--out", &dir]));
    let page = fs::read_to_string(Path::new(&dir).join("index.html")).expect("a page");
    for expected in [
        "Flow video-1 over time.",
        "Link last-1 over time.",
        "wireless, called wireless",
        "whyloss run",
        "--set &#39;duration=30 s&#39;",
        "[[flow]]",
        "<title id=\"flow-1-title\">",
    ] {
        let expected = expected.replace("&#39;", "'");
        assert!(page.contains(&expected), "{expected}");
    }
    for fetched in ["href=\"http", "src=\"", "<link", "url("] {
        assert!(
            !page.contains(fetched),
            "the page needs no network: {fetched}"
        );
    }
    for file in ["flow-1.svg", "results.csv", "results.json", "scenario.toml"] {
        assert!(Path::new(&dir).join(file).is_file(), "{file}");
    }
}

#[test]
fn what_does_not_vary_has_no_interval() {
    let scratch = Scratch::new("same");
    let file = scratch.path("same.toml");
    let text = r#"
        duration = "5 s"
        seeds = 3
        [[link]]
        from = "a"
        to = "b"
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue = { packets = 10 }
        [[flow]]
        from = "a"
        to = "b"
        transport = "tcp"
    "#;
    fs::write(&file, text).expect("a file");
    let table = stdout(&run(&[&file]));
    assert!(
        table.contains("nothing is random: every seed gives the same"),
        "{table}"
    );
    assert!(!table.contains('±'), "{table}");
}

#[test]
fn an_unusable_directory_is_said_before_anything_runs() {
    let scratch = Scratch::new("refuse");
    let file = scratch.path("file");
    fs::write(&file, "").expect("a file");
    let below = format!("{file}/below");
    for option in ["--trace", "--pcap", "--out"] {
        let output = short(&[option, &below]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(option) && message.contains("below"),
            "{message}"
        );
    }
}

/// The error of a build without QUIC explains how to build with it.
#[test]
#[cfg(not(feature = "quic"))]
fn a_flow_of_quic_needs_its_engines() {
    let output = run(&[&scenario("quic.toml")]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("flow `quic`: its QUIC engine is not built into this program"),
        "{error}"
    );
    assert!(
        error.contains("cargo build --release --features quic"),
        "{error}"
    );
}

#[test]
#[cfg(feature = "quic")]
fn a_flow_of_quic_runs_and_its_losses_are_scored() {
    let quic = scenario("quic.toml");
    let arguments = [&quic[..], "--set", "duration=15 s", "--format", "json"];
    let text = stdout(&run(&arguments));
    let object: Value = serde_json::from_str(&text).expect("JSON");
    let flow = &object["flows"][0];
    assert!(flow["throughput_bps"].as_f64().expect("a rate") > 3e6);
    let scored = &flow["packets"]["wireless_called_wireless"];
    assert!(scored.as_u64().expect("a count") > 5);
    assert_eq!(text, stdout(&run(&arguments)));
}

/// A call's measures appear in JSON and CSV. An estimator that is not built in is named, with the
/// way to get it.
#[test]
fn a_call_is_measured() {
    let call = scenario("call.toml");
    let arguments = [&call[..], "--set", "duration=15 s", "--format", "json"];
    let text = stdout(&run(&arguments));
    let object: Value = serde_json::from_str(&text).expect("JSON");
    let calls = object["calls"].as_array().expect("calls");
    assert_eq!(calls.len(), 2);
    for call in calls {
        assert!(call["frames"].as_u64().expect("a count") > 120, "{call}");
        assert!(call["p95_ms"].as_f64().expect("a delay") > 40.0, "{call}");
    }
    assert_eq!(text, stdout(&run(&arguments)));
    let csv = stdout(&run(&[&call, "--set", "duration=12 s", "--format", "csv"]));
    assert!(csv.contains("\ncall,whyloss,frozen_ms,1,"), "{csv}");
    if cfg!(not(feature = "rtc")) {
        let estimator = "flow.nada.transport.estimator=gcc";
        let output = run(&[&call, "--set", estimator]);
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("--features rtc"), "{error}");
    }
}
