//! Collects finished runs of many threads, and writes them before they have waited too long.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::SweepError;
use super::part::Part;
use super::store::Store;

/// Collects rows until it is time to write a file.
pub(super) struct Desk<'a> {
    store: Option<&'a Store>,
    every: Duration,
    waiting: Mutex<Waiting>,
    /// Wakes the clock after the first row of a file, and at the end.
    changed: Condvar,
    written: Mutex<Vec<Part>>,
}

/// Runs that are not written yet.
struct Waiting {
    part: Option<Part>,
    since: Instant,
    /// The time until the next write. It starts short, so that a sweep that ends early keeps some
    /// runs, and doubles each time.
    patience: Duration,
    /// The first error of the clock's thread.
    failed: Option<SweepError>,
    is_over: bool,
}

/// The patience at the start of a sweep.
const FIRST: Duration = Duration::from_millis(500);

impl Waiting {
    fn left(&self) -> Duration {
        self.patience.saturating_sub(self.since.elapsed())
    }

    /// Takes the runs if it is time to write them.
    #[expect(
        clippy::disallowed_methods,
        reason = "how often files are written is no result"
    )]
    fn due(&mut self, every: Duration) -> Option<Part> {
        if !self.left().is_zero() {
            return None;
        }
        let part = self.part.take()?;
        self.since = Instant::now();
        self.patience = every.min(self.patience * 2);
        Some(part)
    }
}

impl<'a> Desk<'a> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how often files are written is no result"
    )]
    pub(super) fn new(store: Option<&'a Store>, every: Duration) -> Self {
        Self {
            store,
            every,
            waiting: Mutex::new(Waiting {
                part: None,
                since: Instant::now(),
                patience: FIRST.min(every),
                failed: None,
                is_over: false,
            }),
            changed: Condvar::new(),
            written: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`. Meanwhile, another thread writes rows that are due although no further row
    /// arrives.
    pub(super) fn with_clock<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.store.is_none() {
            return work();
        }
        thread::scope(|scope| {
            // Without this thread, rows are written when the next one arrives.
            let _ = thread::Builder::new().spawn_scoped(scope, || self.keep_time());
            // The thread must end even if `work` panics, because the scope waits for it.
            let _end = End(self);
            work()
        })
    }

    fn keep_time(&self) {
        let mut waiting = self.waiting();
        while !waiting.is_over {
            if let Some(part) = waiting.due(self.every) {
                drop(waiting);
                let written = self.write(part);
                waiting = self.waiting();
                if let Err(error) = written {
                    waiting.failed.get_or_insert(error);
                }
                continue;
            }
            waiting = if waiting.part.is_none() {
                let woken = self.changed.wait(waiting);
                woken.unwrap_or_else(PoisonError::into_inner)
            } else {
                let left = waiting.left();
                let woken = self.changed.wait_timeout(waiting, left);
                woken.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }

    /// Takes the rows of a part.
    pub(super) fn take(&self, part: &mut Part) -> Result<(), SweepError> {
        let rows = mem::take(&mut part.rows);
        let due = {
            let mut waiting = self.waiting();
            if let Some(error) = waiting.failed.take() {
                return Err(error);
            }
            match &mut waiting.part {
                Some(whole) => whole.rows.extend(rows),
                none => {
                    *none = Some(Part {
                        rows,
                        ..part.clone()
                    });
                    self.changed.notify_one();
                }
            }
            waiting.due(self.every)
        };
        due.map_or(Ok(()), |part| self.write(part))
    }

    fn write(&self, part: Part) -> Result<(), SweepError> {
        if part.rows.is_empty() {
            return Ok(());
        }
        if let Some(store) = self.store {
            store.put(&part)?;
        }
        self.written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(part);
        Ok(())
    }

    /// Writes the remaining rows, and returns all parts.
    pub(super) fn finish(self) -> Result<Vec<Part>, SweepError> {
        let (rest, failed) = {
            let mut waiting = self.waiting();
            (waiting.part.take(), waiting.failed.take())
        };
        failed.map_or(Ok(()), Err)?;
        rest.map_or(Ok(()), |part| self.write(part))?;
        Ok(self
            .written
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner))
    }
}

/// Ends the clock's thread when dropped.
struct End<'a>(&'a Desk<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.waiting().is_over = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::Row;
    use super::*;

    #[test]
    fn a_row_is_written_without_a_further_one() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path()).expect("free");
        let desk = Desk::new(Some(&store), Duration::from_millis(20));
        let mut part = Part::new("", "", &[]);
        part.rows.push(Row {
            key: 1,
            set: "[]".into(),
            seed: 1,
            error: None,
            values: Vec::new(),
        });
        let stored = || {
            let mut rows = 0;
            let read = store.parts(|part| rows += part.rows.len());
            read.expect("whole parts");
            rows
        };
        desk.with_clock(|| {
            desk.take(&mut part).expect("room");
            // Waits much longer than needed before it gives up.
            let tries = (0..6_000).find(|_| {
                thread::sleep(Duration::from_millis(10));
                stored() > 0
            });
            assert!(tries.is_some(), "the row waits for the next");
        });
        assert_eq!(stored(), 1);
    }
}
