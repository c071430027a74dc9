//! Properties of a controller with a policy, over any order of events.

use super::{Draws, Raw};
use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::congestion::{Controller, Start};
use crate::event::{AckEvent, Detection, LossEvent, MarkEvent, SentEvent};
use crate::policy::{UnderPolicy, WirelessPolicy};
use crate::{Cause, Duration, Rate, Time};

/// Asserts the properties of a controller with every policy, over many fixed sequences of events.
/// The window must be at least a segment and any pacing rate positive, and no call may panic.
///
/// # Panics
/// Panics if a property does not hold.
pub fn properties<C: Controller>(build: impl Fn(&Start) -> C) {
    super::sequences(|draws| {
        let start = Start {
            initial_window: draws.below(1 << 20),
            ..Start::new(draws.below(1 << 16) as u32)
        };
        let policy = policy(draws);
        let (operations, length) = draws.operations();
        let governed = UnderPolicy::new(build(&start), policy);
        check(governed, start.segment_size, &operations[..length]);
    });
}

fn policy(draws: &mut Draws) -> WirelessPolicy {
    match draws.below(6) {
        0 => WirelessPolicy::Keep,
        1 => WirelessPolicy::KeepWindow,
        2 => WirelessPolicy::AsCongestion,
        3 => WirelessPolicy::FlightSize,
        4 => WirelessPolicy::Percent(draws.next() as u8),
        _ => WirelessPolicy::KeepUnlessQueued(draws.next() as u16),
    }
}

/// The state of a transport with segments of `segment_size` bytes.
struct Transport {
    segment_size: u32,
    now: u64,
    acknowledged: u64,
    in_flight: u64,
    delivered: u64,
    in_recovery: bool,
}

/// Runs a controller with its policy over `operations`. Asserts after each operation that the
/// window is at least a segment and any pacing rate is positive. Segments start with `segment_size`
/// bytes.
///
/// # Panics
/// Panics if an assertion fails.
pub fn check<C: Controller>(mut control: UnderPolicy<C>, segment_size: u32, operations: &[Raw]) {
    let mut transport = Transport {
        segment_size: segment_size.max(1),
        now: 0,
        acknowledged: 0,
        in_flight: 0,
        delivered: 0,
        in_recovery: false,
    };
    for &operation in operations {
        transport.tell(&mut control, operation);
        assert!(control.window() >= u64::from(transport.segment_size));
        assert_ne!(control.pacing_rate(), Some(Rate::default()));
    }
}

impl Transport {
    /// Reports the event that an operation represents: usually an event of a working network,
    /// sometimes numbers that only a broken transport reports.
    fn tell<C: Controller>(&mut self, control: &mut UnderPolicy<C>, (kind, a, b): Raw) {
        self.now = self.now.saturating_add(a % 100_000_000);
        let now = Time::from_nanos(self.now);
        let segment = u64::from(self.segment_size);
        let cause = Cause::wireless_if(b % 2 == 0);
        match kind % 20 {
            0..=1 => {
                self.in_flight = self.in_flight.saturating_add(segment);
                let sent = SentEvent::new(now, segment)
                    .offset(self.acknowledged.saturating_add(self.in_flight))
                    .in_flight(self.in_flight)
                    .app_limited(b % 8 == 0);
                control.on_sent(&sent);
            }
            2..=6 => {
                let acked = (1 + b % 3) * segment;
                self.acknowledged = self.acknowledged.saturating_add(acked);
                self.in_flight = control.window().saturating_sub(b % 2 * segment);
                let rtt = Duration::from_micros(20_000 + (b >> 8) as i64 % 50_000);
                control.on_ack(&self.ack(now, control.window(), acked, Some(rtt)));
            }
            7 => control.on_ack(&self.ack(now, control.window(), 0, None)),
            // This acknowledgement has numbers of any size.
            8 => {
                self.in_flight = b;
                self.acknowledged = a % (1 << 60);
                let rtt = Some(Duration::from_nanos(b as i64));
                control.on_ack(&self.ack(now, a, b % (1 << 60), rtt));
            }
            9 | 10 => {
                let in_flight = control.window().min(self.in_flight.max(segment));
                self.in_recovery = true;
                let loss = self.loss(now, Detection::Duplicates, in_flight, control.window());
                control.on_loss(&loss, cause);
            }
            11 => {
                let loss = self.loss(now, Detection::TimeThreshold, a, b);
                control.on_loss(&loss, cause);
            }
            12 => {
                let mark = MarkEvent::new(now, self.segment_size)
                    .in_flight(self.in_flight)
                    .window(control.window());
                control.on_mark(&mark);
            }
            13 => {
                let detection = if b % 3 == 0 {
                    Detection::PersistentCongestion
                } else {
                    Detection::Timeout
                };
                self.in_recovery = false;
                let loss = self.loss(now, detection, b, control.window());
                control.on_timeout(&loss.repeated(b % 4 == 0), cause);
                assert!(
                    detection == Detection::Timeout || control.window() >= 2 * segment,
                    "persistent congestion leaves two segments (RFC 9002 §7.6.2)"
                );
            }
            14 => {
                self.in_recovery = false;
                let at_most = if b % 2 == 0 { u64::MAX } else { b };
                control.on_recovery_end(now, at_most);
            }
            15 => {
                let before = control.window();
                control.on_spurious_loss(now, a % (1 << 40), b);
                assert!(control.window() >= before, "undoing took something away");
            }
            16 => {
                self.segment_size = (1 + b % 65_535) as u32;
                control.on_mtu_change(self.segment_size);
            }
            17 => control.set_window(a, b),
            18 => control.on_rate_sample(&self.sample(now, a, b)),
            _ => control.on_packet_lost(&LostPacket {
                now,
                size: self.segment_size,
                prior_delivered: self.delivered,
                total_delivered: self.delivered,
                lost: a % (1 << 40),
                sent_in_flight: b % (1 << 40),
                app_limited: a % 5 == 0,
                begins_range: b % 2 == 0,
            }),
        }
    }

    fn ack(&self, now: Time, window: u64, acked: u64, rtt: Option<Duration>) -> AckEvent {
        AckEvent::new(now, self.segment_size)
            .acked(acked)
            .sacked(u64::from(acked == 0))
            .acknowledged(self.acknowledged)
            .in_flight(self.in_flight)
            .window(window)
            .rtt(rtt)
            .receiver_stamp(self.now.is_multiple_of(2).then_some(now))
            .app_limited(self.now.is_multiple_of(7))
            .in_recovery(self.in_recovery)
    }

    fn loss(&self, now: Time, detection: Detection, in_flight: u64, window: u64) -> LossEvent {
        LossEvent::new(now, detection, self.segment_size)
            .first(self.acknowledged)
            .in_flight(in_flight)
            .window(window)
            .rtt(Some(Duration::from_nanos((self.now % (1 << 40)) as i64)))
            .min_rtt(Some(Duration::from_millis(20)))
    }

    fn sample(&mut self, now: Time, a: u64, b: u64) -> RateSample {
        let before = self.delivered;
        self.delivered = before.saturating_add(b % (1 << 40));
        RateSample {
            now,
            delivery_rate: (!a.is_multiple_of(5)).then_some(Rate::from_bps(a)),
            rtt: (!b.is_multiple_of(3)).then(|| Duration::from_micros(b as i64 % 10_000_000)),
            delivered: b % (1 << 40),
            prior_delivered: before.saturating_sub(a % 100_000),
            total_delivered: self.delivered,
            newly_acked: b % (1 << 40) / 2,
            lost: b % (1 << 40) / 40,
            sent_in_flight: b % (1 << 40),
            in_flight: a % (1 << 40),
            app_limited: a.is_multiple_of(7),
            window_limited: a.is_multiple_of(2),
            restarted: a.is_multiple_of(11).then_some(now),
        }
    }
}
