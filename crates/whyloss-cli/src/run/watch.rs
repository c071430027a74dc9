//! `whyloss run --live`: serves the page of a run while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use whyloss::Time;

use super::{Job, page};
use crate::live::{self, Live};

/// The maximum time until an interrupt takes effect.
const SOON: Duration = Duration::from_millis(50);

/// Runs `simulate` while the page shows its progress.
pub(super) fn follow<T>(live: &Live, job: &Job<'_>, simulate: impl FnOnce() -> T) -> T {
    live::follow(|| show(live, job), simulate)
}

fn show(live: &Live, job: &Job<'_>) {
    let (Some(timeline), Some(&seed)) = (job.timelines.first(), job.seeds.first()) else {
        return;
    };
    let asked_s = (job.scenario.end - Time::ZERO).as_secs_f64() * job.seeds.len() as f64;
    let simulated_s = job.bar.simulated().as_secs_f64();
    let file = &job.args.scenario;
    let timeline = timeline.so_far();
    // The page is in memory only, so no write can fail.
    if let Ok(html) = page::render_so_far(job.scenario, seed, &timeline, simulated_s, asked_s, file)
    {
        live.show(&html);
    }
}

/// Serves the finished page until an interrupt.
pub(super) fn stay(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(SOON);
    }
}
