//! BBR, version 3: a window and a pacing rate from a model of the path (draft-ietf-ccwg-bbr-06,
//! July 2026, read in full).
//!
//! ```text
//! model      max_bw = largest delivery rate of two cycles of ProbeBW,   min_rtt = smallest RTT of 10 s
//!            bw = min(max_bw, bw_shortterm),   BDP = bw·min_rtt
//!            inflight_longterm: data in flight when probing lost more than 2 %
//!            a round with losses, not probing: bw_shortterm = max(bw_latest, 0.7·bw_shortterm), inflight likewise
//! pacing     0.99·gain·bw
//! window     gain·BDP + extra_acked, within inflight_longterm and inflight_shortterm, at least 4 segments
//!
//! state      pacing  window   until
//! Startup     2.77     2      three rounds without 25 % more bandwidth, or a round with 6 ranges and 2 % lost
//! Drain       0.5      2      no more than a BDP in flight, or three rounds
//! ProbeBW                     (ProbeRTT interrupts any phase)
//!   Down      0.9      2      no more than a BDP, and 0.85·inflight_longterm, in flight
//!   Cruise    1        2      2 to 3 s, or as many rounds as a BDP has segments (at most 63), since Down began
//!   Refill    1        2      a round
//!   Up        1.25     2.25   no more bandwidth, or 2 % lost, or inflight_longterm reached after a loss
//! ProbeRTT    1        0.5    200 ms and a round with half a BDP in flight; every 5 s without a new smallest RTT
//! ```
//!
//! Names are the draft's. `probe.rs` has ProbeBW and ProbeRTT. `model.rs` has the path's model, the
//! window and the pacing rate. `filters.rs` has the filters of bandwidth and round trip.
//!
//! # Departures
//!
//! - No randomness: a hash of the connection's delivered bytes, round count and smallest round-trip
//!   time replaces the random wait before probing. Connections that differ in any of these wait
//!   differently; a repeated run waits equally long.
//! - A restart from idle is detected at the first acknowledgement after it instead of before the
//!   first packet. The old state therefore paces the first flight (§5.4). The pacing rate starts at
//!   the initial window over 1 ms, and restarts at the first measured round trip, as §5.6.2 says
//!   and its pseudocode leaves open.
//! - An acknowledgement without a reliable delivery rate does not count towards a full pipe.
//! - Undoing spurious losses (§5.5.11) is not implemented, since no transport here reports them.
//!   ECN is not implemented; the draft has none either. The offload budget is TCP's, three quanta
//!   (QUIC: one).
//!
//! # Losses called wireless
//!
//! The draft counts every loss. The transport does not report packets of a wireless loss event,
//! unless the policy treats it as congestion
//! ([`UnderPolicy::spares_losses`](super::UnderPolicy::spares_losses)). Packets that are not
//! reported count neither in the loss rate nor in rounds with losses. A policy that sets the window
//! has no lasting effect, since the model sets it again at the next acknowledgement.

mod filters;
mod model;
mod probe;
#[cfg(test)]
pub(super) mod tests;

use self::filters::{MaxBandwidth, MinRtt};
use self::probe::Probe;
use super::windowed::WindowedMax;
use super::{Controller, Start};
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::event::{AckEvent, LossEvent};
use crate::rate::share;
use crate::{Duration, Rate, Time};

/// The value of an unset bound in bytes.
const UNBOUNDED: u64 = u64::MAX;
/// The value of an unset bound in bit/s.
const UNBOUNDED_RATE: Rate = Rate::from_bps(u64::MAX);
/// The smallest window, in segments (BBR.MinPipeCwnd).
const MIN_PIPE: u64 = 4;

/// The state of the algorithm (BBR.state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    /// Drains the queue that Startup built. The number is the round in which Drain began
    /// (BBR.drain_start_round).
    Drain(u32),
    ProbeBw(Phase),
    ProbeRtt,
}

/// The phases of ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

impl State {
    /// Returns the factor of the pacing rate, in percent (BBR.pacing_gain).
    fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => 277,
            Self::Drain(_) => 50,
            Self::ProbeBw(Phase::Down) => 90,
            Self::ProbeBw(Phase::Cruise | Phase::Refill) | Self::ProbeRtt => 100,
            Self::ProbeBw(Phase::Up) => 125,
        }
    }

    /// Returns the factor of the window, in percent (BBR.cwnd_gain).
    fn window_gain(self) -> u64 {
        match self {
            Self::ProbeBw(Phase::Up) => 225,
            Self::ProbeRtt => 50,
            _ => 200,
        }
    }

    /// Returns whether the sender currently probes for more bandwidth (the draft's IsProbingBW).
    fn is_probing(self) -> bool {
        matches!(
            self,
            Self::Startup | Self::ProbeBw(Phase::Refill | Phase::Up)
        )
    }
}

/// BBR version 3 (draft-ietf-ccwg-bbr-06): a window and a pacing rate from a model of the path.
///
/// The model is the largest delivery rate `bw` of two probing cycles and the smallest RTT of 10 s.
/// The pacing rate is 0.99·gain·bw, and the window gain·bw·RTT_min plus the aggregation of
/// acknowledgements, limited by bounds from earlier losses. Needs rate samples and lost packets.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, as in the draft"
)]
pub struct Bbr {
    segment_size: u32,
    state: State,
    // Values that the transport reads.
    cwnd: u64,
    pacing_rate: Rate,
    // Values to which BBR may return.
    initial_window: u64,
    prior_cwnd: u64,
    in_recovery: bool,
    /// The offset whose acknowledgement ends the recovery after a timeout.
    recovery_end: u64,
    /// The offset after the last byte known to have been sent.
    sent: u64,
    // The data rate model.
    max_bw: MaxBandwidth,
    bw_shortterm: Rate,
    bw: Rate,
    bw_latest: Rate,
    // The data volume model.
    min_rtt: MinRtt,
    inflight_longterm: u64,
    inflight_shortterm: u64,
    inflight_latest: u64,
    extra_acked: WindowedMax,
    extra_acked_since: Time,
    extra_acked_delivered: u64,
    // The counting of rounds.
    round_count: u32,
    next_round_delivered: u64,
    loss_round_delivered: u64,
    round_start: bool,
    loss_round_start: bool,
    is_loss_in_round: bool,
    loss_ranges_in_round: u8,
    // The detection of a full pipe.
    full_bw: Rate,
    full_bw_count: u8,
    full_bw_now: bool,
    full_bw_reached: bool,
    /// Whether a sample has arrived.
    started: bool,
    probe: Probe,
}

impl Bbr {
    /// Creates BBR in Startup.
    pub fn new(start: &Start) -> Self {
        let segment_size = start.segment_size.max(1);
        let initial_window = start.initial_window.max(u64::from(segment_size));
        let mut bbr = Self {
            segment_size,
            state: State::Startup,
            cwnd: initial_window,
            pacing_rate: Rate::default(),
            initial_window,
            prior_cwnd: 0,
            in_recovery: false,
            recovery_end: UNBOUNDED,
            sent: 0,
            max_bw: MaxBandwidth::default(),
            bw_shortterm: UNBOUNDED_RATE,
            bw: Rate::default(),
            bw_latest: Rate::default(),
            min_rtt: MinRtt::new(),
            inflight_longterm: UNBOUNDED,
            inflight_shortterm: UNBOUNDED,
            inflight_latest: 0,
            extra_acked: WindowedMax::default(),
            extra_acked_since: Time::ZERO,
            extra_acked_delivered: 0,
            round_count: 0,
            next_round_delivered: 0,
            loss_round_delivered: 0,
            round_start: false,
            loss_round_start: false,
            is_loss_in_round: false,
            loss_ranges_in_round: 0,
            full_bw: Rate::default(),
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            started: false,
            probe: Probe::new(),
        };
        bbr.init_pacing_rate(Duration::from_millis(1));
        bbr
    }

    fn segment(&self) -> u64 {
        u64::from(self.segment_size)
    }

    /// Returns the smallest window, in bytes (BBR.MinPipeCwnd).
    fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.segment()
    }

    /// Initialises the model before the first sample.
    fn start(&mut self, sample: &RateSample) {
        self.started = true;
        self.min_rtt.start(sample.now);
        self.extra_acked_since = sample.now;
    }

    /// Starts a round (the draft's StartRound). It ends when a packet sent after now is
    /// acknowledged.
    fn start_round(&mut self, total_delivered: u64) {
        self.next_round_delivered = total_delivered;
    }

    /// Leaves Startup if the bandwidth has stopped growing or losses are high (the draft's
    /// CheckStartupDone).
    fn check_startup_done(&mut self, sample: &RateSample) {
        if self.state == State::Startup && self.is_startup_loss_high(sample) {
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp(self.bw, 100).max(self.inflight_latest);
        }
        if self.loss_round_start {
            self.loss_ranges_in_round = 0;
        }
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain(self.round_count);
        }
    }

    /// Returns whether losses end Startup, by the criteria of §5.3.1.3. True only at the end of a
    /// round that began with a loss.
    fn is_startup_loss_high(&self, sample: &RateSample) -> bool {
        /// The number of ranges of lost packets in a round that ends Startup
        /// (BBRStartupFullLossCnt).
        const RANGES: u8 = 6;
        self.loss_round_start
            && self.in_recovery
            && self.loss_ranges_in_round >= RANGES
            && is_inflight_too_high(sample.lost, sample.sent_in_flight)
    }

    /// Leaves Drain if the queue is empty, or after three rounds (the draft's CheckDrainDone).
    fn check_drain_done(&mut self, sample: &RateSample) {
        if let State::Drain(since) = self.state
            && (sample.in_flight <= self.inflight(self.bw, 100)
                || self.round_count > since.saturating_add(3))
        {
            self.start_probe_bw_down(sample.now, sample.total_delivered);
        }
    }

    /// Updates model, state, pacing rate and window with a sample (the draft's UpdateOnACK).
    fn update(&mut self, sample: &RateSample) {
        self.note_restart(sample);
        // The draft's UpdateModelAndState.
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample);
        self.update_ack_aggregation(sample);
        self.check_full_bw_reached(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample);
        self.update_probe_bw(sample);
        let had_rtt = self.min_rtt.get().is_some();
        let probe_rtt_due = self.min_rtt.update(sample);
        self.check_probe_rtt(sample, probe_rtt_due);
        self.advance_latest_delivery_signals(sample);
        self.bw = self.max_bw.get().min(self.bw_shortterm);
        // The draft's UpdateControlParameters.
        if let (false, Some(rtt)) = (had_rtt, self.min_rtt.get()) {
            self.init_pacing_rate(rtt);
        }
        self.set_pacing_rate();
        self.set_window(sample);
    }

    /// Saves the window before a recovery or ProbeRTT (the draft's SaveCwnd).
    fn save_cwnd(&mut self) {
        let kept = if self.in_recovery || self.state == State::ProbeRtt {
            self.prior_cwnd
        } else {
            0
        };
        self.prior_cwnd = kept.max(self.cwnd);
    }

    /// Restores the saved window, unless the window is larger (the draft's RestoreCwnd).
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn end_recovery(&mut self) {
        self.in_recovery = false;
        self.recovery_end = UNBOUNDED;
        self.restore_cwnd();
        self.bound_window();
    }
}

impl Controller for Bbr {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        let sent = ack.acknowledged.saturating_add(ack.in_flight);
        self.sent = self.sent.max(sent);
        if ack.acknowledged >= self.recovery_end {
            self.end_recovery();
        }
    }

    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn on_rate_sample(&mut self, sample: &RateSample) {
        if !self.started {
            self.start(sample);
        }
        let app_limited = self.is_app_limited(sample.app_limited, sample.prior_delivered);
        if app_limited == sample.app_limited {
            self.update(sample);
        } else {
            // Copying the sample is rare, because the flag changes only around ProbeRTT.
            self.update(&RateSample {
                app_limited,
                ..*sample
            });
        }
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.note_loss(packet);
        if self.probe.is_sample && is_inflight_too_high(packet.lost, packet.sent_in_flight) {
            self.handle_inflight_too_high(packet);
        }
    }

    fn on_loss(&mut self, _loss: &LossEvent) {
        self.save_cwnd();
        self.in_recovery = true;
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        // A spared loss has saved no window.
        if self.in_recovery {
            self.end_recovery();
        }
        self.cwnd = self.cwnd.min(at_most).max(self.segment());
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        self.save_cwnd();
        self.in_recovery = true;
        // FlightSize excludes the bytes that were acknowledged selectively.
        let under_way = loss.first.saturating_add(loss.in_flight);
        self.recovery_end = self.sent.max(under_way);
        // The draft's C.inflight is 0 here, as everything in flight counts as lost. So the window is
        // one segment.
        self.cwnd = self.segment();
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.segment_size = segment_size;
        self.cwnd = self.cwnd.max(self.segment());
    }

    fn set_window(&mut self, cwnd: u64, _ssthresh: u64) {
        self.cwnd = cwnd.max(self.segment());
    }

    #[inline]
    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate)
    }

    fn bandwidth(&self) -> Option<Rate> {
        Some(self.max_bw.get()).filter(|&rate| rate > Rate::default())
    }
}

/// Returns whether more than 2 % (BBR.LossThresh) of the bytes in flight were lost (the draft's
/// IsInflightTooHigh).
fn is_inflight_too_high(lost: u64, sent_in_flight: u64) -> bool {
    u128::from(lost) * 50 > u128::from(sent_in_flight)
}

/// Returns `percent` percent of `amount`.
fn percent(amount: u64, percent: u64) -> u64 {
    share(amount, percent, 100)
}

/// Returns the bytes that `rate` delivers in `span`.
fn delivered_in(rate: Rate, span: Duration) -> u64 {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(0);
    share(rate.as_bps(), nanos, 8_000_000_000)
}
