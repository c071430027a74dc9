//! Replays a recording by time: each packet has the fate of the packet recorded last before its
//! time.
//!
//! ```text
//! duration of a trial      T = t_last − t_first + mean interval
//! fate at time t           that of the last recorded packet with t_i ≤ t mod T
//! ```
//!
//! The channel starts at a moment drawn uniformly from all trials. At the end of a trial,
//! [`NextTrial`] decides which one follows. Packets closer together than the recorded ones share a
//! fate; packets farther apart skip recorded fates.

use std::sync::Arc;

use whyloss::Time;

use super::pattern::NextTrial;
use super::{ChannelError, ErrorPattern};
use crate::random::Random;

/// A recorded pattern whose packets have times. Clones share the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedPattern {
    lost: Arc<[Vec<bool>]>,
    /// The time of each packet in nanoseconds since the trial's first packet.
    times: Arc<[Vec<u64>]>,
    /// The end of each trial in nanoseconds, with all trials laid end to end.
    ends: Arc<[u64]>,
    loss: f64,
}

impl TimedPattern {
    /// Joins the packets of `pattern` with their times in nanoseconds, one sequence per trial.
    ///
    /// # Errors
    /// Returns [`ChannelError::Times`] if a packet has no time or the times of a trial decrease.
    pub fn new<'t>(
        pattern: &ErrorPattern,
        times: impl IntoIterator<Item = &'t [i64]>,
    ) -> Result<Self, ChannelError> {
        let lost: Vec<Vec<bool>> = pattern.trials().map(Iterator::collect).collect();
        let (mut offsets, mut ends, mut end) = (Vec::new(), Vec::new(), 0_u64);
        let mut bad = 0.0;
        for (trial, (times, lost)) in (1..).zip(times.into_iter().zip(&lost)) {
            let first = times.first().copied().unwrap_or(0);
            let offset = |time: &i64| time.checked_sub(first).and_then(|t| u64::try_from(t).ok());
            let since: Option<Vec<u64>> = times.iter().map(offset).collect();
            let since = since.filter(|since| since.len() == lost.len() && since.is_sorted());
            let since = since.ok_or(ChannelError::Times { trial })?;
            let span = since.last().copied().unwrap_or(0);
            let mean = (span / (lost.len() as u64 - 1).max(1)).max(1);
            let whole = span.saturating_add(mean);
            let next = since.iter().skip(1).copied().chain([whole]);
            for ((&from, to), &lost) in since.iter().zip(next).zip(lost) {
                bad += if lost { (to - from) as f64 } else { 0.0 };
            }
            end = end.saturating_add(whole);
            ends.push(end);
            offsets.push(since);
        }
        if offsets.len() != lost.len() {
            return Err(ChannelError::Times {
                trial: offsets.len() + 1,
            });
        }
        Ok(Self {
            lost: lost.into(),
            times: offsets.into(),
            loss: bad / end as f64,
            ends: ends.into(),
        })
    }

    /// Returns the share of the recorded time, in [0, 1], in which packets are lost.
    pub fn loss_rate(&self) -> f64 {
        self.loss
    }

    fn bounds(&self, trial: usize) -> (u64, u64) {
        let start = trial.checked_sub(1).map_or(0, |before| self.ends[before]);
        (start, self.ends[trial])
    }
}

#[derive(Clone, Debug)]
pub(super) struct TimedReplay {
    pattern: TimedPattern,
    next: NextTrial,
    trial: usize,
    /// The start of the trial on the channel's clock, in nanoseconds. The first trial starts at or
    /// before 0.
    since: i128,
    random: Random,
}

impl TimedReplay {
    pub(super) fn new(pattern: TimedPattern, next: NextTrial, mut random: Random) -> Self {
        let all = pattern.ends.last().copied().unwrap_or(1);
        let at = random.below(all);
        let trial = pattern.ends.partition_point(|&end| end <= at);
        let (start, _) = pattern.bounds(trial);
        Self {
            pattern,
            next,
            trial,
            since: -i128::from(at - start),
            random,
        }
    }

    pub(super) fn corrupts(&mut self, at: Time) -> bool {
        let now = i128::from(at.as_nanos());
        loop {
            let (start, end) = self.pattern.bounds(self.trial);
            let length = i128::from(end - start);
            let within = now - self.since;
            if within < length {
                let times = &self.pattern.times[self.trial];
                let place = times.partition_point(|&time| i128::from(time) <= within);
                return self.pattern.lost[self.trial][place.saturating_sub(1)];
            }
            match self.next {
                NextTrial::Same => self.since += within / length * length,
                NextTrial::Random => {
                    // Skips a long silence instead of walking through it.
                    let all = i128::from(self.pattern.ends.last().copied().unwrap_or(1));
                    self.since += if within > 1_000 * all {
                        within - within % length
                    } else {
                        length
                    };
                    self.trial = self.random.below(self.pattern.ends.len() as u64) as usize;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChannelSpec;
    use super::super::tests::{losses, rate};
    use super::*;

    fn pattern() -> TimedPattern {
        let lost = ErrorPattern::new([vec![false, true, false, false]]).unwrap();
        // 100 ms apart.
        let times: Vec<i64> = (0..4).map(|i| 5 + i * 100_000_000).collect();
        TimedPattern::new(&lost, [&times[..]]).unwrap()
    }

    #[test]
    fn packets_meet_the_recorded_moment() {
        assert!((pattern().loss_rate() - 0.25).abs() < 1e-12);
        for next in [NextTrial::Same, NextTrial::Random] {
            let spec = ChannelSpec::TimedPattern {
                pattern: pattern(),
                next,
            };
            // Packets are 1 ms apart, so 100 of every 400 are lost, in one run.
            let lost = losses(&spec, 3, 4_000);
            assert!((rate(&lost) - 0.25).abs() < 0.03);
            let runs = lost.chunk_by(|a, b| a == b).filter(|run| run[0]);
            assert!(runs.skip(1).take(5).all(|run| run.len() == 100));
        }
    }

    #[test]
    fn long_silences_cost_nothing() {
        for next in [NextTrial::Same, NextTrial::Random] {
            let mut replay =
                TimedReplay::new(pattern(), next, crate::Streams::new(1).stream("channel", 0));
            replay.corrupts(Time::ZERO);
            replay.corrupts(Time::MAX);
            replay.corrupts(Time::MAX);
        }
    }
}
