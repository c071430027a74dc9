//! Draws the figures of two results over each other, with solid lines for A and dashed lines for B.

use serde_json::Value;
use whyloss_study::{Figure, Look, Panel, Series};

/// Returns a figure for each panel that both files of series have, with the lines that both have.
pub(super) fn figures(a: &Value, b: &Value) -> Vec<Figure> {
    let mut figures = Vec::new();
    for first in list(a) {
        let name = text(first, "name");
        let Some(second) = list(b).iter().find(|other| text(other, "name") == name) else {
            continue;
        };
        let panels = list(&first["panels"]);
        for (number, panel) in panels.iter().enumerate() {
            let others = list(&second["panels"]);
            let Some(other) = others.iter().find(|other| is_same(panel, other)) else {
                continue;
            };
            let [mut series, dashed] = [(panel, "A", Look::Line), (other, "B", Look::Dashed)]
                .map(|(panel, side, look)| lines(panel, side, look));
            series.extend(dashed);
            if !series.is_empty() {
                let axes = (text(panel, "x"), text(panel, "y"));
                let panel = Panel::new(text(panel, "title"), axes, series);
                let caption = format!("A and B: {}", text(first, "caption"));
                figures.push(Figure::of(
                    &format!("{name}-{}", number + 1),
                    &caption,
                    panel,
                ));
            }
        }
    }
    figures
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Returns whether two panels have the same title and axes.
fn is_same(a: &Value, b: &Value) -> bool {
    ["title", "x", "y"].iter().all(|key| a[key] == b[key])
}

fn lines(panel: &Value, side: &str, look: Look) -> Vec<Series> {
    let series = list(&panel["series"]).iter();
    let lines = series.filter(|series| matches!(text(series, "look"), "line" | "dashed"));
    lines
        .map(|series| {
            // A gap is a point without a y value.
            let real = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
            let points = list(&series["points"]).iter();
            let points = points.map(|point| (real(&point[0]), real(&point[1])));
            let name = match text(series, "name") {
                "" => side.to_owned(),
                name => format!("{side}: {name}"),
            };
            Series::new(&name, look, points)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn series(title: &str, height: f64) -> Value {
        let window =
            json!({ "name": "window", "look": "line", "points": [[0.0, height], [1.0, null]] });
        let lost = json!({ "name": "lost", "look": "sign", "points": [[0.5, 1.0]] });
        let panel = json!({ "title": title, "x": "s", "y": "kB", "series": [window, lost] });
        json!([{ "name": "flow-1", "caption": "A flow.", "panels": [panel] }])
    }

    #[test]
    fn lines_of_the_same_panel_lie_over_each_other() {
        let figures = figures(&series("window", 1.0), &series("window", 2.0));
        let [figure] = &figures[..] else {
            panic!("one panel")
        };
        let lines = &figure.panels[0].series;
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["A: window", "B: window"]);
        assert_eq!(lines[1].look, Look::Dashed);
        assert!(lines[0].points[1].1.is_nan());
    }

    #[test]
    fn other_panels_and_other_files_have_none() {
        assert!(figures(&series("window", 1.0), &series("rate", 1.0)).is_empty());
        assert!(figures(&json!({"a": 1}), &json!([1, "x"])).is_empty());
    }
}
