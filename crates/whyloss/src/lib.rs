#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - [`receiver`]: classifiers that judge losses from packet arrivals. [`losses`]: finds lost
//!   packets by their sequence numbers, and gets their causes from such a classifier.
//! - [`sender`]: classifiers that judge losses from acknowledgements. [`schemes`]: combinations of
//!   a classifier, a controller and a policy.
//! - `connection` (feature `alloc`): runs a scheme for a stack with packet numbers. It returns the
//!   window, the pacing rate and verdicts.
//! - [`registry`]: builds these algorithms by name, with checked parameters.
//! - [`event`]: the events that a transport passes to classifiers, estimators and controllers.
//! - [`bandwidth`]: bandwidth estimators.
//! - [`tfrc`]: TCP-Friendly Rate Control (RFC 5348), sender and receiver.
//! - [`iftp`]: IFTP and its variants (ElAarag et al. 2008), sender, receiver and wire format.
//! - [`rto`]: the retransmission timeout of TCP and IFTP (RFC 6298).
//! - [`congestion`]: window controllers and their trait. [`policy`]: how a wireless loss affects
//!   them.
//! - [`time`]: times in integer nanoseconds. [`stamps`]: converts short timestamps, such as RTP's.
//! - [`testing`]: property tests for your own algorithms.
//! - [`cause`]: [`Cause`], and counts of verdicts by true cause, which give Mc (congestion losses
//!   called wireless), Mw (wireless losses called congestion) and accuracy.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

pub mod bandwidth;
pub mod cause;
pub mod congestion;
#[cfg(feature = "alloc")]
pub mod connection;
pub mod event;
pub mod iftp;
pub mod losses;
mod macros;
pub mod policy;
pub mod rate;
pub mod receiver;
pub mod registry;
pub mod rto;
pub mod schemes;
pub mod sender;
pub mod stamps;
pub mod testing;
pub mod tfrc;
pub mod time;
mod trees;

pub use cause::{Cause, Confusion};
pub use rate::Rate;
pub use time::{Duration, SignedDuration, Time};
