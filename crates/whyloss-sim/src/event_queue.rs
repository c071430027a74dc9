//! The event queue: the earliest pending time over a fixed set of entities.
//!
//! Every entity (a link's pipe, a host's timer) has at most one pending event, so the queue is a tournament: a complete
//! binary tree whose leaves are the entities' times and whose inner nodes hold the earlier of their two children. A
//! change replays one path from leaf to root. Ties go to the lower entity, whatever the order in which they were set,
//! so equal-time events run in one order always.

use whyloss::Time;

/// Earliest-first over entities `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue {
    /// `nodes[1]` is the root; the children of `i` are `2i` and `2i + 1`; entity `e` is `leaves + e`.
    nodes: Vec<Entry>,
    leaves: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: Time,
    entity: u32,
}

impl EventQueue {
    /// A queue for `entities` entities, none with a pending event.
    pub(crate) fn new(entities: usize) -> Self {
        let leaves = entities.next_power_of_two().max(2);
        let mut nodes = vec![
            Entry {
                time: Time::MAX,
                entity: 0
            };
            2 * leaves
        ];
        for (entity, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.entity = entity as u32;
        }
        let mut queue = Self { nodes, leaves };
        for node in (1..leaves).rev() {
            queue.nodes[node] = queue.nodes[2 * node];
        }
        queue
    }

    /// When the entity's pending event is due; [`Time::MAX`] if it has none.
    #[inline]
    pub(crate) fn due(&self, entity: usize) -> Time {
        self.nodes[self.leaves + entity].time
    }

    /// Gives the entity this pending event instead of the one it has; [`Time::MAX`] takes it away.
    #[inline]
    pub(crate) fn set(&mut self, entity: usize, time: Time) {
        let mut node = self.leaves + entity;
        let mut winner = Entry {
            time,
            entity: entity as u32,
        };
        self.nodes[node] = winner;
        while node > 1 {
            let sibling = self.nodes[node ^ 1];
            // The left child (even) wins a tie: it holds the lower entity.
            let beaten =
                sibling.time < winner.time || (sibling.time == winner.time && node & 1 == 1);
            if beaten {
                winner = sibling;
            }
            node >>= 1;
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }

    /// The earliest pending event; its time is [`Time::MAX`] when nothing is pending.
    #[inline]
    pub(crate) fn next(&self) -> (Time, usize) {
        (self.nodes[1].time, self.nodes[1].entity as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The tournament agrees with a scan over all entities after every change.
        #[test]
        fn agrees_with_a_scan(entities in 1usize..40, changes in prop::collection::vec((0usize..40, 0u64..20), 0..200)) {
            let mut queue = EventQueue::new(entities);
            let mut times = vec![Time::MAX; entities];
            for (entity, time) in changes {
                let entity = entity % entities;
                let time = if time == 19 { Time::MAX } else { Time::from_nanos(time) };
                queue.set(entity, time);
                times[entity] = time;
                let (first, &earliest) = times.iter().enumerate().min_by_key(|&(e, &t)| (t, e)).expect("not empty");
                let (time, winner) = queue.next();
                prop_assert_eq!(time, earliest);
                prop_assert!(winner == first || earliest == Time::MAX);
                prop_assert_eq!(queue.due(entity), times[entity]);
            }
        }
    }
}
