//! Formats losses as CSV, one row per loss.

use std::fmt::Write as _;
use std::io;

use whyloss_sim::text::{defused, one_line};

use super::cause;
use crate::Diagnosis;
use crate::classifiers::{columns, senders};
use crate::loss::Side;

/// Returns the losses of all flows, or of flow number `one`, as CSV.
pub fn render(diagnosis: &Diagnosis, one: Option<u64>) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write(diagnosis, one, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes the CSV of [`render`] row by row, without holding it in memory.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write(diagnosis: &Diagnosis, one: Option<u64>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = "flow,source,destination,protocol,time_s,frame,offset,bytes,packets,side,retransmission,evidence,run,\
                    delay_before_ms,cause,confidence,truth"
        .to_owned();
    let (columns, senders) = (columns(), senders().count());
    for column in &columns {
        let _ = write!(text, ",{column}");
    }
    text.push('\n');
    for flow in diagnosis
        .flows
        .iter()
        .filter(|flow| one.is_none_or(|one| flow.number == one))
    {
        let [source, destination] = flow.names().map(|name| field(&name));
        for loss in &flow.losses {
            let _ = write!(
                text,
                "{},{},{},{},{}.{:09},{},{},{},{},{},{},{},{},{},{},{},{}",
                flow.number,
                source,
                destination,
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
            let event = loss.event.and_then(|event| flow.events.get(event as usize));
            for column in 0..columns.len() {
                let said = event.and_then(|event| {
                    let index = match event.detection {
                        Some(_) => (column < senders).then_some(column),
                        None => column.checked_sub(senders),
                    };
                    event.votes.of(index?)
                });
                let _ = write!(text, ",{}", said.map_or("", super::name));
            }
            text.push('\n');
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    out.write_all(text.as_bytes())
}

/// Returns a name as a field of CSV, safe for terminals and spreadsheets.
fn field(name: &str) -> String {
    let safe = one_line(name);
    let safe = defused(&safe);
    if safe.contains([',', '"']) {
        format!("\"{}\"", safe.replace('"', "\"\""))
    } else {
        safe.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_fields() {
        assert_eq!(field("10.0.0.1:80"), "10.0.0.1:80");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("a\u{1b}\n\u{202e}"), "a\\u001b\\u000a\\u202e");
    }
}
