//! The unaware classifier: every loss is congestion, as for a transport without a classifier.

use super::SenderClassifier;
use crate::Cause;
use crate::event::{AckEvent, LossEvent};

/// A classifier that calls every loss congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unaware;

impl SenderClassifier for Unaware {
    #[inline]
    fn on_ack(&mut self, _: &AckEvent) {}

    fn on_loss(&mut self, _: &LossEvent) -> Cause {
        Cause::Congestion
    }
}
