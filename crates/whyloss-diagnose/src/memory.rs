//! Accounts for the memory of a whole diagnosis, in bytes.
//!
//! ```text
//! alive   followed connections and streams; beyond the limit, the longest-idle ones are closed
//! kept    finished flows; beyond half the limit, those with the fewest losses are dropped
//! ```

use std::cell::Cell;
use std::rc::Rc;

/// The memory that a diagnosis may take by default: 1 GiB.
pub const DEFAULT: u64 = 1 << 30;

/// The budget that all parts of a diagnosis share.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Rc<Shares>);

#[derive(Debug)]
struct Shares {
    limit: usize,
    alive: Cell<usize>,
    kept: Cell<usize>,
}

impl Memory {
    /// Creates a budget of `bytes` bytes. An eighth of it is left for readers and reports.
    pub(crate) fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self(Rc::new(Shares {
            limit: bytes - bytes / 8,
            alive: Cell::new(0),
            kept: Cell::new(0),
        }))
    }

    /// Records that a followed connection or stream took `before` bytes and now takes `after`.
    pub(crate) fn alive(&self, before: usize, after: usize) {
        let alive = &self.0.alive;
        alive.set((alive.get() + after).saturating_sub(before));
    }

    /// Sets the bytes that finished flows take.
    pub(crate) fn keep(&self, bytes: usize) {
        self.0.kept.set(bytes);
    }

    /// Returns whether more memory is in use than the budget allows.
    pub(crate) fn is_short(&self) -> bool {
        self.0.alive.get() + self.0.kept.get() > self.0.limit
    }

    /// Returns whether `bytes` more bytes fit into the budget.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.0.alive.get() + self.0.kept.get() + bytes <= self.0.limit
    }

    /// Returns the number of bytes that finished flows may take when memory is short.
    pub(crate) fn kept_limit(&self) -> usize {
        self.0.limit / 2
    }
}

/// Formats a budget for people: "1 GiB", "512 MiB".
pub(crate) fn name(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 30) {
        format!("{} GiB", bytes >> 30)
    } else if bytes >= 1 << 20 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{bytes} bytes")
    }
}
