//! Sweeps over the parameters of mBiaz and Spike (CEN-38), and over the error rates themselves (CEN-14).

use super::channel::Level;
use super::findings::{Findings, Grid, Metric, View, list};
use super::network::Topology;
use super::scheme::{Scheme, by_id, classified};
use super::series::spread;
use whyloss_study::{CONFIDENCE, Cell, Claim, Figure, Outcome, Panel, Series};
use whyloss_study::{Context, ExperimentError};

/// One flow, and two degrees of competition.
const FLOWS: [usize; 3] = [1, 4, 16];
const BOTH: [Topology; 2] = [Topology::Wlh, Topology::Wb];

/// A scheme for each value of one parameter.
struct Sweep {
    /// The parameter, as the x axis calls it.
    label: &'static str,
    points: Vec<(f64, Scheme)>,
}

impl Sweep {
    fn new(
        id: &str,
        parameter: &str,
        label: &'static str,
        values: &[f64],
        fixed: &[(&str, f64)],
    ) -> Self {
        let scheme = |&value: &f64| {
            let parameters: Vec<_> = fixed.iter().copied().chain([(parameter, value)]).collect();
            (value, classified(id, id, &parameters))
        };
        Self {
            label,
            points: values.iter().map(scheme).collect(),
        }
    }

    fn schemes(&self) -> Vec<Scheme> {
        self.points
            .iter()
            .map(|(_, scheme)| scheme.clone())
            .collect()
    }

    fn measure(&self, context: &Context<'_>, flows: &[usize]) -> Result<Findings, ExperimentError> {
        let grid = Grid {
            topologies: &BOTH,
            levels: &[Level::High],
            flows,
            schemes: &self.schemes(),
        };
        Findings::measure(context, &grid)
    }

    fn cells(&self, findings: &Findings, flows: &[usize]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for metric in Metric::STATED {
            for topology in BOTH {
                for &n in flows {
                    for (value, scheme) in &self.points {
                        let summary =
                            findings.summary(metric, topology, Level::High, n, &scheme.id);
                        cells.push(Cell {
                            row: format!("{} over {}", metric.name(), self.label),
                            column: format!("{}, N={n}", topology.name()),
                            x: Some(*value),
                            unit: "%",
                            paper: None,
                            mean: summary.and_then(|summary| summary.mean),
                            half_width: summary.and_then(|summary| summary.ci95),
                            tolerance: None,
                            ..Cell::default()
                        });
                    }
                }
            }
        }
        cells
    }

    fn figure(&self, findings: &Findings, flows: &[usize], name: &str, caption: &str) -> Figure {
        let series = |metric, topology: Topology, n: usize| Series {
            name: format!("{}, N={n}", topology.name()),
            look: whyloss_study::Look::line(topology == Topology::Wb),
            points: self
                .points
                .iter()
                .filter_map(|(value, scheme)| {
                    let summary = findings.summary(metric, topology, Level::High, n, &scheme.id)?;
                    Some((*value, summary.mean?, summary.ci95))
                })
                .collect(),
        };
        let panel = |metric: Metric| Panel {
            title: metric.name().into(),
            x_label: self.label.into(),
            y_label: "%".into(),
            log_x: false,
            log_y: false,
            series: BOTH
                .into_iter()
                .flat_map(|t| flows.iter().map(move |&n| (t, n)))
                .map(|(t, n)| series(metric, t, n))
                .collect(),
        };
        let metrics = [
            Metric::Throughput,
            Metric::Mc,
            Metric::Congestion,
            Metric::Mw,
        ];
        Figure {
            name: name.into(),
            caption: caption.into(),
            panels: metrics.map(panel).into(),
        }
    }

    /// A measure at each value of the parameter.
    fn curve(&self, value: impl Fn(&str) -> f64) -> Vec<f64> {
        self.points
            .iter()
            .map(|(_, scheme)| value(&scheme.id))
            .collect()
    }

    fn evidence(&self, curve: &[f64]) -> String {
        list(
            self.points
                .iter()
                .map(|(value, _)| format!("{value:.2}:"))
                .zip(curve.iter().copied()),
        )
    }
}

/// Whether a curve rises from its first value to its last by more than a point, and never falls by more than 3.
fn rises(curve: &[f64]) -> bool {
    curve.windows(2).all(|pair| pair[1] >= pair[0] - 3.0) && curve[curve.len() - 1] > curve[0] + 1.0
}

fn falls(curve: &[f64]) -> bool {
    rises(&curve.iter().map(|value| -value).collect::<Vec<_>>())
}

/// CEN-66 for one parameter: in WLH a higher value raises Mc and lowers Mw under competition; in WB nothing depends
/// on it (throughput within 5 points, congestion loss within 1).
fn sensitivity(sweep: &Sweep, findings: &Findings, what: &str) -> Vec<Claim> {
    let wlh = findings.view(Topology::Wlh, Level::High);
    let wb = findings.view(Topology::Wb, Level::High);
    let competing = &FLOWS[1..];
    let mc = |n| sweep.curve(|s| wlh.mc(s, n));
    let mw = |n| sweep.curve(|s| wlh.mw(s, n));
    let each = |flows: &[usize], curve: &dyn Fn(usize) -> Vec<f64>| {
        flows
            .iter()
            .map(|&n| format!("N={n}: {}", sweep.evidence(&curve(n))))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let wb_throughput = |n| sweep.curve(|s| wb.throughput(s, n));
    let wb_congestion = |n| sweep.curve(|s| wb.congestion(s, n));
    vec![
        Claim::new(
            "CEN-66a",
            &format!("WLH: raising {what} raises Mc and lowers Mw"),
            competing.iter().all(|&n| rises(&mc(n)) && falls(&mw(n))),
            format!("Mc {}; Mw {}", each(competing, &mc), each(competing, &mw)),
        ),
        Claim::new(
            "CEN-66b",
            &format!(
                "WB: the choice of {what} makes no difference (throughput within 5 points, congestion loss within 1)"
            ),
            FLOWS
                .iter()
                .all(|&n| spread(&wb_throughput(n)) <= 5.0 && spread(&wb_congestion(n)) <= 1.0),
            format!(
                "throughput {}; congestion {}",
                each(&FLOWS, &wb_throughput),
                each(&FLOWS, &wb_congestion)
            ),
        ),
    ]
}

/// `cen-sweep-mbiaz`: the upper bound (n + c)·T_min, c from 1.1 to 1.8, and 2 (Biaz) (CEN-4).
pub(crate) fn mbiaz(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let values = [1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0];
    let sweep = Sweep::new("mbiaz", "upper", "c", &values, &[]);
    let findings = sweep.measure(context, &FLOWS)?;
    Ok(Outcome {
        id: "cen-sweep-mbiaz".into(),
        title: "mBiaz: upper bound (n + c)·T_min".into(),
        seeds: findings.seeds,
        confidence: CONFIDENCE,
        cells: sweep.cells(&findings, &FLOWS),
        claims: sensitivity(&sweep, &findings, "mBiaz's upper bound"),
        figures: vec![sweep.figure(
            &findings,
            &FLOWS,
            "cen-sweep-mbiaz",
            "mBiaz over its upper bound (n + c)·T_min",
        )],
        notes: vec![
            "c = 1.2 is mBiaz, c = 2 is Biaz. The paper prints no numbers of this sweep.".into(),
        ],
    })
}

/// `cen-sweep-spike`: α from 0.35 to 0.95 with β = 1/3, β from 0.05 to 0.45 with α = 1/2, and the limits (CEN-5).
pub(crate) fn spike(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let alpha = Sweep::new(
        "spike",
        "alpha",
        "α (β = 1/3)",
        &[0.35, 0.45, 0.5, 0.55, 0.65, 0.75, 0.85, 0.95],
        &[],
    );
    let beta = Sweep::new(
        "spike",
        "beta",
        "β (α = 1/2)",
        &[0.05, 0.15, 0.25, 1.0 / 3.0, 0.45],
        &[],
    );
    let all = Sweep::new("spike", "alpha", "α", &[1.0], &[("beta", 1.0 / 3.0)]);
    let none = Sweep::new("spike", "alpha", "α", &[0.0], &[("beta", 0.0)]);
    let findings = alpha.measure(context, &FLOWS)?;
    let findings_beta = beta.measure(context, &FLOWS)?;
    let (at_one, at_zero) = (all.measure(context, &[4])?, none.measure(context, &[4])?);
    let mut claims = sensitivity(&alpha, &findings, "Spike's α");
    claims.extend(sensitivity(&beta, &findings_beta, "Spike's β"));
    let (one, zero) = (
        at_one.view(Topology::Wlh, Level::High),
        at_zero.view(Topology::Wlh, Level::High),
    );
    let (one_id, zero_id) = (&all.points[0].1.id, &none.points[0].1.id);
    claims.push(Claim::new(
        "CEN-5",
        "α ≥ 1 gives Mc = 100 %, Mw = 0; α ≤ 0 the opposite (WLH, N=4, within a point)",
        one.mc(one_id, 4) >= 99.0
            && one.mw(one_id, 4) <= 1.0
            && zero.mc(zero_id, 4) <= 1.0
            && zero.mw(zero_id, 4) >= 99.0,
        format!(
            "α=1: Mc {:.1}, Mw {:.1}; α=0 (β=0): Mc {:.1}, Mw {:.1}",
            one.mc(one_id, 4),
            one.mw(one_id, 4),
            zero.mc(zero_id, 4),
            zero.mw(zero_id, 4)
        ),
    ));
    let mut cells = alpha.cells(&findings, &FLOWS);
    cells.extend(beta.cells(&findings_beta, &FLOWS));
    Ok(Outcome {
        id: "cen-sweep-spike".into(),
        title: "Spike: thresholds α and β".into(),
        seeds: findings.seeds,
        confidence: CONFIDENCE,
        cells,
        claims,
        figures: vec![
            alpha.figure(&findings, &FLOWS, "cen-sweep-spike-alpha", "Spike over α, with β = 1/3"),
            beta.figure(&findings_beta, &FLOWS, "cen-sweep-spike-beta", "Spike over β, with α = 1/2"),
        ],
        notes: vec![
            "The paper also says that β's limits are \"exactly the opposite\" of α's. With α ≥ β, which it demands, β \
             cannot exceed α; raising β within that bound ends spikes sooner, which moves Mc and Mw the way that raising \
             α does (CEN-66 above), not the opposite way."
                .into(),
        ],
    })
}

/// `cen-sweep-random`: a classifier that errs at random with settable Mc and Mw, against the relations of Section 4.
pub(crate) fn random(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let rates = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
    let mc = Sweep::new("random", "mc", "Mc set (Mw = 0)", &rates, &[("mw", 0.0)]);
    let mw = Sweep::new("random", "mw", "Mw set (Mc = 0)", &rates, &[("mc", 0.0)]);
    let flows = [1, 8];
    let by_mc = mc.measure(context, &flows)?;
    let by_mw = mw.measure(context, &flows)?;
    let shares_mc = competition(context, &mc)?;
    let shares_mw = competition(context, &mw)?;
    let (mc_wlh, mw_wlh) = (
        by_mc.view(Topology::Wlh, Level::High),
        by_mw.view(Topology::Wlh, Level::High),
    );
    let own = |view: View<'_>, sweep: &Sweep| {
        (
            sweep.curve(|s| view.congestion(s, 8)),
            sweep.curve(|s| view.throughput(s, 8)),
        )
    };
    let (mc_loss, mc_throughput) = own(mc_wlh, &mc);
    let (mw_loss, mw_throughput) = own(mw_wlh, &mw);
    let last = rates.len() - 1;
    let mut cells = mc.cells(&by_mc, &flows);
    cells.extend(mw.cells(&by_mw, &flows));
    for (sweep, shares) in [(&mc, &shares_mc), (&mw, &shares_mw)] {
        for ((value, _), share) in sweep.points.iter().zip(shares) {
            cells.push(Cell {
                row: format!("share against unaware TFRC over {}", sweep.label),
                column: "WLH, 4 + 4 flows".into(),
                x: Some(*value),
                unit: "%",
                paper: None,
                mean: Some(*share),
                half_width: None,
                tolerance: None,
                ..Cell::default()
            });
        }
    }
    Ok(Outcome {
        id: "cen-sweep-random".into(),
        title: "A classifier with settable Mc and Mw".into(),
        seeds: by_mc.seeds,
        confidence: CONFIDENCE,
        cells,
        claims: vec![
            Claim::new("CEN-14a", "higher Mc: more congestion loss", rises(&mc_loss), mc.evidence(&mc_loss)),
            Claim::new(
                "CEN-14b",
                "higher Mc: less throughput against itself (the highest below the lowest)",
                mc_throughput[last] < mc_throughput[0],
                mc.evidence(&mc_throughput),
            ),
            Claim::new("CEN-14c", "higher Mc: a larger share against unaware TFRC", rises(&shares_mc), mc.evidence(&shares_mc)),
            Claim::new("CEN-14d", "higher Mw: less congestion loss", falls(&mw_loss), mw.evidence(&mw_loss)),
            Claim::new("CEN-14e", "higher Mw: a smaller share against unaware TFRC", falls(&shares_mw), mw.evidence(&shares_mw)),
            Claim::new(
                "CEN-14f",
                "higher Mw against itself: lower throughput if high (Mw = 1 below Mw = 0 by 2 points), that of Omni with \
                 less congestion loss if moderate (Mw = 0.4: within 2 points)",
                mw_throughput[0] - mw_throughput[last] >= 2.0
                    && (mw_throughput[0] - mw_throughput[2]).abs() <= 2.0
                    && mw_loss[2] < mw_loss[0],
                format!("throughput {}; congestion {}", mw.evidence(&mw_throughput), mw.evidence(&mw_loss)),
            ),
        ],
        figures: vec![
            mc.figure(&by_mc, &flows, "cen-sweep-random-mc", "Random errors: Mc"),
            mw.figure(&by_mw, &flows, "cen-sweep-random-mw", "Random errors: Mw"),
        ],
        notes: vec!["Section 4 states these relations without an experiment; this one sets the error rates and looks.".into()],
    })
}

/// The share of all throughput that four flows of a scheme take from four of unaware TFRC in WLH, %, for each value.
fn competition(context: &Context<'_>, sweep: &Sweep) -> Result<Vec<f64>, ExperimentError> {
    let channel = Level::High.channel();
    let unaware = by_id("unaware");
    let scenario = |(_, scheme): &(f64, Scheme)| {
        let pair = [scheme.clone(), unaware.clone()];
        super::network::Network {
            topology: Topology::Wlh,
            flows: 8,
            schemes: &pair,
            channel: &channel,
            warm_up: true,
            before_queue: false,
        }
        .scenario()
    };
    let scenarios: Vec<_> = sweep.points.iter().map(scenario).collect();
    let share = |runs: Vec<std::sync::Arc<whyloss_sim::Measurement>>| {
        let total = |name: &str| -> u64 {
            let flows = runs.iter().flat_map(|run| &run.flows);
            flows
                .filter(|flow| !flow.background && flow.name.starts_with(name))
                .map(|flow| flow.received)
                .sum()
        };
        let (own, other) = (total("random") as f64, total("unaware") as f64);
        100.0 * own / (own + other)
    };
    Ok(context
        .replicate(&scenarios)?
        .into_iter()
        .map(share)
        .collect())
}
