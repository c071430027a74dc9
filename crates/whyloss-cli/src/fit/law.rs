//! `whyloss fit --law rate` and `--law delay`.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use whyloss_diagnose::fit::jitter::{self, Delays, JitterFit};
use whyloss_diagnose::fit::rates::{self, LAGS, RateLaw};
use whyloss_diagnose::fit::sources::{self, Series};
use whyloss_diagnose::fit::words;
use whyloss_emulate::spec;
use whyloss_sim::text::one_line;

use super::{FitArgs, Format, Law, Unit};
use crate::error::CliError;

pub(super) fn run(args: &FitArgs, out: &mut dyn Write) -> Result<(), CliError> {
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
    let bins = rates::of_trace(text).map_err(refuse(input))?;
    let law = rates::fit(&[bins], rates::BIN as f64 / 1e3).map_err(refuse(input))?;
    tell_rates(args, &law, out)
}

fn refuse(input: &Path) -> impl Fn(String) -> CliError {
    let name = one_line(&input.to_string_lossy()).into_owned();
    move |problem| CliError::Recording {
        name: name.clone(),
        problem,
    }
}

/// Returns the factor from the given unit, or else the default one, to bit/s or seconds.
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
    let mut series = sources::series(input, column).map_err(|error| match error {
        whyloss_diagnose::Error::Part { problem, .. } => refuse(input)(problem),
        source => CliError::Capture {
            path: input.to_owned(),
            source,
        },
    })?;
    for value in series.trials.iter_mut().flatten() {
        *value *= factor;
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
    let (link, delays) = match super::log_of(input) {
        Some(log) => of_log(args, &log)?,
        None => (None, of_table(args, input)?),
    };
    let law = jitter::fit(&delays, args.seed).map_err(refuse(input))?;
    tell_delays(args, link.as_deref(), &law, out)
}

fn of_log(args: &FitArgs, log: &Path) -> Result<(Option<String>, Delays), CliError> {
    let found = sources::delays(log, args.link.as_deref());
    let (link, delays) = found.map_err(|source| CliError::Capture {
        path: log.to_owned(),
        source,
    })?;
    Ok((Some(link), delays))
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
    })
}

fn tell_delays(
    args: &FitArgs,
    link: Option<&str>,
    law: &JitterFit,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let value = words::jitter(&law.spec);
    let millis = |(value, [least, most]): (f64, [f64; 2])| {
        let [value, least, most] = [value, least, most].map(|x| words::digits(x * 1e3));
        format!("{value} ms ({least} to {most})")
    };
    match args.format {
        Format::Value => writeln!(out, "{value}")?,
        Format::Json => writeln!(
            out,
            "{}",
            json!({
                "link": link,
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
            if law.base > 0.0 {
                writeln!(out, "delay = {}", words::time(law.base))?;
            } else {
                writeln!(
                    out,
                    "# the delay without jitter would be {:.3} ms: the clocks differ, and it cannot be told",
                    law.base * 1e3
                )?;
            }
            writeln!(out, "jitter = {value}")?;
        }
    }
    Ok(())
}
