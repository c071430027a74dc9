//! The event queue: entities in the order of their pending times.
//!
//! | entity | its pending events |
//! |---|---|
//! | any link | one for the first packet in transit, one for each truth held there (`truths.rs`) |
//! | link to a gate | also those of its gated source, which has none of its own (`gated.rs`) |
//! | busy link | one for its next turn, and those that an earlier turn overtook |
//! | source, sink | one for its deadline, and those that an earlier one overtook |
//!
//! So the queue does not grow with the packets in flight. At equal times, the lower entity comes
//! first, which makes the [order of events](super).
//!
//! The queue is a heap with four children per node, which are adjacent in memory. A key is one
//! word, `time·2ᵏ + entity`. [`EventQueue::pop`] leaves the root vacant, because the next event to
//! be set is usually the same entity's. With the root vacant, it takes one walk down the heap
//! instead of two walks. A second event of one entity at the same time may have no effect, which is
//! harmless.

use whyloss::Time;

use crate::scenario::Scenario;

/// Returns the number of entities of the event queue: every link, and the two ends of every flow.
pub(crate) fn entities(scenario: &Scenario) -> usize {
    scenario.links.len() + 2 * scenario.flows.len()
}

/// The number of children per node.
const WIDTH: usize = 4;

/// The key of an empty slot.
const NOTHING: u64 = u64::MAX;

/// A queue over entities `0..n`, earliest event first.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// The key of the earliest event.
    root: u64,
    /// Row i holds the children of key i, which are keys 4i + 1 ..= 4i + 4; the root is key 0. The
    /// first `len` keys are in use; [`NOTHING`] is in the others.
    rows: Vec<[u64; WIDTH]>,
    len: usize,
    /// Whether the root's event has been handed out.
    vacant: bool,
    /// k, the number of bits that hold an entity.
    bits: u32,
    /// 2ᵏ − 1.
    mask: u64,
    /// The end of the run; later events are never handed out.
    end: Time,
}

impl EventQueue {
    /// Creates an empty queue for `entities` entities that ends at `end`, which is at most
    /// [`EventQueue::latest`].
    pub(crate) fn new(entities: usize, end: Time) -> Self {
        Self {
            root: NOTHING,
            rows: vec![[NOTHING; WIDTH]; 2],
            len: 0,
            vacant: false,
            bits: bits(entities),
            mask: (1 << bits(entities)) - 1,
            end,
        }
    }

    /// Returns the latest time that fits in a key together with this many entities.
    pub(crate) fn latest(entities: usize) -> Time {
        Time::from_nanos((NOTHING >> bits(entities)) - 1)
    }

    /// Adds the next event of the entity whose event was taken out last. Call this before any other
    /// addition.
    #[inline]
    pub(crate) fn push_next(&mut self, entity: usize, time: Time) {
        if time <= self.end {
            debug_assert!(self.vacant, "another entity's event came first");
            self.vacant = false;
            self.sift_down(self.key(entity, time));
        }
    }

    /// Adds an event of an entity; ignores one after the end.
    pub(crate) fn push(&mut self, entity: usize, time: Time) {
        if time > self.end {
            return;
        }
        let key = self.key(entity, time);
        if self.vacant {
            self.vacant = false;
            self.sift_down(key);
        } else {
            self.sift_up(key);
        }
    }

    /// Removes and returns the earliest event; `None` when nothing is pending up to the end.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, usize)> {
        if self.vacant {
            self.fill();
        }
        let key = self.root;
        if key == NOTHING {
            return None;
        }
        self.vacant = true;
        let entity = key & self.mask;
        Some((Time::from_nanos(key >> self.bits), entity as usize))
    }

    /// Returns the entities of the next two events while one is handed out, and of one that follows
    /// soon; arbitrary numbers if there are none.
    #[inline]
    pub(crate) fn next_few(&self) -> [usize; 3] {
        let mut keys = self.rows[0];
        let (which, next) = least_of(keys);
        // The children of key 1 + `which` are row 1 + `which`.
        let below = self.rows.get(1 + which).copied();
        let soon = least_of(below.unwrap_or([NOTHING; WIDTH])).1;
        keys[which] = soon;
        [next, least_of(keys).1, soon].map(|key| (key & self.mask) as usize)
    }

    /// Drops all pending events and all later additions.
    #[cold]
    pub(crate) fn close(&mut self) {
        self.rows.fill([NOTHING; WIDTH]);
        self.root = NOTHING;
        (self.len, self.vacant, self.end) = (0, false, Time::ZERO);
    }

    #[inline]
    fn key(&self, entity: usize, time: Time) -> u64 {
        time.as_nanos() << self.bits | entity as u64
    }

    /// Replaces the root with a key and moves it down.
    #[inline]
    fn sift_down(&mut self, key: u64) {
        let (rows, mut row, mut above) = (&mut self.rows[..], 0, None);
        while let Some(children) = rows.get(row) {
            let (which, least) = least_of(*children);
            if key <= least {
                break;
            }
            *slot(&mut self.root, rows, above) = least;
            above = Some((row, which));
            row = WIDTH * row + 1 + which;
        }
        *slot(&mut self.root, rows, above) = key;
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        self.rows.resize(2 * self.rows.len(), [NOTHING; WIDTH]);
    }

    /// Puts a key at the end and moves it up.
    #[inline(never)]
    fn sift_up(&mut self, key: u64) {
        let mut at = self.len;
        self.len += 1;
        if self.rows.len() * WIDTH <= at {
            self.make_room();
        }
        while at > 0 {
            let parent = (at - 1) / WIDTH;
            let above = *self.key_at(parent);
            if above <= key {
                break;
            }
            *self.key_at(at) = above;
            at = parent;
        }
        *self.key_at(at) = key;
    }

    /// Returns key number `at`.
    #[inline]
    fn key_at(&mut self, at: usize) -> &mut u64 {
        let below = at.checked_sub(1);
        slot(
            &mut self.root,
            &mut self.rows,
            below.map(|below| (below / WIDTH, below % WIDTH)),
        )
    }

    /// Fills the vacant root with the last key.
    #[inline(never)]
    fn fill(&mut self) {
        self.vacant = false;
        self.len -= 1;
        let last = std::mem::replace(self.key_at(self.len), NOTHING);
        if self.len > 0 {
            self.sift_down(last);
        }
    }
}

/// Returns the slot of the root, or of the key at this row and index below it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
fn slot<'a>(
    root: &'a mut u64,
    rows: &'a mut [[u64; WIDTH]],
    below: Option<(usize, usize)>,
) -> &'a mut u64 {
    match below {
        None => root,
        Some((row, which)) => &mut rows[row][which % WIDTH],
    }
}

/// Returns the number of bits that hold an entity.
fn bits(entities: usize) -> u32 {
    usize::BITS - entities.saturating_sub(1).leading_zeros()
}

/// Returns the index and value of the smallest key.
#[inline]
fn least_of(keys: [u64; WIDTH]) -> (usize, u64) {
    let less = |a: (usize, u64), b: (usize, u64)| if b.1 < a.1 { b } else { a };
    less(
        less((0, keys[0]), (1, keys[1])),
        less((2, keys[2]), (3, keys[3])),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const END: u64 = 20;

    proptest! {
        /// After any operations, the queue equals a sorted list.
        #[test]
        fn agrees_with_a_sorted_list(
            steps in prop::collection::vec(prop::option::weighted(0.6, (0usize..40, 0u64..25)), 0..400),
            next: bool,
        ) {
            let mut queue = EventQueue::new(40, Time::from_nanos(END));
            let mut list = Vec::new();
            for step in steps.into_iter().chain([None; 200]) {
                if let Some((entity, time)) = step {
                    if queue.vacant && next {
                        queue.push_next(entity, Time::from_nanos(time));
                    } else {
                        queue.push(entity, Time::from_nanos(time));
                    }
                    if time <= END {
                        list.push((Time::from_nanos(time), entity));
                        list.sort_unstable();
                    }
                } else {
                    let first = (!list.is_empty()).then(|| list.remove(0));
                    prop_assert_eq!(queue.pop(), first);
                    for (found, (_, entity)) in queue.next_few().into_iter().take(2).zip(&list) {
                        prop_assert_eq!(found, *entity);
                    }
                }
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn a_key_holds_an_entity_and_a_time() {
        assert_eq!([1, 2, 3, 64, 65].map(bits), [0, 1, 2, 6, 7]);
        let day = Time::from_secs_f64(86_400.0);
        assert!(EventQueue::latest(30_000) > day);
        assert!(EventQueue::latest(1 << 20) < day);
        let mut queue = EventQueue::new(30_000, day);
        queue.push(29_999, day);
        assert_eq!(queue.pop(), Some((day, 29_999)));
    }
}
