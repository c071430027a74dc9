//! The table of hops: the next link or end of a packet, and whether it is handled in the same step.

use whyloss::{Duration, Time};

use crate::measure::Window;

/// An entry of the table of hops: a link, a stretch of links, or an end of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hop(pub(super) u32);

impl Hop {
    /// The flag of a hop that is handled in the same step.
    const FUSED: u32 = 1 << 31;
    /// The flag of the end of a route.
    const END: u32 = 1 << 30;
    /// The flag of a stretch of links.
    const STRETCH: u32 = 1 << 29;
    pub(super) const SOURCE: Self = Self(Self::END);
    pub(super) const SINK: Self = Self(Self::END + 1);
    pub(super) const FUSED_SINK: Self = Self(Self::FUSED | Self::SINK.0);
    pub(super) const FUSED_SOURCE: Self = Self(Self::FUSED | Self::SOURCE.0);

    /// Returns the hop of stretch number `index`.
    pub(super) fn stretch(index: usize, fused: bool) -> Self {
        let hop = Self(index as u32 | Self::STRETCH);
        if fused { hop.fused() } else { hop }
    }

    /// Returns the index of the link; `None` for other hops.
    pub(super) fn link(self) -> Option<usize> {
        (self.0 & (Self::END | Self::STRETCH) == 0).then_some(self.index())
    }

    /// Returns the index of the link or of the stretch.
    #[inline]
    pub(super) fn index(self) -> usize {
        (self.0 & !(Self::FUSED | Self::STRETCH)) as usize
    }

    #[inline]
    pub(super) fn is_stretch(self) -> bool {
        self.0 & Self::STRETCH != 0
    }

    #[inline]
    pub(super) fn is_end(self) -> bool {
        self.0 & Self::END != 0
    }

    pub(super) fn fused(self) -> Self {
        Self(self.0 | Self::FUSED)
    }

    #[inline]
    pub(super) fn is_fused(self) -> bool {
        self.0 & Self::FUSED != 0
    }
}

/// The first place where a flow's packets wait, if only this flow uses the links before it
/// (`shortcuts/gate.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The link whose far end is the gate.
    pub(crate) link: usize,
    /// The time from the source to the gate without waiting, the shortest possible.
    pub(crate) crossing: Duration,
}

/// Consecutive links that a flow's packets cross without ever waiting.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) crossing: Duration,
    /// The time after the start of the measurement window, in ns, before which a packet must enter
    /// for all its arrivals to count.
    pub(super) within: u64,
    /// The number of packets that entered between the start of the window and `within`.
    pub(super) count: u64,
    pub(super) size: u32,
    /// The last link of the stretch.
    pub(super) last: u32,
    /// The index of the first link in [`Network::stretched`], which has the links and the time over
    /// each.
    pub(super) begin: u32,
    pub(super) end: u32,
}

impl Stretch {
    /// Counts a packet that enters at `now`, if all its arrivals count. Returns the time at which
    /// it leaves, and whether it was counted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(super) fn cross(&mut self, now: Time, window: Window) -> (Time, bool) {
        // One comparison for both bounds: before the window, the difference wraps and is large.
        let inside = now.as_nanos().wrapping_sub(window.from.as_nanos()) < self.within;
        self.count += u64::from(inside);
        (now.later(self.crossing), inside)
    }
}
