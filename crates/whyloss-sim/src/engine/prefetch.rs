//! Prefetches the data of the next events while one is handled.
//!
//! With thousands of flows, a flow's data is rarely in the processor's cache when its event comes,
//! and each part would cause a wait of its own. The event queue knows the next two entities. For
//! the second, the engine prefetches the ends and the delays; for the next, the data that these
//! point to. A prefetch for an entity that is overtaken costs a few instructions. Results do not
//! change, since a prefetch reads nothing.

use super::ends::Ends;
use super::fast::Engine;
use crate::host::{Sink, Source};
use crate::observe::Observer;

/// Minimum number of flows for which prefetching pays; the state of fewer stays in the cache.
pub(super) const MANY: usize = if cfg!(test) { 2 } else { 3_000 };

impl Engine {
    /// Prefetches the data of the next two events.
    #[inline(never)]
    pub(super) fn prefetch_next<O: Observer>(&self, observer: &O) {
        let [next, second] = self.world.events.next_two();
        if let Some((flow, ends)) = self.of(second) {
            prefetch(ends);
            observer.prefetch(flow, false);
        }
        if let Some((flow, ends)) = self.of(next) {
            if let (Source::Tcp(sender), Sink::Tcp(receiver)) = (&ends.flow.source, &ends.flow.sink)
            {
                sender.prefetch();
                receiver.prefetch();
            }
            observer.prefetch(flow, true);
        }
    }

    /// Returns the flow to which an entity's event belongs.
    #[inline]
    fn of(&self, entity: usize) -> Option<(usize, &Ends)> {
        let network = &self.world.network;
        let flow = match entity.checked_sub(network.links()) {
            None => network.transits[entity].first()?.flow as usize,
            Some(end) => end / 2,
        };
        Some((flow, self.ends.get(flow)?))
    }
}

/// Prefetches all of `of`.
#[inline]
pub(crate) fn prefetch<T>(of: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "no safe function asks memory for something")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(of).cast::<i8>();
        let lines = size_of::<T>() / 64 + 1;
        for line in 0..lines {
            let at = (64 * line).min(size_of::<T>().saturating_sub(1));
            // SAFETY: the place lies within `of`, and a prefetch changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}
