//! The lists from which the user of a page chooses: the names of all algorithms and the colours of
//! causes.

use serde_json::{Value, json};
use whyloss::sender::Classifier;
use whyloss_sim::Registry;
use whyloss_sim::decider::Line;
use whyloss_study::Sign;
use whyloss_study::outcome::{CAUSES, word};
use whyloss_study::report::svg;

/// Returns the names of all algorithms and the colours of causes as one JSON object.
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
        "schemes": schemes(lines(registry.schemes())),
        "causes": causes,
    });
    object.to_string()
}

fn lines(lines: impl Iterator<Item = Line>) -> Vec<Value> {
    let line = |line: Line| json!({ "id": line.id, "name": line.name, "summary": line.summary });
    lines.map(line).collect()
}

/// Marks the schemes that use a classifier. The others have no verdicts to score.
fn schemes(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        let found = line["id"].as_str().and_then(whyloss::schemes::find);
        let scheme = found.and_then(|entry| entry.build(&[]).ok());
        let asks = scheme.is_none_or(|scheme| !matches!(scheme.classifier, Classifier::Unaware(_)));
        line["classifies"] = asks.into();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Schemes that use a classifier are marked. BaLDE is marked; Whyloss is not, because its
    /// controller uses the odds directly.
    #[test]
    fn schemes_that_ask_a_classifier_are_marked() {
        let choices: Value = serde_json::from_str(&render()).expect("JSON");
        let schemes = choices["schemes"].as_array().expect("a list");
        let asks =
            |id: &str| &schemes.iter().find(|line| line["id"] == id).expect(id)["classifies"];
        assert_eq!([asks("whyloss"), asks("balde")], [false, true]);
    }
}
