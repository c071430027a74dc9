//! Detects whether another sender fills the queue.
//!
//! ```text
//! stands  ⇔ queue > 30 ms and queue ≥ 9/10 of its largest since it last drained
//! rival   ⇔ the queue stood for 6 rounds, or for 3 within 40 rounds of the last rival;
//!           until it drains, or exceeds twice its previous maximum by 10 ms
//! ```
//!
//! Each congested round sets the target below the capacity, so our own queue shrinks within two
//! trips. A queue that does not is another sender's. GCC and Copa switch to a competitive mode for
//! the same reason (draft-ietf-rmcat-gcc-02, section 5.4; Arun & Balakrishnan, NSDI 2018, section
//! 2.2). A queue above the bound may be our own, so the target drains it first.

/// The queueing delay in seconds below which a queue does not indicate a rival.
const LEAST: f64 = 0.030;
/// The share of its largest value above which a queue has not drained.
const STANDS: f64 = 0.9;
/// The number of rounds that reveal a rival, and the number that reveal a known one again.
const FIRST: u32 = 6;
const AGAIN: u32 = 3;
/// The number of rounds for which a rival is remembered.
const MEMORY: u32 = 40;

#[derive(Clone, Debug, Default)]
pub(crate) struct Rival {
    rounds: u32,
    /// The largest queue since it last drained, in s.
    largest: f64,
    /// The queue in s above which it is our own, while a rival is detected.
    bound: Option<f64>,
    memory: u32,
}

impl Rival {
    /// Ends a round with this queue, in s. Returns whether a rival fills it.
    pub(crate) fn on_round(&mut self, congested: bool, queue: f64, refused: bool) -> bool {
        let memory = self.memory.saturating_sub(1);
        let afresh = |memory| Self {
            largest: queue,
            memory,
            ..Self::default()
        };
        if !congested {
            *self = afresh(memory);
        } else if let Some(bound) = self.bound {
            if queue > bound {
                *self = afresh(memory);
            }
        } else if refused || queue < LEAST.max(STANDS * self.largest) {
            *self = afresh(memory);
        } else {
            (self.rounds, self.memory) = (self.rounds + 1, memory);
            self.largest = self.largest.max(queue);
            if self.rounds >= if memory > 0 { AGAIN } else { FIRST } {
                self.bound = Some(2.0 * self.largest + LEAST / 2.0);
            }
        }
        if self.bound.is_some() {
            self.memory = MEMORY;
        }
        self.bound.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_stands_is_a_rivals_until_it_drains() {
        let mut rival = Rival::default();
        let mut rounds = |queues: &[f64]| {
            let seen = queues
                .iter()
                .map(|queue| rival.on_round(*queue > 0.0, *queue, false));
            seen.map(u8::from).collect::<Vec<_>>()
        };
        assert_eq!(rounds(&[0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02]), [0; 7]);
        let stands = [0.03, 0.04, 0.038, 0.05, 0.05, 0.06, 0.03];
        assert_eq!(rounds(&stands), [0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(
            rounds(&[0.0, 0.04, 0.04, 0.04, 0.09, 0.1]),
            [0, 0, 0, 1, 1, 0]
        );
        // The queue may be our own, so it must persist for another period.
        assert_eq!(rounds(&[0.1, 0.05, 0.05, 0.05, 0.05]), [0, 0, 0, 0, 1]);
        assert_eq!(rounds(&[0.0; 40]), [0; 40]);
        assert_eq!(rounds(&[0.1, 0.1, 0.1, 0.1]), [0; 4]);
    }
}
