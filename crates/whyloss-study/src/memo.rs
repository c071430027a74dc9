//! Results of computations, kept for reuse.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Results that experiments of one invocation share: Table 2 is the first point of Fig. 9, and Fig.
/// 12 repeats half of it.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    values: Mutex<HashMap<(Arc<str>, u64), Shared>>,
}

/// Something that was worked out once.
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

/// The finished replications of one scenario, in the order of their seeds.
pub type Replications<T> = Vec<Arc<T>>;
