//! The bytes that fill the path, Bw·RTT_min, for controllers with a bandwidth estimate.

use crate::bandwidth::{AnyEstimator, BandwidthEstimator, EstimatorSpec};
use crate::event::AckEvent;
use crate::{Duration, Rate};

/// A bandwidth estimate and the smallest round-trip time.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    estimator: AnyEstimator,
    /// The last acknowledgement, if it may have revealed a loss. The estimator receives it with the
    /// next event, unless the loss is wholly spared.
    pending: Option<AckEvent>,
    /// RTT_min; `None` before the first round-trip time, and after a reset.
    min_rtt: Option<Duration>,
    segment: u64,
}

impl Pipe {
    pub(super) fn new(estimator: EstimatorSpec, segment_size: u32) -> Self {
        Self {
            estimator: estimator.build(segment_size),
            pending: None,
            min_rtt: None,
            segment: u64::from(segment_size.max(1)),
        }
    }

    /// Updates the estimates with an acknowledgement, whose round-trip time counts as `rtt`.
    #[inline]
    pub(super) fn on_ack(&mut self, ack: &AckEvent, rtt: Option<Duration>) {
        if let Some(rtt) = rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        self.settle();
        // An acknowledgement that only advances the left edge reveals no loss.
        if ack.acked == 0 || ack.sacked > 0 {
            self.pending = Some(*ack);
        } else {
            self.estimator.on_ack(ack);
        }
    }

    /// Passes the last acknowledgement to the estimator, even if it revealed a loss.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(ack) = self.pending.take() {
            self.estimator.on_ack(&ack);
        }
    }

    /// Discards the last acknowledgement if it revealed a loss, so that the estimate stays.
    pub(super) fn forget_last(&mut self) {
        self.pending = None;
    }

    /// Sets the segment size, in bytes.
    pub(super) fn resize(&mut self, segment_size: u32) {
        self.segment = u64::from(segment_size.max(1));
        self.estimator.on_mtu_change(segment_size);
    }

    /// Forgets RTT_min; the next samples measure it again.
    pub(super) fn forget_min_rtt(&mut self) {
        self.min_rtt = None;
    }

    /// Returns the estimated bandwidth, Bw.
    pub(super) fn bandwidth(&self) -> Option<Rate> {
        self.estimator.estimate()
    }

    #[cfg(test)]
    pub(super) fn estimator(&self) -> &AnyEstimator {
        &self.estimator
    }

    /// Returns Bw·RTT_min in bytes, at least two segments; `None` while either is unknown.
    #[inline]
    pub(super) fn bytes(&self) -> Option<u64> {
        let (rate, rtt) = (self.bandwidth()?, self.min_rtt?);
        let bytes = rate.as_bps() as f64 * rtt.as_nanos() as f64 / 8e9;
        Some((bytes as u64).max(2 * self.segment))
    }
}
