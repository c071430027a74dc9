//! The command line.

use clap::{Parser, Subcommand};

use crate::arena::ArenaArgs;
use crate::bench::BenchArgs;
use crate::bench::child::ChildArgs;
use crate::compare::CompareArgs;
use crate::diagnose::DiagnoseArgs;
#[cfg(feature = "parquet")]
use crate::evaluate::EvaluateArgs;
use crate::fit::FitArgs;
use crate::kernel::KernelArgs;
#[cfg(target_os = "linux")]
use crate::link::{InitArgs, LinkArgs};
use crate::list::ListArgs;
use crate::manual::CompletionsArgs;
#[cfg(target_os = "linux")]
use crate::reality::RealityArgs;
use crate::reproduce::ReproduceArgs;
use crate::run::RunArgs;
#[cfg(target_os = "linux")]
use crate::session::{RecvArgs, SendArgs};
#[cfg(feature = "parquet")]
use crate::sweep::SweepArgs;
use crate::validate::ValidateArgs;

/// Shows whether congestion or radio lost packets, and reproduces papers about it.
#[derive(Debug, Parser)]
#[command(name = "whyloss", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done (even if claims fail), 1 a run failed, 2 the input was wrong, \
                          130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Name every experiment, classifier and controller.
    List(ListArgs),
    /// Run the tables and figures of a paper, and print its numbers beside the measured ones.
    Reproduce(ReproduceArgs),
    /// Simulate a scenario file, and print the results of each flow and link.
    Run(RunArgs),
    /// Run a scenario over axes and seeds on all cores, and keep a row of each run; existing rows
    /// are kept.
    #[cfg(feature = "parquet")]
    Sweep(SweepArgs),
    /// Compare classifiers with an all-knowing oracle on random networks.
    Arena(ArenaArgs),
    /// Evaluate a scheme by the criteria of RFC 9743, or search for the network in which it harms
    /// most.
    #[cfg(feature = "parquet")]
    Evaluate(EvaluateArgs),
    /// Show which packets of a capture were lost, and why.
    Diagnose(DiagnoseArgs),
    /// Compare two runs or diagnoses.
    Compare(CompareArgs),
    /// Fit a channel to recordings, and print it as TOML for a scenario.
    Fit(FitArgs),
    /// Measure the cost of a delivered packet, here and in ns-2.
    Bench(BenchArgs),
    /// One run of `bench`, in a process of its own.
    #[command(hide = true)]
    BenchChild(ChildArgs),
    /// Compare with ns-2, ns-3 and closed forms, and print which results are equivalent.
    Validate(ValidateArgs),
    /// Run commands behind an emulated link, and tell why each packet was lost (Linux).
    #[cfg(target_os = "linux")]
    Link(Box<LinkArgs>),
    /// Send over TFRC or IFTP to `whyloss recv` (Linux).
    #[cfg(target_os = "linux")]
    Send(SendArgs),
    /// Receive from `whyloss send`, and tell why missing packets were lost (Linux).
    #[cfg(target_os = "linux")]
    Recv(RecvArgs),
    /// Compare simulations with emulated links, kernels and sockets, as docs/evidence/reality.md
    /// does (Linux, root).
    #[cfg(target_os = "linux")]
    Reality(RealityArgs),
    /// Load our congestion controls into this machine's kernel, and watch them decide (Linux,
    /// root).
    Kernel(KernelArgs),
    /// Between `link` and a command.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    LinkInit(InitArgs),
    /// Print the JSON Schema of scenario files, for completion and checks in editors.
    Schema,
    /// Print a script that completes the command's options in a shell.
    Completions(CompletionsArgs),
    /// Print the manual as a page for `man`.
    Man,
}
