//! Congestion control for transports with packet numbers, such as QUIC.
//!
//! Report sent, acknowledged and lost packets; read the window, the pacing rate and the causes of
//! loss. All classifiers and controllers of the registries work here.
//!
//! ```
//! use whyloss::connection::Connection;
//! use whyloss::schemes::Scheme;
//! use whyloss::{Duration, Time};
//!
//! let mut connection = Connection::new(&Scheme::of("bbr", "keep", "trees")?, 1200);
//! let mut now = Time::from_nanos(1_000_000_000);
//! for number in 0..10 {
//!     connection.on_packet_sent(number, 1200, now, false);
//! }
//! now = now + Duration::from_millis(50);
//! connection.on_packets_acked(0..7, now);
//! if let Some(verdict) = connection.on_packets_lost([7], now) {
//!     println!("{:?}, odds of congestion {:?}", verdict.cause, verdict.odds);
//! }
//! let room = connection.window() - connection.in_flight();
//! # assert!(room > 0);
//! # Ok::<(), whyloss::schemes::SchemeError>(())
//! ```
//!
//! # Contract
//!
//! - Numbers increase with each packet that counts as in flight. Times never decrease. A stack with
//!   several number spaces (QUIC) either numbers all packets in one sequence of its own, or uses
//!   one `Connection` per path after the handshake.
//! - For each acknowledgement, call [`on_packets_acked`](Connection::on_packets_acked) once. Then
//!   call [`on_packets_lost`](Connection::on_packets_lost) for the losses that it reveals, and
//!   [`on_ecn_ce`](Connection::on_ecn_ce) if it reports marks.
//! - Send while [`in_flight`](Connection::in_flight) plus the next packet fits into
//!   [`window`](Connection::window), at [`pacing_rate`](Connection::pacing_rate) or below. At most
//!   a [`send_quantum`](crate::congestion::send_quantum) may leave back to back.
//! - A report about an unknown packet, or one already acknowledged or lost, has no effect. A sent
//!   packet whose number does not increase is ignored.
//! - A connection remembers at most [`MOST_PACKETS`] packets, or the number set by
//!   [`most_packets`](Connection::most_packets). After that, each new packet replaces the oldest.
//!   Only this ledger grows; once it has its full size, nothing allocates.
//!
//! # Events
//!
//! Classifiers and controllers receive these events. The *left edge* is the byte offset before
//! which all packets are settled: acknowledged or lost.
//!
//! ```text
//! acknowledgements   one `AckEvent` for each packet that the left edge passes; a single one if it
//!                    passes none, or during a recovery; the last one has the round-trip time
//! losses             one event per recovery period (RFC 9002 §7.3.2), timeout or persistent
//!                    congestion (§7.6); later losses of packets sent before the period add none
//! recovery           ends with the acknowledgement of a packet sent after it began
//! acknowledged       the left edge; but after a single loss it stays there until the recovery ends
//!                    or a second packet is lost, so that one loss does not look like several
//! in flight          the bytes sent beyond `acknowledged`; in a `LossEvent`, those from the first
//!                    lost packet on
//! round-trip time    of the newest packet in a batch, unless a newer one was acknowledged before;
//!                    includes the peer's delay, unless the stack reports its own with `on_rtt`
//! ```

mod by_time;
mod ledger;
#[cfg(test)]
mod tests;

use alloc::collections::TryReserveError;

use crate::congestion::{AnyController, Controller, Growth, Start};
use crate::event::{AckEvent, Detection, LossEvent, MarkEvent, SentEvent};
use crate::schemes::{CongestionControl, Scheme};
use crate::sender::{Classifier, SenderClassifier};
use crate::{Cause, Duration, Rate, Time};

use ledger::{FirstLost, Ledger, PACKET_THRESHOLD};

/// The default number of packets that a connection remembers.
pub const MOST_PACKETS: usize = 1 << 18;

/// The maximum number of steps into which an acknowledged batch is split.
const MOST_STEPS: u64 = 1 << 12;

/// Congestion control of one connection by packet numbers. See the [module](self) for the contract.
#[derive(Clone, Debug)]
pub struct Connection<S = Classifier, C = AnyController> {
    control: CongestionControl<S, C>,
    ledger: Ledger,
    mtu: u32,
    latest_rtt: Option<Duration>,
    /// The smallest round trip, including the peer's delay (RFC 9002 §5.2).
    min_rtt: Option<Duration>,
    /// The stack's own measurement of the round trip for the next acknowledgement.
    told_rtt: Option<Duration>,
    /// The largest packet number acknowledged at the last search for losses.
    largest: Option<u64>,
    /// The departure time of the newest acknowledged packet.
    newest: Option<Time>,
    app_limited: bool,
    /// Whether a timeout was the last event other than sending.
    timed_out: bool,
    verdict: Option<Verdict>,
    batch: Batch,
    recovery: Recovery,
}

/// The cause of a loss event and how it was detected.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// The cause that the classifier found. A controller that weighs causes itself (`whyloss`)
    /// replaces it: wireless if the controller cuts nothing, otherwise congestion.
    pub cause: Cause,
    /// The odds of congestion, p/(1 − p) for probability p; `None` if the classifier does not
    /// estimate them, and always for `whyloss`.
    pub odds: Option<f64>,
    /// The way in which the loss was detected.
    pub detection: Detection,
    /// When the loss was detected.
    pub at: Time,
}

/// The batch of acknowledgements being processed.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    /// The packets with one sending time that are not yet in the ledger, and their bytes.
    left: Option<Time>,
    bytes: u64,
    /// The departure time of the newest packet in the batch.
    newest: Option<Time>,
}

/// The current or last recovery.
#[derive(Clone, Copy, Debug, Default)]
struct Recovery {
    /// When this recovery began; `None` before the first.
    start: Option<Time>,
    goes_on: bool,
    /// The offset that holds the left edge.
    hold: Option<u64>,
    /// The acknowledged bytes beyond the held edge.
    held: u64,
    /// The first packet lost since the last congestion event, and the number of lost packets.
    first: Option<FirstLost>,
    lost: u32,
}

impl Connection {
    /// Creates a connection under `scheme`, with packets of at most `mtu` bytes (at least 1) and
    /// RFC 9002's initial window.
    pub fn new(scheme: &Scheme, mtu: u32) -> Self {
        let start = Self::start(mtu);
        Self::with(scheme.start_metered(&start), mtu)
    }
}

impl<S: SenderClassifier, C: Controller> Connection<S, C> {
    /// Returns the initial state for packet numbers: [`Start::new`] with [`Growth::PerWindow`],
    /// because no acknowledgement is cumulative.
    pub const fn start(mtu: u32) -> Start {
        Start {
            growth: Growth::PerWindow,
            ..Start::new(mtu)
        }
    }

    /// Creates a connection under any control, including your own, with packets of at most `mtu`
    /// bytes (at least 1).
    pub fn with(control: CongestionControl<S, C>, mtu: u32) -> Self {
        Self {
            ledger: Ledger::new(control.control().wants_rate_samples()),
            control,
            mtu: mtu.max(1),
            latest_rtt: None,
            min_rtt: None,
            told_rtt: None,
            largest: None,
            newest: None,
            app_limited: false,
            timed_out: false,
            verdict: None,
            batch: Batch::default(),
            recovery: Recovery::default(),
        }
    }

    /// Limits the remembered packets to `packets`, at least 1.
    #[must_use]
    pub fn most_packets(mut self, packets: usize) -> Self {
        self.ledger.bound(packets);
        self
    }

    /// Allocates the ledger at its full size now, so that no later call allocates.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.ledger.reserve()
    }

    /// Returns the classifier, controller and policy in use.
    pub fn control(&self) -> &CongestionControl<S, C> {
        &self.control
    }

    /// Returns how many bytes may be in flight: at least two packets (RFC 9002 §7.2), because a
    /// stack with a window of one may wait forever.
    pub fn window(&self) -> u64 {
        self.control.window().max(2 * u64::from(self.mtu))
    }

    /// Returns the bytes in flight: sent, neither acknowledged nor lost.
    pub fn in_flight(&self) -> u64 {
        self.ledger.open()
    }

    /// Returns the rate to pace packets at; `None` to send as acknowledgements arrive.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }

    /// Returns the verdict on the last loss event; `None` before the first. A classifier that
    /// revises verdicts (`episode`) may change the cause when the recovery ends.
    pub fn last_verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Reports that packet `number`, of `bytes` bytes, leaves at `now`. Set `app_limited` if the
    /// application has no more data although window and pacing would allow it.
    pub fn on_packet_sent(&mut self, number: u64, bytes: u64, now: Time, app_limited: bool) {
        if self.ledger.last().is_some_and(|last| number <= last) {
            return;
        }
        self.on_sent(now, bytes.min(u64::from(u32::MAX)), number);
        self.app_limited = app_limited;
        if app_limited {
            if let Some(meter) = self.ledger.meter() {
                meter.mark_app_limited();
            }
        } else if self.in_flight() + u64::from(self.mtu) > self.window() {
            self.on_window_limited();
        }
    }

    /// Sets the round-trip time for the next acknowledgement. Subtract the delay that the peer
    /// reports (RFC 9002 §5.3; at most its `max_ack_delay`), which would otherwise look like a
    /// queue. The value is clamped between the smallest round trip and the connection's own
    /// measurement.
    pub fn on_rtt(&mut self, rtt: Duration) {
        self.told_rtt = Some(rtt);
    }

    /// Reports an acknowledgement of these packets, which arrives at `now`.
    pub fn on_packets_acked(&mut self, numbers: impl IntoIterator<Item = u64>, now: Time) {
        let mut largest = None;
        for number in numbers {
            if let Some((found, left)) = self.ledger.find(number) {
                self.ledger.acked_alone(now, found);
                self.batch.newest = self.batch.newest.max(Some(left));
                largest = largest.max(Some(number));
            }
        }
        self.finish_acked(largest, now);
    }

    /// Reports an acknowledgement at `now` of every packet up to number `through`, except those in
    /// `missing`, which must increase. Suits stacks that list the packets in flight, but not the
    /// packets that an acknowledgement removed.
    pub fn on_packets_acked_through(
        &mut self,
        through: u64,
        missing: impl IntoIterator<Item = u64>,
        now: Time,
    ) {
        let mut missing = missing.into_iter().peekable();
        let (mut largest, mut index) = (None, 0);
        while let Some((number, left)) = self.ledger.at_index(index)
            && number <= through
        {
            while missing.next_if(|&missing| missing < number).is_some() {}
            if missing.peek() != Some(&number) && self.ledger.acked_alone(now, index) > 0 {
                self.batch.newest = self.batch.newest.max(Some(left));
                largest = Some(number);
            }
            index += 1;
        }
        self.finish_acked(largest, now);
    }

    fn finish_acked(&mut self, largest: Option<u64>, now: Time) {
        if largest.is_some() {
            self.timed_out = false;
            self.finish_batch(now, self.app_limited, largest);
        }
        self.told_rtt = None;
    }

    /// Reports lost packets, detected by later acknowledgements or by time. Returns the verdict if
    /// they begin a new loss event; other losses belong to the previous one.
    pub fn on_packets_lost(
        &mut self,
        numbers: impl IntoIterator<Item = u64>,
        now: Time,
    ) -> Option<Verdict> {
        let mut last = None;
        for number in numbers {
            if let Some((found, left)) = self.ledger.find(number) {
                let first = self.ledger.lost_alone(found);
                self.recovery.first = self.recovery.first.or(Some(first));
                self.recovery.lost += 1;
                last = last.max(Some(left));
            }
        }
        self.on_lost(now, last?, false)
    }

    /// Undoes the last loss event's effect on the window. Call it if all packets reported lost in
    /// that event have arrived after all.
    pub fn on_spurious(&mut self, now: Time) {
        self.control.on_spurious_loss(now);
    }

    /// Reports that the last acknowledgement carried ECN-CE. It counts once per recovery period.
    pub fn on_ecn_ce(&mut self, now: Time) {
        self.on_marked(now, self.newest.unwrap_or(now));
    }

    /// Reports that the retransmission timer expired; report the abandoned packets as lost
    /// afterwards. Do not call it for QUIC's probe timeout (RFC 9002 §6.2).
    pub fn on_timeout(&mut self, now: Time) -> Verdict {
        let loss = self.loss(now, Detection::Timeout, self.ledger.first());
        let loss = loss.repeated(self.timed_out);
        self.timed_out = true;
        self.tell_loss(&loss, false)
    }

    /// Reports persistent congestion: everything sent over a long period was lost (RFC 9002 §7.6).
    /// Report the packets as lost first.
    pub fn on_persistent_congestion(&mut self, now: Time) -> Verdict {
        let loss = self.loss(now, Detection::PersistentCongestion, self.ledger.first());
        self.tell_loss(&loss, false)
    }

    /// Sets the largest packet size to `mtu` bytes; 0 counts as 1.
    pub fn on_mtu_change(&mut self, mtu: u32) {
        self.mtu = mtu.max(1);
        self.control.on_mtu_change(self.mtu);
    }

    /// Returns the number of packets for which the ledger has room.
    pub fn held(&self) -> usize {
        self.ledger.held()
    }

    fn tell_ack(&mut self, now: Time, rtt: Option<Duration>, app_limited: bool, in_recovery: bool) {
        let passed = self.ledger.pass();
        if let Some(meter) = self.ledger.meter() {
            if app_limited {
                meter.mark_app_limited();
            }
            if let Some(sample) = meter.sample(now) {
                self.control.on_rate_sample(&sample);
            }
        }
        let sent = self.ledger.sent();
        let ack = AckEvent::new(now, self.mtu)
            .app_limited(app_limited)
            .in_recovery(in_recovery);
        if let Some(hold) = self.recovery.hold {
            self.recovery.held += passed.acked;
            let ack = ack.sacked(passed.fresh).acknowledged(hold);
            let ack = ack.window(self.control.window()).rtt(rtt);
            return self.control.on_ack(&ack.in_flight(sent - hold));
        }
        let edge = self.ledger.edge();
        let mut rest = passed.acked + core::mem::take(&mut self.recovery.held);
        // Report each packet separately, since windows grow by acknowledged bytes (RFC 9002
        // §7.3.1). The number of steps is limited in case packets are far larger than `mtu`.
        let step = u64::from(self.mtu).max(rest / MOST_STEPS);
        while !in_recovery && rest > step {
            rest -= step;
            let ack = ack.acked(step).acknowledged(edge - rest);
            let ack = ack.window(self.control.window());
            self.control.on_ack(&ack.in_flight(sent - (edge - rest)));
        }
        let ack = ack.acked(rest).sacked(passed.sacked).acknowledged(edge);
        let ack = ack.window(self.control.window()).rtt(rtt);
        self.control.on_ack(&ack.in_flight(sent - edge));
    }

    /// Builds the event of a loss that begins at `first`, or at the left edge.
    fn loss(&self, now: Time, detection: Detection, first: Option<FirstLost>) -> LossEvent {
        let offset = first.map_or(self.ledger.edge(), |first| first.offset);
        LossEvent::new(now, detection, self.mtu)
            .first(offset)
            .sent(first.map(|first| first.left))
            .in_flight(self.ledger.sent() - offset)
            .window(self.control.window())
            .rtt(self.latest_rtt)
            .min_rtt(self.min_rtt)
    }

    /// Reports a loss event, which begins a recovery unless the window restarts. After a
    /// `single` lost packet, the reported left edge stays there.
    fn tell_loss(&mut self, loss: &LossEvent, single: bool) -> Verdict {
        let verdict = Verdict {
            cause: self.control.on_loss(loss),
            odds: self.control.classifier().odds(),
            detection: loss.detection,
            at: loss.now,
        };
        self.verdict = Some(verdict);
        let goes_on = !loss.detection.is_timeout();
        self.begin_recovery(loss.now, goes_on, (single && goes_on).then_some(loss.first));
        verdict
    }

    fn begin_recovery(&mut self, now: Time, goes_on: bool, hold: Option<u64>) {
        self.recovery.start = Some(now);
        self.recovery.goes_on = goes_on;
        self.recovery.hold = hold;
        self.tell_lost(now);
    }

    /// Reports lost bytes to the rate meter and, unless spared, to the controller.
    fn tell_lost(&mut self, now: Time) {
        let control = &mut self.control;
        let spared = control.control().spares_losses();
        self.ledger.tell_lost(|meter, part| {
            if spared {
                meter.on_spared_loss(part);
            } else if let Some(lost) = meter.on_lost(now, part) {
                control.on_packet_lost(&lost);
            }
        });
    }
}
