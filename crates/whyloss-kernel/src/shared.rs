//! Structures that the loader, the programs and their readers share: `struct control` of
//! `src/bpf/socket.h`.

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use nix::time::{ClockId, clock_gettime};

use crate::error::KernelError;

/// The name of the map that holds [`Shared`].
pub(crate) const CONTROL: &str = "wl_control";
/// The name of the map that holds the states of sockets.
pub(crate) const STATES: &str = "wl_states";
/// The name of the ring buffer of events.
pub(crate) const EVENTS: &str = "wl_events";

/// The contents of the map that each loaded control shares with its users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// The time until which the programs send events, in µs of the monotonic clock.
    pub(crate) watched_until_us: u64,
    /// The number of the watch.
    pub(crate) session: u32,
    /// The PID of the process that watches the control.
    pub(crate) watcher: u32,
    /// The PID of the process that holds the control; 0 if it is pinned.
    pub(crate) holder: u32,
    /// The id of the map of states.
    pub(crate) states: u32,
    /// The id of the ring of events.
    pub(crate) events: u32,
    /// The number of the algorithm.
    pub(crate) algorithm: u32,
    /// The kernel's name for the control.
    pub(crate) name: String,
}

const BYTES: usize = 56;
const NAME: usize = 40;

impl Shared {
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.first_chunk()?;
        let u32_at = |at: usize| {
            let bytes: [u8; 4] = bytes[at..at + 4].try_into().unwrap_or_default();
            u32::from_ne_bytes(bytes)
        };
        let name = bytes[NAME..].split(|&byte| byte == 0).next()?;
        Some(Self {
            watched_until_us: u64::from_ne_bytes(*bytes.first_chunk()?),
            session: u32_at(8),
            watcher: u32_at(16),
            holder: u32_at(20),
            states: u32_at(24),
            events: u32_at(28),
            algorithm: u32_at(32),
            name: String::from_utf8(name.to_vec()).ok()?,
        })
    }

    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.watched_until_us.to_ne_bytes());
        for (at, value) in [
            (8, self.session),
            (16, self.watcher),
            (20, self.holder),
            (24, self.states),
            (28, self.events),
            (32, self.algorithm),
        ] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let name = self.name.as_bytes();
        let length = name.len().min(BYTES - NAME - 1);
        bytes[NAME..NAME + length].copy_from_slice(&name[..length]);
        bytes
    }

    /// Reads the contents from its map; `None` if another program owns a map with this name.
    pub(crate) fn of(map: &MapHandle) -> Option<Self> {
        let bytes = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        Self::read(&bytes)
    }

    /// Writes the contents to its map.
    pub(crate) fn write(&self, map: &impl MapCore) -> Result<(), KernelError> {
        map.update(&0u32.to_ne_bytes(), &self.bytes(), MapFlags::ANY)
            .map_err(|error| KernelError::bpf("write a map", &error))
    }
}

/// Returns the current time on the programs' clock, in µs.
pub(crate) fn now_us() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| {
        now.tv_sec() as u64 * 1_000_000 + now.tv_nsec() as u64 / 1_000
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let shared = Shared {
            watched_until_us: 1,
            session: 2,
            watcher: 3,
            holder: 4,
            states: 5,
            events: 6,
            algorithm: 7,
            name: "wl_newreno_lp".into(),
        };
        assert_eq!(Shared::read(&shared.bytes()), Some(shared));
        assert_eq!(Shared::read(&[0; 8]), None);
    }
}
