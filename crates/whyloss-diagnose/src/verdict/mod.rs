//! The combined verdict: what delays, runs and classifiers together say about each loss, as a
//! probability.
//!
//! ```text
//! p(wireless) = 1/(1 + exp(−w·x))        x the features of `features`, w of `weights`
//! verdict     the likelier cause if its probability is at least SURE, else "cannot tell"
//! ```
//!
//! A logistic regression, since its answer is a probability that can be held to account:
//! `docs/evidence/diagnosis.md` says on what networks the weights were found, and how often the
//! verdict is right on others.

mod features;
mod weights;

pub(crate) use features::Shared;
pub use features::{Features, NAMES};

use whyloss::Cause;

use crate::loss::Sure;

/// The least confidence of a verdict.
pub const SURE: f64 = 0.7;

/// The probability of [`wireless`] of a flow that does not fill its path by itself, of which
/// nothing is likely before a loss is looked at: the odds that the weights bring with them, those
/// of TCP that fills its path, are taken out.
pub fn wireless_of_media(features: &Features) -> f64 {
    let odds = wireless(features, true);
    let odds = odds / (1.0 - odds).max(f64::MIN_POSITIVE) * weights::PRIOR;
    odds / (1.0 + odds)
}

/// The probability that a loss with these features is wireless.
pub fn wireless(features: &Features, before: bool) -> f64 {
    let weights = if before {
        &weights::BEFORE
    } else {
        &weights::BEYOND
    };
    let sum: f64 = weights.iter().zip(&features.0).map(|(w, x)| w * x).sum();
    1.0 / (1.0 + (-sum).exp())
}

/// The verdict at that probability of wireless; `None` below [`SURE`].
pub fn verdict(wireless: f64) -> Option<Sure> {
    let (cause, confidence) = if wireless > 0.5 {
        (Cause::Wireless, wireless)
    } else {
        (Cause::Congestion, 1.0 - wireless)
    };
    (confidence >= SURE).then_some(Sure { cause, confidence })
}
