//! The parts of a scenario that come in kinds: channels, transports, classifiers.
//!
//! Each is given by its name alone (`channel = "none"`) or by a table with the name and its parameters
//! (`channel = { kind = "bernoulli", loss = 0.01 }`).

use whyloss_link::ChannelSpec;

use super::Transport;
use super::document::{Value, selector};
use super::error::Fault;
use super::fields::{Field, Fields, choose};

/// A choice and the parameters beside it, if any.
struct Choice<'a> {
    name: &'a str,
    /// Where the name stands.
    field: Field<'a>,
    parameters: Option<Fields<'a>>,
}

impl<'a> Choice<'a> {
    fn of(field: &Field<'a>, key: &str, expected: &str) -> Result<Self, Fault> {
        let selector = selector(key).unwrap_or("kind");
        if let Value::Table(_) = field.item.value {
            let fields = field.fields(expected)?;
            let name = fields.need(selector, expected)?;
            Ok(Self {
                name: name.text(expected)?,
                field: name,
                parameters: Some(fields),
            })
        } else {
            Ok(Self {
                name: field.text(expected)?,
                field: field.clone(),
                parameters: None,
            })
        }
    }

    /// The parameter called `key`.
    fn get(&self, key: &str) -> Option<Field<'a>> {
        self.parameters.as_ref().and_then(|fields| fields.get(key))
    }

    fn need(&self, key: &str, expected: &str) -> Result<Field<'a>, Fault> {
        match &self.parameters {
            Some(fields) => fields.need(key, expected),
            None => Err(self.field.fault(format!(
                "`{name}` needs `{key}`, {expected}: write {{ kind = \"{name}\", {key} = … }}",
                name = self.name
            ))),
        }
    }

    /// Refuses parameters other than `known`.
    fn only(&self, selector: &str, known: &[&str]) -> Result<(), Fault> {
        match &self.parameters {
            None => Ok(()),
            Some(fields) => {
                let opening = format!("`{}` has no key", self.name);
                fields.only_of(&opening, &[&[selector], known].concat())
            }
        }
    }
}

const CHANNELS: [&str; 2] = ["none", "bernoulli"];

/// A channel, and whether it comes before the queue.
pub(super) fn channel(field: &Field<'_>) -> Result<(ChannelSpec, bool), Fault> {
    let expected = r#"a channel, such as { kind = "bernoulli", loss = 0.01 }"#;
    let choice = Choice::of(field, "channel", expected)?;
    let kind = choose(&choice.field, "channel", choice.name, &CHANNELS)?;
    let spec = match CHANNELS[kind] {
        "bernoulli" => {
            choice.only("kind", &["loss", "before_queue"])?;
            let loss = choice.need("loss", "the probability that a packet is lost")?;
            ChannelSpec::Bernoulli {
                loss: loss.number(0.0..=1.0)?,
            }
        }
        _ => {
            choice.only("kind", &[])?;
            ChannelSpec::None
        }
    };
    let before_queue = choice.get("before_queue").map(|f| f.flag()).transpose()?;
    Ok((spec, before_queue.unwrap_or(false)))
}

const TRANSPORTS: [&str; 1] = ["on-off"];

/// A transport, with the classifier of its receiver if it can have one.
pub(super) fn transport(
    field: &Field<'_>,
    classifier: Option<Field<'_>>,
) -> Result<Transport, Fault> {
    let expected = r#"a transport: "tfrc", "tcp" or "on-off""#;
    let choice = Choice::of(field, "transport", expected)?;
    choose(&choice.field, "transport", choice.name, &TRANSPORTS)?;
    if let Some(field) = classifier {
        let message = format!(
            "only a `tfrc` flow has a classifier; this one is `{}`",
            choice.name
        );
        return Err(field.fault(message));
    }
    choice.only("kind", &["rate", "burst", "idle"])?;
    Ok(Transport::OnOff {
        rate: choice
            .need("rate", r#"the rate during a burst, such as "75 kbit/s""#)?
            .rate()?,
        burst: choice
            .need("burst", r#"the mean length of a burst, such as "500 ms""#)?
            .duration()?,
        idle: choice
            .need("idle", r#"the mean length of a pause, such as "500 ms""#)?
            .duration()?,
    })
}
