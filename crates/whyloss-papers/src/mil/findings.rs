//! What the runs say in the paper's terms (Section 6): throughput, its improvement, and the counts behind it.

use std::fmt::Write as _;

use whyloss_sim::Scenario;
use whyloss_study::replicate::Precision;
use whyloss_study::statistics;
use whyloss_study::{Axis, CONFIDENCE, Cell, Context, ExperimentError, Line, Metric, Nulls, Plan};

use super::network::{Queueing, Reading, Setting, Topology, Traffic};
use super::probe::{self, Run};
use super::variants::Pair;
use crate::variant::Variant;

/// "The achieved statistical precision is 5% with 95% confidence interval." The cap is ours.
const PRECISION: Precision = Precision {
    half_width: 0.05,
    confidence: CONFIDENCE,
    at_most: 2_000,
};
/// The paper's packet error rates, in percent.
pub(crate) const PERS: [u32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

pub(crate) const PER: Axis = Axis::linear("packet error rate, %");
/// Bits per second of all forward flows.
pub(crate) const RATE: Metric<Run> = Metric::new("throughput", "bit/s", |run| Some(run.throughput));
/// The same in Mbit/s.
pub(crate) const THROUGHPUT: Metric<Run> =
    Metric::new("throughput", "Mbit/s", |run| Some(run.throughput / 1e6));
/// Recoveries, whatever their cause.
pub(crate) const EVENTS: Metric<Run> = Metric::new("events", "", |run| Some(run.events));
/// Recoveries that took the original congestion action.
pub(crate) const NOC: Metric<Run> = Metric::new("NOC", "", |run| Some(run.noc));
/// Round trips that left the window larger, smaller, as it was.
pub(crate) const NI: Metric<Run> = Metric::new("NI", "", |run| Some(run.increased));
pub(crate) const ND: Metric<Run> = Metric::new("ND", "", |run| Some(run.decreased));
pub(crate) const NKU: Metric<Run> = Metric::new("NKU", "", |run| Some(run.kept));

/// The runs of each variant over the error rate, at each place: settings whose error rate is not looked at.
pub(crate) struct Findings(Vec<(Setting, whyloss_study::Runs<Run>)>);

impl Findings {
    /// Runs all of these variants, which are compared with each other, until throughput is known to the paper's precision.
    pub(crate) fn measure(
        context: &Context<'_>,
        places: &[Setting],
        pers: &[u32],
        variants: &[&Variant],
    ) -> Result<Self, ExperimentError> {
        let xs: Vec<f64> = pers.iter().copied().map(f64::from).collect();
        let plan = |place: &Setting| {
            variants.iter().fold(Plan::new(&PER, &xs), |plan, variant| {
                plan.line(variant.id, variant.name, |per| {
                    let per = per as u32;
                    let setting = Setting { per, ..*place };
                    (setting, setting.scenario(variant))
                })
            })
        };
        let plans: Vec<Plan<(Setting, Scenario)>> = places.iter().map(plan).collect();
        let runs = Plan::run_until(
            context,
            &plans,
            &PRECISION,
            |run: &Run| run.throughput,
            |(_, scenario)| format!("mil {scenario:?}"),
            |(setting, scenario), seed| probe::run(setting, scenario, seed),
        )?;
        Ok(Self(places.iter().copied().zip(runs).collect()))
    }

    /// The fewest replications behind a mean.
    pub(crate) fn seeds(&self) -> u64 {
        let seeds = self.0.iter().map(|(_, runs)| runs.seeds());
        seeds.min().unwrap_or(0)
    }

    /// What a metric says of a variant at a place; a line without a point if it was not run there.
    pub(crate) fn line(&self, place: Setting, variant: &Variant, metric: &Metric<Run>) -> Line {
        let found = self.0.iter().find(|(other, _)| {
            Setting {
                per: place.per,
                ..*other
            } == place
        });
        let line = found.map(|(_, runs)| runs.line(variant.id, metric));
        line.unwrap_or_else(|| Line::new(variant.id, variant.name, metric.unit))
    }

    /// By how much the throughput of one variant is above that of another (MIL-13).
    pub(crate) fn improvement(&self, place: Setting, (plain, lda): (&Variant, &Variant)) -> Line {
        let [plain, lda] = [plain, lda].map(|variant| self.line(place, variant, &RATE));
        lda.improvement(&plain)
    }

    /// Where throughput was not measured to the paper's precision, and how many replications were run; a note.
    pub(crate) fn precision_note(&self) -> String {
        let mut most = 0;
        let mut short = Vec::new();
        let mut places: Vec<_> = self.0.iter().collect();
        places.sort_by_key(|(place, _)| *place);
        for (place, runs) in places {
            let mut ids: Vec<String> = runs
                .lines(&RATE)
                .iter()
                .map(|line| line.id.clone())
                .collect();
            ids.sort();
            for &per in runs.xs() {
                for variant in &ids {
                    let runs = runs.at(variant, per);
                    most = most.max(runs.len());
                    let values: Vec<f64> = runs.iter().map(|run| run.throughput).collect();
                    if PRECISION.reached(&values) {
                        continue;
                    }
                    let Some(mean) = statistics::mean(&values) else {
                        continue;
                    };
                    let half_width = statistics::half_width(&values, CONFIDENCE);
                    short.push(format!(
                        "{variant}, {}-bottleneck, {}, {} at {per} % ({:.0} % after {})",
                        place.topology.name(),
                        place.traffic.name(),
                        place.queueing.name(),
                        100.0 * (half_width.unwrap_or(f64::INFINITY) / mean),
                        runs.len()
                    ));
                }
            }
        }
        let mut note = format!(
            "Replicated until the throughput of every variant is known to 5 % with 95 % confidence (MIL-9), from {} to {most} \
             times.",
            self.seeds()
        );
        if !short.is_empty() {
            let _ = write!(note, " Not that precise: {}.", short.join("; "));
        }
        note
    }
}

/// One scheme in one traffic: what the claims of a figure are decided on.
pub(crate) struct Study {
    pub(crate) findings: Findings,
    pub(crate) scheme: Pair,
    pub(crate) traffic: Traffic,
}

impl Study {
    /// Both topologies and both disciplines over these error rates.
    pub(crate) fn measure(
        context: &Context<'_>,
        scheme: Pair,
        traffic: Traffic,
        pers: &[u32],
    ) -> Result<Self, ExperimentError> {
        let mut places = Vec::new();
        for queueing in Queueing::ALL {
            places.extend(Topology::ALL.map(|topology| place(topology, queueing, traffic)));
        }
        let findings = Findings::measure(context, &places, pers, &[&scheme.plain, &scheme.lda])?;
        Ok(Self {
            findings,
            scheme,
            traffic,
        })
    }

    /// The original and the LDA variant.
    pub(crate) fn pair(&self) -> [&Variant; 2] {
        [&self.scheme.plain, &self.scheme.lda]
    }

    /// What a metric says of a variant.
    pub(crate) fn line(
        &self,
        metric: &Metric<Run>,
        topology: Topology,
        queueing: Queueing,
        variant: &Variant,
    ) -> Line {
        let place = place(topology, queueing, self.traffic);
        self.findings.line(place, variant, metric)
    }

    /// The original's and the LDA variant's line with FIFO queues, named for evidence.
    pub(crate) fn both(&self, metric: &Metric<Run>, topology: Topology) -> [Line; 2] {
        self.pair().map(|variant| {
            let line = self.line(metric, topology, Queueing::Fifo, variant);
            line.named(&format!(
                "{} of {}, {}",
                metric.name,
                variant.name,
                topology.name()
            ))
        })
    }

    /// The same in both topologies: single plain, single LDA, multiple plain, multiple LDA.
    pub(crate) fn all_four(&self, metric: &Metric<Run>) -> [Line; 4] {
        let [one, two] = self.both(metric, Topology::Single);
        let [three, four] = self.both(metric, Topology::Multiple);
        [one, two, three, four]
    }

    /// The improvement with these queues.
    pub(crate) fn improvement(&self, topology: Topology, queueing: Queueing) -> Line {
        let place = place(topology, queueing, self.traffic);
        let line = self
            .findings
            .improvement(place, (&self.scheme.plain, &self.scheme.lda));
        line.named(&format!("improvement, {}", topology.name()))
    }

    /// The improvements with FIFO queues: single, multiple.
    pub(crate) fn improvements(&self) -> [Line; 2] {
        Topology::ALL.map(|topology| self.improvement(topology, Queueing::Fifo))
    }
}

/// A setting as taken, whatever its error rate.
pub(crate) fn place(topology: Topology, queueing: Queueing, traffic: Traffic) -> Setting {
    Setting {
        topology,
        queueing,
        traffic,
        per: 0,
        reading: Reading::Taken,
    }
}

/// The part of a line at these error rates.
pub(crate) fn at(line: &Line, pers: &[u32]) -> Line {
    line.only(|per| pers.contains(&(per as u32)))
}

/// Cells of a line, as the scores want them.
pub(crate) fn cells(line: &Line, row: &str) -> Vec<Cell> {
    line.cells(row).into_iter().map(scored).collect()
}

/// A cell with what is scored, and what trivial answers would get: without an LDA nothing improves; the LDA is the oracle.
pub(crate) fn scored(cell: Cell) -> Cell {
    let improvement = cell.unit == "%";
    Cell {
        metric: match cell.unit {
            "%" => "improvement",
            "ms" => "AckdInterval",
            _ => "count",
        },
        nulls: Nulls {
            unaware: cell.paper.filter(|_| improvement).map(|_| 0.0),
            oracle: None,
        },
        ..cell
    }
}
