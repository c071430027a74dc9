//! A report as one page that needs nothing else, in the manner of `reproduce`'s.
//!
//! Each suite has a picture of every difference in margins (inside ±1 is equivalent) and a table of its rows.

use core::fmt::Write;

use whyloss_papers::report::html::{escape, figure, head};
use whyloss_papers::{Figure, Panel, Series};

use super::{Score, metric, numbers, suites, trace, traces_caption};
use crate::Report;
use crate::equivalence::Verdict;
use crate::row::{Row, Suite};

/// Differences are drawn up to so many margins.
const FARTHEST: f64 = 4.0;

/// The whole page.
pub fn render(report: &Report) -> String {
    let mut page = head("Whyloss: validated");
    page.push_str("<header>\n<h1>Validated</h1>\n</header>\n");
    summary(&mut page, report);
    for (suite, rows) in suites(report) {
        section(&mut page, suite, &rows);
    }
    traces(&mut page, report);
    let _ = write!(
        page,
        "<footer>Measured by whyloss {}. Ours and theirs are means with half their 95 % confidence intervals; the \
         difference comes with half its 90 % interval (Welch), which is that of two one-sided tests at 5 %. A row is \
         equivalent if that interval lies within the margin, different if it lies beyond, undecided if it straddles an \
         end. Margins were fixed before anything was run.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    page
}

fn summary(page: &mut String, report: &Report) {
    page.push_str(
        "<div class=\"wide\"><table class=\"summary\">\n<thead><tr><th>compared with</th><th class=\"number\">rows</th>\
         <th class=\"number\">equivalent</th><th class=\"number\">different</th><th class=\"number\">of them \
         explained</th><th class=\"number\">undecided</th></tr></thead>\n<tbody>\n",
    );
    for (suite, rows) in suites(report) {
        let score = Score::of(rows.into_iter());
        let _ = write!(
            page,
            "<tr><td><a href=\"#{}\">{}</a></td>",
            suite.id(),
            escape(suite.title())
        );
        for number in [
            score.total(),
            score.equivalent,
            score.different,
            score.explained,
            score.undecided,
        ] {
            let _ = write!(page, "<td class=\"number\">{number}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n<ul class=\"claims\">\n");
    for failure in &report.failures {
        let _ = writeln!(
            page,
            "<li class=\"out\"><b>failed</b> {}, {} <span class=\"evidence\">{}</span></li>",
            failure.suite.id(),
            escape(&failure.case),
            escape(&failure.why)
        );
    }
    for missing in &report.missing {
        let _ = writeln!(
            page,
            "<li class=\"out\"><b>missing</b> {} <span class=\"evidence\">{}; install it with <code>{}</code></span></li>",
            missing.peer.name(),
            escape(&missing.why),
            escape(missing.peer.install())
        );
    }
    page.push_str("</ul>\n");
}

fn section(page: &mut String, suite: Suite, rows: &[&Row]) {
    let _ = write!(
        page,
        "<section id=\"{}\">\n<h2>{}</h2>\n",
        suite.id(),
        escape(suite.title())
    );
    page.push_str(&figure(&differences(suite, rows)));
    page.push_str(
        "<div class=\"wide\"><table class=\"cells\">\n<thead><tr><th>what and where</th><th>metric</th><th>ours</th>\
         <th>theirs</th><th>difference</th><th>margin</th><th>verdict</th></tr></thead>\n<tbody>\n",
    );
    for row in rows {
        let [ours, theirs, difference, margin] = numbers(row);
        let (class, sign) = match row.verdict {
            Verdict::Equivalent => ("in", "✓"),
            Verdict::Different => ("out", "✗"),
            Verdict::Undecided => ("open", "?"),
        };
        let _ = write!(page, "<tr><th>{}, {}", row.kind, escape(&row.case));
        if let Some(reason) = row.reason {
            let _ = write!(page, "<span class=\"evidence\">{}</span>", escape(reason));
        }
        page.push_str("</th>");
        for cell in [metric(row), ours, theirs, difference, margin] {
            let _ = write!(page, "<td>{}</td>", escape(&cell));
        }
        let _ = writeln!(
            page,
            "<td class=\"{class}\"><b>{sign}</b> {}</td></tr>",
            row.verdict.name()
        );
    }
    page.push_str("</tbody>\n</table></div>\n</section>\n");
}

/// Every difference in margins, a panel per kind.
fn differences(suite: Suite, rows: &[&Row]) -> Figure {
    let panels = rows
        .chunk_by(|a, b| a.kind == b.kind)
        .filter_map(|of_kind| {
            let kind = of_kind.first()?.kind;
            let points = (1..).zip(of_kind).map(|(index, row)| {
                let drawn = |value: f64| (value / row.margin).clamp(-FARTHEST, FARTHEST);
                let half_width = (row.difference.half_width / row.margin).min(FARTHEST);
                (
                    f64::from(index),
                    drawn(row.difference.mean),
                    Some(half_width),
                )
            });
            let count = of_kind.len() as f64;
            let bound = |name: &str, at: f64| Series {
                name: name.into(),
                bars: false,
                dashed: true,
                points: vec![(0.5, at, None), (count + 0.5, at, None)],
            };
            Some(Panel {
                title: kind.into(),
                x_label: "row of the table".into(),
                y_label: "difference in margins".into(),
                log_x: false,
                log_y: false,
                series: vec![
                    Series {
                        name: "ours − theirs".into(),
                        bars: true,
                        dashed: false,
                        points: points.collect(),
                    },
                    bound("margin", 1.0),
                    bound("− margin", -1.0),
                ],
            })
        });
    Figure {
        name: format!("differences-{}", suite.id()),
        caption: format!(
            "{}: each row’s difference in margins, with its 90 % interval, at most {FARTHEST} drawn",
            suite.title()
        ),
        panels: panels.collect(),
    }
}

fn traces(page: &mut String, report: &Report) {
    if report.traces.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<section id=\"{}\">\n<h2>{}</h2>\n<p>Compared: {}.</p>\n<ul class=\"claims\">\n",
        Suite::Traces.id(),
        escape(Suite::Traces.title()),
        escape(&traces_caption())
    );
    for one in &report.traces {
        let (class, sign) = if one.first.is_none() {
            ("in", "✓")
        } else {
            ("out", "✗")
        };
        let _ = writeln!(
            page,
            "<li class=\"{class}\"><b>{sign} {}</b> {} <span class=\"evidence\">{}</span></li>",
            escape(one.kind),
            escape(&trace(one)),
            escape(one.reason.unwrap_or_default())
        );
    }
    page.push_str("</ul>\n</section>\n");
}
