//! Findings as tables and figures in the paper's layout.

use super::channel::Level;
use super::findings::{Findings, Metric};
use super::network::Topology;
use super::scheme::{Scheme, is_tcp};
use whyloss_study::Nulls;

use whyloss_study::{Cell, Figure, Panel, Series};

/// A row label: the metric, and the level where it is not the paper's default.
pub(crate) fn row(metric: Metric, level: Level) -> String {
    match level {
        Level::High => metric.name().into(),
        _ => format!("{}, {} loss", metric.name(), level.name()),
    }
}

/// A table of one topology with one flow: a row for each metric of each level, a column for each scheme. `paper` gives
/// the stated value of a metric for a scheme at high loss.
pub(crate) fn table(
    findings: &Findings,
    topology: Topology,
    schemes: &[Scheme],
    paper: impl Fn(Metric, &str) -> Option<f64>,
) -> Vec<Cell> {
    let mut cells = Vec::new();
    // With one flow, pooled rates are the flow's own.
    let metrics = &Metric::ALL[..6];
    for level in Level::ALL {
        for &metric in metrics {
            for scheme in schemes {
                let stated = paper(metric, &scheme.id).filter(|_| level == Level::High);
                cells.push(cell(findings, metric, topology, level, 1, scheme, stated));
            }
        }
    }
    cells
}

/// The points of a figure: a row for each panel, a column for each scheme, x the number of flows. Mc and Mw of schemes
/// without a classifier are known beforehand and left out, as in the paper.
pub(crate) fn curve(
    findings: &Findings,
    (topology, level): (Topology, Level),
    flows: &[usize],
    schemes: &[Scheme],
    paper: impl Fn(Metric, &str, usize) -> Option<f64>,
) -> Vec<Cell> {
    let mut cells = Vec::new();
    for metric in Metric::ALL {
        for scheme in drawn(metric, schemes) {
            for &n in flows {
                let stated = paper(metric, &scheme.id, n).filter(|_| level == Level::High);
                let mut cell = cell(findings, metric, topology, level, n, scheme, stated);
                cell.row = format!("{}, {}", topology.name(), cell.row);
                cell.x = Some(n as f64);
                cells.push(cell);
            }
        }
    }
    cells
}

/// A figure in the paper's layout: throughput, Mc, congestion loss, Mw over the number of flows.
pub(crate) fn figure(
    findings: &Findings,
    name: &str,
    (topology, level): (Topology, Level),
    flows: &[usize],
    schemes: &[Scheme],
) -> Figure {
    let panel = |metric: Metric| {
        let series = drawn(metric, schemes).map(|scheme| {
            let points = flows.iter().filter_map(|&n| {
                let summary = findings.summary(metric, topology, level, n, &scheme.id)?;
                Some((n as f64, summary.mean?, summary.ci95))
            });
            let dashed = !is_classified(scheme);
            Series {
                name: scheme.name.clone(),
                look: whyloss_study::Look::line(dashed),
                points: points.collect(),
            }
        });
        Panel {
            title: metric.name().into(),
            x_label: "flows".into(),
            y_label: "%".into(),
            log_x: false,
            log_y: false,
            series: series.collect(),
        }
    };
    let panels = [
        Metric::Throughput,
        Metric::Mc,
        Metric::Congestion,
        Metric::Mw,
    ]
    .map(panel);
    Figure {
        name: format!("{name}-{}", level.name()),
        caption: format!(
            "{}, {} wireless loss ({} %)",
            topology.name(),
            level.name(),
            100.0 * level.loss()
        ),
        panels: panels.into(),
    }
}

fn cell(
    findings: &Findings,
    metric: Metric,
    topology: Topology,
    level: Level,
    flows: usize,
    scheme: &Scheme,
    paper: Option<f64>,
) -> Cell {
    let summary = findings.summary(metric, topology, level, flows, &scheme.id);
    // TCP's, TFRC's and Omni's rates of error are what they are by definition: shown, but nothing to be in or out of.
    let by_definition = matches!(metric, Metric::Mc | Metric::Mw) && !is_classified(scheme);
    Cell {
        row: row(metric, level),
        column: scheme.name.clone(),
        x: None,
        unit: "%",
        paper,
        mean: summary.and_then(|summary| summary.mean),
        half_width: summary.and_then(|summary| summary.ci95),
        tolerance: paper.filter(|_| !by_definition).map(|_| metric.tolerance()),
        metric: metric.name(),
        nulls: nulls(findings, metric, topology, level, flows),
        ..Cell::default()
    }
}

/// What TFRC and Omni get, if it stood in every column.
fn nulls(
    findings: &Findings,
    metric: Metric,
    topology: Topology,
    level: Level,
    flows: usize,
) -> Nulls {
    let of = |scheme, (mc, mw)| match metric {
        Metric::Mc | Metric::PooledMc => Some(mc),
        Metric::Mw | Metric::PooledMw => Some(mw),
        _ => {
            let summary = findings.summary(metric, topology, level, flows, scheme);
            summary.and_then(|summary| summary.mean)
        }
    };
    Nulls {
        unaware: of("unaware", (0.0, 100.0)),
        oracle: of("oracle", (0.0, 0.0)),
    }
}

/// Whether the scheme's verdicts are a classifier's own.
fn is_classified(scheme: &Scheme) -> bool {
    !(is_tcp(&scheme.id) || scheme.id == "unaware" || scheme.id == "oracle")
}

fn drawn(metric: Metric, schemes: &[Scheme]) -> impl Iterator<Item = &Scheme> {
    let verdicts = matches!(
        metric,
        Metric::Mc | Metric::Mw | Metric::PooledMc | Metric::PooledMw
    );
    schemes
        .iter()
        .filter(move |scheme| !verdicts || is_classified(scheme))
}
