//! Tests the example `own_classifier` as a command: scenario files, sweeps and the arena accept its
//! classifier.
//!
//! This test has no harness. With `CHILD` in its environment, this process becomes the example,
//! which tests the program with its arguments and exit codes.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

#[path = "../examples/own_classifier.rs"]
#[expect(unreachable_pub, reason = "it is a program of its own, too")]
mod program;

/// The environment variable that turns this process into the example.
const CHILD: &str = "WHYLOSS_OWN_CLASSIFIER";

/// A flow from one host to another, which the example's classifier judges.
const SCENARIO: &str = include_str!("../../whyloss-study/tests/two-hosts.toml");

const PLAN: &str = r#"
scenario = "own.toml"
seeds = 2
metrics = ["flow.video.mw", "total.throughput_bps"]
[[axis]]
name = "classifier"
key = "flow.video.classifier"
values = ["zbs2", "half", { name = "half", share = 0.9 }]
"#;

fn main() -> ExitCode {
    if env::var_os(CHILD).is_some() {
        return program::main();
    }
    // A listing (`cargo test -- --list`) runs nothing.
    if env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let dir = env::temp_dir().join(format!("whyloss-own-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a directory");
    let (scenario, plan) = (dir.join("own.toml"), dir.join("plan.toml"));
    let own = SCENARIO
        .replace("\"4 s\"", "\"20 s\"")
        .replace("\"zigzag\"", "{ name = \"half\", share = 0.4 }");
    fs::write(&scenario, own).expect("a scenario");
    fs::write(&plan, PLAN).expect("a plan");

    lists();
    runs(&scenario, &dir.join("page"));
    refuses(&scenario);
    #[cfg(feature = "parquet")]
    sweeps(&plan, &dir.join("rows"));
    competes(&dir.join("arena"));
    fs::remove_dir_all(&dir).expect("removed");
    println!("own_classifier: list, run, sweep and arena take it");
    ExitCode::SUCCESS
}

/// Runs the example.
fn example(arguments: &[&str]) -> Output {
    let mut command = Command::new(env::current_exe().expect("this program"));
    let output = command.args(arguments).env(CHILD, "1").output();
    output.expect("it starts")
}

/// Returns the output of the example, if it succeeds.
fn printed(arguments: &[&str]) -> String {
    let output = example(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn word(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lists() {
    let table = printed(&["list"]);
    let line = table.lines().find(|line| line.starts_with("  half "));
    assert!(line.is_some_and(|line| line.contains("lower part of its range (this example)")));
    let json = printed(&["list", "--format", "json"]);
    assert!(json.contains(r#"{"default":0.5,"max":1.0,"meaning":"share of the range that counts as low","min":0.0,"name":"share","whole":false}"#));
    assert!(printed(&["schema"]).contains("\"half\""));
}

fn runs(scenario: &Path, page: &Path) {
    let once = |set: &str| {
        let arguments = ["run", word(scenario), "--format", "json"];
        printed(&[&arguments[..], &["--set", set]].concat())
    };
    let own = once("seed=1");
    assert_eq!(own, once("seed=1"));
    assert!(!own.contains("\"wireless_called_wireless\":0}"), "{own}");
    // The parameter has an effect: with an empty lower part, every loss is congestion.
    let none = once("flow.video.classifier.share=0.0");
    assert!(none.contains("\"wireless_called_wireless\":0}"), "{none}");
    printed(&["run", word(scenario), "--out", word(page)]);
    assert!(read(&page.join("index.html")).contains("half"));
}

fn refuses(scenario: &Path) {
    for (set, words) in [
        ("share=2", "found 2, expected a number from 0 to 1"),
        (
            "shar=0.5",
            "`half` has no key `shar`; did you mean `share`?",
        ),
        (
            "name=hlf",
            "no classifier is called `hlf`; did you mean `half`?",
        ),
    ] {
        let set = format!("flow.video.classifier.{set}");
        let output = example(&["run", word(scenario), "--set", &set]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words), "{message}");
    }
}

/// Each value of the axis has separate rows, and no run is repeated.
#[cfg(feature = "parquet")]
fn sweeps(plan: &Path, out: &Path) {
    let arguments = ["sweep", word(plan), "--out", word(out)];
    assert!(printed(&arguments).ends_with("6 of them new\n"));
    assert!(printed(&arguments).ends_with("0 of them new\n"));
}

fn competes(out: &Path) {
    let brief = ["--networks", "2", "--seeds", "1", "--no-harm"];
    let arguments = [&["arena", "half", "zbs2", "--out", word(out)], &brief[..]].concat();
    let table = printed(&arguments);
    assert!(table.contains("half") && table.contains("zbs2"), "{table}");
    assert!(read(&out.join("index.html")).contains("half"));
    let replay = printed(&[&["arena", "--replay", "--format", "csv"], &brief[..]].concat());
    assert!(replay.lines().any(|line| line.contains("half")), "{replay}");
    let unknown = example(&["arena", "hlf"]);
    assert_eq!(unknown.status.code(), Some(2));
}
