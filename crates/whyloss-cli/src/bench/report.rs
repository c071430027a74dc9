//! The same as files: `index.html`, `bench.csv`, and the picture of how cost grows with flows, `bench-flows.svg`.

use std::path::Path;

use whyloss_papers::report::{self, ReportError, svg};
use whyloss_papers::{Figure, Panel, Series};

use super::render;
use super::results::{Results, Row, Side};

/// Writes the report.
///
/// # Errors
/// [`ReportError::Write`] for the first file that cannot be written.
pub(crate) fn write(dir: &Path, results: &Results) -> Result<(), ReportError> {
    report::write(dir, "bench.csv", &render::csv(results))?;
    let picture = figure(results).map(|figure| svg::render(&figure));
    if let Some(picture) = &picture {
        report::write(dir, "bench-flows.svg", picture)?;
    }
    report::write(dir, "index.html", &page(results, picture.as_deref()))
}

/// CPU time per delivered packet over the number of flows; `None` if that was not measured.
fn figure(results: &Results) -> Option<Figure> {
    let series = |name: &str, side: fn(&Row) -> &Side| Series {
        name: name.to_owned(),
        bars: false,
        dashed: false,
        points: results
            .rows
            .iter()
            .filter_map(|row| {
                let rate = side(row).rate()?.median;
                Some((f64::from(row.flows?), 1e9 / rate, None))
            })
            .collect(),
    };
    let series = [
        series("Whyloss", |row| &row.ours),
        series("ns-2", |row| &row.ns2),
    ];
    let drawn: Vec<Series> = series
        .into_iter()
        .filter(|series| !series.points.is_empty())
        .collect();
    (!drawn.is_empty()).then(|| Figure {
        name: "bench-flows".into(),
        caption: "CPU time per delivered packet".into(),
        panels: vec![Panel {
            title: "NewReno flows over 1 Gbit/s".into(),
            x_label: "flows".into(),
            y_label: "CPU time per delivered packet (ns)".into(),
            log_x: true,
            log_y: true,
            series: drawn,
        }],
    })
}

fn page(results: &Results, picture: Option<&str>) -> String {
    let table = render::table(results).replace('&', "&amp;");
    let table = table.replace('<', "&lt;");
    let picture = picture.unwrap_or_default();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>Whyloss: speed</title>\n\
         <style>body {{ font-family: Helvetica, Arial, sans-serif; margin: 2em }} pre {{ overflow-x: auto }}</style>\n\
         </head>\n<body>\n<h1>What a delivered packet costs</h1>\n<pre>{table}</pre>\n{picture}\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::child::Measured;
    use super::*;

    fn row(flows: u32, cpu_seconds: f64) -> Row {
        let run = Measured {
            packets: 1_000_000,
            cpu_seconds,
            ..Measured::default()
        };
        let side = Side {
            runs: vec![run],
            instructions: None,
        };
        Row {
            name: format!("{flows} flows"),
            flows: Some(flows),
            ours: side,
            ns2: Side::default(),
        }
    }

    #[test]
    fn the_picture_shows_nanoseconds_per_packet() {
        let results = Results {
            rows: vec![row(1, 0.1), row(10, 0.2)],
            ..Results::default()
        };
        let figure = figure(&results).expect("a picture");
        let points: Vec<_> = figure.panels[0].series[0].points.iter().collect();
        assert_eq!(figure.panels[0].series.len(), 1);
        assert!((points[1].0 - 10.0).abs() < 1e-9 && (points[1].1 - 200.0).abs() < 1e-9);
        assert!(page(&results, Some("<svg/>")).contains("<svg/>"));
    }
}
