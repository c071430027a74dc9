//! `whyloss evaluate`: evaluates a scheme and its peers on the criteria of RFC 9743, or searches
//! for the network where it does most harm. It also evaluates media estimators on the cases of RFC
//! 8867.

mod media;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};
use whyloss_sim::scenario::MOST_SEEDS;
use whyloss_sim::text::one_line;
use whyloss_sim::{Registry, recording};
use whyloss_study::evaluation::adversary::{self, Effort, Found};
use whyloss_study::evaluation::{
    self as study, Carrier, Contender, Criterion, Finding, Kept, OVER_QUIC, Setting, report,
};
use whyloss_study::report as files;
use whyloss_study::sweep::{Share, SweepError};

use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;
use crate::progress::Bar;
use crate::threads::{self, MOST_JOBS};

/// The default number of drawn networks.
const NETWORKS: u64 = 40;
/// The number of drawn networks with `--quick`.
const FEW: u64 = 2;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct EvaluateArgs {
    /// Scheme (`whyloss`), controller (`bbr`), or controller and classifier (`cubic+trees`).
    /// Required, except with --media.
    #[arg(value_name = "SCHEME", required_unless_present = "media")]
    scheme: Option<String>,
    /// Compare media bitrate estimators on the cases of RFC 8867 and RFC 8869, instead of evaluating
    /// SCHEME.
    #[arg(long, conflicts_with_all = ["scheme", "adversary", "networks", "recordings", "transport"])]
    media: bool,
    /// Write an HTML page, tables (Markdown, CSV, JSON) and figures to this directory. Finished
    /// runs are kept there; repeat the command to resume.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Run only the criteria of this section of RFC 9743, such as `7` or `5.2.1`, or one criterion
    /// from the list below. With --media, run only cases whose names begin with this text, such as
    /// `5.6`.
    #[arg(long, value_name = "SECTION")]
    only: Option<String>,
    /// Run each case with seeds 1 to N [default: 5, or 1 with --quick]. Networks with drawn or
    /// recorded channels always run with one seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    seeds: Option<u64>,
    /// Number of random networks [default: 40; 2 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    networks: Option<u64>,
    /// Run two cases of each criterion with one seed and only CUBIC for comparison, as a smoke
    /// test.
    #[arg(long)]
    quick: bool,
    /// Transport protocol of the flows under test.
    #[arg(long, value_enum, default_value_t = Transport::Tcp)]
    transport: Transport,
    /// Also use recorded links as channels: a CSV file with a column `received` of digits (1
    /// arrived, 0 lost), or a directory of such files.
    #[arg(long, value_name = "PATH")]
    recordings: Option<PathBuf>,
    /// Search for the network where SCHEME harms a competing CUBIC flow most, instead of evaluating
    /// it.
    #[arg(long, conflicts_with_all = ["only", "seeds", "networks", "quick", "recordings"])]
    adversary: bool,
    /// With --adversary, maximum number of networks to try. The same number and --seed find the
    /// same network, unless --minutes ends the search.
    #[arg(long, value_name = "N", requires = "adversary", default_value_t = 4000)]
    evaluations: u64,
    /// With --adversary, maximum duration of the search in minutes.
    #[arg(long, value_name = "MINUTES", requires = "adversary", default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// With --adversary, seed of the search.
    #[arg(long, value_name = "N", requires = "adversary", default_value_t = 1)]
    seed: u64,
    /// Run only part K of N, such as `2/8`, and write no page. Several machines can run the parts
    /// at once with the same DIR and options. Without --part, the command then writes the page.
    #[arg(long, value_name = "K/N", conflicts_with_all = ["media", "adversary"])]
    part: Option<Share>,
    /// Number of threads [default: one per core]. Does not affect results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    jobs: Option<u16>,
}

const HELP: &str = "Prints the throughput, harm and fairness of SCHEME and its rivals, and \
                    compares each result with CUBIC's in the same network. Each criterion \
                    belongs to a section of RFC 9743.\n\n\
                    Criteria for --only:\n  \
                      5.1  collapse, bufferbloat, loss, fairness, round-trips, short\n  \
                      5.2  beside-cubic, beside-reno, noisy-harm, drawn-harm, real-time, long-short\n  \
                      6    tail-drop, wired, wireless, drawn, recorded (with --recordings)\n  \
                      7    aqm, aqm-harm, ecn, delay, constrained, satellite, misbehaving,\n       \
                           reordering, transient, changes, data-centre\n\n\
                    Example: whyloss evaluate cubic+trees --only 5.2 --out evaluation";

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text
        .parse()
        .map_err(|_| "expected minutes, such as 10 or 0.5")?;
    if (0.01..=100_000.0).contains(&minutes) {
        Ok(minutes)
    } else {
        Err("expected minutes from 0.01 to 100000".to_owned())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// TCP with RACK-TLP.
    Tcp,
    /// QUIC with quinn's protocol engine; needs a build with `--features quic`.
    Quic,
}

pub(crate) fn run(
    args: &EvaluateArgs,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let Some(scheme) = &args.scheme else {
        return media::run(args, out);
    };
    let scheme = Contender::find(scheme, registry)?;
    let carrier = match args.transport {
        Transport::Tcp => Carrier::Tcp,
        Transport::Quic if cfg!(feature = "quic") => Carrier::Quic,
        Transport::Quic => return Err(CliError::NoQuic),
    };
    adversary::check(&scheme, carrier, registry)?;
    if args.adversary {
        return attack(args, &scheme, carrier, registry, out);
    }
    let setting = Setting {
        scheme,
        carrier,
        seeds: args.seeds.unwrap_or(if args.quick { 1 } else { 5 }),
        quick: args.quick,
    };
    let criteria = chosen(args)?;
    let evaluation = Evaluation {
        args,
        registry,
        setting,
        criteria,
    };
    match args.part {
        Some(part) => evaluation.run_part(part, out),
        None => evaluation.run(out),
    }
}

/// An evaluation with its criteria.
struct Evaluation<'a> {
    args: &'a EvaluateArgs,
    registry: &'a Registry,
    setting: Setting,
    criteria: Vec<Criterion>,
}

impl Evaluation<'_> {
    /// Applies `run` to each criterion until it returns `None` because the user has interrupted it.
    fn each<T: Send>(
        &self,
        run: impl Fn(&Criterion, &Bar, &AtomicBool) -> Result<Option<T>, SweepError> + Sync,
    ) -> Result<Vec<T>, CliError> {
        let stop = stop_on_interrupt().map_err(CliError::Signal)?;
        let pool = threads::pool(self.args.jobs)?;
        let bar = Bar::new();
        let mut found = Vec::new();
        for (index, criterion) in self.criteria.iter().enumerate() {
            bar.begin(&criterion.id, index, self.criteria.len());
            let ran = pool.install(|| run(criterion, &bar, &stop));
            let Some(ran) = ran.map_err(CliError::Plan)? else {
                bar.clear();
                let rest = self.criteria[index..].iter();
                return Err(CliError::Interrupted {
                    cut_short: Vec::new(),
                    not_run: rest.map(|criterion| criterion.id.clone()).collect(),
                });
            };
            found.push(ran);
        }
        bar.clear();
        Ok(found)
    }

    /// Runs a share of the runs, beside other processes. The pages are left to the process that
    /// runs the whole evaluation.
    fn run_part(&self, part: Share, out: &mut dyn Write) -> Result<(), CliError> {
        let runs = self.args.out.join("runs");
        files::prepare(&self.args.out).map_err(CliError::Out)?;
        let kept = Kept::join(&runs).map_err(CliError::Plan)?;
        let counts = self.each(|criterion, bar, stop| {
            let Self {
                setting, registry, ..
            } = self;
            study::run_share(criterion, setting, registry, &kept, part, bar, stop)
        })?;
        let runs_in = files::counted(counts.into_iter().sum::<usize>() as u64, "run");
        writeln!(out, "{runs_in} in {}", runs.display())?;
        Ok(())
    }

    fn run(&self, out: &mut dyn Write) -> Result<(), CliError> {
        let dir = &self.args.out;
        files::prepare(dir).map_err(CliError::Out)?;
        let kept = Kept::open(&dir.join("runs")).map_err(CliError::Plan)?;
        // Parts that are still running keep the earlier page.
        files::renew(dir).map_err(CliError::Out)?;
        let findings = self.each(|criterion, bar, stop| {
            let Self {
                setting, registry, ..
            } = self;
            study::run(criterion, setting, registry, Some(&kept), bar, stop)
        })?;
        self.write(&findings, out)
    }

    /// Writes the pages and tables, and prints the totals.
    fn write(&self, findings: &[Finding], out: &mut dyn Write) -> Result<(), CliError> {
        let Self { args, setting, .. } = self;
        let carriers = [Carrier::Tcp, Carrier::Quic].into_iter();
        let carriers =
            carriers.filter(|carrier| findings.iter().any(|found| found.carrier == *carrier));
        let mut outcomes = Vec::new();
        for carrier in carriers {
            outcomes.push(report::summary(findings, carrier));
            outcomes.extend(report::best(findings, carrier));
        }
        for overview in &outcomes {
            out.write_all(files::table::render(overview).as_bytes())?;
            writeln!(out)?;
        }
        let overviews = outcomes.len();
        outcomes.extend(findings.iter().map(report::outcome));
        let left_out = study::uncovered(setting.carrier, cfg!(feature = "quic"));
        let command = command(args);
        for outcome in &outcomes {
            files::write_outcome(&args.out, outcome)?;
        }
        let json: String = outcomes.iter().map(files::json::render).collect();
        let page = report::page(&outcomes, setting, &left_out, &command);
        let document = report::document(&outcomes[..overviews], setting, &command);
        let each = report::criteria(&outcomes[overviews..], setting, &left_out);
        for (name, text) in [
            ("evaluation.json", &json),
            ("evaluation.md", &document),
            ("criteria.md", &each),
            ("index.html", &page),
        ] {
            files::write(&args.out, name, text)?;
        }
        writeln!(out, "{}", args.out.join("index.html").display())?;
        let failed = findings
            .iter()
            .filter_map(|finding| finding.failed.as_ref());
        let runs = failed.clone().map(|failed| failed.0).sum();
        match failed.map(|failed| &failed.1).next() {
            None => Ok(()),
            Some(first) => Err(CliError::EvaluationFailed {
                runs,
                first: first.clone(),
            }),
        }
    }
}

/// Returns the selected criteria, in the order of the RFC's sections.
fn chosen(args: &EvaluateArgs) -> Result<Vec<Criterion>, CliError> {
    let networks = args
        .networks
        .unwrap_or(if args.quick { FEW } else { NETWORKS });
    let mut all = study::criteria();
    all.extend(study::drawn(networks));
    if let Some(path) = &args.recordings {
        let refuse = |problem: String| CliError::Recording {
            name: one_line(&path.to_string_lossy()).into_owned(),
            problem,
        };
        let links = recording::read(path, None).map_err(|error| refuse(error.to_string()))?;
        let replayed = study::recorded(&links, &args.out.join("recordings"));
        let replayed = replayed.map_err(|source| CliError::Directory {
            option: "--out",
            source,
        })?;
        let none = "no recorded link loses between nothing and 30 %";
        all.push(replayed.ok_or_else(|| refuse(none.to_owned()))?);
    }
    // Over QUIC, run only the criteria that decide whether to enable a scheme.
    if cfg!(feature = "quic") && args.transport == Transport::Tcp {
        let again: Vec<Criterion> = all
            .iter()
            .filter(|criterion| OVER_QUIC.contains(&criterion.id.as_str()))
            .cloned()
            .filter_map(Criterion::over_quic)
            .collect();
        all.extend(again);
    }
    let section = |criterion: &Criterion| -> Vec<u32> {
        let numbers = criterion.section.split('.');
        numbers.filter_map(|number| number.parse().ok()).collect()
    };
    all.sort_by_key(section);
    let Some(only) = &args.only else {
        return Ok(all);
    };
    let sections: Vec<String> = all
        .iter()
        .map(|criterion| format!("{} ({})", criterion.section, criterion.id))
        .collect();
    let below = format!("{only}.");
    all.retain(|criterion| {
        criterion.id == *only || criterion.section == *only || criterion.section.starts_with(&below)
    });
    if all.is_empty() {
        return Err(CliError::NoSection {
            only: only.clone(),
            sections,
        });
    }
    Ok(all)
}

/// Returns the command line that produces the same page.
fn command(args: &EvaluateArgs) -> String {
    let mut words = vec![
        "whyloss evaluate".to_owned(),
        args.scheme.clone().unwrap_or_default(),
    ];
    if args.transport == Transport::Quic {
        words.push("--transport quic".to_owned());
    }
    words.extend(args.only.iter().map(|only| format!("--only {only}")));
    for (key, value) in [("seeds", args.seeds), ("networks", args.networks)] {
        words.extend(value.map(|value| format!("--{key} {value}")));
    }
    if args.quick {
        words.push("--quick".to_owned());
    }
    if let Some(path) = &args.recordings {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        words.push(format!("--recordings {name}"));
    }
    words.push("--out DIR".to_owned());
    words.join(" ")
}

fn attack(
    args: &EvaluateArgs,
    scheme: &Contender,
    carrier: Carrier,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    files::renew(&args.out).map_err(CliError::Out)?;
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let pool = threads::pool(args.jobs)?;
    let effort = Effort {
        seed: args.seed,
        evaluations: args.evaluations,
        time: Duration::from_secs_f64(60.0 * args.minutes),
    };
    let bar = Bar::new();
    bar.begin("networks", 0, 1);
    let found = pool.install(|| adversary::search(scheme, carrier, effort, registry, &bar, &stop));
    bar.clear();
    let found = found.map_err(|source| CliError::Run {
        id: "adversary",
        source: Box::new(source),
    })?;
    writeln!(
        out,
        "{} in {}",
        files::counted(found.evaluations, "network"),
        files::counted(found.climbs, "climb")
    )?;
    for (name, what, found) in [
        ("worst.toml", "the worst network", &found.worst),
        (
            "worst-clean.toml",
            "the worst network without channel losses",
            &found.clean,
        ),
    ] {
        let Some(found) = found else {
            writeln!(out, "{what}: none was found that measures anything")?;
            continue;
        };
        tell(&args.out, name, what, found, scheme, out)?;
    }
    Ok(())
}

fn tell(
    dir: &Path,
    name: &str,
    what: &str,
    found: &Found,
    scheme: &Contender,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let (again, half_width) = found.again;
    let harm = format!(
        "harm {again:.1} ± {half_width:.1} % under seeds 1001 to 1010; {:.1} % in the search",
        found.harm
    );
    let text = format!(
        "# {} harms the flow `plain` here: {harm}.\n# With plain CUBIC in its place: --set 'flow.own-{{i}}.scheme=cubic'\n{}",
        scheme.name, found.scenario
    );
    files::write(dir, name, &text)?;
    writeln!(
        out,
        "\n{what}: {harm}\n{}\n\n{}",
        dir.join(name).display(),
        found.scenario
    )?;
    Ok(())
}
