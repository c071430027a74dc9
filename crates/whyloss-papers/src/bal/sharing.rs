//! Ten flows: fairness within one version (Fig. 13, BAL-23), and BaLDE beside Reno and Westwood (Figs 14 to 17,
//! BAL-24, -25).

use whyloss::{Duration, Rate};
use whyloss_sim::Measurement;
use whyloss_study::statistics::{jain, mean};
use whyloss_study::{Axis, Check, Context, ExperimentError, Line, Metric, Outcome, Plan, Runs};

use super::goodput::{BY_LOSS, LOSSES, goodputs, lossy};
use super::network::Network;
use super::stack::Stack;
use super::trace;
use crate::variant::Variant;

const FLOWS: usize = 10;
/// "Acceptable" fairness.
const ACCEPTABLE: f64 = 0.9;
/// "Not far" from the fair share, %.
const NOT_FAR: f64 = 20.0;

/// Where the estimate of one of the ten is looked at, per cent of loss.
const TRACED: f64 = 0.1;

const JAIN: Metric<Measurement> = Metric::new("Jain's index", "", |run| jain(&goodputs(run, "")));
pub(super) const TOTAL: Metric<Measurement> = Metric::new("goodput of all", "Mbit/s", |run| {
    Some(goodputs(run, "").iter().sum())
});

/// `bal-fig-13`.
pub(crate) fn fig_13(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let variants = Stack::default().all();
    let mut plan = Plan::new(&BY_LOSS, &LOSSES);
    let mut traced = Plan::table();
    for variant in &variants {
        let flows = vec![variant.clone(); FLOWS];
        plan = plan.line(variant.id, variant.name, |loss| {
            lossy(loss).scenario(&flows)
        });
        if variant.id != "reno" {
            traced = traced.line(variant.id, variant.name, |_| lossy(TRACED).scenario(&flows));
        }
    }
    let runs = plan.run(context)?;
    let (fairness, total) = (runs.lines(&JAIN), runs.lines(&TOTAL));
    let estimates = trace::run(context, traced)?.lines_by(("estimate", "Mbit/s"), |trace| {
        Some(trace.mean_estimate(10.0, 100.0))
    });
    let [reno, westwood, balde] = ["reno", "westwood", "balde"].map(|id| fairness.line(id));
    let title = "Fig. 13: fairness among ten flows of one version";
    Ok(Outcome::new("bal-fig-13", title, runs.seeds())
        .cells(estimates.cells(&format!(
            "estimate of a flow at {TRACED} % loss; its share is 0.5 Mbit/s"
        )))
        .cells(fairness.cells("Jain's index"))
        .cells(total.cells("goodput of all"))
        .figure([
            fairness.panel("fairness"),
            total.panel("goodput of all flows"),
        ])
        .claim(
            "BAL-36a",
            "Reno gets fairer as losses get more frequent (from 0.5 % on, against up to 0.01 %)",
            Check::of([&reno], |[reno]| {
                reno.only(|loss| loss >= 0.5).average() > reno.only(|loss| loss <= 0.01).average()
            }),
        )
        .claim(
            "BAL-36b",
            "BaLDE and Westwood are less fair than Reno (mean over the loss rates)",
            Check::of([&reno, &westwood, &balde], |[reno, westwood, balde]| {
                [westwood, balde].iter().all(|line| line.average() < reno.average())
            }),
        )
        .claim(
            "BAL-36c",
            "yet acceptable (0.9 at least at every loss rate)",
            westwood.at_least(ACCEPTABLE).and(balde.at_least(ACCEPTABLE)),
        )
        .note("Flows start within the first second; goodput is counted from the beginning to the end, at 100 s."))
}

/// The mean goodput of BaLDE's and of the other's flows, over the number of one of them.
struct Mixture {
    runs: Runs<Measurement>,
    balde: Line,
    other: Line,
    fair: Line,
}

/// `axis` counts the flows of BaLDE or of the other.
fn mixture(
    context: &Context<'_>,
    other: &Variant,
    loss: f64,
    axis: &'static str,
) -> Result<Mixture, ExperimentError> {
    let network = Network {
        bottleneck: Rate::from_mbps(10),
        one_way: Duration::from_millis(35),
        ..lossy(loss)
    };
    let balde = Stack::default().balde();
    let counted = axis.ends_with(balde.name);
    let xs: Vec<f64> = (0..=FLOWS).map(|count| count as f64).collect();
    let plan = Plan::new(&Axis::linear(axis), &xs).line("all", "all flows", |count| {
        let others = if counted {
            FLOWS - count as usize
        } else {
            count as usize
        };
        let flows = (0..FLOWS).map(|index| if index < others { other } else { &balde });
        network.scenario(&flows.cloned().collect::<Vec<_>>())
    });
    let runs = plan.run(context)?;
    let each = |variant: &Variant| {
        let names = (variant.id, variant.name);
        runs.read_off("all", names, "Mbit/s", |run| {
            mean(&goodputs(run, variant.id))
        })
    };
    let share = network.bottleneck.as_bps() as f64 / FLOWS as f64 / 1e6;
    let (balde, other) = (each(&balde), each(other));
    let fair = balde.constant("fair", "fair share", share);
    Ok(Mixture {
        runs,
        balde,
        other,
        fair,
    })
}

/// Where both versions have flows.
fn mixed(line: &Line) -> Line {
    line.only(|count| 0.0 < count && count < FLOWS as f64)
}

impl Mixture {
    fn outcome(&self, id: &str, title: &str) -> Outcome {
        let each = [&self.balde, &self.other, &self.fair].map(Clone::clone);
        let each = self.runs.gather(("mean goodput of a flow", "Mbit/s"), each);
        let expiries = [&self.balde, &self.other].map(|line| {
            self.runs
                .read_off("all", (&line.id, &line.name), "", |run| {
                    let flows = run
                        .flows
                        .iter()
                        .filter(|flow| flow.name.starts_with(&line.id));
                    mean(&flows.map(|flow| flow.timeouts as f64).collect::<Vec<_>>())
                })
        });
        Outcome::new(id, title, self.runs.seeds())
            .cells(each.cells("mean goodput of a flow"))
            .cells(self.runs.lines(&TOTAL).cells("goodput of all"))
            .cells(expiries.iter().flat_map(|line| line.cells("timeouts of a flow")))
            .figure([each.panel("")])
            .note("Ten flows on 10 Mbit/s, 35 ms one way, buffers of the pipe (87 packets); they start within the first second.")
    }
}

/// `bal-fig-14`.
pub(crate) fn fig_14(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mixture = mixture(context, &Stack::default().reno(), 0.0, "flows of Reno")?;
    let off = mixed(&mixture.balde.gain(&mixture.fair));
    Ok(mixture.outcome("bal-fig-14", "Fig. 14: BaLDE and Reno, no errors").claim(
        "BAL-37a",
        "without errors BaLDE's mean throughput beside Reno is not far from the fair share (within 20 %)",
        off.near(0.0, NOT_FAR),
    ))
}

/// `bal-fig-15`.
pub(crate) fn fig_15(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mixture = mixture(context, &Stack::default().reno(), 0.1, "flows of Reno")?;
    let ends = [1.0, FLOWS as f64 - 1.0];
    Ok(mixture
        .outcome("bal-fig-15", "Fig. 15: BaLDE and Reno, 0.1 % loss")
        .claim(
            "BAL-37b",
            "at 0.1 % loss BaLDE's mean throughput is above Reno's, for every mixture",
            mixed(&mixture.balde).above(&mixture.other),
        )
        .claim(
            "BAL-37c",
            "the fewer flows are BaLDE's the more each has (nine of Reno against one)",
            mixture.balde.only(|reno| ends.contains(&reno)).rises(),
        ))
}

/// `bal-fig-16`.
pub(crate) fn fig_16(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mixture = mixture(context, &Stack::default().westwood(), 0.0, "flows of BaLDE")?;
    Ok(mixture
        .outcome("bal-fig-16", "Fig. 16: BaLDE and Westwood, no errors")
        .claim(
            "BAL-38a",
            "without errors Westwood takes more than BaLDE, for every mixture",
            mixed(&mixture.other).above(&mixture.balde),
        ))
}

/// `bal-fig-17`.
pub(crate) fn fig_17(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mixture = mixture(context, &Stack::default().westwood(), 0.1, "flows of BaLDE")?;
    Ok(mixture
        .outcome("bal-fig-17", "Fig. 17: BaLDE and Westwood, 0.1 % loss")
        .claim(
            "BAL-38b",
            "at 0.1 % loss Westwood takes more than BaLDE, for every mixture",
            mixed(&mixture.other).above(&mixture.balde),
        ))
}
