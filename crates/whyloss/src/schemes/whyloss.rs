//! Whyloss: CUBIC, or Reno, that a loss cuts by the odds of congestion, where the path has shown its queue.
//!
//! This project's own; [`crate::congestion::Whyloss`] has the formula. The controller asks the trees itself, since it acts on their
//! odds, not on a verdict: the scheme has no classifier besides.

use super::{Entry, unaware};
use crate::congestion::{ControllerKind, Under};

pub(super) const ENTRY: Entry = Entry::new(
    ("whyloss", "Whyloss"),
    "CUBIC that a loss cuts by the odds of congestion, where the path has shown its queue",
    "this project, docs/scheme.md",
    &[],
    |_| Ok(unaware(ControllerKind::Whyloss(Under::Cubic))),
);

pub(super) const RENO: Entry = Entry::new(
    ("whyloss-reno", "Whyloss over Reno"),
    "Reno that a loss cuts by the odds of congestion, where the path has shown its queue",
    "this project, docs/scheme.md",
    &[],
    |_| Ok(unaware(ControllerKind::Whyloss(Under::Reno))),
);
