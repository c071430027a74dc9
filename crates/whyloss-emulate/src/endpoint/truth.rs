//! Verdicts against the truth: what a receiver called each missing packet, and what an emulator's
//! log says of it.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use whyloss::{Cause, Confusion};

use super::arrivals::Called;
use crate::header::Headers;
use crate::record::{Fate, Record};

/// What packets of a session came to, by the log.
#[derive(Clone, Debug, Default)]
pub struct Fates(HashMap<u32, Option<Cause>>);

/// Lost packets by what they were called and why they were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scores {
    /// Lost to queues, and called so.
    pub congestion_called_congestion: u64,
    /// Lost to queues, and called wireless.
    pub congestion_called_wireless: u64,
    /// Lost to channels, and called congestion.
    pub wireless_called_congestion: u64,
    /// Lost to channels, and called so.
    pub wireless_called_wireless: u64,
    /// Of which the log says no loss: overtaken, or lost where it does not look.
    pub unknown: u64,
}

impl Fates {
    /// The fates of the data packets of a session: those whose headers are its own.
    pub fn of<'a>(
        records: impl IntoIterator<Item = &'a Record>,
        own: impl Fn(&Headers) -> bool,
    ) -> Self {
        let mut fates = HashMap::new();
        for record in records {
            let Some(number) = record.headers.sequence.filter(|_| own(&record.headers)) else {
                continue;
            };
            let cause = match record.fate {
                Fate::Overflow | Fate::Aqm => Some(Cause::Congestion),
                Fate::Channel | Fate::Damaged => Some(Cause::Wireless),
                Fate::Delivered | Fate::Fault | Fate::Unfinished => None,
            };
            let known = fates.entry(number).or_insert(cause);
            *known = cause.or(*known);
        }
        Self(fates)
    }

    /// The fates in the log of an emulator that may still be running: it is looked at until it
    /// knows all of these packets, or for two seconds. A log that cannot be read knows nothing.
    pub fn await_all(directory: &Path, numbers: &[u32], own: impl Fn(&Headers) -> bool) -> Self {
        let mut fates = Self::default();
        for _ in 0..10 {
            if let Ok(records) = crate::archive::records(directory) {
                fates = Self::of(&records, &own);
            }
            if numbers.iter().all(|number| fates.0.contains_key(number)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        fates
    }

    /// How many packets the log knows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Why a packet was lost; `None` if the log says no loss.
    pub fn cause(&self, number: u32) -> Option<Cause> {
        self.0.get(&number).copied().flatten()
    }
}

impl Scores {
    /// Counts a packet.
    pub fn count(&mut self, truth: Option<Cause>, called: Called) {
        let place = match (truth, called) {
            (None, _) => &mut self.unknown,
            (Some(Cause::Congestion), Called::Congestion) => &mut self.congestion_called_congestion,
            (Some(Cause::Congestion), Called::Wireless) => &mut self.congestion_called_wireless,
            (Some(Cause::Wireless), Called::Congestion) => &mut self.wireless_called_congestion,
            (Some(Cause::Wireless), Called::Wireless) => &mut self.wireless_called_wireless,
        };
        *place += 1;
    }

    /// The counts behind Mc and Mw.
    pub fn confusion(&self) -> Confusion {
        let mut confusion = Confusion::default();
        let counts = [
            (
                Cause::Congestion,
                Cause::Congestion,
                self.congestion_called_congestion,
            ),
            (
                Cause::Congestion,
                Cause::Wireless,
                self.congestion_called_wireless,
            ),
            (
                Cause::Wireless,
                Cause::Congestion,
                self.wireless_called_congestion,
            ),
            (
                Cause::Wireless,
                Cause::Wireless,
                self.wireless_called_wireless,
            ),
        ];
        for (truth, called, count) in counts {
            for _ in 0..count {
                confusion.record(truth, called);
            }
        }
        confusion
    }
}
