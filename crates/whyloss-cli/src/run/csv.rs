//! Results as CSV: one row per value and seed. A value that could not be measured is empty.

use std::fmt::Write as _;

use whyloss_sim::text::defused;
use whyloss_study::results::{Item, Results, Value};

pub(super) fn render(results: &Results<'_>) -> String {
    let mut text = String::from("kind,name,metric,seed,value\n");
    for (kind, items) in [
        ("flow", &results.flows),
        ("frames", &results.frames),
        ("transfers", &results.transfers),
        ("call", &results.calls),
        ("link", &results.links),
    ] {
        for item in items {
            rows(&mut text, kind, item, &results.seeds);
        }
    }
    rows(&mut text, "total", &results.total, &results.seeds);
    text
}

/// Adds the rows of an item. Names need no quotes, because scenario files reject those that would.
fn rows(text: &mut String, kind: &str, item: &Item, seeds: &[u64]) {
    let label = item.label();
    let name = defused(&label);
    for metric in &item.metrics {
        for (seed, value) in seeds.iter().zip(&metric.values) {
            let _ = write!(text, "{kind},{name},{},{seed},", metric.key);
            let _ = match value {
                Value::Count(count) => writeln!(text, "{count}"),
                Value::Real(Some(real)) => writeln!(text, "{real}"),
                Value::Real(None) => writeln!(text),
            };
        }
    }
}
