//! Reads the parameters of an IFTP flow.

use whyloss::iftp::{MOST_PACKETS, Options, WindowMode};
use whyloss::rto::RtoOptions;

use super::tcp::check_rto;
use super::{Choice, positive};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

pub(super) const KEYS: [&str; 8] = [
    "window",
    "initial_ssthresh",
    "max_window",
    "duplicates",
    "transmission_time",
    "rto_initial",
    "rto_min",
    "rto_max",
];

/// Reads the fields of [`Options`].
pub(super) fn options(choice: &Choice<'_>) -> Result<Options, Fault> {
    choice.only(&KEYS)?;
    let base = Options::default();
    let rto = RtoOptions {
        initial: choice.or("rto_initial", base.rto.initial, positive)?,
        min: choice.or("rto_min", base.rto.min, positive)?,
        max: choice.or("rto_max", base.rto.max, positive)?,
        ..base.rto
    };
    Ok(Options {
        window: choice.or("window", base.window, |field| {
            field.one_of(&[
                ("sliding", WindowMode::Sliding),
                ("blocking", WindowMode::Blocking),
            ])
        })?,
        initial_ssthresh: choice.or("initial_ssthresh", base.initial_ssthresh, packets)?,
        max_window: choice.or("max_window", base.max_window, packets)?,
        duplicates: choice.or("duplicates", base.duplicates, packets)?,
        transmission_time: choice.or("transmission_time", base.transmission_time, |field| {
            field.duration().map(Some)
        })?,
        rto: check_rto(choice, rto)?,
    })
}

fn packets(field: &Field<'_>) -> Result<u32, Fault> {
    let packets = field.integer(1..=u64::from(MOST_PACKETS))?;
    Ok(packets as u32)
}
