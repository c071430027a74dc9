//! A forwarder's requests to the kernel for timely scheduling.
#![expect(
    unsafe_code,
    reason = "sched_setscheduler, once to ask and once to give back"
)]

use std::fs::{File, OpenOptions};
use std::io::Write;

use nix::libc;

/// A low one of the real-time priorities 1 to 99: above every thread without one, below all others.
const PRIORITY: libc::c_int = 10;

/// Gives the calling thread real-time priority and keeps idle cores awake, as far as this process
/// may, until it is dropped. Drop it as soon as the last packet has left: while the thread works,
/// nothing else runs on its core, not even another link.
#[derive(Debug)]
pub(crate) struct RealTime {
    has_priority: bool,
    /// The open file of the kernel's latency setting, which holds as long as the file is open.
    _awake: Option<File>,
}

impl RealTime {
    /// Requests both. A rejected request is ignored.
    pub(crate) fn ask() -> Self {
        Self {
            has_priority: schedule(libc::SCHED_FIFO, PRIORITY),
            _awake: awake(),
        }
    }

    /// Returns whether the thread has the priority.
    pub(crate) fn has_priority(&self) -> bool {
        self.has_priority
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        if self.has_priority {
            schedule(libc::SCHED_OTHER, 0);
        }
    }
}

/// Schedules the calling thread by this policy. Returns whether the kernel allowed it.
fn schedule(policy: libc::c_int, priority: libc::c_int) -> bool {
    // musl's functions refuse this call, so it is made directly. The kernel's parameters are the
    // priority alone. SAFETY: the priority lives through the call, which changes nothing but this
    // thread's scheduling.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) == 0 }
}

/// Asks the kernel to keep idle cores awake (Documentation/power/pm_qos_interface.rst). A sleeping
/// core takes tens of microseconds to wake, and milliseconds in a virtual machine whose host is
/// busy.
fn awake() -> Option<File> {
    let path = "/dev/cpu_dma_latency";
    let mut file = OpenOptions::new().write(true).open(path).ok()?;
    // The longest wake-up that is tolerated, in microseconds.
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: the call only reads the policy of the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    /// The reports after a run take 0.2 s. Dropping `RealTime` restores the old policy, so that
    /// they do not delay other links.
    #[test]
    fn the_priority_ends_with_it() {
        let asked = RealTime::ask();
        let had = policy();
        assert_eq!(had == libc::SCHED_FIFO, asked.has_priority());
        drop(asked);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}
