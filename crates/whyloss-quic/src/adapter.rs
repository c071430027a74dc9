//! A stack's callbacks as [`whyloss::event`] has them: what both stacks share.
//!
//! ```text
//! acknowledgements   told packet by packet, with the end of the batch: one `AckEvent` for each packet that the left edge
//!                    passes, or for all that it does not; the last one has the round-trip time
//! losses             one event per recovery period (RFC 9002 §7.3.2): losses of packets that left before it began belong
//!                    to the one before; persistent congestion (§7.6) is always told
//! recovery           until a packet that left after it began is acknowledged, that one included
//! acknowledged       everything before it is settled; at the first loss of a recovery it waits until the recovery ends or
//!                    a second packet is lost, so that a single loss does not look like several (fqRTT)
//! in flight          sent and beyond `acknowledged`; at a loss, from the first lost packet on, as TCP's FlightSize
//! round-trip time    of the newest packet of a batch, if none sent later was acknowledged before; the peer's delay is in it
//! ```

use whyloss::congestion::{AnyController, ControllerSpec, Growth, Start};
use whyloss::event::{AckEvent, Detection, LossEvent, SentEvent};
use whyloss::schemes::CongestionControl;
use whyloss::sender::SenderClassifier;
use whyloss::{Duration, Rate, Time};

use crate::ledger::{FirstLost, Ledger, PACKET_THRESHOLD};

/// A connection's congestion control, told what both stacks tell.
#[derive(Clone, Debug)]
pub(crate) struct Adapter<S> {
    control: CongestionControl<S, AnyController>,
    ledger: Ledger,
    mtu: u32,
    initial_window: u64,
    latest_rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// The largest packet number acknowledged, by which losses were looked for.
    largest: Option<u64>,
    /// When the newest packet that was acknowledged left.
    newest: Option<Time>,
    batch: Batch,
    recovery: Recovery,
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

impl<S: SenderClassifier> Adapter<S> {
    pub(crate) fn new(
        classifier: S,
        controller: &ControllerSpec,
        mtu: u16,
        initial_window: Option<u64>,
    ) -> Self {
        let mut start = Start::new(mtu.into());
        start.initial_window = initial_window.unwrap_or(start.initial_window);
        start.growth = Growth::PerWindow;
        let control = CongestionControl::new(classifier, controller.build(&start));
        Self {
            ledger: Ledger::new(control.control().wants_rate_samples()),
            control,
            mtu: mtu.into(),
            initial_window: start.initial_window,
            latest_rtt: None,
            min_rtt: None,
            largest: None,
            newest: None,
            batch: Batch::default(),
            recovery: Recovery::default(),
        }
    }

    pub(crate) fn control(&self) -> &CongestionControl<S, AnyController> {
        &self.control
    }

    pub(crate) fn initial_window(&self) -> u64 {
        self.initial_window
    }

    /// The window, of no less than two packets (RFC 9002 §7.2): with one, quinn would wait for ever.
    pub(crate) fn window(&self) -> u64 {
        self.control.window().max(2 * u64::from(self.mtu))
    }

    /// Bytes from the left edge on.
    pub(crate) fn in_flight(&self) -> u64 {
        self.ledger.sent() - self.ledger.edge()
    }

    /// Packets for which there is room.
    pub(crate) fn held(&self) -> usize {
        self.ledger.held()
    }

    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }

    /// Packets of `bytes` in all leave, the last of them number `last`.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, bytes: u64, last: u64) {
        let offset = self.ledger.push(now, bytes, last);
        let sent = SentEvent::new(now, bytes)
            .offset(offset)
            .in_flight(self.in_flight());
        self.control.on_sent(&sent);
    }

    /// The window, and nothing else, stopped the stack from sending.
    pub(crate) fn on_window_limited(&mut self) {
        if let Some(meter) = self.ledger.meter() {
            meter.mark_window_limited();
        }
    }

    /// The same, if no further packet fits the window now: for a stack that does not say.
    pub(crate) fn infer_window_limited(&mut self) {
        // Only the meter wants to know.
        if self.ledger.meter().is_some() && self.in_flight() + u64::from(self.mtu) >= self.window()
        {
            self.on_window_limited();
        }
    }

    /// A packet of `bytes` that left at `left` is acknowledged.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, left: Time, bytes: u64) {
        if self.batch.left != Some(left) {
            self.enter(now, u64::MAX);
            self.batch.left = Some(left);
        }
        self.batch.bytes += bytes;
        self.batch.newest = self.batch.newest.max(Some(left));
    }

    /// The packet with this number, likewise.
    #[inline]
    pub(crate) fn on_ack_of(&mut self, now: Time, left: Time, bytes: u64, number: u64) {
        self.ledger.acked(now, left, bytes, number);
        self.batch.newest = self.batch.newest.max(Some(left));
    }

    /// Enters the packets of one time in the ledger, of which none has a number above `most`.
    fn enter(&mut self, now: Time, most: u64) {
        if let Some(left) = self.batch.left.take() {
            let bytes = std::mem::take(&mut self.batch.bytes);
            self.ledger.acked(now, left, bytes, most);
        }
    }

    /// The batch ends; the largest number acknowledged so far is told.
    pub(crate) fn on_end_acks(&mut self, now: Time, app_limited: bool, largest: Option<u64>) {
        self.enter(now, largest.unwrap_or(u64::MAX));
        let Some(newest) = self.batch.newest.take() else {
            return;
        };
        // Losses up to the number before have been told of by now.
        if let Some(before) = self.largest {
            self.ledger.overtake(before);
        }
        self.largest = largest.max(self.largest);
        let mut rtt = None;
        if self.newest < Some(newest) {
            self.newest = Some(newest);
            rtt = Some(now - newest).filter(|&rtt| rtt > Duration::ZERO);
            self.latest_rtt = rtt.or(self.latest_rtt);
            self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        }
        let in_recovery = self.recovery.goes_on;
        let ends = in_recovery && self.recovery.start < Some(newest);
        if ends {
            self.recovery.goes_on = false;
            self.recovery.hold = None;
        }
        self.tell_ack(now, rtt, app_limited, in_recovery);
        if ends {
            self.control.on_recovery_end(now, u64::MAX);
        }
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
        let mut rest = passed.acked + std::mem::take(&mut self.recovery.held);
        // As if each packet were acknowledged by itself: windows grow by what is acknowledged (RFC 9002 §7.3.1).
        while !in_recovery && rest > u64::from(self.mtu) {
            rest -= u64::from(self.mtu);
            let ack = ack.acked(self.mtu.into()).acknowledged(edge - rest);
            let ack = ack.window(self.control.window());
            self.control.on_ack(&ack.in_flight(sent - (edge - rest)));
        }
        let ack = ack.acked(rest).sacked(passed.sacked).acknowledged(edge);
        let ack = ack.window(self.control.window()).rtt(rtt);
        self.control.on_ack(&ack.in_flight(sent - edge));
    }

    /// Packet `number` of `bytes` is lost; the congestion event follows.
    pub(crate) fn on_packet_lost(&mut self, number: u64, bytes: u64) {
        let first = self.ledger.lost(number, bytes);
        self.recovery.first = self.recovery.first.or(first);
        self.recovery.lost += u32::from(first.is_some());
    }

    /// Packets of `bytes` in all are lost, the last of which left at `left`; the congestion event follows.
    pub(crate) fn on_lost_until(&mut self, left: Time, bytes: u64) {
        let mtu = u64::from(self.mtu);
        self.recovery.first = self.ledger.lost_until(left, bytes, mtu);
        self.recovery.lost = if bytes > mtu { 2 } else { 1 };
    }

    /// Packets were lost, the last of which left at `left`, or marked.
    pub(crate) fn on_congestion_event(
        &mut self,
        now: Time,
        left: Time,
        persistent: bool,
        marked: bool,
    ) {
        let first = self.recovery.first.take();
        let lost = std::mem::take(&mut self.recovery.lost);
        let belongs = self.recovery.start.is_some_and(|start| left <= start);
        if belongs && !persistent {
            if !marked {
                self.recovery.hold = None;
            }
            return self.tell_lost(now);
        }
        let overtaken = |first: FirstLost| {
            self.largest
                .is_some_and(|largest| first.number + PACKET_THRESHOLD <= largest)
        };
        let detection = match first {
            _ if persistent => Detection::PersistentCongestion,
            _ if marked => Detection::EcnCe,
            Some(first) if overtaken(first) => Detection::Duplicates,
            _ => Detection::TimeThreshold,
        };
        let offset = first.map_or(self.ledger.edge(), |first| first.offset);
        let loss = LossEvent::new(now, detection, self.mtu)
            .first(offset)
            .sent(first.map(|first| first.left))
            .in_flight(self.ledger.sent() - offset)
            .window(self.control.window())
            .rtt(self.latest_rtt)
            .min_rtt(self.min_rtt);
        self.control.on_loss(&loss);
        self.recovery.start = Some(now);
        self.recovery.goes_on = !persistent;
        self.recovery.hold = (lost == 1 && !persistent && !marked).then_some(offset);
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

    /// All that the last congestion event called lost has arrived.
    pub(crate) fn on_spurious_congestion_event(&mut self, now: Time) {
        self.control.on_spurious_loss(now);
    }

    pub(crate) fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
        self.control.on_mtu_change(self.mtu);
    }
}
