//! Models one link without doing I/O: a queue, a rate, a delay and a channel. Returns the true fate
//! of each packet.
//!
//! [`Link::offer`] takes the time as an argument and returns the packet's [`Fate`]. A simulator can
//! therefore drive the link in virtual time, and an emulator in real time.
//!
//! ```
//! use whyloss::{Duration, Rate, Time};
//! use whyloss_link::queue::Limit;
//! use whyloss_link::{Fate, Link, LinkSpec, QueueSpec, Streams};
//!
//! let spec = LinkSpec {
//!     rate: Rate::from_mbps(10),
//!     delay: Duration::from_millis(20),
//!     queue: QueueSpec::drop_tail(Limit::Packets(2)),
//!     ..LinkSpec::default()
//! };
//! let mut link = Link::new(&spec, Streams::new(1), 0);
//! // Four packets of 1250 bytes arrive together: each takes 1 ms on the link, and two may wait.
//! let fates = [(); 4].map(|()| link.offer(Time::ZERO, 1250));
//! assert_eq!(fates[0], Fate::Delivered(Time::ZERO + Duration::from_millis(21)));
//! assert!(matches!(fates[3], Fate::Lost(whyloss::Cause::Congestion, _)));
//! ```
#![forbid(unsafe_code)]

pub mod arq;
pub mod bursts;
pub mod channel;
mod ecn;
mod event_link;
pub mod handover;
pub mod jitter;
mod link;
pub mod markov;
mod pace;
pub mod queue;
pub mod random;
pub mod traced;

pub use arq::ArqSpec;
pub use bursts::BurstSpec;
pub use channel::{Channel, ChannelSpec};
pub use ecn::Ecn;
pub use event_link::{EventLink, Met};
pub use handover::{Backlog, Handover};
pub use jitter::{JitterLaw, JitterSpec};
pub use link::{Fate, Link, LinkSpec};
pub use markov::MarkovRates;
pub use queue::QueueSpec;
pub use random::{Random, Streams};
pub use traced::Opportunities;
