//! Tests the command as a process: exit codes, standard output and standard error.

use std::io::Read;
use std::process::{Command, Output, Stdio};

fn whyloss(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .args(arguments)
        .output()
        .expect("the command starts")
}

#[test]
fn wrong_input_is_exit_two_on_standard_error_alone() {
    for arguments in [
        &["reproduce", "no-such-experiment"][..],
        &["reproduce", "--paper", "no-such-paper"],
        &["reproduce"],
        &["reproduce", "--all", "--seeds", "0"],
        &["bench", "--workload", "no-such-workload"],
        &["bench", "--repetitions", "0"],
        &["evaluate", "whyloss", "--out", "x", "--part", "9/8"],
        &["no-such-command"],
        &["validate", "no-such-simulator"],
        &[],
    ] {
        let output = whyloss(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

/// Returns whether a mask of `/proc/PID/status` has SIGHUP.
#[cfg(target_os = "linux")]
fn has_hangup(status: &str, mask: &str) -> bool {
    let bits = status.lines().find_map(|line| line.strip_prefix(mask));
    let bits = u64::from_str_radix(bits.expect("a mask").trim(), 16).expect("bits");
    bits & (1 << (nix::libc::SIGHUP - 1)) != 0
}

/// Under `nohup`, SIGHUP keeps the parent's disposition, so a receiver outlives its terminal.
#[cfg(target_os = "linux")]
#[test]
fn an_ignored_hangup_stays_ignored() {
    // These tests may run under `nohup` themselves, and a shell cannot undo that.
    let own = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let inherited = has_hangup(&own, "SigIgn:");
    for (trap, ignored) in [("trap '' HUP;", true), ("", inherited)] {
        let name = format!("hangup-{}", trap.len());
        let stats = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_file(&stats);
        let script = format!("{trap} exec \"$0\" recv 127.0.0.1:0 --stats \"$1\"");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_whyloss")])
            .arg(&stats)
            .spawn()
            .expect("a shell");
        // The file is created after the handlers are in place.
        while !stats.exists() && child.try_wait().expect("a child").is_none() {
            std::thread::yield_now();
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        child.kill().expect("a child that runs");
        child.wait().expect("its end");
        let status = status.expect("the status of a process");
        assert_eq!(has_hangup(&status, "SigIgn:"), ignored);
        assert_eq!(has_hangup(&status, "SigCgt:"), !ignored);
    }
}

/// A part keeps its runs and writes no page. The call without `--part` then writes that of one
/// call.
#[test]
fn parts_of_an_evaluation_make_its_page() {
    let base = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluation-parts");
    let _ = std::fs::remove_dir_all(&base);
    let run = |dir: &str, part: &[&str]| {
        let out = base.join(dir);
        let out = out.to_str().expect("a plain path");
        let quick = ["evaluate", "whyloss", "--quick", "--only", "5.2.2", "--out"];
        let output = whyloss(&[&quick[..], &[out], part].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    run("one", &[]);
    let printed = ["1/2", "2/2"].map(|part| run("parts", &["--part", part]));
    assert!(!base.join("parts/index.html").exists());
    let runs = printed.map(|text| {
        let (count, place) = text.split_once(' ').expect("a count of runs");
        assert!(place.ends_with("/runs\n"), "{text}");
        count.parse::<u32>().expect("a count")
    });
    assert_eq!(runs.iter().sum::<u32>(), 4);
    let parts = || std::fs::read_dir(base.join("parts/runs/parts")).map(Iterator::count);
    let before = parts().expect("parts");
    run("parts", &[]);
    assert_eq!(
        parts().expect("parts"),
        before,
        "the last call runs nothing"
    );
    for name in [
        "index.html",
        "evaluation.json",
        "evaluation.md",
        "criteria.md",
    ] {
        let [one, parts] = ["one", "parts"].map(|dir| std::fs::read(base.join(dir).join(name)));
        assert!(one.expect("a file") == parts.expect("a file"), "{name}");
    }
}

#[test]
fn an_unusable_directory_is_exit_two_before_anything_runs() {
    let file = std::env::temp_dir().join(format!("whyloss-file-{}", std::process::id()));
    std::fs::write(&file, "").expect("a file");
    let dir = file.join("below").display().to_string();
    let outputs = [
        whyloss(&["reproduce", "--all", "--out", &dir]),
        whyloss(&["bench", "--out", &dir]),
    ];
    std::fs::remove_file(&file).expect("the file");
    for output in outputs {
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            message.contains("--out") && message.contains("below"),
            "{message}"
        );
    }
}

#[test]
fn list_names_the_classifiers() {
    let output = whyloss(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("zigzag") && text.contains("mbiaz"), "{text}");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let mut message = String::new();
    let stderr = child.stderr.as_mut().expect("a pipe");
    stderr.read_to_string(&mut message).expect("text");
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), message.as_str()), (Some(0), ""));
}

/// With an empty path, ns-2, valgrind and the compiler for ns-3's program are missing: exit code 1.
#[test]
fn required_peers_that_are_missing_are_exit_one() {
    let cache = std::env::temp_dir().join(format!("whyloss-bench-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .args(["bench", "--require", "--cache"])
        .arg(&cache)
        .env("PATH", "")
        .output()
        .expect("the command starts");
    std::fs::remove_dir_all(&cache).expect("the cache");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr);
    for words in [
        "apt-get install ns2",
        "apt-get install libns3-dev g++",
        "apt-get install valgrind",
    ] {
        assert!(message.contains(words), "{message}");
    }
}

/// A peer that fails is named, and the other peers still run.
#[cfg(unix)]
#[test]
fn a_failing_peer_leaves_the_rest() {
    use std::os::unix::fs::PermissionsExt;
    let dir = std::env::temp_dir().join(format!("whyloss-failing-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let ns = dir.join("ns");
    let script = "#!/bin/sh\ncase $1 in *probe.tcl) echo Simulator;; *) echo out of tune >&2; exit 3;; esac\n";
    std::fs::write(&ns, script).expect("a script");
    std::fs::set_permissions(&ns, PermissionsExt::from_mode(0o755)).expect("a mode");
    let output = Command::new(env!("CARGO_BIN_EXE_whyloss"))
        .args(["bench", "--quick", "--workload", "one-flow", "--cache"])
        .arg(&dir)
        .env("PATH", &dir)
        .output()
        .expect("the command starts");
    std::fs::remove_dir_all(&dir).expect("the directory");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    for words in ["failed: one flow in ns-2", "out of tune", "\none flow  "] {
        assert!(text.contains(words), "{text}");
    }
}

/// With an empty path, no peer is found. The message names the command that installs it, and the
/// exit code is 1 only if the peer is required.
#[test]
fn a_missing_peer_is_named() {
    let cache = std::env::temp_dir().join(format!("whyloss-cache-{}", std::process::id()));
    let validate = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_whyloss"))
            .args(["validate", "traces", "--cache"])
            .arg(&cache)
            .args(more)
            .env("PATH", "")
            .output()
            .expect("the command starts")
    };
    let named = validate(&[]);
    let required = validate(&["--require"]);
    std::fs::remove_dir_all(&cache).expect("the cache");
    assert_eq!(named.status.code(), Some(0));
    let text = String::from_utf8_lossy(&named.stdout);
    assert!(
        text.contains("MISSING ns-2") && text.contains("apt-get install ns2"),
        "{text}"
    );
    assert_eq!(required.status.code(), Some(1));
    let message = String::from_utf8_lossy(&required.stderr);
    assert!(
        message.contains("--require") && message.contains("ns2"),
        "{message}"
    );
}
