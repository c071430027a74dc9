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
pub use self::measured::{Needs, Run};
use self::plain::Plain;
use crate::delay::Delays;
use crate::host::{quic, rtp};
use crate::measure::Measurement;
use crate::media::Media;
use crate::network::Fuse;
use crate::observe::{Observer, Order, Watch};
use crate::scenario::{CheckError, Scenario, Transport};

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
    /// An RTP flow needs an estimator that is not [installed](crate::host::rtp::install).
    #[error(
        "flow `{0}`: its estimator is not built into this program; `cargo build --release --features rtc` builds the command with all of them"
    )]
    NoEstimator(String),
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

/// One replication of a scenario, about to run.
///
/// The result depends on the scenario and the seed alone. Memory does not grow with simulated time, but with the packets
/// under way or waiting, of which there may be [`Scenario::most_packets`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use whyloss_sim::{Scenario, Simulation};
///
/// let file = r#"
///     duration = "10 s"
///     link = [{ from = "a", to = "b", rate = "1 Mbit/s", delay = "5 ms", queue = { packets = 10 } }]
///     flow = [{ from = "a", to = "b", transport = { kind = "tcp" } }]
/// "#;
/// let scenario = Scenario::from_toml(file, "example.toml", &[])?;
/// let measured = Simulation::new(&scenario, 1).run()?;
/// assert_eq!(measured, Simulation::new(&scenario, 1).run()?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Each way to run fails with what [`Scenario::check`] finds wrong or with [`RunError::NoEngine`],
/// before anything is run, and with [`RunError::TooManyPackets`].
#[must_use = "nothing is run before `run`, `measure` or `observe`"]
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    plain: bool,
    watch: Option<&'a mut dyn Watch>,
    goes_on: Option<&'a mut dyn FnMut(Time) -> bool>,
}

impl<'a> Simulation<'a> {
    /// The replication of this scenario that this seed names.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        Self {
            scenario,
            seed,
            plain: false,
            watch: None,
            goes_on: None,
        }
    }

    /// Uses the plain engine: one event per arrival and per deadline.
    ///
    /// The result is the same but for [`Measurement::events`]; it takes several times as long.
    /// Every event is told in the order of its time.
    pub fn plain(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Tells of every event, in the order [`Order::Flow`]. The engine for it is compiled already.
    pub fn watch(mut self, watch: &'a mut dyn Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Asks every few milliseconds of work, and at the end, whether to go on, and says how far the
    /// run is. A run that is stopped returns what it has counted so far.
    pub fn ask(mut self, goes_on: &'a mut dyn FnMut(Time) -> bool) -> Self {
        self.goes_on = Some(goes_on);
        self
    }

    /// Runs it, and counts.
    ///
    /// # Errors
    /// See [`Simulation`].
    pub fn run(self) -> Result<Measurement, RunError> {
        self.observe(&mut ())
    }

    /// Runs it, counts, and measures what else is needed.
    ///
    /// # Errors
    /// See [`Simulation`].
    pub fn measure(self, needs: Needs) -> Result<Run, RunError> {
        let (scenario, seed) = (self.scenario, self.seed);
        // Three engines, so that a run that needs less pays for less.
        let (mut delays, mut frames) = (Vec::new(), vec![Vec::new(); scenario.flows.len()]);
        let (measurement, reached) = if needs.frames {
            let mut both = (Delays::new(scenario), Media::new(scenario));
            let counted = self.simulate(&mut both)?;
            frames = both.1.into_counts();
            if needs.delays {
                delays = both.0.into_flows();
            }
            counted
        } else if needs.delays {
            let mut observer = Delays::new(scenario);
            let counted = self.simulate(&mut observer)?;
            delays = observer.into_flows();
            counted
        } else {
            self.simulate(&mut ())?
        };
        Ok(Run {
            seed,
            measurement,
            delays,
            frames,
            reached,
        })
    }

    /// Runs it with an engine that is compiled for what this observer needs. If there is a
    /// [watch](Self::watch) as well, or the [plain](Self::plain) engine is asked for, both hear
    /// everything.
    ///
    /// # Errors
    /// See [`Simulation`].
    pub fn observe<O: Observer>(self, observer: &mut O) -> Result<Measurement, RunError> {
        Ok(self.simulate(observer)?.0)
    }

    /// Runs it. Returns the counts, and until when it was simulated.
    fn simulate<O: Observer>(self, observer: &mut O) -> Result<(Measurement, Time), RunError> {
        ready(self.scenario)?;
        let (scenario, seed) = (self.scenario, self.seed);
        let mut always = |_| true;
        let goes_on = self.goes_on.unwrap_or(&mut always);
        // (Of a constant, so that only one of the engines is compiled for an observer.)
        if self.plain || const { matches!(O::ORDER, Order::Run) } {
            return Plain::new(scenario, seed, &mut (observer, self.watch)).run(goes_on);
        }
        match self.watch {
            Some(watch) => by_fast(
                scenario,
                seed,
                &mut (&mut (observer, watch) as &mut dyn Watch),
                goes_on,
            ),
            None => by_fast(scenario, seed, observer, goes_on),
        }
    }
}

fn by_fast<O: Observer>(
    scenario: &Scenario,
    seed: u64,
    observer: &mut O,
    goes_on: &mut dyn FnMut(Time) -> bool,
) -> Result<(Measurement, Time), RunError> {
    let fuse = Fuse {
        ends: O::ORDER == Order::Place,
        stretches: !O::LINKS,
    };
    Engine::new(scenario, seed, fuse).run(observer, goes_on)
}

/// Fails if the scenario cannot be run, or not by this program.
fn ready(scenario: &Scenario) -> Result<(), RunError> {
    scenario.check()?;
    for flow in &scenario.flows {
        match &flow.transport {
            Transport::Quic { .. } if !quic::is_installed() => {
                return Err(RunError::NoEngine(flow.name.clone()));
            }
            Transport::Rtp { options } if !rtp::knows(options.estimator) => {
                return Err(RunError::NoEstimator(flow.name.clone()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Events between two questions whether to go on ([`Simulation::ask`]): a few milliseconds.
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
