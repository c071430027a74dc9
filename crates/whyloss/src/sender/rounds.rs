//! Round trips, delimited by acknowledgements.
//!
//! A round trip begins with an acknowledgement and ends when everything in flight at that time is
//! acknowledged. The first one begins with the connection and ends with the first acknowledgement.

use crate::event::AckEvent;

/// The end of the current round trip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rounds {
    end: u64,
}

impl Rounds {
    /// Returns whether a round trip ends with `ack`; if so, the next one begins with it.
    #[inline]
    pub(super) fn end_with(&mut self, ack: &AckEvent) -> bool {
        let over = ack.acknowledged >= self.end;
        if over {
            self.end = ack.acknowledged.saturating_add(ack.in_flight);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ack;
    use super::*;

    #[test]
    fn a_round_ends_when_what_was_under_way_is_acknowledged() {
        let mut rounds = Rounds::default();
        // (acknowledged, in flight after it): the second round ends at 1000 + 3000.
        let over = [
            (1000, 3000),
            (2000, 4000),
            (2000, 4000),
            (4000, 5000),
            (8999, 0),
        ]
        .map(|(acknowledged, in_flight)| {
            rounds.end_with(&AckEvent {
                acknowledged,
                in_flight,
                ..ack(1, 0)
            })
        });
        assert_eq!(over, [true, false, false, true, false]);
    }
}
