//! Transports by name.

use whyloss::{receiver, sender};

use super::{Choice, classifier, tcp, tfrc};
use crate::scenario::Transport;
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

pub(super) const TRANSPORTS: [&str; 3] = ["tfrc", "tcp", "on-off"];

/// A transport of packets of `packet` bytes, with its classifier if it can have one: TFRC's is at the receiver, TCP's
/// at the sender.
pub(in crate::scenario) fn transport(
    field: &Field<'_>,
    classifier: Option<Field<'_>>,
    packet: u32,
) -> Result<Transport, Fault> {
    let expected = r#"a transport: "tfrc", "tcp" or "on-off""#;
    let choice = Choice::of(field, "transport", expected)?;
    if let ("on-off", Some(field)) = (choice.name, &classifier) {
        let message = format!(
            "only a `tfrc` or `tcp` flow has a classifier; this one is `{}`",
            choice.name
        );
        return Err(field.fault(message));
    }
    match choice.name {
        "tfrc" => Ok(Transport::Tfrc {
            options: tfrc::options(&choice)?,
            classifier: match classifier {
                Some(classifier) => classifier::classifier(&classifier, receiver::REGISTRY)?,
                None => classifier::unaware(field, receiver::REGISTRY)?,
            },
        }),
        "tcp" => Ok(Transport::Tcp {
            options: tcp::options(&choice, packet)?,
            classifier: match classifier {
                Some(classifier) => classifier::classifier(&classifier, sender::REGISTRY)?,
                None => classifier::unaware(field, sender::REGISTRY)?,
            },
        }),
        "on-off" => on_off(&choice),
        _ => Err(choice.unknown("transport", TRANSPORTS)),
    }
}

fn on_off(choice: &Choice<'_>) -> Result<Transport, Fault> {
    choice.only(&["rate", "burst", "idle"])?;
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
