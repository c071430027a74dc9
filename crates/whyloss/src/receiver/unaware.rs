//! Unaware: every loss is congestion, as for a transport without a classifier.

use super::{Arrival, ReceiverClassifier};
use crate::Cause;

/// A classifier that calls every loss congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unaware;

impl ReceiverClassifier for Unaware {
    #[inline]
    fn on_arrival(&mut self, _: &Arrival, missing: u64) -> Option<Cause> {
        (missing > 0).then_some(Cause::Congestion)
    }
}
