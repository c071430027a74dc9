//! Bandwidth estimators: how fast a path lets a sender go, from its acknowledgements.
//!
//! # Contract
//!
//! An estimator is told of every acknowledgement, duplicates included (each stands for one segment that left the
//! network), in order of arrival. What a controller makes of the estimate is the controller's business; Westwood's use
//! is `ssthresh = estimate · RTT_min`.
//!
//! # Adding an estimator
//!
//! One file here, and one variant in `EstimatorSpec` and `AnyEstimator`.

use crate::Rate;
use crate::event::AckEvent;

/// An estimator of bandwidth. See the [module](self) for the contract.
pub trait BandwidthEstimator {
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// The estimate; `None` before the first sample.
    fn estimate(&self) -> Option<Rate>;
}
