//! Runs a scenario: a fast engine, and a plain one that says what the fast one must give.
//!
//! | word | what happens | where |
//! |---|---|---|
//! | *wake* | an end's deadline has come: it acts | `flow.rs` |
//! | *wake late* | what a source sends at its deadline can be at its *gate*, the first place where it waits: it acts as of then | `ends/late.rs` |
//! | *catch up* | something reaches a source that is woken late: it acts as of all its deadlines before | `ends/late.rs` |
//! | *transmit* | a source sends all that it may send now, each packet by *send* | `ends.rs` |
//! | *send* | a packet enters the first link of its way, or the next, and every one fused behind it | `network.rs` |
//! | *pass* | a link is idle and nothing is in the way: the packet's arrival is known without more ado | `whyloss_link` |
//! | *offer* | a link says what becomes of a packet: when it arrives, or why it is lost | `whyloss_link` |
//! | *put* | a packet must wait for its arrival: it is in transit over a link, whose event comes when it is due | `network.rs` |
//! | *take* | the packet in transit that is due leaves: the next *send*, a sink or a source follows | `network.rs` |
//! | *deliver* | a data packet reaches its sink, which may *answer* | `flow.rs`, `ends.rs` |
//! | *answer* | a sink's packet is *sent* on its way home | `ends.rs` |
//! | *foresee* | a source learns of an answer before its time, if nothing can come between; then it *transmits* | `ends.rs` |
//!
//! In the order in which they happen to a segment of TCP and its acknowledgement:
//!
//! ```text
//! transmit → send (pass or offer, link by link) → put … take → send → deliver → answer → send → foresee → transmit
//!                                                                                          or → put … take → transmit
//! ```

mod ends;
mod fast;
mod flow;
mod measured;
mod plain;

use thiserror::Error;
use whyloss::{Duration, Time};
use whyloss_link::Streams;

use self::fast::Engine;
pub use self::measured::{Clock, Needs, Run, run_measured, run_unwatched};
use self::plain::Plain;
use crate::host::quic;
use crate::measure::Measurement;
use crate::network::Fuse;
use crate::observe::{Observer, Order, Watch};
use crate::scenario::{CheckError, Flow, Scenario, Transport};

/// Bytes of an acknowledgement or a feedback packet on the wire, headers included.
pub(crate) const ANSWER_SIZE: u32 = 40;

/// Why a run gave no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is wrong; nothing was run.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A flow's protocol engine is not part of this program; nothing was run.
    #[error(
        "flow `{0}`: its QUIC engine is not built into this program; `cargo build --release --features quic` builds the command with it"
    )]
    NoEngine(String),
    /// More packets were under way or waiting than [`Scenario::most_packets`] allows, or than there is memory for.
    #[error(
        "link `{link}` holds too many packets: at {:.6} s more than {most} are under way or waiting in the network; give the link a queue with a limit, or raise `most_packets`",
        at.as_secs_f64()
    )]
    TooManyPackets {
        /// The link that holds most of them.
        link: String,
        /// When the last straw was sent.
        at: Time,
        /// The limit.
        most: u64,
    },
}

/// Runs one replication of a scenario.
///
/// The result depends on the scenario and the seed alone. Memory does not grow with simulated time, but with the packets
/// under way or waiting, of which there may be [`Scenario::most_packets`].
///
/// # Errors
/// Whatever [`Scenario::check`] finds wrong, and [`RunError::NoEngine`]; nothing is run then. And
/// [`RunError::TooManyPackets`].
pub fn run<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    observer: &mut O,
) -> Result<Measurement, RunError> {
    ready(scenario)?;
    // (A constant, so that of the engines only one is compiled for an observer.)
    if const { matches!(O::ORDER, Order::Run) } {
        return Plain::new(scenario, seed, observer).run();
    }
    let fuse = Fuse {
        ends: O::ORDER == Order::Place,
        stretches: !O::LINKS,
    };
    Engine::new(scenario, seed, fuse).run(observer)
}

/// Runs one replication as [`run`] does, and tells of everything. What it needs is compiled already.
///
/// What concerns one flow is told in the order of its times, and what happens at one link likewise ([`Order::Flow`]).
///
/// # Errors
/// The same.
pub fn run_watched(
    scenario: &Scenario,
    seed: u64,
    mut watch: &mut dyn Watch,
) -> Result<Measurement, RunError> {
    run(scenario, seed, &mut watch)
}

/// Runs one replication as [`run`] does, in the plain way: one event per arrival and per deadline.
///
/// The result is the same but for [`Measurement::events`]; it takes several times as long. Everything is told in the order of
/// its times.
///
/// # Errors
/// The same.
pub fn run_plain(
    scenario: &Scenario,
    seed: u64,
    watch: &mut dyn Watch,
) -> Result<Measurement, RunError> {
    ready(scenario)?;
    Plain::new(scenario, seed, watch).run()
}

/// Fails if the scenario cannot be run, or not by this program.
fn ready(scenario: &Scenario) -> Result<(), RunError> {
    scenario.check()?;
    let lacks = |flow: &&Flow| matches!(flow.transport, Transport::Quic { .. });
    match scenario.flows.iter().find(lacks) {
        Some(flow) if !quic::is_installed() => Err(RunError::NoEngine(flow.name.clone())),
        _ => Ok(()),
    }
}

/// Events between two questions whether to go on ([`Watch::goes_on`]): a few milliseconds.
const ASK_EVERY: u64 = 1 << 16;

/// When a flow starts and stops.
struct Start {
    start: Time,
    stop: Time,
}

impl Start {
    /// Draws both from what the scenario says.
    fn draw(scenario: &Scenario, index: usize, streams: Streams) -> Self {
        let flow = &scenario.flows[index];
        let mut random = streams.stream("times", index as u64);
        let mut between = |(first, last): (Time, Time)| {
            first + Duration::from_secs_f64((last - first).as_secs_f64() * random.uniform())
        };
        Self {
            start: between(flow.start),
            stop: flow.stop.map_or(Time::MAX, between),
        }
    }
}

/// Entities of the event queue: every link, and the two ends of every flow.
pub(crate) fn entities(scenario: &Scenario) -> usize {
    scenario.links.len() + 2 * scenario.flows.len()
}

#[cfg(test)]
mod tests;
