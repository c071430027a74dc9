//! Reads the parameters of a call over RTP: the rate estimator, its reports, and the encoder.

use super::{Choice, positive};
use crate::host::rtp::{Estimator, Feedback, Options};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

pub(super) const KEYS: [&str; 14] = [
    "feedback",
    "estimator",
    "interval",
    "start",
    "least",
    "most",
    "frame_rate",
    "key_interval",
    "reaction",
    "pacing",
    "nack",
    "patience",
    "late",
    "pause",
];

/// Reads the fields of [`Options`].
pub(super) fn options(choice: &Choice<'_>) -> Result<Options, Fault> {
    choice.only(&KEYS)?;
    let base = Options::default();
    let feedback = [("twcc", Feedback::Twcc), ("rfc8888", Feedback::Rfc8888)];
    let estimators = [
        ("whyloss", Estimator::Whyloss),
        ("gcc", Estimator::Gcc),
        ("nada", Estimator::Nada),
        ("scream", Estimator::Scream),
        ("oracle", Estimator::Oracle),
    ];
    Ok(Options {
        feedback: choice.or("feedback", base.feedback, |field| field.one_of(&feedback))?,
        estimator: choice.or("estimator", base.estimator, |field| {
            field.one_of(&estimators)
        })?,
        interval: choice.or("interval", base.interval, positive)?,
        start: choice.or("start", base.start, Field::rate)?,
        least: choice.or("least", base.least, Field::rate)?,
        most: choice.or("most", base.most, Field::rate)?,
        frame_rate: choice.or("frame_rate", base.frame_rate, |field| {
            field.number(1.0..=1000.0)
        })?,
        key_interval: choice.or("key_interval", None, |field| positive(field).map(Some))?,
        reaction: choice.or("reaction", base.reaction, Field::duration)?,
        pacing: choice.or("pacing", base.pacing, |field| field.number(1.0..=100.0))?,
        nack: choice.or("nack", base.nack, Field::flag)?,
        patience: choice.or("patience", base.patience, positive)?,
        late: choice.or("late", base.late, positive)?,
        pause: choice.or("pause", None, |field| field.time_range().map(Some))?,
    })
}
