//! `whyloss sweep --live`: serves the page of a sweep while it runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use whyloss_study::sweep::{Part, Sweep};

use super::page::{self, State};
use crate::error::CliError;
use crate::live::{self, Live};

/// The live page of a sweep.
pub(super) struct Watch {
    live: Live,
    name: String,
    /// The sweep, which receives each part as soon as its runs finish.
    sweep: Mutex<Sweep>,
    changed: AtomicBool,
}

impl Watch {
    /// Starts to serve the page with the runs that exist.
    pub(super) fn start(sweep: &Sweep, name: &str) -> Result<Self, CliError> {
        Ok(Self {
            live: Live::start()?,
            name: name.to_owned(),
            sweep: Mutex::new(sweep.clone()),
            changed: AtomicBool::new(true),
        })
    }

    /// Runs `run` and shows the finished parts that it passes to the given function.
    pub(super) fn follow<T>(&self, run: impl FnOnce(&(dyn Fn(&Part) + Sync)) -> T) -> T {
        let learn = |part: &Part| {
            let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
            sweep.learn(part);
            self.changed.store(true, Ordering::Relaxed);
        };
        live::follow(|| self.show(), || run(&learn))
    }

    fn show(&self) {
        if !self.changed.swap(false, Ordering::Relaxed) {
            return;
        }
        let state = {
            let mut sweep = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
            // With a precision target, the runs so far may show that more seeds are needed.
            sweep.missing(usize::MAX);
            State::of(&sweep)
        };
        self.live.show(&page::render(&state, &self.name));
    }

    /// Shows the page of the complete sweep.
    pub(super) fn end(self, dir: &Path) {
        if let Ok(page) = std::fs::read_to_string(dir.join("index.html")) {
            self.live.show(&page);
        }
    }
}
