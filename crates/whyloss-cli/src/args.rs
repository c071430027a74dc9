//! Defines the command line: the subcommands, with their help texts.

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
use crate::link::InitArgs;
use crate::link::LinkArgs;
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

/// Find out why packets were lost, at a full queue or on a lossy link, in captures, simulations and
/// emulated networks.
#[derive(Debug, Parser)]
#[command(name = "whyloss", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 success (a reproduced claim may still fail), 1 a run failed, \
                          2 wrong input, 130 interrupted.\n\n\
                          Example: whyloss diagnose slow.pcap";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show which packets in a capture were lost, and why.
    Diagnose(DiagnoseArgs),
    /// Compare two runs, sweeps or diagnoses.
    Compare(CompareArgs),
    /// Fit a loss, rate or delay model to recordings, and print it as TOML for a scenario.
    Fit(FitArgs),
    /// Simulate a scenario file, and print results for each flow and link.
    Run(RunArgs),
    /// Simulate a scenario over a grid of parameters and seeds, and save one row per run. Repeat
    /// the command to resume.
    #[cfg(feature = "parquet")]
    Sweep(SweepArgs),
    /// Repeat experiments of papers, and print the simulated numbers next to the published ones.
    Reproduce(ReproduceArgs),
    /// Compare classifiers on random networks, relative to an oracle that knows every cause.
    Arena(ArenaArgs),
    /// Evaluate a scheme against RFC 9743, or search for the network where it harms CUBIC most.
    #[cfg(feature = "parquet")]
    Evaluate(EvaluateArgs),
    /// Run a command behind an emulated link that logs why it lost each packet (root on Linux; with
    /// --udp, anywhere).
    Link(Box<LinkArgs>),
    /// Send data to `whyloss recv` over TFRC, IFTP or RTP (Linux).
    #[cfg(target_os = "linux")]
    Send(SendArgs),
    /// Receive data from `whyloss send`, and report why each missing packet was lost (Linux).
    #[cfg(target_os = "linux")]
    Recv(RecvArgs),
    /// Measure the kernel's TCP and real sockets over emulated links, and compare the results with
    /// simulations (Linux; root).
    #[cfg(target_os = "linux")]
    Reality(RealityArgs),
    /// Load loss-classifying congestion controls into this machine's kernel, and watch their
    /// verdicts (Linux; root).
    Kernel(KernelArgs),
    /// Measure CPU time per delivered packet in Whyloss, ns-2 and ns-3.
    Bench(BenchArgs),
    /// Compare simulations with ns-2, ns-3 and closed-form results.
    Validate(ValidateArgs),
    /// List the names that other subcommands take: experiments, classifiers, controllers, policies,
    /// schemes and recorded channels.
    List(ListArgs),
    /// Print the JSON Schema of scenario files, which editors use to complete and check them.
    #[command(after_help = "Example: whyloss schema > scenario.schema.json")]
    Schema,
    /// Print a shell completion script.
    Completions(CompletionsArgs),
    /// Print the man page.
    Man,
    /// Runs one measurement of `bench` in its own process.
    #[command(hide = true)]
    BenchChild(ChildArgs),
    /// Prepares a namespace for `link` and starts its command.
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    LinkInit(InitArgs),
}
