//! Whyloss: CUBIC or Reno whose cut at a loss depends on the odds of congestion, once the path has
//! shown its queue.
//!
//! An algorithm of this project; the file `congestion/whyloss.rs` and `docs/reference/scheme.md`
//! have the formula. The controller asks the trees itself, since it acts on their odds, not on a
//! verdict: the scheme has no classifier.

use super::{Scheme, unaware};
use crate::congestion::{ControllerKind, Under};

/// Returns the scheme of Whyloss's controller over CUBIC.
pub fn scheme() -> Scheme {
    unaware(ControllerKind::Whyloss(Under::Cubic))
}

/// Returns the scheme of Whyloss's controller over Reno.
pub fn reno() -> Scheme {
    unaware(ControllerKind::Whyloss(Under::Reno))
}
