//! Tests `whyloss diagnose` as a process: inputs, written files, and hidden addresses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A temporary directory, removed at the end of the test.
struct Here(PathBuf);

impl Here {
    /// Returns a directory with a trace and captures of the two-hop scenario.
    fn of_run(name: &str) -> Self {
        let here = std::env::temp_dir().join(format!("whyloss-{name}-{}", std::process::id()));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let scenario = root.join("two-hop.toml").display().to_string();
        let directory = here.display().to_string();
        let set = ["--seeds", "1", "--set", "duration=40 s"];
        let output = whyloss(
            &[
                &[
                    "run", &scenario, "--pcap", &directory, "--trace", &directory,
                ][..],
                &set,
            ]
            .concat(),
        );
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self(here)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // Ignore errors: no test depends on the removal.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn whyloss(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn json(arguments: &[&str]) -> Value {
    let output = whyloss(&[&["diagnose", "--format", "json"], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn has(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

#[test]
fn anonymised_output_has_no_names() {
    let here = Here::of_run("anonymised");
    let capture = here.file("radio.pcapng");
    let names = ["10.0.0.", "phone", "radio.pcapng"];
    let original = fs::read(&capture).expect("a capture");
    assert!(has(&original, "phone"));
    let out = here.file("out");
    let printed = whyloss(&["diagnose", &capture, "--anonymise", "--out", &out]);
    assert_eq!(printed.status.code(), Some(0));
    let mut files = vec![printed.stdout];
    for entry in fs::read_dir(&out).expect("a directory") {
        files.push(fs::read(entry.expect("an entry").path()).expect("a file"));
    }
    // The directory has the page, a picture for each flow, two tables and the capture.
    assert!(files.len() >= 6, "{}", files.len());
    for file in &files {
        for name in names {
            assert!(
                !has(file, name),
                "{name} in {}",
                String::from_utf8_lossy(&file[..80])
            );
        }
    }
    // The captured losses and the tables agree.
    let told: Value =
        serde_json::from_slice(&fs::read(Path::new(&out).join("diagnosis.json")).expect("a file"))
            .expect("JSON");
    let again = json(&[&Path::new(&out)
        .join("annotated.pcapng")
        .display()
        .to_string()]);
    let ends = |value: &Value| -> Vec<String> {
        let flows = value["flows"].as_array().expect("flows").iter();
        flows
            .map(|flow| {
                format!(
                    "{} {} {}",
                    flow["source"], flow["destination"], flow["lost"]
                )
            })
            .collect()
    };
    assert!(!ends(&told).is_empty());
    assert_eq!(ends(&again), ends(&told));
}

#[test]
fn a_trace_is_an_input_of_its_own_whatever_its_format() {
    let here = Here::of_run("traced");
    let losses = fs::read_to_string(here.file("losses.csv")).expect("a table");
    let told = json(&[&here.0.display().to_string()]);
    let flows = told["flows"].as_array().expect("flows");
    let lost: u64 = flows
        .iter()
        .map(|flow| {
            let lost = &flow["lost"];
            assert_eq!(lost["unknown"], 0);
            lost["congestion"].as_u64().expect("a count")
                + lost["wireless"].as_u64().expect("a count")
        })
        .sum();
    assert_eq!(lost as usize, losses.lines().count() - 1);
    let refused = whyloss(&["diagnose", &here.file("losses.csv")]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("give the directory that it is in"), "{said}");
}

/// Returns the file names in a directory, except the list of written files.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name != ".whyloss-files")
        .collect();
    names.sort();
    names
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let here = Here::of_run("again");
    let [one, two] = ["backhaul.pcapng", "radio.pcapng"].map(|name| here.file(name));
    let out = here.0.join("out");
    let diagnose = |inputs: &[&str]| {
        let shown = out.display().to_string();
        whyloss(&[&["diagnose", "--out", &shown], inputs].concat())
    };
    assert_eq!(diagnose(&[&one]).status.code(), Some(0));
    assert!(out.join("index.html").is_file());
    fs::write(out.join("theirs"), "kept").expect("room");
    assert_eq!(diagnose(&[&one, &two]).status.code(), Some(0));
    assert_eq!(names(&out), ["backhaul.pcapng", "radio.pcapng", "theirs"]);
    let losses = here.file("losses.csv");
    fs::copy(&two, here.file("other.pcapng")).expect("room");
    let other = here.file("other.pcapng");
    assert_eq!(diagnose(&[&losses, &one]).status.code(), Some(2));
    assert_eq!(names(&out), ["backhaul.pcapng", "radio.pcapng", "theirs"]);
    assert_eq!(diagnose(&[&two, &other]).status.code(), Some(0));
    assert_eq!(names(&out), ["other.pcapng", "radio.pcapng", "theirs"]);

    // An input is never removed.
    let root = here.0.display().to_string();
    for (inputs, out) in [([&root, &one], &root), ([&one, &two], &root)] {
        let refused = whyloss(&["diagnose", "--out", out, inputs[0], inputs[1]]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("name another directory"), "{said}");
    }
    assert!(here.0.join("losses.csv").is_file() && Path::new(&one).is_file());
}
