//! Detects packets that a capture shows twice, such as from a mirror port for both directions, or
//! from all interfaces of a router.
//!
//! ```text
//! copy    the same segment with the same IPv4 identification within a second, from a host whose
//!         identifications differ from segment to segment; without identification (IPv6, or 0) the
//!         same data with the same timestamp, sooner than 75 % of the shortest round trip and
//!         within ten milliseconds
//! ```
//!
//! A retransmission has a new identification and a later timestamp. RFC 6864 §4.3 requires a new
//! identification for packets that may be fragmented, and hosts also use one for others.

use std::hash::{BuildHasher as _, Hash};

use foldhash::quality::FixedState;

use crate::packet::Segment;

/// The number of buckets for remembered segments of a direction, and the number of segments in
/// each.
const PLACES: usize = 128;
const EACH: usize = 4;
/// The number of segments of a direction before which no segment is remembered, to save memory.
const SHORT: u32 = 2;
/// The longest time in µs from the original to a copy with an identification.
const NUMBERED: u32 = 1_000_000;
/// The longest time in µs to a copy without an identification, because its timestamp may tick this
/// slowly.
const STAMPED: u64 = 10_000;
/// The longest time in µs to a copy without an identification, before a round trip is known.
const AT_FIRST: u64 = 300;

/// The latest segments of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// The segments by hash: another part of the hash, and the time in µs. The latest comes first.
    latest: Vec<[(u32, u32); EACH]>,
    passed: u32,
    last: Option<(u16, u32)>,
    /// Whether different segments have the same identification, which then cannot distinguish them.
    constant: bool,
}

impl Copies {
    /// Returns the memory in use, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.latest.capacity() * size_of::<[(u32, u32); EACH]>()
    }

    /// Returns whether this segment is a copy of an earlier one. `round_trip` returns the shortest
    /// round trip so far, in ns.
    pub(super) fn is_copy(
        &mut self,
        now: u64,
        ip_id: Option<u16>,
        segment: &Segment,
        round_trip: impl FnOnce() -> Option<u64>,
    ) -> bool {
        self.passed = self.passed.saturating_add(1);
        if self.passed < SHORT {
            return false;
        }
        if let Some(id) = ip_id {
            let told = segment.sequence ^ segment.acknowledgement;
            self.constant |= self.last.is_some_and(|last| last.0 == id && last.1 != told);
            self.last = Some((id, told));
        }
        let id = ip_id.filter(|&id| id != 0 && !self.constant);
        let later = match id {
            Some(_) => NUMBERED,
            None if segment.length > 0 && segment.stamps.is_some() => {
                let sooner = round_trip().map_or(AT_FIRST, |ns| ns / 1000 * 3 / 4);
                sooner.min(STAMPED) as u32
            }
            None => return false,
        };
        if self.latest.is_empty() {
            self.latest.resize(PLACES, [(0, 0); EACH]);
        }
        let hash = FixedState::default().hash_one(Known(id, segment));
        let (place, rest, micros) = (
            hash as usize % PLACES,
            (hash >> 32) as u32,
            (now / 1000) as u32,
        );
        let place = &mut self.latest[place];
        let copy = place
            .iter()
            .any(|&(other, at)| other == rest && micros.wrapping_sub(at) <= later);
        if !copy {
            *place = [(rest, micros), place[0], place[1], place[2]];
        }
        copy
    }
}

/// The fields that are equal in both captures of one packet: the IPv4 identification and the
/// segment.
struct Known<'a>(Option<u16>, &'a Segment);

impl Hash for Known<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Self(id, segment) = self;
        let first = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgement);
        let (value, echo) = segment.stamps.unwrap_or_default();
        let second = u64::from(value) << 32 | u64::from(echo);
        let third = u64::from(segment.length) << 32
            | u64::from(segment.window) << 16
            | u64::from(id.unwrap_or(0));
        (first, second, third, segment.sacked()).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(number: u32) -> Segment {
        Segment {
            sequence: number * 1000,
            length: 1000,
            stamps: Some((number, 7)),
            ..Segment::default()
        }
    }

    /// Passes ten segments, 1 ms apart, each followed by a copy 200 µs later, and a retransmission
    /// of the last one. Returns which segments are recognised as copies.
    fn copies(id: impl Fn(u32) -> Option<u16>) -> Vec<bool> {
        let mut copies = Copies::default();
        let pass = |number: u32, copy: u64| (u64::from(number) * 1_000_000 + copy, number);
        let mut all: Vec<_> = (0..10)
            .flat_map(|number| [pass(number, 0), pass(number, 200_000)])
            .collect();
        all.sort_unstable();
        let mut are: Vec<bool> = all
            .iter()
            .map(|&(now, number)| copies.is_copy(now, id(number), &segment(number), || None))
            .collect();
        let again = Segment {
            stamps: Some((40, 7)),
            ..segment(9)
        };
        are.push(copies.is_copy(40_000_000, id(40), &again, || None));
        are
    }

    #[test]
    fn a_copy_has_the_number_of_its_original_and_a_retransmission_has_not() {
        let every_other: Vec<bool> = (0..21).map(|at| at > 1 && at % 2 == 1).collect();
        assert_eq!(copies(|number| Some(number as u16 + 1)), every_other);
        // Timestamps suffice if there is no identification, or it is constant.
        assert_eq!(copies(|_| None), every_other);
        assert_eq!(copies(|_| Some(0)), every_other);
        assert_eq!(copies(|_| Some(77)), every_other);
    }

    #[test]
    fn what_is_sent_again_a_second_later_is_no_copy() {
        let mut copies = Copies::default();
        for number in 0..10_u32 {
            assert!(!copies.is_copy(
                u64::from(number),
                Some(number as u16),
                &segment(number),
                || None
            ));
        }
        assert!(!copies.is_copy(2_000_000_000, Some(9), &segment(9), || None));
        assert!(copies.is_copy(2_000_000_100, Some(9), &segment(9), || None));
    }
}
