//! Compiles the BPF programs, with the feature `bpf` alone.

use std::env;
use std::path::Path;
use std::process::Command;

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
    if env::var_os("CARGO_FEATURE_BPF").is_none()
        || env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux")
    {
        return;
    }
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let out = env::var("OUT_DIR").expect("cargo says where output goes");
    for program in PROGRAMS {
        let source = format!("src/bpf/{program}.bpf.c");
        let object = Path::new(&out).join(format!("{program}.bpf.o"));
        let status = Command::new(&clang)
            .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g"])
            // Not every algorithm has a use for all that each is told.
            .args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"])
            .args(["-c", &source, "-o"])
            .arg(&object)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("{clang} could not compile {source} ({status})"),
            Err(error) => panic!(
                "cannot run {clang}: {error}; the feature `bpf` needs clang (14 or later), libelf and zlib: \
                 apt install clang libelf-dev zlib1g-dev"
            ),
        }
    }
}
