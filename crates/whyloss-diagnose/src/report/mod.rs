//! Formats a diagnosis as text, JSON, CSV and an HTML page.

pub mod annotated;
pub mod csv;
pub mod json;
#[cfg(feature = "page")]
pub mod page;
pub mod score;
pub mod summary;
pub mod text;

use crate::loss::Loss;
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
