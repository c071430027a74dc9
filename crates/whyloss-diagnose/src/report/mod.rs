//! Formats a diagnosis as text, JSON, CSV and an HTML page.

pub mod annotated;
pub mod csv;
pub mod json;
#[cfg(feature = "page")]
pub mod page;
pub mod score;
pub mod summary;
pub mod text;

use crate::loss::{Evidence, Loss};
use whyloss::Cause;

/// Returns "congestion", "wireless" or "cannot tell".
fn cause(loss: &Loss) -> &'static str {
    loss.verdict
        .map_or("cannot tell", |verdict| name(verdict.cause))
}

/// Returns the word for a cause: `congestion` or `wireless`.
pub fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    }
}

/// Formats the confidence of a loss's verdict in percent; `None` without a verdict. Only a network's
/// own log is 100 % sure.
fn sure(loss: &Loss) -> Option<String> {
    let percent = loss.verdict?.confidence * 100.0;
    if percent >= 99.5 && loss.evidence != Evidence::Log {
        return Some(">99".to_owned());
    }
    Some(format!("{percent:.0}"))
}

/// Returns the ids of the classifiers that judge losses on this event's side of the point of
/// capture.
fn classifiers(event: &crate::loss::Event) -> Vec<&'static str> {
    match event.detection {
        Some(_) => crate::classifiers::senders()
            .map(|entry| entry.id)
            .collect(),
        None => crate::classifiers::receivers()
            .map(|entry| entry.id)
            .collect(),
    }
}

/// Returns the verdict of each classifier on an event.
fn votes(event: &crate::loss::Event) -> impl Iterator<Item = (&'static str, &'static str)> {
    let votes = event.votes;
    classifiers(event)
        .into_iter()
        .enumerate()
        .filter_map(move |(index, id)| Some((id, name(votes.of(index)?))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::Around;
    use crate::loss::{Side, Sure};

    #[test]
    fn only_a_log_is_quite_sure() {
        let said = |confidence: f64, evidence| {
            let cause = Cause::Wireless;
            super::sure(&Loss {
                time: 0,
                frame: 1,
                offset: 0,
                bytes: 1,
                packets: 1,
                side: Side::Beyond,
                retransmission: false,
                evidence,
                event: None,
                order: 1,
                around: Around::default(),
                run: 1,
                verdict: (confidence > 0.0).then_some(Sure { cause, confidence }),
                truth: None,
            })
        };
        for (confidence, evidence, expected) in [
            (0.994, Evidence::Sack, Some("99")),
            (0.996, Evidence::Sack, Some(">99")),
            (1.0, Evidence::Sack, Some(">99")),
            (1.0, Evidence::Log, Some("100")),
            (0.0, Evidence::Sack, None),
        ] {
            assert_eq!(said(confidence, evidence).as_deref(), expected);
        }
    }
}
