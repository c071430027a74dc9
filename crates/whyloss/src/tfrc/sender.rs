//! The TFRC sender (RFC 5348, 4 and 8.2.1).
//!
//! ```text
//! start:      X = s per second; at the first feedback X = W_init/R, W_init = min(4s, max(2s, 4380 byte))   (4.2)
//! feedback:   R_sample = now − echo − hold;  R = q·R + (1 − q)·R_sample;  q = 0.9                          (4.3)
//!             p > 0: X = max(min(X_Bps, recv_limit), s/t_mbi)
//!             p = 0: once per R, X = max(min(2X, recv_limit), W_init/R)
//!             recv_limit = 2·max(X_recv_set); after a loss while data-limited 1·max, X_recv counting for 85 %
//! no feedback for max(4R, 2s/X): X is halved by way of X_recv_set                                          (4.4)
//! spacing:    X_inst = X·mean(√R)/√R_sample, t_ipi = s/X_inst, packets at t_(i+1) = t_i + t_ipi            (4.5, 4.6)
//! ```
//!
//! X in bytes per second, s in bytes, R and t in seconds. t_gran is 0, because virtual time has no
//! granularity. A host with late timers makes up for at most one R, because the t_i are nominal
//! times.
//!
//! The sender always has data unless its host reports otherwise with [`Sender::set_has_data`].

use crate::{Duration, Time};

use super::data_limits::DataLimits;
use super::equation::Equation;
use super::receive_rates::ReceiveRates;
use super::retransmit::RetransmitEstimator;
use super::{
    Data, Feedback, Increase, InitialWindow, NoFeedback, Options, Pacing, ReceiveLimit,
    RetransmitTimeout, SlowStart,
};

/// The bounds of every rate, in bytes per second. No hostile report can make a number infinite or
/// zero.
const RATES: (f64, f64) = (1e-6, 1e12);

/// The no-feedback timer before the first feedback (RFC 5348, 4.2).
const INITIAL_NO_FEEDBACK: Duration = Duration::from_secs(2);

/// The sending end of a flow (RFC 5348, 4 and 8.2.1). See the [module](super) for the contract.
///
/// Paces packets at the allowed rate X in bytes per second. Before the first loss event, X doubles
/// per round trip; afterwards the [equation](super::equation) sets it. Twice the receive rate
/// limits X. If no feedback arrives for max(4R, 2s/X), X is halved.
#[derive(Clone, Debug)]
pub struct Sender {
    options: Options,
    /// The packet size s, in bytes.
    packet_size: f64,
    /// The allowed rate X, in bytes per second.
    rate: f64,
    /// The rate of the equation, X_Bps, in bytes per second.
    equation_rate: f64,
    loss_event_rate: f64,
    rtt: Option<Rtt>,
    timeout: RetransmitEstimator,
    /// R and t_RTO as packets carry them; zero before the first feedback.
    carried: (Duration, Duration),
    receive_rates: ReceiveRates,
    /// When the rate last rose in slow start (tld), or last changed.
    changed: Time,
    /// The remaining rise in slow start that [`SlowStart::Ramp`] spreads over one R.
    ramp: Option<Ramp>,
    /// The number of feedbacks received and no-feedback timers expired.
    round: u32,
    urgent: bool,
    no_feedback_at: Time,
    sent_since_timer: bool,
    sequence: u64,
    /// The nominal time of the last packet.
    last: Option<Time>,
    /// The current interval between packets.
    interval: Duration,
    /// The nominal time of the next packet.
    next: Time,
    has_data: bool,
    limits: DataLimits,
}

/// The averages of R and √R, in seconds.
#[derive(Clone, Copy, Debug)]
struct Rtt {
    /// The mean round-trip time R, in seconds.
    mean: f64,
    /// R_sqmean, the mean of the square roots.
    mean_sqrt: f64,
    /// The square root of the last sample, √R_sample.
    sqrt: f64,
}

#[derive(Clone, Copy, Debug)]
struct Ramp {
    rate: f64,
    step: f64,
}

impl Sender {
    /// Creates a sender of packets of `packet_size` bytes, the s of the RFC. Its first packet is
    /// due at `now`.
    pub fn new(options: &Options, packet_size: u32, now: Time) -> Self {
        let s = f64::from(packet_size.max(1));
        let mut sender = Self {
            options: *options,
            packet_size: s,
            rate: options.initial_rate.unwrap_or(s).clamp(RATES.0, RATES.1),
            equation_rate: f64::INFINITY,
            loss_event_rate: 0.0,
            rtt: None,
            timeout: RetransmitEstimator::default(),
            carried: (Duration::ZERO, Duration::ZERO),
            receive_rates: ReceiveRates::new(now),
            changed: now,
            ramp: None,
            round: 0,
            urgent: true,
            no_feedback_at: now + INITIAL_NO_FEEDBACK,
            sent_since_timer: false,
            sequence: 0,
            last: None,
            interval: Duration::ZERO,
            next: now,
            has_data: true,
            limits: DataLimits::default(),
        };
        // ns-2 starts the timer at 2s/X. At one packet per second, this is the RFC's 2 s.
        if options.initial_rate.is_some() {
            sender.no_feedback_at = now + sender.no_feedback_time();
        }
        sender.interval = sender.packet_interval();
        sender
    }

    /// Returns when to call [`Self::on_timeout`].
    #[inline]
    pub fn next_timeout(&self) -> Time {
        if self.has_data {
            self.next.min(self.no_feedback_at)
        } else {
            self.no_feedback_at
        }
    }

    /// Handles an expiry of the no-feedback timer, if it is due. Then returns the data packet that
    /// is due; `None` if none is.
    #[inline]
    pub fn on_timeout(&mut self, now: Time) -> Option<Data> {
        if now >= self.no_feedback_at {
            self.on_no_feedback(now);
        }
        (self.has_data && now >= self.next).then(|| self.send(now))
    }

    /// Updates the rate with the receiver's report. Ignores a report with an impossible number.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        let x_recv = feedback.receive_rate;
        let p = feedback.loss_event_rate;
        if !((0.0..=1.0).contains(&p) && (0.0..f64::INFINITY).contains(&x_recv)) {
            return;
        }
        self.round = self.round.saturating_add(1);
        self.urgent = false;
        let sample = (now - feedback.echo - feedback.hold).max(Duration::from_nanos(1));
        let first = self.rtt.is_none();
        self.update_rtt(sample);
        let rtt = self.rtt_secs();
        if first {
            self.receive_rates = ReceiveRates::new(now);
        }
        // The time uses X before this report, by the order of steps in the RFC and in ns-2.
        self.no_feedback_at = now + self.no_feedback_time();
        self.sent_since_timer = false;
        let data_limited = self.limits.on_feedback(now, feedback.echo, rtt);
        let limit = self.receive_limit(now, feedback, data_limited);
        let left_slow_start = self.loss_event_rate == 0.0 && p > 0.0;
        self.loss_event_rate = p;
        if p > 0.0 {
            self.ramp = None;
            self.equation_rate = self.equation().throughput(p).min(RATES.1);
            let rate = match self.options.increase {
                Increase::ToLimit => self.equation_rate.min(limit),
                Increase::PacketPerRtt if left_slow_start => self.equation_rate,
                Increase::PacketPerRtt => self.step(now, limit),
            };
            self.set_rate(rate);
        } else {
            match self.options.slow_start {
                SlowStart::Doubling => self.double(now, first, limit),
                SlowStart::Ramp => self.ramp(now, limit),
            }
        }
        self.reschedule(now);
        if p == 0.0 && self.options.pacing == Pacing::FromLastPacket {
            self.next = now;
        }
    }

    /// Sets whether the application has data to send; true at first.
    ///
    /// Without data, no packet is due, and the rules for data-limited senders apply (RFC 5348,
    /// 4.3). When data becomes available, packets for up to one unused round-trip time may leave
    /// immediately.
    pub fn set_has_data(&mut self, now: Time, has_data: bool) {
        if has_data && !self.has_data {
            self.next = self.next.max(now - self.credit());
        }
        self.has_data = has_data;
        if !has_data {
            self.limits.ran_dry();
        }
    }

    /// Returns X, the allowed rate, in bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns R, the round-trip time; `None` before the first feedback.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(|_| self.carried.0)
    }

    /// Returns the loss event rate p of the last report, in 0..=1; 0 before the first loss event.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    #[inline]
    fn send(&mut self, now: Time) -> Data {
        let nominal = match self.options.pacing {
            Pacing::Nominal => self.next.max(now - self.credit()),
            Pacing::FromLastPacket => now,
        };
        if let Some(ramp) = &mut self.ramp {
            ramp.rate += ramp.step;
            self.interval = self.packet_interval();
        }
        self.last = Some(nominal);
        self.next = nominal + self.interval;
        self.sent_since_timer = true;
        if self.next > now {
            self.limits.not_limited(now);
        }
        let data = Data {
            sequence: self.sequence,
            stamp: now,
            rtt: self.carried.0,
            t_rto: self.carried.1,
            round: self.round,
            urgent: self.urgent,
        };
        self.sequence = self.sequence.wrapping_add(1);
        data
    }

    /// Returns how far the nominal time of a packet may be in the past: one R (RFC 5348, 4.6).
    fn credit(&self) -> Duration {
        self.carried.0
    }

    fn update_rtt(&mut self, sample: Duration) {
        if let RetransmitTimeout::Ticks(tick) = self.options.retransmit_timeout {
            self.timeout.update(sample, tick);
        }
        let sample = sample.as_secs_f64();
        let sqrt = libm::sqrt(sample);
        let q = self.options.filter;
        let rtt = self.rtt.map_or(
            Rtt {
                mean: sample,
                mean_sqrt: sqrt,
                sqrt,
            },
            |old| Rtt {
                mean: q * old.mean + (1.0 - q) * sample,
                mean_sqrt: q * old.mean_sqrt + (1.0 - q) * sqrt,
                sqrt,
            },
        );
        self.rtt = Some(rtt);
        let mean = Duration::from_secs_f64(rtt.mean);
        self.carried = match self.options.retransmit_timeout {
            RetransmitTimeout::FourRtt => (mean, mean * 4),
            RetransmitTimeout::Ticks(tick) => (mean, tick * self.timeout.ticks()),
        };
    }

    /// Returns recv_limit (RFC 5348, 4.3, step 4).
    fn receive_limit(&mut self, now: Time, feedback: &Feedback, data_limited: bool) -> f64 {
        let set = &mut self.receive_rates;
        let x_recv = feedback.receive_rate;
        if self.options.receive_limit == ReceiveLimit::Latest {
            set.replace(now, x_recv);
        } else if !data_limited {
            set.update(now, x_recv, self.carried.0);
        } else if feedback.new_loss_event || feedback.loss_event_rate > self.loss_event_rate {
            set.halve();
            set.maximize(now, 0.85 * x_recv);
            return set.max();
        } else {
            set.maximize(now, x_recv);
        }
        2.0 * set.max()
    }

    /// Doubles the rate in the initial slow start (RFC 5348, 4.2 and 4.3).
    fn double(&mut self, now: Time, first: bool, limit: f64) {
        if first {
            self.set_rate(self.initial_rate());
            self.changed = now;
        } else if (now - self.changed).as_secs_f64() >= self.rtt_secs() {
            self.set_rate((2.0 * self.rate).min(limit).max(self.initial_rate()));
            self.changed = now;
        }
    }

    /// Raises the rate as ns-2's slow start does (`slowstart`).
    fn ramp(&mut self, now: Time, limit: f64) {
        let (old, per_rtt) = (self.rate, self.packet_size / self.rtt_secs());
        if self.round <= 2 {
            self.set_rate(old.max(self.initial_rate()));
        } else if limit == 0.0 {
            self.set_rate(per_rtt);
        } else if old < limit && (now - self.changed).as_secs_f64() > self.rtt_secs() {
            self.set_rate((2.0 * old).min(limit).max(per_rtt));
            let packets = self.rate / per_rtt;
            self.ramp = Some(Ramp {
                rate: old,
                step: (self.rate - old) / packets,
            });
        } else if old > limit {
            self.set_rate(0.5 * limit);
            self.ramp = None;
        } else {
            return;
        }
        self.changed = now;
    }

    /// Returns the rate after a step of ns-2's congestion avoidance (`increase_rate`,
    /// `decrease_rate`).
    fn step(&mut self, now: Time, limit: f64) -> f64 {
        let per_rtt = self.packet_size / self.rtt_secs();
        let limit = limit.max(per_rtt).min(self.equation_rate);
        let rtts = ((now - self.changed).as_secs_f64() / self.rtt_secs()).min(2.0);
        self.changed = now;
        limit.min(self.rate + per_rtt * rtts)
    }

    /// Handles the expiry of the nofeedback timer (RFC 5348, 4.4).
    fn on_no_feedback(&mut self, now: Time) {
        let x_recv = self.receive_rates.max();
        let idle = !self.sent_since_timer;
        let recover = self.rtt.map(|_| self.initial_rate());
        match self.options.no_feedback {
            NoFeedback::HalveRate => {
                let floor = recover.filter(|_| idle).map_or(0.0, |r| r.min(self.rate));
                self.set_rate((0.5 * self.rate).max(floor));
            }
            NoFeedback::LowerLimit => match recover {
                None if idle => {}
                Some(recover) if idle && self.recovering(x_recv, recover) => {}
                _ if self.loss_event_rate == 0.0 => self.set_rate(0.5 * self.rate),
                _ => self.lower_limit(now, x_recv.min(0.5 * self.equation_rate)),
            },
        }
        self.ramp = None;
        self.round = self.round.saturating_add(1);
        self.urgent = true;
        self.no_feedback_at = now + self.no_feedback_time();
        self.sent_since_timer = false;
        self.reschedule(now);
        if self.options.pacing == Pacing::FromLastPacket {
            self.next = now;
        }
    }

    /// Returns whether an idle sender is already so slow that missing feedback does not slow it
    /// down.
    fn recovering(&self, x_recv: f64, recover: f64) -> bool {
        if self.loss_event_rate > 0.0 {
            x_recv < recover
        } else {
            self.rate < 2.0 * recover
        }
    }

    /// Sets the receive limit: "Update_Limits(timer_limit)" (RFC 5348, 4.4).
    fn lower_limit(&mut self, now: Time, timer_limit: f64) {
        let timer_limit = timer_limit.max(self.floor());
        self.receive_rates.replace(now, 0.5 * timer_limit);
        self.set_rate(self.equation_rate.min(timer_limit));
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.max(self.floor()).clamp(RATES.0, RATES.1);
    }

    /// Returns the lowest rate, s/t_mbi, in bytes/s.
    fn floor(&self) -> f64 {
        self.options
            .backoff_limit
            .map_or(0.0, |t_mbi| self.packet_size / t_mbi.as_secs_f64())
    }

    /// Returns the initial rate, W_init/R, in bytes/s.
    fn initial_rate(&self) -> f64 {
        let s = self.packet_size;
        let window = match self.options.initial_window {
            InitialWindow::Bytes => (4.0 * s).min((2.0 * s).max(4380.0)),
            InitialWindow::Packets if s <= 1095.0 => 4.0 * s,
            InitialWindow::Packets if s < 2190.0 => 3.0 * s,
            InitialWindow::Packets => 2.0 * s,
        };
        window / self.rtt_secs()
    }

    fn rtt_secs(&self) -> f64 {
        self.rtt.map_or(0.0, |rtt| rtt.mean)
    }

    fn equation(&self) -> Equation {
        Equation {
            packet_size: self.packet_size,
            rtt: self.rtt_secs(),
            t_rto: self.carried.1.as_secs_f64(),
            packets_per_ack: self.options.packets_per_ack,
            cap_timeouts: self.options.cap_timeouts,
        }
    }

    fn no_feedback_time(&self) -> Duration {
        let rtts = f64::from(self.options.no_feedback_rtts) * self.rtt_secs();
        let packets = 2.0 * self.packet_size / self.rate;
        Duration::from_secs_f64(rtts.max(packets)).max(Duration::from_nanos(1))
    }

    /// Returns t_ipi = s/X_inst (RFC 5348, 4.5 and 4.6).
    fn packet_interval(&self) -> Duration {
        let rate = match (self.ramp, self.rtt) {
            (Some(ramp), _) if ramp.rate < self.rate => ramp.rate,
            (_, Some(rtt)) if self.options.damping => self.rate * rtt.mean_sqrt / rtt.sqrt,
            _ => self.rate,
        };
        let rate = rate.max(self.floor()).clamp(RATES.0, RATES.1);
        Duration::from_secs_f64(self.packet_size / rate).max(Duration::from_nanos(1))
    }

    /// Moves the next packet to the new rate, but never into the past, when the new rate was not
    /// yet allowed.
    fn reschedule(&mut self, now: Time) {
        self.interval = self.packet_interval();
        if let (Pacing::Nominal, Some(last)) = (self.options.pacing, self.last)
            && self.next > now
        {
            self.next = (last + self.interval).max(now);
        }
    }
}
