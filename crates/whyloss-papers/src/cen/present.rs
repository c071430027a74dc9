//! Runs as tables and figures in the paper's layout.

use whyloss_study::{Cell, Figure, Line, Lines, Look, Metric, Nulls, Runs};

use super::channel::Level;
use super::measure::{CONGESTION, MC, MW, Run, THROUGHPUT};
use super::network::Topology;
use super::scheme::is_tcp;

/// How far a mean may lie from the paper's, in points.
const TOLERANCES: [(Metric<Run>, f64); 4] =
    [(THROUGHPUT, 5.0), (MC, 3.0), (MW, 10.0), (CONGESTION, 0.5)];

/// What the paper states: of a metric for a scheme, at a number of flows.
pub(crate) type Stated = fn(metric: &str, scheme: &str, flows: f64) -> Option<f64>;

/// Every point of a metric at one level as a cell of this row.
pub(crate) fn cells(
    lines: &Lines,
    level: Level,
    metric: &Metric<Run>,
    row: &str,
    stated: Stated,
) -> Vec<Cell> {
    let row = match level {
        Level::High => row.to_owned(),
        _ => format!("{row}, {} loss", level.name()),
    };
    let [unaware, oracle] = ["unaware", "oracle"].map(|id| lines.line(id).bare());
    let tolerance = TOLERANCES.iter().find(|(of, _)| of.name == metric.name);
    let cells = lines.iter().flat_map(|line| {
        let cell = |cell: Cell| {
            let flows = cell.x.unwrap_or(f64::NAN);
            let paper = stated(metric.name, &line.id, flows).filter(|_| level == Level::High);
            // TCP's, TFRC's and Omni's rates of error are what they are by definition: shown, but nothing to be in or out of.
            let counts = is_classified(line) || !is_verdict(metric);
            // What TFRC and Omni get, if it stood in every column.
            let trivial = |line: &Line, mc, mw| match metric.name {
                name if name.starts_with("Mc") => Some(mc),
                name if name.starts_with("Mw") => Some(mw),
                _ => Some(line.at(flows).value).filter(|mean| mean.is_finite()),
            };
            Cell {
                paper,
                tolerance: paper.filter(|_| counts).and(tolerance).map(|of| of.1),
                metric: metric.name,
                nulls: Nulls {
                    unaware: trivial(&unaware, 0.0, 100.0),
                    oracle: trivial(&oracle, 0.0, 0.0),
                },
                ..cell
            }
        };
        line.cells(&row).into_iter().map(cell).collect::<Vec<_>>()
    });
    cells.collect()
}

/// The lines that a figure shows. Mc and Mw of schemes without a classifier are known beforehand and left out, as in the
/// paper.
pub(crate) fn drawn(runs: &Runs<Run>, metric: &Metric<Run>) -> Lines {
    let shown = |line: &Line| is_classified(line) || !is_verdict(metric);
    runs.lines(metric).shown(|line| Some(line).filter(shown))
}

/// A figure in the paper's layout: throughput, Mc, congestion loss, Mw over the number of flows.
pub(crate) fn figure(runs: &Runs<Run>, name: &str, topology: Topology, level: Level) -> Figure {
    let panel = |metric: Metric<Run>| {
        let dashed = |line: Line| {
            let look = Look::line(!is_classified(&line));
            Some(line.measured().drawn(look))
        };
        let lines = drawn(runs, &metric).shown(dashed);
        lines.labelled("%").panel(metric.name)
    };
    Figure {
        name: format!("{name}-{}", level.name()),
        caption: format!(
            "{}, {} wireless loss ({} %)",
            topology.name(),
            level.name(),
            100.0 * level.loss()
        ),
        panels: [THROUGHPUT, MC, CONGESTION, MW].map(panel).into(),
    }
}

/// Whether a metric is about verdicts.
fn is_verdict(metric: &Metric<Run>) -> bool {
    metric.name.starts_with('M')
}

/// Whether the scheme's verdicts are a classifier's own.
fn is_classified(line: &Line) -> bool {
    !(is_tcp(&line.id) || line.id == "unaware" || line.id == "oracle")
}
