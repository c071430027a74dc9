//! The sender: the window, the timer, and the path that every acknowledgement takes while nothing
//! is lost.
//!
//! ```text
//! una ≤ nxt ≤ max        acknowledged, to be sent next, one past the highest sent
//! nxt < edge             a segment may leave; edge = una + min(cwnd/SMSS, the receiver's window)
//! timeout                nxt = una: everything is sent again as the window opens (go-back-N)
//! ```
//!
//! As long as acknowledgements only move the left edge, each is a round-trip sample, a call of the
//! controller, a new edge and a new deadline. Any other event makes the sender alert.
//! `sender/recovery.rs` handles it until no loss is left. When a loss is found, `judge.rs` gives it
//! a cause.

mod ecn;
mod held;
mod metered_pacer;
mod probe;
mod prr;
mod rack;
mod rack_tlp;
mod recovery;
mod scoreboard;
mod sent;
mod state;
mod vegas;

use self::ecn::Cuts;
use self::held::Held;
use self::metered_pacer::MeteredPacer;
use self::rack_tlp::RackTlp;
use self::scoreboard::Scoreboard;
use self::vegas::Vegas;
use super::{Ack, Dialect, Options, Recovery, RttSampling, Segment};
use crate::decider::{Decider, SenderDecider};
use crate::host::judge::{Judge, Judgement};
use crate::registry::OutsideController;
use whyloss::congestion::{Start, UnderPolicy};
use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::rto::Rto;
use whyloss::{Cause, Duration, Time};
use whyloss_link::{Random, Streams};

/// The value for no segment being timed, or one that might have been retransmitted (Karn's rule).
const UNTIMED: u64 = u64::MAX;

/// The work for an acknowledgement that arrives, or for a segment about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attention {
    /// The left edge and the timer only.
    Edge,
    /// The left edge, the timer, the meter and the pacer.
    Pacing,
    /// All work of an acknowledgement or a segment.
    All,
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not one state"
)]
pub struct Sender {
    una: u64,
    nxt: u64,
    max: u64,
    /// The end of the window, whether or not there is enough data to fill it.
    edge: u64,
    /// The number of segments to send.
    segments: u64,
    /// When the retransmission timer expires; [`Time::MAX`] if it does not run.
    deadline: Time,
    timed_sequence: u64,
    timed_at: Time,
    control: UnderPolicy<Held>,
    /// Whether the classifier needs acknowledgements, or there is a meter.
    attentive: bool,
    judge: Judge,
    latest_rtt: Duration,
    min_rtt: Duration,
    /// The tick of the receiver's timestamp clock; zero if there is none.
    timestamp_tick: Duration,
    /// The tick of round trips, in nanoseconds.
    rtt_tick: u32,
    rto: Rto,
    segment_size: u32,
    receive_window: u32,
    rtt_sampling: RttSampling,
    /// The work per event, which [`Sender::settle`] sets.
    attention: Attention,
    /// Whether there are timers besides the retransmission timer: a meter's or RACK-TLP's.
    has_timers: bool,
    recovery: Recovery,
    dialect: Dialect,
    limited_transmit: bool,
    handshaking: bool,
    in_recovery: bool,
    /// Whether segment `una` leaves next, even if the window is full.
    retransmit: bool,
    /// Whether the next partial acknowledgement is the first of its recovery.
    first_partial: bool,
    duplicates: u32,
    /// The number of segments by which duplicates extend the window in a recovery (RFC 5681 §3.2).
    inflation: u32,
    /// The number of segments by which partial acknowledgements shrink the window.
    deflation: u32,
    /// `max` when the last recovery began or the timer last expired; 0 before.
    recover: u64,
    /// `nxt` before the first duplicate.
    nxt_before: u64,
    /// `una` when the timer last expired.
    una_at_timeout: u64,
    scoreboard: Option<Box<Scoreboard>>,
    meter: Option<Box<MeteredPacer>>,
    /// The state of Vegas's recovery; `None` for others.
    vegas: Option<Box<Vegas>>,
    /// The state of RACK-TLP; `None` for others.
    by_time: Option<Box<RackTlp>>,
    /// The state of ECN; `None` if it is off.
    ecn: Option<Box<Cuts>>,
    retransmitted: u32,
    timeouts: u32,
    fast_recoveries: u32,
}

/// Returns whether the decider needs acknowledgements.
fn listens(decider: &SenderDecider) -> bool {
    match decider {
        Decider::Classifier(_) | Decider::Outside(_) => true,
        Decider::Unaware | Decider::Oracle(_) | Decider::Erring { .. } => false,
    }
}

impl Sender {
    /// Returns a sender that has sent nothing and treats every loss as congestion.
    pub fn new(options: &Options) -> Self {
        // The verdict of this decider draws no random numbers.
        let random = Streams::new(0).stream("verdict", 0);
        Self::with_decider(options, None, SenderDecider::unaware(), random)
    }

    /// Returns a sender that has sent nothing. `outside` replaces the controller of the options.
    /// `decider` decides the causes of losses; an erring reference draws from `random`.
    pub fn with_decider(
        options: &Options,
        outside: Option<&OutsideController>,
        decider: SenderDecider,
        random: Random,
    ) -> Self {
        let segment_size = options.segment_size.max(1);
        let bytes = |segments: u32| u64::from(segments) * u64::from(segment_size);
        let start = Start {
            segment_size,
            initial_window: bytes(options.initial_window.max(1)),
            initial_ssthresh: options.initial_ssthresh.map_or(u64::MAX, bytes),
            growth: options.growth,
        };
        let controller = match outside {
            None => Held::from(options.controller.kind.build(&start)),
            Some(outside) => Held::from(outside.make(&start)),
        };
        let wireless = options.controller.wireless;
        let control = UnderPolicy::new(controller, wireless);
        let meter = MeteredPacer::new(&control);
        let mut sender = Self {
            una: 0,
            nxt: 0,
            max: 0,
            edge: 0,
            segments: options.segments.unwrap_or(u64::MAX),
            deadline: Time::MAX,
            timed_sequence: UNTIMED,
            timed_at: Time::ZERO,
            control,
            attentive: listens(&decider) || meter.is_some(),
            has_timers: meter.is_some() || options.recovery == Recovery::Rack,
            judge: Judge::new(decider, random),
            latest_rtt: Duration::MAX,
            min_rtt: Duration::MAX,
            timestamp_tick: options.timestamp_tick.unwrap_or(Duration::ZERO),
            rto: Rto::new(&options.rto),
            segment_size,
            receive_window: options.receive_window.max(1),
            rtt_tick: u32::try_from(options.rtt_tick.as_nanos()).unwrap_or(u32::MAX),
            rtt_sampling: options.rtt_sampling,
            attention: Attention::All,
            recovery: options.recovery,
            dialect: options.dialect,
            limited_transmit: options.limited_transmit,
            handshaking: options.handshake,
            in_recovery: false,
            retransmit: false,
            first_partial: false,
            duplicates: 0,
            inflation: 0,
            deflation: 0,
            recover: 0,
            nxt_before: 0,
            una_at_timeout: u64::MAX,
            scoreboard: None,
            meter,
            vegas: (options.recovery == Recovery::Vegas).then(Box::default),
            by_time: (options.recovery == Recovery::Rack)
                .then(|| Box::new(RackTlp::new(options.delayed_ack))),
            ecn: options.ecn.then(Box::default),
            retransmitted: 0,
            timeouts: 0,
            fast_recoveries: 0,
        };
        sender.settle();
        sender.open_window();
        sender
    }

    /// Prefetches the losses to be judged.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.judge.prefetch();
    }

    /// Handles an acknowledgement that the receiver sent at `stamped`, on the receiver's clock.
    /// Then call [`Sender::poll_transmit`] until it returns `None`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the engine's hot path is one piece of code"
    )]
    pub fn on_ack(&mut self, now: Time, ack: &Ack, stamped: Time) {
        self.judge.clear();
        if ack.next > self.max || ack.next < self.una {
            return;
        }
        if self.attention != Attention::Edge || ack.next == self.una || !ack.sack.is_empty() {
            self.on_ack_alert(now, ack, stamped);
            return;
        }
        self.on_foreseen_ack(now, ack, stamped);
    }

    /// Returns whether an acknowledgement of all segments before `next`, at time `at` and without
    /// SACK blocks, only advances the window. If so, it reveals no loss, causes no retransmission,
    /// and comes before the timer expires.
    #[inline]
    pub(crate) fn foresees(&self, at: Time, next: u64) -> bool {
        self.attention == Attention::Edge
            && self.una < next
            && next <= self.max
            && self.nxt == self.max
            && at <= self.deadline
    }

    /// Handles an acknowledgement like [`Self::on_ack`], if it [was foreseen](Self::foresees) or
    /// only advances the window.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the engine's hot path is one piece of code"
    )]
    pub(crate) fn on_foreseen_ack(&mut self, now: Time, ack: &Ack, stamped: Time) {
        self.advance(now, ack, stamped, 0, false);
        self.restart_timer(now);
        self.open_window();
    }

    /// Returns two facts about senders with these options: whether they foresee nothing, and
    /// whether they have timers besides the retransmission timer. `outside` replaces the controller
    /// of the options.
    pub(crate) fn alert_and_timed(
        options: &Options,
        outside: Option<&OutsideController>,
    ) -> (bool, bool) {
        let random = Streams::new(0).stream("verdict", 0);
        let mut sender = Self::with_decider(options, outside, SenderDecider::unaware(), random);
        sender.handshaking = false;
        sender.settle();
        (sender.attention != Attention::Edge, sender.has_timers)
    }

    /// Sets the number of segments that the application has produced so far. [`Options::segments`]
    /// must be zero at the start.
    pub(crate) fn supply(&mut self, segments: u64) {
        self.segments = segments;
    }

    /// Returns the next segment to send now, if there is one.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let sequence = if self.attention != Attention::Edge {
            self.next_alert(now)?
        } else if self.nxt < self.edge.min(self.segments) {
            self.nxt += 1;
            self.nxt - 1
        } else {
            return None;
        };
        let retransmission = sequence < self.max;
        if retransmission {
            self.retransmitted = self.retransmitted.saturating_add(1);
            self.judge.on_retransmission(sequence);
        } else {
            self.max = sequence + 1;
            if self.timed_sequence == UNTIMED && self.rtt_sampling == RttSampling::OncePerWindow {
                self.timed_sequence = sequence;
                self.timed_at = now;
            }
        }
        if self.deadline == Time::MAX {
            self.deadline = now.later(self.rto.timeout());
        }
        Some(Segment {
            sequence,
            stamp: now,
            retransmission,
        })
    }

    /// Returns when the first timer expires (retransmission, RACK-TLP) or a paced segment may
    /// leave. Returns [`Time::MAX`] if nothing is outstanding.
    #[inline]
    pub fn next_timeout(&self) -> Time {
        let mut next = self.deadline;
        if !self.has_timers {
            return next;
        }
        if let Some(meter) = &self.meter {
            next = next.min(meter.next_timeout());
        }
        if let Some(by_time) = &self.by_time {
            next = next.min(by_time.next_timeout());
        }
        next
    }

    /// Handles the time of [`Sender::next_timeout`]. Then call [`Sender::poll_transmit`] until it
    /// returns `None`.
    pub fn on_timeout(&mut self, now: Time) {
        self.judge.clear();
        if self.on_timers_by_time(now) || now < self.deadline || self.una == self.max {
            return;
        }
        self.timeouts += 1;
        if self.recovery == Recovery::Vegas {
            self.on_timeout_vegas();
        } else if self.in_recovery {
            self.apply_deflation(now);
        }
        let loss = self
            .loss_event(now, Detection::Timeout, self.outstanding())
            .repeated(self.una_at_timeout == self.una);
        let cause = self.classify(&loss, self.una);
        self.control.on_timeout(&loss, cause);
        self.meter_timeout(now);
        self.note_cut(Some(Detection::Timeout));
        self.una_at_timeout = self.una;
        self.recover = self.max;
        self.nxt = self.una;
        self.in_recovery = false;
        self.retransmit = false;
        self.duplicates = 0;
        self.inflation = 0;
        let mut cleared = false;
        if let Some(scoreboard) = &mut self.scoreboard
            && (self.dialect == Dialect::Ns2 || scoreboard.reneged(self.una))
        {
            scoreboard.clear();
            cleared = true;
        }
        self.on_timeout_by_time(now, cleared);
        self.timed_sequence = UNTIMED;
        self.rto.back_off();
        self.deadline = now.later(self.rto.timeout());
        self.open_window();
        self.settle();
    }

    /// Returns whether the deadline due at `now` is only the pacer's, so no retransmission timer
    /// needs handling.
    #[inline]
    pub(crate) fn is_only_to_send(&self, now: Time) -> bool {
        self.has_timers && self.by_time.is_none() && now < self.deadline
    }

    /// Returns whether pacing allows no departure at `now`.
    #[inline]
    pub(crate) fn rests(&self, now: Time) -> bool {
        let holds_back = |meter: &MeteredPacer| meter.holds_back(now);
        self.meter.as_deref().is_some_and(holds_back)
    }

    /// Returns the number of losses for which the judge has memory.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.judge.held()
    }

    /// Records that the path lost this segment. Only the oracle and the scores use this.
    pub fn on_lost(&mut self, sequence: u64, cause: Cause) {
        self.judge.on_lost(sequence, cause, self.una);
    }

    /// Returns the classifier's verdict on the loss that the last event found, if any. With it come
    /// the lost segments of the window that had no verdict yet, and their true causes.
    #[inline]
    pub fn judgement(&self) -> Option<(Judgement, &[(u64, Cause)])> {
        self.judge.judgement()
    }

    /// Frees a final verdict, which has been scored.
    pub(crate) fn scored(&mut self) {
        self.judge.clear();
    }

    /// Moves the left edge to the number in `ack`. Passes the acknowledgement to the timer, the
    /// classifier and the controller.
    #[inline]
    fn advance(&mut self, now: Time, ack: &Ack, stamped: Time, sacked: u64, in_recovery: bool) {
        let rtt = self.measure(now, ack);
        self.advance_with(now, ack, stamped, sacked, in_recovery, rtt);
    }

    /// Moves the left edge like [`Self::advance`], with the given round-trip time for the
    /// classifier and the controller.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the engine's hot path is one piece of code"
    )]
    fn advance_with(
        &mut self,
        now: Time,
        ack: &Ack,
        stamped: Time,
        sacked: u64,
        in_recovery: bool,
        rtt: Option<Duration>,
    ) {
        let acked = self.bytes(ack.next - self.una);
        self.una = ack.next;
        self.nxt = self.nxt.max(ack.next);
        let event = AckEvent::new(now, self.segment_size)
            .acked(acked)
            .app_limited(self.nxt >= self.segments || self.handshaking)
            .in_recovery(in_recovery);
        if !self.attentive && matches!(self.control.controller(), Held::Reno(_)) {
            // Reno uses only these fields, and the compiler does not remove unused computations.
            self.control.on_ack(&event);
        } else {
            let event = event
                .sacked(sacked)
                .acknowledged(self.bytes(self.una))
                .in_flight(self.bytes(self.nxt - self.una))
                .window(self.usable_window())
                .rtt(rtt)
                .receiver_stamp(self.stamp(stamped));
            self.tell(&event);
        }
    }

    /// Passes an acknowledgement to the classifier and the controller.
    #[inline(never)]
    fn tell(&mut self, ack: &AckEvent) {
        if self.attentive {
            self.judge.on_ack(ack);
            self.meter_rate(ack.now);
        }
        self.control.on_ack(ack);
    }

    /// Returns the reading of the receiver's timestamp clock at `at`.
    #[inline]
    fn stamp(&self, at: Time) -> Option<Time> {
        let tick = self.timestamp_tick.as_nanos() as u64;
        match tick {
            0 => None,
            1 => Some(at),
            _ => Some(Time::from_nanos(at.as_nanos() / tick * tick)),
        }
    }

    /// Returns FlightSize in segments: those in the network (RFC 5681 §2). Segments that duplicates
    /// or SACK blocks report as arrived do not count, because a long recovery can send several
    /// windows.
    fn outstanding(&self) -> u64 {
        let sacked = self
            .scoreboard
            .as_ref()
            .map_or(0, |s| s.count_below(self.nxt));
        let left = sacked.max(u64::from(self.inflation));
        (self.nxt - self.una).saturating_sub(left)
    }

    /// Returns the loss event of segment `una`, with `in_flight` segments in flight.
    fn loss_event(&self, now: Time, detection: Detection, in_flight: u64) -> LossEvent {
        let known = |rtt: Duration| (rtt != Duration::MAX).then_some(rtt);
        let departures = self.vegas.as_ref().and_then(|v| v.sent.of(self.una));
        LossEvent::new(now, detection, self.segment_size)
            .first(self.bytes(self.una))
            .sent(departures.map(|departures| departures.last))
            .transmissions(departures.map_or(1, |departures| departures.count))
            .in_flight(self.bytes(in_flight))
            .window(self.usable_window())
            .rtt(known(self.latest_rtt))
            .min_rtt(known(self.min_rtt))
    }

    /// Returns the cause of the loss that begins with segment `first`.
    fn classify(&mut self, loss: &LossEvent, first: u64) -> Cause {
        let before = (self.control.window(), self.control.ssthresh());
        self.judge.judge(loss, first, before).verdict
    }

    /// Concludes a recovery. If its verdict was pending and is now wireless, undoes the reaction to
    /// the loss.
    fn conclude(&mut self, now: Time) {
        let Some((cause, cwnd, ssthresh)) = self.judge.on_recovery_end(now) else {
            return;
        };
        if cause == Cause::Wireless {
            self.control.on_spurious_loss(now, cwnd, ssthresh);
        }
    }

    /// Restarts the timer if anything is outstanding, and stops it otherwise (RFC 6298 §5.2, §5.3).
    #[inline]
    fn restart_timer(&mut self, now: Time) {
        self.deadline = if self.una < self.max {
            now.later(self.rto.timeout())
        } else {
            Time::MAX
        };
    }

    /// Lets the segments within the window leave.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    fn open_window(&mut self) {
        self.open_to(self.window_segments());
    }

    /// Returns the controller's window in whole segments.
    #[inline]
    fn window_segments(&self) -> u64 {
        self.control.window() / u64::from(self.segment_size)
    }

    /// Lets the segments within a window of `window` segments leave.
    #[inline]
    fn open_to(&mut self, window: u64) {
        let window = window.min(u64::from(self.receive_window));
        self.edge = self.una.saturating_add(window);
    }

    /// Returns the size of this many segments in bytes.
    #[inline]
    fn bytes(&self, segments: u64) -> u64 {
        segments.saturating_mul(u64::from(self.segment_size))
    }

    /// Returns the smaller of the controller's and the receiver's window, in bytes.
    #[inline]
    fn usable_window(&self) -> u64 {
        let receive_window = self.bytes(u64::from(self.receive_window));
        self.control.window().min(receive_window)
    }

    /// Sets the work that each acknowledgement needs until the state changes again.
    fn settle(&mut self) {
        self.handshaking &= self.una < self.handshake_length();
        self.attention = if self.is_unsettled() {
            Attention::All
        } else if self.meter.is_some() {
            Attention::Pacing
        } else {
            Attention::Edge
        };
    }

    /// Returns whether acknowledgements need all work: during the handshake, a recovery or a gap,
    /// with ECN, and with Vegas or RACK.
    fn is_unsettled(&self) -> bool {
        let sacked = self.scoreboard.as_ref().is_some_and(|s| !s.is_empty());
        self.handshaking
            || self.in_recovery
            || self.duplicates > 0
            || sacked
            || self.ecn.is_some()
            || matches!(self.recovery, Recovery::Vegas | Recovery::Rack)
    }

    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    #[inline(always)]
    fn measure(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        let sent = match self.rtt_sampling {
            RttSampling::EveryAck => (ack.echo <= now).then_some(ack.echo)?,
            RttSampling::OncePerWindow => {
                if ack.next <= self.timed_sequence {
                    return None;
                }
                self.timed_sequence = UNTIMED;
                self.timed_at
            }
        };
        let (sent, now) = self.ticks(sent, now);
        self.rto.sample(sent, now);
        let rtt = now.since(sent);
        self.note_rtt(rtt);
        Some(rtt)
    }

    /// Rounds the start and the end of a round trip to ticks of the clock that measures it.
    #[inline]
    fn ticks(&self, sent: Time, now: Time) -> (Time, Time) {
        let tick = u64::from(self.rtt_tick);
        if tick <= 1 {
            return (sent, now);
        }
        let sent = sent.as_nanos() / tick;
        let now = (now.as_nanos() / tick).max(sent + 1);
        let at = |ticks: u64| Time::from_nanos(ticks.saturating_mul(tick));
        (at(sent), at(now))
    }

    #[inline]
    fn note_rtt(&mut self, rtt: Duration) {
        self.latest_rtt = rtt;
        self.min_rtt = self.min_rtt.min(rtt);
    }
}
