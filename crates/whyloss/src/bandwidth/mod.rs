//! Bandwidth estimators: how fast a path lets a sender go, from its acknowledgements. Controllers
//! that measure packet by packet (BBR) get the events in [`delivery_rate`].
//!
//! # Contract
//!
//! An estimator is told of every acknowledgement, duplicates included (each stands for one segment
//! that left the network), in order of arrival. The use of the estimate is the controller's
//! business; Westwood's use is `ssthresh = estimate · RTT_min`.
//!
//! All of them divide bytes by time, in bytes per second, and tell bits per second.
//! Acknowledgements that arrive at the same instant make one sample: a rate needs time to pass.
//!
//! # Adding an estimator
//!
//! One file here, one variant in [`EstimatorSpec`], one line in the list of [`AnyEstimator`], one
//! entry in [`REGISTRY`].

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

/// An estimator of bandwidth. See the [module](self) for the contract.
pub trait BandwidthEstimator {
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Full segments have `segment_size` bytes from now on.
    fn on_mtu_change(&mut self, segment_size: u32);
    /// The estimate; `None` before the first sample.
    fn estimate(&self) -> Option<Rate>;
}

/// An estimator and its choices.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum EstimatorSpec {
    /// See [`WestwoodFilter`].
    Westwood(WestwoodSpec),
    /// See [`WestwoodPlus`].
    WestwoodPlus(Arithmetic),
    /// See [`Abse`].
    Abse,
    /// See [`Tibet`].
    Tibet(TibetFilter),
    /// See [`Sarbe`].
    Sarbe(DuplicateAcks),
}

impl EstimatorSpec {
    /// The estimator at its start, for segments of `segment_size` bytes.
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
    /// Any of the estimators, dispatched without indirection.
    #[derive(Clone, Debug, PartialEq)]
    pub enum AnyEstimator by dispatch_estimator { WestwoodFilter, WestwoodPlus, Abse, Tibet, Sarbe }
}

/// `bytes` in `span`, in bytes per second; `span` is positive.
#[inline]
fn per_second(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 1e9 / span.as_nanos() as f64
}

/// So many bytes per second, to the nearest bit per second.
fn rate(bytes_per_second: f64) -> Rate {
    Rate::from_bps(libm::round(bytes_per_second * 8.0) as u64)
}

#[cfg(test)]
pub(crate) mod tests;
