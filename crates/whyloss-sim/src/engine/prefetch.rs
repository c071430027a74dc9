//! Prefetches the data of the next events while one is handled.
//!
//! With thousands of flows, a flow's data is rarely in the processor's cache when its event comes,
//! and each part would cause a separate wait. The event queue shows the next two entities and one
//! that follows soon. For the last, the engine prefetches the packet; for the second, the end that
//! the packet reaches and the delays; for the next, the data that these point to. A prefetch for an
//! entity that is overtaken costs a few instructions. Results do not change, because a prefetch
//! reads nothing.

use super::ends::{Ends, SINK, SOURCE};
use super::fast::Engine;
use super::parcel::Kind;
use crate::host::{Sink, Source};
use crate::observe::Observer;

/// The minimum number of flows for which prefetching pays; the state of fewer stays in the cache.
pub(super) const MANY: usize = if cfg!(test) { 2 } else { 3_000 };

impl<O: Observer> Engine<'_, O> {
    /// Prefetches the data of the next events.
    #[inline(never)]
    pub(super) fn prefetch_next(&self) {
        let [next, second, soon] = self.world.network.events.next_few();
        if let Some(transit) = self.world.network.transits.get(soon) {
            transit.prefetch();
        }
        if let Some((flow, ends, end)) = self.target(second) {
            prefetch(&ends.armed);
            prefetch(&ends.flow.count);
            if end == SINK {
                prefetch(&ends.flow.sink);
            } else {
                prefetch(&ends.flow.source);
            }
            self.world.recorder.observer.prefetch(flow, false);
        }
        if let Some((flow, ends, end)) = self.target(next) {
            match (&ends.flow.source, &ends.flow.sink) {
                (_, Sink::Tcp(receiver)) if end == SINK => receiver.prefetch(),
                (Source::Tcp(sender), _) if end == SOURCE => sender.prefetch(),
                _ => {}
            }
            self.world.recorder.observer.prefetch(flow, true);
        }
    }

    /// Returns the flow to which an entity's event belongs, with the end that is concerned.
    #[inline]
    fn target(&self, entity: usize) -> Option<(usize, &Ends, usize)> {
        let network = &self.world.network;
        let (flow, end) = match entity.checked_sub(network.links()) {
            None => {
                let parcel = network.transits[entity].first()?;
                let end = if parcel.kind == Kind::Ack {
                    SOURCE
                } else {
                    SINK
                };
                (parcel.flow as usize, end)
            }
            Some(end) => (end / 2, end % 2),
        };
        Some((flow, self.ends.get(flow)?, end))
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
            // SAFETY: the address is within `of`, and a prefetch changes nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}
