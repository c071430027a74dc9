//! Shortcuts of the fast engine: events that it omits, each under a licence.
//!
//! The file of a shortcut names the idea, the gain as `whyloss bench --ablate` measures it, the
//! licence (the condition under which results stay the same to the byte) and the proof. It has the
//! function that finds the places where a scenario meets the licence. This happens once, before the
//! run. It reads a [`Map`] of plain facts and fills in [`Licences`]. From them come the [table of
//! hops](super::hops), the gates, and which busy links are prompt; during the run, the engine only
//! reads these.
//!
//! # Why results stay the same
//!
//! A link, a source or a sink reacts only to its own inputs: packets, deadlines and true causes,
//! each with its time. It draws its own random numbers. So the results are the same if each part
//! gets the same inputs, with the same times, in the same order as in the plain engine. It does not
//! matter when the engine hands them over. A shortcut hands some inputs over early or late, and its
//! proof shows that their order stays.
//!
//! # An example
//!
//! Two TCP flows whose sinks acknowledge each packet immediately share a bottleneck, link 2. Ten
//! links, each in one direction:
//!
//! ```text
//!   s0 ──0──╮            ╭──3── d0          data of flow 0             0 2 3
//!           r1 ═══2═══ r2                   its acknowledgements       5 7 8
//!   s1 ──1──╯            ╰──4── d1
//!
//!   s0 ──8──╮            ╭──5── d0          data of flow 1             1 2 4
//!           r1 ───7─── r2                   its acknowledgements       6 7 9
//!   s1 ──9──╯            ╰──6── d1
//! ```
//!
//! The hops of flow 0, where each row also has the shortcuts of those above it:
//!
//! ```text
//! none       0  2   3   sink  5   7   8   source
//! fuse       0  2  +3   sink  5   7  +8   source    link 2 alone feeds 3, and 7 alone feeds 8
//! sink       0  2  +3  +sink  5   7  +8   source    link 5 has answers of this sink alone
//! merge      0  2  +3  +sink  5  +7  +8   source    answers meet in the order of their data at 2
//! foresee    0  2  +3  +sink  5  +7  +8  +source    the source only lets the next segment leave
//! stretch    0  2  +[3] +sink [5 7 8]    +source    beyond link 2, packets never wait
//! ```
//!
//! A hop with `+` is handled in the step of the hop before it, and the first hop of a way in the
//! step in which an end sends. Every other hop is an event. Without shortcuts, a packet and its
//! acknowledgement take six. With all, they take one: the arrival at the bottleneck, which depends
//! on packets of the other flow. A test below asserts these rows.
//!
//! | shortcut | idea |
//! |---|---|
//! | [`Fuse`](Shortcut::Fuse) | a link that only one other link feeds needs no event of its own |
//! | [`Sink`](Shortcut::Sink) | a sink takes its packets ahead of time |
//! | [`Merge`](Shortcut::Merge) | answers of many sinks meet in a known order |
//! | [`Foresee`](Shortcut::Foresee) | a source takes acknowledgements ahead of time |
//! | [`Stretch`](Shortcut::Stretch) | links on which packets never wait are crossed in one step |
//! | [`Prompt`](Shortcut::Prompt) | a packet from a CoDel queue enters the next link at once |
//! | [`Gate`](Shortcut::Gate) | a paced source is woken when its packet is at its first stop |
//!
//! A packet *waits* only behind other packets, in the queue of a link. Whether packets ever wait on
//! a link follows from the distances between them (`spacing.rs`). This matters to *merge* and
//! *stretch* only.
//!
//! # Parts that run ahead of the events
//!
//! All proofs rest on the [order of events](super) and on this table:
//!
//! ```text
//! part           worked out                                   its inputs keep their order, because
//! fused link     ahead: in the step of the link before it     one link feeds it, or it is a merge
//! fused sink     ahead: as its packet leaves its last stop    earlier deadlines come first
//! fused source   ahead: with an answer that it foresees       other answers wait for their time
//! gated source   late: when its packet is at its gate         it catches up before other inputs
//! busy link      in time: at its turns                        it is not fused
//! truth          in time: when its packet is at the loss      ends that are ahead get it ahead
//! ```
//!
//! A busy link feeds a fused link only if it is prompt. No fused sink or source sends into a busy
//! link, and no branch has one.
//!
//! [`Simulation::without`](crate::Simulation::without) turns one shortcut off.

mod foresee;
mod fuse;
mod gate;
mod map;
mod merge;
mod prompt;
mod sink;
mod spacing;
mod stretch;

pub(super) use self::gate::Gate;
pub(super) use self::map::Map;
use self::spacing::Spacing;
use crate::observe::{Observer, Order};

/// A shortcut of the fast engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// Computes the decision of a link in the step of its only feeder.
    Fuse,
    /// Computes a sink's reaction ahead of time.
    Sink,
    /// Computes ahead of time the decision of a link on which the acknowledgements of several sinks
    /// meet. Needs [`Sink`](Self::Sink).
    Merge,
    /// Computes a source's reaction ahead of time, for acknowledgements that only move its window.
    Foresee,
    /// Wakes a paced source when its packet reaches its first stop.
    Gate,
    /// Crosses links on which packets never wait in one step.
    Stretch,
    /// Lets packets that leave a CoDel or FQ-CoDel queue enter the next link before they arrive.
    Prompt,
}

impl Shortcut {
    /// All shortcuts.
    pub const ALL: [Self; 7] = [
        Self::Fuse,
        Self::Sink,
        Self::Merge,
        Self::Foresee,
        Self::Gate,
        Self::Stretch,
        Self::Prompt,
    ];

    /// Returns its name, such as `foresee`.
    pub fn name(self) -> &'static str {
        [
            "fuse", "sink", "merge", "foresee", "gate", "stretch", "prompt",
        ][self as usize]
    }
}

/// A set of shortcuts, with one bit for each [`Shortcut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shortcuts(u8);

impl Shortcuts {
    pub(super) const ALL: Self = Self(u8::MAX);

    pub(super) fn without(self, shortcut: Shortcut) -> Self {
        Self(self.0 & !(1 << shortcut as u8))
    }

    pub(super) fn has(self, shortcut: Shortcut) -> bool {
        self.0 & (1 << shortcut as u8) != 0
    }

    /// Omits the shortcuts that an observer would notice: those of ends if it needs another order
    /// of events, and those of links if it observes links.
    pub(super) fn heard_by<O: Observer>(self) -> Self {
        let mut left = self;
        if O::ORDER != Order::Place {
            for shortcut in [Shortcut::Sink, Shortcut::Foresee, Shortcut::Gate] {
                left = left.without(shortcut);
            }
        }
        if O::LINKS {
            for shortcut in [Shortcut::Stretch, Shortcut::Prompt] {
                left = left.without(shortcut);
            }
        }
        left
    }

    /// Finds the places where a map licenses each shortcut.
    pub(super) fn licences(self, map: &Map) -> Licences {
        let mut licences = Licences::none(map);
        // The order matters: each step reads the results of earlier ones.
        if self.has(Shortcut::Prompt) {
            licences.prompt = prompt::links(map);
        }
        let feeders = map.feeders(&licences.prompt);
        if self.has(Shortcut::Fuse) {
            licences.fused = fuse::links(&feeders);
        }
        let mut merges = vec![None; map.links.len()];
        if self.has(Shortcut::Sink) {
            if self.has(Shortcut::Merge) {
                (merges, licences.fused) = merge::merges(map, &feeders, licences.fused);
            }
            licences.fused_sinks = sink::sinks(map, &feeders, &merges);
        }
        if self.has(Shortcut::Foresee) {
            licences.fused_sources = foresee::sources(map, &licences.fused, &licences.fused_sinks);
        }
        if self.has(Shortcut::Gate) {
            licences.gates = gate::gates(map, &licences.fused);
        }
        if self.has(Shortcut::Stretch) {
            licences.stretch = stretch::links(map, &Spacing::new(map, &feeders, &merges));
        }
        licences
    }
}

/// The places where a scenario licenses shortcuts.
#[derive(Clone, Debug)]
pub(super) struct Licences {
    /// Whether each link is fused with the links, or the sinks, that feed it.
    pub(super) fused: Vec<bool>,
    /// Whether each flow's sink is fused with the last link to it.
    pub(super) fused_sinks: Vec<bool>,
    /// Whether each flow's source is fused, as far as it foresees its reactions.
    pub(super) fused_sources: Vec<bool>,
    /// The gate of each flow that has one.
    pub(super) gates: Vec<Option<Gate>>,
    /// Whether each link may be part of a stretch.
    pub(super) stretch: Vec<bool>,
    /// Whether each link is prompt.
    pub(super) prompt: Vec<bool>,
}

impl Licences {
    /// Licenses nothing.
    fn none(map: &Map) -> Self {
        let (links, flows) = (map.links.len(), map.flows.len());
        Self {
            fused: vec![false; links],
            fused_sinks: vec![false; flows],
            fused_sources: vec![false; flows],
            gates: vec![None; flows],
            stretch: vec![false; links],
            prompt: vec![false; links],
        }
    }

    /// Splits a route into the groups of links that a packet crosses in one step: stretches and
    /// single links.
    pub(super) fn runs<'a>(&self, way: &'a [usize]) -> impl Iterator<Item = &'a [usize]> {
        way.chunk_by(|&link, &next| self.stretch[link] && self.stretch[next] && self.fused[next])
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Time;

    use super::super::hops::{Hop, Table};
    use super::*;
    use crate::measure::Window;

    /// Two flows over the bottleneck 2, as in the picture above.
    fn dumbbell() -> Map {
        let mut map = Map::of(10, &[(&[0, 2, 3], &[5, 7, 8]), (&[1, 2, 4], &[6, 7, 9])]);
        map.links[2].rate = whyloss::Rate::from_bps(100_000_000);
        map
    }

    /// Returns the ways of every flow in the table of hops, with the links of each stretch in
    /// brackets.
    fn table(map: &Map, shortcuts: &[Shortcut]) -> String {
        let set = shortcuts.iter().fold(0, |set, &one| set | 1 << one as u8);
        let window = Window {
            from: Time::ZERO,
            end: Time::from_secs_f64(10.0),
        };
        let (table, routes) = Table::new(map, &Shortcuts(set).licences(map), window);
        let way = |from: u32| {
            let hops = &table.hops[from as usize..];
            let last = hops.iter().position(|hop| hop.is_end()).expect("an end");
            let name = |hop: &Hop| match format!("{hop:?}") {
                name if hop.is_stretch() => {
                    let links = table.stretches[hop.index()].links.iter();
                    let links: Vec<_> = links.map(|link| link.0.to_string()).collect();
                    let fused = if name.starts_with('+') { "+" } else { "" };
                    format!("{fused}[{}]", links.join(" "))
                }
                name => name,
            };
            hops[..=last].iter().map(name).collect::<Vec<_>>().join(" ")
        };
        let ways = routes.into_iter();
        let ways = ways.flat_map(|(there, back)| [way(there), way(back)]);
        ways.collect::<Vec<_>>().join(" ")
    }

    /// The table of the module's documentation.
    #[test]
    fn each_shortcut_changes_the_table_of_a_dumbbell() {
        use Shortcut::{Foresee, Fuse, Merge, Sink, Stretch};
        let rows: [(&[Shortcut], &str); 6] = [
            (&[], "0 2 3 sink 5 7 8 source 1 2 4 sink 6 7 9 source"),
            (
                &[Fuse],
                "0 2 +3 sink 5 7 +8 source 1 2 +4 sink 6 7 +9 source",
            ),
            (
                &[Fuse, Sink],
                "0 2 +3 +sink 5 7 +8 source 1 2 +4 +sink 6 7 +9 source",
            ),
            (
                &[Fuse, Sink, Merge],
                "0 2 +3 +sink 5 +7 +8 source 1 2 +4 +sink 6 +7 +9 source",
            ),
            (
                &[Fuse, Sink, Merge, Foresee],
                "0 2 +3 +sink 5 +7 +8 +source 1 2 +4 +sink 6 +7 +9 +source",
            ),
            (
                &[Fuse, Sink, Merge, Foresee, Stretch],
                "0 2 +[3] +sink [5 7 8] +source 1 2 +[4] +sink [6 7 9] +source",
            ),
        ];
        for (shortcuts, expected) in rows {
            assert_eq!(table(&dumbbell(), shortcuts), expected, "{shortcuts:?}");
        }
    }
}
