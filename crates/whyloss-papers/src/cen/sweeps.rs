//! Sweeps over the parameters of mBiaz and Spike (CEN-38), and over the error rates themselves (CEN-14).

use whyloss_link::ChannelSpec;
use whyloss_study::{
    Axis, Cell, Check, Claim, Context, ExperimentError, Figure, Line, Look, Metric, Notation,
    Outcome, Plan, Runs,
};

use super::channel::Level;
use super::measure::{self, CONGESTION, Item, MC, MW, Run, THROUGHPUT, short};
use super::network::{Network, Topology};
use super::scheme::{Scheme, by_id, classified};

/// One flow, and two degrees of competition.
const FLOWS: [usize; 3] = [1, 4, 16];
const BOTH: [Topology; 2] = [Topology::Wlh, Topology::Wb];
const STATED: [Metric<Run>; 4] = [THROUGHPUT, MC, MW, CONGESTION];

/// A scheme for each value of one parameter.
struct Sweep<'a> {
    /// The parameter, as the x axis calls it.
    label: &'static str,
    id: &'static str,
    parameter: &'static str,
    values: &'a [f64],
    fixed: &'a [(&'static str, f64)],
}

/// A topology with so many flows, as code calls it.
fn id(topology: Topology, flows: usize) -> String {
    format!("{} {flows}", topology.name())
}

impl Sweep<'_> {
    fn scheme(&self, value: f64) -> Scheme {
        let parameters = self.fixed.iter().copied();
        let parameters: Vec<_> = parameters.chain([(self.parameter, value)]).collect();
        classified(self.id, self.id, &parameters)
    }

    fn plan<I>(&self) -> Plan<I> {
        let notation = Notation {
            place: |value| format!("{value:.2}: "),
            mean: short,
        };
        Plan::new(&Axis::linear(self.label).written(notation), self.values)
    }

    /// A line for each topology and number of flows.
    fn measure(
        &self,
        context: &Context<'_>,
        flows: &[usize],
    ) -> Result<Runs<Run>, ExperimentError> {
        let channel = Level::High.channel();
        let lines = BOTH
            .into_iter()
            .flat_map(|topology| flows.iter().map(move |&n| (topology, n)));
        let plan = lines.fold(self.plan::<Item>(), |plan, (topology, n)| {
            let name = format!("{}, N={n}", topology.name());
            plan.line(&id(topology, n), &name, |value| {
                Network::new(topology, n, &[self.scheme(value)], &channel).item()
            })
        });
        let runs = measure::run(context, &[plan])?.into_iter().next();
        runs.ok_or(ExperimentError::Stopped)
    }

    fn cells(&self, runs: &Runs<Run>) -> Vec<Cell> {
        let row = |metric: &Metric<Run>| format!("{} over {}", metric.name, self.label);
        let cells = STATED
            .iter()
            .map(|metric| runs.lines(metric).cells(&row(metric)));
        cells.flatten().collect()
    }
}

fn figure(runs: &Runs<Run>, name: &str, caption: &str) -> Figure {
    let panel = |metric: Metric<Run>| {
        let shown = |line: Line| {
            let look = Look::line(line.id.starts_with(Topology::Wb.name()));
            Some(line.measured().drawn(look))
        };
        let lines = runs.lines(&metric).shown(shown);
        lines.labelled("%").panel(metric.name)
    };
    Figure {
        name: name.into(),
        caption: caption.into(),
        panels: [THROUGHPUT, MC, CONGESTION, MW].map(panel).into(),
    }
}

/// Whether a line rises from its first value to its last by more than a point, and never falls by more than 3.
fn rises(line: &Line) -> bool {
    let means: Vec<f64> = line.means().map(|(_, mean)| mean.value).collect();
    line.every_step(|before, after| after >= before - 3.0)
        && means[means.len() - 1] > means[0] + 1.0
}

fn falls(line: &Line) -> bool {
    rises(&line.by_mean("", |_, mean| -mean))
}

/// A measure over these numbers of flows: `Mc N=4: 1.10: 3.21, …; N=16: …`.
fn over(
    runs: &Runs<Run>,
    topology: Topology,
    flows: &[usize],
    (what, metric): (&str, &Metric<Run>),
    holds: fn(&Line) -> bool,
) -> Check {
    let lines = flows.iter().enumerate().map(|(place, &n)| {
        let what = if place == 0 { what } else { "" };
        let line = runs.line(&id(topology, n), metric);
        line.named(format!("{what} N={n}:").trim_start())
    });
    let lines: Vec<Line> = lines.collect();
    Check::all(&lines.iter().collect::<Vec<_>>(), holds)
}

/// CEN-66 for one parameter: in WLH a higher value raises Mc and lowers Mw under competition; in WB nothing depends
/// on it (throughput within 5 points, congestion loss within 1).
fn sensitivity(runs: &Runs<Run>, what: &str) -> [Claim; 2] {
    let competing = |metric, holds| over(runs, Topology::Wlh, &FLOWS[1..], metric, holds);
    let all = |metric, holds| over(runs, Topology::Wb, &FLOWS, metric, holds);
    [
        competing(("Mc", &MC), rises)
            .and(competing(("Mw", &MW), falls))
            .claim("CEN-66a", &format!("WLH: raising {what} raises Mc and lowers Mw")),
        all(("throughput", &THROUGHPUT), |line| line.spread() <= 5.0)
            .and(all(("congestion", &CONGESTION), |line| line.spread() <= 1.0))
            .claim(
                "CEN-66b",
                &format!(
                    "WB: the choice of {what} makes no difference (throughput within 5 points, congestion loss within 1)"
                ),
            ),
    ]
}

/// `cen-sweep-mbiaz`: the upper bound (n + c)·T_min, c from 1.1 to 1.8, and 2 (Biaz) (CEN-4).
pub(crate) fn mbiaz(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sweep = Sweep {
        label: "c",
        id: "mbiaz",
        parameter: "upper",
        values: &[1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0],
        fixed: &[],
    };
    let runs = sweep.measure(context, &FLOWS)?;
    let id = "cen-sweep-mbiaz";
    let mut outcome = Outcome::new(id, "mBiaz: upper bound (n + c)·T_min", runs.seeds())
        .cells(sweep.cells(&runs))
        .claims(sensitivity(&runs, "mBiaz's upper bound"))
        .note("c = 1.2 is mBiaz, c = 2 is Biaz. The paper prints no numbers of this sweep.");
    let caption = "mBiaz over its upper bound (n + c)·T_min";
    outcome.figures = vec![figure(&runs, id, caption)];
    Ok(outcome)
}

/// `cen-sweep-spike`: α from 0.35 to 0.95 with β = 1/3, β from 0.05 to 0.45 with α = 1/2, and the limits (CEN-5).
pub(crate) fn spike(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sweep = |label, parameter, values, fixed| Sweep {
        label,
        id: "spike",
        parameter,
        values,
        fixed,
    };
    let values = [0.35, 0.45, 0.5, 0.55, 0.65, 0.75, 0.85, 0.95];
    let alpha = sweep("α (β = 1/3)", "alpha", &values, &[]);
    let values = [0.05, 0.15, 0.25, 1.0 / 3.0, 0.45];
    let beta = sweep("β (α = 1/2)", "beta", &values, &[]);
    let all = sweep("α", "alpha", &[1.0], &[("beta", 1.0 / 3.0)]);
    let none = sweep("α", "alpha", &[0.0], &[("beta", 0.0)]);
    let by_alpha = alpha.measure(context, &FLOWS)?;
    let by_beta = beta.measure(context, &FLOWS)?;
    let limits = [all.measure(context, &[4])?, none.measure(context, &[4])?];
    let limit = |metric| {
        limits
            .each_ref()
            .map(|runs| runs.line("WLH 4", metric).average())
    };
    let ([mc_one, mc_zero], [mw_one, mw_zero]) = (limit(&MC), limit(&MW));
    let at_limits = Check {
        holds: mc_one >= 99.0 && mw_one <= 1.0 && mc_zero <= 1.0 && mw_zero >= 99.0,
        evidence: format!(
            "α=1: Mc {mc_one:.1}, Mw {mw_one:.1}; α=0 (β=0): Mc {mc_zero:.1}, Mw {mw_zero:.1}"
        ),
    };
    let title = "Spike: thresholds α and β";
    let mut outcome = Outcome::new("cen-sweep-spike", title, by_alpha.seeds())
        .cells(alpha.cells(&by_alpha))
        .cells(beta.cells(&by_beta))
        .claims(sensitivity(&by_alpha, "Spike's α"))
        .claims(sensitivity(&by_beta, "Spike's β"))
        .claim(
            "CEN-5",
            "α ≥ 1 gives Mc = 100 %, Mw = 0; α ≤ 0 the opposite (WLH, N=4, within a point)",
            at_limits,
        )
        .note(
            "The paper also says that β's limits are \"exactly the opposite\" of α's. With α ≥ β, which it demands, β \
             cannot exceed α; raising β within that bound ends spikes sooner, which moves Mc and Mw the way that raising \
             α does (CEN-66 above), not the opposite way.",
        );
    outcome.figures = vec![
        figure(
            &by_alpha,
            "cen-sweep-spike-alpha",
            "Spike over α, with β = 1/3",
        ),
        figure(
            &by_beta,
            "cen-sweep-spike-beta",
            "Spike over β, with α = 1/2",
        ),
    ];
    Ok(outcome)
}

/// `cen-sweep-random`: a classifier that errs at random with settable Mc and Mw, against the relations of Section 4.
pub(crate) fn random(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let sweep = |label, parameter, fixed| Sweep {
        label,
        id: "random",
        parameter,
        values: &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
        fixed,
    };
    let mc = sweep("Mc set (Mw = 0)", "mc", &[("mw", 0.0)]);
    let mw = sweep("Mw set (Mc = 0)", "mw", &[("mc", 0.0)]);
    let (by_mc, by_mw) = (mc.measure(context, &[1, 8])?, mw.measure(context, &[1, 8])?);
    let shares = [competition(context, &mc)?, competition(context, &mw)?];
    let [share_by_mc, share_by_mw] = shares.each_ref().map(|line| line.clone().named(""));
    let own = |runs: &Runs<Run>, metric| runs.line("WLH 8", metric).named("");
    let lost = own(&by_mw, &CONGESTION);
    let share_cells = [&mc, &mw]
        .into_iter()
        .zip(&shares)
        .flat_map(|(sweep, line)| {
            line.cells(&format!("share against unaware TFRC over {}", sweep.label))
        });
    let title = "A classifier with settable Mc and Mw";
    let mut outcome = Outcome::new("cen-sweep-random", title, by_mc.seeds())
        .cells(mc.cells(&by_mc))
        .cells(mw.cells(&by_mw))
        .cells(share_cells)
        .claim(
            "CEN-14a",
            "higher Mc: more congestion loss",
            Check::of([&own(&by_mc, &CONGESTION)], |[lost]| rises(lost)),
        )
        .claim(
            "CEN-14b",
            "higher Mc: less throughput against itself (the highest below the lowest)",
            Check::of([&own(&by_mc, &THROUGHPUT)], |[of]| of.at(1.0).value < of.at(0.0).value),
        )
        .claim(
            "CEN-14c",
            "higher Mc: a larger share against unaware TFRC",
            Check::of([&share_by_mc], |[share]| rises(share)),
        )
        .claim(
            "CEN-14d",
            "higher Mw: less congestion loss",
            Check::of([&lost], |[lost]| falls(lost)),
        )
        .claim(
            "CEN-14e",
            "higher Mw: a smaller share against unaware TFRC",
            Check::of([&share_by_mw], |[share]| falls(share)),
        )
        .claim(
            "CEN-14f",
            "higher Mw against itself: lower throughput if high (Mw = 1 below Mw = 0 by 2 points), that of Omni with \
             less congestion loss if moderate (Mw = 0.4: within 2 points)",
            Check::of(
                [&own(&by_mw, &THROUGHPUT).named("throughput"), &lost.clone().named("congestion")],
                |[of, lost]| {
                    let [of, lost] = [of, lost].map(|line| [0.0, 0.4, 1.0].map(|x| line.at(x).value));
                    of[0] - of[2] >= 2.0 && (of[0] - of[1]).abs() <= 2.0 && lost[1] < lost[0]
                },
            ),
        )
        .note("Section 4 states these relations without an experiment; this one sets the error rates and looks.");
    outcome.figures = vec![
        figure(&by_mc, "cen-sweep-random-mc", "Random errors: Mc"),
        figure(&by_mw, "cen-sweep-random-mw", "Random errors: Mw"),
    ];
    Ok(outcome)
}

/// The share of all throughput that four flows of a scheme take from four of unaware TFRC in WLH, %, of all seeds together.
fn competition(context: &Context<'_>, sweep: &Sweep<'_>) -> Result<Line, ExperimentError> {
    let channel: ChannelSpec = Level::High.channel();
    let unaware = by_id("unaware");
    let plan = sweep.plan().line("share", "WLH, 4 + 4 flows", |value| {
        let pair = [sweep.scheme(value), unaware.clone()];
        Network::new(Topology::Wlh, 8, &pair, &channel).scenario()
    });
    let runs = plan.run(context)?;
    let line = runs.read_off("share", ("share", "WLH, 4 + 4 flows"), "%", |_| None);
    Ok(line.by_mean("WLH, 4 + 4 flows", |value, _| {
        let total = |name: &str| -> u64 {
            let flows = runs.at("share", value).iter().flat_map(|run| &run.flows);
            flows
                .filter(|flow| !flow.background && flow.name.starts_with(name))
                .map(|flow| flow.received)
                .sum()
        };
        let (own, other) = (total("random") as f64, total("unaware") as f64);
        100.0 * own / (own + other)
    }))
}
