//! Compares classifiers with the oracle on networks drawn at random.
//!
//! [`Setting`] describes the networks, and a list of [`Contender`]s names the competitors. [`run`]
//! simulates every contender in every network with the same seeds; [`Found`] holds the [`Score`] of
//! each. [`report`] turns scores into tables and figures. [`replay`] gives all classifiers the same
//! arrivals, while in [`run`] each one shapes its own traffic.

mod network;
mod plan;
pub mod replay;
pub mod report;
mod score;

pub use network::{Family, Network, Variant};
pub use plan::plan;
pub use score::{LEAST, STARVED, Score, Tally, quantile};

use whyloss_sim::recording::{Recording, Trial};
use whyloss_sim::scenario::ScenarioError;
use whyloss_sim::{Registry, Scenario};

use crate::{Context, ExperimentError};
use network::PLAIN;

/// Selects the transport of the judged flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// The transport is TFRC of RFC 5348, with classifiers at the receiver.
    Tfrc,
    /// The transport is TCP `NewReno`, with classifiers at the sender.
    NewReno,
    /// The transport is TCP with CUBIC and SACK, with classifiers at the sender.
    Cubic,
}

impl Transport {
    /// All transports of the arena.
    pub const ALL: [Self; 3] = [Self::Tfrc, Self::NewReno, Self::Cubic];

    /// Returns the name used in commands and tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Tfrc => "tfrc",
            Self::NewReno => "newreno",
            Self::Cubic => "cubic",
        }
    }

    /// Returns the transport as TOML, ECN-capable if `ecn`.
    fn toml(self, ecn: bool) -> String {
        let kind = match self {
            Self::Tfrc => "kind = \"tfrc\"",
            Self::NewReno => "kind = \"tcp\", recovery = \"newreno\"",
            Self::Cubic => "kind = \"tcp\", controller = \"cubic\"",
        };
        with_ecn(kind, ecn)
    }

    /// Returns every registered classifier that can decide for this transport. Under TCP it adds
    /// the controllers that need no classifier: [`RIVALS`] and plugins.
    pub fn contenders(self, registry: &Registry) -> Vec<Contender> {
        let contender = |id: &str| Contender(id.to_owned());
        let competes = |id: &&str| !matches!(*id, "oracle" | "unaware" | "random");
        let ids: Vec<&str> = match self {
            Self::Tfrc => registry.receivers().lines().map(|line| line.id).collect(),
            Self::NewReno | Self::Cubic => registry.senders().lines().map(|line| line.id).collect(),
        };
        let built_in = |id: &str| whyloss::congestion::find(id).is_some();
        let own = registry.controllers().map(|line| line.id);
        let rivals = RIVALS.into_iter().chain(own.filter(|id| !built_in(id)));
        let rivals = rivals.filter(|_| self != Self::Tfrc);
        let ids = ids.into_iter().filter(competes);
        ids.chain(rivals).map(contender).collect()
    }
}

/// The controllers that compete without a classifier, because they follow rates and delays rather
/// than losses.
pub const RIVALS: [&str; 2] = ["bbr", "copa"];

/// Wraps a transport in a TOML table, with `ecn = true` if `ecn`.
fn with_ecn(kind: &str, ecn: bool) -> String {
    let ecn = if ecn { ", ecn = true" } else { "" };
    format!("{{ {kind}{ecn} }}")
}

/// Selects the queues of the links that may be bottlenecks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Keeps the drawn queues: mostly `DropTail`, otherwise RED.
    #[default]
    Drawn,
    /// Uses `DropTail` everywhere.
    DropTail,
    /// Uses RED everywhere.
    Red,
    /// Uses `CoDel` everywhere, with room for 1000 packets.
    Codel,
    /// Uses FQ-CoDel everywhere, with room for 1000 packets.
    FqCodel,
    /// Uses PIE everywhere, with room for 1000 packets.
    Pie,
}

/// Selects the channels of the noisy links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Radios {
    /// Keeps the drawn channels.
    #[default]
    Drawn,
    /// Draws a channel fitted to recordings for each noisy link, weighted by its number of trials.
    Recorded,
    /// Replays a recording: each noisy link repeats one of these trials.
    Replayed(Trials),
    /// Draws each noisy link's channel from this non-empty list in scenario syntax, with equal
    /// probability.
    Given(&'static [String]),
}

/// The trials of a recording that links replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trials {
    /// The path of the recording in scenarios.
    pub path: &'static str,
    /// The numbers of the trials, counted from 1 and ordered by their losses.
    pub numbers: &'static [usize],
}

impl Trials {
    /// Returns the trials of this recording that lose 0.3 to 30 % of their packets, or `None` if
    /// there are none. They live as long as the process.
    pub fn new(path: &str, recording: &Recording) -> Option<Self> {
        let trials = recording.trials.iter().map(Trial::loss);
        let mut losses: Vec<(f64, usize)> = trials.zip(1..).collect();
        losses.retain(|(loss, _)| (0.003..0.3).contains(loss));
        losses.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let numbers: Vec<usize> = losses.into_iter().map(|(_, number)| number).collect();
        (!numbers.is_empty()).then(|| Self {
            path: path.to_owned().leak(),
            numbers: numbers.leak(),
        })
    }
}

/// Selects the distributions from which networks are drawn. All have the same ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Laws {
    /// The distributions that `docs/evidence/arena.md` lists.
    #[default]
    Arena,
    /// Makes paths longer and wider: round trips are uniform, and each last hop has the full drawn
    /// rate.
    Long,
    /// Makes rates, round trips, buffers, losses and numbers of flows uniform.
    Uniform,
}

/// Describes the networks to draw and the transport of the judged flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent choices, not one state"
)]
pub struct Setting {
    /// The number of networks to draw.
    pub networks: u64,
    /// The seed of the draw.
    pub seed: u64,
    /// The transport of the judged flows.
    pub transport: Transport,
    /// The queues that replace the drawn ones.
    pub queue: Queue,
    /// Whether noisy links retransmit lost packets: at most 7 transmissions, 8 ms apart, in
    /// parallel, with delivery in order.
    pub arq: bool,
    /// Whether all TCP and TFRC flows are ECN-capable, and queues mark packets instead of dropping
    /// them early.
    pub ecn: bool,
    /// Whether noisy links switch between 1.5, 1 and 0.5 times their rate, each for 1 s on average.
    pub varying: bool,
    /// The distributions from which networks are drawn.
    pub laws: Laws,
    /// The channels that replace the drawn ones.
    pub radios: Radios,
    /// Whether to measure harm to a flow without a classifier, which triples the number of runs.
    pub harm: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            networks: 40,
            seed: 1,
            transport: Transport::Tfrc,
            queue: Queue::Drawn,
            arq: false,
            ecn: false,
            varying: false,
            laws: Laws::Arena,
            radios: Radios::Drawn,
            harm: true,
        }
    }
}

impl Setting {
    /// Draws the networks, ordered by index.
    pub fn draw(&self) -> Vec<Network> {
        (0..self.networks)
            .map(|index| Network::draw(self.seed, index, self))
            .collect()
    }
}

/// A competitor, named as in a scenario file: a classifier's name, or a table with its parameters.
/// Under TCP it may name a controller if no classifier has that name; judged flows then run that
/// controller with SACK and without a classifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contender(pub String);

impl Contender {
    /// Returns the contender that knows the true cause of every loss.
    pub fn oracle() -> Self {
        Self("oracle".into())
    }

    /// Returns the contender that treats every loss as congestion.
    pub fn unaware() -> Self {
        Self("unaware".into())
    }

    /// Returns the oracle, `unaware`, and the contenders in `asked`, without duplicates.
    pub fn all(asked: &[Self]) -> Vec<Self> {
        let mut all = vec![Self::oracle(), Self::unaware()];
        for contender in asked {
            if !all.contains(contender) {
                all.push(contender.clone());
            }
        }
        all
    }

    /// Returns whether this is a controller over `transport`, which gives no verdicts.
    pub fn is_controller(&self, transport: Transport, registry: &Registry) -> bool {
        transport != Transport::Tfrc
            && registry.senders().find(&self.0).is_none()
            && registry.controllers().any(|line| line.id == self.0)
    }

    /// Returns the network as a scenario in which this contender drives all judged flows.
    ///
    /// # Errors
    /// Returns an error if no such classifier exists.
    pub fn scenario(
        &self,
        network: &Network,
        transport: Transport,
        variant: Variant,
        registry: &Registry,
    ) -> Result<Scenario, ScenarioError> {
        let (key, value) = self.set(transport, network.ecn, registry);
        let name = format!("network {}", network.index);
        let text = network.scenario(transport, variant);
        Scenario::from_toml_with(&text, &name, &[(key, value.to_string())], registry)
    }

    /// Returns the key and value that put this contender in charge of all judged flows.
    fn set(&self, transport: Transport, ecn: bool, registry: &Registry) -> (String, toml::Value) {
        let (key, text) = if self.is_controller(transport, registry) {
            let kind = format!("kind = \"tcp\", controller = \"{}\"", self.0);
            ("flow.judged-*.transport", with_ecn(&kind, ecn))
        } else {
            ("flow.judged-*.classifier", self.0.clone())
        };
        // A table stays a table; any other text becomes a name.
        let table = format!("it = {text}").parse::<toml::Table>();
        let parsed = table.ok().and_then(|mut table| table.remove("it"));
        (key.to_owned(), parsed.unwrap_or(toml::Value::String(text)))
    }
}

/// Holds the scores of every contender in every network.
#[derive(Clone, Debug)]
pub struct Found {
    /// The networks, ordered by index.
    pub networks: Vec<Network>,
    /// The options of the runs.
    pub setting: Setting,
    /// The number of replications of each contender in each network.
    pub seeds: u64,
    /// The oracle, `unaware`, then the requested contenders, each with its score per network.
    pub contenders: Vec<(Contender, Vec<Score>)>,
}

/// Simulates the oracle, `unaware` and `contenders` in every network, with the seeds of `context`.
///
/// # Errors
/// Returns [`ExperimentError::Stopped`] if stopped before the last run, or the error of a failed
/// run. Check names with [`Contender::scenario`] first.
pub fn run(
    context: &Context<'_>,
    setting: &Setting,
    contenders: &[Contender],
    registry: &Registry,
) -> Result<Found, ExperimentError> {
    let networks = setting.draw();
    let all = Contender::all(contenders);
    let variants = plan::variants(setting);
    let plan = plan(setting, &all, context.seeds(), registry);
    let plan = plan.map_err(|error| ExperimentError::Failed(error.into()))?;
    let points: Vec<u64> = (0..plan.points()).collect();
    let runs = context.each(
        &points,
        |point| format!("{setting:?} {all:?} {point}"),
        |&point, seed| plan::run(&plan, point, seed, registry),
    )?;
    if context.stopped() {
        return Err(ExperimentError::Stopped);
    }
    let tallies: Vec<Tally> = runs
        .iter()
        .map(|runs| Tally::sum(runs.iter().map(AsRef::as_ref)))
        .collect();
    let tally = |network: usize, contender: usize, variant: usize| {
        &tallies[(network * variants.len() + variant) * all.len() + contender]
    };
    let score = |network: usize, contender: usize| {
        let mut score = Score::new(tally(network, contender, 0), tally(network, 0, 0));
        score.oracle /= context.seeds() as f64;
        if all[contender].is_controller(setting.transport, registry) {
            score.forget_verdicts();
        }
        if setting.harm {
            // The reference is contender 1, `unaware`, with which no flow has a classifier.
            let harm = |variant| {
                Score::harm(
                    tally(network, contender, variant),
                    tally(network, 1, variant),
                )
            };
            (score.harm, score.clean_harm) = (harm(1), harm(2));
        }
        score
    };
    let scores = |contender: usize| (0..networks.len()).map(|n| score(n, contender)).collect();
    let contenders = all.iter().cloned().enumerate();
    let contenders = contenders.map(|(at, name)| (name, scores(at))).collect();
    Ok(Found {
        setting: *setting,
        seeds: context.seeds(),
        contenders,
        networks,
    })
}

/// Returns whether a flow of a scenario is judged.
fn is_judged(flow: &whyloss_sim::scenario::Flow) -> bool {
    !flow.background && flow.name != PLAIN
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use whyloss::congestion::{ControllerKind, CopaModes};
    use whyloss_sim::scenario::Transport as Kind;

    use super::*;
    use crate::experiment::Unwatched;

    /// A controller replaces the judged flows' own, keeps ECN, and has no verdicts to score.
    #[test]
    fn controllers_compete_under_tcp_alone() {
        let setting = Setting {
            ecn: true,
            ..Setting::default()
        };
        let network = Network::draw(1, 2, &setting);
        let copa = Contender("copa".into());
        let ours = Registry::new();
        let scenario = copa.scenario(&network, Transport::NewReno, Variant::Beside, &ours);
        for flow in scenario.expect("a controller").flows {
            let judged = is_judged(&flow);
            if let Kind::Tcp { options, .. } = flow.transport
                && (judged || flow.name == PLAIN)
            {
                let kind = ControllerKind::Copa(CopaModes::Both);
                assert_eq!(options.controller.kind == kind, judged, "{}", flow.name);
                assert!(options.ecn);
            }
        }
        let under_tfrc = copa.scenario(&network, Transport::Tfrc, Variant::Drawn, &ours);
        assert!(under_tfrc.is_err());
        assert!(!Transport::Tfrc.contenders(&ours).contains(&copa));
        // A name that both have means the classifier.
        assert!(!Contender("veno".into()).is_controller(Transport::Cubic, &ours));
    }

    /// A sweep rejects a count of flows that no network has.
    #[test]
    fn a_plan_without_harm_counts_no_plain_flows() {
        for harm in [false, true] {
            let setting = Setting {
                networks: 1,
                harm,
                ..Setting::default()
            };
            let all = Contender::all(&[]);
            let plan = plan(&setting, &all, 1, &Registry::new()).expect("a plan");
            assert_eq!(plan.to_toml().contains("flow.plain.delivered"), harm);
        }
    }

    #[test]
    fn what_controllers_receive_is_a_share_of_the_oracles() {
        let setting = Setting {
            networks: 1,
            transport: Transport::NewReno,
            harm: false,
            ..Setting::default()
        };
        let stop = AtomicBool::new(false);
        let context = Context::new(&Unwatched, &stop).with_seeds(1);
        let found = run(
            &context,
            &setting,
            &[Contender("bbr".into())],
            &Registry::new(),
        )
        .expect("runs");
        let (_, scores) = &found.contenders[2];
        assert!(scores[0].received.is_some_and(|share| share > 0.1));
        assert_eq!(
            (scores[0].mc, scores[0].mw, scores[0].balanced),
            (None, None, None)
        );
    }
}
