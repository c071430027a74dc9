//! A connection by packet numbers: sent, acknowledged and lost packets go in, and out come the
//! window, the pacing rate, and why packets were lost. Every classifier and controller of the
//! registries works through it.
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
//! - Numbers rise with each packet that counts towards what is under way; times do not fall. A
//!   connection with several spaces of numbers (QUIC) counts its packets itself, or has one
//!   `Connection` per path after the handshake.
//! - One call of [`on_packets_acked`](Connection::on_packets_acked) for each acknowledgement that
//!   arrives, then one of [`on_packets_lost`](Connection::on_packets_lost) for what it reveals as
//!   lost, and [`on_ecn_ce`](Connection::on_ecn_ce) if it reports marks.
//! - Send while [`in_flight`](Connection::in_flight) and the next packet fit into
//!   [`window`](Connection::window), at most at [`pacing_rate`](Connection::pacing_rate) if there
//!   is one, no more than a [`send_quantum`](crate::congestion::send_quantum) at once.
//! - A number that is unknown, settled or not above the last one sent does nothing.
//! - [`MOST_PACKETS`] may be under way, unless [`most_packets`](Connection::most_packets) says
//!   otherwise; with one more, the oldest is forgotten. Nothing else grows, and nothing is
//!   allocated once the ledger has its size.
//!
//! # How it tells the parts
//!
//! ```text
//! acknowledgements   one `AckEvent` for each packet that the left edge passes, or for all that it does not; the last one has
//!                    the round-trip time
//! losses             one event per recovery period (RFC 9002 §7.3.2): losses of packets that left before it began belong
//!                    to the one before; timeouts and persistent congestion (§7.6) are always told
//! recovery           until a packet that left after it began is acknowledged, that one included
//! acknowledged       everything before it is settled; at the first loss of a recovery it waits until the recovery ends or
//!                    a second packet is lost, so that a single loss does not look like several (fqRTT, trees)
//! in flight          sent and beyond `acknowledged`; at a loss, from the first lost packet on, as TCP's FlightSize
//! round-trip time    of the newest packet of a batch, if none sent later was acknowledged before; the peer's delay is in it,
//!                    unless `on_rtt` tells what the stack measured without it
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

/// Packets that are remembered unless something else is said.
pub const MOST_PACKETS: usize = 1 << 18;

/// Acknowledgements that one batch is told as.
const MOST_STEPS: u64 = 1 << 12;

/// A connection's congestion control by packet numbers. See the [module](self) for the contract.
#[derive(Clone, Debug)]
pub struct Connection<S = Classifier, C = AnyController> {
    control: CongestionControl<S, C>,
    ledger: Ledger,
    mtu: u32,
    latest_rtt: Option<Duration>,
    /// The least one, the peer's delay included (RFC 9002 §5.2).
    min_rtt: Option<Duration>,
    /// The stack's own, by the acknowledgement that comes next.
    told_rtt: Option<Duration>,
    /// The largest packet number acknowledged, by which losses were looked for.
    largest: Option<u64>,
    /// When the newest packet that was acknowledged left.
    newest: Option<Time>,
    app_limited: bool,
    /// Whether a timeout was the last thing told but packets that leave.
    timed_out: bool,
    verdict: Option<Verdict>,
    batch: Batch,
    recovery: Recovery,
}

/// Why packets were lost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// The cause.
    pub cause: Cause,
    /// The odds of congestion, p/(1 − p), if the classifier weighs them.
    pub odds: Option<f64>,
    /// How the loss was found.
    pub detection: Detection,
    /// When it was found.
    pub at: Time,
}

/// The batch of acknowledgements that is being told.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    /// Packets of one time that are not entered in the ledger yet: their bytes.
    left: Option<Time>,
    bytes: u64,
    /// When its newest packet left.
    newest: Option<Time>,
}

/// The recovery that goes on, or the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Recovery {
    /// When it began.
    start: Option<Time>,
    goes_on: bool,
    /// Where the left edge waits.
    hold: Option<u64>,
    /// Acknowledged bytes that it would have passed.
    held: u64,
    /// The first packet lost since the last congestion event, and how many are.
    first: Option<FirstLost>,
    lost: u32,
}

impl Connection {
    /// Starts a connection under `scheme`, with packets of at most `mtu` bytes (at least 1) and the
    /// initial window of RFC 9002.
    pub fn new(scheme: &Scheme, mtu: u32) -> Self {
        let start = Self::start(mtu);
        Self::with(scheme.start_metered(&start), mtu)
    }
}

impl<S: SenderClassifier, C: Controller> Connection<S, C> {
    /// Where the controller of a connection by packet numbers starts: as [`Start::new`], but its
    /// window grows by whole windows, since no acknowledgement is cumulative.
    pub const fn start(mtu: u32) -> Start {
        Start {
            growth: Growth::PerWindow,
            ..Start::new(mtu)
        }
    }

    /// Starts a connection under any control, one's own included.
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

    /// Remembers at most `packets`, at least 1.
    #[must_use]
    pub fn most_packets(mut self, packets: usize) -> Self {
        self.ledger.bound(packets);
        self
    }

    /// Allocates the ledger at its full size now, so that no later call allocates.
    ///
    /// # Errors
    /// When there is no memory for so many packets.
    pub fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.ledger.reserve()
    }

    /// The classifier, controller and policy at work, to look at.
    pub fn control(&self) -> &CongestionControl<S, C> {
        &self.control
    }

    /// How many bytes may be under way; at least two packets (RFC 9002 §7.2), since with one a
    /// stack may wait for ever.
    pub fn window(&self) -> u64 {
        self.control.window().max(2 * u64::from(self.mtu))
    }

    /// Bytes under way: sent, not acknowledged, not lost.
    pub fn in_flight(&self) -> u64 {
        self.ledger.open()
    }

    /// The rate to pace packets at; `None`: as acknowledgements clock them.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }

    /// Returns the classifier's verdict on the last loss event; `None` before the first. A
    /// classifier that revises verdicts (`episode`) changes the cause when the recovery ends.
    pub fn last_verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// Packet `number` of `bytes` leaves at `now`. `app_limited`: there is nothing more to send
    /// although window and pacing would allow it.
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

    /// Tells the round trip of the acknowledgement told next, less the delay that the peer reports
    /// (RFC 9002 §5.3; at most its `max_ack_delay`), so that this delay does not look like a queue.
    /// A value below the least round trip counts as that one, and a value above the connection's
    /// own measurement as its own.
    pub fn on_rtt(&mut self, rtt: Duration) {
        self.told_rtt = Some(rtt);
    }

    /// An acknowledgement arrives at `now` and acknowledges these packets.
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

    /// An acknowledgement arrives at `now`, by which every packet up to number `through` has
    /// arrived but those in `missing`, whose numbers rise. For a stack that keeps a list of
    /// packets under way, but does not say which ones an acknowledgement removed from it.
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

    /// These packets are lost: by acknowledgements of later ones or by time. Gives the classifier's
    /// verdict if that is a new loss event; other losses belong to the one before.
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

    /// All that the last loss event called lost has arrived: what it did to the window is undone.
    pub fn on_spurious(&mut self, now: Time) {
        self.control.on_spurious_loss(now);
    }

    /// The acknowledgement told last reports ECN-CE: congestion, once per recovery period.
    pub fn on_ecn_ce(&mut self, now: Time) {
        self.on_marked(now, self.newest.unwrap_or(now));
    }

    /// The retransmission timer expired. Report the packets given up as lost after this call.
    /// (QUIC's probe timeout is none: RFC 9002 §6.2.)
    pub fn on_timeout(&mut self, now: Time) -> Verdict {
        let loss = self.loss(now, Detection::Timeout, self.ledger.first());
        let loss = loss.repeated(self.timed_out);
        self.timed_out = true;
        self.tell_loss(&loss, false)
    }

    /// Everything sent over a long period was lost (RFC 9002 §7.6). What it is has been told as
    /// lost before.
    pub fn on_persistent_congestion(&mut self, now: Time) -> Verdict {
        let loss = self.loss(now, Detection::PersistentCongestion, self.ledger.first());
        self.tell_loss(&loss, false)
    }

    /// Tells that packets have at most `mtu` bytes from now on; 0 counts as 1.
    pub fn on_mtu_change(&mut self, mtu: u32) {
        self.mtu = mtu.max(1);
        self.control.on_mtu_change(self.mtu);
    }

    /// Returns the number of packets that the ledger has room for.
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
        // As if each packet were acknowledged by itself: windows grow by what is acknowledged (RFC
        // 9002 §7.3.1). (At most 4,096 steps, or packets far larger than `mtu` would take for
        // ever.)
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

    /// A loss that begins at `first`, or at the left edge.
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

    /// Tells of a loss event, which begins a recovery unless the window starts anew. A `single`
    /// lost packet holds the edge.
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

    /// Puts on record what was lost, for controllers that measure rates.
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
