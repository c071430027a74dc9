//! Bandwidth estimators, which derive a path's rate from acknowledgements. Controllers that measure
//! each packet (BBR) use the events in [`delivery_rate`].
//!
//! # Contract
//!
//! An estimator gets every acknowledgement in order of arrival, also duplicates, each of which
//! accounts for one segment. The controller decides how to use the estimate; Westwood sets
//! `ssthresh = estimate · RTT_min`.
//!
//! Estimators compute in bytes per second and return bits per second. Acknowledgements that arrive
//! at the same instant form one sample, since a rate needs time to pass.
//!
//! # Adding an estimator
//!
//! Add one file here, one variant of [`EstimatorSpec`], one line in the list of [`AnyEstimator`],
//! and one entry in [`REGISTRY`].

mod abse;
mod acked_count;
pub mod delivery_rate;
mod registry;
mod sarbe;
mod tibet;
mod westwood;
mod westwood_plus;

pub use abse::Abse;
pub use acked_count::AckedCount;
pub use registry::{Entry, REGISTRY, find};
pub use sarbe::{DuplicateAcks, Sarbe};
pub use tibet::{Tibet, TibetFilter};
pub use westwood::{Gain, WestwoodFilter, WestwoodSpec};
pub use westwood_plus::{Arithmetic, WestwoodPlus};

use crate::event::AckEvent;
use crate::macros::any;
use crate::{Duration, Rate, dispatch};

/// A bandwidth estimator. The [module](self) has the contract.
pub trait BandwidthEstimator {
    /// Updates the estimate with an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Sets the size of full segments, in bytes.
    fn on_mtu_change(&mut self, segment_size: u32);
    /// Returns the estimated rate; `None` before the first sample.
    fn estimate(&self) -> Option<Rate>;
}

/// Selects a bandwidth estimator, with its options.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EstimatorSpec {
    /// [`WestwoodFilter`]: Westwood's low-pass filter.
    Westwood(WestwoodSpec),
    /// [`WestwoodPlus`]: one sample per round trip.
    WestwoodPlus(Arithmetic),
    /// [`Abse`]: adaptive bandwidth share estimation.
    Abse,
    /// [`Tibet`]: separate averages of sizes and intervals.
    Tibet(TibetFilter),
    /// [`Sarbe`]: the rate by the receiver's timestamps.
    Sarbe(DuplicateAcks),
}

impl EstimatorSpec {
    /// Creates the estimator for segments of `segment_size` bytes.
    pub fn build(&self, segment_size: u32) -> AnyEstimator {
        match *self {
            Self::Westwood(spec) => {
                AnyEstimator::WestwoodFilter(WestwoodFilter::new(spec, segment_size))
            }
            Self::WestwoodPlus(arithmetic) => {
                AnyEstimator::WestwoodPlus(WestwoodPlus::new(arithmetic, segment_size))
            }
            Self::Abse => AnyEstimator::Abse(Abse::new(segment_size)),
            Self::Tibet(filter) => AnyEstimator::Tibet(Tibet::new(filter, segment_size)),
            Self::Sarbe(duplicates) => AnyEstimator::Sarbe(Sarbe::new(duplicates, segment_size)),
        }
    }
}

macro_rules! dispatch_estimator {
    ($enum:ident $variants:tt) => {
        dispatch! {
            impl BandwidthEstimator for $enum $variants
            #[inline] fn on_ack(&mut self, ack: &AckEvent);
            fn on_mtu_change(&mut self, segment_size: u32);
            fn estimate(&self) -> Option<Rate>;
        }
    };
}

any! {
    /// Any of the estimators, with static dispatch.
    #[derive(Clone, Debug, PartialEq)]
    pub enum AnyEstimator by dispatch_estimator { WestwoodFilter, WestwoodPlus, Abse, Tibet, Sarbe }
}

/// Returns the rate of `bytes` in `span`, in bytes per second; `span` must be positive.
#[inline]
fn per_second(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 1e9 / span.as_nanos() as f64
}

/// Converts bytes per second, rounded to the nearest bit per second.
fn rate(bytes_per_second: f64) -> Rate {
    Rate::from_bps(libm::round(bytes_per_second * 8.0) as u64)
}

#[cfg(test)]
pub(crate) mod tests;
