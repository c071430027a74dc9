//! Fig. 8: cwnd and ssthresh of one flow without errors (BAL-19), and how the three leave slow start (BAL-32).

use whyloss::Duration;

use super::network::Network;
use super::stack::{PACKET, Stack};
use super::trace::{Sample, Trace, Value, line, panel, trace, values};
use crate::experiment::{Context, ExperimentError};
use crate::mean::Mean;
use crate::replicate::Replications;
use crate::variant::Variant;
use crate::{CONFIDENCE, Claim, Figure, Outcome, Panel};

/// What is drawn, s: the whole run.
const DRAWN: f64 = 100.0;
/// The beginning of a connection, s.
const BEGINNING: f64 = 10.0;
/// How far ssthresh may lie from the pipe to be close to it.
const CLOSE: f64 = 0.2;

/// `bal-fig-8`.
pub(crate) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = Network::hybrid();
    let ticking = Stack::with_stamps(Duration::from_millis(1)).balde();
    let ticking = Variant {
        name: "BaLDE, stamps of 1 ms",
        ..ticking
    };
    let mut variants = Stack::default().all().to_vec();
    variants.push(ticking);
    let scenarios: Vec<_> = variants
        .iter()
        .map(|variant| network.scenario(std::slice::from_ref(variant)))
        .collect();
    let traces = trace(context, &scenarios)?;
    let measures: [(&str, &'static str, Value); 4] = [
        ("timeouts in the first 10 s", "", timeouts),
        ("drops before slow start is left", "packets", drops),
        ("ssthresh when slow start is left", "packets", ssthresh),
        ("slow start is left after", "s", |trace| {
            trace.slow_start_left.map_or(f64::NAN, |(at, _)| at)
        }),
    ];
    let mut cells = Vec::new();
    for (row, unit, value) in measures {
        for (variant, traces) in variants.iter().zip(&traces) {
            cells.push(over(traces, value).cell(row, variant.name, unit));
        }
    }
    let title = "Fig. 8: windows without errors";
    Ok(Outcome {
        id: "bal-fig-8".into(),
        title: title.into(),
        seeds: traces.iter().map(Vec::len).min().unwrap_or(0) as u64,
        confidence: CONFIDENCE,
        cells,
        claims: claims(&traces, network.pipe()),
        figures: vec![Figure {
            name: "bal-fig-8".into(),
            caption: format!("{title}: the first replication"),
            panels: variants
                .iter()
                .zip(&traces)
                .map(|(variant, traces)| windows(variant.name, traces, network.pipe()))
                .collect(),
        }],
        notes: vec![
            "The seeds differ in when the flow starts, within 0.1 s. An ssthresh above four pipes is not drawn.".into(),
        ],
    })
}

/// The three in the order of [`Stack::all`], and BaLDE with other stamps.
fn claims(traces: &[Replications<Trace>], pipe: f64) -> Vec<Claim> {
    let [reno, westwood, balde, _] = traces else {
        return Vec::new();
    };
    let every = |traces: &Replications<Trace>, holds: fn(&Trace) -> bool| {
        traces.iter().all(|trace| holds(trace))
    };
    let list = |value: Value| {
        format!(
            "Reno {}, Westwood {}, BaLDE {}",
            over(reno, value),
            over(westwood, value),
            over(balde, value)
        )
    };
    let accidents = format!("timeouts: {}; drops: {}", list(timeouts), list(drops));
    let close = over(balde, ssthresh);
    vec![
        Claim::new(
            "BAL-32b",
            "Reno and Westwood overshoot: several drops and a timeout in the first 10 s of every run",
            [reno, westwood].into_iter().all(|traces| {
                every(traces, |trace| {
                    drops(trace) >= 2.0 && timeouts(trace) >= 1.0
                })
            }),
            accidents.clone(),
        ),
        Claim::new(
            "BAL-32c",
            "BaLDE leaves slow start without a drop or a timeout, in every run",
            every(balde, |trace| drops(trace) == 0.0 && timeouts(trace) == 0.0),
            accidents,
        ),
        Claim::new(
            "BAL-32d",
            "BaLDE's ssthresh is then close to the pipe of 62.5 packets (within 20 %)",
            (close.value - pipe).abs() <= CLOSE * pipe,
            format!("{close} packets"),
        ),
    ]
}

/// cwnd and ssthresh of the first replication.
fn windows(name: &str, traces: &Replications<Trace>, pipe: f64) -> Panel {
    let series = |name: &str, dashed, value: fn(&Sample) -> u64| {
        let trace = traces.first();
        let points = trace.map(|trace| {
            trace.over_time(DRAWN, |sample| {
                let value = packets(value(sample));
                // An ssthresh that is still the receiver's window would flatten all else.
                if value > 4.0 * pipe { f64::NAN } else { value }
            })
        });
        line(name, dashed, points.unwrap_or_default())
    };
    let lines = vec![
        series("cwnd", false, |sample| sample.cwnd),
        series("ssthresh", true, |sample| sample.ssthresh),
    ];
    panel(name, "packets", lines)
}

fn packets(bytes: u64) -> f64 {
    bytes as f64 / f64::from(PACKET)
}

/// A value of every replication.
fn over(traces: &Replications<Trace>, value: impl Fn(&Trace) -> f64) -> Mean {
    Mean::of(&values(traces, value))
}

/// Timeouts at the beginning.
fn timeouts(trace: &Trace) -> f64 {
    trace.timeouts.iter().filter(|&&at| at < BEGINNING).count() as f64
}

/// Drops before slow start was left.
fn drops(trace: &Trace) -> f64 {
    let left = trace.slow_start_left.map_or(f64::INFINITY, |(at, _)| at);
    trace.drops.iter().filter(|&&at| at < left).count() as f64
}

/// ssthresh in packets when slow start was left.
fn ssthresh(trace: &Trace) -> f64 {
    trace
        .slow_start_left
        .map_or(f64::NAN, |(_, ssthresh)| packets(ssthresh))
}
