//! The IFTP sender (ElAarag, Moedinger & Hogg 2008, sections 4, 7 and 10.2).
//!
//! ```text
//! gap         G = max(R/n − τ, 0)           last bit of a packet to the first of the next, so packets leave
//!                                           max(R/n, τ) apart
//! next period slow start            n < ssthresh   n ← min(2n, ssthresh)   G = R/(2n) − τ    (1)
//!             congestion avoidance  n ≥ ssthresh   n ← n + 1               G = R/(n+1) − τ   (2)
//!             maximum window        n = maximum    n stays                 G = R/n − τ
//! loss        n ← n, 4n/5 or n/2, at least 1;  ssthresh ← n                G = 2R/n − τ      (3), with the old n
//! timeout     ssthresh ← max(ssthresh/2, 2);  n ← 1
//!
//! n  packets in a period, a real number      R  smoothed round-trip time, gain 1/8      τ  time to send a packet
//! ```
//!
//! Where the paper is silent (ELA-3, ELA-4, ELA-8; `docs/reference/iftp.md` gives the reasons):
//!
//! - A *period* ends when ⌊n⌋ of its packets have left, and the first of them is acknowledged or
//!   given up. As in the equations, n and G change then, not at each acknowledgement. A period
//!   lasts R if packets leave R/n apart, and n does not grow without an acknowledgement. A blocking
//!   window is one period: it ends when all of its ⌊n⌋ packets are acknowledged or given up.
//! - In slow start n stops at the threshold, as Reno does.
//! - A packet counts as lost when `duplicates` later ones are acknowledged. The sender skips it.
//! - n is reduced once per window: losses of packets that left before the last loss was detected
//!   have no effect. A period in which n is reduced ends when these packets are acknowledged or
//!   given up. n does not grow at the end of a period with a loss.
//! - The timer restarts when the lowest outstanding number changes. When it expires, all
//!   outstanding packets are given up.
//! - A late acknowledgement only gives a round-trip time.

use super::options::MOST_PACKETS;
use super::{Ack, Data, Judge, Options, Reaction, WindowMode};
use crate::event::{AckEvent, Detection, LossEvent};
use crate::rto::Rto;
use crate::{Duration, Time};

/// The minimum threshold after an expired timer, from RFC 5681 (4).
const LEAST_SSTHRESH: f64 = 2.0;

/// The sending end of a flow, which spaces its packets by R/n. See the [module](super) for the
/// contract.
///
/// n is the number of packets per smoothed round-trip time R. It doubles per period in slow start
/// and grows by one above ssthresh; a [`Judge`] decides whether a loss leaves n, 4n/5 or n/2. A
/// timeout sets n to 1 (sections 4, 7 and 10.2).
#[derive(Clone, Debug)]
pub struct Sender {
    options: Options,
    /// The transmission time τ of a packet.
    tau: Duration,
    packet_size: u32,
    /// The packets per period, n.
    n: f64,
    ssthresh: f64,
    /// R in eighths of a nanosecond, as in Veno's backlog; zero before the first sample.
    rtt_eighths: u64,
    min_rtt: Option<Duration>,
    latest_rtt: Option<Duration>,
    rto: Rto,
    /// When the timer expires.
    deadline: Time,
    /// The gap G between packets.
    gap: Duration,
    /// When the last packet left.
    last: Option<Time>,
    /// When the gap after the last packet ends.
    due: Time,
    /// The lowest number that is neither acknowledged nor given up.
    una: u64,
    /// The sequence number of the next packet.
    next: u64,
    arrived: Arrived,
    /// The number of acknowledged packets after `una`.
    beyond: u64,
    /// The value of `una` at which the period may end.
    period_end: u64,
    /// The value of `next` at which the period may end.
    period_sent: u64,
    /// Whether n stays at the end of the period, which had a loss or too little data.
    held: bool,
    has_data: bool,
    /// The number below which losses belong to the previous loss event.
    recover: u64,
    /// The number of acknowledged packets that `una` has passed when it skipped a hole, not yet
    /// reported in an event.
    passed: u64,
    /// Whether the timer has expired and no packet was acknowledged since.
    silent: bool,
    timeouts: u64,
}

/// The growth phase of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The rate n, in packets per period, doubles every round trip.
    SlowStart,
    /// The rate n grows by one packet every round trip.
    CongestionAvoidance,
    /// The rate n is at the maximum window and does not grow.
    MaximumWindow,
}

impl Sender {
    /// Creates a sender of packets of `packet_size` bytes. The first packet is due immediately.
    pub fn new(options: &Options, packet_size: u32) -> Self {
        let options = Options {
            initial_ssthresh: options.initial_ssthresh.max(1),
            max_window: options.max_window.clamp(1, MOST_PACKETS),
            duplicates: options.duplicates.max(1),
            ..*options
        };
        let tau = options.transmission_time.unwrap_or(Duration::ZERO);
        Self {
            options,
            tau: tau.max(Duration::ZERO),
            packet_size: packet_size.max(1),
            n: 1.0,
            ssthresh: f64::from(options.initial_ssthresh),
            rtt_eighths: 0,
            min_rtt: None,
            latest_rtt: None,
            rto: Rto::new(&options.rto),
            deadline: Time::MAX,
            gap: Duration::ZERO,
            last: None,
            due: Time::ZERO,
            una: 0,
            next: 0,
            arrived: Arrived::default(),
            beyond: 0,
            period_end: 1,
            period_sent: 1,
            held: false,
            has_data: true,
            recover: 0,
            passed: 0,
            silent: false,
            timeouts: 0,
        }
    }

    /// Returns when to call [`Self::on_timeout`] and [`Self::poll_transmit`].
    #[inline]
    pub fn next_timeout(&self) -> Time {
        if self.has_data && self.window_open() {
            self.deadline.min(self.due)
        } else {
            self.deadline
        }
    }

    /// Returns the packet to send now and counts it as sent; `None` if none is due.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Data> {
        if !self.has_data || !self.window_open() || now < self.due {
            return None;
        }
        let data = Data {
            sequence: self.next,
            stamp: now,
        };
        self.arrived.clear(self.next);
        self.next += 1;
        self.last = Some(now);
        self.due = now + self.tau + self.gap;
        if self.deadline == Time::MAX {
            self.restart_timer(now);
        }
        Some(data)
    }

    /// Updates the sender with an acknowledgement. Ignores one for a packet that has not left or is
    /// already acknowledged.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, judge: &mut impl Judge) {
        if ack.sequence >= self.next {
            return;
        }
        let idle = self.is_idle(now);
        let late = ack.sequence < self.una;
        if !late && !self.arrived.insert(ack.sequence) {
            return;
        }
        let rtt = (ack.echo < now).then(|| self.measure(now, ack.echo));
        let (una, window) = (self.una, self.window_bytes());
        if !late {
            self.silent = false;
            self.beyond += 1;
        }
        let mut acked = core::mem::take(&mut self.passed);
        acked += self.pass_arrived();
        let event = AckEvent {
            now,
            acked: self.bytes(acked),
            sacked: self.bytes(u64::from(!late && self.una == una)),
            acknowledged: self.bytes(self.una),
            in_flight: self.bytes(self.next - self.una),
            window,
            segment_size: self.packet_size,
            rtt,
            receiver_stamp: None,
            app_limited: idle,
            in_recovery: una < self.recover,
        };
        judge.on_ack(&event);
        self.find_losses(now, judge);
        if self.una > una {
            self.restart_timer(now);
        }
        self.held |= idle;
        self.end_period();
    }

    /// Returns whether the timer is due.
    #[inline]
    pub fn is_expired(&self, now: Time) -> bool {
        now >= self.deadline && self.una < self.next
    }

    /// Handles an expiry of the timer, if it is due: gives up all outstanding packets and begins
    /// slow start.
    pub fn on_timeout(&mut self, now: Time, judge: &mut impl Judge) {
        if !self.is_expired(now) {
            return;
        }
        let loss = self.loss_event(now, Detection::Timeout);
        judge.on_loss(&loss);
        self.timeouts += 1;
        self.silent = true;
        self.rto.back_off();
        self.ssthresh = (self.ssthresh / 2.0).max(LEAST_SSTHRESH);
        self.n = 1.0;
        self.una = self.next;
        self.passed = 0;
        self.beyond = 0;
        self.recover = self.next;
        self.deadline = Time::MAX;
        self.begin_period();
    }

    /// Sets whether the application has data to send; true at first. Without data, no packet is
    /// due. The rate n does not grow after a period in which one more packet could have been sent.
    pub fn set_has_data(&mut self, now: Time, has_data: bool) {
        self.held |= has_data && self.is_idle(now);
        self.has_data = has_data;
    }

    /// Returns the rate n, the number of packets per period. A period takes about a round trip.
    pub fn n(&self) -> f64 {
        self.n
    }

    /// Returns the slow start threshold, in packets.
    pub fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Returns the slow start threshold in bytes; saturates.
    pub fn ssthresh_bytes(&self) -> u64 {
        libm::round(self.ssthresh * f64::from(self.packet_size)) as u64
    }

    /// Returns the bytes that are sent and neither acknowledged cumulatively nor given up.
    pub fn in_flight(&self) -> u64 {
        self.bytes(self.next - self.una)
    }

    /// Returns the rate at which packets of a period leave, in bytes per second; `None` before the
    /// first gap is known.
    pub fn rate(&self) -> Option<f64> {
        let period = (self.tau + self.gap).as_secs_f64();
        (self.gap > Duration::ZERO).then(|| f64::from(self.packet_size) / period)
    }

    /// Returns the latest sample of the round-trip time; `None` before the first.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.latest_rtt
    }

    /// Returns how n, the number of packets per period, grows now.
    pub fn phase(&self) -> Phase {
        if self.n >= f64::from(self.options.max_window) {
            Phase::MaximumWindow
        } else if self.n < self.ssthresh {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        }
    }

    /// Returns the gap G, the time from the last bit of a packet to the first bit of the next.
    pub fn gap(&self) -> Duration {
        self.gap
    }

    /// Returns the smoothed round-trip time R; `None` before the first sample.
    pub fn rtt(&self) -> Option<Duration> {
        let rtt = Duration::from_nanos((self.rtt_eighths / 8) as i64);
        (self.rtt_eighths > 0).then_some(rtt)
    }

    /// Returns the size of n packets in bytes, the window that classifiers see.
    #[inline]
    pub fn window_bytes(&self) -> u64 {
        libm::round(self.n * f64::from(self.packet_size)) as u64
    }

    /// Returns the lowest number that is neither acknowledged nor given up.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Returns the number of times that the timer has expired.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    #[inline]
    fn window_open(&self) -> bool {
        self.next
            < match self.options.window {
                WindowMode::Sliding => self.una + self.n as u64,
                WindowMode::Blocking => self.period_end,
            }
    }

    /// Returns whether a packet could have been sent before now, but none was available.
    fn is_idle(&self, now: Time) -> bool {
        !self.has_data && self.window_open() && self.due < now
    }

    /// Updates the timeout with the round trip of a packet sent before now, and returns it.
    #[inline]
    fn measure(&mut self, now: Time, sent: Time) -> Duration {
        let sample = now - sent;
        self.rto.sample(sent, now);
        let nanos = sample.as_nanos().unsigned_abs().min(u64::MAX / 8);
        self.rtt_eighths = match self.rtt_eighths {
            0 => nanos * 8,
            eighths => eighths - eighths / 8 + nanos,
        };
        self.latest_rtt = Some(sample);
        self.min_rtt = Some(self.min_rtt.map_or(sample, |min| min.min(sample)));
        sample
    }

    /// Moves `una` past acknowledged packets. Returns the number of packets passed.
    #[inline]
    fn pass_arrived(&mut self) -> u64 {
        let before = self.una;
        while self.una < self.next && self.arrived.contains(self.una) {
            self.una += 1;
        }
        let passed = self.una - before;
        self.beyond -= passed;
        passed
    }

    /// Skips the lowest outstanding packet as long as enough later ones have arrived.
    fn find_losses(&mut self, now: Time, judge: &mut impl Judge) {
        while self.beyond >= u64::from(self.options.duplicates) {
            if self.una >= self.recover {
                let loss = self.loss_event(now, Detection::Duplicates);
                self.recover = self.next;
                let reaction = judge.on_loss(&loss);
                self.react(reaction);
            }
            self.una += 1;
            self.passed += self.pass_arrived();
        }
    }

    fn react(&mut self, reaction: Reaction) {
        self.held = true;
        let share = match reaction {
            Reaction::Keep => 1.0,
            Reaction::FourFifths => 0.8,
            Reaction::Halve => 0.5,
        };
        self.n = (self.n * share).max(1.0);
        self.ssthresh = self.n;
        if reaction != Reaction::Keep {
            self.period_end = self.next;
            self.period_sent = self.next;
            self.update_gap();
        }
    }

    /// Grows n and begins the next period, if the current one is over.
    #[inline]
    fn end_period(&mut self) {
        if self.una < self.period_end || self.next < self.period_sent {
            return;
        }
        let max = f64::from(self.options.max_window);
        if !self.held {
            self.n = match self.phase() {
                Phase::SlowStart => (2.0 * self.n).min(self.ssthresh),
                Phase::CongestionAvoidance => self.n + 1.0,
                Phase::MaximumWindow => max,
            }
            .min(max);
        }
        self.begin_period();
    }

    fn begin_period(&mut self) {
        self.held = false;
        self.period_sent = self.next + self.n as u64;
        self.period_end = match self.options.window {
            WindowMode::Sliding => self.next + 1,
            // Everything sent is acknowledged or given up here.
            WindowMode::Blocking => self.period_sent,
        };
        self.update_gap();
    }

    fn update_gap(&mut self) {
        let spacing = libm::round(self.rtt_eighths as f64 / (8.0 * self.n)) as i64;
        let gap = Duration::from_nanos(spacing) - self.tau;
        self.gap = gap.max(Duration::ZERO);
        if let Some(last) = self.last {
            self.due = last + self.tau + self.gap;
        }
    }

    /// Restarts the timer if anything is outstanding, and stops it otherwise (RFC 6298, 5.2 and
    /// 5.3).
    #[inline]
    fn restart_timer(&mut self, now: Time) {
        self.deadline = if self.una < self.next {
            now + self.rto.timeout().max(Duration::from_nanos(1))
        } else {
            Time::MAX
        };
    }

    /// Returns the loss of packet `una`.
    fn loss_event(&self, now: Time, detection: Detection) -> LossEvent {
        LossEvent {
            now,
            detection,
            first: self.bytes(self.una),
            sent: None,
            transmissions: 1,
            in_flight: self.bytes(self.next - self.una - self.beyond),
            window: self.window_bytes(),
            segment_size: self.packet_size,
            rtt: self.latest_rtt,
            min_rtt: self.min_rtt,
            repeated: self.silent,
        }
    }

    #[inline]
    fn bytes(&self, packets: u64) -> u64 {
        packets.saturating_mul(u64::from(self.packet_size))
    }
}

/// The outstanding packets that have arrived: a bit per number, modulo the maximum window.
#[derive(Clone, Debug, Default)]
struct Arrived([u64; MOST_PACKETS as usize / 64]);

impl Arrived {
    #[inline]
    fn place(number: u64) -> (usize, u64) {
        let bit = number % u64::from(MOST_PACKETS);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    #[inline]
    fn contains(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        self.0[word] & bit != 0
    }

    /// Inserts `number`; returns whether it was new.
    #[inline]
    fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    #[inline]
    fn clear(&mut self, number: u64) {
        let (word, bit) = Self::place(number);
        self.0[word] &= !bit;
    }
}
