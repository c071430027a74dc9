//! Compiles the BPF programs if the feature `bpf` is on.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

/// The files of `src/bpf` that are programs.
const PROGRAMS: [&str; 10] = [
    "whyloss",
    "newreno_lp",
    "cubic_lp",
    "westwood",
    "westwood_lp",
    "tibet",
    "balde",
    "veno",
    "veno_enhanced",
    "status",
];

fn main() {
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rerun-if-env-changed=PKG_CONFIG");
    if env::var_os("CARGO_FEATURE_BPF").is_none()
        || env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux")
    {
        return;
    }
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let missing = missing(&clang);
    assert!(
        missing.is_empty(),
        "the feature `bpf` needs what this machine lacks ({}): \
         apt-get install clang libelf-dev zlib1g-dev make pkg-config",
        missing.join(", ")
    );
    let out = env::var("OUT_DIR").expect("cargo says where output goes");
    for program in PROGRAMS {
        let source = format!("src/bpf/{program}.bpf.c");
        let object = Path::new(&out).join(format!("{program}.bpf.o"));
        let status = Command::new(&clang)
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g"])
            // Some algorithms ignore parameters that all of them receive.
            .args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"])
            .args(["-c", &source, "-o"])
            .arg(&object)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{clang} (14 or later) could not compile {source} ({status})"),
            Err(error) => panic!("cannot run {clang}: {error}"),
        }
    }
}

/// Returns the tools that the programs and libbpf need, but this machine does not have. This script
/// depends on no crate and can therefore name them before libbpf is compiled. Otherwise,
/// compilation would fail for one missing tool at a time, without naming a package.
fn missing(clang: &str) -> Vec<String> {
    let runs = |program: &str| {
        let run = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        run.is_ok()
    };
    let pkg_config = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let tools = [clang, "make", &pkg_config];
    let mut missing: Vec<String> = tools
        .iter()
        .filter(|tool| !runs(tool))
        .map(|tool| (*tool).to_owned())
        .collect();
    if missing.iter().any(|tool| tool == clang) {
        // Without clang, headers cannot be looked for.
        return missing;
    }
    for header in ["libelf.h", "zlib.h"] {
        let found = Command::new(clang)
            .args(["-fsyntax-only", "-include", header, "-x", "c", "/dev/null"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !found.is_ok_and(|status| status.success()) {
            missing.push(header.to_owned());
        }
    }
    missing
}
