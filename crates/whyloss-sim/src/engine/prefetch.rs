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
use super::ring::Ring;
use crate::host::{Sink, Source};
use crate::observe::Observer;
use crate::prefetch::prefetch;

impl<O: Observer> Engine<'_, O> {
    /// Prefetches the data of the next events.
    #[inline(never)]
    pub(super) fn prefetch_next(&self) {
        let [next, second, soon] = self.world.network.events.next_few();
        if let Some(parcel) = (self.world.network.transits.get(soon)).and_then(Ring::first) {
            prefetch(parcel);
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
