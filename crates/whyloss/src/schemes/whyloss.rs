//! Whyloss: CUBIC or Reno whose cut at a loss depends on the odds of congestion and on the flow's
//! past.
//!
//! An algorithm of this project. The file `congestion/whyloss.rs` and `docs/reference/scheme.md`
//! have the formula. The controller weighs odds instead of a verdict, so the scheme has no
//! classifier.

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
