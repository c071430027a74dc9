//! Finds the compiler and the libraries for programs in C.

use std::path::PathBuf;
use std::process::Command;

/// Returns the compiler that `variable` names, with the flags of `WHYLOSS_C_FLAGS`. To check the
/// programs with clang's sanitizers: `CC=clang CXX=clang++
/// WHYLOSS_C_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"`.
pub(crate) fn compiler(variable: &str, default: &str) -> Command {
    let flags = std::env::var("WHYLOSS_C_FLAGS").unwrap_or_default();
    let mut command = Command::new(std::env::var(variable).unwrap_or_else(|_| default.to_owned()));
    command.args(flags.split_whitespace());
    command
}

/// Returns the path of the C library that cargo built for this test.
pub(crate) fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let beside = program.parent().unwrap();
    let places = [beside, beside.parent().unwrap()];
    let files = places.map(|place| place.join("libwhyloss_capi.a"));
    let found = files.into_iter().find(|file| file.exists());
    found.expect("cargo builds the static library with the test")
}
