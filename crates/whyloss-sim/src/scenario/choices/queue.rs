//! Queues: a limit, and RED beside it.

use whyloss_link::QueueSpec;
use whyloss_link::queue::{Discipline, Limit, RedSpec};

use super::{Choice, positive, probability};
use crate::scenario::check::MOST_WAITING;
use crate::scenario::error::Fault;
use crate::scenario::fields::{Field, Fields};

pub(in crate::scenario) const QUEUE: &str =
    r#"how much may wait, such as { packets = 6 }, { bytes = "20 kB" } or "unlimited""#;

pub(super) const KINDS: [&str; 2] = ["classic", "adaptive"];

pub(super) const RED: [&str; 9] = [
    "min",
    "max",
    "max_p",
    "weight",
    "gentle",
    "wait",
    "bytes",
    "mean_packet",
    "target_delay",
];

/// A queue.
pub(in crate::scenario) fn queue(field: &Field<'_>) -> Result<QueueSpec, Fault> {
    if field.is_word("unlimited") {
        return Ok(QueueSpec::default());
    }
    let fields = field.fields(QUEUE)?;
    fields.only(&["packets", "bytes", "red"])?;
    Ok(QueueSpec {
        limit: limit(field, &fields)?,
        discipline: match fields.get("red") {
            None => Discipline::DropTail,
            Some(red_field) => Discipline::Red(red(&red_field)?),
        },
    })
}

fn limit(field: &Field<'_>, fields: &Fields<'_>) -> Result<Limit, Fault> {
    match (fields.get("packets"), fields.get("bytes")) {
        (Some(packets), None) => packets
            .integer(1..=u64::from(MOST_WAITING))
            .map(|packets| Limit::Packets(packets as u32)),
        (None, Some(bytes)) => bytes.bytes().map(Limit::Bytes),
        (Some(_), Some(_)) => {
            Err(field.fault("found both `packets` and `bytes`, expected one of them"))
        }
        (None, None) if fields.get("red").is_some() => Ok(Limit::Unlimited),
        (None, None) => Err(field.fault(format!("found {{}}, expected {QUEUE}"))),
    }
}

/// See [`RedSpec`] for what each field means.
fn red(field: &Field<'_>) -> Result<RedSpec, Fault> {
    let expected = r#""classic" or "adaptive", or a table such as { kind = "adaptive", target_delay = "5 ms" }"#;
    let choice = Choice::of(field, "red", expected, &KINDS)?;
    let adaptive = match choice.name {
        "classic" => false,
        "adaptive" => true,
        _ => return Err(choice.unknown("kind of RED", KINDS)),
    };
    choice.only(&RED)?;
    let base = RedSpec {
        adaptive,
        ..RedSpec::default()
    };
    let packets = |field: &Field<'_>| field.number(0.0..=f64::from(MOST_WAITING)).map(Some);
    Ok(RedSpec {
        min: choice.or("min", base.min, packets)?,
        max: choice.or("max", base.max, packets)?,
        max_p: choice.or("max_p", base.max_p, probability)?,
        weight: choice.or("weight", base.weight, |field| probability(field).map(Some))?,
        gentle: choice.or("gentle", base.gentle, Field::flag)?,
        wait: choice.or("wait", base.wait, Field::flag)?,
        bytes: choice.or("bytes", base.bytes, Field::flag)?,
        mean_packet: choice.or("mean_packet", base.mean_packet, |field| {
            // Too large for the type is too large for the check, which says so.
            Ok(u32::try_from(field.bytes()?).unwrap_or(u32::MAX))
        })?,
        target_delay: choice.or("target_delay", base.target_delay, positive)?,
        ..base
    })
}
