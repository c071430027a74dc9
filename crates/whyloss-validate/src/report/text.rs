//! Writes a report as text for the terminal.

use core::fmt::Write;

use super::{Score, metric, numbers, suites, trace, traces_caption};
use crate::Report;
use crate::equivalence::Verdict;
use crate::row::Row;
use crate::suite::Suite;

/// The number of characters in a line of a reason.
const LINE: usize = 118;

/// Returns a table per suite, diverging packets, failures, missing simulators, and a line with
/// counts. Ends with a newline.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    for (suite, rows) in suites(report) {
        let _ = writeln!(text, "{}\n", suite.title());
        table(&mut text, &rows);
        text.push('\n');
    }
    if !report.traces.is_empty() {
        let _ = writeln!(text, "{}: {}\n", Suite::Traces.title(), traces_caption());
        for one in &report.traces {
            wrapped(&mut text, &format!("{:10} ", one.kind), &trace(one));
            if let Some(reason) = one.reason {
                wrapped(&mut text, "           why: ", reason);
            }
        }
        text.push('\n');
    }
    for failure in &report.failures {
        let what = format!("FAILED {}, {}: ", failure.suite.id(), failure.case);
        wrapped(&mut text, &what, &failure.why);
    }
    for missing in &report.missing {
        let _ = writeln!(
            text,
            "MISSING {}: {}; install it with: {}",
            missing.peer.name(),
            missing.why,
            missing.peer.install()
        );
    }
    for (suite, rows) in suites(report) {
        let score = Score::of(rows.into_iter());
        let _ = writeln!(
            text,
            "{}: {} of {} equivalent, {} different ({} of them explained), {} undecided",
            suite.id(),
            score.equivalent,
            score.total(),
            score.different,
            score.explained,
            score.undecided
        );
    }
    if !report.traces.is_empty() {
        let same = report.traces.iter().filter(|one| one.first.is_none());
        let _ = writeln!(
            text,
            "traces: {} of {} the same to the last packet",
            same.count(),
            report.traces.len()
        );
    }
    text
}

fn table(text: &mut String, rows: &[&Row]) {
    let head = [
        "",
        "where",
        "what",
        "ours",
        "theirs",
        "difference",
        "margin",
        "verdict",
    ];
    let mut lines = vec![head.map(String::from)];
    let mut before = "";
    for row in rows {
        let [ours, theirs, difference, margin] = numbers(row);
        let kind = if row.kind == before { "" } else { row.kind };
        before = row.kind;
        lines.push([
            kind.to_owned(),
            row.case.clone(),
            metric(row),
            ours,
            theirs,
            difference,
            margin,
            verdict(row.verdict).to_owned(),
        ]);
    }
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: [usize; 8] = core::array::from_fn(width);
    let reasons = core::iter::once(None).chain(rows.iter().map(|row| row.reason));
    for (line, reason) in lines.iter().zip(reasons) {
        let mut out = String::new();
        for (index, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            // Numbers are right-aligned.
            if (3..7).contains(&index) {
                let _ = write!(out, "{gap}{cell}  ");
            } else {
                let _ = write!(out, "{cell}{gap}  ");
            }
        }
        let _ = writeln!(text, "{}", out.trim_end());
        if let Some(reason) = reason {
            wrapped(text, &format!("{}why: ", " ".repeat(widths[0] + 2)), reason);
        }
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Equivalent => "equivalent",
        Verdict::Different => "DIFFERENT",
        Verdict::Undecided => "undecided",
    }
}

/// Appends words after `head`, with later lines indented to the first word.
fn wrapped(text: &mut String, head: &str, words: &str) {
    let indent = head.chars().count();
    let mut line = head.to_owned();
    let mut begun = false;
    for word in words.split_whitespace() {
        if begun && line.chars().count() + 1 + word.chars().count() > LINE {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(indent);
            begun = false;
        }
        if begun {
            line.push(' ');
        }
        line.push_str(word);
        begun = true;
    }
    let _ = writeln!(text, "{line}");
}
