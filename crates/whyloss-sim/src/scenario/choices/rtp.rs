//! Reads the parameters of a call over RTP: the rate estimator, its reports, and the encoder.

use super::{Choice, positive};
use crate::host::rtp::{Estimator, Feedback, Options};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

options! { Options, keys: KEYS, read: over {
    feedback: |field| field.one_of(&[
        ("twcc", Feedback::Twcc),
        ("rfc8888", Feedback::Rfc8888),
    ]),
    estimator: |field| field.one_of(&[
        ("whyloss", Estimator::Whyloss),
        ("gcc", Estimator::Gcc),
        ("nada", Estimator::Nada),
        ("scream", Estimator::Scream),
        ("oracle", Estimator::Oracle),
    ]),
    interval: positive,
    start: Field::rate,
    least: Field::rate,
    most: Field::rate,
    frame_rate: |field| field.number(1.0..=1000.0),
    key_interval: |field| positive(field).map(Some),
    reaction: Field::duration,
    pacing: |field| field.number(1.0..=100.0),
    nack: Field::flag,
    patience: positive,
    late: positive,
    pause: |field| field.time_range().map(Some),
} }

/// Reads the fields of [`Options`].
pub(super) fn options(choice: &Choice<'_>) -> Result<Options, Fault> {
    choice.only(KEYS)?;
    over(choice, &Options::default())
}
