//! Writes a sweep as one page, and as `sweep.json`, which `whyloss compare` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};
use whyloss_study::report::page::{Entry, Page, Table};
use whyloss_study::report::{self, ReportError, counted, svg};
use whyloss_study::statistics::Summary;
use whyloss_study::sweep::{AxisColumn, Rows, Sweep};
use whyloss_study::{Figure, Look, Panel, Series};

/// The maximum number of points in the tables, and of lines in a figure.
const MOST_POINTS: usize = 500;
const MOST_SERIES: usize = 8;

/// The runs of one point.
struct Point {
    /// The point's value on each axis, different from that of other points.
    at: Vec<String>,
    /// The point's place on the x axis of figures.
    x: Option<f64>,
    /// The values of each metric, by seed.
    metrics: Vec<BTreeMap<u64, f64>>,
}

impl Point {
    /// Returns the point's axes and values, such as `loss=0.01, classifier=zigzag`.
    fn name(&self, axes: &[&str]) -> String {
        let parts = axes.iter().zip(&self.at);
        let parts: Vec<String> = parts.map(|(axis, at)| format!("{axis}={at}")).collect();
        parts.join(", ")
    }
}

/// The progress of a sweep.
pub(super) struct State {
    pub(super) rows: Rows,
    /// The value on each axis of each point with rows.
    labels: Vec<Vec<String>>,
    /// The settings of each point with missing runs, and the number of these runs.
    pub(super) unfinished: Vec<(String, usize)>,
    /// The number of finished runs, and of all runs.
    pub(super) count: (usize, usize),
}

impl State {
    pub(super) fn of(sweep: &Sweep) -> Self {
        let rows = sweep.rows();
        let mut points = rows.points.clone();
        points.dedup();
        Self {
            labels: sweep.plan().labels(&points),
            rows,
            unfinished: sweep.unfinished(),
            count: sweep.count(),
        }
    }
}

/// Writes `index.html`, `sweep.json` and the figure of each metric.
pub(super) fn write(dir: &Path, state: &State, name: &str) -> Result<(), ReportError> {
    let rows = &state.rows;
    let across = across(rows);
    let points = points(state, across);
    let axes: Vec<&str> = rows.axes.iter().map(|(name, _)| name.as_str()).collect();
    let figures = across.map_or_else(Vec::new, |across| figures(rows, &points, across));
    let more = "The same command continues with the missing runs:";
    let mut page = page(state, &points, more, name);
    for figure in &figures {
        page.figure_with_file(figure);
        report::write(dir, &format!("{}.svg", figure.name), &svg::render(figure))?;
    }
    report::write_series(dir, &figures)?;
    page.files([
        ("rows.parquet", "a row for each run"),
        ("sweep.json", "the values of each point by seed"),
        ("series.json", "the data of the pictures"),
    ]);
    let json = json(rows, &points, &axes).to_string() + "\n";
    report::write(dir, "sweep.json", &json)?;
    report::write(dir, "index.html", &page.finish(&footer()))
}

/// Returns the page of an unfinished sweep.
pub(super) fn render(state: &State, name: &str) -> String {
    let across = across(&state.rows);
    let points = points(state, across);
    let mut page = page(state, &points, "Missing so far:", name);
    let figures = across.map(|across| figures(&state.rows, &points, across));
    for figure in figures.iter().flatten() {
        page.figure(figure);
    }
    page.finish(&footer())
}

fn footer() -> String {
    format!("Simulated by whyloss {}.", env!("CARGO_PKG_VERSION"))
}

/// Returns the page without its figures. `more` is a link to the table of missing runs.
fn page(state: &State, points: &[Point], more: &str, name: &str) -> Page {
    let State {
        rows,
        unfinished,
        count: (finished, asked),
        ..
    } = state;
    let axes: Vec<&str> = rows.axes.iter().map(|(name, _)| name.as_str()).collect();
    let mut page = Page::new(&format!("Sweep {name}"));
    page.section("progress", "Progress");
    let failed = rows.errors.iter().flatten().count();
    page.text(&format!(
        "{finished} of {asked} runs are there, at {}; {failed} of them failed.",
        counted(points.len() as u64, "point")
    ));
    if !unfinished.is_empty() {
        page.text(more);
        let mut table = Table::new(["sets", "runs missing"]);
        for (sets, missing) in unfinished.iter().take(MOST_POINTS) {
            table.row([Entry::from(sets.as_str()), (*missing).into()]);
        }
        page.table(&table);
        if unfinished.len() > MOST_POINTS {
            let more = unfinished.len() - MOST_POINTS;
            page.text(&format!("{more} more points lack runs."));
        }
    }
    page.section("points", "Points");
    page.table(&table(rows, points, &axes));
    if points.len() > MOST_POINTS {
        page.text(&format!("Only the first {MOST_POINTS} points are shown."));
    }
    page.text("A mean stands with half the width of its 95 % interval over the seeds.");
    if across(rows).is_some() {
        page.section("pictures", "Pictures");
    }
    page
}

/// Returns the index of the axis that becomes the x axis of the figures: the first numeric one with
/// at least three values.
fn across(rows: &Rows) -> Option<usize> {
    let many = |numbers: BTreeSet<u64>| numbers.len() >= 3;
    rows.axes.iter().position(|(_, column)| match column {
        AxisColumn::Whole(values) => {
            many(values.iter().map(|value| value.cast_unsigned()).collect())
        }
        AxisColumn::Real(values) => many(values.iter().map(|value| value.to_bits()).collect()),
        AxisColumn::Text(_) => false,
    })
}

fn points(state: &State, across: Option<usize>) -> Vec<Point> {
    let rows = &state.rows;
    let mut labels = state.labels.iter();
    let mut points: Vec<Point> = Vec::new();
    let mut last = None;
    for (row, (&number, &seed)) in rows.points.iter().zip(&rows.seeds).enumerate() {
        if last != Some(number) {
            last = Some(number);
            let x = across.and_then(|axis| match &rows.axes[axis].1 {
                AxisColumn::Whole(values) => Some(values[row] as f64),
                AxisColumn::Real(values) => Some(values[row]),
                AxisColumn::Text(_) => None,
            });
            points.push(Point {
                at: labels.next().cloned().unwrap_or_default(),
                x,
                metrics: vec![BTreeMap::new(); rows.metrics.len()],
            });
        }
        if let Some(point) = points.last_mut() {
            for (values, (_, column)) in point.metrics.iter_mut().zip(&rows.metrics) {
                if column[row].is_finite() {
                    values.insert(seed, column[row]);
                }
            }
        }
    }
    points
}

fn summary(values: &BTreeMap<u64, f64>) -> Summary {
    Summary::of(&values.values().copied().collect::<Vec<_>>())
}

fn table(rows: &Rows, points: &[Point], axes: &[&str]) -> Table {
    let metrics = rows
        .metrics
        .iter()
        .map(|(column, _)| match column.unit.as_str() {
            "" => column.name.clone(),
            unit => format!("{} ({unit})", column.name),
        });
    let axes = axes.iter().map(|&axis| axis.to_owned());
    let mut table = Table::new(axes.chain(metrics));
    for point in points.iter().take(MOST_POINTS) {
        let metrics = point.metrics.iter().map(|values| {
            let Summary { mean, ci95, .. } = summary(values);
            let Some(mean) = mean else {
                return Entry::from("–");
            };
            let entry = Entry::from(short(mean));
            ci95.map_or(entry.clone(), |half| {
                entry.interval(format!("±{}", short(half)))
            })
        });
        let at = point.at.iter().map(|text| Entry::from(text.as_str()));
        table.row(at.chain(metrics));
    }
    table
}

/// Formats a number with five significant digits.
fn short(real: f64) -> String {
    let rounded = format!("{real:.4e}").parse::<f64>();
    rounded.map_or_else(|_| real.to_string(), |real| real.to_string())
}

/// Returns a figure of each metric over axis `across`, with a line for each combination of the
/// other axes.
fn figures(rows: &Rows, points: &[Point], across: usize) -> Vec<Figure> {
    let mut lines: Vec<(String, Vec<&Point>)> = Vec::new();
    for point in points {
        let others = (0..point.at.len()).filter(|&axis| axis != across);
        let names: Vec<&str> = others.map(|axis| point.at[axis].as_str()).collect();
        let name = names.join(", ");
        match lines.iter().position(|(known, _)| *known == name) {
            Some(line) => lines[line].1.push(point),
            None if lines.len() == MOST_SERIES => {}
            None => lines.push((name, vec![point])),
        }
    }
    let metrics = rows.metrics.iter().enumerate();
    metrics
        .map(|(metric, (column, _))| {
            // Numbers of six digits would overlap the name of their axis.
            let (scale, unit) = match column.unit.as_str() {
                "bit/s" => (1e-3, "kbit/s"),
                unit => (1.0, unit),
            };
            let series = lines.iter().map(|(name, points)| {
                let mut points: Vec<(f64, f64, Option<f64>)> = points
                    .iter()
                    .filter_map(|point| {
                        let Summary { mean, ci95, .. } = summary(&point.metrics[metric]);
                        Some((point.x?, mean? * scale, ci95.map(|half| half * scale)))
                    })
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Series {
                    name: name.clone(),
                    look: Look::Line,
                    points,
                }
            });
            let axis = match unit {
                "" => column.name.clone(),
                unit => format!("{} ({unit})", column.name),
            };
            let across = &rows.axes[across].0;
            Figure::of(
                &format!("metric-{}", metric + 1),
                &format!("{} over {across}.", column.name),
                Panel::new("", (across, &axis), series.collect()),
            )
        })
        .collect()
}

/// Returns the values by point and seed, in the form of a run's `results.json`.
fn json(rows: &Rows, points: &[Point], axes: &[&str]) -> Value {
    let seeds: BTreeSet<u64> = rows.seeds.iter().copied().collect();
    let points = points.iter().map(|point| {
        let mut object = Map::new();
        object.insert("name".into(), point.name(axes).into());
        for ((column, _), values) in rows.metrics.iter().zip(&point.metrics) {
            let values = seeds.iter().map(|seed| values.get(seed));
            let values: Vec<Option<&f64>> = values.collect();
            object.insert(column.name.clone(), json!({ "values": values }));
        }
        Value::Object(object)
    });
    json!({ "seeds": seeds, "points": points.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use whyloss_study::experiment::Unwatched;
    use whyloss_study::sweep::Plan;

    use super::*;

    #[test]
    fn points_that_look_alike_have_different_names() {
        let text = r#"
            metrics = ["total.sent"]
            set = { duration = "25 s" }
            [[axis]]
            name = "keys"
            keys = ["link.last.delay", "link.last.rate"]
            values = [["10 ms", "1 Mbit/s"], ["10 ms", "2 Mbit/s"], ["20 ms", "2 Mbit/s"]]
        "#;
        let scenario = include_str!("../../../../scenarios/wlh.toml").to_owned();
        let plan = Plan::of_scenario(text, "plan.toml", scenario, "wlh.toml".into());
        let mut sweep = Sweep::new(plan.expect("a plan")).expect("valid");
        let (every, stop) = (Duration::from_secs(10), AtomicBool::new(false));
        let ran = sweep.run(None, every, &Unwatched, &stop);
        ran.expect("runs");
        let state = State::of(&sweep);
        let json = json(&state.rows, &points(&state, None), &["keys"]);
        let names = [0, 1, 2].map(|point| json["points"][point]["name"].as_str());
        let rate = |rate: &str| {
            format!("keys=10 ms (link.last.delay=\"10 ms\", link.last.rate=\"{rate} Mbit/s\")")
        };
        let expected = [rate("1"), rate("2"), "keys=20 ms".to_owned()];
        assert_eq!(names.map(Option::unwrap_or_default), expected);
        // The column of the rows shows only the first value.
        let (_, column) = &state.rows.axes[0];
        let shown = ["10 ms", "10 ms", "20 ms"].map(str::to_owned);
        assert_eq!(*column, AxisColumn::Text(shown.to_vec()));
    }
}
