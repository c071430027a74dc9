//! Queue disciplines.

mod drop_tail;

pub use drop_tail::{Limit, Queue, QueueSpec};
