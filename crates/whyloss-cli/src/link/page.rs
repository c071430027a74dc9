//! Writes a run behind an emulated link as one self-contained page: the links over time, and the
//! losses with their times and causes.

use std::path::Path;
use std::sync::Arc;

use whyloss_emulate::archive;
use whyloss_emulate::record::{Fate, Record};
use whyloss_emulate::spec::Links;
use whyloss_emulate::summary::{LinkCounts, Snapshot, Summary};
use whyloss_sim::trace::tables::LINKS;
use whyloss_sim::trace::{Batch, Cell, Sink};
use whyloss_study::Sign;
use whyloss_study::report::page::{Entry, Page, Table};
use whyloss_study::report::{self, svg};

use crate::error::CliError;
use crate::live::Live;
use crate::live::history::{History, Sample};
use crate::run::picture::Timeline;

/// The number of rows of the log that are drawn at a time.
const ROWS: usize = 1 << 14;
/// The maximum number of links that the page draws.
const MOST_DRAWN: usize = 12;
/// The words for a packet's fate in a link's table, in the order of the log's codes.
const FATES: [&str; 4] = ["delivered", "damaged", "congestion", "wireless"];

/// Writes `index.html` and a figure of each link next to the log.
pub(super) fn write(dir: &Path, links: &Links, summary: &Summary) -> Result<(), CliError> {
    let timeline = timeline(dir, links, summary.seconds)?;
    let mut page = Page::new("What happened behind the link");
    page.section("links", "Links");
    page.table(&counts(&summary.links, summary.seconds));
    let mut notes = vec![
        "overflow: the queue was full; aqm: its discipline dropped the packet; channel: the channel corrupted it".to_owned(),
    ];
    if summary.links.len() > MOST_DRAWN {
        notes.push(format!("only the first {MOST_DRAWN} links are drawn"));
    }
    page.notes(&notes);
    page.section("time", "Over time");
    page.text(
        "A mark above the lines is a lost packet: a red square is congestion, by a full queue or its discipline, and a blue triangle \
         is wireless, by the channel. Marks that would overlap share one. Lines are means over short times, bands reach from the least to the most in \
         them. Of a link whose rate follows a trace, 100 % is the trace's mean.",
    );
    let used = (0..summary.links.len()).filter(|&index| summary.links[index].offered > 1);
    for index in used.take(MOST_DRAWN) {
        let figure = timeline.link(index);
        page.figure_with_file(&figure);
        report::write(dir, &format!("{}.svg", figure.name), &svg::render(&figure))?;
    }
    page.section("emulator", "The emulator");
    let millis = |nanos: u64| nanos as f64 / 1e6;
    let late = summary.lateness;
    page.text(&format!(
        "{:.1} s, seed {}. Packets left later than scheduled by {:.3} ms (half of them less), {:.3} ms (99 % less), {:.3} ms at most.",
        summary.seconds,
        summary.seed,
        millis(late.p50_ns),
        millis(late.p99_ns),
        millis(late.max_ns),
    ));
    page.text(&if summary.is_faulty() {
        format!(
            "The emulator was at fault: {} packets left more than {} ms late, {} were dropped by the kernel. What is above is not what the link alone would have done.",
            summary.faults.late,
            millis(summary.late_bound_ns),
            summary.faults.device,
        )
    } else {
        format!(
            "No packet left more than {} ms late, and the kernel dropped none: every loss is the link's.",
            millis(summary.late_bound_ns)
        )
    });
    page.section("again", "Again");
    page.text("In virtual time, from the log: the same fates must come out.");
    page.listing("whyloss link --replay .");
    page.text("The links, as scenarios have them (`link.toml`):");
    page.listing(&links.text);
    let files = [
        ("packets.jsonl", "every packet with its fate"),
        ("packets.parquet", "the packets as a table for data frames"),
        (
            "summary.json",
            "counts of each link and lateness of the emulator",
        ),
        ("link.toml", "the links"),
    ];
    page.files(
        files
            .into_iter()
            .filter(|(name, _)| dir.join(name).exists()),
    );
    let html = page.finish(&footer());
    Ok(report::write(dir, "index.html", &html)?)
}

/// The live page of a run.
pub(super) struct Watch {
    live: Live,
    links: Vec<History>,
}

impl Watch {
    pub(super) fn start() -> Result<Self, CliError> {
        Ok(Self {
            live: Live::start()?,
            links: Vec::new(),
        })
    }

    /// Shows the counts of the links so far.
    pub(super) fn show(&mut self, snapshot: &Snapshot<'_>) {
        let now = snapshot.now.as_secs_f64();
        self.links.resize(snapshot.links.len(), History::default());
        let links = snapshot.links.iter().zip(snapshot.waiting);
        for ((link, &waiting), history) in links.zip(&mut self.links) {
            history.push(Sample {
                at_s: now,
                bytes: link.bytes,
                waiting: Some(waiting),
                lost: [link.overflow + link.aqm, link.channel],
            });
        }
        let mut page = Page::new("What happens behind the link");
        page.section("links", "Links");
        page.table(&counts(snapshot.links, now));
        page.section("time", "Over time");
        let millis = |nanos: u64| nanos as f64 / 1e6;
        page.text(&format!(
            "{now:.1} s so far. Packets leave later than scheduled by {:.3} ms (half of them less), {:.3} ms (99 % less).",
            millis(snapshot.lateness.p50_ns),
            millis(snapshot.lateness.p99_ns),
        ));
        let used = |index: &usize| snapshot.links[*index].offered > 1;
        for index in (0..snapshot.links.len()).filter(used).take(MOST_DRAWN) {
            let caption = format!("Link {} over time.", snapshot.links[index].name);
            let name = format!("link-{}", index + 1);
            let sign = |cause| Sign::of_loss(Some(cause), Some(cause));
            page.figure(&self.links[index].figure(&name, &caption, "lost", sign));
        }
        self.live.show(&page.finish(&footer()));
    }

    /// Shows the page of the complete run, if it was written.
    pub(super) fn end(self, dir: Option<&Path>) {
        let page = dir.and_then(|dir| std::fs::read_to_string(dir.join("index.html")).ok());
        if let Some(page) = page {
            self.live.show(&page);
        }
    }
}

fn footer() -> String {
    format!("Written by whyloss {}.", env!("CARGO_PKG_VERSION"))
}

fn counts(links: &[LinkCounts], seconds: f64) -> Table {
    let mut table = Table::new([
        "link",
        "offered",
        "delivered",
        "damaged",
        "overflow",
        "aqm",
        "channel",
        "kbit/s",
        "most waiting",
    ]);
    for link in links {
        let rate = link.bytes as f64 * 8e-3 / seconds.max(1e-9);
        let counts = [
            link.offered,
            link.delivered,
            link.damaged,
            link.overflow,
            link.aqm,
            link.channel,
        ];
        let counts = counts.map(|count| Entry::from(count.to_string()));
        table.row(
            [Entry::from(link.name.clone())]
                .into_iter()
                .chain(counts)
                .chain([
                    Entry::from(format!("{rate:.1}")),
                    Entry::from(link.most_waiting.to_string()),
                ]),
        );
    }
    table
}

fn timeline(dir: &Path, links: &Links, seconds: f64) -> Result<Timeline, CliError> {
    let mut timeline = Timeline::until(&links.scenario, seconds);
    let names: Vec<String> = links
        .scenario
        .links
        .iter()
        .map(|l| l.name.clone())
        .collect();
    let fates: Vec<String> = FATES.map(str::to_owned).to_vec();
    let mut records = archive::stream(dir).map_err(CliError::Archive)?;
    loop {
        let rows: Result<Vec<Record>, _> = records.by_ref().take(ROWS).collect();
        let rows = rows.map_err(CliError::Archive)?;
        if rows.is_empty() {
            return Ok(timeline);
        }
        let words = [names.clone(), Vec::new(), fates.clone()].map(Arc::from);
        let mut batch = Batch::new(&LINKS, words);
        for record in &rows {
            if let Some(row) = row(record, &names) {
                batch.push(row);
            }
        }
        // A timeline is kept in memory, so no write fails.
        let _ = timeline.write(&batch);
    }
}

/// Converts a packet's record into a row of a link's table; `None` if the run ended before the
/// packet left the link.
fn row(record: &Record, names: &[String]) -> Option<[Cell; 7]> {
    let link = names.iter().position(|name| *name == record.link)? as u32;
    let fate = match record.fate {
        Fate::Delivered | Fate::Fault => 0,
        Fate::Damaged => 1,
        Fate::Overflow | Fate::Aqm => 2,
        Fate::Channel => 3,
        Fate::Unfinished => return None,
    };
    let nanos = |at: u64| Cell::Nanos(at.cast_signed());
    Some([
        nanos(record.enqueued),
        Cell::Word(link),
        Cell::None,
        Cell::Whole(record.bytes.into()),
        Cell::Whole(record.waiting.into()),
        Cell::Word(fate),
        nanos(record.scheduled),
    ])
}
