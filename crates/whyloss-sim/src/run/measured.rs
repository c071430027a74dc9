//! What most people ask of a run, compiled once for all of them.

use whyloss::Time;

use super::{RunError, run};
use crate::delay::{DelaySummary, Delays};
use crate::measure::Measurement;
use crate::media::{FrameCounts, Media, StreamResult};
use crate::observe::{Observer, Order, Watch};
use crate::scenario::Scenario;

/// What is measured beside the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Delays of every flow.
    pub delays: bool,
    /// Frames of every flow with a stream.
    pub frames: bool,
}

impl Needs {
    /// Everything that this scenario has.
    pub fn all(scenario: &Scenario) -> Self {
        let mut flows = scenario.flows.iter();
        Self {
            delays: true,
            frames: flows.any(|flow| flow.application.stream().is_some()),
        }
    }
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// Counts of every flow and link.
    pub measurement: Measurement,
    /// One per flow of the scenario, in its order; none if delays were not needed.
    pub delays: Vec<DelaySummary>,
    /// Counts of frames of each flow of the scenario, for each playout delay; none without a stream.
    pub frames: Vec<Vec<FrameCounts>>,
    /// Until when it was simulated: the end of the scenario, unless it was stopped.
    pub reached: Time,
}

impl Run {
    /// Joins what the counts and the observers of a run have to say.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        measurement: Measurement,
        delays: Option<Delays>,
        media: Option<Media>,
        reached: Time,
    ) -> Self {
        let counts =
            |flow: &Option<StreamResult>| flow.as_ref().map_or_else(Vec::new, StreamResult::counts);
        Self {
            seed,
            measurement,
            delays: delays.map_or_else(Vec::new, Delays::into_flows),
            frames: media.map_or_else(
                || vec![Vec::new(); scenario.flows.len()],
                |media| media.flows.iter().map(counts).collect(),
            ),
            reached,
        }
    }
}

/// Asks whether a run is to go on, every few milliseconds of its work, and keeps how far it is.
pub struct Clock<'a> {
    /// Is told how far the run is, and answers whether it is to go on.
    goes_on: &'a mut dyn FnMut(Time) -> bool,
    /// Until where it was simulated.
    pub reached: Time,
}

impl<'a> Clock<'a> {
    /// An observer that asks this.
    pub fn new(goes_on: &'a mut dyn FnMut(Time) -> bool) -> Self {
        Self {
            goes_on,
            reached: Time::ZERO,
        }
    }
}

impl Observer for Clock<'_> {
    const ORDER: Order = Order::Place;
    const LINKS: bool = false;
    const SOURCES: bool = false;
    const CLOCK: bool = true;
}

impl Watch for Clock<'_> {
    fn goes_on(&mut self, now: Time) -> bool {
        self.reached = now;
        (self.goes_on)(now)
    }
}

/// Runs one replication, measures what is needed of it, and asks now and then whether to go on.
///
/// # Errors
/// As [`run`].
pub fn run_measured(
    scenario: &Scenario,
    seed: u64,
    needs: Needs,
    goes_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Run, RunError> {
    let mut clock = Clock::new(goes_on);
    // Three engines, so that who needs less pays for less.
    let (measurement, delays, media) = if needs.frames {
        let mut watched = ((Delays::new(scenario), Media::new(scenario)), clock);
        let measurement = run(scenario, seed, &mut watched)?;
        let ((delays, media), of_watched) = watched;
        clock = of_watched;
        (measurement, needs.delays.then_some(delays), Some(media))
    } else if needs.delays {
        let mut watched = (Delays::new(scenario), clock);
        let measurement = run(scenario, seed, &mut watched)?;
        clock = watched.1;
        (measurement, Some(watched.0), None)
    } else {
        (run(scenario, seed, &mut clock)?, None, None)
    };
    Ok(Run::new(
        scenario,
        seed,
        measurement,
        delays,
        media,
        clock.reached,
    ))
}

/// Runs one replication that nobody watches.
///
/// # Errors
/// As [`run`].
pub fn run_unwatched(scenario: &Scenario, seed: u64) -> Result<Measurement, RunError> {
    Ok(run_measured(scenario, seed, Needs::default(), &mut |_| true)?.measurement)
}
