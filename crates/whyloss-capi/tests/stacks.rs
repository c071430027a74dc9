//! Runs schemes in picoquic and quicly. Two environment variables name their sources, which must
//! contain a build.
//!
//! ```text
//! WHYLOSS_PICOQUIC   picoquic's sources, built in `build`; picotls's next to them, built as well
//! WHYLOSS_QUICLY     quicly's sources, with its simulator built in `build`
//! ```

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

mod compile;

/// Returns the directory that the variable names.
fn sources(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.is_dir())
        .unwrap_or_else(|| panic!("{variable} names no directory; see adapters/README.md"))
}

/// Returns the files below a directory whose names end with `end`.
fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(directory);
    let listed = listed.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut found = vec![];
    for entry in listed {
        let path = entry.unwrap().path();
        if path.is_dir() && end != ".a" {
            found.extend(files(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    assert!(!found.is_empty(), "{} has no {end}", directory.display());
    found
}

/// Compiles an adapter with objects of the stack. Returns the program.
fn build(stack: &str, headers: &[PathBuf], objects: &[PathBuf], libraries: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let adapter = root.join("../../adapters").join(stack);
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(stack);
    let status = compile::compiler("CC", "cc")
        .args(["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(&adapter)
        .arg("-I")
        .arg(root.join("include"))
        .args(
            headers
                .iter()
                .flat_map(|path| [OsStr::new("-isystem"), path.as_os_str()]),
        )
        .args(files(&adapter, ".c"))
        .arg("-Wl,--start-group")
        .args(objects)
        .arg(compile::library())
        .arg("-Wl,--end-group")
        .args(libraries)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .status();
    assert!(status.expect("cc runs").success(), "{stack} does not link");
    program
}

#[test]
#[ignore = "needs picoquic, built; see adapters/README.md"]
fn picoquic_completes_a_transfer_over_a_satellite() {
    let picoquic = sources("WHYLOSS_PICOQUIC");
    let picotls = picoquic.join("../picotls");
    let headers = ["picoquic", "picoquictest", "loglib", "picohttp"];
    let mut headers: Vec<_> = headers.iter().map(|part| picoquic.join(part)).collect();
    headers.push(picotls.join("include"));
    let mut objects = files(&picoquic.join("build"), ".a");
    objects.extend(files(&picotls, ".a"));
    let program = build(
        "picoquic",
        &headers,
        &objects,
        &["-lssl", "-lcrypto", "-lstdc++"],
    );
    let few = ["cubic", "bbr", "whyloss/whyloss"];
    let more = [
        "newreno",
        "whyloss/cubic-trees",
        "whyloss/bbr",
        "whyloss/cubic/percent/trees:percent=90",
    ];
    satellite(&program, &picoquic, "10000000", &[&few[..], &more].concat());
    // These patterns lose the first packet of 64, none, one in 32, and one in 8.
    for loss in ["1", "0", "1000000010000000", "1010101010101010"] {
        satellite(&program, &picoquic, loss, &few);
    }
}

/// Sends 20 MB over 20 Mbit/s up and 2 down, and prints how long each control takes.
fn satellite(program: &Path, picoquic: &Path, loss: &str, controls: &[&str]) {
    let run = Command::new(program)
        .arg(picoquic)
        .args(["20000000", "20", "2", loss])
        .args(controls)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    println!("loss {loss}\n{said}");
    let failed = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{failed}");
    assert_eq!(said.matches(" s, ").count(), controls.len());
}

/// Returns the bytes that arrive in a minute at 10 Mbit/s over 50 ms, with 1 % lost.
fn received(simulator: &Path, control: &str, scheme: &str) -> u64 {
    let run = Command::new(simulator)
        .env("WHYLOSS_SCHEME", scheme)
        // The simulator ends without freeing its connections.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .args([
            "-c", control, "-b", "1250000", "-d", "0.05", "-l", "60", "-r", "0.01", "--", "-s", "0",
        ])
        .output()
        .unwrap();
    assert!(run.status.success(), "{control} {scheme}: {}", run.status);
    let said = String::from_utf8_lossy(&run.stdout);
    let bytes = said.rsplit("\"bytes-available\": ").next().unwrap();
    let bytes = bytes.split(',').next().unwrap().parse().unwrap();
    println!("{control} {scheme}: {bytes} bytes");
    bytes
}

#[test]
#[ignore = "needs quicly, built; see adapters/README.md"]
fn quicly_gains_where_a_radio_loses_packets() {
    let quicly = sources("WHYLOSS_QUICLY");
    let headers = ["include", "deps/picotls/include", "deps/klib"];
    let headers: Vec<_> = headers.iter().map(|part| quicly.join(part)).collect();
    let objects = files(&quicly.join("build/CMakeFiles/simulator.dir"), ".o");
    let simulator = build("quicly", &headers, &objects, &["-lcrypto"]);
    let cubic = received(&simulator, "cubic", "");
    received(&simulator, "reno", "");
    for scheme in ["whyloss", "cubic-trees", "bbr"] {
        let bytes = received(&simulator, "whyloss", scheme);
        assert!(bytes > 2 * cubic, "{scheme}");
    }
    // Equal controllers in different stacks give similar results.
    let ours = received(&simulator, "whyloss", "cubic");
    assert!(ours < 2 * cubic && cubic < 2 * ours);
}
