//! Reads the transport of a flow by its name and parameters.

use whyloss::Duration;

use super::scheme::{self, Chosen};
use super::{Choice, classifier, iftp, quic, rtp, tcp, tfrc};
use crate::host::datagrams::{Law, Pattern, Spacing};
use crate::host::web::Transfers;
use crate::registry::Registry;
use crate::scenario::Transport;
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

pub(super) const TRANSPORTS: [&str; 9] = [
    "tfrc", "tcp", "quic", "rtp", "iftp", "on-off", "cbr", "poisson", "web",
];

/// The default shape, which ns-2, Martignon and Fratta (2005) and Le and Hong (2006) use.
const PARETO_SHAPE: f64 = 1.5;

pub(super) const BURSTS: [&str; 5] = ["rate", "burst", "idle", "law", "shape"];
pub(super) const WEB: [&str; 3] = ["transfers", "size", "shape"];
pub(super) const STEADY: [&str; 3] = ["rate", "dither", "rate_changes"];
pub(super) const POISSON: [&str; 3] = ["rate", "least", "rate_changes"];

/// Returns a transport of packets of `packet` bytes, with its classifier if it can have one. TFRC
/// has it at the receiver, TCP and IFTP at the sender. A classifier replaces the scheme's.
pub(in crate::scenario) fn transport(
    field: &Field<'_>,
    scheme: Option<&Field<'_>>,
    classifier: Option<&Field<'_>>,
    packet: u32,
    registry: &Registry,
) -> Result<Transport, Fault> {
    let expected =
        r#"a transport: "tfrc", "tcp", "quic", "rtp", "iftp", "on-off", "cbr", "poisson" or "web""#;
    let choice = Choice::of(field, "transport", expected, &TRANSPORTS)?;
    if let ("rtp" | "on-off" | "cbr" | "poisson" | "web", Some(field)) = (choice.name, classifier) {
        let message = format!(
            "only a `tfrc`, `tcp`, `quic` or `iftp` flow has a classifier; this one is `{}`",
            choice.name
        );
        return Err(field.fault(message));
    }
    if let (Some(field), Some(_), Some(_)) = (scheme, classifier, choice.get("controller"))
        && !choice.is_probe()
    {
        return Err(field.fault(
            "the flow's `classifier` and `controller` replace the scheme's; leave out both, or `scheme`",
        ));
    }
    let scheme = scheme.map(|field| scheme::chosen(field, choice.name, registry));
    let scheme = scheme.transpose()?;
    let at_sender = || classifier::decider(classifier, &registry.senders(), registry);
    match choice.name {
        "tfrc" => Ok(Transport::Tfrc {
            options: tfrc::options(&choice)?,
            classifier: classifier::decider(classifier, &registry.receivers(), registry)?,
        }),
        "iftp" => Ok(Transport::Iftp {
            options: iftp::options(&choice)?,
            classifier: match (scheme, classifier) {
                (Some(Chosen::Iftp(decider)), None) => decider,
                _ => at_sender()?,
            },
        }),
        "tcp" | "quic" => {
            let scheme = match scheme {
                Some(Chosen::Windowed(scheme)) => Some(scheme),
                _ => None,
            };
            let decider = match (&scheme, classifier) {
                (Some(scheme), None) => scheme.classifier.clone(),
                _ => at_sender()?,
            };
            let scheme = scheme.as_deref();
            if choice.name == "quic" {
                return Ok(Transport::Quic {
                    options: quic::options(&choice, scheme, classifier.is_some(), registry)?,
                    classifier: decider,
                });
            }
            choice.only(&tcp::KEYS)?;
            let (options, controller) = tcp::options(&choice, scheme, packet, registry)?;
            Ok(Transport::Tcp {
                options,
                classifier: decider,
                controller,
            })
        }
        "rtp" => Ok(Transport::Rtp {
            options: rtp::options(&choice)?,
        }),
        "on-off" => bursts(&choice),
        "cbr" => {
            choice.only(&STEADY)?;
            let dither = choice.or("dither", false, Field::flag)?;
            let spacing = if dither {
                Spacing::Dithered
            } else {
                Spacing::Regular
            };
            steady(&choice, spacing)
        }
        "poisson" => {
            choice.only(&POISSON)?;
            let least = choice.or("least", Duration::ZERO, Field::duration)?;
            steady(&choice, Spacing::Exponential { least })
        }
        "web" => web(&choice, packet, registry),
        _ => Err(choice.unknown("transport", TRANSPORTS)),
    }
}

/// Reads the options of [`Pattern::Bursts`].
fn bursts(choice: &Choice<'_>) -> Result<Transport, Fault> {
    choice.only(&BURSTS)?;
    let shape = choice.or("shape", PARETO_SHAPE, |field| {
        field.number(f64::MIN..=f64::MAX)
    })?;
    let law = choice.or("law", Law::default(), |field| {
        field.one_of(&[
            ("exponential", Law::Exponential),
            ("pareto", Law::Pareto { shape }),
            ("constant", Law::Constant),
        ])
    })?;
    if !matches!(law, Law::Pareto { .. })
        && let Some(shape) = choice.get("shape")
    {
        return Err(shape.fault("only `law = \"pareto\"` has a shape"));
    }
    Ok(Transport::Datagrams {
        rate: choice
            .need("rate", r#"the rate during a burst, such as "75 kbit/s""#)?
            .rate()?,
        pattern: Pattern::Bursts {
            law,
            burst: choice
                .need("burst", r#"the mean length of a burst, such as "500 ms""#)?
                .duration()?,
            idle: choice
                .need("idle", r#"the mean length of a pause, such as "500 ms""#)?
                .duration()?,
        },
    })
}

/// Reads the options of [`Pattern::Steady`].
fn steady(choice: &Choice<'_>, spacing: Spacing) -> Result<Transport, Fault> {
    let expected =
        r#"pairs of a time and a rate, such as [["25 s", "500 kbit/s"], ["50 s", "0 bit/s"]]"#;
    Ok(Transport::Datagrams {
        rate: choice
            .need("rate", r#"its rate, such as "64 kbit/s""#)?
            .rate()?,
        pattern: Pattern::Steady {
            spacing,
            changes: choice.or("rate_changes", Vec::new(), |field| {
                field.changes(expected, Field::rate)
            })?,
        },
    })
}

/// Reads the fields of [`Transfers`]; the table `tcp` has the options of the connections.
fn web(choice: &Choice<'_>, packet: u32, registry: &Registry) -> Result<Transport, Fault> {
    let mut known = WEB.to_vec();
    // The transfer sets the number of segments. Connections have no handshake and no classifier.
    let fixed = |key: &&str| matches!(*key, "segments" | "handshake" | "wireless");
    known.extend(tcp::KEYS.iter().filter(|key| !fixed(key)));
    choice.only(&known)?;
    let base = Transfers::default();
    let (options, outside) = tcp::options(choice, None, packet, registry)?;
    if let (Some(_), Some(field)) = (outside, choice.get("controller")) {
        return Err(field.fault("a `web` flow takes only controllers that are built in"));
    }
    Ok(Transport::Web {
        options,
        transfers: Transfers {
            per_second: choice
                .need("transfers", "how many transfers come a second, such as 0.5")?
                .number(0.0..=f64::MAX)?,
            size: choice.or("size", base.size, Field::bytes)?,
            shape: choice.or("shape", base.shape, |field| {
                field.number(f64::MIN..=f64::MAX)
            })?,
        },
    })
}
