//! A diagnosis as one JSON object; `docs/diagnosis.md` describes its keys.

use serde_json::{Value, json};

use super::{cause, summary, votes};
use crate::Diagnosis;
use crate::flow::Flow;
use crate::loss::{Loss, Side};
use crate::vantage::Vantage;

/// All flows, or that of number `one`.
pub fn render(diagnosis: &Diagnosis, one: Option<u64>) -> Value {
    let flows = diagnosis
        .flows
        .iter()
        .filter(|flow| one.is_none_or(|one| flow.number == one));
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
        "flows": flows.map(flow).collect::<Vec<_>>(),
    })
}

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
        "losses": flow.losses.iter().map(|one| loss(flow, one)).collect::<Vec<_>>(),
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
