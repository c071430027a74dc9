//! Defines the errors of the command, with messages that suggest the next step, and their exit
//! codes.

use std::error::Error;
use std::io;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use whyloss_emulate::RunError;
use whyloss_emulate::archive::ArchiveError;
use whyloss_emulate::endpoint::EndpointError;
use whyloss_emulate::endpoint::flow::FlowError;
use whyloss_emulate::spec::SpecError;
use whyloss_sim::RunError as EngineError;
use whyloss_sim::scenario::ScenarioError;
use whyloss_study::PlanError;
use whyloss_study::report::ReportError;
#[cfg(feature = "parquet")]
use whyloss_study::sweep::SweepError;
use whyloss_validate::peers::PeerError;

use crate::bench::error::BenchError;
use crate::threads::MOST_JOBS;

/// Explains why the command failed or did only part of its work.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "some commands need Linux")
)]
pub(crate) enum CliError {
    /// The names of the program's own algorithms are invalid.
    #[error(transparent)]
    Registry(#[from] whyloss_sim::registry::RegistryError),
    /// No algorithm or experiment has the name.
    #[error(
        "no {kind} is called `{name}`{}; `whyloss list` names them all",
        did_you_mean(nearest)
    )]
    Unknown {
        /// The kind that the name should refer to, such as a classifier.
        kind: &'static str,
        name: String,
        /// The most similar names.
        nearest: Vec<String>,
    },
    /// The paper does not exist.
    #[error("no paper is called `{name}`; there are {}", known.join(", "))]
    UnknownPaper {
        name: String,
        /// The papers that exist.
        known: Vec<String>,
    },
    /// `whyloss reality` has no such table.
    #[error("no table of `whyloss reality` is called `{name}`; there are {}", known.join(", "))]
    UnknownTable {
        name: String,
        /// The tables that exist.
        known: Vec<String>,
    },
    /// A paper was named where an experiment was expected.
    #[error(
        "`{0}` is a paper: `--paper {0}` runs all its experiments, and `whyloss list` names them"
    )]
    PaperNotExperiment(String),
    /// A paper's file is invalid.
    #[error(transparent)]
    Paper(#[from] whyloss_papers::PaperError),
    /// The directory for the report cannot be used.
    #[error("--out: {0}")]
    Out(#[source] ReportError),
    /// The directory for traces or captures cannot be used.
    #[error("{option}: {source}")]
    Directory {
        option: &'static str,
        source: ReportError,
    },
    /// The scenario file, or a plan, cannot be read.
    #[error("cannot read the {kind} `{}`: {source}", path.display())]
    Unreadable {
        kind: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A directory cannot be compared.
    #[error("`{}`: {problem}", path.display())]
    Compared { path: PathBuf, problem: String },
    /// A capture or log cannot be read.
    #[error("`{}`: {source}", path.display())]
    Capture {
        path: PathBuf,
        source: whyloss_diagnose::Error,
    },
    /// A recording gives no result.
    #[error("`{name}`: {problem}")]
    Recording { name: String, problem: String },
    /// The capture has no flow with this number.
    #[error("--flow {wanted}: `{}` has {flows} flow{} of data", path.display(), if *flows == 1 { "" } else { "s" })]
    NoFlow {
        path: PathBuf,
        wanted: u64,
        flows: usize,
    },
    /// An input is in the directory for results.
    #[error("--out: `{}` is there and would be removed or overwritten: name another directory", .0.display())]
    InputInOut(PathBuf),
    /// `--replay` needs receiver classifiers.
    #[error("--replay needs receiver classifiers: use `--transport tfrc`")]
    ReplayOfSenders,
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The engine rejected the scenario, or did not finish it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A trace or capture could not be written; the results were printed.
    #[error("{first}{}; the results were printed, these files are missing", of_seeds(*seeds))]
    Unwritten {
        /// The first error.
        first: String,
        /// The number of seeds with missing files.
        seeds: usize,
    },
    /// An environment variable sets too many threads.
    #[error(
        "{variable} is {asked}: at most {} threads are possible; --jobs overrides it",
        MOST_JOBS
    )]
    TooManyThreads {
        variable: &'static str,
        asked: String,
    },
    /// The results do not fit into memory.
    #[error(
        "{seeds} seeds with {of_each} results each are more than {most}, which is all that one run keeps: run fewer seeds \
         at a time, or `whyloss sweep`, which keeps only the metrics that its plan names"
    )]
    TooManyValues {
        seeds: usize,
        of_each: usize,
        most: usize,
    },
    /// `--against` names no contender.
    #[error(
        "--against: `{name}` does not compete{}; {} do",
        did_you_mean(nearest),
        competing.join(", ")
    )]
    NoContender {
        name: String,
        nearest: Vec<String>,
        /// The names of the contenders that take part.
        competing: Vec<String>,
    },
    /// No scheme has this name.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Contender(#[from] whyloss_study::evaluation::Unknown),
    /// `--only` matches no criterion.
    #[cfg(feature = "parquet")]
    #[error("--only: no criterion has the section or id `{only}`; the criteria:\n  {}", sections.join("\n  "))]
    NoSection { only: String, sections: Vec<String> },
    /// The build has no QUIC engines.
    #[cfg(feature = "parquet")]
    #[error(
        "this build has no QUIC; `cargo build --release --features quic` makes one that has it"
    )]
    NoQuic,
    /// The build lacks the stack of the estimator.
    #[cfg(target_os = "linux")]
    #[error(
        "this build has no estimator `{0}`; `cargo build --release --features rtc` makes one that has it"
    )]
    NoEstimator(String),
    /// The estimator needs the truth, which no socket has.
    #[cfg(target_os = "linux")]
    #[error("--estimator oracle: only `whyloss run` knows why each packet was lost")]
    NoTruth,
    /// The packet size of a call is too small for video, or too large for the network.
    #[cfg(target_os = "linux")]
    #[error("--packet: found {0} B, expected 200 B to 1500 B for a call")]
    Packet(u32),
    /// Runs of an evaluation failed.
    #[cfg(feature = "parquet")]
    #[error("{runs} runs failed; the first: {first}")]
    EvaluationFailed { runs: usize, first: String },
    /// `--only` matches no case.
    #[error("--only: no case has `{only}` in its kind and name{}; the cases:\n  {}", did_you_mean(nearest), cases.join("\n  "))]
    NoCase {
        only: String,
        nearest: Vec<String>,
        cases: Vec<String>,
    },
    /// The command to run while controls are loaded does not start.
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    #[error("cannot run `{command}`: {source}")]
    NoProgram { command: String, source: io::Error },
    /// The threads could not be started.
    #[error("--jobs: {0}")]
    Jobs(#[from] rayon::ThreadPoolBuildError),
    /// Ctrl-C could not be caught.
    #[error("cannot catch Ctrl-C: {0}")]
    Signal(#[source] io::Error),
    /// The option does not apply to calls.
    #[cfg(target_os = "linux")]
    #[error("{0}: calls (`--transport rtp`) do not have it; use tfrc or iftp")]
    NotInCalls(&'static str),
    /// The page cannot be served.
    #[error("cannot serve a page on 127.0.0.1: {0}")]
    Live(#[source] io::Error),
    /// A run failed.
    #[error("{id}: {source}")]
    Run {
        id: &'static str,
        source: Box<dyn Error + Send + Sync>,
    },
    /// An arena is too large for a plan.
    #[error(transparent)]
    Arena(#[from] PlanError),
    /// The plan of a sweep or its directory cannot be used.
    #[cfg(feature = "parquet")]
    #[error(transparent)]
    Plan(SweepError),
    /// A sweep could not continue.
    #[cfg(feature = "parquet")]
    #[error("{0}; what was written before is whole, and the same command continues from there")]
    Sweep(SweepError),
    /// Runs of a sweep failed, and will fail again.
    #[cfg(feature = "parquet")]
    #[error("{runs} of {asked} runs failed, and their rows say why; the first: {first}")]
    RunsFailed {
        runs: usize,
        asked: usize,
        first: String,
    },
    /// The user interrupted a sweep.
    #[cfg(feature = "parquet")]
    #[error(
        "interrupted: {finished} of {asked} runs are done; the same command continues from there"
    )]
    SweepStopped { finished: usize, asked: usize },
    /// A measurement failed.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The report could not be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Standard output could not be written.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
    /// The peers' programs could not be prepared.
    #[error("--cache: {0}")]
    Peer(#[source] PeerError),
    /// A condition of `validate --require` does not hold.
    #[error("--require: {}", .0.join("; "))]
    Required(Vec<String>),
    /// The links are invalid.
    #[error(transparent)]
    Link(#[from] Box<SpecError>),
    /// Commands behind a link need Linux.
    #[cfg(not(target_os = "linux"))]
    #[error("commands behind a link need Linux; here, --udp forwards datagrams through one")]
    OnlyUdp,
    /// The run behind a link failed.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Emulate(RunError),
    /// The directory of a run cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// `--profile` names no profile.
    #[error(
        "no profile is called `{name}`{}; `whyloss link --list-profiles` names them all",
        did_you_mean(nearest)
    )]
    NoProfile { name: String, nearest: Vec<String> },
    /// The UDP proxy does not run.
    #[error(transparent)]
    Proxy(#[from] whyloss_emulate::proxy::ProxyError),
    /// A log cannot be replayed.
    #[error("--replay: {0}")]
    Replay(#[source] ArchiveError),
    /// The emulator had a fault.
    #[error("the emulator was at fault (see above), so the measurements are not those of the link")]
    Faulty,
    /// A replay differs from its log.
    #[error("{0}")]
    Differs(String),
    /// A command behind a link failed.
    #[error("the command at {host} ended with exit code {code}")]
    Command { host: String, code: u8 },
    /// A command could not be started.
    #[error("{0}")]
    Start(#[source] io::Error),
    /// The process that prepares a namespace cannot do so.
    #[error("{0}")]
    NotFirst(#[source] io::Error),
    /// The flow of a session is invalid.
    #[error(transparent)]
    Flow(#[from] Box<FlowError>),
    /// A session failed.
    #[error(transparent)]
    Endpoint(EndpointError),
    /// No congestion control has this name.
    #[error(
        "no congestion control is called `{name}`{}; `whyloss kernel list` names them all",
        did_you_mean(nearest)
    )]
    UnknownControl {
        name: String,
        /// The most similar names.
        nearest: Vec<String>,
    },
    /// The kernel refused a request.
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    #[error(transparent)]
    Kernel(#[from] whyloss_kernel::KernelError),
    /// A control could not be compared with the core.
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    #[error(transparent)]
    Check(#[from] whyloss_kernel::check::CheckError),
    /// A control decides differently from the core.
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    #[error("{}", .0.join("; "))]
    Unlike(Vec<String>),
    /// None of the loaded controls can be watched.
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    #[error("{}; `whyloss kernel load` loads one, and --wait waits for it", .0.map_or("none of our controls is loaded".into(), |name| format!("`{name}` is not loaded")))]
    NothingToWatch(Option<&'static str>),
    /// The build has no programs for the kernel.
    #[cfg(not(all(feature = "kernel", target_os = "linux")))]
    #[error(
        "this build has no programs for the kernel: on Linux, `cargo build --release --features kernel` makes one that has them \
         (on Debian, `apt-get install clang libelf-dev zlib1g-dev make pkg-config` installs what it needs)"
    )]
    NoKernel,
    /// The text is not an address.
    #[error("`{text}` is not an address to send to or to listen at ({why}): expected {expected}")]
    Address {
        text: String,
        expected: &'static str,
        why: String,
    },
    /// No command was given.
    #[error(
        "nothing to run: give a command after `--`, or --both SERVER CLIENT, or --at NODE=COMMAND"
    )]
    NoCommand,
    /// A single command needs root for its link to the machine.
    #[error(
        "a link to this machine's own network needs root: run it with sudo; --both and --at need none"
    )]
    NeedsRoot,
    /// `--at-time` changes only links that options make.
    #[error(
        "--at-time changes links made by options such as --rate; a file lists its changes in `handovers`"
    )]
    ChangesOfFile,
    /// The user interrupted a scenario.
    #[error(
        "interrupted: {finished} of {asked} {} finished{}{}",
        if *asked == 1 { "seed" } else { "seeds" },
        stopped_at(*reached, *end),
        kept_until_there(kept)
    )]
    Stopped {
        /// The number of seeds with results.
        finished: usize,
        /// The requested number of seeds.
        asked: usize,
        /// The simulated time that the first unfinished seed reached, in seconds, if it began.
        reached: Option<f64>,
        /// The end of each run, in simulated seconds.
        end: f64,
        /// The files that hold the part before the stop.
        kept: Vec<&'static str>,
    },
    /// The user interrupted the experiments.
    #[error("interrupted{}", list(" with part of the seeds: ", cut_short) + &list("; not run: ", not_run))]
    Interrupted {
        /// The experiments that ran fewer seeds than requested.
        cut_short: Vec<String>,
        /// The experiments without a result.
        not_run: Vec<String>,
    },
}

impl CliError {
    /// Returns the exit code by the table in `lib.rs`.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Registry(_)
            | Self::Unknown { .. }
            | Self::UnknownControl { .. }
            | Self::UnknownPaper { .. }
            | Self::UnknownTable { .. }
            | Self::PaperNotExperiment(_)
            | Self::TooManyThreads { .. }
            | Self::TooManyValues { .. }
            | Self::NoContender { .. }
            | Self::NoCase { .. }
            | Self::Unreadable { .. }
            | Self::Scenario(_)
            | Self::Engine(
                EngineError::Check(_) | EngineError::NoEngine(_) | EngineError::NoEstimator(_),
            )
            | Self::Capture { .. }
            | Self::Compared { .. }
            | Self::Recording { .. }
            | Self::NoFlow { .. }
            | Self::InputInOut(_)
            | Self::Peer(_)
            | Self::Link(_)
            | Self::Flow(_)
            | Self::Address { .. }
            | Self::NoCommand
            | Self::NeedsRoot
            | Self::ChangesOfFile
            | Self::NoProfile { .. }
            | Self::Proxy(whyloss_emulate::proxy::ProxyError::Listen { .. })
            | Self::Replay(_)
            | Self::NotFirst(_)
            | Self::ReplayOfSenders
            | Self::Arena(_)
            | Self::Paper(_)
            | Self::Jobs(_) => 2,
            // The input was valid, but the disk may be full.
            Self::Out(error) | Self::Directory { source: error, .. } => {
                if is_out_of_room(error.reason()) { 1 } else { 2 }
            }
            #[cfg(all(feature = "kernel", target_os = "linux"))]
            Self::NoProgram { .. } => 2,
            #[cfg(feature = "parquet")]
            Self::Plan(SweepError::File { source, .. }) if is_out_of_room(source) => 1,
            #[cfg(feature = "parquet")]
            Self::Plan(_) => 2,
            #[cfg(feature = "parquet")]
            Self::Contender(_) | Self::NoSection { .. } | Self::NoQuic => 2,
            #[cfg(feature = "parquet")]
            Self::Sweep(_) | Self::RunsFailed { .. } | Self::EvaluationFailed { .. } => 1,
            #[cfg(feature = "parquet")]
            Self::SweepStopped { .. } => 130,
            #[cfg(target_os = "linux")]
            Self::Emulate(RunError::NoTun(_) | RunError::NoNft | RunError::Gateway(_)) => 2,
            #[cfg(target_os = "linux")]
            Self::Emulate(RunError::Start { .. }) => 127,
            #[cfg(target_os = "linux")]
            Self::Emulate(_) => 1,
            #[cfg(all(feature = "kernel", target_os = "linux"))]
            Self::Kernel(_) | Self::Check(_) | Self::Unlike(_) | Self::NothingToWatch(_) => 1,
            #[cfg(not(all(feature = "kernel", target_os = "linux")))]
            Self::NoKernel => 1,
            #[cfg(not(target_os = "linux"))]
            Self::OnlyUdp => 2,
            // Shells use this exit code for a command that cannot be found.
            Self::Start(_) => 127,
            #[cfg(target_os = "linux")]
            Self::NoEstimator(_) | Self::NoTruth | Self::Packet(_) | Self::NotInCalls(_) => 2,
            Self::Signal(_)
            | Self::Live(_)
            | Self::Engine(_)
            | Self::Run { .. }
            | Self::Bench(_)
            | Self::Required(_)
            | Self::Unwritten { .. }
            | Self::Report(_)
            | Self::Archive(_)
            | Self::Proxy(_)
            | Self::Endpoint(_)
            | Self::Faulty
            | Self::Differs(_)
            | Self::Command { .. }
            | Self::Output(_) => 1,
            Self::Stopped { .. } | Self::Interrupted { .. } => 130,
        }
    }

    /// Returns whether the reader has closed the pipe of our output.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn is_out_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull)
}

fn did_you_mean(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => format!(" (did you mean {one}?)"),
        [most @ .., last] => format!(" (did you mean {} or {last}?)", most.join(", ")),
    }
}

fn of_seeds(seeds: usize) -> String {
    match seeds {
        1 => String::new(),
        seeds => format!(" (and of {} more seeds)", seeds - 1),
    }
}

fn stopped_at(reached: Option<f64>, end: f64) -> String {
    reached.map_or_else(String::new, |reached| {
        format!(", the next was stopped at {reached:.3} s of {end} s")
    })
}

fn kept_until_there(what: &[&str]) -> String {
    match what {
        [] => String::new(),
        what => format!("; its {} end there", what.join(" and ")),
    }
}

fn list(before: &str, names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!("{before}{}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_say_what_to_do() {
        let unknown = |nearest: &[&str]| {
            let error = CliError::Unknown {
                kind: "experiment",
                name: "x".into(),
                nearest: nearest.iter().map(ToString::to_string).collect(),
            };
            error.to_string()
        };
        assert_eq!(
            unknown(&["a", "b", "c"]),
            "no experiment is called `x` (did you mean `a`, `b` or `c`?); `whyloss list` names them all"
        );
        assert_eq!(
            unknown(&[]),
            "no experiment is called `x`; `whyloss list` names them all"
        );
        let interrupted = CliError::Interrupted {
            cut_short: vec!["a (3 of 10)".into()],
            not_run: vec!["b".into(), "c".into()],
        };
        assert_eq!(
            interrupted.to_string(),
            "interrupted with part of the seeds: a (3 of 10); not run: b, c"
        );
    }
}
