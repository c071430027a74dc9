//! Tables 1 to 6: counts of losses and of actions upon the window.

use whyloss_study::{Cell, Claim, Context, ExperimentError, Metric, Outcome};

use super::findings::{Study, scored};
use super::network::{Queueing, Topology, Traffic};
use super::probe::Run;
use super::variants::Pair;

/// A row of a table: what it counts, and the paper's values in the order original, LDA at the first error
/// rate, original, LDA at the second.
pub(crate) struct Row {
    pub(crate) metric: Metric<Run>,
    pub(crate) stated: [Option<f64>; 4],
}

/// A table.
pub(crate) struct Table {
    id: &'static str,
    title: &'static str,
    scheme: Pair,
    traffic: Traffic,
    topology: Topology,
    /// The two error rates of its columns, in percent.
    pers: [u32; 2],
    rows: &'static [Row],
    /// A column whose stated value is shown but no target, and why.
    no_target: Option<(usize, &'static str)>,
}

/// A count may be off by a fifth, or by five: the paper's precision of 5 % is that of throughput.
fn tolerance(value: f64) -> f64 {
    (0.2 * value).max(5.0)
}

impl Table {
    /// A table of one scheme in one traffic, without columns yet.
    pub(crate) fn new(
        id: &'static str,
        title: &'static str,
        scheme: Pair,
        traffic: Traffic,
    ) -> Self {
        let (topology, pers, rows): (_, _, &[Row]) = (Topology::Single, [0; 2], &[]);
        let no_target = None;
        Self {
            id,
            title,
            scheme,
            traffic,
            topology,
            pers,
            rows,
            no_target,
        }
    }

    /// Its columns are the original and the LDA variant at each of two error rates.
    pub(crate) fn columns(self, topology: Topology, pers: [u32; 2], rows: &'static [Row]) -> Self {
        Self {
            topology,
            pers,
            rows,
            ..self
        }
    }

    pub(crate) fn no_target(self, column: usize, why: &'static str) -> Self {
        Self {
            no_target: Some((column, why)),
            ..self
        }
    }

    /// Runs it, with the paper's statements about it and all error rates that they need.
    pub(crate) fn run(
        self,
        context: &Context<'_>,
        needed: &[u32],
        claims: fn(&Study) -> Vec<Claim>,
    ) -> Result<Outcome, ExperimentError> {
        let study = Study::measure(context, self.scheme, self.traffic, needed)?;
        let columns = self
            .pers
            .iter()
            .flat_map(|&per| study.pair().map(|variant| (per, variant)));
        let columns: Vec<_> = columns.collect();
        let mut cells: Vec<Cell> = Vec::new();
        for row in self.rows {
            for (index, &(per, variant)) in columns.iter().enumerate() {
                let mean = |variant| {
                    let line = study.line(&row.metric, self.topology, Queueing::Fifo, variant);
                    line.at(f64::from(per))
                };
                let column = format!("{} / .0{per}", variant.name);
                let mut cell = mean(variant).cell(row.metric.name, &column, "");
                cell.paper = row.stated[index];
                let target = self.no_target.is_none_or(|(column, _)| column != index);
                cell.tolerance = cell.paper.filter(|_| target).map(tolerance);
                cell = scored(cell);
                // Without an LDA every loss is congestion: the original's column. The LDA is the oracle.
                let original = Some(mean(&study.scheme.plain).value);
                cell.nulls.unaware =
                    original.filter(|value| cell.paper.is_some() && value.is_finite());
                cells.push(cell);
            }
        }
        let mut notes = vec![
        study.findings.precision_note(),
        "Counts are per run of 100 s, of all forward senders together, with FIFO queues. The captions of Tables 1 to 3 say \
         \"losses due to corruption\", the text \"due to congestion\". Table 1 is about what \"the NewRenoLDA agent has \
         experienced\": losses found by duplicate acknowledgements, whatever the cause (MIL-33). Of Tables 2 and 3 the text \
         says that few events show that the window was not decreased: losses taken for congestion. The other count stands \
         below."
            .to_owned(),
    ];
        notes.extend(self.no_target.map(|(_, why)| why.to_owned()));
        Ok(Outcome::new(self.id, self.title, study.findings.seeds())
            .cells(cells)
            .claims(claims(&study))
            .notes(notes))
    }
}

/// What stands below every table of losses.
const EVENTS: Row = besides("losses found by duplicates, of any cause", |run| {
    Some(run.events)
});
const DETECTED: Row = besides("of them called wireless", |run| Some(run.detected));
const NOC: Row = besides("of them called congestion", |run| Some(run.noc));
const CUTS: Row = besides("of them took the window down", |run| Some(run.cuts));
const TIMEOUTS: Row = besides("retransmission timeouts", |run| Some(run.timeouts));
const LOSSES: Row = besides("recoveries and timeouts", |run| {
    Some(run.events + run.timeouts)
});
const THROUGHPUT: Row = besides("throughput, Mbit/s", |run| Some(run.throughput / 1e6));

const fn besides(name: &'static str, of: fn(&Run) -> Option<f64>) -> Row {
    Row {
        metric: Metric::new(name, "", of),
        stated: [None; 4],
    }
}

/// A row that the paper has.
const fn stated(name: &'static str, of: fn(&Run) -> Option<f64>, stated: [f64; 4]) -> Row {
    let [a, b, c, d] = stated;
    Row {
        metric: Metric::new(name, "", of),
        stated: [Some(a), Some(b), Some(c), Some(d)],
    }
}

/// Table 1.
pub(crate) const TABLE_1: &[Row] = &[
    stated(
        "congestion events",
        |run| Some(run.events),
        [124.0, 121.0, 116.0, 125.0],
    ),
    DETECTED,
    NOC,
    CUTS,
    TIMEOUTS,
    LOSSES,
    THROUGHPUT,
];

/// Losses "considered to be caused by network congestion" (Section 4), as Tables 2 and 3 count them: "The small number of
/// congestion events is an indicator that WestwoodLDA did not decrease the congestion window almost 46 times more" (50 − 4).
const fn actions(values: [f64; 4]) -> Row {
    stated("congestion events", |run| Some(run.noc), values)
}

/// Table 2.
pub(crate) const TABLE_2: &[Row] = &[
    actions([994.0, 795.0, 306.0, 130.0]),
    EVENTS,
    DETECTED,
    CUTS,
    TIMEOUTS,
    LOSSES,
    THROUGHPUT,
];

/// Table 3.
pub(crate) const TABLE_3: &[Row] = &[
    actions([249.0, 72.0, 50.0, 4.0]),
    EVENTS,
    DETECTED,
    CUTS,
    TIMEOUTS,
    LOSSES,
    THROUGHPUT,
];

/// Table 4.
pub(crate) const TABLE_4: &[Row] = &[
    stated("NKU", |run| Some(run.kept), [53.0, 12.0, 112.0, 73.0]),
    stated(
        "NI",
        |run| Some(run.increased),
        [1012.0, 764.0, 491.0, 386.0],
    ),
    stated("ND", |run| Some(run.decreased), [11.0, 0.0, 5.0, 0.0]),
    stated("NOC", |run| Some(run.noc), [166.0, 0.0, 183.0, 0.0]),
    DETECTED,
    TIMEOUTS,
    THROUGHPUT,
];

/// Table 5.
pub(crate) const TABLE_5: &[Row] = &[
    stated("NKU", |run| Some(run.kept), [50.0, 38.0, 27.0, 35.0]),
    stated(
        "NI",
        |run| Some(run.increased),
        [214.0, 187.0, 120.0, 162.0],
    ),
    stated("ND", |run| Some(run.decreased), [0.0, 0.0, 0.0, 0.0]),
    stated("NOC", |run| Some(run.noc), [20.0, 0.0, 7.0, 0.0]),
    DETECTED,
    TIMEOUTS,
    THROUGHPUT,
];

/// Table 6.
pub(crate) const TABLE_6: &[Row] = &[
    stated(
        "detected losses due to errors",
        |run| Some(run.detected),
        [0.0, 894.0, 0.0, 2530.0],
    ),
    stated("NOC", |run| Some(run.noc), [1045.0, 48.0, 4833.0, 0.0]),
    TIMEOUTS,
    THROUGHPUT,
];
