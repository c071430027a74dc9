//! `whyloss fit --law rate` and `--law delay`.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use whyloss_diagnose::fit::arq::{self, ArqFit};
use whyloss_diagnose::fit::jitter::{self, Delays, JitterFit};
use whyloss_diagnose::fit::rates::{self, LAGS, RateLaw};
use whyloss_diagnose::fit::sources::{self, Series};
use whyloss_diagnose::fit::words;
use whyloss_emulate::spec;
use whyloss_link::ChannelSpec;
use whyloss_link::arq::MOST_TRIES;
use whyloss_sim::text::one_line;

use super::{FitArgs, Format, Law, Rows, Unit};
use crate::error::CliError;

/// The highest rate of a link in bit/s, and its longest delay in s.
const MOST_RATE: f64 = 1e12;
const MOST_DELAY: f64 = 3600.0;

pub(super) fn run(args: &FitArgs, out: &mut dyn Write) -> Result<(), CliError> {
    refuse_others(args, args.law)?;
    match args.law {
        Law::Delay => delays(args, out),
        _ => rates(args, out),
    }
}

/// Fits a model to a trace of transmission opportunities.
pub(super) fn of_trace(
    args: &FitArgs,
    input: &Path,
    text: &str,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    refuse_others(args, Law::Rate)?;
    let bins = rates::of_trace(text).map_err(refuse(input))?;
    let law = rates::fit(&[bins], rates::BIN as f64 / 1e3).map_err(refuse(input))?;
    tell_rates(args, &law, out)
}

/// Refuses options that have no effect on this law.
pub(super) fn refuse_others(args: &FitArgs, law: Law) -> Result<(), CliError> {
    let of_channels = [
        ("--out", args.out.is_some()),
        ("--judge", args.judge),
        ("--rows", args.rows != Rows::All),
        ("--loss-from", args.loss_from > 0.0),
        ("--loss-to", args.loss_to.is_some()),
    ];
    let given = |options: &[(&'static str, bool)], laws: &'static str| {
        let given = options.iter().find(|(_, given)| *given);
        given.map(|(option, _)| format!("{option} has no effect here; it goes with {laws}"))
    };
    let (unit, rate) = (args.unit.is_some(), args.rate.is_some());
    let wrong = match law {
        Law::Channel => given(&[("--unit", unit)], "--law rate and --law delay")
            .or_else(|| given(&[("--rate", rate)], "--law delay")),
        Law::Rate => given(&of_channels, "losses, not with rates").or_else(|| {
            let link = args.link.is_some();
            given(&[("--link", link), ("--rate", rate)], "--law delay")
        }),
        Law::Delay => given(&of_channels, "--law channel").or_else(|| {
            let interval = args.interval.is_some();
            given(&[("--interval", interval)], "--law channel and --law rate")
        }),
    };
    wrong.map_or(Ok(()), |problem| Err(refuse(&args.inputs[0])(problem)))
}

fn refuse(input: &Path) -> impl Fn(String) -> CliError {
    let name = one_line(&input.to_string_lossy()).into_owned();
    move |problem| CliError::Recording {
        name: name.clone(),
        problem,
    }
}

/// Returns the factor that converts the given unit, or else the default one, to bit/s or seconds.
fn unit(args: &FitArgs, input: &Path) -> Result<f64, CliError> {
    match (args.law, args.unit) {
        (_, None) | (Law::Rate, Some(Unit::Bit)) | (Law::Delay, Some(Unit::Seconds)) => Ok(1.0),
        (Law::Rate, Some(Unit::Kbit)) => Ok(1e3),
        (Law::Rate, Some(Unit::Mbit)) => Ok(1e6),
        (Law::Delay, Some(Unit::Micros)) => Ok(1e-6),
        (Law::Delay, Some(Unit::Millis)) => Ok(1e-3),
        (Law::Rate, Some(_)) => Err(refuse(input)(
            "--unit has a unit of time; expected bit/s, kbit/s or Mbit/s".to_owned(),
        )),
        _ => Err(refuse(input)(
            "--unit has a unit of rates; expected s, ms or us".to_owned(),
        )),
    }
}

fn series(args: &FitArgs, input: &Path, default: &str) -> Result<Series, CliError> {
    let factor = unit(args, input)?;
    let column = args.column.as_deref().unwrap_or(default);
    let mut series =
        sources::series(input, column, args.law == Law::Delay).map_err(|error| match error {
            whyloss_diagnose::Error::Part { problem, .. } => refuse(input)(problem),
            source => CliError::Capture {
                path: input.to_owned(),
                source,
            },
        })?;
    let (most, what) = match args.law {
        Law::Delay => (MOST_DELAY, "a delay of at most an hour"),
        _ => (MOST_RATE, "a rate of at most 1000 Gbit/s"),
    };
    for (row, value) in series.trials.iter_mut().flatten().enumerate() {
        let found = *value;
        *value *= factor;
        if found.is_finite() && *value > most {
            return Err(refuse(input)(format!(
                "row {}: found {found:.4e}; expected {what}; --unit sets the column's unit",
                row + 1
            )));
        }
    }
    Ok(series)
}

fn rates(args: &FitArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let first = &args.inputs[0];
    let interval = args.interval.as_deref().ok_or_else(|| {
        refuse(first)("the time of each rate is not known; expected --interval, such as 1s".into())
    })?;
    let interval = spec::duration(interval).map_err(|error| CliError::Link(error.into()))?;
    let mut trials = Vec::new();
    for input in &args.inputs {
        trials.extend(series(args, input, "rate")?.trials);
    }
    let law = rates::fit(&trials, interval.as_secs_f64()).map_err(refuse(first))?;
    tell_rates(args, &law, out)
}

fn tell_rates(args: &FitArgs, law: &RateLaw, out: &mut dyn Write) -> Result<(), CliError> {
    let value = words::rate(law);
    match args.format {
        Format::Value => writeln!(out, "{value}")?,
        Format::Toml => {
            writeln!(
                out,
                "# {} rates of {:.0} ms; {} states, which leave out {:.1} % of the rate's variance",
                law.samples,
                law.interval * 1e3,
                law.states.len(),
                law.unexplained * 100.0
            )?;
            writeln!(
                out,
                "# mean {:.0} kbit/s in the recording, {:.0} by the law",
                law.mean[0] / 1e3,
                law.mean[1] / 1e3,
            )?;
            for (lag, [recorded, fitted]) in LAGS.iter().zip(law.correlation) {
                writeln!(
                    out,
                    "# autocorrelation after {lag:.0} s: {recorded:.2} in the recording, {fitted:.2} by the law"
                )?;
            }
            writeln!(out, "rate = {value}")?;
        }
        Format::Json => writeln!(
            out,
            "{}",
            json!({
                "rate": value,
                "samples": law.samples,
                "interval": law.interval,
                "unexplained": law.unexplained,
                "correlation": LAGS.iter().zip(law.correlation).map(|(lag, [recorded, fitted])| {
                    json!({ "after": lag, "recorded": recorded, "law": fitted })
                }).collect::<Vec<_>>(),
                "mean_bps": law.mean,
            })
        )?,
    }
    Ok(())
}

fn delays(args: &FitArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let [input] = &args.inputs[..] else {
        return Err(refuse(&args.inputs[0])(
            "clocks differ from one recording to another; expected one input for --law delay"
                .into(),
        ));
    };
    let (link, delays, size) = match link_table(input) {
        Some(table) => {
            let found = sources::delays(&table, args.link.as_deref());
            let found = found.map_err(|source| CliError::Capture {
                path: table.clone(),
                source,
            })?;
            (Some(found.link), found.delays, found.size)
        }
        None => (None, of_table(args, input)?, 0),
    };
    let rate = args.rate.as_deref().map(spec::rate).transpose();
    let rate = rate.map_err(|error| CliError::Link(error.into()))?;
    let transmission = rate.map_or(0.0, |rate| size as f64 / rate);
    match arq::fit(&delays, transmission, args.seed) {
        Ok(law) => tell_arq(args, link.as_deref(), &law, transmission, out),
        Err(why) => {
            let law = jitter::fit(&delays, args.seed).map_err(refuse(input))?;
            tell_delays(args, link.as_deref(), &law, &why, out)
        }
    }
}

/// Returns the log of an emulated link, or the table of links of a simulated run.
fn link_table(input: &Path) -> Option<PathBuf> {
    let names = ["links.csv", "links.parquet"];
    let table = names.iter().find_map(|name| {
        let inside = input.join(name);
        let own = input.ends_with(name).then(|| input.to_owned());
        if inside.is_file() { Some(inside) } else { own }
    });
    super::log_of(input).or(table)
}

fn of_table(args: &FitArgs, input: &Path) -> Result<Delays, CliError> {
    let Series { trials, times } = series(args, input, "delay")?;
    if let Some(late) = times.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(refuse(input)(format!(
            "row {}: the time goes back; expected rows in the order of sending",
            late + 2
        )));
    }
    Ok(Delays {
        sent: times,
        delay: trials.concat(),
        ..Delays::default()
    })
}

fn millis((value, [least, most]): (f64, [f64; 2])) -> String {
    let [value, least, most] = [value, least, most].map(|x| words::digits(x * 1e3));
    format!("{value} ms ({least} to {most})")
}

/// Returns the line of a scenario that sets the delay without jitter, or a comment if none is
/// known.
fn base(delay: f64) -> String {
    if delay > 0.0 {
        return format!("delay = {}", words::time(delay));
    }
    format!(
        "# the delay without jitter would be {:.3} ms: the clocks differ, and it cannot be told",
        delay * 1e3
    )
}

fn tell_arq(
    args: &FitArgs,
    link: Option<&str>,
    law: &ArqFit,
    transmission: f64,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let value = words::arq(&law.spec);
    let channel = words::channel(&ChannelSpec::Bernoulli { loss: law.loss.0 });
    let jitter = law
        .jitter
        .as_ref()
        .map(|jitter| words::jitter(&jitter.spec));
    let packets = law.retried.iter().sum::<usize>() + law.lost;
    match args.format {
        Format::Value => writeln!(out, "{value}")?,
        Format::Json => writeln!(
            out,
            "{}",
            json!({
                "link": link,
                "arq": value,
                "channel": channel,
                "jitter": jitter,
                "base": law.base,
                "transmission": transmission,
                "loss": law.loss.0,
                "loss_interval": law.loss.1,
                "retry": law.retry.0,
                "retry_interval": law.retry.1,
                "tries": law.tries.0,
                "tries_interval": law.tries.1,
                "retried": law.retried,
                "lost": law.lost,
                "residual_loss": law.residual(),
                "is_order_known": law.is_order_known,
                "lead": law.lead.0,
                "lead_error": law.lead.1,
                "p": law.p,
                "p_jitter": law.jitter.as_ref().map(|jitter| jitter.p),
            })
        )?,
        Format::Toml => {
            let of = link.map_or_else(String::new, |link| format!(" of link {}", one_line(link)));
            let again: usize = law.retried.iter().skip(1).sum();
            writeln!(
                out,
                "# {packets} packets{of} that waited for no other: {again} came after retries, {} were lost",
                law.lost
            )?;
            writeln!(
                out,
                "# the link retransmits: held-out log-likelihood per packet {:.3} ± {:.3} ahead of independent jitter and losses",
                law.lead.0, law.lead.1
            )?;
            let (loss, [least, most]) = law.loss;
            let [loss, least, most] = [loss, least, most].map(words::digits);
            let tries = match law.tries {
                (tries, [least, MOST_TRIES]) => format!("{tries} ({least} or more)"),
                (tries, [least, most]) => format!("{tries} ({least} to {most})"),
            };
            writeln!(
                out,
                "# 95 % intervals: loss of a try {loss} ({least} to {most}); retry time {}; tries {tries}",
                millis(law.retry)
            )?;
            writeln!(
                out,
                "# residual loss {} in the recording, {} by the model",
                words::digits(law.lost as f64 / packets as f64),
                words::digits(law.residual())
            )?;
            writeln!(
                out,
                "# p of the numbers of retries {}, of jitter {} (below 0.01 the model is rejected)",
                super::p(law.p),
                super::p(law.jitter.as_ref().map(|jitter| jitter.p))
            )?;
            if !law.is_order_known {
                writeln!(
                    out,
                    "# too few packets came behind a retry; `parallel` and `in_order` have their default values"
                )?;
            }
            if transmission <= 0.0 {
                writeln!(
                    out,
                    "# `delay` and `turnaround` include a transmission; --rate takes it off"
                )?;
            }
            writeln!(out, "{}", base(law.base - transmission))?;
            if let Some(jitter) = jitter {
                writeln!(out, "jitter = {jitter}")?;
            }
            writeln!(out, "channel = {channel}\narq = {value}")?;
        }
    }
    Ok(())
}

fn tell_delays(
    args: &FitArgs,
    link: Option<&str>,
    law: &JitterFit,
    no_arq: &str,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let value = words::jitter(&law.spec);
    match args.format {
        Format::Value => writeln!(out, "{value}")?,
        Format::Json => writeln!(
            out,
            "{}",
            json!({
                "link": link,
                "arq": null,
                "no_arq": no_arq,
                "jitter": value,
                "base": law.base,
                "mean": law.mean.0,
                "mean_interval": law.mean.1,
                "shape": law.shape.map(|(shape, _)| shape),
                "shape_interval": law.shape.map(|(_, interval)| interval),
                "behind": { "exponential": law.behind[0], "uniform": law.behind[1], "pareto": law.behind[2] },
                "p": law.p,
                "correlation": law.correlation,
                "delays": law.delays[0],
                "free_delays": law.delays[1],
            })
        )?,
        Format::Toml => {
            let of = link.map_or_else(String::new, |link| format!(" of link {}", one_line(link)));
            writeln!(
                out,
                "# {} delays{of}, {} of packets that waited for no other",
                law.delays[0], law.delays[1]
            )?;
            writeln!(out, "# no retransmission by the link is shown: {no_arq}")?;
            let shape = law
                .shape
                .map_or_else(String::new, |(shape, [least, most])| {
                    let [shape, least, most] = [shape, least, most].map(words::digits);
                    format!("; shape {shape} ({least} to {most})")
                });
            writeln!(out, "# 95 % intervals: mean {}{shape}", millis(law.mean))?;
            writeln!(
                out,
                "# p {:.3} (below 0.01 the law is rejected; {} simulated recordings, seed {})",
                law.p,
                jitter::REPLICAS,
                args.seed
            )?;
            writeln!(
                out,
                "# correlation of a delay with the next one {:.2}; the law has none",
                law.correlation
            )?;
            writeln!(out, "{}", base(law.base))?;
            writeln!(out, "jitter = {value}")?;
        }
    }
    Ok(())
}
