//! Shows progress and the time left on standard error, if that is a terminal.

use std::time;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use whyloss::{Duration, Time};
use whyloss_study::Progress;

use whyloss_sim::text::one_line;

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(time::Duration::from_millis(500));
    }
    bar
}

/// The progress bar of the whole command. It grows as experiments announce their replications.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        Self(bar("{msg}  {bar:30}  {pos}/{len} runs, {eta} left"))
    }

    /// Shows the name of an experiment, with its number and their count.
    pub(crate) fn begin(&self, id: &str, index: usize, count: usize) {
        self.0.set_message(if count > 1 {
            format!("{id} ({}/{count})", index + 1)
        } else {
            id.to_owned()
        });
    }

    /// Creates a bar for a run of one kind.
    #[cfg(feature = "parquet")]
    pub(crate) fn named(name: &str) -> Self {
        let bar = Self::new();
        bar.0.set_message(one_line(name).into_owned());
        bar
    }

    /// Hides the bar while `print` runs.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn expect(&self, replications: u64) {
        self.0.inc_length(replications);
    }

    fn finish(&self) {
        self.0.inc(1);
    }
}

/// A progress bar over the simulated time of all seeds. A single long run also moves it.
pub(crate) struct Simulated(ProgressBar);

impl Simulated {
    /// Creates a bar for `seeds` runs that each end at `end`.
    pub(crate) fn new(name: &str, seeds: u64, end: Time) -> Self {
        let bar = bar("{msg}  {bar:30}  {percent} % simulated, {eta} left");
        let times = if seeds == 1 {
            String::new()
        } else {
            format!("{seeds} × ")
        };
        let (name, end_s) = (one_line(name), end.as_secs_f64());
        bar.set_message(format!("{name}, {times}{end_s} s"));
        bar.set_length(end.as_nanos().saturating_mul(seeds));
        Self(bar)
    }

    /// Returns the simulated time, summed over all seeds.
    pub(crate) fn simulated(&self) -> Duration {
        Duration::from_nanos(self.0.position().cast_signed())
    }

    /// Adds simulated time.
    pub(crate) fn advance(&self, by: Duration) {
        self.0.inc(by.as_nanos().unsigned_abs());
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
