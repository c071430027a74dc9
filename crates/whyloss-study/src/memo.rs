//! Caches results within one invocation, so that experiments with equal scenarios run them once.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Shares results between the experiments of one invocation. For CEN, Table 2 is the first point of
/// Fig. 9, and Fig. 12 repeats half of it.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    values: Mutex<HashMap<(Arc<str>, u64), Shared>>,
}

/// A cached result of any type.
type Shared = Arc<dyn Any + Send + Sync>;

impl Memo {
    pub(crate) fn get<T: Send + Sync + 'static>(
        &self,
        key: &Arc<str>,
        seed: u64,
    ) -> Option<Arc<T>> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(&(key.clone(), seed))?.clone().downcast().ok()
    }

    pub(crate) fn put<T: Send + Sync + 'static>(&self, key: Arc<str>, seed: u64, value: T) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.insert((key, seed), Arc::new(value));
    }
}

/// The finished replications of one scenario or other item, ordered by seed.
pub type Replications<T> = Vec<Arc<T>>;
