//! Error patterns: recorded sequences of lost and good packets, replayed (CEN-25, CEN-27).
//!
//! A pattern is a set of trials, for example 100 random runs of one radio simulation. Each channel
//! starts at a packet drawn uniformly from all trials, so that the pattern's loss rate holds from
//! the first packet. Then it reads one entry per packet. All channels and runs share the recording;
//! a channel holds only its position.

use std::sync::Arc;

use super::ChannelError;
use crate::random::Random;

/// A recorded pattern of lost and good packets, in one or more trials. Clones share the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPattern {
    /// One bit per packet, set if the packet was lost. Trials follow each other without a gap.
    bits: Arc<[u64]>,
    /// The index of the first packet after each trial.
    ends: Arc<[u64]>,
}

/// The point at which a channel continues after the end of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextTrial {
    /// At the start of a trial drawn at random.
    #[default]
    Random,
    /// At the start of the same trial.
    Same,
}

impl ErrorPattern {
    /// Builds a pattern from one sequence of packets per trial; `true` is a lost packet.
    ///
    /// # Errors
    /// Returns [`ChannelError::NoTrial`] if there is no trial, or [`ChannelError::EmptyTrial`] if a
    /// trial has no packet.
    pub fn new<T: AsRef<[bool]>>(
        trials: impl IntoIterator<Item = T>,
    ) -> Result<Self, ChannelError> {
        let (mut bits, mut ends, mut len) = (Vec::new(), Vec::new(), 0_u64);
        for (trial, packets) in (1..).zip(trials) {
            if packets.as_ref().is_empty() {
                return Err(ChannelError::EmptyTrial { trial });
            }
            for &lost in packets.as_ref() {
                if len % 64 == 0 {
                    bits.push(0);
                }
                if let Some(word) = bits.last_mut() {
                    *word |= u64::from(lost) << (len % 64);
                }
                len += 1;
            }
            ends.push(len);
        }
        if ends.is_empty() {
            return Err(ChannelError::NoTrial);
        }
        Ok(Self {
            bits: bits.into(),
            ends: ends.into(),
        })
    }

    /// Returns the trials, each a sequence of packets; `true` is a lost one.
    pub fn trials(&self) -> impl Iterator<Item = impl Iterator<Item = bool> + '_> + '_ {
        (0..self.ends.len()).map(|trial| {
            let (start, end) = self.bounds(trial);
            (start..end).map(|at| self.lost(at))
        })
    }

    /// Returns the share of all recorded packets that were lost, in [0, 1].
    pub fn loss_rate(&self) -> f64 {
        let lost: u32 = self.bits.iter().map(|word| word.count_ones()).sum();
        f64::from(lost) / self.len() as f64
    }

    /// Returns the total number of recorded packets in the trials.
    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the index of a trial's first packet and the index after its last.
    fn bounds(&self, trial: usize) -> (u64, u64) {
        let start = trial.checked_sub(1).map_or(0, |before| self.ends[before]);
        (start, self.ends[trial])
    }

    #[inline]
    fn lost(&self, at: u64) -> bool {
        self.bits[(at / 64) as usize] >> (at % 64) & 1 != 0
    }

    /// Returns the share of positions from which `n` packets in a row are good; each trial wraps
    /// around.
    pub(super) fn clear_run(&self, n: u32) -> f64 {
        let mut clear = 0_u64;
        for (start, end) in (0..self.ends.len()).map(|trial| self.bounds(trial)) {
            let len = end - start;
            // Two passes over the trial cover every run across its end.
            let mut run = 0_u64;
            for i in 0..2 * len {
                run = if self.lost(start + i % len) {
                    0
                } else {
                    run + 1
                };
                clear += u64::from(i >= len && run >= u64::from(n).min(len));
            }
        }
        clear as f64 / self.len() as f64
    }
}

#[derive(Clone, Debug)]
pub(super) struct Replay {
    pattern: ErrorPattern,
    next: NextTrial,
    at: u64,
    start: u64,
    end: u64,
    random: Random,
}

impl Replay {
    pub(super) fn new(pattern: ErrorPattern, next: NextTrial, mut random: Random) -> Self {
        let at = random.below(pattern.len());
        let trial = pattern.ends.partition_point(|&end| end <= at);
        let (start, end) = pattern.bounds(trial);
        Self {
            pattern,
            next,
            at,
            start,
            end,
            random,
        }
    }

    #[inline]
    pub(super) fn corrupts(&mut self) -> bool {
        let lost = self.pattern.lost(self.at);
        self.at += 1;
        if self.at == self.end {
            self.turn_over();
        }
        lost
    }

    fn turn_over(&mut self) {
        if self.next == NextTrial::Random {
            let trial = self.random.below(self.pattern.ends.len() as u64);
            (self.start, self.end) = self.pattern.bounds(trial as usize);
        }
        self.at = self.start;
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChannelSpec;
    use super::super::tests::{losses, rate};
    use super::*;

    fn pattern() -> ErrorPattern {
        ErrorPattern::new([vec![true, true, false], vec![false; 70], vec![true]]).unwrap()
    }

    #[test]
    fn trials_come_back_as_recorded() {
        let trials: Vec<Vec<bool>> = pattern().trials().map(Iterator::collect).collect();
        assert_eq!(
            trials,
            [vec![true, true, false], vec![false; 70], vec![true]]
        );
        assert!((pattern().loss_rate() - 3.0 / 74.0).abs() < 1e-15);
    }

    #[test]
    fn the_same_trial_repeats() {
        let spec = ChannelSpec::Pattern {
            pattern: pattern(),
            next: NextTrial::Same,
        };
        let mut seen = [false; 2];
        for seed in 0..200 {
            let lost = losses(&spec, seed, 210);
            match rate(&lost) {
                0.0 => seen[0] = true,
                1.0 => {}
                _ => {
                    assert!((0..207).all(|i| lost[i] == lost[i + 3]));
                    seen[1] = true;
                }
            }
        }
        assert_eq!(seen, [true; 2]);
        // Pairs of good packets: none in the first trial, even across its end; 70 in the second;
        // none in the third.
        assert!((pattern().clear_run(2) - 70.0 / 74.0).abs() < 1e-15);
    }

    #[test]
    fn random_trials_keep_the_rate() {
        let pattern = ErrorPattern::new([
            vec![true, false, false, false],
            vec![false, false, true, true],
        ])
        .unwrap();
        let spec = ChannelSpec::Pattern {
            pattern,
            next: NextTrial::Random,
        };
        assert_eq!(spec.loss_rate(), Some(0.375));
        let lost = losses(&spec, 1, 100_000);
        // Trials of 4 packets with 1 or 2 losses: σ of the rate is 0.125/√25 000 = 0.0008; 4 σ.
        assert!((rate(&lost) - 0.375).abs() < 0.0032);
    }
}
