//! `whyloss recv --live`: serves the page of a session while packets arrive.

use whyloss::Time;
use whyloss_emulate::endpoint::recv::Received;
use whyloss_study::Sign;
use whyloss_study::report::page::{Entry, Page, Table};

use crate::error::CliError;
use crate::live::Live;
use crate::live::history::{History, Sample};

pub(super) struct Watch {
    live: Live,
    history: History,
    /// The time of the last sample, in seconds since the session began.
    at_s: f64,
}

impl Watch {
    pub(super) fn start() -> Result<Self, CliError> {
        Ok(Self {
            live: Live::start()?,
            history: History::default(),
            at_s: 0.0,
        })
    }

    /// Shows what has arrived so far.
    pub(super) fn show(&mut self, now: Time, received: &Received) {
        self.take(now.as_secs_f64(), received);
    }

    /// Shows the totals of the session.
    pub(super) fn end(&mut self, received: &Received) {
        self.take(self.at_s, received);
    }

    fn take(&mut self, at_s: f64, received: &Received) {
        self.at_s = at_s;
        self.history.push(Sample {
            at_s,
            bytes: received.bytes,
            waiting: None,
            lost: [received.missing_congestion, received.missing_wireless],
        });
        let heading = if received.end {
            "What arrived"
        } else {
            "What arrives"
        };
        let mut page = Page::new(heading);
        page.section("session", "Session");
        let mut table = Table::new([
            "session",
            "packets",
            "bytes",
            "called congestion",
            "called wireless",
            "late",
            "repeated",
            "damaged",
        ]);
        let counts = [
            received.packets,
            received.bytes,
            received.missing_congestion,
            received.missing_wireless,
            received.late,
            received.repeated,
            received.damaged,
        ];
        let state = if received.end { "ended" } else { "open" };
        let counts = counts.map(|count| Entry::from(count.to_string()));
        table.row([Entry::from(state)].into_iter().chain(counts));
        page.table(&table);
        page.section("time", "Over time");
        page.text(
            "A sign above the line is a missing packet. Its shape is the classifier's verdict: a \
             square is congestion, a triangle wireless. Without a classifier all are congestion.",
        );
        let sign = |cause| Sign::of_loss(None, Some(cause));
        let caption = "Payload that arrives, and packets that are missing.";
        page.figure(&self.history.figure("session", caption, "called", sign));
        self.live.show(&page.finish(&format!(
            "Written by whyloss {}.",
            env!("CARGO_PKG_VERSION")
        )));
    }
}
