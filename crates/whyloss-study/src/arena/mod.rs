//! The arena: classifiers on networks drawn at random, each beside the oracle on the same networks.
//!
//! [`Setting`] says which networks, [`Contender`]s who competes; [`run`] simulates every contender
//! in every network under the same seeds, and [`Found`] holds what each got in each ([`Score`]).
//! [`report`] makes tables and pictures of it. [`replay`] asks all classifiers about the same
//! arrivals instead: each closed loop makes its own traffic.

mod network;
mod plan;
pub mod replay;
pub mod report;
mod score;

pub use network::{Family, Network, Variant};
pub use plan::plan;
pub use score::{LEAST, Score, Tally, quantile};

use whyloss_sim::scenario::ScenarioError;
use whyloss_sim::{Registry, Scenario};

use crate::{Context, ExperimentError};
use network::PLAIN;

/// Transport of the judged flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TFRC of RFC 5348, with receiver classifiers.
    Tfrc,
    /// TCP `NewReno`, with sender classifiers.
    NewReno,
    /// TCP with CUBIC and SACK, with sender classifiers.
    Cubic,
}

impl Transport {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Tfrc, Self::NewReno, Self::Cubic];

    /// Its name in commands and tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Tfrc => "tfrc",
            Self::NewReno => "newreno",
            Self::Cubic => "cubic",
        }
    }

    /// Its name in a scenario, ECN-capable or not.
    fn toml(self, ecn: bool) -> String {
        let kind = match self {
            Self::Tfrc => "kind = \"tfrc\"",
            Self::NewReno => "kind = \"tcp\", recovery = \"newreno\"",
            Self::Cubic => "kind = \"tcp\", controller = \"cubic\"",
        };
        with_ecn(kind, ecn)
    }

    /// Every classifier of the registry that can decide for it, and under TCP the controllers that
    /// need none: [`RIVALS`], and those from outside.
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

/// Controllers that do without a classifier, since they go by rates and delays more than by losses.
pub const RIVALS: [&str; 2] = ["bbr", "copa"];

/// A transport of a scenario, ECN-capable or not.
fn with_ecn(kind: &str, ecn: bool) -> String {
    let ecn = if ecn { ", ecn = true" } else { "" };
    format!("{{ {kind}{ecn} }}")
}

/// The queues of the links that may be narrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Those that were drawn: `DropTail`, some RED.
    #[default]
    Drawn,
    /// `DropTail` everywhere.
    DropTail,
    /// RED everywhere.
    Red,
    /// `CoDel` everywhere, with room for 1000 packets.
    Codel,
    /// FQ-CoDel everywhere, with room for 1000 packets.
    FqCodel,
    /// PIE everywhere, with room for 1000 packets.
    Pie,
}

/// The channels of the noisy links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Radios {
    /// Those that were drawn.
    #[default]
    Drawn,
    /// Channels fitted to recordings, one for each noisy link, as likely as it has trials.
    Recorded,
    /// The trials of this recording that lose 0.3 to 30 %: each noisy link repeats one, drawn at
    /// random.
    Replayed(&'static str),
}

/// Laws that networks are drawn by, all with the same ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Laws {
    /// Those of the arena.
    #[default]
    Arena,
    /// Longer and wider: round trips are uniform, and each last hop has the rate that is drawn.
    Long,
    /// Rates, round trips, buffers, losses and numbers of flows are uniform.
    Uniform,
}

/// Which networks, and what carries the judged flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent choices, not one state"
)]
pub struct Setting {
    /// How many networks.
    pub networks: u64,
    /// The seed that they are drawn with.
    pub seed: u64,
    /// Transport of the judged flows.
    pub transport: Transport,
    /// Another queue than was drawn.
    pub queue: Queue,
    /// Whether noisy links send again what their channels lost: 7 tries, 8 ms apart, others in
    /// between, in order.
    pub arq: bool,
    /// Whether queues that drop early mark instead, and all flows of TCP and TFRC are ECN-capable.
    pub ecn: bool,
    /// Whether noisy links have 1.5 times, once and half their rate, for a second each on average.
    pub varying: bool,
    /// The laws that networks are drawn by.
    pub laws: Laws,
    /// Another channel than was drawn.
    pub radios: Radios,
    /// Whether harm to a plain flow is measured, which takes three times the runs.
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
    /// The networks, in their order.
    pub fn draw(&self) -> Vec<Network> {
        (0..self.networks)
            .map(|index| Network::draw(self.seed, index, self))
            .collect()
    }
}

/// A classifier as a scenario file gives it: a name, or a table with the name and its parameters.
/// Under TCP also a controller's name, if no classifier has it: then all judged flows have that
/// controller, SACK, and no classifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contender(pub String);

impl Contender {
    /// Returns the contender that knows the truth.
    pub fn oracle() -> Self {
        Self("oracle".into())
    }

    /// Returns the contender that takes every loss for congestion.
    pub fn unaware() -> Self {
        Self("unaware".into())
    }

    /// The oracle, the unaware one, and these, each once.
    pub fn all(asked: &[Self]) -> Vec<Self> {
        let mut all = vec![Self::oracle(), Self::unaware()];
        for contender in asked {
            if !all.contains(contender) {
                all.push(contender.clone());
            }
        }
        all
    }

    /// Whether it is a controller over this transport, which says nothing about causes.
    pub fn is_controller(&self, transport: Transport, registry: &Registry) -> bool {
        transport != Transport::Tfrc
            && registry.senders().find(&self.0).is_none()
            && registry.controllers().any(|line| line.id == self.0)
    }

    /// The network as a scenario in which this decides for all judged flows.
    ///
    /// # Errors
    /// If there is no such classifier.
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

    /// Returns the setting that lets this decide for all judged flows of a network.
    fn set(&self, transport: Transport, ecn: bool, registry: &Registry) -> (String, toml::Value) {
        let (key, text) = if self.is_controller(transport, registry) {
            let kind = format!("kind = \"tcp\", controller = \"{}\"", self.0);
            ("flow.judged-*.transport", with_ecn(&kind, ecn))
        } else {
            ("flow.judged-*.classifier", self.0.clone())
        };
        // A table stays one; any other text is a name.
        let table = format!("it = {text}").parse::<toml::Table>();
        let parsed = table.ok().and_then(|mut table| table.remove("it"));
        (key.to_owned(), parsed.unwrap_or(toml::Value::String(text)))
    }
}

/// The scores of every contender in every network.
#[derive(Clone, Debug)]
pub struct Found {
    /// The networks, in their order.
    pub networks: Vec<Network>,
    /// The settings of the runs.
    pub setting: Setting,
    /// Runs of each contender in each network.
    pub seeds: u64,
    /// The oracle, the unaware one, then those that were asked for; with the scores of each
    /// network.
    pub contenders: Vec<(Contender, Vec<Score>)>,
}

/// Simulates the oracle, the unaware one and these contenders in every network, under the seeds of
/// `context`.
///
/// # Errors
/// [`ExperimentError::Stopped`] if the command was stopped before everything had run, and what
/// fails in a run. A contender that is no classifier is told by [`Contender::scenario`] before.
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
        if all[contender].is_controller(setting.transport, registry) {
            score.forget_verdicts();
        }
        if setting.harm {
            // All plain: the unaware one comes second.
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

/// Whether a flow of a scenario is judged.
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

    /// A controller takes the place of all judged flows' own, marks and all, and has no verdicts to
    /// be scored.
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
        // A name of both is a classifier's.
        assert!(!Contender("veno".into()).is_controller(Transport::Cubic, &ours));
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
