//! Whyloss: CUBIC, or Reno, that a loss cuts by the odds of congestion, where the path has shown
//! its queue.
//!
//! This project's own; [`crate::congestion::Whyloss`] has the formula. The controller asks the
//! trees itself, since it acts on their odds, not on a verdict: the scheme has no classifier
//! besides.

use super::{Scheme, unaware};
use crate::congestion::{ControllerKind, Under};

/// Makes Whyloss over CUBIC.
pub fn scheme() -> Scheme {
    unaware(ControllerKind::Whyloss(Under::Cubic))
}

/// Makes Whyloss over Reno.
pub fn reno() -> Scheme {
    unaware(ControllerKind::Whyloss(Under::Reno))
}
