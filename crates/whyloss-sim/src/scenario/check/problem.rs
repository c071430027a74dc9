//! Faults that a check finds, with their place.

use std::fmt;

use whyloss_link::channel::ChannelError;

use super::{MOST, MOST_IN_FLIGHT};

/// Why a [`Scenario`](crate::Scenario) cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct CheckError {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

/// A place in a [`Scenario`](crate::Scenario). Keys are spelt as in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A key of the scenario itself.
    Scenario(&'static str),
    /// A node, by index.
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
    /// No links or no flows.
    #[error("there is no {0}, so nothing would happen")]
    Empty(&'static str),
    /// More nodes, links or flows than [`MOST`].
    #[error("there are {count} {what}s; at most {MOST} are possible")]
    TooMany {
        /// The thing that there are too many of.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// A name that cannot be printed or is empty.
    #[error("{0:?} is no name: it must have 1 to 100 printable characters")]
    BadName(String),
    /// Two things with one name.
    #[error("two {what}s are called `{name}`")]
    Duplicate {
        /// The thing that shares a name.
        what: &'static str,
        /// The name they share.
        name: String,
    },
    /// An index that no node has.
    #[error("there is no node {0}")]
    NoSuchNode(usize),
    /// An index that no link has.
    #[error("there is no link {0}")]
    NoSuchLink(usize),
    /// A link or flow that ends where it starts.
    #[error("it starts and ends at `{0}`")]
    Loop(String),
    /// A value outside its bounds.
    #[error("found {found}, expected {expected}")]
    OutOfRange {
        /// The value.
        found: String,
        /// The bounds.
        expected: String,
    },
    /// The window between `measure_from` and the end is empty.
    #[error("nothing would be measured: counting starts at {from} and the run ends at {end}")]
    EmptyWindow {
        /// Start of the window.
        from: String,
        /// End of the run.
        end: String,
    },
    /// An interval of times in the wrong order.
    #[error("{first} comes after {second}")]
    Backwards {
        /// The name of the earlier time.
        first: String,
        /// The name of the later time.
        second: String,
    },
    /// A flow that starts after the run.
    #[error("it may start at {start}, but the run ends at {end}")]
    StartsAfterEnd {
        /// Latest start.
        start: String,
        /// End of the run.
        end: String,
    },
    /// A flow that stops before it starts.
    #[error("it may stop at {stop}, before it starts, which may be as late as {start}")]
    StopsBeforeStart {
        /// Earliest stop.
        stop: String,
        /// Latest start.
        start: String,
    },
    /// No chain of links connects the ends of a flow.
    #[error("no chain of links leads from `{from}` to `{to}`{}", way_back(*.back))]
    NoRoute {
        /// Where it starts.
        from: String,
        /// Where it should lead.
        to: String,
        /// Whether it is the way of the acknowledgements.
        back: bool,
    },
    /// Two successive links of a route that do not meet.
    #[error("the route has a gap: it is at `{at}`, but link `{link}` starts at `{starts}`")]
    RouteGap {
        /// The node it has come to.
        at: String,
        /// The next link.
        link: String,
        /// Where that link starts.
        starts: String,
    },
    /// A route that ends elsewhere.
    #[error("the route ends at `{at}`, not at `{to}`")]
    RouteElsewhere {
        /// Where it ends.
        at: String,
        /// Where it should.
        to: String,
    },
    /// A route that uses a link twice.
    #[error("the route uses link `{0}` twice")]
    RouteRepeats(String),
    /// An application that its transport cannot carry.
    #[error("this flow cannot have that application: {0}")]
    Application(&'static str),
    /// A channel that cannot be.
    #[error(transparent)]
    Channel(ChannelError),
    /// Something that a link with a trace cannot have.
    #[error("a link whose rate follows a trace cannot have {0}")]
    Traced(&'static str),
    /// Two things that one link cannot have.
    #[error("{0}")]
    Together(&'static str),
    /// Too much in flight.
    #[error(
        "{rate} for {delay} keeps {bytes} bytes in flight; at most {MOST_IN_FLIGHT} are possible"
    )]
    InFlight {
        /// The link's rate.
        rate: String,
        /// The link's delay.
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
