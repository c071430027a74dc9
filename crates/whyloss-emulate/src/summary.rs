//! The summary of a run: counts of each link, lateness, and the emulator's faults.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use whyloss::{Duration, Time};

use crate::clock::processor;
use crate::record::{Fate, Fault};

/// The counts of one link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// The name of the link.
    pub name: String,
    /// The number of packets that reached the link.
    pub offered: u64,
    /// The number of packets that left the far end undamaged, the emulator's faults included.
    pub delivered: u64,
    /// The number of packets that left the far end with flipped bits.
    pub damaged: u64,
    /// The number of bytes that left the far end.
    pub bytes: u64,
    /// The number of packets that found the queue full.
    pub overflow: u64,
    /// The number of packets that the queue's discipline dropped.
    pub aqm: u64,
    /// The number of packets that the channel corrupted.
    pub channel: u64,
    /// The number of packets on the link when the run ended.
    pub unfinished: u64,
    /// The highest number of waiting packets that an arrival found.
    pub most_waiting: u32,
}

/// The number of packets that the emulator itself mistreated, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// The number of packets that left later than the bound.
    pub late: u64,
    /// The number of packets that the kernel did not take, or dropped on their way to the emulator.
    pub device: u64,
}

/// The lateness of packets: how much later than scheduled they left, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// The number of packets measured.
    pub packets: u64,
    /// The median lateness, in nanoseconds.
    pub p50_ns: u64,
    /// The lateness that 99 % of packets do not exceed, in nanoseconds.
    pub p99_ns: u64,
    /// The highest lateness, in nanoseconds.
    pub max_ns: u64,
}

/// The data of a live view.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// The time since the run began.
    pub now: Time,
    /// The counts of the links so far.
    pub links: &'a [LinkCounts],
    /// The number of packets waiting at each link.
    pub waiting: &'a [usize],
    /// The lateness of packets so far.
    pub lateness: Lateness,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The length of the run, in seconds.
    pub seconds: f64,
    /// The processor time of the emulator, its log included, in seconds; `None` if the system does
    /// not report it.
    pub cpu_seconds: Option<f64>,
    /// The seed of queues and channels.
    pub seed: u64,
    /// Whether the forwarder ran with real-time priority.
    pub real_time: bool,
    /// The counts of the links.
    pub links: Vec<LinkCounts>,
    /// The statistics of how late packets left, in nanoseconds.
    pub lateness: Lateness,
    /// The smallest lateness that is a fault, in nanoseconds.
    pub late_bound_ns: u64,
    /// The faults of the emulator.
    pub faults: Faults,
    /// The number of packets that the emulator dropped before any link: neither IPv4 nor IPv6, for
    /// no host of the run, or of a client for which there was no socket.
    pub strays: u64,
}

/// The counts of an unfinished run.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) links: Vec<LinkCounts>,
    pub(crate) faults: Faults,
    pub(crate) strays: u64,
    lateness: Histogram<u64>,
}

impl Counter {
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        let links = names.map(|name| LinkCounts {
            name,
            ..LinkCounts::default()
        });
        Self {
            links: links.collect(),
            faults: Faults::default(),
            strays: 0,
            // The histogram covers up to a minute with a precision of a percent. Its arguments are
            // in range.
            lateness: Histogram::new_with_bounds(1, 60_000_000_000, 2)
                .unwrap_or_else(|_| unreachable!("the bounds of the histogram are constants")),
        }
    }

    /// Records by how much later than scheduled a packet left its last link.
    pub(crate) fn late(&mut self, by: Duration) {
        self.lateness.saturating_record(by.as_nanos().max(1) as u64);
    }

    /// Counts a packet's fate at a link.
    pub(crate) fn count(
        &mut self,
        link: usize,
        bytes: u32,
        waiting: usize,
        fate: Fate,
        fault: Option<Fault>,
    ) {
        let counts = &mut self.links[link];
        counts.offered += 1;
        counts.most_waiting = counts.most_waiting.max(waiting as u32);
        match fate {
            Fate::Delivered | Fate::Fault => counts.delivered += 1,
            Fate::Damaged => counts.damaged += 1,
            Fate::Overflow => counts.overflow += 1,
            Fate::Aqm => counts.aqm += 1,
            Fate::Channel => counts.channel += 1,
            Fate::Unfinished => counts.unfinished += 1,
        }
        if matches!(fate, Fate::Delivered | Fate::Damaged | Fate::Fault) {
            counts.bytes += u64::from(bytes);
        }
        match fault {
            Some(Fault::Late) => self.faults.late += 1,
            Some(Fault::Device) => self.faults.device += 1,
            None => {}
        }
    }

    pub(crate) fn lateness(&self) -> Lateness {
        let at = |quantile| self.lateness.value_at_quantile(quantile);
        match self.lateness.len() {
            0 => Lateness::default(),
            packets => Lateness {
                packets,
                p50_ns: at(0.5),
                p99_ns: at(0.99),
                max_ns: self.lateness.max(),
            },
        }
    }

    pub(crate) fn summary(
        &self,
        now: Time,
        seed: u64,
        real_time: bool,
        late_bound: Duration,
    ) -> Summary {
        Summary {
            seconds: now.as_secs_f64(),
            cpu_seconds: processor(),
            seed,
            real_time,
            links: self.links.clone(),
            lateness: self.lateness(),
            late_bound_ns: late_bound.as_nanos() as u64,
            faults: self.faults,
            strays: self.strays,
        }
    }
}

impl Summary {
    /// Returns whether the emulator had any fault.
    pub fn is_faulty(&self) -> bool {
        self.faults != Faults::default()
    }

    /// Returns the summary as text for a terminal.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let mut line = |cells: [&str; 9]| {
            let _ = write!(text, "{:<12}", cells[0]);
            for cell in &cells[1..] {
                let _ = write!(text, " {cell:>10}");
            }
            text.push('\n');
        };
        line([
            "link",
            "offered",
            "delivered",
            "damaged",
            "overflow",
            "aqm",
            "channel",
            "kbit/s",
            "most queue",
        ]);
        for link in &self.links {
            let rate = link.bytes as f64 * 8e-3 / self.seconds.max(1e-9);
            line([
                &link.name,
                &link.offered.to_string(),
                &link.delivered.to_string(),
                &link.damaged.to_string(),
                &link.overflow.to_string(),
                &link.aqm.to_string(),
                &link.channel.to_string(),
                &format!("{rate:.1}"),
                &link.most_waiting.to_string(),
            ]);
        }
        let millis = |nanos: u64| nanos as f64 / 1e6;
        let late = self.lateness;
        let _ = writeln!(
            text,
            "{:.1} s, seed {}; lateness p50 {:.3} ms, p99 {:.3} ms, most {:.3} ms{}",
            self.seconds,
            self.seed,
            millis(late.p50_ns),
            millis(late.p99_ns),
            millis(late.max_ns),
            if self.real_time {
                ", real-time priority"
            } else {
                ""
            },
        );
        if self.strays > 0 {
            let _ = writeln!(
                text,
                "{} packets were not IP, for no host here, or of one client too many",
                self.strays
            );
        }
        if self.is_faulty() {
            let _ = writeln!(
                text,
                "EMULATOR'S FAULTS: {} packets left more than {} ms late, {} were dropped by the kernel",
                self.faults.late,
                millis(self.late_bound_ns),
                self.faults.device,
            );
        }
        text
    }
}
