//! The table of hops: where a packet goes next, and whether in the same step.

use whyloss::{Duration, Time};

use crate::measure::Window;

/// An entry of the table of hops: a link, a stretch of links, or an end of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop(pub(super) u32);

impl Hop {
    /// The packet goes on there in the same step.
    const FUSED: u32 = 1 << 31;
    const END: u32 = 1 << 30;
    const STRETCH: u32 = 1 << 29;
    pub(super) const SOURCE: Self = Self(Self::END);
    pub(super) const SINK: Self = Self(Self::END + 1);
    pub(super) const FUSED_SINK: Self = Self(Self::FUSED | Self::SINK.0);
    pub(super) const FUSED_SOURCE: Self = Self(Self::FUSED | Self::SOURCE.0);

    /// Stretch number `index`.
    pub(super) fn stretch(index: usize, fused: bool) -> Self {
        let hop = Self(index as u32 | Self::STRETCH);
        if fused { hop.fused() } else { hop }
    }

    /// The link, if it is one.
    pub(super) fn link(self) -> Option<usize> {
        (self.0 & (Self::END | Self::STRETCH) == 0).then_some(self.index())
    }

    /// The link, or the stretch, which it is.
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

/// The first place where a flow's packets wait, if they come there over links that nobody else uses (`shortcuts/gate.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The link at whose far end it is.
    pub(crate) link: usize,
    /// How long a packet takes to come there if it waits for none before it; no packet takes less.
    pub(crate) crossing: Duration,
}

/// Links that a flow's packets cross one after the other, and never wait.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) crossing: Duration,
    /// All arrivals of a packet that enters less than this after the window's beginning belong to the window.
    pub(super) within: u64,
    /// Packets whose arrivals all did.
    pub(super) count: u64,
    pub(super) size: u32,
    /// The last link.
    pub(super) last: u32,
    /// The links, in [`Network::stretched`], and how long each takes.
    pub(super) begin: u32,
    pub(super) end: u32,
}

impl Stretch {
    /// Counts a packet that enters at `now`, if that is easy, and says when it leaves.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(super) fn cross(&mut self, now: Time, window: Window) -> (Time, bool) {
        let inside = now.as_nanos().wrapping_sub(window.from.as_nanos()) < self.within;
        self.count += u64::from(inside);
        (now.later(self.crossing), inside)
    }
}
