//! Tables 1 to 6: counts of losses and of actions upon the window.

use super::findings::{Metric, Stated, Study, cell};
use super::network::{Queueing, Topology, Traffic};
use super::probe::Run;
use super::variants::Scheme;
use crate::experiment::{Context, ExperimentError};
use crate::{CONFIDENCE, Cell, Claim, Outcome};

/// A row of a table: its name, what it counts, and the paper's values in the order original, LDA at the first error
/// rate, original, LDA at the second.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) metric: Metric,
    pub(crate) stated: [Option<f64>; 4],
}

/// A table.
pub(crate) struct Table {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) scheme: Scheme,
    pub(crate) traffic: Traffic,
    pub(crate) topology: Topology,
    /// The two error rates of its columns, in percent.
    pub(crate) pers: [u32; 2],
    pub(crate) rows: &'static [Row],
    /// A column whose stated value is shown but no target, and why.
    pub(crate) no_target: Option<(usize, &'static str)>,
    pub(crate) claims: fn(&Study) -> Vec<Claim>,
    /// All error rates that the claims need.
    pub(crate) needed: &'static [u32],
}

/// A count may be off by a fifth, or by five: the paper's precision of 5 % is that of throughput.
fn tolerance(value: f64) -> f64 {
    (0.2 * value).max(5.0)
}

/// Runs a table.
pub(crate) fn run(context: &Context<'_>, table: Table) -> Result<Outcome, ExperimentError> {
    let study = Study::measure(context, table.scheme, table.traffic, table.needed)?;
    let columns = table
        .pers
        .iter()
        .flat_map(|&per| [&study.scheme.plain, &study.scheme.lda].map(|variant| (per, variant)));
    let columns: Vec<_> = columns.collect();
    let mut cells: Vec<Cell> = Vec::new();
    for row in table.rows {
        for (index, &(per, variant)) in columns.iter().enumerate() {
            let setting = study.setting(table.topology, Queueing::Fifo, per);
            let target = table.no_target.is_none_or(|(column, _)| column != index);
            let stated = row.stated[index].map(|value| Stated {
                value,
                tolerance: target.then(|| tolerance(value)),
            });
            let label = (row.name.to_owned(), format!("{} / .0{per}", variant.name));
            let summary = study.findings.summary(row.metric, setting, variant.id);
            // Without an LDA every loss is congestion: the original's column. The LDA is the oracle.
            let original = study
                .findings
                .summary(row.metric, setting, study.scheme.plain.id);
            let mut cell = cell(label, None, "", summary, stated);
            cell.nulls.unaware = original.mean.filter(|_| stated.is_some());
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
    notes.extend(table.no_target.map(|(_, why)| why.to_owned()));
    Ok(Outcome {
        id: table.id.into(),
        title: table.title.into(),
        seeds: study.findings.seeds(),
        confidence: CONFIDENCE,
        cells,
        claims: (table.claims)(&study),
        figures: Vec::new(),
        notes,
    })
}

/// What stands below every table of losses.
const EVENTS: Row = besides("losses found by duplicates, of any cause", |run| run.events);
const DETECTED: Row = besides("of them called wireless", |run| run.detected);
const NOC: Row = besides("of them called congestion", |run| run.noc);
const CUTS: Row = besides("of them took the window down", |run| run.cuts);
const TIMEOUTS: Row = besides("retransmission timeouts", |run| run.timeouts);
const LOSSES: Row = besides("recoveries and timeouts", |run| run.events + run.timeouts);
const THROUGHPUT: Row = besides("throughput, Mbit/s", |run| run.throughput / 1e6);

const fn besides(name: &'static str, metric: Metric) -> Row {
    Row {
        name,
        metric,
        stated: [None; 4],
    }
}

const fn events(stated: [f64; 4]) -> Row {
    Row {
        name: "congestion events",
        metric: |run: &Run| run.events,
        stated: [
            Some(stated[0]),
            Some(stated[1]),
            Some(stated[2]),
            Some(stated[3]),
        ],
    }
}

/// Table 1.
pub(crate) const TABLE_1: &[Row] = &[
    events([124.0, 121.0, 116.0, 125.0]),
    DETECTED,
    NOC,
    CUTS,
    TIMEOUTS,
    LOSSES,
    THROUGHPUT,
];

/// Losses "considered to be caused by network congestion" (Section 4), as Tables 2 and 3 count them: "The small number of
/// congestion events is an indicator that WestwoodLDA did not decrease the congestion window almost 46 times more" (50 − 4).
const fn actions(stated: [f64; 4]) -> Row {
    Row {
        name: "congestion events",
        metric: |run: &Run| run.noc,
        stated: [
            Some(stated[0]),
            Some(stated[1]),
            Some(stated[2]),
            Some(stated[3]),
        ],
    }
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

/// A row of Tables 4 to 6.
const fn action(name: &'static str, metric: Metric, stated: [f64; 4]) -> Row {
    Row {
        name,
        metric,
        stated: [
            Some(stated[0]),
            Some(stated[1]),
            Some(stated[2]),
            Some(stated[3]),
        ],
    }
}

/// Table 4.
pub(crate) const TABLE_4: &[Row] = &[
    action("NKU", |run| run.kept, [53.0, 12.0, 112.0, 73.0]),
    action("NI", |run| run.increased, [1012.0, 764.0, 491.0, 386.0]),
    action("ND", |run| run.decreased, [11.0, 0.0, 5.0, 0.0]),
    action("NOC", |run| run.noc, [166.0, 0.0, 183.0, 0.0]),
    DETECTED,
    TIMEOUTS,
    THROUGHPUT,
];

/// Table 5.
pub(crate) const TABLE_5: &[Row] = &[
    action("NKU", |run| run.kept, [50.0, 38.0, 27.0, 35.0]),
    action("NI", |run| run.increased, [214.0, 187.0, 120.0, 162.0]),
    action("ND", |run| run.decreased, [0.0, 0.0, 0.0, 0.0]),
    action("NOC", |run| run.noc, [20.0, 0.0, 7.0, 0.0]),
    DETECTED,
    TIMEOUTS,
    THROUGHPUT,
];

/// Table 6.
pub(crate) const TABLE_6: &[Row] = &[
    action(
        "detected losses due to errors",
        |run| run.detected,
        [0.0, 894.0, 0.0, 2530.0],
    ),
    action("NOC", |run| run.noc, [1045.0, 48.0, 4833.0, 0.0]),
    TIMEOUTS,
    THROUGHPUT,
];
