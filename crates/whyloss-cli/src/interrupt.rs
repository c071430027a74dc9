//! Handles requests to stop: Ctrl-C (SIGINT), SIGTERM, and SIGHUP from a closing terminal.
//!
//! | when | effect of the first request |
//! |---|---|
//! | before there are results, including while input is read | ends the process, exit code 130 |
//! | after [`stop_on_interrupt`] | sets the flag to finish; the second ends the process, exit code 130 |
//!
//! A write beyond the limit on the size of files fails instead of killing the process (SIGXFSZ).
//! Windows has neither SIGHUP nor SIGXFSZ.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

/// The exit code of an interrupted command, by the convention of shells: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// Whether a signal may end the process, because there are no results to save yet.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

/// Ends the process with exit code 130 at a signal of [`requests`], until [`stop_on_interrupt`] is
/// called.
pub(crate) fn end_on_interrupt() -> io::Result<()> {
    for signal in requests() {
        register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&IDLE))?;
    }
    // An empty handler suffices: the write then fails with an error.
    #[cfg(unix)]
    register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    Ok(())
}

/// Returns a flag that the first signal of [`requests`] sets. The second signal ends the process.
pub(crate) fn stop_on_interrupt() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in requests() {
        // The order matters: the first signal must find the flag unset.
        register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stop))?;
        register(signal, Arc::clone(&stop))?;
    }
    IDLE.store(false, Ordering::SeqCst);
    Ok(stop)
}

/// Returns the signals that request a stop. SIGHUP is one of them unless it is ignored: under
/// `nohup`, the command outlives its terminal.
pub(crate) fn requests() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM].into_iter().chain(hangup())
}

#[cfg(unix)]
fn hangup() -> Option<i32> {
    use signal_hook::consts::SIGHUP;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    hears(&status, SIGHUP).then_some(SIGHUP)
}

#[cfg(not(unix))]
fn hangup() -> Option<i32> {
    None
}

/// Returns whether the process of this `/proc/self/status` does not ignore a signal; `false` if the
/// text has no mask of ignored signals.
#[cfg(unix)]
fn hears(status: &str, signal: i32) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) == 0)
}

#[cfg(all(test, unix))]
mod tests {
    use signal_hook::consts::SIGHUP;

    use super::*;

    #[test]
    fn an_ignored_signal_stays_ignored() {
        assert!(hears("Name:\tx\nSigIgn:\t0000000000001000\n", SIGHUP));
        assert!(!hears("SigIgn:\t0000000000001001\n", SIGHUP));
        assert!(!hears("", SIGHUP));
    }
}
