//! Tests `whyloss fit` as a process: it prints a valid channel, and explains why a recording is too
//! short.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

struct Here(PathBuf);

impl Here {
    fn new(name: &str) -> Self {
        let here = std::env::temp_dir().join(format!("whyloss-fit-{name}-{}", std::process::id()));
        fs::create_dir_all(&here).expect("a directory");
        Self(here)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn whyloss(arguments: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .args(arguments)
        .output();
    command.expect("a process")
}

fn recording() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("docs/captures/radio.csv").display().to_string()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_scenario_takes_what_is_printed() {
    let here = Here::new("scenario");
    let pages = here.0.join("page");
    let output = whyloss(&["fit", &recording(), "--out", &pages.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let channel = String::from_utf8(output.stdout).expect("text");
    let page = fs::read_to_string(pages.join("index.html")).expect("a page");
    assert!(page.contains("<svg") && page.contains("autocorrelation"));
    let scenario = here.file(
        "fitted.toml",
        &format!(
            "duration = \"5 s\"\n[[link]]\nname = \"radio\"\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\n\
             queue = \"unlimited\"\n{channel}\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n"
        ),
    );
    let run = whyloss(&["run", &scenario, "--format", "json"]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    // The recording has 20 trials, and 5.6 % of its packets are lost.
    let output = whyloss(&["fit", &recording(), "--format", "json"]);
    let fit: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(
        (fit["trials"].as_u64(), fit["packets"].as_u64()),
        (Some(20), Some(6_000))
    );
    assert!(
        fit["models"]
            .as_array()
            .is_some_and(|models| models.len() >= 10)
    );
}

/// A simulated link that retransmits: the fit to its trace recovers the link's parameters, and a
/// scenario accepts them. The fit to a link with jitter alone finds no retransmission.
#[test]
fn retransmission_makes_a_round_trip() {
    let here = Here::new("arq");
    let scenario = |name: &str, keys: &str| {
        here.file(
            name,
            &format!(
                "duration = \"20 s\"\n[[link]]\nname = \"radio\"\nfrom = \"a\"\nto = \"b\"\nrate = \"20 Mbit/s\"\n\
                 queue = \"unlimited\"\n{keys}\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                 transport = {{ kind = \"cbr\", rate = \"2 Mbit/s\" }}\n"
            ),
        )
    };
    let traced = |scenario: &str, name: &str| {
        let trace = here.0.join(name).display().to_string();
        let run = whyloss(&["run", scenario, "--trace", &trace]);
        assert_eq!(run.status.code(), Some(0), "{}", said(&run));
        trace
    };
    let fitted = |trace: &str, more: &[&str]| {
        let fit = ["fit", "--law", "delay", "--rate", "20mbit", trace];
        let output = whyloss(&[&fit, more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let mut keys = "delay = \"5 ms\"\nchannel = { kind = \"bernoulli\", loss = 0.3 }\n\
                    arq = { tries = 3, turnaround = \"8 ms\", parallel = true, in_order = false }"
        .to_owned();
    let mut truth = 0.3;
    for turn in ["first.toml", "again.toml"] {
        let trace = traced(&scenario(turn, &keys), turn.trim_end_matches(".toml"));
        let json: Value =
            serde_json::from_str(&fitted(&trace, &["--format", "json"])).expect("JSON");
        assert_eq!(
            json["arq"],
            "{ tries = 3, turnaround = \"8000 us\", parallel = true, in_order = false }"
        );
        let [least, most] =
            [0, 1].map(|end| json["loss_interval"][end].as_f64().expect("a number"));
        let loss = json["loss"].as_f64().expect("a number");
        // The fit is within twice its interval of the truth.
        assert!((loss - truth).abs() < most - least, "{json}");
        truth = loss;
        keys = fitted(&trace, &[]);
    }
    let jitter = scenario(
        "jitter.toml",
        "delay = \"5 ms\"\njitter = { kind = \"exponential\", mean = \"3 ms\" }",
    );
    let told = fitted(&traced(&jitter, "jitter"), &[]);
    assert!(
        told.contains("# no retransmission by the link is shown"),
        "{told}"
    );
}

#[test]
fn a_pattern_takes_the_table_itself() {
    let here = Here::new("pattern");
    let scenario = here.file(
        "replayed.toml",
        &format!(
            "duration = \"5 s\"\n[[link]]\nname = \"radio\"\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\n\
             queue = \"unlimited\"\nchannel = {{ kind = \"pattern\", file = '{}', loss_from = 0.01 }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n",
            recording()
        ),
    );
    let run = whyloss(&["run", &scenario]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    // A single trial has its own loss rate; a number beyond the last trial is an error.
    let one = whyloss(&["run", &scenario, "--set", "link.radio.channel.trial=7"]);
    assert_eq!(one.status.code(), Some(0), "{}", said(&one));
    assert_ne!(one.stdout, run.stdout);
    let beyond = whyloss(&["run", &scenario, "--set", "link.radio.channel.trial=21"]);
    assert_eq!(beyond.status.code(), Some(2));
    assert!(
        said(&beyond).contains("expected 1 to 20"),
        "{}",
        said(&beyond)
    );
    let by_time = whyloss(&["run", &scenario, "--set", "link.radio.channel.by=time"]);
    assert_eq!(by_time.status.code(), Some(2));
    assert!(
        said(&by_time).contains("needs the time of every packet"),
        "{}",
        said(&by_time)
    );
}

#[test]
fn too_little_is_said() {
    let here = Here::new("little");
    let ten = here.file("ten.csv", "received\n1101110111\n");
    let none = here.file("none.csv", &format!("received\n{}\n", "1".repeat(1_000)));
    let jump = here.file("jump.csv", "number\n1\n2\n900000\n");
    let wrong = here.file("wrong.csv", "received\n1102\n");
    let twice = (65_000..66_500_u32).flat_map(|n| [n % 65_536; 2]);
    let copies = twice.fold(String::new(), |rows, n| rows + &n.to_string() + "\n");
    let copies = here.file("copies.csv", &format!("number\n{copies}"));
    let few = here.file(
        "few.csv",
        &format!("received\n{}{}\n", "0".repeat(4), "1".repeat(996)),
    );
    let dead = here.file("dead.csv", &format!("received\n{}\n", "0".repeat(200)));
    // The log is that of a link that lost packets only in its queue.
    fs::create_dir_all(here.0.join("log")).expect("a directory");
    let line =
        r#"{"link":"up","fate":"delivered","offer":1,"enqueued":1,"waiting":0,"scheduled":2}"#;
    let full = line.replace("delivered", "overflow");
    here.file(
        "log/packets.jsonl",
        &format!("{line}\n{full}\n").repeat(200),
    );
    let log = here.0.join("log").display().to_string();
    let short = here.file("short.trace", "20\n33\n47\n");
    let wraps = (0..6_000).fold(String::from("number\n"), |rows, n| {
        rows + &(n % 4096).to_string() + "\n"
    });
    let wraps = here.file("wraps.csv", &wraps);
    let empty = here.file("empty.csv", "");
    for (file, expected) in [
        (&ten, "it has 10 packets; a fit needs at least 100"),
        (
            &none,
            "none of its 1000 packets was lost: the loss is below 3.00e-3",
        ),
        (&jump, "line 4: the numbers jump from 2 to 900000"),
        (&wrong, "line 2: found `2`"),
        // Duplicates and a wrap of the sequence number are not losses.
        (&copies, "none of its 1500 packets was lost"),
        (&few, "only 4 of its 1000 packets were lost"),
        (&dead, "all of its 200 packets were lost"),
        (&log, "the channel of link up lost none of 200 packets"),
        (&short, "a law of rates needs at least 60 rates over 60 s"),
        (&wraps, "line 4098: the numbers fall from 4095 to 0"),
        (&empty, "the table is empty"),
        (&"no-such.csv".to_owned(), "cannot read"),
    ] {
        let output = whyloss(&["fit", file]);
        assert_eq!(output.status.code(), Some(2), "{file}: {}", said(&output));
        assert!(said(&output).contains(expected), "{}", said(&output));
    }
}

#[test]
fn options_without_effect_are_refused() {
    let here = Here::new("options");
    let rates = (0..100).fold(String::from("rate\n"), |rows, n| {
        rows + &(1000 + n % 7).to_string() + "\n"
    });
    let rates = here.file("rates.csv", &rates);
    let huge = here.file("huge.csv", "rate\n1000\n1e300\n");
    let radio = recording();
    for (arguments, expected) in [
        (&[&radio[..], "--unit", "ms"][..], "--unit has no effect"),
        (&[&radio, "--judge"], "no trial is left to judge by"),
        (
            &[&rates, "--law", "rate", "--interval", "1s", "--judge"],
            "--judge has no effect",
        ),
        (
            &[&rates, "--law", "delay", "--interval", "1s"],
            "--interval has no effect",
        ),
        (
            &[&huge, "--law", "rate", "--interval", "1s"],
            "row 2: found 1.0000e300",
        ),
    ] {
        let output = whyloss(&[&["fit"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said(&output).contains(expected), "{}", said(&output));
    }
}

/// The links of a log have channels of their own.
#[test]
fn a_log_of_several_links_needs_a_name() {
    let here = Here::new("links");
    let line = |link: &str, number: u64, lost: bool| {
        let fate = if lost { "channel" } else { "delivered" };
        format!(
            "{{\"link\":\"{link}\",\"fate\":\"{fate}\",\"offer\":{number},\"enqueued\":{number},\"waiting\":0,\"scheduled\":{number}}}\n"
        )
    };
    let lines = (0..2_000_u64).map(|number| {
        line("up", number, number * 7 % 10 < 3) + &line("down", number, number % 97 == 0)
    });
    here.file("packets.jsonl", &lines.collect::<String>());
    let log = here.0.display().to_string();
    let both = whyloss(&["fit", &log]);
    assert_eq!(both.status.code(), Some(2));
    assert!(
        said(&both).contains("several links lost packets"),
        "{}",
        said(&both)
    );
    for (link, lost) in [("up", 600), ("down", 21)] {
        let output = whyloss(&["fit", &log, "--link", link, "--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let fit: Value = serde_json::from_slice(&output.stdout).expect("an object");
        assert_eq!(fit["lost"].as_u64(), Some(lost));
    }
    let none = whyloss(&["fit", &log, "--link", "middle"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(
        said(&none).contains("its links: down, up"),
        "{}",
        said(&none)
    );
}

/// A capture of one direction does not show losses behind it.
#[test]
fn a_capture_without_acknowledgements_is_refused() {
    let here = Here::new("capture");
    let scenario = here.file(
        "radio.toml",
        "duration = \"20 s\"\n[[link]]\nname = \"radio\"\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = \"unlimited\"\nchannel = { kind = \"bernoulli\", loss = 0.05 }\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
         transport = { kind = \"tcp\" }\n",
    );
    let pcap = here.0.join("pcap").display().to_string();
    let run = whyloss(&["run", &scenario, "--pcap", &pcap]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let output = whyloss(&["fit", &format!("{pcap}/radio.pcapng")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("flow 1 does not tell what was lost behind the point of capture"),
        "{}",
        said(&output)
    );
}

/// From a run's tables and the table of arrivals alone, the fit finds the channel's loss.
#[test]
#[cfg(feature = "parquet")]
fn tables_and_captures_of_a_run() {
    let here = Here::new("tables");
    let scenario = here.file(
        "radio.toml",
        "duration = \"60 s\"\n[[link]]\nname = \"radio\"\nfrom = \"a\"\nto = \"b\"\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = \"unlimited\"\nchannel = { kind = \"gilbert-elliott\", loss = 0.05, stay = 0.4 }\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n",
    );
    let dir = |name: &str| here.0.join(name).display().to_string();
    for format in ["csv", "parquet"] {
        let trace = dir(format);
        let run = whyloss(&[
            "run",
            &scenario,
            "--trace",
            &trace,
            "--trace-format",
            format,
        ]);
        assert_eq!(run.status.code(), Some(0), "{}", said(&run));
        for input in [trace.clone(), format!("{trace}/arrivals.{format}")] {
            let output = whyloss(&["fit", &input, "--format", "json"]);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            let fit: Value = serde_json::from_slice(&output.stdout).expect("an object");
            let (lost, packets) = (fit["lost"].as_f64(), fit["packets"].as_f64());
            let loss = lost.expect("a number") / packets.expect("a number");
            // The limits are five standard deviations for 5,000 packets in bursts of 1.7.
            assert!((0.025..0.075).contains(&loss), "{input}: {loss}");
            assert!(
                fit["channel"]
                    .as_str()
                    .is_some_and(|channel| channel.contains("gilbert-elliott")),
                "{fit}"
            );
        }
        let losses = whyloss(&["fit", &format!("{trace}/losses.{format}")]);
        assert_eq!(losses.status.code(), Some(2));
        assert!(
            said(&losses).contains("each row is a lost packet"),
            "{}",
            said(&losses)
        );
    }
}
