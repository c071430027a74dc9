//! Reads a channel by its name and parameters; [`whyloss_link::channel`] describes each one.

use std::path::Path;

use whyloss_link::ChannelSpec;
use whyloss_link::channel::{
    BurstRenewal, ChannelError, GilbertElliott, NextTrial, TimedGilbertElliott,
};

use super::{Choice, positive, probability};
use crate::recording::{self, MOST_PACKETS};
use crate::scenario::document::{self, Value};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;
use crate::scenario::recorded;

pub(super) const CHANNELS: [&str; 8] = [
    "none",
    "bernoulli",
    "bit-errors",
    "gilbert-elliott",
    "timed-gilbert-elliott",
    "burst-renewal",
    "pattern",
    "recorded",
];

/// Reads a channel and whether it comes before the queue. Files are looked up in `directory`.
pub(in crate::scenario) fn channel(
    field: &Field<'_>,
    directory: &Path,
) -> Result<(ChannelSpec, bool), Fault> {
    let expected = r#"a channel, such as { kind = "bernoulli", loss = 0.01 }"#;
    let choice = Choice::of(field, "channel", expected, &CHANNELS)?;
    let only = |known: &[&str]| choice.only(&[known, &["before_queue", "slots"]].concat());
    let refused = |error: ChannelError| field.fault(error.to_string());
    let spec = match choice.name {
        "none" => {
            choice.only(&[])?;
            ChannelSpec::None
        }
        "bernoulli" => {
            only(&["loss"])?;
            ChannelSpec::Bernoulli {
                loss: probability(&choice.need("loss", LOSS)?)?,
            }
        }
        "bit-errors" => {
            only(&["rate"])?;
            let expected = "bit errors per bit (BER), such as 1e-5";
            ChannelSpec::BitErrors {
                rate: probability(&choice.need("rate", expected)?)?,
            }
        }
        "gilbert-elliott" => {
            only(&[
                "loss",
                "stay",
                "p_good_to_bad",
                "p_bad_to_good",
                "loss_good",
                "loss_bad",
            ])?;
            ChannelSpec::GilbertElliott(gilbert_elliott(&choice, refused)?)
        }
        "timed-gilbert-elliott" => {
            only(&["mean_good", "mean_bad", "loss_good", "loss_bad"])?;
            let mean = |key, state| {
                let expected = format!("the mean time in the {state} state, such as \"100 ms\"");
                positive(&choice.need(key, &expected)?)
            };
            ChannelSpec::TimedGilbertElliott(TimedGilbertElliott {
                mean_good: mean("mean_good", "good")?,
                mean_bad: mean("mean_bad", "bad")?,
                loss_good: choice.or("loss_good", 0.0, probability)?,
                loss_bad: choice.or("loss_bad", 1.0, probability)?,
            })
        }
        "burst-renewal" => {
            only(&["loss", "lengths", "good_run_cv"])?;
            let expected = "the probabilities of bursts of 1, 2, … packets, such as [0.7, 0.3]";
            let lengths = choice.need("lengths", expected)?.list(expected)?;
            ChannelSpec::BurstRenewal(BurstRenewal {
                loss: probability(&choice.need("loss", LOSS)?)?,
                lengths: lengths.iter().map(probability).collect::<Result<_, _>>()?,
                good_run_cv: choice
                    .get("good_run_cv")
                    .map(|cv| cv.number(0.0..=1000.0))
                    .transpose()?,
            })
        }
        "pattern" => {
            only(&[
                "file",
                "column",
                "by",
                "trial",
                "loss_from",
                "loss_to",
                "next",
            ])?;
            pattern(&choice, directory)?
        }
        "recorded" => {
            only(&["name"])?;
            recorded(&choice.need("name", "the name of a fitted channel (`whyloss list`)")?)?
        }
        _ => return Err(choice.unknown("channel", CHANNELS)),
    };
    let spec = match choice.get("slots") {
        None => spec,
        Some(slots) => ChannelSpec::Slots {
            channel: Box::new(spec),
            per_packet: slots.integer(1..=1024)? as u32,
        },
    };
    let before_queue = choice.or("before_queue", false, Field::flag)?;
    if field.item.probe().is_none() {
        spec.check().map_err(refused)?;
        in_order(&choice, &spec)?;
    }
    Ok((spec, before_queue))
}

/// Rejects a bad state that loses less than the good one.
fn in_order(choice: &Choice<'_>, spec: &ChannelSpec) -> Result<(), Fault> {
    let (good, bad) = match spec {
        ChannelSpec::GilbertElliott(chain) => (chain.loss_good, chain.loss_bad),
        ChannelSpec::TimedGilbertElliott(process) => (process.loss_good, process.loss_bad),
        ChannelSpec::Slots { channel, .. } => return in_order(choice, channel),
        _ => return Ok(()),
    };
    match choice.get("loss_good") {
        Some(field) if good > bad => Err(field.fault(format!(
            "the good state loses more ({good}) than the bad one ({bad}); expected `loss_good` to be at most `loss_bad`"
        ))),
        _ => Ok(()),
    }
}

const LOSS: &str = "the share of packets lost, such as 0.01";

/// Reads the channel from its stationary loss rate and the correlation of losses, or from its
/// transitions.
fn gilbert_elliott(
    choice: &Choice<'_>,
    refused: impl Fn(ChannelError) -> Fault,
) -> Result<GilbertElliott, Fault> {
    let Some(loss) = choice.get("loss") else {
        if let Some(stay) = choice.get("stay") {
            return Err(stay.fault("`stay` goes with `loss`, which is missing"));
        }
        let expected =
            "the probability that a packet finds the channel changed (or give `loss` and `stay`)";
        return Ok(GilbertElliott {
            p_good_to_bad: probability(&choice.need("p_good_to_bad", expected)?)?,
            p_bad_to_good: probability(&choice.need("p_bad_to_good", expected)?)?,
            loss_good: choice.or("loss_good", 0.0, probability)?,
            loss_bad: choice.or("loss_bad", 1.0, probability)?,
        });
    };
    for key in ["p_good_to_bad", "p_bad_to_good", "loss_good", "loss_bad"] {
        if let Some(other) = choice.get(key) {
            return Err(other.fault(format!(
                "found both `loss` and `{key}`, expected one of them"
            )));
        }
    }
    let expected = "the probability that the packet after a lost one is lost too";
    let stay = probability(&choice.need("stay", expected)?)?;
    GilbertElliott::from_loss_and_stay(probability(&loss)?, stay).map_err(refused)
}

fn next_trial(field: &Field<'_>) -> Result<NextTrial, Fault> {
    field.one_of(&[("random", NextTrial::Random), ("same", NextTrial::Same)])
}

/// Reads a recording that is replayed by packet or by time.
fn pattern(choice: &Choice<'_>, directory: &Path) -> Result<ChannelSpec, Fault> {
    let field = choice.need(
        "file",
        "the file of the recorded pattern, or a directory of them",
    )?;
    let name = field.text("the name of a file or directory")?;
    let column = choice.get("column");
    let column = column
        .map(|column| column.text("the name of a column"))
        .transpose()?;
    let by_time = choice.or("by", false, |by| {
        by.one_of(&[("packet", false), ("time", true)])
    })?;
    let trial = choice.get("trial");
    let trial = trial.map(|trial| Ok((trial.integer(1..=MOST_PACKETS as u64)?, trial)));
    let trial = trial.transpose()?;
    let least = choice.or("loss_from", 0.0, probability)?;
    let most = choice
        .get("loss_to")
        .map(|most| probability(&most))
        .transpose()?;
    let next = choice.or("next", NextTrial::default(), next_trial)?;
    if field.item.probe().is_some() {
        return Ok(ChannelSpec::None);
    }
    let path = directory.join(name);
    let refused = |error: recording::RecordingError| field.fault(error.to_string());
    let mut recording = recording::read(&path, column).map_err(refused)?;
    let trials = recording.trials.len();
    if let Some((number, field)) = trial {
        let place = number as usize - 1;
        if place >= trials {
            let path = path.display();
            return Err(field.fault(format!(
                "found trial {number}, but {path} has {trials}; expected 1 to {trials}"
            )));
        }
        recording.trials = vec![recording.trials.swap_remove(place)];
    }
    recording.keep_losses(least, most.unwrap_or(f64::INFINITY));
    if recording.trials.is_empty() {
        return Err(field.fault(format!(
            "none of the {trials} trials of {} loses a share between `loss_from` and `loss_to`",
            path.display()
        )));
    }
    Ok(if by_time {
        ChannelSpec::TimedPattern {
            pattern: recording.timed_pattern().map_err(refused)?,
            next,
        }
    } else {
        ChannelSpec::Pattern {
            pattern: recording.pattern().map_err(refused)?,
            next,
        }
    })
}

/// Reads a fitted channel of the library.
fn recorded(field: &Field<'_>) -> Result<ChannelSpec, Fault> {
    let name = field.text("the name of a fitted channel (`whyloss list`)")?;
    if field.item.probe().is_some() {
        return Ok(ChannelSpec::None);
    }
    let found = recorded::find(recorded::Kind::Channel, name);
    let entry = found.map_err(|problem| field.fault(problem))?;
    // Entries of the library refer to no files, so the directory does not matter.
    of_library(field, entry, |inner| Ok(channel(inner, Path::new(""))?.0))
}

/// Reads a model of the library instead of `field`.
pub(super) fn of_library<T>(
    field: &Field<'_>,
    entry: &recorded::Recorded,
    read: impl FnOnce(&Field<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let root = document::read(&format!("law = {}", entry.law), &[])?;
    let item = match &root.value {
        Value::Table(table) => table.find("law"),
        _ => None,
    };
    read(&Field {
        path: field.path.clone(),
        item: item.unwrap_or(&root),
    })
}
