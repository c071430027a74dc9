//! ProbeBW and ProbeRTT: when to send faster, slower or almost nothing (draft-ietf-ccwg-bbr-06
//! §5.3.3 and §5.3.4).

use super::{Bbr, Phase, State, UNBOUNDED, is_inflight_too_high};
use crate::bandwidth::delivery_rate::RateSample;
use crate::{Duration, Time};

/// The length of ProbeRTT (BBR.ProbeRTTDuration).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// The longest wait between two probes, in rounds.
const MAX_ROUNDS: u64 = 63;

/// The relation of acknowledgements to the latest probe (BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The state of probing for bandwidth.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, as in the draft"
)]
pub(super) struct Probe {
    /// BBR.cycle_stamp, the start of the current phase.
    since: Time,
    /// BBR.bw_probe_wait, the time to wait before probing.
    wait: Duration,
    /// BBR.rounds_since_probe_up, the number of rounds counted towards the next probe.
    pub(super) rounds: u32,
    /// BBR.bw_probe_up_acked, the bytes acknowledged towards the next increase.
    up_acked: u64,
    /// BBR.probe_up_acked_per_inc, the bytes to acknowledge per segment of increase.
    up_acked_per_segment: u64,
    /// BBR.bw_probe_up_rounds, the number of rounds in Up.
    up_rounds: u8,
    phase: AckPhase,
    /// BBR.is_bw_probe_sample, whether the samples come from a probe of bandwidth.
    pub(super) is_sample: bool,
    /// BBR.prev_probe_too_high, whether the last probe lost too much.
    pub(super) too_high: bool,
    /// BBR.prev_probe_precautionary, whether the last probe stopped as a precaution.
    precautionary: bool,
    /// BBR.idle_restart, whether the sender restarts after an idle time.
    idle_restart: bool,
    rtt_round_done: bool,
    /// BBR.probe_rtt_done_stamp, the earliest end of ProbeRTT. It is [`Time::MAX`] until the bytes
    /// in flight have fallen to the target of ProbeRTT.
    rtt_done: Time,
    /// The delivered bytes at which packets of ProbeRTT begin. Their rate is limited only by this
    /// controller (MarkConnectionAppLimited).
    rtt_from: u64,
    /// The delivered bytes after which packets no longer belong to ProbeRTT.
    rtt_until: u64,
}

impl Probe {
    pub(super) fn new() -> Self {
        Self {
            since: Time::ZERO,
            wait: Duration::ZERO,
            rounds: 0,
            up_acked: 0,
            up_acked_per_segment: UNBOUNDED,
            up_rounds: 0,
            phase: AckPhase::Init,
            is_sample: false,
            too_high: false,
            precautionary: false,
            idle_restart: false,
            rtt_round_done: false,
            rtt_done: Time::MAX,
            rtt_from: UNBOUNDED,
            rtt_until: 0,
        }
    }
}

#[cfg(test)]
impl Probe {
    pub(super) fn wait(&self) -> Duration {
        self.wait
    }
}

impl Bbr {
    /// Returns whether the application or ProbeRTT limited a packet's delivery rate.
    pub(super) fn is_app_limited(&self, app_limited: bool, prior_delivered: u64) -> bool {
        app_limited || (self.probe.rtt_from..=self.probe.rtt_until).contains(&prior_delivered)
    }

    /// Handles a restart from idle with the first sample after it (the draft's
    /// HandleRestartFromIdle).
    pub(super) fn note_restart(&mut self, sample: &RateSample) {
        let Some(restarted) = sample.restarted else {
            return;
        };
        self.probe.idle_restart = true;
        self.extra_acked_since = self.extra_acked_since.max(restarted);
        match self.state {
            State::ProbeBw(_) => self.pace(100),
            State::ProbeRtt => self.check_probe_rtt_done(restarted, sample.total_delivered),
            _ => {}
        }
    }

    /// Starts the phase Down of ProbeBW (the draft's StartProbeBW_DOWN).
    pub(super) fn start_probe_bw_down(&mut self, now: Time, total_delivered: u64) {
        self.reset_congestion_signals();
        self.probe.up_acked_per_segment = UNBOUNDED;
        self.pick_probe_wait(total_delivered);
        self.probe.since = now;
        self.probe.phase = AckPhase::Stopping;
        self.start_round(total_delivered);
        self.state = State::ProbeBw(Phase::Down);
    }

    /// Starts the phase Refill of ProbeBW (the draft's StartProbeBW_REFILL).
    fn start_probe_bw_refill(&mut self, total_delivered: u64) {
        self.reset_short_term_model();
        self.probe.up_rounds = 0;
        self.probe.up_acked = 0;
        self.probe.precautionary = false;
        self.probe.phase = AckPhase::Refilling;
        self.start_round(total_delivered);
        self.state = State::ProbeBw(Phase::Refill);
    }

    /// Starts the phase Up of ProbeBW (the draft's StartProbeBW_UP).
    fn start_probe_bw_up(&mut self, sample: &RateSample) {
        self.probe.phase = AckPhase::Starting;
        self.start_round(sample.total_delivered);
        self.reset_full_bw(sample.delivery_rate.unwrap_or_default());
        self.state = State::ProbeBw(Phase::Up);
        self.raise_inflight_longterm_slope();
    }

    /// Draws the time until the next probe, from 2 to 3 seconds, and counts 0 or 1 rounds in
    /// advance (the draft's PickProbeWait).
    fn pick_probe_wait(&mut self, total_delivered: u64) {
        let min_rtt = self.min_rtt.get().unwrap_or_default();
        let drawn =
            mixed(total_delivered ^ mixed(min_rtt.as_nanos() as u64 ^ u64::from(self.round_count)));
        self.probe.rounds = (drawn >> 63) as u32;
        let fraction = ((drawn & 0xffff_ffff) * 1_000_000_000) >> 32;
        self.probe.wait = Duration::from_secs(2) + Duration::from_nanos(fraction as i64);
    }

    /// Starts the next phase of ProbeBW if it is due (the draft's UpdateProbeBWCyclePhase).
    pub(super) fn update_probe_bw(&mut self, sample: &RateSample) {
        if !self.full_bw_reached || self.adapt_long_term_model(sample) {
            return;
        }
        let State::ProbeBw(phase) = self.state else {
            return;
        };
        match phase {
            Phase::Down | Phase::Cruise => {
                if self.is_time_to_probe(sample.now) {
                    self.start_probe_bw_refill(sample.total_delivered);
                } else if phase == Phase::Down && self.is_time_to_cruise(sample.in_flight) {
                    self.state = State::ProbeBw(Phase::Cruise);
                }
            }
            Phase::Refill => {
                if self.round_start {
                    self.probe.is_sample = true;
                    self.start_probe_bw_up(sample);
                }
            }
            Phase::Up => {
                if self.is_time_to_go_down(sample) {
                    self.probe.too_high = false;
                    self.start_probe_bw_down(sample.now, sample.total_delivered);
                }
            }
        }
    }

    /// Returns whether the next probe is due (the draft's IsTimeToProbeBW), without starting it.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = (self.target_inflight() / self.segment()).min(MAX_ROUNDS);
        now > self.probe.since + self.probe.wait || u64::from(self.probe.rounds) >= reno_rounds
    }

    /// Returns whether the bytes in flight are low enough to end Down (the draft's IsTimeToCruise).
    fn is_time_to_cruise(&self, in_flight: u64) -> bool {
        in_flight <= self.inflight_with_headroom()
            && in_flight <= self.inflight(self.max_bw.get(), 100)
    }

    /// Returns whether Up should end: the bound was too high before, or the bandwidth has reached a
    /// plateau (the draft's IsTimeToGoDown).
    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        if self.probe.too_high && sample.in_flight >= self.inflight_longterm {
            self.probe.precautionary = true;
            return true;
        }
        if sample.window_limited && self.cwnd >= self.inflight_longterm {
            // The bandwidth is limited by inflight_longterm.
            self.reset_full_bw(sample.delivery_rate.unwrap_or_default());
            return false;
        }
        self.full_bw_now
    }

    /// Doubles the growth per round of the long-term bound (the draft's
    /// RaiseInflightLongtermSlope).
    fn raise_inflight_longterm_slope(&mut self) {
        let growth = 1 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.up_acked_per_segment = (self.cwnd / growth).max(self.segment());
    }

    /// Raises the long-term bound if it limits the sender (the draft's
    /// ProbeInflightLongtermUpward).
    fn probe_inflight_longterm_upward(&mut self, sample: &RateSample) {
        if !sample.window_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        let per_segment = self.probe.up_acked_per_segment;
        let acked = self.probe.up_acked.saturating_add(sample.newly_acked);
        self.probe.up_acked = acked % per_segment;
        let grown = (acked / per_segment).saturating_mul(self.segment());
        self.inflight_longterm = self.inflight_longterm.saturating_add(grown);
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// Updates the long-term bound and the phase of acknowledgements (the draft's
    /// AdaptLongTermModel). Returns whether it started a phase of ProbeBW.
    fn adapt_long_term_model(&mut self, sample: &RateSample) -> bool {
        let probing_bw = matches!(self.state, State::ProbeBw(_));
        if self.round_start {
            match self.probe.phase {
                AckPhase::Starting => self.probe.phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    self.probe.is_sample = false;
                    self.probe.phase = AckPhase::Init;
                    if probing_bw && !sample.app_limited {
                        self.max_bw.advance();
                    }
                    if probing_bw && self.probe.precautionary && !self.probe.too_high {
                        self.start_probe_bw_refill(sample.total_delivered);
                        return true;
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::Feedback => {}
            }
        }
        if self.inflight_longterm < UNBOUNDED
            && !is_inflight_too_high(sample.lost, sample.sent_in_flight)
        {
            self.inflight_longterm = self.inflight_longterm.max(sample.sent_in_flight);
            if self.state == State::ProbeBw(Phase::Up) {
                self.probe_inflight_longterm_upward(sample);
            }
        }
        false
    }

    /// Starts ProbeRTT if it is due and continues it (the draft's CheckProbeRTT).
    pub(super) fn check_probe_rtt(&mut self, sample: &RateSample, due: bool) {
        if self.state != State::ProbeRtt && due && !self.probe.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe.rtt_done = Time::MAX;
            self.probe.phase = AckPhase::Stopping;
            self.probe.rtt_from = sample.total_delivered;
            self.start_round(sample.total_delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.delivered > 0 {
            self.probe.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, sample: &RateSample) {
        self.probe.rtt_until = sample.total_delivered.saturating_add(sample.in_flight);
        if self.probe.rtt_done == Time::MAX {
            if sample.in_flight <= self.probe_rtt_window() {
                self.probe.rtt_done = sample.now + PROBE_RTT_DURATION;
                self.probe.rtt_round_done = false;
                self.start_round(sample.total_delivered);
            }
            return;
        }
        self.probe.rtt_round_done |= self.round_start;
        if self.probe.rtt_round_done {
            self.check_probe_rtt_done(sample.now, sample.total_delivered);
        }
    }

    /// Ends ProbeRTT after its duration (the draft's CheckProbeRTTDone and ExitProbeRTT).
    fn check_probe_rtt_done(&mut self, now: Time, total_delivered: u64) {
        if self.probe.rtt_done == Time::MAX || now <= self.probe.rtt_done {
            return;
        }
        self.min_rtt.probed(now);
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(now, total_delivered);
            self.state = State::ProbeBw(Phase::Cruise);
        } else {
            self.state = State::Startup;
        }
    }

    /// Returns the window in ProbeRTT, in bytes (the draft's ProbeRTTCwnd).
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.bw, State::ProbeRtt.window_gain())
            .max(self.min_pipe())
    }
}

/// Spreads `seed` over 64 bits (the finaliser of SplitMix64, Steele et al. 2014).
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
