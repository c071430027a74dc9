//! Truths about lost packets, on their way to the source whose verdicts they score.
//!
//! The fast engine knows of a loss before it happens, but a verdict may be asked for in between. So each source has its
//! truths in the order in which the plain engine would tell them, and hears those that are due before anything else
//! reaches it. A truth needs no event of its own, since nothing else looks at what a source was told.

use std::collections::VecDeque;

use whyloss::{Cause, Time};

/// When something happens among all that happens at one time: the entity whose event it belongs to comes second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Time, usize);

impl Moment {
    /// In the event that is handled, before what follows from the next.
    pub(crate) fn now(at: Time) -> Self {
        Self(at, 0)
    }

    /// In the event of a link.
    pub(crate) fn of_link(at: Time, link: usize) -> Self {
        Self(at, link + 1)
    }

    /// In the event of a source, which comes after those of links.
    pub(crate) fn of_source(at: Time) -> Self {
        Self(at, usize::MAX)
    }
}

/// Truths that a source has not heard.
#[derive(Debug, Default)]
pub(super) struct Truths(VecDeque<(Moment, u64, Cause)>);

impl Truths {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the truth about a packet, which its source hears at this moment.
    pub(super) fn add(&mut self, moment: Moment, sequence: u64, cause: Cause) {
        let place = self.0.partition_point(|truth| truth.0 <= moment);
        self.0.insert(place, (moment, sequence, cause));
    }

    /// Takes the next truth that is heard before what happens at this moment.
    pub(super) fn pop_before(&mut self, moment: Moment) -> Option<(u64, Cause)> {
        let (_, sequence, cause) = self.0.pop_front_if(|truth| truth.0 < moment)?;
        Some((sequence, cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truths_are_heard_in_the_order_of_their_moments() {
        let mut truths = Truths::default();
        let [one, two] = [1, 2].map(Time::from_nanos);
        truths.add(Moment::of_link(two, 4), 7, Cause::Congestion);
        truths.add(Moment::now(two), 8, Cause::Wireless);
        truths.add(Moment::of_link(one, 9), 9, Cause::Wireless);
        assert_eq!(truths.pop_before(Moment::of_source(Time::ZERO)), None);
        assert_eq!(
            truths.pop_before(Moment::of_link(two, 0)),
            Some((9, Cause::Wireless))
        );
        assert_eq!(
            truths.pop_before(Moment::of_link(two, 0)),
            Some((8, Cause::Wireless))
        );
        assert_eq!(truths.pop_before(Moment::of_link(two, 4)), None);
        assert_eq!(
            truths.pop_before(Moment::of_source(two)),
            Some((7, Cause::Congestion))
        );
        assert!(truths.is_empty());
    }
}
