//! Formats a diagnosis as one JSON object; `docs/guides/diagnosis.md` describes its keys.

use std::io;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};

use super::{cause, summary, votes};
use crate::Diagnosis;
use crate::flow::Flow;
use crate::loss::{Loss, Side};
use crate::vantage::Vantage;

/// Returns all flows, or flow number `one`, as JSON.
pub fn render(diagnosis: &Diagnosis, one: Option<u64>) -> Value {
    let mut whole = head(diagnosis);
    let flows = chosen(diagnosis, one).map(|flow| {
        let mut about = self::flow(flow);
        about["losses"] = flow.losses.iter().map(|one| loss(flow, one)).collect();
        about
    });
    whole["flows"] = flows.collect();
    whole
}

/// Writes the JSON of [`render`] loss by loss, without holding it in memory.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write(diagnosis: &Diagnosis, one: Option<u64>, out: &mut dyn io::Write) -> io::Result<()> {
    let flows = Flows(diagnosis, one);
    serde_json::to_writer(out, &With(head(diagnosis), "flows", &flows)).map_err(io::Error::from)
}

fn chosen(diagnosis: &Diagnosis, one: Option<u64>) -> impl Iterator<Item = &Flow> {
    let flows = diagnosis.flows.iter();
    flows.filter(move |flow| one.is_none_or(|one| flow.number == one))
}

/// An object in which another serialisable value replaces one of its values.
struct With<'a, T>(Value, &'static str, &'a T);

impl<T: Serialize> Serialize for With<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(Value::Object(object), key, value) = self else {
            return self.0.serialize(to);
        };
        let mut map = to.serialize_map(Some(object.len()))?;
        for (name, other) in object {
            if name == key {
                map.serialize_entry(name, value)?;
            } else {
                map.serialize_entry(name, other)?;
            }
        }
        map.end()
    }
}

struct Flows<'a>(&'a Diagnosis, Option<u64>);

impl Serialize for Flows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let flows = chosen(self.0, self.1);
        to.collect_seq(flows.map(Written))
    }
}

struct Written<'a>(&'a Flow);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        With(flow(self.0), "losses", &Losses(self.0)).serialize(to)
    }
}

struct Losses<'a>(&'a Flow);

impl Serialize for Losses<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.losses.iter().map(|one| loss(self.0, one)))
    }
}

/// Returns the diagnosis without its flows.
fn head(diagnosis: &Diagnosis) -> Value {
    json!({
        "frames": diagnosis.frames,
        "partial": diagnosis.partial,
        "notes": diagnosis.notes,
        "skipped": {
            "other": diagnosis.skipped.other,
            "short": diagnosis.skipped.short,
            "malformed": diagnosis.skipped.malformed,
            "fragments": diagnosis.skipped.fragments,
        },
        "score": diagnosis.score.as_ref().map(super::score::json),
        "flows": [],
    })
}

/// Returns a flow without its losses.
fn flow(flow: &Flow) -> Value {
    let portrait = &flow.portrait;
    let counts = &flow.counts;
    let share = match flow.vantage {
        Vantage::Between(share) => Some(share),
        _ => None,
    };
    json!({
        "flow": flow.number,
        "protocol": flow.protocol.name(),
        "name": flow.name,
        "source": flow.source.to_string(),
        "destination": flow.destination.to_string(),
        "first_s": seconds(flow.span.0),
        "last_s": seconds(flow.span.1),
        "vantage": flow.vantage.name(),
        "vantage_share": share,
        "summary": summary::paragraph(flow),
        "cannot_tell": flow.cannot_tell,
        "counts": {
            "data_packets": counts.data_packets,
            "data_bytes": counts.data_bytes,
            "retransmissions": counts.retransmissions,
            "spurious": counts.spurious,
            "reordered": counts.reordered,
            "uncaptured_bytes": counts.uncaptured_bytes,
            "copies": counts.copies,
            "keep_alives": counts.keep_alives,
            "unresolved": counts.unresolved,
            "restarts": counts.restarts,
            "losses_not_kept": counts.losses_not_kept,
        },
        "lost": {
            "before": flow.lost(Side::Before),
            "beyond": flow.lost(Side::Beyond),
            "congestion": portrait.by_cause.congestion,
            "wireless": portrait.by_cause.wireless,
            "unknown": portrait.by_cause.unknown,
        },
        "path": {
            "base_rtt_ms": portrait.base_rtt_ms,
            "queueing_ms": portrait.queueing_ms.map(|[p50, p90, p99]| json!({"p50": p50, "p90": p90, "p99": p99})),
            "mean_mbps": portrait.mean_mbps,
            "full_mbps": portrait.full_mbps,
            "buffer_ms": portrait.buffer_ms,
            "buffer_bytes": portrait.buffer_bytes,
            "wireless_at_ms": portrait.wireless_at_ms,
            "wireless_run": portrait.wireless_run,
            "runs": {"1": portrait.runs[0], "2": portrait.runs[1], "3-4": portrait.runs[2], "5-8": portrait.runs[3], "9+": portrait.runs[4]},
        },
        "losses": [],
    })
}

fn loss(flow: &Flow, loss: &Loss) -> Value {
    let event = loss.event.and_then(|event| flow.events.get(event as usize));
    let said: serde_json::Map<String, Value> = event
        .map(|event| {
            votes(event)
                .map(|(id, cause)| (id.to_owned(), cause.into()))
                .collect()
        })
        .unwrap_or_default();
    json!({
        "time_s": seconds(loss.time),
        "frame": loss.frame,
        "offset": loss.offset,
        "bytes": loss.bytes,
        "packets": loss.packets,
        "side": if loss.side == Side::Before { "before" } else { "beyond" },
        "retransmission": loss.retransmission,
        "evidence": loss.evidence.name(),
        "event": loss.event,
        "run": loss.run,
        "delay_before_ms": loss.around.before.map(|us| f64::from(us) / 1000.0),
        "cause": loss.verdict.map(|_| cause(loss)),
        "confidence": loss.verdict.map(|verdict| verdict.confidence),
        "truth": loss.truth.map(crate::truth::Fate::name),
        "classifiers": said,
    })
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Cursor;

    #[test]
    fn what_is_written_bit_by_bit_is_what_is_rendered() {
        let mut log = String::from("{\"qlog_format\":\"JSON-SEQ\",\"trace\":{}}\n");
        for number in [1, 2, 5, 6, 9] {
            let _ = writeln!(
                log,
                "{{\"time\":{number},\"name\":\"packet_received\",\"data\":{{\"header\":{{\"packet_number\":{number}}},\
                 \"raw\":{{\"length\":9}}}}}}"
            );
        }
        let options = crate::Options::default();
        let diagnosis = crate::diagnose(Box::new(Cursor::new(log)), options).expect("a log");
        assert_eq!(diagnosis.flows[0].losses.len(), 4);
        for one in [None, Some(1), Some(2)] {
            let mut written = Vec::new();
            super::write(&diagnosis, one, &mut written).expect("memory");
            let rendered = super::render(&diagnosis, one).to_string();
            assert_eq!(String::from_utf8(written).as_deref(), Ok(rendered.as_str()));
        }
    }
}
