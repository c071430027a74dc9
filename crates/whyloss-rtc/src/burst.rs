//! Detects whether the bursts of a pacer pass without waiting.
//!
//! ```text
//! burst     packets sent after the one before, but within 8·size/(1.25·target): faster than the target
//! bursts    half of a round's packets at least
//! late      rott > least rott of the last 5 to 10 s + 10 ms
//! quiet     no late packet for 400 ms
//! ```
//!
//! A pacer sends each frame faster than the target. While such bursts do not wait, the path has
//! room for more. Near the capacity, each frame waits for itself. NADA speeds up if no packet of
//! 500 ms waits 10 ms (RFC 8698, section 4.3); here a pacer must also have tried a higher rate.

use crate::delay::{BUCKET, Least};
use whyloss::receiver::Arrival;
use whyloss::{Duration, Time};

/// The delay of a late packet above the least, in ns.
const LATE: i64 = 10_000_000;
/// The time without a late packet that shows room.
const QUIET: Duration = Duration::from_millis(400);

#[derive(Clone, Debug)]
pub(crate) struct Bursts {
    least: Least,
    turned: Time,
    /// The report of the last late packet.
    late: Time,
    sent: Time,
    packets: u32,
    fast: u32,
}

impl Bursts {
    pub(crate) fn new() -> Self {
        Self {
            least: Least::NONE,
            turned: Time::ZERO,
            late: Time::ZERO,
            sent: Time::ZERO,
            packets: 0,
            fast: 0,
        }
    }

    /// Updates the round with an arrival reported at `now`, while the target is `target` bit/s.
    pub(crate) fn add(&mut self, now: Time, arrival: &Arrival, target: f64) {
        let age = now - self.turned;
        if age >= BUCKET {
            self.turned = now;
            self.least.turn(age);
        }
        let rott = arrival.rott().as_nanos();
        if rott.saturating_sub(self.least.add(rott)) > LATE {
            self.late = now;
        }
        let gap = (arrival.sent - self.sent).as_secs_f64();
        self.sent = arrival.sent;
        let fast = gap > 0.0 && gap * 1.25 * target <= 8.0 * f64::from(arrival.size);
        self.packets = self.packets.saturating_add(1);
        self.fast = self.fast.saturating_add(u32::from(fast));
    }

    /// Ends a round. Returns whether the path is quiet, or `None` without bursts.
    pub(crate) fn end(&mut self, now: Time) -> Option<bool> {
        let bursts = self.fast >= self.packets - self.fast;
        (self.packets, self.fast) = (0, 0);
        bursts.then(|| now - self.late >= QUIET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends a round of ten packets of 1,200 bytes, sent each `gap` ms and late by `wait` ms.
    fn round(bursts: &mut Bursts, from: u64, gap: u64, wait: u64) -> Option<bool> {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        for k in 0..10 {
            let sent = from + gap * k;
            let arrival = Arrival::new(from + k, at(sent), at(sent + 20 + wait), 1_200);
            bursts.add(at(from + 100), &arrival, 1e6);
        }
        bursts.end(at(from + 100))
    }

    #[test]
    fn bursts_pass_quietly_after_400_ms() {
        let mut bursts = Bursts::new();
        // At 1 Mbit/s, packets leave each 9.6 ms; in bursts, within 7.68 ms.
        assert_eq!(round(&mut bursts, 1_000, 8, 0), None);
        assert_eq!(round(&mut bursts, 1_200, 7, 0), Some(true));
        assert_eq!(round(&mut bursts, 1_400, 7, 11), Some(false));
        assert_eq!(round(&mut bursts, 1_600, 7, 10), Some(false));
        assert_eq!(round(&mut bursts, 1_800, 7, 0), Some(true));
    }
}
