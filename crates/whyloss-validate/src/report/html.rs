//! Writes a report as one self-contained page, in the style of `reproduce`.
//!
//! Each suite has a picture of every difference in margins (inside ±1 is equivalent) and a table of
//! its rows.

use whyloss_study::report::page::{Entry, Page, Statement, Table, Verdict as Mark};
use whyloss_study::{Figure, Look, Panel, Series};

use super::{Score, metric, numbers, suites, trace, traces_caption};
use crate::Report;
use crate::equivalence::Verdict;
use crate::row::Row;
use crate::suite::Suite;

/// The largest difference that figures show, in margins.
const FARTHEST: f64 = 4.0;

/// Returns the HTML page of a report.
pub fn render(report: &Report) -> String {
    let mut page = Page::new("Whyloss: validated");
    summary(&mut page, report);
    for (suite, rows) in suites(report) {
        section(&mut page, suite, &rows);
    }
    traces(&mut page, report);
    page.finish(&format!(
        "Measured by whyloss {}. Ours and theirs are means with half their 95 % confidence intervals; the difference comes \
         with half its 90 % interval (Welch), which is that of two one-sided tests at 5 %. A row is equivalent if that \
         interval lies within the margin, different if it lies beyond, undecided if it straddles an end. Margins were fixed \
         before anything was run.",
        env!("CARGO_PKG_VERSION")
    ))
}

fn summary(page: &mut Page, report: &Report) {
    let mut table = Table::overview([
        "compared with",
        "rows",
        "equivalent",
        "different",
        "of them explained",
        "undecided",
    ]);
    for (suite, rows) in suites(report) {
        let score = Score::of(rows.into_iter());
        table.row([
            Entry::from(suite.title()).to_section(suite.id()),
            score.total().into(),
            score.equivalent.into(),
            score.different.into(),
            score.explained.into(),
            score.undecided.into(),
        ]);
    }
    page.table(&table);
    let failures = report.failures.iter().map(|failure| {
        let what = format!("{}, {}", failure.suite.id(), failure.case);
        ("failed", what, failure.why.clone())
    });
    let missing = report.missing.iter().map(|missing| {
        let (peer, why) = (missing.peer, &missing.why);
        let evidence = format!("{why}; install it with: {}", peer.install());
        ("missing", peer.name().to_owned(), evidence)
    });
    let statements: Vec<_> = failures.chain(missing).collect();
    page.statements(statements.iter().map(|(label, text, evidence)| Statement {
        verdict: Mark::Bad,
        label,
        id: "",
        text,
        evidence,
    }));
}

fn section(page: &mut Page, suite: Suite, rows: &[&Row]) {
    page.section(suite.id(), suite.title());
    page.figure(&differences(suite, rows));
    let mut table = Table::new([
        "what and where",
        "metric",
        "ours",
        "theirs",
        "difference",
        "margin",
        "verdict",
    ]);
    for row in rows {
        let [ours, theirs, difference, margin] = numbers(row).map(Entry::from);
        let (mark, sign) = match row.verdict {
            Verdict::Equivalent => (Mark::Good, "✓"),
            Verdict::Different => (Mark::Bad, "✗"),
            Verdict::Undecided => (Mark::Open, "?"),
        };
        table.row([
            Entry::from(format!("{}, {}", row.kind, row.case)).detail(row.reason.unwrap_or("")),
            metric(row).into(),
            ours,
            theirs,
            difference,
            margin,
            Entry::from(row.verdict.name()).marked(mark, sign),
        ]);
    }
    page.table(&table);
}

/// Returns the figure of all differences in margins, with a panel per kind.
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
            let ends = [0.5, of_kind.len() as f64 + 0.5];
            let bound = |name, at| Series::new(name, Look::Dashed, ends.map(|x| (x, at)));
            let series = vec![
                Series {
                    name: "ours − theirs".into(),
                    look: Look::Bars,
                    points: points.collect(),
                },
                bound("margin", 1.0),
                bound("− margin", -1.0),
            ];
            let labels = ("row of the table", "difference in margins");
            Some(Panel::new(kind, labels, series))
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

fn traces(page: &mut Page, report: &Report) {
    if report.traces.is_empty() {
        return;
    }
    page.section(Suite::Traces.id(), Suite::Traces.title());
    page.text(&format!("Compared: {}.", traces_caption()));
    let texts: Vec<String> = report.traces.iter().map(trace).collect();
    page.statements(
        report
            .traces
            .iter()
            .zip(&texts)
            .map(|(one, text)| Statement {
                verdict: if one.first.is_none() {
                    Mark::Good
                } else {
                    Mark::Bad
                },
                label: one.kind,
                id: "",
                text,
                evidence: one.reason.unwrap_or_default(),
            }),
    );
}
