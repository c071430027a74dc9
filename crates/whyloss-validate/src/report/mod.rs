//! Writes reports: text for the terminal, Markdown for `docs/evidence/validation.md`, and an HTML
//! page.
//!
//! Equal reports give equal bytes.

pub mod html;
pub mod markdown;
pub mod text;

use core::fmt::Write;

use crate::equivalence::{Estimate, Verdict};
use crate::row::Row;
use crate::suite::Suite;
use crate::traces::{Sent, Trace};
use crate::{Report, traces};

/// The summary of one suite.
struct Score {
    equivalent: usize,
    different: usize,
    explained: usize,
    undecided: usize,
}

impl Score {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut score = Self {
            equivalent: 0,
            different: 0,
            explained: 0,
            undecided: 0,
        };
        for row in rows {
            match row.verdict {
                Verdict::Equivalent => score.equivalent += 1,
                Verdict::Undecided => score.undecided += 1,
                Verdict::Different => {
                    score.different += 1;
                    score.explained += usize::from(row.reason.is_some());
                }
            }
        }
        score
    }

    fn total(&self) -> usize {
        self.equivalent + self.different + self.undecided
    }
}

/// Returns the suites that have rows, with their rows.
fn suites(report: &Report) -> impl Iterator<Item = (Suite, Vec<&Row>)> {
    Suite::ALL.into_iter().filter_map(|suite| {
        let rows: Vec<&Row> = report
            .rows
            .iter()
            .filter(|row| row.suite == suite)
            .collect();
        (!rows.is_empty()).then_some((suite, rows))
    })
}

/// Returns the number of decimals that shows three digits of a margin.
fn decimals(margin: f64) -> usize {
    [10.0, 1.0, 0.1, 0.01, 0.001]
        .iter()
        .position(|&bound| margin >= bound)
        .map_or(5, |digits| digits + 1)
}

/// Returns a mean with half its interval: `41.88 ±0.54`.
fn estimate(estimate: &Estimate, decimals: usize) -> String {
    let mut text = format!("{:.decimals$}", estimate.mean);
    if let Some(half_width) = estimate.half_width() {
        let _ = write!(text, " ±{half_width:.decimals$}");
    }
    text
}

/// Returns a row's numbers as texts: `[ours, theirs, difference, margin]`.
fn numbers(row: &Row) -> [String; 4] {
    let decimals = decimals(row.margin);
    [
        estimate(&row.ours, decimals),
        estimate(&row.theirs, decimals),
        format!(
            "{:+.decimals$} ±{:.decimals$}",
            row.difference.mean, row.difference.half_width
        ),
        format!("{:.decimals$}", row.margin),
    ]
}

/// Returns a row's metric with its unit.
fn metric(row: &Row) -> String {
    match row.unit {
        "" => row.metric.to_owned(),
        unit => format!("{}, {unit}", row.metric),
    }
}

/// Describes a trace in a sentence.
fn trace(trace: &Trace) -> String {
    let of = trace.compared;
    let Some((ours, theirs)) = trace.first else {
        return format!(
            "all {of} packets leave at the same time, to within {:.2} µs",
            1e6 * trace.largest
        );
    };
    let packet = |sent: Option<Sent>| {
        sent.map_or_else(
            || "nothing".to_owned(),
            |sent| format!("packet {} at {:.6} s", sent.sequence, sent.at),
        )
    };
    format!(
        "the first {} of {of} packets leave at the same time, {} in all; then {} here, {} there",
        trace.agree,
        trace.alike,
        packet(ours),
        packet(theirs)
    )
}

/// Returns the caption of every table of traces.
fn traces_caption() -> String {
    format!(
        "the first {} packets with the same losses; the same time is within {} µs",
        traces::PACKETS,
        1e6 * traces::TOLERANCE
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;
    use crate::case::Metric;
    use crate::margin::Margin;
    use crate::peers::{Missing, Peer};

    fn row(mean: f64) -> Row {
        let estimate = |mean: f64| Estimate {
            mean,
            deviation: 1.0,
            count: 16,
        };
        let metric = Metric {
            name: "goodput",
            unit: "%",
            margin: Margin::SAME,
        };
        let both = (estimate(mean), estimate(60.0));
        Row::new(Suite::Ns2, "Veno", "a < b, bursts", &metric, both)
    }

    fn report() -> Report {
        let sent = |at, sequence| Some(Sent { at, sequence });
        Report {
            rows: vec![row(60.0), row(63.0), row(70.0)],
            traces: vec![Trace {
                kind: "Reno",
                compared: 1000,
                agree: 5,
                alike: 7,
                largest: 1e-7,
                first: Some((sent(0.5, 6), sent(0.25, 6))),
                reason: None,
            }],
            failures: vec![Failure {
                suite: Suite::Ns2,
                case: "TFRC, WLH".into(),
                why: "`ns` failed".into(),
            }],
            missing: vec![Missing {
                peer: Peer::Ns3,
                why: "there is none".into(),
            }],
            stopped: false,
        }
    }

    #[test]
    fn text_says_everything() {
        let text = text::render(&report());
        for part in [
            "equivalent",
            "undecided",
            "DIFFERENT",
            "why: Linux",
            "5 of 1000 packets",
            "FAILED ns-2, TFRC, WLH: `ns` failed",
            "MISSING ns-3: there is none; install it with: apt-get install libns3-dev g++",
            "ns-2: 1 of 3 equivalent, 1 different (1 of them explained), 1 undecided",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn numbers_by_hand() {
        // t(0.975, 15) = 2.1314 and t(0.95, 30) = 1.6973 give 2.1314/4 and 1.6973·√(2/16).
        let text = numbers(&row(63.0));
        assert_eq!(text, ["63.00 ±0.53", "60.00 ±0.53", "+3.00 ±0.60", "3.00"]);
    }

    #[test]
    fn the_page_is_well_formed_and_needs_no_network() {
        let page = html::render(&report());
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        let document =
            roxmltree::Document::parse_with_options(&page, options).expect("well-formed");
        for node in document.descendants() {
            assert!(!matches!(node.tag_name().name(), "link" | "img"));
            assert_eq!(node.attribute("src"), None);
            for attribute in node.attributes() {
                assert!(!attribute.value().contains("//"), "{}", attribute.value());
            }
        }
        assert!(page.contains("a &lt; b") && page.contains("✗"));
    }

    #[test]
    fn markdown_has_every_row() {
        let text = markdown::render(&report());
        assert_eq!(text.matches("| Veno | a < b, bursts |").count(), 3);
        assert!(text.contains("Missing: ns-3"));
    }

    #[test]
    fn what_differs_without_a_reason_is_named() {
        let mut report = report();
        assert_eq!(report.unexplained().count(), 0);
        report.rows[2].reason = None;
        assert_eq!(report.unexplained().count(), 1);
    }
}
