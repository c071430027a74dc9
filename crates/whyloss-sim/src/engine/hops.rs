//! The table of hops: the links and ends on each flow's ways, and whether each is handled in the
//! same step as the one before.
//!
//! A way is a run of hops that ends at a sink or a source. A packet carries the index of its hop.
//! Two TCP flows over links 0 → 2 → 3 and 1 → 2 → 4, with their acknowledgements over 5 → 7 → 8 and
//! 6 → 7 → 9 (`shortcuts/mod.rs` has the picture), and no shortcut:
//!
//! ```text
//! index     0  1  2  3     4  5  6  7       8  9  10 11    12 13 14 15
//! hops      0  2  3  sink  5  7  8  source  1  2  4  sink  6  7  9  source
//! routes    flow 0: (0, 4), flow 1: (8, 12)      the first hops of its ways there and back
//! ```
//!
//! A sender enters the first hop of a way in the step in which it sends. Each other hop is a
//! *stop*, which a packet reaches by an event, or *fused*: marked `+` here, it is handled in the
//! step of the hop before it. An answer that a fused source does not foresee is parked there and
//! comes by an event. Consecutive links that are crossed as one entry, in brackets, are one hop.
//! Ways with equal hops are stored once. With all shortcuts:
//!
//! ```text
//! hops      0  2  +[3]  +sink  [5 7 8]  +source  1  2  +[4]  +sink  [6 7 9]  +source
//! ```

use std::collections::BTreeMap;
use std::fmt;

use whyloss::{Duration, Time};

use super::shortcuts::{Licences, Map};
use crate::measure::Window;

/// The table of hops.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The hops of every way, one way after the other.
    pub(super) hops: Vec<Hop>,
    pub(super) stretches: Vec<Stretch>,
}

impl Table {
    /// Writes the table of a map with these licences. Returns it with the index of each flow's
    /// first hop there, and of its first hop back.
    pub(super) fn new(map: &Map, licences: &Licences, window: Window) -> (Self, Vec<(u32, u32)>) {
        let (mut table, mut routes) = (Self::default(), Vec::new());
        // The entries so far: stretches by links and size of packet, ways by hops.
        let (mut stretches, mut ways) = (BTreeMap::new(), BTreeMap::new());
        for (index, flow) in map.flows.iter().enumerate() {
            let [data, answer] = flow.sizes.unwrap_or_default();
            let sink = Hop::SINK.fused_if(licences.fused_sinks[index]);
            let source = Hop::SOURCE.fused_if(licences.fused_sources[index]);
            let both = [(&flow.there, data, sink), (&flow.back, answer, source)];
            let [there, back] = both.map(|(links, size, end)| {
                let mut way = Vec::new();
                for run in licences.runs(links) {
                    let hop = if licences.stretch[run[0]] {
                        let new = || table.add_stretch(map, run, size, window);
                        Hop::stretch(*stretches.entry((run, size)).or_insert_with(new))
                    } else {
                        Hop::link(run[0])
                    };
                    way.push(hop.fused_if(licences.fused[run[0]]));
                }
                way.push(end);
                *ways.entry(way).or_insert_with_key(|way| {
                    table.hops.extend(way);
                    (table.hops.len() - way.len()) as u32
                })
            });
            routes.push((there, back));
        }
        (table, routes)
    }

    /// Adds a stretch for packets of `size` bytes and returns its index.
    fn add_stretch(&mut self, map: &Map, run: &[usize], size: u32, window: Window) -> usize {
        let crossings = run.iter().map(|&link| map.links[link].crossing(size));
        let links: Box<[_]> = run.iter().copied().zip(crossings).collect();
        let crossing = links.iter().fold(Duration::ZERO, |sum, link| sum + link.1);
        let spare = window.length() - crossing;
        self.stretches.push(Stretch {
            crossing,
            within: (spare.as_nanos() + 1).max(0) as u64,
            count: 0,
            size,
            last: run[run.len() - 1] as u32,
            links,
        });
        self.stretches.len() - 1
    }

    /// Returns the end of the way on which this hop is.
    pub(super) fn end_of(&self, hop: u32) -> Hop {
        let mut rest = self.hops[hop as usize..].iter().copied();
        rest.find(|hop| hop.is_end()).unwrap_or(Hop::SOURCE)
    }

    /// Returns the link that a packet crossed before it reached hop number `hop`, which is not the
    /// first of its way.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(super) fn link_before(&self, hop: u32) -> usize {
        let hop = self.hops[hop as usize - 1];
        debug_assert!(!hop.is_end(), "the end of another way");
        if hop.is_stretch() {
            self.stretches[hop.index()].last as usize
        } else {
            hop.index()
        }
    }
}

/// An entry of the table: a link, a stretch of links, or the end of a way; fused or not.
///
/// ```text
/// bit 31 fused, bit 30 end, bit 29 stretch; the others are an index:
/// of a link, of a stretch, or of an end (0: source, 1: sink)
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hop(u32);

impl Hop {
    const FUSED: u32 = 1 << 31;
    const END: u32 = 1 << 30;
    const STRETCH: u32 = 1 << 29;
    pub(super) const SOURCE: Self = Self(Self::END);
    pub(super) const SINK: Self = Self(Self::END + 1);
    pub(super) const FUSED_SINK: Self = Self(Self::FUSED | Self::SINK.0);
    pub(super) const FUSED_SOURCE: Self = Self(Self::FUSED | Self::SOURCE.0);

    /// Returns the hop of link number `index`.
    fn link(index: usize) -> Self {
        Self(index as u32)
    }

    /// Returns the hop of stretch number `index`.
    fn stretch(index: usize) -> Self {
        Self(index as u32 | Self::STRETCH)
    }

    fn fused_if(self, fused: bool) -> Self {
        Self(self.0 | if fused { Self::FUSED } else { 0 })
    }

    /// Returns the index of the link or of the stretch.
    #[inline]
    pub(super) fn index(self) -> usize {
        (self.0 & !(Self::FUSED | Self::STRETCH)) as usize
    }

    #[inline]
    pub(super) fn is_stretch(self) -> bool {
        self.0 & Self::STRETCH != 0
    }

    #[inline]
    pub(super) fn is_end(self) -> bool {
        self.0 & Self::END != 0
    }

    #[inline]
    pub(super) fn is_fused(self) -> bool {
        self.0 & Self::FUSED != 0
    }
}

/// Writes the hop as in the tables above, a stretch by its number.
impl fmt::Debug for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fused = if self.is_fused() { "+" } else { "" };
        match *self {
            Self::SINK | Self::FUSED_SINK => write!(f, "{fused}sink"),
            Self::SOURCE | Self::FUSED_SOURCE => write!(f, "{fused}source"),
            hop if hop.is_stretch() => write!(f, "{fused}[{}]", hop.index()),
            hop => write!(f, "{fused}{}", hop.index()),
        }
    }
}

/// Consecutive links that a flow's packets cross without ever waiting behind others.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) crossing: Duration,
    /// The time after the start of the measurement window, in ns, before which a packet must enter
    /// for all its arrivals to count.
    pub(super) within: u64,
    /// The number of packets that entered between the start of the window and `within`.
    pub(super) count: u64,
    pub(super) size: u32,
    /// The last link of the stretch.
    pub(super) last: u32,
    /// The links of the stretch, each with the time that a packet takes to cross it.
    pub(super) links: Box<[(usize, Duration)]>,
}

impl Stretch {
    /// Counts a packet that enters at `now`, if all its arrivals count. Returns when it leaves, and
    /// whether it was counted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(super) fn cross(&mut self, now: Time, window: Window) -> (Time, bool) {
        // One comparison for both bounds: before the window, the difference wraps and is large.
        let inside = now.as_nanos().wrapping_sub(window.from.as_nanos()) < self.within;
        self.count += u64::from(inside);
        (now.later(self.crossing), inside)
    }
}
