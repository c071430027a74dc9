//! Runs every scenario with every seed on all cores, and each pair once per invocation.

use std::sync::Arc;

use rayon::prelude::*;
use whyloss_sim::{Measurement, Scenario};

use crate::experiment::{Context, ExperimentError};
pub use crate::memo::Replications;
use crate::statistics;

/// The rule that decides when the mean of a metric is precise enough (sequential stopping).
///
/// A scenario whose mean is not precise gets more seeds, as many as its spread suggests but at most
/// as many as it had. The number of runs depends on the values in seed order, not on the order of
/// completion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half the width of the confidence interval, relative to the mean.
    pub half_width: f64,
    /// The confidence level of that interval, as a share.
    pub confidence: f64,
    /// The maximum number of replications of a scenario.
    pub at_most: u64,
}

impl Precision {
    /// Returns whether the mean of `values`, one per seed, is precise enough.
    pub fn reached(&self, values: &[f64]) -> bool {
        self.excess(values).is_some_and(|excess| excess <= 1.0)
    }

    /// Estimates the number of values that the precision requires, up to `at_most`.
    pub(crate) fn needed(&self, values: &[f64]) -> u64 {
        let count = values.len() as u64;
        let (least, most) = (count + 1, 2 * count.max(1));
        let needed = match self.excess(values) {
            Some(excess) if excess <= 1.0 => count,
            Some(excess) => {
                // The half width falls with the square root of the count.
                let guess = libm::ceil(count as f64 * excess * excess);
                (guess.min(most as f64) as u64).max(least)
            }
            None => most,
        };
        needed.min(self.at_most.max(count))
    }

    /// Returns the half width relative to the allowed one; `None` below two values.
    fn excess(&self, values: &[f64]) -> Option<f64> {
        let half_width = statistics::half_width(values, self.confidence)?;
        let allowed = self.half_width * statistics::mean(values)?.abs();
        Some(if half_width <= allowed {
            0.0
        } else {
            half_width / allowed
        })
    }
}

impl Context<'_> {
    /// Runs every scenario with the seeds `1..=seeds` and returns one list of replications per
    /// scenario.
    ///
    /// # Errors
    /// Returns the errors of [`Context::each`].
    pub fn replicate(
        &self,
        scenarios: &[Scenario],
    ) -> Result<Vec<Replications<Measurement>>, ExperimentError> {
        // The printed scenario is the key, so that only equal scenarios share a run.
        self.each(
            scenarios,
            |scenario| format!("{scenario:?}"),
            |scenario, seed| {
                whyloss_sim::Simulation::new(scenario, seed)
                    .run()
                    .map_err(|error| ExperimentError::Failed(Box::new(error)))
            },
        )
    }

    /// Runs `work` for every item and each seed in `1..=seeds`, in parallel, and returns one list
    /// per item. Items reuse results that this invocation has for the same `key`.
    ///
    /// Seeds form the outer loop, so that interrupted work covers the first seeds of every item.
    ///
    /// # Errors
    /// Returns [`ExperimentError::Stopped`] if an item has no finished replication, or an error of
    /// `work`.
    pub fn each<I: Sync, T: Send + Sync + 'static>(
        &self,
        items: &[I],
        key: impl Fn(&I) -> String,
        work: impl Fn(&I, u64) -> Result<T, ExperimentError> + Sync,
    ) -> Result<Vec<Replications<T>>, ExperimentError> {
        let keys: Vec<Arc<str>> = items.iter().map(|item| key(item).into()).collect();
        let seeds = vec![self.seeds(); items.len()];
        self.work(items, &keys, &seeds, work)?;
        let finished = keys.iter().map(|key| {
            let done: Replications<T> = (1..=self.seeds())
                .filter_map(|seed| self.memo().get(key, seed))
                .collect();
            if done.is_empty() {
                Err(ExperimentError::Stopped)
            } else {
                Ok(done)
            }
        });
        finished.collect()
    }

    /// Replicates groups of compared items until `metric` is precise in every item of a group. All
    /// items of a group have the same seeds and lists of equal length.
    ///
    /// A number of seeds chosen by the user ([`Context::with_seeds`]) is exact; the experiment's
    /// own is a minimum.
    ///
    /// # Errors
    /// Returns the errors of [`Context::each`].
    pub fn each_until<I: Sync, T: Send + Sync + 'static>(
        &self,
        groups: &[Vec<I>],
        key: impl Fn(&I) -> String,
        work: impl Fn(&I, u64) -> Result<T, ExperimentError> + Sync,
        precision: &Precision,
        metric: impl Fn(&T) -> f64,
    ) -> Result<Vec<Vec<Replications<T>>>, ExperimentError> {
        let items: Vec<&I> = groups.iter().flatten().collect();
        let keys: Vec<Arc<str>> = items.iter().map(|item| key(item).into()).collect();
        let mut wanted = vec![self.seeds(); groups.len()];
        loop {
            let seeds: Vec<u64> = groups
                .iter()
                .zip(&wanted)
                .flat_map(|(group, &seeds)| group.iter().map(move |_| seeds))
                .collect();
            self.work(&items, &keys, &seeds, |item, seed| work(item, seed))?;
            let mut all_keys = keys.iter();
            let done: Vec<Vec<Replications<T>>> = groups
                .iter()
                .zip(&wanted)
                .map(|(group, &seeds)| {
                    let keys: Vec<_> = all_keys.by_ref().take(group.len()).collect();
                    self.common(&keys, seeds)
                })
                .collect();
            let mut enough = self.seeds_are_exact() || self.stopped();
            if !enough {
                enough = true;
                for (group, wanted) in done.iter().zip(&mut wanted) {
                    let values = |runs: &Replications<T>| -> Vec<f64> {
                        runs.iter().map(|run| metric(run)).collect()
                    };
                    let needed = group.iter().map(|runs| precision.needed(&values(runs)));
                    let needed = needed.max().unwrap_or(0);
                    enough &= needed <= *wanted;
                    *wanted = needed.max(*wanted);
                }
            }
            if enough {
                let empty = |group: &Vec<Replications<T>>| group.iter().any(Vec::is_empty);
                return if done.iter().any(empty) {
                    Err(ExperimentError::Stopped)
                } else {
                    Ok(done)
                };
            }
        }
    }

    /// Returns the runs with the seeds `1..=seeds` that exist for all of these keys.
    fn common<T: Send + Sync + 'static>(
        &self,
        keys: &[&Arc<str>],
        seeds: u64,
    ) -> Vec<Replications<T>> {
        let mut lists = vec![Vec::new(); keys.len()];
        for seed in 1..=seeds {
            let runs: Option<Vec<Arc<T>>> =
                keys.iter().map(|key| self.memo().get(key, seed)).collect();
            for (list, run) in lists.iter_mut().zip(runs.into_iter().flatten()) {
                list.push(run);
            }
        }
        lists
    }

    /// Runs the missing work of every item for the seeds `1..=seeds`.
    fn work<I: Sync, T: Send + Sync + 'static>(
        &self,
        items: &[I],
        keys: &[Arc<str>],
        seeds: &[u64],
        work: impl Fn(&I, u64) -> Result<T, ExperimentError> + Sync,
    ) -> Result<(), ExperimentError> {
        let most = seeds.iter().copied().max().unwrap_or(0);
        let all = (1..=most).flat_map(|seed| (0..items.len()).map(move |item| (item, seed)));
        let missing: Vec<(usize, u64)> = all
            .filter(|&(item, seed)| seed <= seeds[item])
            .filter(|&(item, seed)| self.memo().get::<T>(&keys[item], seed).is_none())
            .collect();
        self.progress().expect(missing.len() as u64);
        // `par_bridge` hands out work in order; splitting the list would start in its middle.
        missing.iter().par_bridge().try_for_each(|&(item, seed)| {
            if !self.stopped() {
                let done = work(&items[item], seed)?;
                self.memo().put(keys[item].clone(), seed, done);
                self.progress().finish();
            }
            Ok::<(), ExperimentError>(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, Unwatched};
    use std::sync::atomic::AtomicBool;

    const FIVE_PERCENT: Precision = Precision {
        half_width: 0.05,
        confidence: 0.95,
        at_most: 40,
    };

    const EXPERIMENT: Experiment = Experiment {
        id: "ex-1",
        paper: "ex",
        title: "Ten seeds, or more",
        seeds: 10,
        run: &|_| Err(ExperimentError::Stopped),
    };

    /// A mean of 4 with half width 4.9683 (see `statistics`) is 24.8 times the 5 % allowed.
    #[test]
    fn needs_by_hand() {
        assert_eq!(FIVE_PERCENT.needed(&[2.0, 4.0, 6.0]), 6);
        let twenty: Vec<f64> = (0..20).map(|i| 99.0 + f64::from(i % 2) * 2.0).collect();
        assert!(FIVE_PERCENT.reached(&twenty) && FIVE_PERCENT.needed(&twenty) == 20);
        // s = 100·√(20/19)·0.15 = 15.39, t₁₉ = 2.093, and h = 7.20 = 1.44 · 5. So 20 · 1.44² = 41.5
        // values are needed, of which 40 are allowed.
        let wide: Vec<f64> = (0..20).map(|i| 85.0 + f64::from(i % 2) * 30.0).collect();
        assert_eq!(FIVE_PERCENT.needed(&wide), 40);
        assert_eq!(FIVE_PERCENT.needed(&[3.0]), 2);
        assert_eq!(FIVE_PERCENT.needed(&[0.0, 0.0]), 2);
        assert!(!FIVE_PERCENT.reached(&[3.0]));
    }

    /// Returns a value; the spread over seeds is `item` percent.
    fn spread(item: u32, seed: u64) -> f64 {
        let sign = if seed.is_multiple_of(2) { 1.0 } else { -1.0 };
        100.0 + sign * f64::from(item)
    }

    fn lengths(context: &Context<'_>, groups: &[Vec<u32>]) -> Vec<Vec<usize>> {
        let done = context.each_until(
            groups,
            |item| format!("spread {item}"),
            |&item, seed| Ok(spread(item, seed)),
            &FIVE_PERCENT,
            |&value| value,
        );
        let lengths = |group: Vec<Replications<f64>>| group.iter().map(Vec::len).collect();
        done.expect("not stopped")
            .into_iter()
            .map(lengths)
            .collect()
    }

    #[test]
    fn groups_run_until_each_of_them_is_precise() {
        let stop = AtomicBool::new(false);
        let own = Context::new(&Unwatched, &stop).for_experiment(&EXPERIMENT);
        // With s ≈ item·√(n/(n − 1)), 5 % takes (2.1·10/5)² ≈ 18 values at a spread of 10, and more
        // than 40 at 30.
        let lengths_of = |groups: &[Vec<u32>]| lengths(&own, groups);
        let found = lengths_of(&[vec![0, 1], vec![1, 10], vec![30]]);
        assert_eq!(found[0], [10, 10]);
        assert_eq!(found[1][0], found[1][1]);
        assert!((17..=20).contains(&found[1][0]), "{found:?}");
        assert_eq!(found[2], [40]);
        // Cached runs of other experiments change nothing.
        assert_eq!(
            lengths_of(&[vec![0, 1], vec![0, 30]]),
            [vec![10, 10], vec![40, 40]]
        );
        assert_eq!(lengths_of(&[vec![1]]), [vec![10]]);
        assert_eq!(lengths(&own.with_seeds(3), &[vec![30]]), [vec![3]]);
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let stop = AtomicBool::new(false);
            let context = Context::new(&Unwatched, &stop).for_experiment(&EXPERIMENT);
            pool.expect("threads")
                .install(|| lengths(&context, &[vec![3], vec![9], vec![15], vec![30]]))
        };
        assert_eq!(run(1), run(3));
    }
}
