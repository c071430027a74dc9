//! Reads the effects on packets between a link's queue and its far end: jitter, aggregation,
//! handovers.

use whyloss_link::bursts::{BurstSpec, MOST_PACKETS};
use whyloss_link::queue::{Discipline, Limit};
use whyloss_link::{Backlog, ChannelSpec, Handover, JitterLaw, JitterSpec};

use std::path::Path;

use super::{Choice, channel, positive, queue};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

const LAWS: [&str; 3] = ["uniform", "exponential", "pareto"];

/// The largest shape of a Pareto distribution, equal to that of a source's bursts.
const MOST_SHAPE: f64 = 100.0;
/// The smallest shape of a Pareto distribution; at 1 there is no mean.
const LEAST_SHAPE: f64 = 1.001;

/// Reads how delays vary from packet to packet.
pub(in crate::scenario) fn jitter(field: &Field<'_>) -> Result<JitterSpec, Fault> {
    let expected = r#"a table such as { kind = "exponential", mean = "5 ms" }"#;
    let choice = Choice::of(field, "jitter", expected, &LAWS)?;
    let law = match choice.name {
        "uniform" | "exponential" => {
            choice.only(&["mean", "in_order"])?;
            if choice.name == "uniform" {
                JitterLaw::Uniform
            } else {
                JitterLaw::Exponential
            }
        }
        "pareto" => {
            choice.only(&["mean", "shape", "in_order"])?;
            JitterLaw::Pareto(
                choice.or("shape", 2.5, |field| field.number(LEAST_SHAPE..=MOST_SHAPE))?,
            )
        }
        _ => return Err(choice.unknown("law", LAWS)),
    };
    let mean = choice.need("mean", r#"the mean extra delay, such as "5 ms""#)?;
    Ok(JitterSpec {
        law,
        mean: positive(&mean)?,
        in_order: choice.or("in_order", true, Field::flag)?,
    })
}

/// Reads how several packets share one channel access.
pub(in crate::scenario) fn aggregation(field: &Field<'_>) -> Result<BurstSpec, Fault> {
    let expected = r#"a table such as { packets = 32, airtime = "4 ms", access = "200 us" }"#;
    let fields = field.fields(expected)?;
    fields.only(&["packets", "airtime", "access"])?;
    let packets = fields.need(
        "packets",
        "how many packets a burst has at most, such as 32",
    )?;
    let airtime = fields.need("airtime", r#"how long a burst may last, such as "4 ms""#)?;
    let access = fields.need(
        "access",
        r#"what a burst costs before it, such as "200 us""#,
    )?;
    Ok(BurstSpec {
        packets: packets.integer(1..=u64::from(MOST_PACKETS))? as u32,
        airtime: airtime.duration()?,
        access: access.duration()?,
    })
}

/// Reads the handovers of a link.
pub(in crate::scenario) fn handovers(
    field: &Field<'_>,
    directory: &Path,
) -> Result<Vec<Handover>, Fault> {
    let expected = r#"a list of tables such as { at = "50 s", pause = "80 ms", delay = "60 ms" }"#;
    let handover = |field: &Field<'_>| {
        let fields = field.fields(expected)?;
        fields.only(&[
            "at", "pause", "rate", "delay", "channel", "queue", "waiting", "in_order",
        ])?;
        let at = fields.need("at", r#"when the handover is, such as "50 s""#)?;
        let waiting = |field: Field<'_>| {
            field.one_of(&[
                ("kept", Backlog::Kept),
                ("lost", Backlog::Lost),
                ("copied", Backlog::Copied),
            ])
        };
        let span = |key| fields.get(key).map(|field| field.duration()).transpose();
        Ok(Handover {
            at: at.time()?,
            pause: span("pause")?.unwrap_or_default(),
            rate: fields.get("rate").map(|field| field.rate()).transpose()?,
            delay: span("delay")?,
            channel: fields
                .get("channel")
                .map(|field| later_channel(&field, directory))
                .transpose()?,
            limit: fields
                .get("queue")
                .map(|field| later_limit(&field))
                .transpose()?,
            waiting: fields
                .get("waiting")
                .map(waiting)
                .transpose()?
                .unwrap_or_default(),
            in_order: fields
                .get("in_order")
                .map_or(Ok(true), |field| field.flag())?,
        })
    };
    field.list(expected)?.iter().map(handover).collect()
}

/// Reads the channel after a handover.
fn later_channel(field: &Field<'_>, directory: &Path) -> Result<ChannelSpec, Fault> {
    let (channel, before_queue) = channel(field, directory)?;
    if before_queue && field.item.probe().is_none() {
        return Err(
            field.fault("found `before_queue`, which the link's own channel alone can have")
        );
    }
    Ok(channel)
}

/// Reads the queue limit after a handover.
fn later_limit(field: &Field<'_>) -> Result<Limit, Fault> {
    let queue = queue(field)?;
    if queue.discipline != Discipline::DropTail && field.item.probe().is_none() {
        return Err(field.fault(
            "found a discipline, expected a limit such as { packets = 20 }: the queue keeps its discipline",
        ));
    }
    Ok(queue.limit)
}
