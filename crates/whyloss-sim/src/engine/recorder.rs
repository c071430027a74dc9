//! Decides what of a run counts, and what its observer receives. Both engines use it.

use whyloss::Time;

use super::wire::{Decision, Offer};
use crate::measure::Window;
use crate::observe::{Event, Observer};
use crate::packet::Packet;

/// The measurement window and the observer of a run.
pub(super) struct Recorder<'a, O> {
    pub(super) window: Window,
    pub(super) observer: &'a mut O,
}

impl<O: Observer> Recorder<'_, O> {
    /// Returns whether an event at this time is counted.
    #[inline]
    pub(super) fn counts(&self, at: Time) -> bool {
        self.window.contains(at)
    }

    /// Passes an event at this time to the observer, unless it is after the end of the run, which
    /// parts that are ahead of the events may pass.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(super) fn on(&mut self, at: Time, event: &Event<'_>) {
        if at <= self.window.end {
            self.observer.on(event);
        }
    }

    /// Reports the decision of a link about a packet that was offered to it.
    pub(super) fn offered(
        &mut self,
        Offer { link, at, waiting }: Offer,
        packet: &Packet,
        Decision { fate, marked, .. }: Decision,
    ) {
        let offered = Event::Offered {
            link,
            at,
            packet,
            waiting,
            fate,
            marked,
        };
        self.on(at, &offered);
    }
}
