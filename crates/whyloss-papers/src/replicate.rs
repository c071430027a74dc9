//! Replications: every scenario under every seed, on all cores, each at most once per invocation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use whyloss_sim::{Measurement, Scenario};

use crate::experiment::{Context, ExperimentError};

/// Runs that experiments of one invocation share: Table 2 is the first point of Fig. 9, and Fig. 12 repeats half of it.
///
/// The key is the scenario itself, written out, and the seed: two scenarios share a run only if they are the same.
#[derive(Debug, Default)]
pub struct Memo {
    runs: Mutex<HashMap<(Arc<str>, u64), Arc<Measurement>>>,
}

/// The finished replications of one scenario, in the order of their seeds.
pub type Replications = Vec<Arc<Measurement>>;

impl Context<'_> {
    /// Runs every scenario under the seeds `1..=seeds`; one list of replications per scenario.
    ///
    /// Seeds run in the outer loop, so that a run stopped half-way has the first seeds of every scenario.
    ///
    /// # Errors
    /// [`ExperimentError::Stopped`] if some scenario has no finished replication; [`ExperimentError::Failed`] if a
    /// scenario does not pass its checks.
    pub fn replicate(&self, scenarios: &[Scenario]) -> Result<Vec<Replications>, ExperimentError> {
        let keys: Vec<Arc<str>> = scenarios.iter().map(|scenario| format!("{scenario:?}").into()).collect();
        let wanted = (1..=self.seeds()).flat_map(|seed| (0..scenarios.len()).map(move |index| (seed, index)));
        let missing: Vec<(u64, usize)> =
            wanted.filter(|&(seed, index)| self.memo().get(&keys[index], seed).is_none()).collect();
        self.progress().expect(missing.len() as u64);
        missing.par_iter().with_max_len(1).try_for_each(|&(seed, index)| {
            if self.stopped() {
                return Ok(());
            }
            let measurement = whyloss_sim::run(&scenarios[index], seed, &mut ())
                .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
            self.memo().put(keys[index].clone(), seed, measurement);
            self.progress().finish();
            Ok::<(), ExperimentError>(())
        })?;
        let finished = keys.iter().map(|key| {
            let runs: Replications = (1..=self.seeds()).filter_map(|seed| self.memo().get(key, seed)).collect();
            if runs.is_empty() { Err(ExperimentError::Stopped) } else { Ok(runs) }
        });
        finished.collect()
    }
}

impl Memo {
    fn get(&self, key: &Arc<str>, seed: u64) -> Option<Arc<Measurement>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).get(&(key.clone(), seed)).cloned()
    }

    fn put(&self, key: Arc<str>, seed: u64, measurement: Measurement) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).insert((key, seed), Arc::new(measurement));
    }
}
