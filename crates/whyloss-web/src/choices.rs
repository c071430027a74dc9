//! The choices of a page: every algorithm by its name, and the colours of causes.

use serde_json::{Value, json};
use whyloss_sim::Registry;
use whyloss_sim::decider::Line;
use whyloss_study::Sign;
use whyloss_study::outcome::{CAUSES, word};
use whyloss_study::report::svg;

/// Returns the choices as one JSON object.
pub fn render() -> String {
    let registry = Registry::new();
    let causes = CAUSES.map(|cause| {
        let Sign { colour, shape } = Sign::of_loss(Some(cause), Some(cause));
        json!({ "name": word(cause), "colour": svg::colour(colour), "shape": shape })
    });
    let object = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "controllers": lines(registry.controllers()),
        "receivers": lines(registry.receivers().lines()),
        "senders": lines(registry.senders().lines()),
        "schemes": lines(registry.schemes()),
        "causes": causes,
    });
    object.to_string()
}

fn lines(lines: impl Iterator<Item = Line>) -> Vec<Value> {
    let line = |line: Line| json!({ "id": line.id, "name": line.name, "summary": line.summary });
    lines.map(line).collect()
}
