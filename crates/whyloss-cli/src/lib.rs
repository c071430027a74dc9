//! Implements the `whyloss` command, as a library.
//!
//! Another program can run the same command with additional algorithms. Scenario files, sweeps and
//! the arena then accept their names, and `list` shows them. `examples/own_classifier.rs` is such a
//! program.
//!
//! ```no_run
//! use whyloss_cli::Registry;
//!
//! fn main() -> std::process::ExitCode {
//!     whyloss_cli::main(&Registry::new()) // .receiver(…), .sender(…), .controller(…), .scheme(…)
//! }
//! ```
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done; a claim that fails or a cell out of tolerance is a result, not an error |
//! | 1 | a run failed, its result could not be written, or `--require` is not met |
//! | 2 | the input was invalid; nothing was run |
//! | 127 | the command of `link` could not be started |
//! | 130 | interrupted (Ctrl-C, SIGTERM, SIGHUP) before all runs had finished; finished results were printed and written |
#![forbid(unsafe_code)]

mod arena;
mod args;
mod bench;
mod cache;
mod compare;
mod diagnose;
mod error;
#[cfg(feature = "parquet")]
mod evaluate;
mod fit;
mod interrupt;
mod kernel;
mod link;
mod list;
mod live;
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
mod terminal;
mod threads;
mod validate;

use std::process::ExitCode;

pub use whyloss_sim::decider::{OutsideReceiver, OutsideSender};
pub use whyloss_sim::registry::{OutsideController, OutsideScheme, Registry};

use args::{Args, Command};
use error::CliError;

/// Runs the command given by the process's arguments and returns the exit code. `registry` adds
/// algorithms to the built-in ones.
pub fn main(registry: &Registry) -> ExitCode {
    let args: Args = match terminal::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    // A child process of `link` handles signals differently.
    #[cfg(target_os = "linux")]
    let has_own_signals = matches!(args.command, Command::LinkInit(_));
    #[cfg(not(target_os = "linux"))]
    let has_own_signals = false;
    if !has_own_signals && let Err(error) = interrupt::end_on_interrupt() {
        return terminal::conclude(Err(CliError::Signal(error)));
    }
    if let Err(error) = registry.check() {
        return terminal::conclude(Err(error.into()));
    }
    #[cfg(feature = "quic")]
    whyloss_quic::sim::install();
    whyloss_rtc::sim::install();
    let out = &mut terminal::output();
    let result = match &args.command {
        Command::List(args) => list::run(args, registry, out),
        Command::Reproduce(args) => reproduce::run(args, out),
        Command::Run(args) => run::run(args, registry, out),
        #[cfg(feature = "parquet")]
        Command::Sweep(args) => sweep::run(args, registry, out),
        Command::Arena(args) => arena::run(args, registry, out),
        #[cfg(feature = "parquet")]
        Command::Evaluate(args) => evaluate::run(args, registry, out),
        Command::Diagnose(args) => diagnose::run(args, out),
        Command::Compare(args) => compare::run(args, out),
        Command::Fit(args) => fit::run(args, out),
        Command::Bench(args) => bench::run(args, out),
        Command::BenchChild(args) => bench::child::run(args, out),
        Command::Validate(args) => validate::run(args, out),
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
        Command::Schema => schema::run(registry, out),
        Command::Completions(args) => manual::completions(args, out),
        Command::Man => manual::man(out),
    };
    terminal::conclude(result)
}
