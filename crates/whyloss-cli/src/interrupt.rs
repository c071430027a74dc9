//! Ctrl-C: the first asks to finish, the second ends the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit code of a second Ctrl-C, as shells have it: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// A flag that the first Ctrl-C sets; the second ends the process.
pub(crate) fn stop_on_interrupt() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let interrupt = signal_hook::consts::SIGINT;
    // In this order: the first signal finds the flag unset.
    signal_hook::flag::register_conditional_shutdown(interrupt, INTERRUPTED, Arc::clone(&stop))?;
    signal_hook::flag::register(interrupt, Arc::clone(&stop))?;
    Ok(stop)
}
