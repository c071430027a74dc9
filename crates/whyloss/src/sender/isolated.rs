//! Isolated losses: a loss is congestion only if the share of lost packets around it is high.
//!
//! This is the filter of picoquic's loss test. Its BBR and its delay-based CUBIC react to a loss
//! only if the test confirms it. The same is proposed for its CUBIC (`private-octopus/picoquic`
//! pull request 1222, 2021). On a lossy satellite link, this shortened a download from 2,000 s to
//! 11 s.
//!
//! ```text
//! at each lost packet, d packets after the last one that was lost:
//!             p ← (1 − g)^min(d, scope)·p,   then   p ← p + g·(1 − p)           p = 0 at first;  g = 1/16, scope = 32
//! congestion  ⇔  p > threshold, or the timer expired                             threshold = 0.15
//! ```
//!
//! The third of consecutive losses is therefore congestion (0.0625, 0.117, 0.166). Losses at least
//! 8 packets apart never are: in the long run, p = g/(1 − (1 − g)^(d+1)).
//!
//! Departures:
//! - picoquic's filter sees every lost packet and may cut at any of them. A classifier judges only
//!   the first one of a loss event. More losses, which partial acknowledgements reveal (RFC 6582
//!   §1), count towards the next event. Several losses revealed by one acknowledgement count as
//!   one.
//! - picoquic numbers packets; here they are offsets in full segments, so a retransmission keeps
//!   its number. A loss before the last one counts as one packet after it.
//! - Limit, as for fqRTT: with QUIC events as in [`crate::event`], each acknowledgement of a
//!   recovery looks partial. An adapter must hold the edge at the first loss until the recovery
//!   ends or a second packet is lost.

use super::SenderClassifier;
use crate::Cause;
use crate::event::{AckEvent, LossEvent};

/// Calls a loss congestion only if the recent share of lost packets is high.
#[derive(Clone, Debug, PartialEq)]
pub struct Isolated {
    threshold: f64,
    /// The gain g of the mean.
    gain: f64,
    /// The share p of lost packets, in [0, 1].
    share: f64,
    /// The offset of the last packet that was lost.
    last: Option<u64>,
    /// The offset after the last byte in flight.
    sent: u64,
    /// The offset at which the recovery ends.
    recover: Option<u64>,
}

impl Isolated {
    /// The share of lost packets above which a loss is congestion.
    pub const THRESHOLD: f64 = 0.15;
    /// The gain of the moving share of lost packets.
    pub const GAIN: f64 = 0.0625;
    /// The maximum number of packets between two losses that the share counts.
    pub const SCOPE: u64 = 32;

    /// Creates a filter with this threshold and gain.
    pub fn new(threshold: f64, gain: f64) -> Self {
        Self {
            threshold,
            gain,
            share: 0.0,
            last: None,
            sent: 0,
            recover: None,
        }
    }

    /// Returns p, the share of lost packets at the last loss, in [0, 1].
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Records the loss of the packet at this offset.
    fn lost(&mut self, offset: u64, segment_size: u32) {
        let segments = |last: u64| offset.saturating_sub(last) / u64::from(segment_size.max(1));
        let apart = self.last.map_or(Self::SCOPE, segments);
        for _ in 0..apart.clamp(1, Self::SCOPE) {
            self.share *= 1.0 - self.gain;
        }
        self.share += self.gain * (1.0 - self.share);
        self.last = Some(self.last.map_or(offset, |last| last.max(offset)));
    }
}

impl Default for Isolated {
    /// Uses picoquic's values, 0.15 and 1/16.
    fn default() -> Self {
        Self::new(Self::THRESHOLD, Self::GAIN)
    }
}

impl SenderClassifier for Isolated {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.sent = ack.acknowledged.saturating_add(ack.in_flight);
        let Some(recover) = self.recover else {
            return;
        };
        if ack.acknowledged >= recover {
            self.recover = None;
        } else if ack.in_recovery && ack.acked > 0 {
            self.lost(ack.acknowledged, ack.segment_size);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        self.lost(loss.first, loss.segment_size);
        let end = loss.first.saturating_add(loss.in_flight).max(self.sent);
        self.recover = Some(end);
        Cause::congestion_if(loss.detection.is_timeout() || self.share > self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, timeout};
    use super::*;
    use Cause::{Congestion, Wireless};

    /// Reports the loss of packet number `number`. Returns its cause and the share.
    fn lose(filter: &mut Isolated, number: u64) -> (Cause, f64) {
        let cause = filter.on_loss(&loss(40_000).first(number * 1000).in_flight(1000));
        (cause, filter.share())
    }

    fn near(found: (Cause, f64), cause: Cause, share: f64) {
        assert!(
            found.0 == cause && (found.1 - share).abs() < 1e-6,
            "{found:?} {share}"
        );
    }

    /// The share is 1/16 at first. Each loss keeps 15/16 of it and adds 1/16 of the remainder to 1.
    #[test]
    fn the_third_in_a_row_by_hand() {
        let mut filter = Isolated::default();
        near(lose(&mut filter, 100), Wireless, 0.0625);
        near(lose(&mut filter, 101), Wireless, 0.117_431_6);
        near(lose(&mut filter, 102), Congestion, 0.165_711_4);
        // Ten packets later, (15/16)^10 = 0.5244604 of the share remains.
        near(lose(&mut filter, 112), Wireless, 0.143_977_3);
        // At a larger distance, only 32 packets count: (15/16)^32 = 0.1268004.
        near(lose(&mut filter, 9_000), Wireless, 0.079_613_8);
    }

    /// p = g/(1 − (1 − g)^(d+1)) is above 0.15 for d = 7 and below for d = 8.
    #[test]
    fn regular_losses_by_the_closed_form() {
        for (apart, cause) in [
            (5, Congestion),
            (7, Congestion),
            (8, Wireless),
            (20, Wireless),
        ] {
            let mut filter = Isolated::default();
            let mut last = (Congestion, 0.0);
            for index in 0..200 {
                last = lose(&mut filter, index * apart);
            }
            let share = 0.0625 / (1.0 - libm::pow(0.9375, apart as f64 + 1.0));
            near(last, cause, share);
        }
    }

    #[test]
    fn partial_acknowledgements_show_further_losses() {
        let mut filter = Isolated::default();
        assert_eq!(
            filter.on_loss(&loss(10_000).first(1000).in_flight(10_000)),
            Wireless
        );
        for edge in [2000, 3000] {
            let ack = ack(0, 10_000).acknowledged(edge).in_recovery(true);
            filter.on_ack(&ack);
        }
        near((Congestion, filter.share()), Congestion, 0.165_711_4);
        // The whole window is acknowledged, so the recovery is over and no acknowledgement is
        // partial.
        filter.on_ack(&ack(0, 10_000).acknowledged(11_000).in_recovery(true));
        let before = filter.share();
        filter.on_ack(&ack(0, 10_000).acknowledged(12_000));
        near((Congestion, filter.share()), Congestion, before);
    }

    #[test]
    fn a_timeout_is_congestion() {
        assert_eq!(Isolated::default().on_loss(&timeout(10_000)), Congestion);
    }
}
