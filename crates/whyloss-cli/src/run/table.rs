//! Results as tables for people: means, and half their 95 % confidence intervals with several seeds.

use std::fmt::Write as _;

use super::results::{Item, Metric, Results};

/// A column: its heading, its metric, what the metric is multiplied by, and the decimals shown.
type Column = (&'static str, &'static str, f64, usize);

/// Left out where nothing is.
const DAMAGED: Column = ("damaged", "damaged", 1.0, 0);

const FLOW: [Column; 9] = [
    ("sent", "sent", 1.0, 0),
    ("received", "received", 1.0, 0),
    DAMAGED,
    ("kbit/s", "throughput_bps", 1e-3, 1),
    ("congestion", "lost.congestion", 1.0, 0),
    ("wireless", "lost.wireless", 1.0, 0),
    ("Mc %", "mc", 100.0, 1),
    ("Mw %", "mw", 100.0, 1),
    ("timeouts", "timeouts", 1.0, 0),
];

const DELAY: [Column; 6] = [
    ("mean", "delay.mean_ms", 1.0, 2),
    ("p50", "delay.p50_ms", 1.0, 2),
    ("p95", "delay.p95_ms", 1.0, 2),
    ("p99", "delay.p99_ms", 1.0, 2),
    ("jitter", "delay.jitter_ms", 1.0, 2),
    ("RFC 3550", "delay.rfc3550_jitter_ms", 1.0, 2),
];

const FRAMES: [Column; 5] = [
    ("frames", "frames", 1.0, 0),
    ("whole %", "whole", 100.0, 1),
    ("damaged %", "damaged", 100.0, 1),
    ("late %", "late", 100.0, 1),
    ("never %", "never", 100.0, 1),
];

const LINK: [Column; 5] = [
    ("delivered", "delivered", 1.0, 0),
    DAMAGED,
    ("congestion", "lost.congestion", 1.0, 0),
    ("wireless", "lost.wireless", 1.0, 0),
    ("used %", "utilisation", 100.0, 1),
];

pub(super) fn render(results: &Results<'_>) -> String {
    let mut text = String::new();
    if !results.title.is_empty() {
        let _ = writeln!(text, "{}", results.title);
    }
    let window = results.window.as_secs_f64();
    let _ = match results.seeds[..] {
        [seed] => writeln!(text, "seed {seed}, {window} s measured"),
        [first, .., last] => writeln!(
            text,
            "{} seeds ({first} to {last}), {window} s measured; means ± half the 95 % confidence interval",
            results.seeds.len()
        ),
        [] => Ok(()),
    };
    let mut flows: Vec<&Item> = results.flows.iter().collect();
    if flows.iter().filter(|flow| !flow.background).count() > 1 {
        flows.push(&results.total);
    }
    section(&mut text, "flow", &flows, &FLOW);
    let each: Vec<&Item> = results.flows.iter().collect();
    section(&mut text, "delay, ms", &each, &DELAY);
    if !results.frames.is_empty() {
        let frames: Vec<&Item> = results.frames.iter().collect();
        section(&mut text, "frames, playout delay", &frames, &FRAMES);
    }
    let (quiet, busy): (Vec<&Item>, Vec<&Item>) =
        results.links.iter().partition(|link| is_quiet(link));
    section(&mut text, "link", &busy, &LINK);
    text.push_str(
        "\ncongestion, wireless: packets lost to full queues, to channels\n\
         jitter: standard deviation of the delay; RFC 3550: interarrival jitter at the end\n",
    );
    if !results.frames.is_empty() {
        text.push_str(
            "whole, damaged: frames in time at their playout delay, with no or some bits hit; late: after it\n",
        );
    }
    if !quiet.is_empty() {
        let _ = writeln!(
            text,
            "not shown: {} that lost nothing, used for less than {} % of the time",
            match quiet.len() {
                1 => "1 link".to_owned(),
                count => format!("{count} links"),
            },
            QUIET * 100.0
        );
    }
    text
}

/// A link used less than this that loses nothing is not worth a line.
const QUIET: f64 = 0.05;

fn is_quiet(link: &Item) -> bool {
    [
        ("lost.congestion", 0.0),
        ("lost.wireless", 0.0),
        ("utilisation", QUIET),
    ]
    .iter()
    .all(|&(key, most)| {
        let mean = link.metric(key).and_then(Metric::mean);
        mean.is_none_or(|mean| mean <= most)
    })
}

fn section(text: &mut String, what: &str, items: &[&Item], columns: &[Column]) {
    let nothing = |key| {
        let mut means = items.iter().filter_map(|item| item.metric(key)?.mean());
        means.all(|mean| mean == 0.0)
    };
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|column| column.1 != DAMAGED.1 || !nothing(column.1))
        .collect();
    let mut rows = vec![vec![what.to_owned()]];
    rows[0].extend(columns.iter().map(|column| column.0.to_owned()));
    for item in items {
        let mark = if item.background { " (background)" } else { "" };
        let mut row = vec![format!("{}{mark}", item.label())];
        row.extend(columns.iter().map(|&column| cell(item, column)));
        rows.push(row);
    }
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=columns.len()).map(width).collect();
    let _ = writeln!(text);
    for row in rows {
        let _ = write!(text, "{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {cell:>width$}");
        }
        let _ = writeln!(text);
    }
}

fn cell(item: &Item, &(_, key, scale, decimals): &Column) -> String {
    let Some(metric) = item.metric(key) else {
        return String::new();
    };
    let Some(mean) = metric.mean() else {
        return "-".to_owned();
    };
    // A mean of counts is no count.
    let decimals = decimals.max(usize::from(metric.values.len() > 1));
    match metric.ci95() {
        Some(ci95) => format!("{:.decimals$} ±{:.decimals$}", mean * scale, ci95 * scale),
        None => format!("{:.decimals$}", mean * scale),
    }
}
