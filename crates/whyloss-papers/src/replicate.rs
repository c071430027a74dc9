//! Replications: every scenario under every seed, on all cores, each at most once per invocation.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use whyloss_sim::{Measurement, Scenario};

use crate::experiment::{Context, ExperimentError};

/// What experiments of one invocation share: Table 2 is the first point of Fig. 9, and Fig. 12 repeats half of it.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    values: Mutex<HashMap<(Arc<str>, u64), Shared>>,
}

/// Something that was worked out once.
type Shared = Arc<dyn Any + Send + Sync>;

impl Memo {
    fn get<T: Send + Sync + 'static>(&self, key: &Arc<str>, seed: u64) -> Option<Arc<T>> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(&(key.clone(), seed))?.clone().downcast().ok()
    }

    fn put<T: Send + Sync + 'static>(&self, key: Arc<str>, seed: u64, value: T) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.insert((key, seed), Arc::new(value));
    }
}

/// The finished replications of one scenario, in the order of their seeds.
pub(crate) type Replications<T> = Vec<Arc<T>>;

impl Context<'_> {
    /// Runs every scenario under the seeds `1..=seeds`; one list of replications per scenario.
    ///
    /// # Errors
    /// As [`Context::each`].
    pub fn replicate(
        &self,
        scenarios: &[Scenario],
    ) -> Result<Vec<Replications<Measurement>>, ExperimentError> {
        // The key is the scenario itself, written out: two share a run only if they are the same.
        self.each(
            scenarios,
            |scenario| format!("{scenario:?}"),
            |scenario, seed| {
                whyloss_sim::run(scenario, seed, &mut ())
                    .map_err(|error| ExperimentError::Failed(Box::new(error)))
            },
        )
    }

    /// Does `work` for every item under the seeds `1..=seeds`, in parallel, unless this invocation already did it for
    /// the same `key`; one list per item.
    ///
    /// Seeds run in the outer loop, so that work stopped half-way has the first seeds of every item.
    ///
    /// # Errors
    /// [`ExperimentError::Stopped`] if some item has no finished replication; the first error of `work`.
    pub fn each<I: Sync, T: Send + Sync + 'static>(
        &self,
        items: &[I],
        key: impl Fn(&I) -> String,
        work: impl Fn(&I, u64) -> Result<T, ExperimentError> + Sync,
    ) -> Result<Vec<Replications<T>>, ExperimentError> {
        let keys: Vec<Arc<str>> = items.iter().map(|item| key(item).into()).collect();
        let all =
            (1..=self.seeds()).flat_map(|seed| (0..items.len()).map(move |item| (item, seed)));
        let missing: Vec<(usize, u64)> = all
            .filter(|&(item, seed)| self.memo().get::<T>(&keys[item], seed).is_none())
            .collect();
        self.progress().expect(missing.len() as u64);
        // Handed out one by one in order; splitting the list would start in the middle of it.
        missing.iter().par_bridge().try_for_each(|&(item, seed)| {
            if !self.stopped() {
                let done = work(&items[item], seed)?;
                self.memo().put(keys[item].clone(), seed, done);
                self.progress().finish();
            }
            Ok::<(), ExperimentError>(())
        })?;
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
}
