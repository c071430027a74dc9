//! Measures round trips by timestamps (RFC 7323): the time until the other direction echoes a
//! packet's stamp.

use std::collections::VecDeque;

/// The maximum number of stamps that wait for their echo. Beyond it, the oldest is dropped.
const WAITING: usize = 4096;

/// The echoes of one direction's packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Echoes {
    waiting: VecDeque<(u32, u64)>,
    least: Option<u64>,
    latest: Option<u64>,
}

impl Echoes {
    /// Records that a packet with this stamp passes.
    pub(super) fn sent(&mut self, now: u64, stamp: u32) {
        if self
            .waiting
            .back()
            .is_some_and(|&(last, _)| !is_after(stamp, last))
        {
            return;
        }
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((stamp, now));
    }

    /// Records that a packet of the other direction echoes this stamp.
    pub(super) fn echoed(&mut self, now: u64, echo: u32) {
        while let Some(&(stamp, at)) = self.waiting.front()
            && !is_after(stamp, echo)
        {
            self.waiting.pop_front();
            if stamp == echo {
                self.sample(now.checked_sub(at));
            }
        }
    }

    /// Adds a round trip of `span` ns; `None` if the clock was set back during the round trip.
    pub(super) fn sample(&mut self, span: Option<u64>) {
        let Some(span) = span else { return };
        self.latest = Some(span);
        self.least = Some(self.least.map_or(span, |least| least.min(span)));
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.waiting.capacity() * size_of::<(u32, u64)>()
    }

    /// Returns the shortest round trip, in ns.
    pub(super) fn least(&self) -> Option<u64> {
        self.least
    }
}

/// Returns whether stamp `a` is later than `b` (RFC 7323 §5.2).
pub(super) fn is_after(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_echo_counts_and_stamps_wrap() {
        let mut echoes = Echoes::default();
        echoes.sent(10, u32::MAX);
        echoes.sent(20, 3);
        echoes.sent(25, 3);
        echoes.echoed(50, u32::MAX);
        assert_eq!(echoes.least(), Some(40));
        echoes.echoed(60, 3);
        echoes.echoed(900, 3);
        assert_eq!((echoes.least(), echoes.latest), (Some(40), Some(40)));
    }
}
