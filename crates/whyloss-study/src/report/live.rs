//! Makes a page interactive with embedded scripts and the data of its time series.
//!
//! A figure of lines, bands and signs over linear axes becomes a chart. It shows values under the
//! pointer, zooms together with the section's other charts, and hides series by their legend
//! entries. uPlot (MIT) draws it. Every table sorts by its headings.

use core::fmt::Write;

use serde_json::{Value, json};

use super::svg::Colours;
use super::svg::axis::{LONG, shared};
use crate::{Figure, Look, Panel, Series};

const UPLOT: &str = include_str!("live/uplot.min.js");
const UPLOT_CSS: &str = include_str!("live/uplot.min.css");
const LIVE: &str = include_str!("live/live.js");

/// Returns a figure's data as an element to embed, or `None` if a chart cannot show it.
pub(super) fn data(figure: &Figure) -> Option<String> {
    let known = |series: &Series| match series.look {
        Look::Line | Look::Dashed | Look::Band | Look::Signs(_) => true,
        // Charts cannot show whiskers.
        Look::Points => series.points.iter().all(|point| point.2.is_none()),
        Look::Bars | Look::Marks => false,
    };
    let fits = |panel: &Panel| {
        !panel.log_x && !panel.log_y && !panel.series.is_empty() && panel.series.iter().all(known)
    };
    // Short lines are curves over a parameter; the picture shows their few points and intervals
    // better.
    let long = |series: &Series| {
        matches!(series.look, Look::Band | Look::Signs(_) | Look::Points)
            || series.points.len() >= LONG
    };
    let mut series = figure.panels.iter().flat_map(|panel| &panel.series);
    if !figure.panels.iter().all(fits) || !series.any(long) {
        return None;
    }
    let colours = Colours::new(figure);
    let panels: Vec<Value> = figure
        .panels
        .iter()
        .map(|it| panel(it, &colours, shared(figure)))
        .collect();
    // Names must not close the element, and XML forbids bare ampersands.
    let text = Value::from(panels).to_string();
    let text = text
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    Some(format!(
        "<script type=\"application/json\">{text}</script>\n"
    ))
}

/// Returns figures as JSON, each with its name, caption and panels.
pub(super) fn json(figures: &[Figure]) -> Value {
    let one = |figure: &Figure| {
        let colours = Colours::new(figure);
        let panels: Vec<Value> = figure
            .panels
            .iter()
            .map(|it| panel(it, &colours, shared(figure)))
            .collect();
        json!({ "name": figure.name, "caption": figure.caption, "panels": panels })
    };
    Value::from(figures.iter().map(one).collect::<Vec<_>>())
}

fn panel(panel: &Panel, colours: &Colours<'_>, span: Option<(f64, f64)>) -> Value {
    let series = panel.series.iter().map(|series| {
        let (colour, (marker, hollow)) = (colours.of(series), colours.marker(series));
        let points = series.points.iter().map(|&(x, y, half)| match half {
            Some(half) if series.look == Look::Band => json!([short(x), short(y - half), short(y + half)]),
            _ => json!([short(x), short(y)]),
        });
        let look = match series.look {
            Look::Band => "band",
            Look::Dashed => "dashed",
            Look::Signs(_) => "sign",
            Look::Points => "points",
            _ => "line",
        };
        json!({ "name": series.name, "look": look, "colour": colour, "marker": marker, "hollow": hollow, "points": points.collect::<Vec<_>>() })
    });
    let span = span.map(|(from, to)| [short(from), short(to)]);
    json!({ "title": panel.title, "x": panel.x_label, "y": panel.y_label, "span": span, "series": series.collect::<Vec<_>>() })
}

/// Rounds to six digits, more than a screen shows; null if not finite.
fn short(real: f64) -> Value {
    format!("{real:.5e}")
        .parse::<f64>()
        .map_or(Value::Null, Value::from)
}

/// Appends the scripts to a page, with the drawing library if it has charts.
pub(super) fn scripts(html: &mut String, charts: bool) {
    let mut script = |text: &str| {
        // CDATA makes the script valid both as HTML and as XML.
        let _ = write!(html, "<script>//<![CDATA[\n{text}\n//]]></script>\n");
    };
    if charts {
        script(UPLOT);
    }
    script(LIVE);
}

/// Returns the style sheet of charts.
pub(super) fn css() -> &'static str {
    UPLOT_CSS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sign;

    fn figure(points: usize) -> Figure {
        let line = (0..points).map(|at| (at as f64, 1.0 / 3.0));
        let sign = Sign::of_loss(None, None);
        let mut series = vec![Series::new("</script> & more", Look::Line, line)];
        if points > LONG {
            series.push(Series::new("lost", Look::Signs(sign), [(1.0, f64::NAN)]));
        }
        Figure::of("a", "b", Panel::new("", ("time, s", "kB"), series))
    }

    #[test]
    fn time_series_have_data_and_curves_of_few_points_have_none() {
        assert_eq!(data(&figure(LONG - 1)), None);
        let text = data(&figure(LONG + 1)).expect("a time series");
        assert!(
            text.contains("[1.0,0.333333]") && text.contains("[1.0,null]"),
            "{text}"
        );
        let mut bars = figure(LONG + 1);
        bars.panels[0].series[0].look = Look::Bars;
        assert_eq!(data(&bars), None);
    }

    #[test]
    fn names_cannot_end_the_element() {
        let text = data(&figure(LONG + 1)).expect("a time series");
        assert_eq!(text.matches('<').count(), 2, "{text}");
        assert!(!text.contains('&'));
    }

    /// A script holds no end of its section, so the page is also valid XML.
    #[test]
    fn scripts_hold_no_end_of_their_section() {
        for script in [UPLOT, LIVE] {
            assert!(!script.contains("]]>") && !script.contains("</script"));
        }
    }

    #[test]
    fn lines_and_bands_break_where_nothing_is_known() {
        let line = Series::new("a", Look::Line, [(0.0, 1.0), (1.0, 1.0), (5.0, 1.0)]).broken(2.0);
        assert_eq!(line.points.len(), 4);
        assert!((line.points[2].0 - 3.0).abs() < 1e-9 && line.points[2].1.is_nan());
    }
}
