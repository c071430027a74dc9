//! Formats a diagnosis as text for a terminal.

use std::fmt::Write as _;

use super::{cause, score, summary, sure, votes};
use crate::Diagnosis;
use crate::flow::{Flow, packets};
use crate::loss::Side;

/// The maximum number of flows shown; others are only counted.
const SHOWN: usize = 20;

/// Returns a table of all flows, and a paragraph on each flow with losses or a slow path. With
/// `one`, returns that flow and each of its losses.
pub fn render(diagnosis: &Diagnosis, one: Option<u64>) -> String {
    let mut text = String::new();
    if let Some(partial) = &diagnosis.partial {
        let _ = writeln!(text, "partial: {partial}; this is what came before\n");
    }
    let flows = diagnosis.worst(one, SHOWN);
    table(&mut text, &flows);
    if one.is_none() && diagnosis.flows.len() > SHOWN {
        let _ = writeln!(
            text,
            "not shown: {} flows that lost no more",
            diagnosis.flows.len() - SHOWN
        );
    }
    for flow in flows {
        let blind = flow.portrait.base_rtt_ms.is_none();
        if one.is_some() || !flow.losses.is_empty() || blind || summary::is_slow(flow) {
            describe(&mut text, flow);
        }
        if one.is_some() {
            losses(&mut text, flow);
        }
    }
    if let Some(score) = &diagnosis.score {
        score::render(&mut text, score);
    }
    footer(&mut text, diagnosis);
    text
}

fn table(text: &mut String, flows: &[&Flow]) {
    let mut rows = vec![
        [
            "flow",
            "from",
            "to",
            "",
            "captured",
            "packets",
            "lost",
            "congestion",
            "wireless",
            "?",
            "Mbit/s",
            "base RTT ms",
        ]
        .map(str::to_owned),
    ];
    for flow in flows {
        let causes = flow.portrait.by_cause;
        let number =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
        let [source, destination] = flow.names();
        rows.push([
            flow.number.to_string(),
            source,
            destination,
            flow.protocol.name().to_owned(),
            flow.vantage.place(),
            flow.counts.data_packets.to_string(),
            causes.total().to_string(),
            causes.congestion.to_string(),
            causes.wireless.to_string(),
            causes.unknown.to_string(),
            number(flow.portrait.mean_mbps),
            number(flow.portrait.base_rtt_ms),
        ]);
    }
    let width: Vec<usize> = (0..rows[0].len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let room = width[column];
            let _ = if (1..5).contains(&column) {
                write!(line, "{cell:<room$}  ")
            } else {
                write!(line, "{cell:>room$}  ")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn describe(text: &mut String, flow: &Flow) {
    let _ = writeln!(text, "\nflow {}: {}", flow.number, summary::paragraph(flow));
    let portrait = &flow.portrait;
    if let Some([p50, p90, p99]) = portrait.queueing_ms {
        let _ = writeln!(
            text,
            "  queueing delay    median {p50:.1} ms, 90 % below {p90:.1} ms, 99 % below {p99:.1} ms"
        );
    }
    let classes = ["1", "2", "3–4", "5–8", "more"];
    let runs: Vec<String> = classes
        .iter()
        .zip(portrait.runs)
        .filter(|(_, many)| *many > 0)
        .map(|(class, many)| format!("{many} of {class}"))
        .collect();
    if !runs.is_empty() {
        let _ = writeln!(text, "  runs of losses    {}", runs.join(", "));
    }
    let counts = &flow.counts;
    for (many, what) in [
        (counts.spurious, "sent again although it had arrived"),
        (counts.reordered, "overtaken, not lost"),
        (
            counts.copies,
            "a copy of a packet that is in the capture already",
        ),
        (
            counts.keep_alives,
            "keep-alive, or probe of a closed window",
        ),
        (counts.restarts, "jump of the sequence numbers"),
    ] {
        if many > 0 {
            let _ = writeln!(text, "  no loss           {many} × {what}");
        }
    }
    if counts.uncaptured_bytes > 0 {
        let _ = writeln!(
            text,
            "  no loss           {} B that arrived and are not in the capture",
            counts.uncaptured_bytes
        );
    }
    for sentence in &flow.cannot_tell {
        let _ = writeln!(text, "  cannot tell       {sentence}");
    }
}

fn losses(text: &mut String, flow: &Flow) {
    if flow.losses.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n  time s      frame  offset        bytes  where   known by        cause        sure %  {}classifiers that say wireless",
        if flow.losses.iter().any(|loss| loss.truth.is_some()) {
            "truth       "
        } else {
            ""
        }
    );
    for loss in &flow.losses {
        let event = loss.event.and_then(|event| flow.events.get(event as usize));
        let wireless: Vec<&str> = event
            .map(|event| {
                votes(event)
                    .filter(|(_, cause)| *cause == "wireless")
                    .map(|(id, _)| id)
                    .collect()
            })
            .unwrap_or_default();
        let asked = event.map_or(0, |event| event.votes.asked.count_ones());
        let _ = writeln!(
            text,
            "  {:<11.6} {:<6} {:<13} {:<6} {:<7} {:<15} {:<12} {:<7} {}{} of {asked}{}{}",
            loss.time.saturating_sub(flow.span.0) as f64 / 1e9,
            loss.frame,
            loss.offset,
            loss.bytes,
            if loss.side == Side::Before {
                "before"
            } else {
                "behind"
            },
            loss.evidence.name(),
            cause(loss),
            sure(loss).unwrap_or("–".to_owned()),
            loss.truth
                .map_or(String::new(), |truth| format!("{:<12}", truth.name())),
            wireless.len(),
            if wireless.is_empty() { "" } else { ": " },
            wireless.join(", "),
        );
    }
}

fn footer(text: &mut String, diagnosis: &Diagnosis) {
    text.push('\n');
    for note in &diagnosis.notes {
        let _ = writeln!(text, "{note}");
    }
    let skipped = diagnosis.skipped;
    for (many, what) in [
        (skipped.other, "of protocols that are not read here"),
        (skipped.short, "cut too short to tell anything"),
        (skipped.malformed, "whose headers contradict themselves"),
        (skipped.fragments, "whose other fragments are missing"),
    ] {
        if many > 0 {
            let _ = writeln!(text, "passed over: {} {what}", packets(many));
        }
    }
    if diagnosis.flows.is_empty() {
        let _ = writeln!(text, "no flow of data among {} frames", diagnosis.frames);
    } else {
        let _ = writeln!(
            text,
            "lost: original transmissions and retransmissions that never arrived; ?: the cause is unclear (below {:.0} % sure)",
            crate::verdict::SURE * 100.0
        );
    }
}
