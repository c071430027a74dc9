#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - [`receiver`]: classifiers fed by packet arrivals; [`losses`]: arrivals with sequence numbers
//!   in, lost packets with their causes out.
//! - [`sender`]: classifiers fed by acknowledgements; [`schemes`]: a classifier, a controller and a
//!   policy in one.
//! - `connection` (with the feature `alloc`): packet numbers in; window, pacing rate and verdicts
//!   out.
//! - [`registry`]: all of these by name, with checked parameters.
//! - [`event`]: what a transport tells sender classifiers, estimators and controllers.
//! - [`bandwidth`]: bandwidth estimators.
//! - [`tfrc`]: TCP-Friendly Rate Control (RFC 5348), sender and receiver.
//! - [`iftp`]: IFTP and its variants (ElAarag et al. 2008), sender, receiver and wire format.
//! - [`rto`]: the retransmission timeout that TCP and IFTP share (RFC 6298).
//! - [`congestion`]: window controllers, and the trait they share; [`policy`]: what a loss called
//!   wireless does to them.
//! - [`time`]: times in integer nanoseconds; [`stamps`]: stamps of a few bits, as RTP carries them,
//!   as times.
//! - [`testing`]: the property tests, for algorithms of one's own.
//! - [`cause`]: [`Cause`], and the confusion counts behind Mc, Mw and accuracy.
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
