//! The `whyloss` command with what is built in. See the library beside it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    whyloss_cli::main(&whyloss_cli::Registry::new())
}
