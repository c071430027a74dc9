//! Provides synthetic outcomes with every kind of content, for the reports' tests.

use crate::{Cell, Claim, Figure, Look, Outcome, Panel, Series, Weight};

/// Returns a table with cells inside, outside and without tolerance, and one unmeasured cell.
pub(crate) fn table() -> Outcome {
    let cell = |row: &str, column: &str, paper, mean, half_width, tolerance| Cell {
        row: row.into(),
        column: column.into(),
        x: None,
        unit: "%",
        paper,
        mean,
        half_width,
        tolerance,
        metric: "throughput",
        ..Cell::default()
    };
    Outcome {
        id: "example-table-1".into(),
        title: "One flow, \"last hop\" <wireless>".into(),
        seeds: 10,
        confidence: 0.95,
        without_interval: None,
        cells: vec![
            cell(
                "throughput",
                "TCP",
                Some(58.0),
                Some(57.62),
                Some(0.41),
                Some(3.0),
            ),
            cell(
                "throughput",
                "Unaware",
                Some(83.0),
                Some(89.9),
                Some(0.2),
                Some(3.0),
            ),
            cell(
                "throughput",
                "ZigZag",
                Some(97.0),
                Some(97.04),
                Some(0.08),
                None,
            ),
            cell("Mc", "TCP", None, None, None, None),
            cell("Mc", "ZigZag", Some(0.7), None, None, Some(1.0)),
            cell(
                "congestion",
                "TCP",
                Some(0.6),
                Some(0.512),
                Some(0.031),
                Some(0.3),
            ),
            cell("congestion", "Unaware", None, Some(0.2), None, None),
            cell(
                "congestion",
                "ZigZag",
                Some(0.3),
                Some(2.31),
                Some(0.12),
                Some(0.3),
            ),
        ],
        claims: vec![
            Claim {
                id: "EX-1".into(),
                text: "Unaware transports fall short of the oracle.".into(),
                holds: true,
                evidence: "57.6 and 89.9 < 99.0 %".into(),
                weight: Weight::Counted,
            },
            Claim {
                id: "EX-10".into(),
                text: "ZigZag loses less to congestion than TCP & Co.".into(),
                holds: false,
                evidence: "2.31 > 0.51 %".into(),
                weight: Weight::Counted,
            },
        ],
        figures: vec![],
        notes: vec![
            "TCP acknowledges every second packet.".into(),
            "Nothing here was measured.".into(),
        ],
    }
}

/// Returns a figure of three panels (one logarithmic) with eight lines each, and one of bars.
pub(crate) fn figure() -> Outcome {
    const FLOWS: [f64; 8] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0];
    const NAMES: [&str; 7] = ["TCP", "TFRC", "Omni", "Biaz", "mBiaz", "Spike", "ZigZag"];
    let curve = |index: usize, n: f64| 99.0 - 40.0 / n / (1.0 + 1.7 * index as f64);
    let panel = |title: &str, unit: &str, log_y: bool, y: &dyn Fn(usize, f64) -> f64| Panel {
        title: title.into(),
        x_label: "flows N".into(),
        y_label: format!("{} ({unit})", title.to_lowercase()),
        log_x: false,
        log_y,
        series: NAMES
            .iter()
            .enumerate()
            .map(|(index, name)| Series {
                name: (*name).into(),
                look: Look::line(index < 3),
                points: FLOWS
                    .iter()
                    .map(|&n| {
                        (
                            n,
                            y(index, n),
                            Some(0.04 * y(index, n) / (1.0 + index as f64)),
                        )
                    })
                    .collect(),
            })
            .collect(),
    };
    let bars = |name: &str, run: f64| Series {
        name: name.into(),
        look: Look::Bars,
        points: (1..=8)
            .map(f64::from)
            .map(|k| (k, 4000.0 / (run * k * k * k), Some(30.0 / k)))
            .collect(),
    };
    Outcome {
        id: "example-fig-1".into(),
        title: "Competition".into(),
        seeds: 3,
        confidence: 0.95,
        without_interval: None,
        cells: FLOWS[..3]
            .iter()
            .flat_map(|&n| {
                NAMES[..3]
                    .iter()
                    .enumerate()
                    .map(move |(index, name)| Cell {
                        row: "throughput".into(),
                        column: (*name).into(),
                        x: Some(n),
                        unit: "%",
                        paper: (index == 1 && n < 2.0).then_some(83.0),
                        mean: Some(curve(index, n)),
                        half_width: Some(0.3),
                        tolerance: Some(2.0),
                        ..Cell::default()
                    })
            })
            .collect(),
        claims: vec![],
        figures: vec![
            Figure {
                name: "example-fig-1".into(),
                caption: "Last hop: throughput, congestion loss and misclassification.".into(),
                panels: vec![
                    panel("Throughput", "%", false, &curve),
                    panel("Congestion loss", "%", false, &|index, n| {
                        (index as f64 + 1.0) * (1.0 - 0.8 / n)
                    }),
                    panel("Loss event rate", "1/packet", true, &|index, n| {
                        0.5 / (n * n) / (index as f64 + 1.0)
                    }),
                ],
            },
            Figure {
                name: "example-fig-1-bars".into(),
                caption: "Lengths of good and error states.".into(),
                panels: vec![Panel {
                    title: "State lengths".into(),
                    x_label: "packets".into(),
                    y_label: "count".into(),
                    log_x: false,
                    log_y: true,
                    series: vec![bars("good", 1.0), bars("error", 3.0)],
                }],
            },
        ],
        notes: vec![],
    }
}
