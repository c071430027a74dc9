//! Ten flows: fairness within one version (Fig. 13, BAL-23), and BaLDE beside Reno and Westwood (Figs 14 to 17,
//! BAL-24, -25).
//!
//! Jain's index of n flows: (Σx)² / (n·Σx²), x the goodput of a flow; 1 if all are equal, 1/n if one has it all.

use whyloss::{Duration, Rate};
use whyloss_sim::Measurement;

use super::findings::{Axes, Findings, goodputs, run};
use super::goodput::{LOSSES, lossy};
use super::network::Network;
use super::stack::Stack;
use super::trace::{trace, values};
use crate::experiment::{Context, ExperimentError};
use crate::mean::Mean;
use crate::replicate::Replications;
use crate::statistics::mean;
use crate::variant::Variant;
use crate::{CONFIDENCE, Claim, Figure, Outcome};

const FLOWS: usize = 10;
/// "Acceptable" fairness.
const ACCEPTABLE: f64 = 0.9;
/// "Not far" from the fair share.
const NOT_FAR: f64 = 0.2;

/// Where the estimate of one of the ten is looked at, per cent of loss.
const TRACED: f64 = 0.1;

/// Jain's index; `None` of nothing.
fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// `bal-fig-13`.
pub(crate) fn fig_13(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let variants = Stack::default().all();
    let scenarios: Vec<_> = variants
        .iter()
        .flat_map(|variant| LOSSES.map(|loss| lossy(loss).scenario(&same(variant, FLOWS))))
        .collect();
    let (runs, seeds) = run(context, &scenarios)?;
    let mut findings = Findings::new(&LOSSES);
    let mut goodput = Findings::new(&LOSSES);
    for (variant, runs) in variants.iter().zip(runs.chunks(LOSSES.len())) {
        let each = |value: fn(&[f64]) -> Option<f64>| -> Vec<Vec<f64>> {
            runs.iter()
                .map(|runs| {
                    let rates = runs.iter().map(|run| goodputs(run, variant.id));
                    rates.filter_map(|rates| value(&rates)).collect()
                })
                .collect()
        };
        findings.insert(variant.id, variant.name, each(jain));
        goodput.insert(
            variant.id,
            variant.name,
            each(|rates| Some(rates.iter().sum())),
        );
    }
    let axes = Axes {
        x: "wireless loss, %",
        log_x: true,
        y: "Jain's index",
        unit: "",
    };
    let total = Axes {
        y: "goodput of all, Mbit/s",
        unit: "Mbit/s",
        ..axes
    };
    let title = "Fig. 13: fairness among ten flows of one version";
    let shared: Vec<_> = variants[1..]
        .iter()
        .map(|variant| lossy(TRACED).scenario(&same(variant, FLOWS)))
        .collect();
    let traces = trace(context, &shared)?;
    let estimates = variants[1..].iter().zip(&traces).map(|(variant, traces)| {
        let mean = Mean::of(&values(traces, |trace| trace.mean_estimate(10.0, 100.0)));
        let row = format!("estimate of a flow at {TRACED} % loss; its share is 0.5 Mbit/s");
        mean.cell(&row, variant.name, "Mbit/s")
    });
    let mut cells: Vec<_> = estimates.collect();
    cells.extend(findings.cells("Jain's index", axes));
    cells.extend(goodput.cells("goodput of all", total));
    Ok(Outcome {
        id: "bal-fig-13".into(),
        title: title.into(),
        seeds,
        confidence: CONFIDENCE,
        cells,
        claims: fairness(&findings),
        figures: vec![Figure {
            name: "bal-fig-13".into(),
            caption: title.into(),
            panels: vec![
                findings.panel("fairness", axes),
                goodput.panel("goodput of all flows", total),
            ],
        }],
        notes: vec![
            "Flows start within the first second; goodput is counted from the beginning to the end, at 100 s.".into(),
        ],
    })
}

/// The statements about Jain's index.
fn fairness(findings: &Findings) -> Vec<Claim> {
    let all = |id: &str| findings.evidence(|i| findings.mean(id, i));
    // Means over the loss rates in a range.
    let over = |id: &str, low: f64, high: f64| {
        let within = findings.points().filter(|&(_, x)| low <= x && x <= high);
        let means: Vec<f64> = within.map(|(i, _)| findings.mean(id, i).value).collect();
        mean(&means).unwrap_or(f64::NAN)
    };
    let least = |id: &str| {
        let means = findings.points().map(|(i, _)| findings.mean(id, i).value);
        // A hole decides nothing: `f64::min` would drop it.
        means.fold(f64::INFINITY, |least, value| {
            if value.is_nan() || least.is_nan() {
                f64::NAN
            } else {
                least.min(value)
            }
        })
    };
    let whole = |id: &str| over(id, 0.0, 100.0);
    vec![
        Claim::new(
            "BAL-36a",
            "Reno gets fairer as losses get more frequent (from 0.5 % on, against up to 0.01 %)",
            over("reno", 0.5, 100.0) > over("reno", 0.0, 0.01),
            format!("Reno: {}", all("reno")),
        ),
        Claim::new(
            "BAL-36b",
            "BaLDE and Westwood are less fair than Reno (mean over the loss rates)",
            ["balde", "westwood"]
                .into_iter()
                .all(|id| whole(id) < whole("reno")),
            format!(
                "means: Reno {:.4}, Westwood {:.4}, BaLDE {:.4}; Westwood: {}; BaLDE: {}",
                whole("reno"),
                whole("westwood"),
                whole("balde"),
                all("westwood"),
                all("balde")
            ),
        ),
        Claim::new(
            "BAL-36c",
            "yet acceptable (0.9 at least at every loss rate)",
            ["balde", "westwood"]
                .into_iter()
                .all(|id| least(id) >= ACCEPTABLE),
            format!(
                "least: Westwood {:.4}, BaLDE {:.4}",
                least("westwood"),
                least("balde")
            ),
        ),
    ]
}

/// `count` flows of one version.
fn same(variant: &Variant, count: usize) -> Vec<Variant> {
    vec![variant.clone(); count]
}

/// Ten flows, so many of them another version than BaLDE.
fn mixed(other: &Variant, others: usize) -> Vec<Variant> {
    let mut flows = same(other, others);
    flows.extend(same(&Stack::default().balde(), FLOWS - others));
    flows
}

/// The mean goodput of BaLDE's and of the other's flows, over the number of one of them.
struct Mixture {
    findings: Findings,

    other: Variant,
    total: Findings,
    /// Timeouts of a flow.
    timeouts: Findings,
    seeds: u64,
}

/// `count_balde`: x counts the flows of BaLDE, not of the other.
fn mixture(
    context: &Context<'_>,
    other: Variant,
    loss: f64,
    count_balde: bool,
) -> Result<Mixture, ExperimentError> {
    let network = Network {
        bottleneck: Rate::from_mbps(10),
        one_way: Duration::from_millis(35),
        ..lossy(loss)
    };
    let xs: Vec<f64> = (0..=FLOWS).map(|count| count as f64).collect();
    let others = |count: usize| if count_balde { FLOWS - count } else { count };
    let scenarios: Vec<_> = (0..=FLOWS)
        .map(|count| network.scenario(&mixed(&other, others(count))))
        .collect();
    let (runs, seeds) = run(context, &scenarios)?;
    let each = |value: &dyn Fn(&Measurement) -> Option<f64>| -> Vec<Vec<f64>> {
        let seeds =
            |runs: &Replications<Measurement>| runs.iter().filter_map(|run| value(run)).collect();
        runs.iter().map(seeds).collect()
    };
    let mut findings = Findings::new(&xs);
    findings.insert("balde", "BaLDE", each(&|run| mean(&goodputs(run, "balde"))));
    findings.insert(
        other.id,
        other.name,
        each(&|run| mean(&goodputs(run, other.id))),
    );
    let fair = network.bottleneck.as_bps() as f64 / FLOWS as f64 / 1e6;
    findings.insert(
        "fair",
        "fair share",
        vec![vec![fair; seeds as usize]; xs.len()],
    );
    let mut total = Findings::new(&xs);
    total.insert(
        "all",
        "all flows",
        each(&|run| Some(goodputs(run, "").iter().sum())),
    );
    let mut timeouts = Findings::new(&xs);
    let expiries = |run: &Measurement, prefix: &str| {
        let flows = run
            .flows
            .iter()
            .filter(|flow| flow.name.starts_with(prefix));
        mean(&flows.map(|flow| flow.timeouts as f64).collect::<Vec<_>>())
    };
    timeouts.insert("balde", "BaLDE", each(&|run| expiries(run, "balde")));
    timeouts.insert(other.id, other.name, each(&|run| expiries(run, other.id)));
    Ok(Mixture {
        findings,
        other,
        total,
        timeouts,
        seeds,
    })
}

impl Mixture {
    /// Whether one version's flows have more in the mean, wherever both have flows.
    fn above(&self, id: &str, other: &str) -> bool {
        let f = &self.findings;
        (1..FLOWS).all(|count| f.mean(id, count).value > f.mean(other, count).value)
    }

    fn both(&self) -> String {
        let line = |id| {
            let shown: Vec<String> = (1..FLOWS)
                .map(|count| format!("{count}: {}", self.findings.mean(id, count)))
                .collect();
            shown.join(", ")
        };
        format!(
            "BaLDE {}; {} {}, Mbit/s",
            line("balde"),
            self.other.name,
            line(self.other.id)
        )
    }

    fn outcome(&self, (id, title): (&str, &str), x: &'static str, claims: Vec<Claim>) -> Outcome {
        let axes = Axes {
            x,
            log_x: false,
            y: "mean goodput of a flow, Mbit/s",
            unit: "Mbit/s",
        };
        let mut cells = self.findings.cells("mean goodput of a flow", axes);
        cells.extend(self.total.cells("goodput of all", axes));
        cells.extend(
            self.timeouts
                .cells("timeouts of a flow", Axes { unit: "", ..axes }),
        );
        Outcome {
            id: id.into(),
            title: title.into(),
            seeds: self.seeds,
            confidence: CONFIDENCE,
            cells,
            claims,
            figures: vec![Figure {
                name: id.into(),
                caption: title.into(),
                panels: vec![self.findings.panel("", axes)],
            }],
            notes: vec![
                "Ten flows on 10 Mbit/s, 35 ms one way, buffers of the pipe (87 packets); they start within the first second."
                    .into(),
            ],
        }
    }
}

/// `bal-fig-14`.
pub(crate) fn fig_14(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mixture = mixture(context, Stack::default().reno(), 0.0, false)?;
    let f = &mixture.findings;
    let claims = vec![Claim::new(
        "BAL-37a",
        "without errors BaLDE's mean throughput beside Reno is not far from the fair share (within 20 %)",
        (1..FLOWS).all(|count| f.gain("balde", "fair", count).value.abs() <= 100.0 * NOT_FAR),
        mixture.both(),
    )];
    let identity = ("bal-fig-14", "Fig. 14: BaLDE and Reno, no errors");
    Ok(mixture.outcome(identity, "flows of Reno", claims))
}

/// `bal-fig-15`.
pub(crate) fn fig_15(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mixture = mixture(context, Stack::default().reno(), 0.1, false)?;
    let f = &mixture.findings;
    let (few, many) = (f.mean("balde", 1), f.mean("balde", FLOWS - 1));
    let claims = vec![
        Claim::new(
            "BAL-37b",
            "at 0.1 % loss BaLDE's mean throughput is above Reno's, for every mixture",
            mixture.above("balde", "reno"),
            mixture.both(),
        ),
        Claim::new(
            "BAL-37c",
            "the fewer flows are BaLDE's the more each has (nine of Reno against one)",
            many.value > few.value,
            format!("beside nine of Reno {many}, beside one {few} Mbit/s"),
        ),
    ];
    let identity = ("bal-fig-15", "Fig. 15: BaLDE and Reno, 0.1 % loss");
    Ok(mixture.outcome(identity, "flows of Reno", claims))
}

fn westwood(
    context: &Context<'_>,
    identity: (&str, &str),
    loss: f64,
    claim: (&str, &str),
) -> Result<Outcome, ExperimentError> {
    let mixture = mixture(context, Stack::default().westwood(), loss, true)?;
    let claims = vec![Claim::new(
        claim.0,
        claim.1,
        mixture.above("westwood", "balde"),
        mixture.both(),
    )];
    Ok(mixture.outcome(identity, "flows of BaLDE", claims))
}

/// `bal-fig-16`.
pub(crate) fn fig_16(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    westwood(
        context,
        ("bal-fig-16", "Fig. 16: BaLDE and Westwood, no errors"),
        0.0,
        (
            "BAL-38a",
            "without errors Westwood takes more than BaLDE, for every mixture",
        ),
    )
}

/// `bal-fig-17`.
pub(crate) fn fig_17(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    westwood(
        context,
        ("bal-fig-17", "Fig. 17: BaLDE and Westwood, 0.1 % loss"),
        0.1,
        (
            "BAL-38b",
            "at 0.1 % loss Westwood takes more than BaLDE, for every mixture",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_by_hand() {
        // (1 + 2 + 3)² / (3 · 14) = 36/42.
        let index = jain(&[1.0, 2.0, 3.0]).expect("three rates");
        assert!((index - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(jain(&[2.0; 10]), Some(1.0));
        assert_eq!((jain(&[0.0, 0.0]), jain(&[])), (None, None));
    }
}
