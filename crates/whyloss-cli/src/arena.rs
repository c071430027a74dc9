//! `whyloss arena`: compares classifiers with the oracle on networks drawn at random.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use whyloss_sim::scenario::MOST_SEEDS;
use whyloss_sim::text::one_line;
use whyloss_sim::{Registry, recording};
use whyloss_study::arena::{
    self, Contender, Network, Queue, Radios, Setting, Transport, Trials, Variant, replay,
};
use whyloss_study::report as files;
use whyloss_study::{Context, ExperimentError, Outcome, Plan};

use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::nearest::nearest;
use crate::progress::Bar;
use crate::threads::{self, MOST_JOBS};

/// The default of `--against`: the contender from which differences are taken.
const AGAINST: &str = "zbs-2003";

/// The maximum number of networks to draw.
const MOST_NETWORKS: u64 = 10_000;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command"
)]
pub(crate) struct ArenaArgs {
    /// Classifiers to compare, in scenario syntax: `zigzag` or `{ name = "mbiaz", upper = 1.3 }`.
    /// With TCP, controllers such as `bbr` are accepted too. `oracle` and `unaware` are always
    /// included [default: all classifiers for the transport; with TCP, also `bbr` and `copa`].
    #[arg(value_name = "CLASSIFIER")]
    classifiers: Vec<String>,
    /// Number of networks to draw.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=MOST_NETWORKS))]
    networks: u64,
    /// Seed for drawing the networks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Runs per classifier and network.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: u64,
    /// Transport protocol of the flows.
    #[arg(long, value_enum, default_value_t = Carrier::Tfrc)]
    transport: Carrier,
    /// Queue discipline of the bottleneck links.
    #[arg(long, value_enum, default_value_t = Discipline::Drawn)]
    queue: Discipline,
    /// Let lossy links retransmit lost packets, 8 ms apart, with at most 7 tries per packet.
    #[arg(long)]
    arq: bool,
    /// Enable ECN: all flows are ECN-capable, and RED, CoDel, FQ-CoDel and PIE mark packets instead
    /// of dropping them.
    #[arg(long)]
    ecn: bool,
    /// Vary the rate of lossy links at random among 1.5, 1 and 0.5 times the drawn rate, each
    /// lasting 1 s on average.
    #[arg(long)]
    varying: bool,
    /// Channels of the lossy links.
    #[arg(long, value_enum, default_value_t = Radio::Drawn)]
    radios: Radio,
    /// Use recorded losses on the lossy links, from a table (CSV), a pattern file (digits, 1 for a
    /// lost packet), or a directory of these. Trials that lose less than 0.3 % or more than 30 % of
    /// packets are skipped.
    #[arg(long, value_name = "PATH", conflicts_with = "radios")]
    recordings: Option<PathBuf>,
    /// Skip the runs that measure harm to a competing flow, which take two thirds of the time.
    #[arg(long)]
    no_harm: bool,
    /// Also print the difference of each classifier from this one, network by network [default:
    /// zbs-2003, if included].
    #[arg(long, value_name = "CLASSIFIER", conflicts_with = "replay")]
    against: Option<String>,
    /// Feed the same recorded arrivals to every receiver classifier, instead of letting each
    /// control its own flow. With --out, also draw ROC curves: 1 − Mw over Mc.
    #[arg(long, conflicts_with = "classifiers")]
    replay: bool,
    /// Print the network with this number, counting from 0, as a scenario file and exit.
    #[arg(long, value_name = "NETWORK")]
    show: Option<u64>,
    /// Print a plan for `whyloss sweep`, without running it. With --out, write the plan and its
    /// scenarios to that directory.
    #[arg(long, conflicts_with_all = ["replay", "show"])]
    plan: bool,
    /// Number of threads [default: one per core]. Does not affect results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
    /// Also write an HTML page, figures (SVG) and values (CSV) to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const HELP: &str = "Mc is the share of congestion losses that a classifier calls wireless; Mw is the share of wireless \
                    losses that it calls congestion. Each network has a random rate, round-trip time, buffer, \
                    queue, number of flows, loss model and cross traffic. `--show 0` prints the first one.\n\n\
                    Example: whyloss arena zbs2 trees --networks 10 --no-harm";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Carrier {
    /// TFRC, with receiver classifiers.
    Tfrc,
    /// TCP NewReno, with sender classifiers.
    #[value(name = "newreno")]
    NewReno,
    /// TCP CUBIC with SACK, with sender classifiers.
    Cubic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Discipline {
    /// Drawn at random: DropTail in three of four networks, otherwise RED.
    Drawn,
    /// DropTail.
    #[value(name = "droptail")]
    DropTail,
    /// Adaptive RED.
    Red,
    /// CoDel.
    Codel,
    /// FQ-CoDel.
    FqCodel,
    /// PIE.
    Pie,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Radio {
    /// Channels that are drawn at random.
    Drawn,
    /// Models fitted to recordings; `whyloss list` names them.
    Recorded,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Tables.
    Table,
    /// One JSON object per table, each on its own line.
    Json,
    /// One CSV row per measured value.
    Csv,
}

impl ArenaArgs {
    /// Returns the channels of noisy links. Rejects a recording that cannot be replayed before
    /// anything runs.
    fn radios(&self) -> Result<Radios, CliError> {
        let Some(path) = &self.recordings else {
            return Ok(match self.radios {
                Radio::Drawn => Radios::Drawn,
                Radio::Recorded => Radios::Recorded,
            });
        };
        let refuse = |problem: String| CliError::Recording {
            name: one_line(&path.to_string_lossy()).into_owned(),
            problem,
        };
        let recording = recording::read(path, None).map_err(|error| refuse(error.to_string()))?;
        let whole = path
            .canonicalize()
            .map_err(|error| refuse(error.to_string()))?;
        let plain = |name: &&str| !name.contains("''") && !name.chars().any(char::is_control);
        let Some(name) = whole.to_str().filter(plain) else {
            let problem = "its path has characters that a scenario cannot name";
            return Err(refuse(problem.to_owned()));
        };
        match Trials::new(name, &recording) {
            Some(trials) => Ok(Radios::Replayed(trials)),
            None => Err(refuse("none of its trials loses 0.3 to 30 %".to_owned())),
        }
    }

    fn setting(&self, radios: Radios) -> Setting {
        Setting {
            radios,
            networks: self.networks,
            seed: self.seed,
            transport: match self.transport {
                Carrier::Tfrc => Transport::Tfrc,
                Carrier::NewReno => Transport::NewReno,
                Carrier::Cubic => Transport::Cubic,
            },
            queue: match self.queue {
                Discipline::Drawn => Queue::Drawn,
                Discipline::DropTail => Queue::DropTail,
                Discipline::Red => Queue::Red,
                Discipline::Codel => Queue::Codel,
                Discipline::FqCodel => Queue::FqCodel,
                Discipline::Pie => Queue::Pie,
            },
            arq: self.arq,
            ecn: self.ecn,
            varying: self.varying,
            harm: !self.no_harm,
            ..Setting::default()
        }
    }
}

pub(crate) fn run(
    args: &ArenaArgs,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let setting = args.setting(args.radios()?);
    if let Some(index) = args.show {
        let network = Network::draw(setting.seed, index, &setting);
        let text = network.scenario(setting.transport, Variant::Drawn);
        return Ok(out.write_all(text.as_bytes())?);
    }
    if args.replay && setting.transport != Transport::Tfrc {
        return Err(CliError::ReplayOfSenders);
    }
    let contenders: Vec<Contender> = if args.classifiers.is_empty() {
        setting.transport.contenders(registry)
    } else {
        args.classifiers.iter().cloned().map(Contender).collect()
    };
    // Reject unknown classifiers before anything runs.
    let first = Network::draw(setting.seed, 0, &setting);
    for contender in &contenders {
        contender.scenario(&first, setting.transport, Variant::Drawn, registry)?;
    }
    check_against(args.against.as_deref(), &contenders)?;
    if args.plan {
        let all = Contender::all(&contenders);
        let plan = arena::plan(&setting, &all, args.seeds, registry)?;
        return print_plan(&plan, args.out.as_deref(), out);
    }
    if let Some(dir) = &args.out {
        files::renew(dir).map_err(CliError::Out)?;
    }
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let pool = threads::pool(args.jobs)?;
    let bar = Bar::new();
    bar.begin("arena", 0, 1);
    let context = Context::new(&bar, &stop).with_seeds(args.seeds);
    let found = pool.install(|| {
        if args.replay {
            let replays = replay::replay(&context, &setting, registry)?;
            return Ok(vec![arena::report::replayed(
                &replays, &setting, args.seeds,
            )]);
        }
        let found = arena::run(&context, &setting, &contenders, registry)?;
        let against = args.against.as_deref().unwrap_or(AGAINST);
        Ok(arena::report::outcomes(&found, Some(against)))
    });
    bar.clear();
    let outcomes = found.map_err(|error| match error {
        ExperimentError::Stopped => CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: vec!["arena".into()],
        },
        ExperimentError::Failed(source) => CliError::Run {
            id: "arena",
            source,
        },
    })?;
    match print(&outcomes, args.format, out) {
        // The reader closed the pipe, but the report is still wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe && args.out.is_some() => {}
        printed => printed?,
    }
    if let Some(dir) = &args.out {
        for outcome in &outcomes {
            files::write_outcome(dir, outcome)?;
        }
        files::write(dir, "index.html", &arena::report::page(&outcomes))?;
    }
    Ok(())
}

/// Prints a plan, or writes it and its scenarios to `dir`.
fn print_plan(plan: &Plan, dir: Option<&Path>, out: &mut dyn Write) -> Result<(), CliError> {
    let text = plan.to_toml();
    if let Some(dir) = dir {
        files::prepare(dir).map_err(CliError::Out)?;
        files::write(dir, &plan.name, &text)?;
        for network in &plan.networks {
            files::write(dir, &network.file, &network.text)?;
        }
        let file = dir.join(&plan.name);
        let file = file.display();
        return Ok(writeln!(
            out,
            "wrote {file}; run `whyloss sweep {file} --out ROWS`"
        )?);
    }
    Ok(out.write_all(text.as_bytes())?)
}

/// Returns an error if `--against` names a classifier that is not compared.
fn check_against(name: Option<&str>, contenders: &[Contender]) -> Result<(), CliError> {
    let competing = Contender::all(contenders).into_iter();
    let competing: Vec<String> = competing.map(|contender| contender.0).collect();
    match name {
        Some(name) if competing.iter().all(|known| known != name) => Err(CliError::NoContender {
            name: name.to_owned(),
            nearest: nearest(name, competing.iter().map(String::as_str)),
            competing,
        }),
        _ => Ok(()),
    }
}

fn print(outcomes: &[Outcome], format: Format, out: &mut dyn Write) -> io::Result<()> {
    for (index, outcome) in outcomes.iter().enumerate() {
        let text = match format {
            Format::Table if index == 0 => files::table::render(outcome),
            Format::Table => format!("\n{}", files::table::render(outcome)),
            Format::Json => files::json::render(outcome),
            Format::Csv if index == 0 => files::csv::render(outcome),
            Format::Csv => files::csv::rows(outcome),
        };
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}
