//! Scores the verdicts on missing packets against an emulator's log.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use whyloss::{Cause, Confusion};

use super::arrivals::Called;
use crate::header::Headers;
use crate::record::{Fate, Record};

/// The fates of a session's packets, read from an emulator's log.
#[derive(Clone, Debug, Default)]
pub struct Fates(HashMap<u32, Option<Cause>>);

/// The numbers of lost packets by true cause and verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scores {
    /// The number of packets lost to queues and called congestion.
    pub congestion_called_congestion: u64,
    /// The number of packets lost to queues and called wireless.
    pub congestion_called_wireless: u64,
    /// The number of packets lost to channels and called congestion.
    pub wireless_called_congestion: u64,
    /// The number of packets lost to channels and called wireless.
    pub wireless_called_wireless: u64,
    /// The number of judged packets that the log does not list as lost: overtaken, or lost outside
    /// the emulator.
    pub unknown: u64,
}

impl Fates {
    /// Collects the fates of the data packets of a session, which `own` recognises by their
    /// headers.
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

    /// Reads the fates from the log of an emulator that may still be running. Waits until the log
    /// has all of these packets, or for two seconds. An unreadable log gives no fates.
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

    /// Returns the number of packets with a known fate.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no packet has a known fate.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the cause of a packet's loss; `None` if the log does not list it as lost.
    pub fn cause(&self, number: u32) -> Option<Cause> {
        self.0.get(&number).copied().flatten()
    }
}

impl Scores {
    /// Counts a packet with its true cause and its verdict.
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

    /// Returns the counts behind Mc and Mw.
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
