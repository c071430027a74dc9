//! The model of the path, and the window and pacing rate that follow from it
//! (draft-ietf-ccwg-bbr-06 §5.5 and §5.6).

use super::{Bbr, Phase, State, UNBOUNDED, UNBOUNDED_RATE, delivered_in, percent};
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::congestion::send_quantum;
use crate::rate::share;
use crate::{Duration, Rate};

/// The share of a bound that remains after a loss, in percent (BBR.Beta).
const BETA: u64 = 70;
/// The share that stays free below the long-term bound, in percent (BBR.Headroom).
const HEADROOM: u64 = 15;
/// The length of the aggregation filter, in rounds (BBR.ExtraAckedFilterLen).
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// The factor of the pacing rate in percent: 100 − BBR.PacingMarginPercent.
const PACING_MARGIN: u64 = 99;

impl Bbr {
    /// Updates the highest rate and delivery of the round with a sample and detects the end of the
    /// loss round (the draft's UpdateLatestDeliverySignals).
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &RateSample) {
        let rate = sample.delivery_rate.unwrap_or_default();
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = sample.total_delivered;
        }
    }

    /// At the start of a loss round, restarts rate and delivery from the sample (the draft's
    /// AdvanceLatestDeliverySignals).
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &RateSample) {
        if self.loss_round_start {
            self.bw_latest = sample.delivery_rate.unwrap_or_default();
            self.inflight_latest = sample.delivered;
        }
    }

    /// Updates the round and the bandwidth filter. At the end of a round with losses, lowers the
    /// short-term bounds unless the sender probes (the draft's UpdateCongestionSignals).
    pub(super) fn update_congestion_signals(&mut self, sample: &RateSample) {
        self.update_round(sample);
        if let Some(rate) = sample.delivery_rate
            && (rate >= self.max_bw.get() || !sample.app_limited)
        {
            self.max_bw.update(rate);
        }
        if self.loss_round_start {
            if self.is_loss_in_round && !self.state.is_probing() {
                self.lower_bounds();
            }
            self.is_loss_in_round = false;
        }
    }

    fn update_round(&mut self, sample: &RateSample) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(sample.total_delivered);
            self.round_count = self.round_count.saturating_add(1);
            self.probe.rounds = self.probe.rounds.saturating_add(1);
        }
    }

    /// Lowers the short-term bounds after a round with losses that did not probe (the draft's
    /// AdaptLowerBoundsFromCongestion).
    fn lower_bounds(&mut self) {
        if self.bw_shortterm == UNBOUNDED_RATE {
            self.bw_shortterm = self.max_bw.get();
        }
        if self.inflight_shortterm == UNBOUNDED {
            self.inflight_shortterm = self.cwnd;
        }
        let slower = Rate::from_bps(percent(self.bw_shortterm.as_bps(), BETA));
        self.bw_shortterm = self.bw_latest.max(slower);
        self.inflight_shortterm = self
            .inflight_latest
            .max(percent(self.inflight_shortterm, BETA));
    }

    /// Removes the short-term bounds (the draft's ResetShortTermModel).
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = UNBOUNDED_RATE;
        self.inflight_shortterm = UNBOUNDED;
    }

    /// Forgets the losses, rate and delivery of the round (the draft's ResetCongestionSignals).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = Rate::default();
        self.inflight_latest = 0;
    }

    /// Records a lost packet; the first one starts a loss round (the draft's NoteLoss).
    pub(super) fn note_loss(&mut self, packet: &LostPacket) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = packet.total_delivered;
            self.is_loss_in_round = true;
        }
        if packet.begins_range {
            self.loss_ranges_in_round = self.loss_ranges_in_round.saturating_add(1);
        }
    }

    /// Sets the long-term bound and ends the probe, because a packet of the probe shows a loss rate
    /// that is too high (the draft's HandleInflightTooHigh).
    pub(super) fn handle_inflight_too_high(&mut self, packet: &LostPacket) {
        self.probe.too_high = true;
        self.probe.is_sample = false;
        if !self.is_app_limited(packet.app_limited, packet.prior_delivered) {
            self.inflight_longterm =
                inflight_at_loss(packet).max(percent(self.target_inflight(), BETA));
        }
        if self.state == State::ProbeBw(Phase::Up) {
            self.start_probe_bw_down(packet.now, packet.total_delivered);
        }
    }

    /// Updates extra_acked, the bytes acknowledged beyond what the bandwidth explains (the draft's
    /// UpdateACKAggregation).
    pub(super) fn update_ack_aggregation(&mut self, sample: &RateSample) {
        let mut expected = delivered_in(self.bw, sample.now - self.extra_acked_since);
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_since = sample.now;
            expected = 0;
        }
        self.extra_acked_delivered = self
            .extra_acked_delivered
            .saturating_add(sample.newly_acked);
        let extra = (self.extra_acked_delivered - expected).min(self.cwnd);
        let rounds = if self.full_bw_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        self.extra_acked
            .update(extra, u64::from(self.round_count), rounds);
    }

    /// Starts the search for a plateau of the bandwidth. Later rates are compared with `rate` (the
    /// draft's ResetFullBW).
    pub(super) fn reset_full_bw(&mut self, rate: Rate) {
        self.full_bw = rate;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// Notes that the bandwidth has reached a plateau if three rounds raised it by less than a
    /// quarter (the draft's CheckFullBWReached).
    pub(super) fn check_full_bw_reached(&mut self, sample: &RateSample) {
        let Some(rate) = sample.delivery_rate else {
            return;
        };
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        if rate.as_bps() >= percent(self.full_bw.as_bps(), 125) {
            self.reset_full_bw(rate);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// Returns `gain` percent of the bandwidth-delay product, in bytes (the draft's BDPMultiple).
    pub(super) fn bdp(&self, bw: Rate, gain: u64) -> u64 {
        self.min_rtt.get().map_or(self.initial_window, |rtt| {
            percent(delivered_in(bw, rtt), gain)
        })
    }

    /// Returns `inflight`, but at least three send quanta and the smallest window; two segments
    /// more in Up. All in bytes (the draft's QuantizationBudget).
    fn quantized(&self, inflight: u64) -> u64 {
        let budget = 3 * send_quantum(self.pacing_rate, self.segment_size);
        let inflight = inflight.max(budget).max(self.min_pipe());
        if self.state == State::ProbeBw(Phase::Up) {
            inflight.saturating_add(2 * self.segment())
        } else {
            inflight
        }
    }

    /// Returns the bytes to keep in flight at `gain` percent of the bandwidth-delay product (the
    /// draft's Inflight).
    pub(super) fn inflight(&self, bw: Rate, gain: u64) -> u64 {
        self.quantized(self.bdp(bw, gain))
    }

    /// Returns the bandwidth-delay product or the window, whichever is smaller, in bytes (the
    /// draft's TargetInflight).
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(self.bw, 100).min(self.cwnd)
    }

    /// Returns the long-term bound less 15 % for other flows, in bytes (the draft's
    /// InflightWithHeadroom).
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = percent(self.inflight_longterm, HEADROOM).max(self.segment());
        self.inflight_longterm
            .saturating_sub(headroom)
            .max(self.min_pipe())
    }

    /// Sets the first pacing rate from the initial window and the first round-trip time (the
    /// draft's InitPacingRate).
    pub(super) fn init_pacing_rate(&mut self, rtt: Duration) {
        let nanos = rtt.as_nanos().max(1).unsigned_abs();
        let bps = share(self.initial_window, 8_000_000_000, nanos);
        self.pacing_rate = Rate::from_bps(percent(bps, State::Startup.pacing_gain()).max(1));
    }

    /// Sets the pacing rate for the current state (the draft's SetPacingRate).
    pub(super) fn set_pacing_rate(&mut self) {
        self.pace(self.state.pacing_gain());
    }

    /// Sets the pacing rate to `gain` percent of the bandwidth (the draft's SetPacingRateWithGain).
    /// Never sets a rate of zero, which would stop the sender forever.
    pub(super) fn pace(&mut self, gain: u64) {
        let rate = Rate::from_bps(percent(percent(self.bw.as_bps(), gain), PACING_MARGIN));
        if rate > self.pacing_rate || (self.full_bw_reached && rate > Rate::default()) {
            self.pacing_rate = rate;
        }
    }

    /// Sets the window from the model and the sample (the draft's SetCwnd).
    pub(super) fn set_window(&mut self, sample: &RateSample) {
        let wanted = self.bdp(self.bw, self.state.window_gain());
        let max_inflight = self.quantized(wanted.saturating_add(self.extra_acked.get()));
        let grown = self.cwnd.saturating_add(sample.newly_acked);
        if self.full_bw_reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || sample.total_delivered < self.initial_window {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        self.bound_window();
    }

    /// Limits the window to the bounds of the current state (the draft's BoundCwndForModel).
    pub(super) fn bound_window(&mut self) {
        let cap = match self.state {
            State::ProbeBw(Phase::Cruise) | State::ProbeRtt => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.inflight_longterm,
            State::Startup | State::Drain(_) => UNBOUNDED,
        };
        let cap = cap.min(self.inflight_shortterm).max(self.min_pipe());
        self.cwnd = self.cwnd.min(cap);
    }
}

/// InflightAtLoss: the data in flight when losses crossed the threshold. This may happen within
/// the packet.
///
/// ```text
/// prefix = (LossThresh·inflight_prev − lost_prev)/(1 − LossThresh)
/// ```
fn inflight_at_loss(packet: &LostPacket) -> u64 {
    let size = u64::from(packet.size);
    let before = i128::from(packet.sent_in_flight.saturating_sub(size));
    let lost_before = i128::from(packet.lost.saturating_sub(size));
    let prefix = (2 * before - 100 * lost_before) / 98;
    u64::try_from(before + prefix).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::lost;
    use super::*;

    #[test]
    fn losses_cross_the_threshold_within_a_packet() {
        let at = |lost_bytes, sent_in_flight| {
            inflight_at_loss(&LostPacket {
                lost: lost_bytes,
                sent_in_flight,
                ..lost()
            })
        };
        // The first of 40: 2 % of 39 000 are 780, and 780/0.98 = 795 more bytes may be lost; 795
        // are 2 % of 39 795.
        assert_eq!(at(1000, 40_000), 39_795);
        // The second of 101: 1000 were lost before, and 2000 would have been allowed, so 1020 more
        // fit.
        assert_eq!(at(2000, 101_000), 101_020);
        // The earlier losses already exceed the threshold.
        assert_eq!(at(4000, 50_000), 49_000 - 2061);
    }
}
