//! Short episodes: a loss is wireless if it is repaired within two round trips.
//!
//! The rule was proposed for quiche's Reno and not merged (`cloudflare/quiche` pull request 308,
//! 2019). The proposal reports a gain of 40 % at 1 % loss.
//!
//! ```text
//! at the loss            congestion: the window shrinks
//! the recovery ends      d = now − when the loss was found
//!   d < rounds·minRTT    wireless after all: window and threshold become what they were before the loss;  rounds = 2
//!   else                 congestion
//! a timeout              congestion
//! ```
//!
//! Recovery from several packets lost at a full queue takes several round trips, or a long one.
//! Recovery from one packet takes one round trip, whatever the cause. The rule therefore also calls
//! a queue's loss wireless if the queue overflows by one packet and adds at most one round trip.
//!
//! The verdict is final at the end of the recovery, in [`SenderClassifier::on_recovery_end`]. TCP
//! in the simulator and `connection` (QUIC) call it. For a transport that does not, every loss is
//! congestion.
//!
//! Departure: in QUIC, a recovery ends when a packet sent after its start is acknowledged. In TCP,
//! it ends when all data in flight at its start is acknowledged. A single loss takes one round trip
//! in both.

use super::SenderClassifier;
use crate::event::{AckEvent, LossEvent};
use crate::{Cause, Duration, Time};

/// Calls a loss wireless if its recovery ends within a few round trips.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    rounds: f64,
    /// The smallest round-trip time, minRTT.
    min: Duration,
    /// When the current loss was detected.
    began: Option<Time>,
}

impl Episode {
    /// The longest duration of a short episode, in round trips.
    pub const ROUNDS: f64 = 2.0;

    /// Creates the classifier with this limit, in round trips.
    pub fn new(rounds: f64) -> Self {
        Self {
            rounds,
            min: Duration::MAX,
            began: None,
        }
    }
}

impl Default for Episode {
    /// Uses quiche's limit of two round trips.
    fn default() -> Self {
        Self::new(Self::ROUNDS)
    }
}

impl SenderClassifier for Episode {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.min = self.min.min(rtt);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        self.began = (!loss.detection.is_timeout()).then_some(loss.now);
        Cause::Congestion
    }

    fn revises(&self) -> bool {
        true
    }

    fn on_recovery_end(&mut self, now: Time) -> Cause {
        let short = self.began.take().is_some_and(|began| {
            let took = (now - began).as_nanos() as f64;
            self.min < Duration::MAX && took < self.rounds * self.min.as_nanos() as f64
        });
        Cause::wireless_if(short)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, timeout};
    use super::*;
    use Cause::{Congestion, Wireless};

    const MS: u64 = 1_000_000;

    /// Returns the verdict on a loss that is repaired after `after` ms, with a smallest round trip
    /// of 100 ms.
    fn repaired(after: u64) -> Cause {
        let mut rule = Episode::default();
        rule.on_ack(&ack(100 * MS as i64, 10_000));
        rule.on_ack(&ack(150 * MS as i64, 10_000));
        assert_eq!(rule.on_loss(&loss(10_000)), Congestion);
        rule.on_recovery_end(Time::from_nanos(after * MS))
    }

    #[test]
    fn short_is_below_two_round_trips() {
        assert_eq!(repaired(110), Wireless);
        assert_eq!(repaired(199), Wireless);
        assert_eq!(repaired(200), Congestion);
    }

    #[test]
    fn without_a_round_trip_or_after_a_timeout_nothing_is_forgiven() {
        let mut rule = Episode::default();
        rule.on_loss(&loss(10_000));
        assert_eq!(rule.on_recovery_end(Time::ZERO), Congestion);
        rule.on_ack(&ack(100 * MS as i64, 10_000));
        assert_eq!(rule.on_loss(&timeout(10_000)), Congestion);
        assert_eq!(rule.on_recovery_end(Time::ZERO), Congestion);
    }
}
