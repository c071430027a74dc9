//! Writes a report in Markdown, with a row for each comparison.

use core::fmt::Write;

use super::{Score, metric, numbers, suites, trace, traces_caption};
use crate::Report;
use crate::suite::Suite;

/// Returns the scores, then every row. Ends with a newline.
pub fn render(report: &Report) -> String {
    let mut text = String::from(
        "| compared with | rows | equivalent | different | of them explained | undecided |\n\
         |---|---|---|---|---|---|\n",
    );
    for (suite, rows) in suites(report) {
        let score = Score::of(rows.into_iter());
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            suite.title(),
            score.total(),
            score.equivalent,
            score.different,
            score.explained,
            score.undecided
        );
    }
    for (suite, rows) in suites(report) {
        let _ = write!(
            text,
            "\n## {}\n\n| what | where | metric | ours | theirs | difference | margin | verdict |\n\
             |---|---|---|---|---|---|---|---|\n",
            suite.title()
        );
        for row in rows {
            let [ours, theirs, difference, margin] = numbers(row);
            let reason = row
                .reason
                .map_or_else(String::new, |why| format!(": {why}"));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {ours} | {theirs} | {difference} | {margin} | {}{} |",
                row.kind,
                row.case,
                metric(row),
                row.verdict.name(),
                reason.replace('|', "\\|")
            );
        }
    }
    if !report.traces.is_empty() {
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\n| what | how far | why |\n|---|---|---|\n",
            Suite::Traces.title(),
            capital(&traces_caption())
        );
        for one in &report.traces {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                one.kind,
                trace(one),
                one.reason.unwrap_or_default()
            );
        }
    }
    for failure in &report.failures {
        let _ = writeln!(
            text,
            "\nFailed: {}, {}: {}",
            failure.suite.id(),
            failure.case,
            failure.why
        );
    }
    for missing in &report.missing {
        let _ = writeln!(text, "\nMissing: {} ({})", missing.peer.name(), missing.why);
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect::<String>() + "."
    })
}
