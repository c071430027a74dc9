//! The memory that a whole diagnosis may take, in bytes, accounted where it is taken.
//!
//! ```text
//! alive   connections and streams that are followed; the quietest are closed when it gets too much
//! kept    flows that are over; those with the fewest losses are dropped when they take more than half
//! ```

use std::cell::Cell;
use std::rc::Rc;

/// The memory that one diagnosis may take by default: 1 GiB.
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
    /// A budget of so many bytes, of which an eighth is left for what reads and reports.
    pub(crate) fn new(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self(Rc::new(Shares {
            limit: bytes - bytes / 8,
            alive: Cell::new(0),
            kept: Cell::new(0),
        }))
    }

    /// Something that is followed took `before` bytes and takes `after`.
    pub(crate) fn alive(&self, before: usize, after: usize) {
        let alive = &self.0.alive;
        alive.set((alive.get() + after).saturating_sub(before));
    }

    /// The flows that are over take so many bytes.
    pub(crate) fn keep(&self, bytes: usize) {
        self.0.kept.set(bytes);
    }

    /// Whether more is taken than may be.
    pub(crate) fn is_short(&self) -> bool {
        self.0.alive.get() + self.0.kept.get() > self.0.limit
    }

    /// Whether so many bytes more can be taken.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.0.alive.get() + self.0.kept.get() + bytes <= self.0.limit
    }

    /// The bytes that flows that are over may take if memory is short.
    pub(crate) fn kept_limit(&self) -> usize {
        self.0.limit / 2
    }
}

/// Bytes of a budget, as a user reads them: "1 GiB", "512 MiB".
pub(crate) fn name(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 30) {
        format!("{} GiB", bytes >> 30)
    } else if bytes >= 1 << 20 {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{bytes} bytes")
    }
}
