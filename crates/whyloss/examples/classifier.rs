//! Defines a receiver classifier, runs the property tests on it, and uses it on an RTP stream.
//!
//! `cargo run -p whyloss --example classifier`

use whyloss::losses::LossTracker;
use whyloss::receiver::{Arrival, ReceiverClassifier};
use whyloss::{Cause, Duration, Time, testing};

/// Calls a gap congestion if the delay is in the upper half of its range so far; for a gap of more
/// than one packet, in the upper quarter.
#[derive(Clone, Debug, Default)]
struct UpperHalf {
    /// The smallest and the largest relative one-way trip time.
    range: Option<(Duration, Duration)>,
}

impl ReceiverClassifier for UpperHalf {
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let rott = arrival.rott();
        let (min, max) = self.range.unwrap_or((rott, rott));
        let (min, max) = (min.min(rott), max.max(rott));
        self.range = Some((min, max));
        // Uses only differences of delays, so a clock offset cancels.
        let bound = (max - min) / 4 * if missing == 1 { 2 } else { 3 };
        let cause = if rott - min > bound {
            Cause::Congestion
        } else {
            Cause::Wireless
        };
        (missing > 0).then_some(cause)
    }
}

fn main() {
    testing::receiver::properties(&UpperHalf::default());
    println!("every property holds");

    let mut tracker = LossTracker::rtp(UpperHalf::default());
    for (sequence, delay_ms) in [
        (1, 40),
        (2, 90),
        (3, 41),
        (5, 42),
        (6, 88),
        (8, 89),
        (9, 40),
    ] {
        let sent = Time::from_nanos(sequence * 20_000_000);
        let received = sent + Duration::from_millis(delay_ms);
        let arrival = Arrival::new(sequence, sent, received, 200);
        tracker.on_packet(&arrival, |loss| {
            println!("{} lost: {:?}", loss.first, loss.cause);
        });
    }
}
