//! Goodput of one flow: Fig. 7 over wireless loss, Fig. 10 the same among UDP sources, Fig. 11 over the bottleneck's
//! capacity, Fig. 12 over the propagation delay (BAL-18, -20, -21, -22).
//!
//! Goodput counts the bits of new data that arrived in 100 s. A stated number is met if the ratio of goodputs that it
//! implies is met within 5 %.

use whyloss::{Confusion, Duration, Rate};
use whyloss_sim::Measurement;

use super::findings::{Axes, Findings, goodputs, run};
use super::network::{Cross, Network};
use super::stack::Stack;
use crate::experiment::{Context, ExperimentError};
use crate::replicate::Replications;
use crate::statistics::mean;
use crate::{CONFIDENCE, Cell, Claim, Figure, Outcome};

/// Wireless loss in per cent, from the paper's 0.001 to its 10 (BAL-18).
pub(super) const LOSSES: [f64; 13] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
];
/// Mbit/s; the paper's range is not in print where we could read it.
const CAPACITIES: [u64; 8] = [1, 2, 5, 8, 10, 12, 15, 20];
/// One-way, ms.
const DELAYS: [i64; 9] = [20, 40, 60, 80, 100, 120, 140, 160, 180];
/// Of wireless loss in Figs 11 and 12, per cent.
const LOSS: f64 = 0.1;
/// How far a ratio of goodputs may lie from the paper's.
const TOLERANCE: f64 = 0.05;

/// As the paper writes it.
fn name(id: &str) -> &str {
    match id {
        "reno" => "Reno",
        "westwood" => "Westwood",
        _ => "BaLDE",
    }
}

const BY_LOSS: Axes = Axes {
    x: "wireless loss, %",
    log_x: true,
    y: "goodput, Mbit/s",
    unit: "Mbit/s",
};

/// Goodput over something, and how LDEA judged.
struct Goodputs {
    findings: Findings,
    /// The shares of congestion and of wireless loss events that LDEA got wrong.
    errors: Findings,
    /// Timeouts in a run.
    timeouts: Findings,
    seeds: u64,
}

/// Runs all three over `xs`, each of which `network` makes one of.
fn measure(
    context: &Context<'_>,
    xs: &[f64],
    network: impl Fn(f64) -> Network,
) -> Result<Goodputs, ExperimentError> {
    let variants = Stack::default().all();
    let scenarios: Vec<_> = variants
        .iter()
        .flat_map(|variant| xs.iter().map(move |&x| (variant, x)))
        .map(|(variant, x)| network(x).scenario(std::slice::from_ref(variant)))
        .collect();
    let (runs, seeds) = run(context, &scenarios)?;
    let mut findings = Findings::new(xs);
    let mut errors = Findings::new(xs);
    let mut timeouts = Findings::new(xs);
    for (variant, runs) in variants.iter().zip(runs.chunks(xs.len())) {
        let each = |value: &dyn Fn(&Measurement) -> Option<f64>| -> Vec<Vec<f64>> {
            let seeds = |runs: &Replications<Measurement>| {
                runs.iter().filter_map(|run| value(run)).collect()
            };
            runs.iter().map(seeds).collect()
        };
        findings.insert(
            variant.id,
            variant.name,
            each(&|run| mean(&goodputs(run, variant.id))),
        );
        let expiries = each(&|run| Some(run.flows.first()?.timeouts as f64));
        timeouts.insert(variant.id, variant.name, expiries);
        if variant.id == "balde" {
            let percent = |rate: fn(&Confusion) -> Option<f64>| {
                each(&|run| Some(100.0 * rate(&recoveries(run))?))
            };
            errors.insert(
                "mc",
                "congestion called wireless (Mc)",
                percent(Confusion::mc),
            );
            errors.insert(
                "mw",
                "wireless called congestion (Mw)",
                percent(Confusion::mw),
            );
        }
    }
    Ok(Goodputs {
        findings,
        errors,
        timeouts,
        seeds,
    })
}

/// Verdicts on the loss events of the first flow. Timeouts, which BaLDE does not differentiate, count as called
/// congestion.
fn recoveries(run: &Measurement) -> Confusion {
    run.flows.first().map(|flow| flow.gaps).unwrap_or_default()
}

impl Goodputs {
    fn outcome(
        &self,
        (id, title): (&str, &str),
        axes: Axes,
        stated: Vec<Cell>,
        claims: Vec<Claim>,
        notes: &[&str],
    ) -> Outcome {
        let verdicts = Axes {
            y: "% of loss events",
            unit: "%",
            ..axes
        };
        let expiries = Axes {
            y: "timeouts",
            unit: "",
            ..axes
        };
        let mut cells = stated;
        cells.extend(self.findings.cells("goodput", axes));
        cells.extend(self.errors.cells("LDEA's errors", verdicts));
        cells.extend(self.timeouts.cells("timeouts", expiries));
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
                panels: vec![
                    self.findings.panel("goodput", axes),
                    self.errors.panel("LDEA's errors", verdicts),
                ],
            }],
            notes: notes.iter().map(|&note| note.into()).collect(),
        }
    }

    /// A stated gain of one over another at the x.
    fn stated(&self, (id, over): (&str, &str), x: f64, paper: f64) -> Cell {
        let gain = self.findings.gain(id, over, self.findings.index(x));
        let row = format!("gain at {x} % loss");
        let column = format!("{} over {}", name(id), name(over));
        Cell {
            paper: Some(paper),
            tolerance: Some(100.0 * TOLERANCE * (1.0 + paper / 100.0)),
            ..gain.cell(&row, &column, "%")
        }
    }

    /// The claim that one has the greater mean at every x.
    fn above_claim(&self, (claim, text): (&str, &str), id: &str, others: &[&str]) -> Claim {
        let f = &self.findings;
        let below = |other: &str| -> Vec<String> {
            let above = |i: usize| f.mean(id, i).value > f.mean(other, i).value;
            f.points()
                // A mean that does not exist is not above.
                .filter(|&(i, _)| !above(i))
                .map(|(_, x)| x.to_string())
                .collect()
        };
        let evidence: Vec<String> = others
            .iter()
            .map(|other| {
                let gains = f.evidence(|i| f.gain(id, other, i));
                let below = below(other);
                let verdict = if below.is_empty() {
                    "everywhere".into()
                } else {
                    format!("not at {}", below.join(", "))
                };
                format!("above {} {verdict}; gain in %: {gains}", name(other))
            })
            .collect();
        let holds = others.iter().all(|other| below(other).is_empty());
        Claim::new(claim, text, holds, evidence.join("; "))
    }
}

/// The network of Fig. 7 at this wireless loss in per cent.
pub(super) fn lossy(loss: f64) -> Network {
    Network {
        loss: loss / 100.0,
        ..Network::hybrid()
    }
}

/// `bal-fig-7`.
pub(crate) fn fig_7(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let goodputs = measure(context, &LOSSES, lossy)?;
    let stated = vec![
        goodputs.stated(("balde", "reno"), 1.0, 76.6),
        goodputs.stated(("balde", "westwood"), 1.0, 17.9),
        goodputs.stated(("westwood", "balde"), 0.001, -3.33),
    ];
    let rare = |other: &str| {
        [0.001, 0.002].map(|x| {
            let f = &goodputs.findings;
            f.gain("balde", other, f.index(x))
        })
    };
    let (over_reno, over_westwood) = (rare("reno"), rare("westwood"));
    let claims = vec![
        goodputs.above_claim(
            (
                "BAL-31a",
                "BaLDE's goodput is above Reno's and Westwood's at every loss rate",
            ),
            "balde",
            &["reno", "westwood"],
        ),
        goodputs.above_claim(
            (
                "BAL-31b",
                "Westwood's goodput is above Reno's at every loss rate",
            ),
            "westwood",
            &["reno"],
        ),
        Claim::new(
            "BAL-32a",
            "below 0.005 % loss BaLDE outperforms Reno and Westwood (by 1 % at least)",
            over_reno
                .iter()
                .chain(&over_westwood)
                .all(|gain| gain.value >= 1.0),
            format!(
                "at 0.001 and 0.002 %: over Reno {} and {} %, over Westwood {} and {} %",
                over_reno[0], over_reno[1], over_westwood[0], over_westwood[1]
            ),
        ),
    ];
    let identity = (
        "bal-fig-7",
        "Fig. 7: goodput over wireless loss, no cross traffic",
    );
    Ok(goodputs.outcome(
        identity,
        BY_LOSS,
        stated,
        claims,
        &[
            "Goodput counts new data that arrived within 100 s, slow start included. Gains are means of the gains of the \
             seeds, under which all three meet the same sequence of channel draws; the stated ones are met if the ratio of \
             goodputs is within 5 % of the paper's.",
            "All three run on ns-2's TCP with Reno's recovery, every segment acknowledged, 1000 bytes a packet on the wire \
             and in windows. The paper states none of this; `bal-sensitivity` varies it.",
        ],
    ))
}

/// `bal-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |loss| Network {
        cross: Cross::OnOff,
        ..lossy(loss)
    };
    let goodputs = measure(context, &LOSSES, network)?;
    let stated = vec![goodputs.stated(("westwood", "balde"), 0.001, -13.62)];
    let claims = vec![goodputs.above_claim(
        (
            "BAL-33",
            "among UDP sources, BaLDE's goodput is above Reno's and Westwood's at every loss rate",
        ),
        "balde",
        &["reno", "westwood"],
    )];
    let identity = (
        "bal-fig-10",
        "Fig. 10: goodput over wireless loss, UDP both ways",
    );
    Ok(goodputs.outcome(
        identity,
        BY_LOSS,
        stated,
        claims,
        &[
            "Twenty on/off sources, ten in each direction, Pareto in bursts and pauses (shape 1.5, means 300 and 200 ms), \
             0.5 Mbit/s in a burst: 3 Mbit/s in the mean, the link's whole 5 Mbit/s when all are on.",
        ],
    ))
}

/// `bal-fig-11`.
pub(crate) fn fig_11(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |mbps: f64| Network {
        bottleneck: Rate::from_mbps(mbps as u64),
        ..lossy(LOSS)
    };
    let goodputs = measure(context, &CAPACITIES.map(|mbps| mbps as f64), network)?;
    let f = &goodputs.findings;
    let gains = |id: &str| f.evidence(|i| f.gain(id, "reno", i));
    let at = |id: &str, mbps: f64| f.gain(id, "reno", f.index(mbps)).value;
    let both = ["balde", "westwood"];
    let evidence = format!(
        "over Reno, %: BaLDE {}; Westwood {}",
        gains("balde"),
        gains("westwood")
    );
    let claims = vec![
        Claim::new(
            "BAL-34a",
            "the gain of BaLDE and Westwood over Reno grows with the capacity (from 1 to 5 to 10 to 20 Mbit/s)",
            both.iter().all(|id| {
                let steps = [1.0, 5.0, 10.0, 20.0];
                steps
                    .windows(2)
                    .all(|pair| at(id, pair[0]) < at(id, pair[1]))
            }),
            evidence.clone(),
        ),
        Claim::new(
            "BAL-34b",
            "at low capacity (1 Mbit/s) the three are alike (within 10 % of Reno)",
            both.iter().all(|id| at(id, 1.0).abs() <= 10.0),
            evidence,
        ),
    ];
    let identity = (
        "bal-fig-11",
        "Fig. 11: goodput over the bottleneck's capacity",
    );
    let axes = Axes {
        x: "capacity, Mbit/s",
        log_x: false,
        ..BY_LOSS
    };
    Ok(goodputs.outcome(
        identity,
        axes,
        Vec::new(),
        claims,
        &["0.1 % wireless loss, 50 ms one way; buffers follow the pipe. The range of capacities is ours."],
    ))
}

/// `bal-fig-12`.
pub(crate) fn fig_12(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |ms: f64| Network {
        one_way: Duration::from_millis(ms as i64),
        ..lossy(LOSS)
    };
    let goodputs = measure(context, &DELAYS.map(|ms| ms as f64), network)?;
    let f = &goodputs.findings;
    let ids = ["reno", "westwood", "balde"];
    let falls = |id: &str| {
        let means: Vec<f64> = f.points().map(|(i, _)| f.mean(id, i).value).collect();
        means.windows(2).all(|pair| pair[1] <= 1.02 * pair[0]) && means[means.len() - 1] < means[0]
    };
    let means: Vec<String> = ids
        .iter()
        .map(|id| format!("{}, Mbit/s: {}", name(id), f.evidence(|i| f.mean(id, i))))
        .collect();
    let claims = vec![
        Claim::new(
            "BAL-35a",
            "the goodput of all three degrades with the delay (no step up by more than 2 %, less at the end)",
            ids.into_iter().all(falls),
            means.join("; "),
        ),
        goodputs.above_claim(
            (
                "BAL-35b",
                "BaLDE's goodput is above Reno's and Westwood's at every delay",
            ),
            "balde",
            &["reno", "westwood"],
        ),
    ];
    let identity = ("bal-fig-12", "Fig. 12: goodput over propagation delay");
    let axes = Axes {
        x: "one-way delay, ms",
        log_x: false,
        ..BY_LOSS
    };
    Ok(goodputs.outcome(
        identity,
        axes,
        Vec::new(),
        claims,
        &["0.1 % wireless loss, 5 Mbit/s; buffers follow the pipe."],
    ))
}
