//! Named tasks that scenario files and expressions cannot describe: probes into runs, adjustments
//! of scenarios, and experiments that are programs.

mod bal;
mod cdma;
mod cen;
mod ela;
mod mar;
mod media;
mod mil;

use whyloss_sim::RunError;
use whyloss_sim::scenario::{Transport, suggest};
use whyloss_sim::{Measurement, Scenario};
use whyloss_study::{Context, ExperimentError, Outcome};

use whyloss::Duration;
use whyloss::bandwidth::{DuplicateAcks, EstimatorSpec, Gain, WestwoodSpec};
use whyloss::congestion::{ControllerKind, Decrease, Reaction};
use whyloss::schemes::{Lookup, LookupOf};
use whyloss_sim::decider::Decider;
use whyloss_sim::host::tcp::{Dialect, Options};

use crate::form::{Fault, Text, fault};

/// A curve over time: points of seconds and a value.
pub(crate) type Track = Vec<(f64, f64)>;

/// The result of a probe for one run.
#[derive(Debug, Default)]
pub(crate) struct Probed {
    /// Named values, `probe.NAME` in metrics; NaN if a value does not exist.
    pub(crate) values: Vec<(&'static str, f64)>,
    /// Named curves over time, shown for the first seed only.
    pub(crate) tracks: Vec<(&'static str, Track)>,
}

impl Probed {
    /// Returns the curve with this name.
    pub(crate) fn track(&self, name: &str) -> Option<&[(f64, f64)]> {
        let found = self.tracks.iter().find(|(known, _)| *known == name);
        found.map(|(_, track)| track.as_slice())
    }
}

/// Runs a scenario with a seed and inspects it.
type Run = fn(&Scenario, u64) -> Result<(Measurement, Probed), RunError>;

/// A probe with its name.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) id: &'static str,
    pub(crate) run: Run,
}

static PROBES: [Probe; 5] = [
    Probe {
        id: "bal-trace",
        run: bal::trace,
    },
    Probe {
        id: "cen-hybrids",
        run: cen::hybrids,
    },
    Probe {
        id: "ela-first-loss",
        run: ela::first_loss,
    },
    Probe {
        id: "mar-queue",
        run: mar::queue,
    },
    Probe {
        id: "mil-senders",
        run: mil::senders,
    },
];

/// A function that changes a scenario.
type Adjust = fn(&mut Scenario);

static ADJUSTMENTS: [(&str, Adjust); 15] = [
    ("cen-radio", cdma::replayed),
    ("westwood-timed", |scenario| {
        westwood(scenario, WestwoodSpec::UCLA_TIMED);
    }),
    ("westwood-timed-m-10", |scenario| {
        westwood(scenario, WestwoodSpec::TIMED);
    }),
    ("westwood-per-ack", |scenario| {
        westwood(scenario, WestwoodSpec::PER_ACK);
    }),
    ("westwood-tau-half", |scenario| {
        let tau = Duration::from_millis(500);
        westwood(
            scenario,
            WestwoodSpec {
                gain: Gain::Timed { tau, m: 2 },
                ..WestwoodSpec::UCLA_TIMED
            },
        );
    }),
    ("westwood-counts-all", |scenario| {
        westwood(
            scenario,
            WestwoodSpec {
                at_most: None,
                ..WestwoodSpec::UCLA_TIMED
            },
        );
    }),
    ("westwood-nr", |scenario| {
        westwood(scenario, WestwoodSpec::PER_ACK);
        each_tcp(scenario, |options| {
            if let ControllerKind::Westwood(westwood) = &mut options.controller.kind {
                westwood.reaction = Reaction::UclaNewReno;
            }
        });
    }),
    ("westwood-without-module", |scenario| {
        each_tcp(scenario, |options| {
            if let ControllerKind::Westwood(westwood) = &mut options.controller.kind {
                westwood.reaction = Reaction::Westwood;
            }
        });
    }),
    ("westwood-of-the-rfcs", |scenario| {
        each_tcp(scenario, |options| {
            options.dialect = Dialect::Rfc;
            if let ControllerKind::Westwood(westwood) = &mut options.controller.kind {
                westwood.reaction = Reaction::Westwood;
            }
        });
    }),
    ("errors-before-queue", |scenario| {
        for link in &mut scenario.links {
            link.link.channel_before_queue = true;
        }
    }),
    // The radio is the second link; its return link follows.
    ("acks-lost", |scenario| {
        if let [_, _, radio, back, ..] = &mut scenario.links[..] {
            back.link.channel = radio.link.channel.clone();
        }
    }),
    ("reno-halves-flight", |scenario| {
        each_tcp(scenario, |options| {
            if let ControllerKind::Reno(decrease) = &mut options.controller.kind {
                *decrease = Decrease::FlightSize;
            }
        });
    }),
    ("lda-forgets", |scenario| {
        ideal(scenario, |lookup| lookup.remembers = false);
    }),
    ("lda-acknowledged", |scenario| {
        ideal(scenario, |lookup| lookup.of = LookupOf::Acknowledged);
    }),
    ("sarbe-duplicates", |scenario| {
        each_tcp(scenario, |options| {
            if let ControllerKind::Balde(duplicates) = &mut options.controller.kind {
                *duplicates = DuplicateAcks::Sample;
            }
        });
    }),
];

/// Sets the filter of every Westwood flow.
fn westwood(scenario: &mut Scenario, spec: WestwoodSpec) {
    each_tcp(scenario, |options| {
        if let ControllerKind::Westwood(westwood) = &mut options.controller.kind {
            westwood.estimator = EstimatorSpec::Westwood(spec);
        }
    });
}

fn each_tcp(scenario: &mut Scenario, mut change: impl FnMut(&mut Options)) {
    for flow in &mut scenario.flows {
        if let Transport::Tcp { options, .. } = &mut flow.transport {
            change(options);
        }
    }
}

/// Changes which packets the ideal classifiers look up.
fn ideal(scenario: &mut Scenario, change: impl Fn(&mut Lookup)) {
    for flow in &mut scenario.flows {
        if let Transport::Tcp {
            classifier: Decider::Oracle(lookup),
            ..
        } = &mut flow.transport
        {
            change(lookup);
        }
    }
}

/// A function that computes the outcome of an experiment.
pub(crate) type Program = fn(&Context<'_>) -> Result<Outcome, ExperimentError>;

/// Experiments that no paper file can express: the radio is not a network, and frames are not
/// packets.
const PROGRAMS: &[(&str, Program)] = &[
    ("cen-table-1", cdma::table_1),
    ("cen-fig-8", cdma::fig_8),
    ("ela-media-video", media::video),
    ("ela-media-voice", media::voice),
];

fn named<'a, T>(
    all: &'a [T],
    id: impl Fn(&T) -> &'static str,
    name: &Text,
    what: &str,
) -> Result<&'a T, Fault> {
    all.iter()
        .find(|of| id(of) == name.get_ref())
        .ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(&id).collect();
            let hint = suggest(name.get_ref(), known.iter().copied());
            fault(
                name,
                format!("no {what} is called `{}`{hint}", name.get_ref()),
            )
        })
}

/// Returns the probe with this name.
pub(crate) fn find(name: &Text) -> Result<&'static Probe, Fault> {
    named(&PROBES, |probe| probe.id, name, "probe")
}

/// Returns the adjustment with this name.
pub(crate) fn adjust(name: &Text) -> Result<Adjust, Fault> {
    named(&ADJUSTMENTS, |of| of.0, name, "adjustment").map(|of| of.1)
}

/// Returns the program with this name.
pub(crate) fn program(name: &Text) -> Result<Program, Fault> {
    named(PROGRAMS, |of| of.0, name, "program").map(|of| of.1)
}
