//! Extracts the facts about links and flows on which the licences (conditions of shortcuts, see
//! `mod.rs`) depend.

use whyloss::{Duration, Rate};
use whyloss_link::queue::Discipline;
use whyloss_link::{ChannelSpec, EventLink, LinkSpec};

use crate::host::{Sink, Source};
use crate::packet::ANSWER_SIZE;
use crate::scenario::{Flow, Router, Scenario, Transport};

/// The links, and the ways of the flows over them.
#[derive(Clone, Debug)]
pub(in super::super) struct Map {
    pub(in super::super) links: Vec<LinkFacts>,
    pub(in super::super) flows: Vec<FlowFacts>,
}

/// The facts about a link.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(in super::super) struct LinkFacts {
    pub(super) rate: Rate,
    pub(super) delay: Duration,
    /// Whether the link cannot decide immediately (`turns.rs`).
    pub(super) busy: bool,
    /// Whether a busy link knows arrivals at its turns (`EventLink::knows_at_turns`).
    pub(super) may_be_prompt: bool,
    /// Whether a packet may leave the link after one of its flow that came later.
    pub(super) reorders: bool,
    /// Whether packets leave the link at least a transmission time apart, with the same delay: it
    /// has no rate trace and no change of delay, and is not busy unless it may be prompt.
    pub(super) even: bool,
    /// Whether, moreover, the link is not busy, and drops packets only when its DropTail queue is
    /// full: it has no channel.
    pub(super) bare: bool,
}

#[derive(Clone, Debug)]
pub(in super::super) struct FlowFacts {
    /// The links from source to sink.
    pub(in super::super) there: Vec<usize>,
    /// The links from sink to source.
    pub(in super::super) back: Vec<usize>,
    /// The sizes of all data packets and of all answers; `None` if they differ.
    pub(in super::super) sizes: Option<[u32; 2]>,
    pub(super) answers: Answers,
    /// Whether the sink judges the causes of losses.
    pub(super) sink_judges: bool,
    /// Whether the source can [foresee](super::foresee) acknowledgements.
    pub(super) may_foresee: bool,
    /// Whether the source sends by timers, so that a [gate](super::gate) serves it.
    pub(super) paced: bool,
}

/// The answers of a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    Never,
    /// Only when packets arrive; not necessarily to each (`ack_every`).
    AtOnce,
    /// Some at deadlines.
    Later,
}

/// The origin of a link's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feeder {
    None,
    Link(usize),
    /// The sink of this flow.
    Sink(usize),
    /// No single one that sends in a known order: several links or sinks; a source, which may send
    /// at any time; or a busy link, at its turns.
    Unordered,
}

impl LinkFacts {
    fn new(spec: &LinkSpec) -> Self {
        let busy = EventLink::is_needed(spec);
        let may_be_prompt = busy && EventLink::knows_at_turns(spec);
        // Packets that share an opportunity of a trace leave together, so a trace is never regular.
        let regular = spec.delay_changes.is_empty() && spec.trace.is_none();
        let bare = spec.channel == ChannelSpec::None
            && spec.queue.discipline == Discipline::DropTail
            && regular
            && !busy;
        Self {
            rate: spec.rate,
            delay: spec.delay.max(Duration::ZERO),
            busy,
            may_be_prompt,
            // A queue alone keeps the packets of each flow in order. Other busy links may not.
            reorders: busy && !may_be_prompt,
            even: regular && (!busy || may_be_prompt),
            bare,
        }
    }

    /// Returns the transmission time of a packet of `size` bytes.
    pub(super) fn transmission(&self, size: u32) -> Duration {
        self.rate.transmission_time(size)
    }

    /// Returns the time that a packet of `size` bytes takes if it does not wait.
    pub(in super::super) fn crossing(&self, size: u32) -> Duration {
        self.transmission(size) + self.delay
    }
}

impl FlowFacts {
    fn new(flow: &Flow, router: &Router<'_>) -> Self {
        let (there, back) = router.routes_of(flow).unwrap_or_default();
        let source = Source::facts(flow);
        Self {
            there,
            back,
            sizes: (!flow.is_from_outside()).then(|| [flow.wire_size(), ANSWER_SIZE]),
            answers: match &flow.transport {
                Transport::Datagrams { .. } => Answers::Never,
                transport if Sink::answers_at_once(transport) => Answers::AtOnce,
                _ => Answers::Later,
            },
            sink_judges: matches!(flow.transport, Transport::Tfrc { .. }),
            may_foresee: source.may_foresee,
            paced: source.paced,
        }
    }

    /// Returns both ways: to the sink, and back.
    fn ways(&self) -> [&[usize]; 2] {
        [&self.there, &self.back]
    }
}

impl Map {
    /// Returns the map of a scenario that passed its checks.
    pub(in super::super) fn new(scenario: &Scenario) -> Self {
        let links = scenario.links.iter();
        let router = Router::new(scenario);
        Self {
            links: links.map(|link| LinkFacts::new(&link.link)).collect(),
            flows: scenario
                .flows
                .iter()
                .map(|flow| FlowFacts::new(flow, &router))
                .collect(),
        }
    }

    /// Returns the number of ways that use each link.
    pub(super) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.links.len()];
        for &link in self.flows.iter().flat_map(FlowFacts::ways).flatten() {
            uses[link] += 1;
        }
        uses
    }

    /// Returns the size of each link's packets; `None` if their sizes differ.
    pub(super) fn sizes(&self) -> Vec<Option<u32>> {
        let mut sizes = vec![(None, true); self.links.len()];
        for flow in &self.flows {
            for (end, way) in flow.ways().into_iter().enumerate() {
                let size = flow.sizes.map(|sizes| sizes[end]);
                for &link in way {
                    let (known, same) = &mut sizes[link];
                    *same &= size.is_some() && known.is_none_or(|known| Some(known) == size);
                    *known = size;
                }
            }
        }
        let known = |(size, same): (Option<u32>, bool)| size.filter(|_| same);
        sizes.into_iter().map(known).collect()
    }

    /// Returns the feeder of each link. A busy link counts as [`Feeder::Unordered`], because it is
    /// computed at its turns. So does a link that it feeds, unless it is `prompt`.
    pub(super) fn feeders(&self, prompt: &[bool]) -> Vec<Feeder> {
        let mut feeders = vec![Feeder::None; self.links.len()];
        for (index, flow) in self.flows.iter().enumerate() {
            for (first, way) in [Feeder::Unordered, Feeder::Sink(index)]
                .into_iter()
                .zip(flow.ways())
            {
                let mut before = first;
                for &link in way {
                    let feeder = &mut feeders[link];
                    *feeder = match *feeder {
                        Feeder::None => before,
                        same if same == before => same,
                        _ => Feeder::Unordered,
                    };
                    before = Feeder::Link(link);
                }
            }
        }
        for (link, feeder) in feeders.iter_mut().enumerate() {
            let turns = |before: usize| self.links[before].busy && !prompt[before];
            let fed_at_turns = matches!(*feeder, Feeder::Link(before) if turns(before));
            if fed_at_turns || self.links[link].busy {
                *feeder = Feeder::Unordered;
            }
        }
        feeders
    }

    /// Returns pairs of a link and the next link on a way, `None` at the end of the way.
    pub(super) fn steps(&self) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
        let ways = self.flows.iter().flat_map(FlowFacts::ways);
        ways.flat_map(|way| (0..way.len()).map(|at| (way[at], way.get(at + 1).copied())))
    }
}

#[cfg(test)]
impl Map {
    /// Returns a map of this many links of 1 Gbit/s and 1 ms, and of TCP flows over them with their
    /// links there and back. The sinks acknowledge each packet of 1500 bytes immediately.
    pub(super) fn of(links: usize, flows: &[(&[usize], &[usize])]) -> Self {
        let link = LinkFacts {
            rate: Rate::from_bps(1_000_000_000),
            delay: Duration::from_millis(1),
            busy: false,
            may_be_prompt: false,
            reorders: false,
            even: true,
            bare: true,
        };
        let flow = |&(there, back): &(&[usize], &[usize])| FlowFacts {
            there: there.to_vec(),
            back: back.to_vec(),
            sizes: Some([1_500, ANSWER_SIZE]),
            answers: Answers::AtOnce,
            sink_judges: false,
            may_foresee: true,
            paced: true,
        };
        Self {
            links: vec![link; links],
            flows: flows.iter().map(flow).collect(),
        }
    }
}
