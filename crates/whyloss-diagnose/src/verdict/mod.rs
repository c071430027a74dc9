//! The combined verdict: the probability that a loss is wireless, from delays, runs of losses and
//! classifiers.
//!
//! ```text
//! p(wireless) = 1/(1 + exp(−w·x))        x the features of `features`, w of `weights`
//! verdict     the likelier cause if its probability is at least SURE, else "cannot tell"
//! ```
//!
//! The weights come from a logistic regression, so the probability can be checked.
//! `docs/evidence/diagnosis.md` names the networks of the regression, and has the accuracy on other
//! networks.

mod features;
mod weights;

pub(crate) use features::Shared;
pub use features::{Features, NAMES};

use whyloss::Cause;

use crate::loss::Sure;

/// The lowest confidence at which a verdict is given, as a probability.
pub const SURE: f64 = 0.7;

/// Returns the probability that a loss is wireless, in a flow that does not fill its path.
///
/// The weights of [`wireless`] include how often each cause occurs in TCP that fills its path. This
/// function removes that ratio: both causes are equally likely before the features are known.
pub fn wireless_of_media(features: &Features) -> f64 {
    let odds = wireless(features, true);
    let odds = odds / (1.0 - odds).max(f64::MIN_POSITIVE) * weights::PRIOR;
    odds / (1.0 + odds)
}

/// Returns the probability that a loss with these features is wireless. `before` tells whether it
/// happened before the point of capture.
pub fn wireless(features: &Features, before: bool) -> f64 {
    let weights = if before {
        &weights::BEFORE
    } else {
        &weights::BEYOND
    };
    let sum: f64 = weights.iter().zip(&features.0).map(|(w, x)| w * x).sum();
    1.0 / (1.0 + (-sum).exp())
}

/// Returns the verdict at this probability of wireless; `None` if its confidence is below
/// [`SURE`].
pub fn verdict(wireless: f64) -> Option<Sure> {
    let (cause, confidence) = if wireless > 0.5 {
        (Cause::Wireless, wireless)
    } else {
        (Cause::Congestion, 1.0 - wireless)
    };
    (confidence >= SURE).then_some(Sure { cause, confidence })
}
