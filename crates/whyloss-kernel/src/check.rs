//! Compares every control with the core on this machine, event by event, on real transfers through
//! emulated links.

use std::time::Duration;

use crate::bed::{Bed, BedError, Transfer};
use crate::control::Control;
use crate::error::KernelError;
use crate::event::Kind;
use crate::find;
use crate::judge::{Judge, Tally};
use crate::load::load;
use crate::watch::Watch;

/// Why a control could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The kernel rejected a request.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A transfer failed.
    #[error(transparent)]
    Bed(#[from] BedError),
}

/// The outcome of a control's check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// The comparison of the kernel's verdicts with those of the library.
    pub tally: Tally,
    /// The number of losses that a timeout found.
    pub timeouts: u64,
    /// The number of losses called wireless.
    pub wireless: u64,
    /// The number of losses for which the kernel did not run the program immediately, so that its
    /// verdict came late.
    pub late: u64,
    /// The number of reductions that were undone.
    pub undone: u64,
    /// Whether the control was unloaded again afterwards.
    pub gone: bool,
}

/// Returns the transfers of a check. The first has many events: a fast link with random losses and
/// small segments. The second lets timers expire: a slow link with bursts of losses.
fn transfers(name: &str, seconds: u32, seed: u64) -> [Transfer; 2] {
    let flows = |count| vec![name.to_owned(); count];
    let fast = Transfer {
        rate: "60mbit".into(),
        delay: "5ms".into(),
        queue: 100,
        loss: "bernoulli:0.002".into(),
        seed,
        seconds,
        omit: 0,
        flows: flows(8),
        segment: Some(500),
        plain: false,
    };
    let slow = Transfer {
        rate: "8mbit".into(),
        delay: "20ms".into(),
        queue: 40,
        loss: "gilbert:1s,60ms,0.8".into(),
        flows: flows(2),
        segment: None,
        ..fast.clone()
    };
    [fast, slow]
}

/// Checks a control with transfers of this length in seconds, under a name that no other connection
/// uses.
///
/// # Errors
/// Returns an error if the control cannot be loaded, or a transfer fails.
pub fn check(bed: &Bed, control: &Control, seconds: u32, seed: u64) -> Result<Checked, CheckError> {
    let name = format!("wlc{}_{}", std::process::id(), control.algorithm.number());
    let held = load(control, &name)?;
    let registered = || {
        let loaded = find::loaded()?;
        let ours = |loaded: &find::Loaded| loaded.registered && loaded.name == name;
        Ok::<_, KernelError>(loaded.into_iter().find(ours))
    };
    let loaded = registered()?.ok_or_else(|| KernelError::NotLoaded(name.clone()))?;
    let mut watch = Watch::begin(&loaded)?;
    let mut judge = Judge::new(control.algorithm);
    let mut checked = Checked::default();
    let mut running = Vec::new();
    for (index, transfer) in transfers(&name, seconds, seed).iter().enumerate() {
        running.push(bed.start(&format!("{}-{index}", control.id), transfer)?);
    }
    loop {
        let go_on = running
            .iter_mut()
            .fold(false, |any, running| running.goes_on() | any);
        watch.poll(Duration::from_millis(20), |event, _| {
            judge.hear(&event);
            match event.kind {
                Kind::Asked(crate::event::Detection::Timeout) => checked.timeouts += 1,
                Kind::Undo => checked.undone += 1,
                _ => {}
            }
            if let Kind::Asked(_) = event.kind {
                checked.late += u64::from(event.late);
                checked.wireless += u64::from(event.cause == whyloss::Cause::Wireless);
            }
        })?;
        if !go_on {
            break;
        }
    }
    for running in running {
        running.finish()?;
    }
    drop(watch);
    drop(held);
    checked.tally = judge.tally().clone();
    checked.gone = registered()?.is_none();
    Ok(checked)
}
