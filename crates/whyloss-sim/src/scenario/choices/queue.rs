//! Reads a queue: its limit, and optionally RED or another discipline.

use whyloss_link::QueueSpec;
use whyloss_link::arq::{ArqSpec, MOST_TRIES};
use whyloss_link::queue::{CodelSpec, Discipline, FqCodelSpec, Limit, PieSpec, RedSpec};

use super::{Choice, positive, probability};
use crate::scenario::check::MOST_WAITING;
use crate::scenario::error::Fault;
use crate::scenario::fields::{Field, Fields};

pub(in crate::scenario) const QUEUE: &str =
    r#"how much may wait, such as { packets = 6 }, { bytes = "20 kB" } or "unlimited""#;

pub(super) const KINDS: [&str; 2] = ["classic", "adaptive"];

pub(super) const RED: [&str; 10] = [
    "min",
    "max",
    "max_p",
    "weight",
    "gentle",
    "wait",
    "bytes",
    "mean_packet",
    "target_delay",
    "ecn",
];

const AQM: [&str; 3] = ["codel", "fq-codel", "pie"];

/// Reads a queue.
pub(in crate::scenario) fn queue(field: &Field<'_>) -> Result<QueueSpec, Fault> {
    if field.is_word("unlimited") {
        return Ok(QueueSpec::default());
    }
    let fields = field.fields(QUEUE)?;
    fields.only(&["packets", "bytes", "red", "aqm"])?;
    let mut discipline = Discipline::DropTail;
    if let Some(red_field) = fields.get("red") {
        discipline = Discipline::Red(red(&red_field)?);
    }
    if let Some(aqm_field) = fields.get("aqm") {
        let found = aqm(&aqm_field)?;
        // A schema probe may have both keys.
        if fields.get("red").is_some() && aqm_field.item.probe().is_none() {
            return Err(field.fault("found both `red` and `aqm`, expected one of them"));
        }
        discipline = found;
    }
    Ok(QueueSpec {
        limit: limit(field, &fields)?,
        discipline,
    })
}

/// Reads a discipline that controls the delay.
fn aqm(field: &Field<'_>) -> Result<Discipline, Fault> {
    let expected =
        r#""codel", "fq-codel" or "pie", or a table such as { kind = "codel", target = "5 ms" }"#;
    let choice = Choice::of(field, "aqm", expected, &AQM)?;
    let codel = || {
        let base = CodelSpec::default();
        Ok(CodelSpec {
            target: choice.or("target", base.target, positive)?,
            interval: choice.or("interval", base.interval, positive)?,
            ecn: choice.or("ecn", base.ecn, Field::flag)?,
        })
    };
    match choice.name {
        "codel" => {
            choice.only(&["target", "interval", "ecn"])?;
            Ok(Discipline::Codel(codel()?))
        }
        "fq-codel" => {
            choice.only(&["target", "interval", "quantum", "ecn"])?;
            let base = FqCodelSpec::default();
            Ok(Discipline::FqCodel(FqCodelSpec {
                codel: codel()?,
                quantum: choice.or("quantum", base.quantum, |field| {
                    // A value too large for the type is also too large for the check, which reports
                    // it.
                    Ok(u32::try_from(field.bytes()?).unwrap_or(u32::MAX))
                })?,
            }))
        }
        "pie" => {
            choice.only(&["target", "ecn"])?;
            let base = PieSpec::default();
            Ok(Discipline::Pie(PieSpec {
                target: choice.or("target", base.target, positive)?,
                ecn: choice.or("ecn", base.ecn, Field::flag)?,
            }))
        }
        _ => Err(choice.unknown("discipline", AQM)),
    }
}

/// Reads how a link retransmits frames that its channel lost.
pub(in crate::scenario) fn arq(field: &Field<'_>) -> Result<ArqSpec, Fault> {
    let fields = field.fields("a table such as { tries = 7, turnaround = \"4 ms\" }")?;
    fields.only(&["tries", "turnaround", "parallel", "in_order"])?;
    let base = ArqSpec::default();
    let tries = fields.need("tries", "how often a packet is sent at most, such as 7")?;
    Ok(ArqSpec {
        tries: tries.integer(1..=u64::from(MOST_TRIES))? as u32,
        turnaround: match fields.get("turnaround") {
            None => base.turnaround,
            Some(field) => field.duration()?,
        },
        parallel: fields
            .get("parallel")
            .map_or(Ok(base.parallel), |f| f.flag())?,
        in_order: fields
            .get("in_order")
            .map_or(Ok(base.in_order), |f| f.flag())?,
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
        (None, None) => {
            Err(field.fault(format!("`packets` or `bytes` is missing; expected {QUEUE}")))
        }
    }
}

/// Reads the fields of [`RedSpec`].
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
            // A value too large for the type is also too large for the check, which reports it.
            Ok(u32::try_from(field.bytes()?).unwrap_or(u32::MAX))
        })?,
        target_delay: choice.or("target_delay", base.target_delay, positive)?,
        ecn: choice.or("ecn", base.ecn, Field::flag)?,
        ..base
    })
}
