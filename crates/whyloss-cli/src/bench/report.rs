//! Writes the costs as files: `index.html`, `bench.csv`, and `bench-flows.svg`, which shows how
//! cost grows with flows.

use std::path::Path;

use whyloss_study::report::page::Page;
use whyloss_study::report::{self, ReportError, svg};
use whyloss_study::{Figure, Panel, Series};

use super::render;
use super::results::{Results, Simulator};

/// Writes `index.html`, `bench.csv` and a figure to `dir`.
///
/// # Errors
/// Returns [`ReportError::Write`] for the first file that cannot be written.
pub(crate) fn write(dir: &Path, results: &Results) -> Result<(), ReportError> {
    report::write(dir, "bench.csv", &render::csv(results))?;
    let figure = figure(results);
    if let Some(figure) = &figure {
        report::write(dir, "bench-flows.svg", &svg::render(figure))?;
    }
    report::write(dir, "index.html", &page(results, figure.as_ref()))
}

/// Returns the figure of CPU time per delivered packet over the number of flows; `None` if it was
/// not measured.
fn figure(results: &Results) -> Option<Figure> {
    let series = |simulator: Simulator| {
        let points = results.rows.iter().filter_map(|row| {
            let rate = row.side(simulator).rate()?.median;
            Some((f64::from(row.flows?), 1e9 / rate, None))
        });
        let name = match simulator {
            Simulator::Whyloss => "Whyloss",
            peer => peer.name(),
        };
        Series {
            name: name.to_owned(),
            look: whyloss_study::Look::Line,
            points: points.collect(),
        }
    };
    let drawn: Vec<Series> = Simulator::ALL
        .map(series)
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

fn page(results: &Results, figure: Option<&Figure>) -> String {
    let mut page = Page::new("Cost of a delivered packet");
    page.section("costs", "Costs");
    page.listing(&render::table(results));
    if let Some(figure) = figure {
        page.figure_with_file(figure);
    }
    page.files([(
        "bench.csv",
        "each cost with its least, median and largest value",
    )]);
    page.finish(&format!(
        "Measured by whyloss {} on this machine.",
        env!("CARGO_PKG_VERSION")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::child::Measured;
    use super::super::results::{Row, Side};
    use super::*;

    fn row(flows: u32, cpu_seconds: f64) -> Row {
        let run = Measured {
            packets: 1_000_000,
            cpu_seconds,
            ..Measured::default()
        };
        let mut row = Row::new(&format!("{flows} flows"), Some(flows));
        for (simulator, factor) in [(Simulator::Whyloss, 1.0), (Simulator::Ns3, 100.0)] {
            *row.side_mut(simulator) = Side {
                runs: vec![Measured {
                    cpu_seconds: factor * cpu_seconds,
                    ..run
                }],
                ..Side::default()
            };
        }
        row
    }

    #[test]
    fn the_picture_shows_nanoseconds_per_packet() {
        let results = Results {
            rows: vec![row(1, 0.1), row(10, 0.2)],
            ..Results::default()
        };
        let figure = figure(&results).expect("a picture");
        let [ours, ns3] = &figure.panels[0].series[..] else {
            panic!("two that ran, not {}", figure.panels[0].series.len());
        };
        assert_eq!((ours.name.as_str(), ns3.name.as_str()), ("Whyloss", "ns-3"));
        let (flows, nanoseconds, _) = ours.points[1];
        assert!((flows - 10.0).abs() < 1e-9 && (nanoseconds - 200.0).abs() < 1e-9);
        assert!((ns3.points[1].1 - 20_000.0).abs() < 1e-6);
        assert!(page(&results, Some(&figure)).contains("<svg"));
    }
}
