//! Runs a scenario. Read `plain.rs` first: an engine with one event per arrival, per deadline and
//! per turn of a busy link. `fast.rs` gives the same results with fewer events: its shortcuts mark
//! in a table of hops where an event may be left out. Read the head of `fast.rs` next, then
//! `shortcuts/mod.rs` (an example), `hops.rs`, `network.rs`, `send.rs`, `transit.rs`, `ends.rs`,
//! `transmit.rs`, `deliver.rs` and `hear.rs`. `turns.rs`, `gated.rs` and `truths.rs` can wait.
//!
//! # The order of events
//!
//! Events happen in the order of their times. At equal times, links come before ends (sources and
//! sinks), both in the order of the scenario, and a flow's source comes before its sink. Packets
//! that leave a link at the same time do so in the order in which they entered it. Both engines
//! keep this order, so the order in which events were scheduled never matters. Two rules:
//!
//! - A packet arrives later than it leaves, if only by a nanosecond
//!   ([`whyloss::Rate::transmission_time`]). So a packet sent in an event never arrives before
//!   another event of the same time.
//! - If a packet reaches an end exactly at that end's deadline, the packet comes first. So on a
//!   packet, an end first acts only on deadlines *before* `now` (`<`). A source foresees an
//!   acknowledgement *up to* its deadline (`<=`).
//!
//! # Words of the fast engine
//!
//! | word | meaning | where |
//! |---|---|---|
//! | *entity* | a link, a source or a sink; each event belongs to one | `event_queue.rs` |
//! | *way* | the links and the end that a packet crosses in one direction | `hops.rs` |
//! | *hop* | a link or end on a way: an entry of the table of hops | `hops.rs` |
//! | *fused* | a hop handled in the step of the hop before, without an event | `hops.rs` |
//! | *stop* | a hop that a packet reaches by an event | `hops.rs` |
//! | *parcel* | a packet's 48-byte record; packets that do not fit are *aside* | `parcel.rs` |
//! | *truth* | a loss's true cause, stored until the flow's judge may learn it | `truths.rs` |
//! | *room* | the number of packets that may still be added | `network.rs` |
//! | *busy* | a link that cannot decide at once (CoDel, jitter, a random rate) | `turns.rs` |
//! | *prompt* | a busy link that returns packets before they arrive | `shortcuts/prompt.rs` |
//! | *gate* | the first stop of a flow's packets | `shortcuts/gate.rs` |
//! | *gated* | a paced source that is woken when its packet is at its gate | `gated.rs` |
//! | | **what happens to a packet** | |
//! | *transmit* | a source sends all that it may send now | `transmit.rs` |
//! | *send* | the packet enters a link, and every link fused after it | `send.rs` |
//! | *offer* | a link decides when the packet arrives, or why it is lost | `whyloss_link` |
//! | *put* | the packet is stored in transit until an event at its next stop | `transit.rs` |
//! | *park* | a packet early at a gate or a fused source is kept until it is due | `transit.rs` |
//! | *take* | a packet that is due or foreseen leaves the link for the next hop | `transit.rs` |
//! | *hold* | a busy link keeps the packet until its fate is known | `turns.rs` |
//! | *turn* | an event of a busy link, at which it returns packets | `turns.rs` |
//! | *deliver* | data reaches its sink, which may *reply* | `deliver.rs` |
//! | *reply* | the sink *sends* an answer on its way home | `deliver.rs` |
//! | *hear* | an answer reaches its source, which then *transmits* | `hear.rs` |
//! | *foresee* | a source *hears* an answer ahead of time | `hear.rs` |
//! | | **what happens to an end** | |
//! | *arm* | an event is set for its deadline (also: for a busy link's next turn) | `ends.rs` |
//! | *overtake* | an event is set for a new deadline, before the pending event | `ends.rs` |
//! | *wake* | its deadline has expired: it acts | `flow.rs` |
//! | *catch up* | before other news, a gated source acts on its past deadlines | `gated.rs` |

mod busy;
mod deliver;
mod ends;
pub(crate) mod event_queue;
mod fast;
mod flow;
mod gated;
mod hear;
mod hops;
mod network;
mod outcome;
mod parcel;
mod plain;
mod prefetch;
mod recorder;
mod ring;
mod send;
mod shortcuts;
mod tally;
mod transit;
mod transmit;
mod truths;
mod turns;
mod wire;

use whyloss::Time;

use self::fast::Engine;
pub use self::outcome::{Needs, Run, RunError};
use self::plain::Plain;
use self::recorder::Recorder;
pub use self::shortcuts::Shortcut;
use self::shortcuts::Shortcuts;
use crate::delay::Delays;
use crate::host::{quic, rtp};
use crate::measure::{Measurement, Window};
use crate::media::Media;
use crate::observe::{Observer, Order, Watch};
use crate::scenario::{Scenario, Transport};

/// One replication of a scenario, about to run.
///
/// The result depends on the scenario and the seed alone. Memory does not grow with simulated time,
/// but with the packets in flight or waiting; [`Scenario::most_packets`] limits them.
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
/// Each of `run`, `measure` and `observe` returns the errors of [`Scenario::check`],
/// [`RunError::NoEngine`] or [`RunError::NoEstimator`] before it runs anything, and
/// [`RunError::TooManyPackets`] during the run.
#[must_use = "nothing is run before `run`, `measure` or `observe`"]
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    seed: u64,
    plain: bool,
    shortcuts: Shortcuts,
    watch: Option<&'a mut dyn Watch>,
    goes_on: Option<&'a mut dyn FnMut(Time) -> bool>,
}

impl<'a> Simulation<'a> {
    /// Prepares a run of this scenario with this seed.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        Self {
            scenario,
            seed,
            plain: false,
            shortcuts: Shortcuts::ALL,
            watch: None,
            goes_on: None,
        }
    }

    /// Uses the plain engine: one event per arrival, per deadline and per turn of a busy link.
    ///
    /// Results are the same, except for [`Measurement::events`]; a run takes several times as long.
    /// Near [`Scenario::most_packets`], one engine may fail where the other does not: this engine
    /// counts packets, and the fast one counts reserved room. Watches receive events in order;
    /// turns report packets that were offered earlier.
    pub fn plain(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Turns off a shortcut of the fast engine. Results are the same, except for
    /// [`Measurement::events`].
    pub fn without(mut self, shortcut: Shortcut) -> Self {
        self.shortcuts = self.shortcuts.without(shortcut);
        self
    }

    /// Passes every event to `watch`, in the order [`Order::Flow`]. All watches share one compiled
    /// engine.
    pub fn watch(mut self, watch: &'a mut dyn Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Calls `goes_on` with the simulated time every few milliseconds of work, and at the end. If
    /// it returns false, the run stops and returns the counts so far.
    pub fn ask(mut self, goes_on: &'a mut dyn FnMut(Time) -> bool) -> Self {
        self.goes_on = Some(goes_on);
        self
    }

    /// Runs the scenario and returns the counts.
    ///
    /// # Errors
    /// See [`Simulation`].
    pub fn run(self) -> Result<Measurement, RunError> {
        self.observe(&mut ())
    }

    /// Runs the scenario and returns the counts and the other measurements in `needs`.
    ///
    /// # Errors
    /// See [`Simulation`].
    pub fn measure(self, needs: Needs) -> Result<Run, RunError> {
        let (scenario, seed) = (self.scenario, self.seed);
        // Three engines, so that a run that needs less pays for less.
        let (mut delays, mut frames) = (Vec::new(), Vec::new());
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

    /// Runs the scenario with an engine that is compiled for the needs of `observer`. With a
    /// [watch](Self::watch) or the [plain](Self::plain) engine, `observer` receives every event.
    ///
    /// # Errors
    /// See [`Simulation`].
    pub fn observe<O: Observer>(self, observer: &mut O) -> Result<Measurement, RunError> {
        Ok(self.simulate(observer)?.0)
    }

    /// Runs the scenario. Returns the counts, and the simulated time at the end.
    fn simulate<O: Observer>(self, observer: &mut O) -> Result<(Measurement, Time), RunError> {
        let scenario = self.scenario;
        ready(scenario)?;
        let (mut measurement, reached) = self.run_engine(observer)?;
        for (result, flow) in measurement.flows.iter_mut().zip(&scenario.flows) {
            result.name.clone_from(&flow.name);
            result.background = flow.background;
            result.copy_of.clone_from(&flow.copy_of);
        }
        Ok((measurement, reached))
    }

    /// Runs the engine. Flows in the result have no names.
    fn run_engine<O: Observer>(self, observer: &mut O) -> Result<(Measurement, Time), RunError> {
        let (scenario, seed, shortcuts) = (self.scenario, self.seed, self.shortcuts);
        let mut always = |_| true;
        let goes_on = self.goes_on.unwrap_or(&mut always);
        // (`const`: no fast engine is compiled for an observer that needs the order of the run.)
        if self.plain || const { matches!(O::ORDER, Order::Run) } {
            let mut both = (observer, self.watch);
            let recorder = Recorder {
                window: Window::of(scenario),
                observer: &mut (&mut both as &mut dyn Watch),
            };
            return Plain::new(scenario, seed, recorder).run(goes_on);
        }
        match self.watch {
            Some(watch) => {
                let mut both = (observer, watch);
                let mut watch: &mut dyn Watch = &mut both;
                Engine::new(scenario, seed, shortcuts, &mut watch).run(goes_on)
            }
            None => Engine::new(scenario, seed, shortcuts, observer).run(goes_on),
        }
    }
}

/// Checks that the scenario is valid, and that this program includes the QUIC engine and the
/// estimators that it needs.
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

#[cfg(test)]
mod tests;
