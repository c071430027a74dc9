//! Faults that a check finds, with their place.

use std::fmt;

use whyloss_link::channel::ChannelError;

use super::{MOST, MOST_IN_FLIGHT};

/// Explains why a [`Scenario`](crate::Scenario) cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct CheckError {
    /// The place of the fault.
    pub place: Place,
    /// The fault at this place.
    pub problem: Problem,
}

/// A place in a [`Scenario`](crate::Scenario). Keys are spelt as in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A key of the scenario itself.
    Scenario(&'static str),
    /// The node with this index.
    Node(usize),
    /// A key of a link, by the link's index.
    Link(usize, &'static str),
    /// A key of a flow, by the flow's index.
    Flow(usize, &'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(key) => write!(f, "{key}"),
            Self::Node(index) => write!(f, "node[{index}]"),
            Self::Link(index, key) => write!(f, "link[{index}].{key}"),
            Self::Flow(index, key) => write!(f, "flow[{index}].{key}"),
        }
    }
}

/// A fault of a [`Scenario`](crate::Scenario).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The scenario has no links or no flows.
    #[error("there is no {0}, so nothing would happen")]
    Empty(&'static str),
    /// The scenario has more nodes, links or flows than [`MOST`].
    #[error("there are {count} {what}s; at most {MOST} are possible")]
    TooMany {
        /// The kind of item that exceeds the limit: node, link or flow.
        what: &'static str,
        /// The number of such items in the scenario.
        count: usize,
    },
    /// A name is empty or cannot be printed.
    #[error("{0:?} is no name: it must have 1 to 100 printable characters")]
    BadName(String),
    /// Two things have the same name.
    #[error("two {what}s are called `{name}`")]
    Duplicate {
        /// The kind of thing, such as a link.
        what: &'static str,
        /// The name that both have.
        name: String,
    },
    /// No node has this index.
    #[error("there is no node {0}")]
    NoSuchNode(usize),
    /// No link has this index.
    #[error("there is no link {0}")]
    NoSuchLink(usize),
    /// A link or flow ends at the node where it starts.
    #[error("it starts and ends at `{0}`")]
    Loop(String),
    /// A value is outside its bounds.
    #[error("found {found}, expected {expected}")]
    OutOfRange {
        /// The value found, with its unit.
        found: String,
        /// The permitted range, in words.
        expected: String,
    },
    /// The window between `measure_from` and the end is empty.
    #[error("nothing would be measured: counting starts at {from} and the run ends at {end}")]
    EmptyWindow {
        /// The start of the window.
        from: String,
        /// The end of the run.
        end: String,
    },
    /// An interval ends before it starts.
    #[error("{first} comes after {second}")]
    Backwards {
        /// The name of the earlier time.
        first: String,
        /// The name of the later time.
        second: String,
    },
    /// A flow starts after the end of the run.
    #[error("it may start at {start}, but the run ends at {end}")]
    StartsAfterEnd {
        /// The latest start of the flow.
        start: String,
        /// The end of the run.
        end: String,
    },
    /// A flow stops before it starts.
    #[error("it may stop at {stop}, before it starts, which may be as late as {start}")]
    StopsBeforeStart {
        /// The earliest stop of the flow.
        stop: String,
        /// The latest start of the flow.
        start: String,
    },
    /// No chain of links connects the ends of a flow.
    #[error("no chain of links leads from `{from}` to `{to}`{}", way_back(*.back))]
    NoRoute {
        /// The node where the route starts.
        from: String,
        /// The node where the route should end.
        to: String,
        /// Whether this is the route of the acknowledgements.
        back: bool,
    },
    /// Two successive links of a route do not meet.
    #[error("the route has a gap: it is at `{at}`, but link `{link}` starts at `{starts}`")]
    RouteGap {
        /// The node where the first of the two links ends.
        at: String,
        /// The name of the next link of the route.
        link: String,
        /// The node where the next link starts.
        starts: String,
    },
    /// A route does not end at the flow's other end.
    #[error("the route ends at `{at}`, not at `{to}`")]
    RouteElsewhere {
        /// The node where the route ends.
        at: String,
        /// The node where the route should end.
        to: String,
    },
    /// A route uses a link twice.
    #[error("the route uses link `{0}` twice")]
    RouteRepeats(String),
    /// The transport cannot carry the application.
    #[error("this flow cannot have that application: {0}")]
    Application(&'static str),
    /// The channel has invalid parameters.
    #[error(transparent)]
    Channel(ChannelError),
    /// One link cannot have both of these settings.
    #[error("{0}")]
    Together(&'static str),
    /// The product of rate and delay is too large.
    #[error(
        "{rate} for {delay} keeps {bytes} bytes in flight; at most {MOST_IN_FLIGHT} are possible"
    )]
    InFlight {
        /// The link's rate, with its unit.
        rate: String,
        /// The link's delay, with its unit.
        delay: String,
        /// The product of delay and rate, in bytes.
        bytes: u64,
    },
}

fn way_back(back: bool) -> &'static str {
    if back {
        ", the way back of the flow's acknowledgements"
    } else {
        ""
    }
}
