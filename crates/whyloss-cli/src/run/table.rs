//! Formats results as tables: means and, with several seeds, half their 95 % confidence intervals.

use std::fmt::Write as _;

use whyloss_sim::text::one_line;
use whyloss_study::report::counted;
use whyloss_study::results::{Item, Metric, Results};

/// A column: its heading, its metric, the factor from the metric to the shown value, and the number
/// of decimals.
type Column = (&'static str, &'static str, f64, usize);

/// The column of damaged packets, shown only if there are any.
const DAMAGED: Column = ("damaged", "damaged", 1.0, 0);
const MARKED: Column = ("marked", "marked", 1.0, 0);

const FLOW: [Column; 10] = [
    ("sent", "sent", 1.0, 0),
    ("received", "received", 1.0, 0),
    DAMAGED,
    MARKED,
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

const TRANSFERS: [Column; 6] = [
    ("completed", "completed", 1.0, 0),
    ("unfinished", "unfinished", 1.0, 0),
    ("mean", "mean_ms", 1e-3, 3),
    ("p50", "p50_ms", 1e-3, 3),
    ("p95", "p95_ms", 1e-3, 3),
    ("p99", "p99_ms", 1e-3, 3),
];

const CALL: [Column; 8] = [
    ("frames", "frames", 1.0, 0),
    ("mean", "mean_ms", 1.0, 1),
    ("p95", "p95_ms", 1.0, 1),
    ("late %", "late", 100.0, 1),
    ("never %", "never", 100.0, 1),
    ("freezes", "freezes", 1.0, 0),
    ("frozen", "frozen_ms", 1.0, 0),
    ("90 %", "ramp_ms", 1.0, 0),
];

const LINK: [Column; 6] = [
    ("delivered", "delivered", 1.0, 0),
    DAMAGED,
    MARKED,
    ("congestion", "lost.congestion", 1.0, 0),
    ("wireless", "lost.wireless", 1.0, 0),
    ("used %", "utilisation", 100.0, 1),
];

/// The tables of a run, and the notes below them.
pub(super) struct Sections {
    pub(super) tables: Vec<Section>,
    pub(super) notes: Vec<String>,
}

/// One table.
pub(super) struct Section {
    /// The heading of the first column.
    pub(super) what: &'static str,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<(String, Vec<Cell>)>,
}

/// A formatted value.
pub(super) struct Cell {
    pub(super) mean: String,
    /// Half the width of the confidence interval, with `±`; `None` if there is none.
    pub(super) interval: Option<String>,
}

pub(super) fn render(results: &Results<'_>) -> String {
    let mut text = String::new();
    if !results.title.is_empty() {
        let _ = writeln!(text, "{}", one_line(results.title));
    }
    let _ = writeln!(text, "{}", what(results));
    let sections = sections(results);
    for section in &sections.tables {
        section.write(&mut text);
    }
    text.push('\n');
    for note in &sections.notes {
        let _ = writeln!(text, "{note}");
    }
    text
}

/// Returns the note on the seeds, the simulated time, and the meaning of `±`.
pub(super) fn what(results: &Results<'_>) -> String {
    let window = results.window.as_secs_f64();
    match results.seeds[..] {
        [first, .., last] => {
            let means = if results.is_random() {
                "means ± half the 95 % confidence interval"
            } else {
                "nothing is random: every seed gives the same"
            };
            let count = results.seeds.len();
            format!("{count} seeds ({first} to {last}), {window} s measured; {means}")
        }
        [seed] => format!("seed {seed}, {window} s measured"),
        [] => String::new(),
    }
}

pub(super) fn sections(results: &Results<'_>) -> Sections {
    let mut flows: Vec<&Item> = results.flows.iter().collect();
    if flows.iter().filter(|flow| !flow.background).count() > 1 {
        flows.push(&results.total);
    }
    let mut marks = Marks::default();
    let mut tables = vec![
        section("flow", &flows, &FLOW, &mut marks),
        section(
            "delay, ms",
            &results.flows.iter().collect::<Vec<_>>(),
            &DELAY,
            &mut marks,
        ),
    ];
    if !results.frames.is_empty() {
        let frames: Vec<&Item> = results.frames.iter().collect();
        tables.push(section(
            "frames, playout delay",
            &frames,
            &FRAMES,
            &mut marks,
        ));
    }
    if !results.transfers.is_empty() {
        let transfers: Vec<&Item> = results.transfers.iter().collect();
        tables.push(section("transfers, s", &transfers, &TRANSFERS, &mut marks));
    }
    if !results.calls.is_empty() {
        let calls: Vec<&Item> = results.calls.iter().collect();
        tables.push(section("call, ms", &calls, &CALL, &mut marks));
    }
    let (quiet, busy): (Vec<&Item>, Vec<&Item>) =
        results.links.iter().partition(|link| is_quiet(link));
    tables.push(section("link", &busy, &LINK, &mut marks));
    let mut notes = vec![
        "congestion, wireless: packets lost to full queues, to channels".to_owned(),
        "Mc: share of congestion losses called wireless; Mw: share of wireless losses called congestion".to_owned(),
        "jitter: standard deviation of the delay; RFC 3550: interarrival jitter at the end".to_owned(),
    ];
    if !results.frames.is_empty() {
        notes.push(
            "whole, damaged: frames in time at their playout delay, with no or some bits hit; late: after it".to_owned(),
        );
    }
    if !results.transfers.is_empty() {
        notes.push(
            "transfers: time from a transfer's beginning until the receiver has all of it"
                .to_owned(),
        );
    }
    if !results.calls.is_empty() {
        notes.push(
            "call: capture to screen; late, never: shares of the frames; freezes: pictures that stood still; 90 %: time until the path was full"
                .to_owned(),
        );
    }
    if marks.same && results.is_random() {
        notes.push("without ±: the same under every seed".to_owned());
    }
    if marks.lone {
        notes.push("*: under one seed alone; the others have no value".to_owned());
    }
    if !quiet.is_empty() {
        notes.push(format!(
            "not shown: {} that lost nothing, used for less than {} % of the time",
            counted(quiet.len() as u64, "link"),
            QUIET * 100.0
        ));
    }
    notes.extend(results.closings.iter().map(|closing| {
        let at = closing.closed.at.as_secs_f64();
        let reason = one_line(&closing.closed.reason);
        format!(
            "{} closed at {at:.2} s (seed {}): {reason}",
            closing.flow, closing.seed
        )
    }));
    Sections { tables, notes }
}

/// Which notes the tables need.
#[derive(Default)]
struct Marks {
    /// Whether some value is equal for all seeds.
    same: bool,
    /// Whether some value exists for only one of several seeds.
    lone: bool,
}

/// The utilisation below which a link without losses gets no row.
const QUIET: f64 = 0.05;

pub(super) fn is_quiet(link: &Item) -> bool {
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

fn section(what: &'static str, items: &[&Item], columns: &[Column], marks: &mut Marks) -> Section {
    let nothing = |key| {
        let mut means = items.iter().filter_map(|item| item.metric(key)?.mean());
        means.all(|mean| mean == 0.0)
    };
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|column| ![DAMAGED.1, MARKED.1].contains(&column.1) || !nothing(column.1))
        .collect();
    let rows = items.iter().map(|item| {
        let mark = if item.background { " (background)" } else { "" };
        let cells = columns.iter().map(|&column| cell(item, column, marks));
        (format!("{}{mark}", item.label()), cells.collect())
    });
    Section {
        what,
        rows: rows.collect(),
        columns: columns.iter().map(|column| column.0).collect(),
    }
}

impl Section {
    fn write(&self, text: &mut String) {
        let mut rows = vec![vec![self.what.to_owned()]];
        rows[0].extend(self.columns.iter().map(|&column| column.to_owned()));
        for (name, cells) in &self.rows {
            let cell = |cell: &Cell| match &cell.interval {
                Some(interval) => format!("{} {interval}", cell.mean),
                None => cell.mean.clone(),
            };
            let cells = cells.iter().map(cell);
            rows.push([name.clone()].into_iter().chain(cells).collect());
        }
        let width = |column: usize| {
            let widths = rows.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..=self.columns.len()).map(width).collect();
        let _ = writeln!(text);
        for row in rows {
            let _ = write!(text, "{:<width$}", row[0], width = widths[0]);
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                let _ = write!(text, "  {cell:>width$}");
            }
            let _ = writeln!(text);
        }
    }
}

fn cell(item: &Item, &(_, key, scale, decimals): &Column, marks: &mut Marks) -> Cell {
    let shown = |mean| Cell {
        mean,
        interval: None,
    };
    let Some(metric) = item.metric(key) else {
        return shown(String::new());
    };
    let Some(mean) = metric.mean() else {
        return shown("-".to_owned());
    };
    // A mean of counts need not be a whole number.
    let decimals = decimals.max(usize::from(metric.varies()));
    let number = format!("{:.decimals$}", mean * scale);
    if metric.values.len() == 1 {
        return shown(number);
    }
    match metric.ci95() {
        None => {
            marks.lone = true;
            shown(format!("{number}*"))
        }
        Some(_) if !metric.varies() => {
            marks.same = true;
            shown(number)
        }
        Some(ci95) => Cell {
            mean: number,
            interval: Some(format!("±{:.decimals$}", ci95 * scale)),
        },
    }
}
