//! Reads the acknowledged ranges of an ACK frame.
//!
//! noq-proto 1.4 writes the first number after each range as its last, and the delay in units of
//! 8 µs. Its handshake shows this: there, an acknowledgement names a number that was not sent yet.

use serde_json::Value;

use super::{is_of, real, whole};

/// The maximum number of ranges read in one acknowledgement.
const RANGES: usize = 1 << 12;
/// The units of delays in ns: of qlog, and of noq (an `ack_delay_exponent` of 3, RFC 9000 §18.2).
const UNITS: [f64; 2] = [1e6, 8e3];

/// How the log of a connection writes ranges.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    /// The largest number sent in each space of the handshake.
    sent: [Option<u64>; 2],
    /// Whether ranges exclude their ends.
    exclusive: bool,
}

impl Ranges {
    /// Handles a packet of the handshake, with the index of its type.
    pub(super) fn on_handshake(
        &mut self,
        kind: usize,
        name: &str,
        number: Option<u64>,
        data: &Value,
    ) {
        let Some(sent) = self.sent.get_mut(kind) else {
            return;
        };
        match name {
            "packet_sent" => *sent = number.max(*sent),
            "packet_received" if !self.exclusive => {
                let next = sent.map(|sent| sent + 1);
                let last = acknowledgements(data).flat_map(ranges).map(|range| range.1);
                self.exclusive = next.is_some() && last.max() == next;
            }
            _ => {}
        }
    }

    /// Calls `each` with the ranges of each acknowledgement in a packet, ends included, and the ns
    /// for which the peer held it.
    pub(super) fn read(&self, data: &Value, mut each: impl FnMut(&[(u64, u64)], u64)) {
        let beyond = u64::from(self.exclusive);
        for frame in acknowledgements(data) {
            let ranges = ranges(frame).filter_map(|(first, end)| {
                let last = end.checked_sub(beyond)?;
                Some((first, last))
            });
            let ranges: Vec<(u64, u64)> = ranges.collect();
            let held = real(&frame["ack_delay"]).unwrap_or(0.0).clamp(0.0, 1e5);
            each(&ranges, (held * UNITS[usize::from(self.exclusive)]) as u64);
        }
    }
}

fn acknowledgements(data: &Value) -> impl Iterator<Item = &Value> {
    let frames = data["frames"].as_array().map_or(&[][..], Vec::as_slice);
    frames.iter().filter(|frame| is_of(frame, &["ack"]))
}

/// Returns the ranges of an acknowledgement as they are written.
fn ranges(frame: &Value) -> impl Iterator<Item = (u64, u64)> {
    let ranges = frame["acked_ranges"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    ranges.iter().take(RANGES).filter_map(|range| {
        let ends = range.as_array()?;
        let first = whole(ends.first()?)?;
        let last = whole(ends.last()?)?;
        Some((first.min(last), first.max(last)))
    })
}
