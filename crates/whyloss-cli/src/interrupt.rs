//! Ctrl-C, and a polite request to end: the first asks to finish, the second ends the process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

/// The exit code of a second signal, as shells have it: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// A flag that the first SIGINT or SIGTERM sets; the second ends the process.
pub(crate) fn stop_on_interrupt() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset.
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
