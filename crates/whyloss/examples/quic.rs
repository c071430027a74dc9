//! A classifier and a controller for a QUIC stack: what the stack's callbacks say, as the events of this crate.
//!
//! The callbacks are shaped like those of quinn, noq and s2n-quic: packets with numbers and sizes, sent, acknowledged and
//! lost one by one, and one congestion event for a batch. QUIC's packets have no place in a byte stream; the ledger gives
//! each an offset in the order of sending, as [`whyloss::event`] wants it.
//!
//! `cargo run -p whyloss --example quic`

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use whyloss::congestion::Start;
use whyloss::event::{AckEvent, Detection, LossEvent, SentEvent};
use whyloss::schemes::{CongestionControl, Scheme};
use whyloss::{Cause, Time};

/// What a QUIC stack calls.
struct Adapter {
    control: CongestionControl,
    epoch: Instant,
    mtu: u32,
    /// Packets from the first one that is not settled on, in the order of sending.
    ledger: VecDeque<Packet>,
    /// Offset behind the last packet.
    sent: u64,
    /// Bytes neither acknowledged nor lost.
    in_flight: u64,
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// A recovery goes on until a packet sent from this offset on is acknowledged (RFC 9002 §7.3.2).
    recovery: Option<u64>,
}

struct Packet {
    number: u64,
    bytes: u64,
    offset: u64,
    left: Time,
    settled: bool,
    /// Acknowledged, not lost.
    acked: bool,
}

impl Adapter {
    fn new(scheme: &Scheme, epoch: Instant, mtu: u32) -> Self {
        Self {
            control: scheme.start(&Start::new(mtu)),
            epoch,
            mtu,
            ledger: VecDeque::new(),
            sent: 0,
            in_flight: 0,
            rtt: None,
            min_rtt: None,
            recovery: None,
        }
    }

    /// The stack's clock as ours: time since the connection began.
    fn time(&self, now: Instant) -> Time {
        now.saturating_duration_since(self.epoch).into()
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        let left = self.time(now);
        self.ledger.push_back(Packet {
            number,
            bytes,
            offset: self.sent,
            left,
            settled: false,
            acked: false,
        });
        let offset = self.sent;
        self.sent += bytes;
        self.in_flight += bytes;
        let event = SentEvent::new(left, bytes).offset(offset);
        self.control.on_sent(&event.in_flight(self.in_flight));
    }

    /// Packet `number` is acknowledged; the stack measured `rtt` if it was the largest.
    fn on_packet_acked(
        &mut self,
        now: Instant,
        number: u64,
        rtt: Option<Duration>,
        app_limited: bool,
    ) {
        let Some(packet) = self.settle(number, true) else {
            return;
        };
        self.rtt = rtt.or(self.rtt);
        self.min_rtt = self.min_rtt.into_iter().chain(rtt).min();
        let in_recovery = self.recovery.is_some();
        let ends = self.recovery.is_some_and(|recover| packet.0 >= recover);
        // `acked` is what the left edge passes, `sacked` what arrived beyond it.
        let (passed, acknowledged) = self.pass();
        let ack = AckEvent::new(self.time(now), self.mtu)
            .acked(passed)
            .sacked(if passed == 0 { packet.1 } else { 0 })
            .acknowledged(acknowledged)
            .in_flight(self.sent - acknowledged)
            .window(self.control.window())
            .rtt(rtt.map(Into::into))
            .app_limited(app_limited)
            .in_recovery(in_recovery);
        self.control.on_ack(&ack);
        if ends {
            self.recovery = None;
            self.control.on_recovery_end(ack.now, u64::MAX);
        }
    }

    fn on_packet_lost(&mut self, number: u64) {
        self.settle(number, false);
    }

    /// A batch of losses, the first of which was packet `first` sent at `sent_from`, or ECN marks. Most stacks tell of every
    /// batch: a recovery that goes on takes no notice of packets sent before it.
    fn on_congestion_event(
        &mut self,
        now: Instant,
        first: u64,
        detection: Detection,
    ) -> Option<Cause> {
        let packet = self.ledger.iter().find(|packet| packet.number == first);
        let (offset, left) = packet.map_or((self.sent, None), |p| (p.offset, Some(p.left)));
        if self.recovery.is_some_and(|recover| offset < recover) && !detection.is_timeout() {
            return None;
        }
        let loss = LossEvent::new(self.time(now), detection, self.mtu)
            .first(offset)
            .sent(left)
            .in_flight(self.in_flight)
            .window(self.control.window())
            .rtt(self.rtt.map(Into::into))
            .min_rtt(self.min_rtt.map(Into::into));
        self.recovery = (!detection.is_timeout()).then_some(self.sent);
        Some(self.control.on_loss(&loss))
    }

    fn on_spurious_congestion_event(&mut self, now: Instant) {
        self.control.on_spurious_loss(self.time(now));
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
        self.control.on_mtu_change(self.mtu);
    }

    fn window(&self) -> u64 {
        self.control.window()
    }

    /// Marks a packet; gives its offset and size if it was under way.
    fn settle(&mut self, number: u64, acked: bool) -> Option<(u64, u64)> {
        let packet = self
            .ledger
            .iter_mut()
            .find(|packet| packet.number == number)?;
        if packet.settled {
            return None;
        }
        packet.settled = true;
        packet.acked = acked;
        self.in_flight -= packet.bytes;
        Some((packet.offset, packet.bytes))
    }

    /// Moves the left edge past all settled packets: the acknowledged bytes it passes, and where it is then.
    fn pass(&mut self) -> (u64, u64) {
        let mut passed = 0;
        while self.ledger.front().is_some_and(|packet| packet.settled)
            && let Some(packet) = self.ledger.pop_front()
        {
            passed += if packet.acked { packet.bytes } else { 0 };
        }
        let edge = self
            .ledger
            .front()
            .map_or(self.sent, |packet| packet.offset);
        (passed, edge)
    }
}

/// A connection over 50 ms and a queue of 80 packets at 1000 packets a second; after the first 2000 packets the radio
/// loses one of 200.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheme = Scheme::of("cubic", "keep", "veno")?;
    #[expect(
        clippy::disallowed_methods,
        reason = "only the epoch: all else is virtual time"
    )]
    let start = Instant::now();
    let mut quic = Adapter::new(&scheme, start, 1200);
    let (mut number, mut at) = (0_u64, Duration::ZERO);
    let mut free = Duration::ZERO;
    let mut under_way: VecDeque<(Duration, u64, Duration, bool)> = VecDeque::new();
    let mut causes = [0, 0];
    for _ in 0..40_000 {
        // Everything that the window allows leaves now.
        while quic.in_flight + 1200 <= quic.window() {
            quic.on_packet_sent(start + at, 1200, number);
            let dropped = free.saturating_sub(at) > Duration::from_millis(80);
            if !dropped {
                free = free.max(at) + Duration::from_millis(1);
            }
            let lost = dropped || number > 2000 && number % 200 == 77;
            under_way.push_back((free.max(at) + Duration::from_millis(50), number, at, lost));
            number += 1;
        }
        let Some((arrives, number, left, lost)) = under_way.pop_front() else {
            break;
        };
        at = at.max(arrives);
        if lost {
            let said = quic.on_congestion_event(start + at, number, Detection::Duplicates);
            quic.on_packet_lost(number);
            if let Some(cause) = said {
                causes[cause as usize] += 1;
            }
        } else {
            quic.on_packet_acked(start + at, number, Some(at.saturating_sub(left)), false);
        }
    }
    let share = number as f64 / at.as_secs_f64() / 10.0;
    println!(
        "{} losses by congestion, {} on the air, {share:.0} % of the link used",
        causes[0], causes[1]
    );
    // The rest of what a stack tells.
    quic.on_mtu_update(1400);
    quic.on_spurious_congestion_event(start + at);
    println!("window: {} bytes", quic.window());
    Ok(())
}
