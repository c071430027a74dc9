//! `whyloss fit`: fits a loss, rate or delay model to recordings.

mod law;
mod page;

use std::fs::{self, File};
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use whyloss_diagnose::fit::check::{self, Check};
use whyloss_diagnose::fit::{self, Fit, Fitted, Model, REJECTED, sources, words};
use whyloss_diagnose::{Options, diagnose_path};
use whyloss_emulate::spec;
use whyloss_sim::recording::{self, Recording, RecordingError, Trial};
use whyloss_sim::text::one_line;
use whyloss_study::report as study;

use crate::error::CliError;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct FitArgs {
    /// Recordings: tables (CSV, Parquet), patterns, directories of these, logs of emulated links,
    /// captures, qlogs, or rate traces.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Quantity to model. `rate` and `delay` read one number per table row; in a delay column, an
    /// empty cell is a lost packet. `delay` also reads logs of emulated links and traces of runs.
    #[arg(long, value_enum, default_value_t = Law::Channel)]
    law: Law,
    /// Table column to read [default: received, lost, number or sequence for `channel`; rate for
    /// `rate`; delay for `delay`].
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Unit of the column [default: bit/s for rates, s for delays].
    #[arg(long, value_enum, value_name = "UNIT")]
    unit: Option<Unit>,
    /// Name of the link in the log of an emulated link [default: the only link that lost packets, or
    /// with `--law delay`, the one with the most packets].
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// With `--law delay`, rate of the link, such as `10mbit`; subtracts each packet's transmission
    /// time at this rate from its delay.
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Time between packets or between rates, such as `100ms`, if the recording has no times.
    #[arg(long, value_name = "TIME")]
    interval: Option<String>,
    /// Skip trials (see --rows) with a loss rate below this value, from 0 to 1.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    loss_from: f64,
    /// Skip trials (see --rows) with this loss rate or more, from 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    loss_to: Option<f64>,
    /// Trials to fit. A trial is one uninterrupted sequence of packets; the first has number 0.
    #[arg(long, value_enum, default_value_t = Rows::All)]
    rows: Rows,
    /// With `--rows even` or `--rows odd`, test the model on each of the other trials, and print
    /// how many trials pass each test.
    #[arg(long)]
    judge: bool,
    /// Write an HTML page with figures to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed for the simulated recordings that the tests use.
    #[arg(long, value_name = "N", default_value_t = fit::SEED)]
    seed: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Toml)]
    format: Format,
}

const HELP: &str = "`fit` fits each model to nine tenths of the recording and scores it on the remaining tenth, ten times. \
                    It chooses the simplest model that scores close to the best and that no test rejects. One test \
                    compares the lengths of loss runs with those of the model, the other the lengths of good runs. \
                    Each test rejects at the 1 % significance level.\n\n\
                    Example: whyloss link --loss \"$(whyloss fit radio.csv --format value)\" -- sh";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Law {
    /// Packet losses.
    Channel,
    /// Link rate, as a Markov chain.
    Rate,
    /// Delay, jitter and retransmission by the link.
    Delay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unit {
    #[value(name = "bit/s")]
    Bit,
    #[value(name = "kbit/s")]
    Kbit,
    #[value(name = "Mbit/s")]
    Mbit,
    #[value(name = "us")]
    Micros,
    #[value(name = "ms")]
    Millis,
    #[value(name = "s")]
    Seconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Rows {
    /// All trials.
    All,
    /// Trials 0, 2, 4, …
    Even,
    /// Trials 1, 3, 5, …
    Odd,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// TOML lines for a link in a scenario, with intervals as comments.
    Toml,
    /// The value alone, for `--loss` and `--set`.
    Value,
    /// One JSON object.
    Json,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to 1".to_owned())
}

pub(crate) fn run(args: &FitArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let [input] = &args.inputs[..]
        && args.law != Law::Delay
        && let Some(trace) = rate_trace(input)?
    {
        return law::of_trace(args, input, &trace, out);
    }
    if args.law != Law::Channel {
        return law::run(args, out);
    }
    law::refuse_others(args, Law::Channel)?;
    let mut whole = Recording::default();
    for input in &args.inputs {
        let next = read(input, args)?;
        whole.trials.extend(next.trials);
        whole.notes.extend(next.notes);
    }
    let name = one_line(&args.inputs[0].to_string_lossy()).into_owned();
    let refuse = |problem: String| CliError::Recording {
        name: name.clone(),
        problem,
    };
    if whole.packets() > recording::MOST_PACKETS as u64 {
        return Err(refuse(format!(
            "more than {} packets are not read",
            recording::MOST_PACKETS
        )));
    }
    if whole.trials.is_empty() {
        let notes = whole.notes.join("; ");
        return Err(refuse(if notes.is_empty() {
            "it has no packet".to_owned()
        } else {
            notes
        }));
    }
    if let Some(interval) = &args.interval {
        whole.space(spec::duration(interval).map_err(|error| CliError::Link(error.into()))?);
    }
    let (mut own, mut others) = (Recording::default(), Recording::default());
    own.notes = whole.notes;
    for (row, trial) in whole.trials.into_iter().enumerate() {
        let is_own = match args.rows {
            Rows::All => true,
            Rows::Even => row % 2 == 0,
            Rows::Odd => row % 2 == 1,
        };
        let kept = if is_own { &mut own } else { &mut others };
        kept.trials.push(trial);
    }
    let before = own.trials.len();
    for part in [&mut own, &mut others] {
        part.keep_losses(args.loss_from, args.loss_to.unwrap_or(f64::INFINITY));
    }
    if own.trials.is_empty() {
        return Err(refuse(format!(
            "none of {before} trials loses a share from --loss-from to --loss-to"
        )));
    }
    if args.judge && others.trials.is_empty() {
        return Err(refuse(
            "no trial is left to judge by; expected --rows even or --rows odd, and several trials"
                .to_owned(),
        ));
    }
    let found = fit::fit(&own).map_err(|error| {
        let reasons = std::iter::once(error.to_string()).chain(own.notes.iter().cloned());
        refuse(reasons.collect::<Vec<_>>().join("; "))
    })?;
    let best = found.best();
    // Only the page draws the autocorrelation. For the default seed, the fit has already run the
    // tests.
    let tested = match &best.tested {
        _ if args.out.is_some() => check::check(&best.channel, &own.trials, args.seed),
        Some(tested) if args.seed == fit::SEED => tested.clone(),
        _ => check::test(&best.channel, &own.trials, args.seed),
    };
    match args.format {
        Format::Toml => toml(args, &own, &found, &tested, out)?,
        Format::Value => {
            if tested.rejects() {
                let _ = writeln!(
                    std::io::stderr(),
                    "the tests reject this model: it differs from the recording"
                );
            }
            writeln!(out, "{}", words::channel(&best.channel))?;
        }
        Format::Json => json(&own, &found, &tested, out)?,
    }
    if args.judge {
        judge(&found, &others.trials, args.seed, out)?;
    }
    args.out
        .as_deref()
        .map_or(Ok(()), |dir| write_page(dir, args, &own, &found, &tested))
}

/// Writes the page and its figures.
fn write_page(
    dir: &Path,
    args: &FitArgs,
    recording: &Recording,
    found: &Fit,
    tested: &Check,
) -> Result<(), CliError> {
    study::renew(dir).map_err(CliError::Out)?;
    let title = args.inputs[0]
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let (html, figures) = page::page(&one_line(&title), recording, found, tested, args.seed);
    for figure in &figures {
        study::write(
            dir,
            &format!("{}.svg", figure.name),
            &study::svg::render(figure),
        )?;
    }
    study::write(dir, "index.html", &html)?;
    Ok(())
}

/// Returns the log of an emulated link, if the input is one or a directory with one.
fn log_of(input: &Path) -> Option<PathBuf> {
    let log = input.join("packets.jsonl");
    if log.is_file() {
        return Some(log);
    }
    input.ends_with("packets.jsonl").then(|| input.to_owned())
}

/// Reads an input of any supported kind.
fn read(input: &Path, args: &FitArgs) -> Result<Recording, CliError> {
    let capture = |source| CliError::Capture {
        path: input.to_owned(),
        source,
    };
    let refuse = |problem| CliError::Recording {
        name: one_line(&input.to_string_lossy()).into_owned(),
        problem,
    };
    let part = |error| match error {
        whyloss_diagnose::Error::Part { problem, .. } => refuse(problem),
        error => capture(error),
    };
    if let Some(log) = log_of(input) {
        return sources::emulated(&log, args.link.as_deref()).map_err(part);
    }
    if input.extension().is_some_and(|kind| kind == "parquet") {
        return sources::parquet(input, args.column.as_deref()).map_err(part);
    }
    let is_simulated = ["losses.csv", "losses.parquet"]
        .iter()
        .any(|file| input.join(file).is_file());
    if is_simulated || (input.is_file() && is_capture(input)?) {
        let diagnosis = diagnose_path(input, Options::default()).map_err(capture)?;
        return Ok(sources::diagnosed(&diagnosis));
    }
    recording::read(input, args.column.as_deref()).map_err(|error| match error {
        RecordingError::Table { path, problem } if path == input => refuse(problem),
        RecordingError::Pattern { path, source } if path == input => refuse(source.to_string()),
        error => refuse(error.to_string()),
    })
}

fn head(input: &Path) -> Result<Vec<u8>, CliError> {
    let mut head = Vec::new();
    let read = File::open(input).and_then(|file| file.take(64).read_to_end(&mut head));
    let read = read.map_err(|source| CliError::Unreadable {
        kind: "recording",
        path: input.to_owned(),
        source,
    });
    read.map(|_| head)
}

/// Returns whether a file starts like a capture or a log, compressed or not.
fn is_capture(input: &Path) -> Result<bool, CliError> {
    let head = head(input)?;
    Ok(matches!(
        &head[..],
        [0x1f, 0x8b, ..]
            | [0x28, 0xb5, 0x2f, 0xfd, ..]
            | [0x0a, 0x0d, 0x0d, 0x0a, ..]
            | [0xa1, 0xb2, ..]
            | [0xd4 | 0x4d, 0xc3 | 0x3c, 0xb2, 0xa1, ..]
            | [b'{' | 0x1e, ..]
    ))
}

/// Returns the text of a rate trace. Returns `None` for a `.csv` file, and for a file whose first
/// line is not a number or consists of the digits 0 and 1.
fn rate_trace(input: &Path) -> Result<Option<String>, CliError> {
    const MOST: u64 = 100_000_000;
    let Ok(data) = fs::metadata(input) else {
        return Ok(None);
    };
    if !data.is_file() || data.len() > MOST || input.extension().is_some_and(|kind| kind == "csv") {
        return Ok(None);
    }
    let head = head(input)?;
    let lines = head.split(|&byte| byte == b'\n');
    let mut digits = lines.flatten().filter(|byte| **byte != b'\r');
    let is_number = digits.clone().all(u8::is_ascii_digit) && !head.is_empty();
    if !is_number || digits.all(|byte| matches!(byte, b'0' | b'1')) {
        return Ok(None);
    }
    let text = fs::read_to_string(input).map_err(|source| CliError::Unreadable {
        kind: "trace of rates",
        path: input.to_owned(),
        source,
    })?;
    Ok(Some(text))
}

/// Formats a p-value.
fn p(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |p| format!("{p:.3}"))
}

fn toml(
    args: &FitArgs,
    recording: &Recording,
    found: &Fit,
    tested: &Check,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let best = found.best();
    writeln!(
        out,
        "# {}, {} packets, {} lost",
        study::counted(recording.trials.len() as u64, "trial"),
        recording.packets(),
        recording.losses()
    )?;
    for note in &recording.notes {
        writeln!(out, "# {}", one_line(note))?;
    }
    let verdict = if tested.rejects() {
        "the simplest, though a test rejects it,"
    } else {
        "the simplest that passes the tests and"
    };
    writeln!(
        out,
        "# {}: of {} models, {verdict} whose held-out likelihood is within {} standard errors of the best",
        best.model.name(),
        found.models.len(),
        fit::STANDARD_ERRORS
    )?;
    // The parameters of a burst model may list many burst lengths.
    let shown = best.parameters.iter().take(8).map(words::parameter);
    writeln!(
        out,
        "# 95 % intervals: {}",
        shown.collect::<Vec<_>>().join("; ")
    )?;
    writeln!(
        out,
        "# p of runs of losses {}, of good runs {} (below 0.01 the model is rejected; up to {} simulated recordings, seed {})",
        p(tested.bursts),
        p(tested.gaps),
        fit::REPLICAS,
        args.seed
    )?;
    writeln!(out, "channel = {}", words::channel(&best.channel))?;
    Ok(())
}

fn json(
    recording: &Recording,
    found: &Fit,
    tested: &Check,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let model = |fitted: &Fitted| {
        let parameters = fitted.parameters.iter().map(|parameter| {
            json!({
                "name": parameter.name,
                "value": parameter.value,
                "interval": parameter.interval.map(|(least, most)| [least, most]),
            })
        });
        json!({
            "model": fitted.model.name(),
            "channel": words::channel(&fitted.channel),
            "parameters": parameters.collect::<Vec<_>>(),
            "held_out": fitted.held_out,
            "behind": fitted.behind.0,
            "behind_error": fitted.behind.1,
        })
    };
    let object = json!({
        "trials": recording.trials.len(),
        "packets": recording.packets(),
        "lost": recording.losses(),
        "notes": recording.notes,
        "chosen": found.best().model.name(),
        "channel": words::channel(&found.best().channel),
        "p_bursts": tested.bursts,
        "p_gaps": tested.gaps,
        "rejected": tested.rejects(),
        "models": found.models.iter().map(model).collect::<Vec<_>>(),
    });
    Ok(writeln!(out, "{object}")?)
}

/// Prints the share of other trials in which the chosen model, Bernoulli and Gilbert–Elliott are
/// not rejected at 1 %.
fn judge(found: &Fit, trials: &[Trial], seed: u64, out: &mut dyn Write) -> Result<(), CliError> {
    let models = [
        ("the chosen model", Some(found.best())),
        ("bernoulli", found.of(Model::Bernoulli)),
        ("gilbert-elliott", found.of(Model::Gilbert)),
    ];
    for (name, fitted) in models {
        let Some(fitted) = fitted else { continue };
        let mut kept = [0_u32; 3];
        for trial in trials {
            let tested = check::test(&fitted.channel, std::slice::from_ref(trial), seed);
            let holds = |p: Option<f64>| u32::from(p.is_none_or(|p| p >= REJECTED));
            kept[0] += holds(tested.bursts);
            kept[1] += holds(tested.gaps);
            kept[2] += u32::from(!tested.rejects());
        }
        writeln!(
            out,
            "# not rejected at 1 % on {} held-back trials, {name}: runs of losses {}, good runs {}, both {}",
            trials.len(),
            kept[0],
            kept[1],
            kept[2]
        )?;
    }
    Ok(())
}
