//! The `whyloss` command: parses, calls, prints.
//!
//! | exit code | means |
//! |---|---|
//! | 0 | done; a claim that fails or a cell out of tolerance is a result, not an error |
//! | 1 | a run failed, its result could not be written, or `--require` is not met |
//! | 2 | the input was wrong; nothing was run |
//! | 130 | interrupted (Ctrl-C) before everything had run: what had finished was printed and written |
#![forbid(unsafe_code)]

mod arena;
mod args;
mod bench;
mod cache;
mod diagnose;
mod error;
mod interrupt;
mod kernel;
#[cfg(target_os = "linux")]
mod link;
mod list;
mod manual;
mod nearest;
mod progress;
#[cfg(target_os = "linux")]
mod reality;
mod reproduce;
mod run;
mod schema;
#[cfg(target_os = "linux")]
mod session;
#[cfg(feature = "parquet")]
mod sweep;
mod text;
mod validate;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use text::printable;

fn main() -> ExitCode {
    let args = Args::parse();
    #[cfg(feature = "quic")]
    whyloss_quic::sim::install();
    let out = &mut io::stdout();
    let result = match &args.command {
        Command::List(args) => list::run(args, out),
        Command::Reproduce(args) => reproduce::run(args, out),
        Command::Run(args) => run::run(args, out),
        #[cfg(feature = "parquet")]
        Command::Sweep(args) => sweep::run(args, out),
        Command::Arena(args) => arena::run(args, out),
        Command::Diagnose(args) => diagnose::run(args, out),
        Command::Bench(args) => bench::run(args, out),
        Command::BenchChild(args) => bench::child::run(args, out),
        Command::Validate(args) => validate::run(args, out),
        #[cfg(target_os = "linux")]
        Command::Link(args) => link::run_link(args, out),
        #[cfg(target_os = "linux")]
        Command::Send(args) => session::run_send(args),
        #[cfg(target_os = "linux")]
        Command::Recv(args) => session::run_recv(args),
        #[cfg(target_os = "linux")]
        Command::Reality(args) => reality::run(args, out),
        Command::Kernel(args) => kernel::run(args, out),
        #[cfg(target_os = "linux")]
        Command::LinkInit(args) => match link::run_init(args) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => Err(error),
        },
        Command::Schema => schema::run(out),
        Command::Completions(args) => manual::completions(args, out),
        Command::Man => manual::man(out),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody to tell if standard error is closed as well.
            let _ = writeln!(io::stderr(), "whyloss: {}", printable(&error.to_string()));
            ExitCode::from(error.exit_code())
        }
    }
}
