//! Progress with the time left, on standard error and only if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use whyloss_study::Progress;

/// One bar for the whole command; it grows as experiments announce their replications.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = "{msg}  {bar:30}  {pos}/{len} runs, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self(bar)
    }

    /// What is being run.
    pub(crate) fn begin(&self, id: &str, index: usize, count: usize) {
        self.0.set_message(if count > 1 {
            format!("{id} ({}/{count})", index + 1)
        } else {
            id.to_owned()
        });
    }

    /// Prints without the bar in between.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }

    /// Leaves no trace on the terminal.
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
