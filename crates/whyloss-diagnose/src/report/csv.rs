//! Losses as CSV, one row each.

use std::fmt::Write as _;

use super::{cause, votes};
use crate::Diagnosis;
use crate::classifiers::{receivers, senders};
use crate::loss::Side;

/// Losses of all flows, or of flow number `one`. No field needs quotes: all are numbers and words of ours.
pub fn render(diagnosis: &Diagnosis, one: Option<u64>) -> String {
    let mut text = "flow,source,destination,protocol,time_s,frame,offset,bytes,packets,side,retransmission,evidence,run,\
                    delay_before_ms,cause,confidence,truth"
        .to_owned();
    let ids: Vec<&str> = senders()
        .map(|entry| entry.id)
        .chain(receivers().map(|entry| entry.id))
        .collect();
    for id in &ids {
        let _ = write!(text, ",{id}");
    }
    text.push('\n');
    for flow in diagnosis
        .flows
        .iter()
        .filter(|flow| one.is_none_or(|one| flow.number == one))
    {
        for loss in &flow.losses {
            let _ = write!(
                text,
                "{},{},{},{},{}.{:09},{},{},{},{},{},{},{},{},{},{},{},{}",
                flow.number,
                flow.source,
                flow.destination,
                flow.protocol.name(),
                loss.time / 1_000_000_000,
                loss.time % 1_000_000_000,
                loss.frame,
                loss.offset,
                loss.bytes,
                loss.packets,
                if loss.side == Side::Before {
                    "before"
                } else {
                    "beyond"
                },
                loss.retransmission,
                loss.evidence.name(),
                loss.run,
                loss.around.before.map_or(String::new(), |us| format!(
                    "{}.{:03}",
                    us / 1000,
                    us % 1000
                )),
                loss.verdict.map_or("", |_| cause(loss)),
                loss.verdict.map_or(String::new(), |verdict| format!(
                    "{:.4}",
                    verdict.confidence
                )),
                loss.truth.map_or("", crate::truth::Fate::name),
            );
            let said: Vec<_> = loss
                .event
                .and_then(|event| flow.events.get(event as usize))
                .map(|event| votes(event).collect())
                .unwrap_or_default();
            for id in &ids {
                let of = said
                    .iter()
                    .find(|(other, _)| other == id)
                    .map_or("", |(_, cause)| cause);
                let _ = write!(text, ",{of}");
            }
            text.push('\n');
        }
    }
    text
}
