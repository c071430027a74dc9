//! The `whyloss` command with the built-in algorithms. The library in this crate implements it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    whyloss_cli::main(&whyloss_cli::Registry::new())
}
