//! Delivery rate sampling: the rate at which the path delivered the latest flight
//! (draft-ietf-ccwg-bbr-06 §4.1, formerly draft-cheng-iccrg-delivery-rate-estimation).
//!
//! ```text
//! sent           P = (delivered, delivered_time, first_send_time, lost, inflight) as they are now
//! acknowledged   delivered += size of P,  delivered_time = now
//! sample         for the newest packet P that the acknowledgement delivers:
//!                rate = (delivered − P.delivered) / interval, in bytes per time
//!                interval = max(P.send_time − P.first_send_time, now − P.delivered_time)
//! ```
//!
//! A sample has no rate if the interval is shorter than the smallest round-trip time so far: an
//! earlier transmission then caused the acknowledgement. For the same reason, a shorter round-trip
//! time of a retransmission does not count (RFC 8985 §6.2). The newest packet is the one sent last;
//! packets need no identifiers.
//!
//! # Contract
//!
//! The transport keeps the [`Snapshot`] that [`DeliveryRate::on_sent`] returns for each packet in
//! flight. It passes the snapshot to [`DeliveryRate::on_acked`] when the packet is acknowledged,
//! cumulatively or selectively, or to [`DeliveryRate::on_lost`] when it is marked as lost. After
//! all packets of an acknowledgement, it calls [`DeliveryRate::sample`]. A retransmission is a new
//! packet with a new snapshot. If a packet marked as lost arrives after all, it is acknowledged
//! with its old snapshot.
//!
//! # Losses that are not congestion
//!
//! A controller that reacts to the loss rate must not count losses that a classifier calls wireless
//! and its policy spares. The transport passes such packets to [`DeliveryRate::on_spared_loss`]
//! instead of [`DeliveryRate::on_lost`]. They leave the bytes in flight and enter no loss counter,
//! and the controller is not called.

use crate::rate::share;
use crate::{Duration, Rate, Time};

/// The state of a packet in flight, which the transport keeps until the packet is acknowledged or
/// lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The number of packets sent before this one.
    order: u64,
    sent: Time,
    /// P.delivered, P.delivered_time, P.first_send_time, P.lost and P.tx_in_flight of the draft.
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    lost: u64,
    in_flight: u64,
    size: u32,
    app_limited: bool,
    retransmission: bool,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Lost,
    Acknowledged,
}

impl Snapshot {
    /// Returns the number of packets that were sent before the packet of this snapshot.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// Returns whether the packet has neither been acknowledged nor marked as lost.
    pub fn is_under_way(&self) -> bool {
        self.fate == Fate::UnderWay
    }

    /// Splits off `size` bytes of the packets that left together under this snapshot, so that they
    /// can be acknowledged or marked as lost separately.
    #[must_use]
    pub fn split(&mut self, size: u32) -> Self {
        let size = size.min(self.size);
        self.size -= size;
        Self { size, ..*self }
    }

    /// Returns whether the packet of this snapshot has been acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.fate == Fate::Acknowledged
    }
}

/// A rate sample: the measurements of the path from one acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateSample {
    /// The arrival time of the acknowledgement.
    pub now: Time,
    /// The delivery rate; `None` if the interval was too short to be reliable.
    pub delivery_rate: Option<Rate>,
    /// The round-trip time of the newest packet; `None` if an earlier transmission may have caused
    /// the acknowledgement.
    pub rtt: Option<Duration>,
    /// The bytes delivered over the interval (RS.delivered).
    pub delivered: u64,
    /// The bytes that had been delivered when the newest packet was sent (RS.prior_delivered).
    pub prior_delivered: u64,
    /// The bytes delivered so far (C.delivered).
    pub total_delivered: u64,
    /// The bytes that this acknowledgement delivers (RS.newly_acked).
    pub newly_acked: u64,
    /// The bytes found lost since the newest packet was sent (RS.lost).
    pub lost: u64,
    /// The bytes in flight just after the newest packet was sent (RS.tx_in_flight).
    pub sent_in_flight: u64,
    /// The bytes in flight now: sent, not acknowledged, not marked as lost (C.inflight).
    pub in_flight: u64,
    /// Whether the newest packet was sent while the application limited the rate.
    pub app_limited: bool,
    /// Whether the window stopped the sender at any time in the last round trip
    /// (C.is_cwnd_limited).
    pub window_limited: bool,
    /// When the sender sent its first packet after an idle period; `None` unless it was idle since
    /// the last sample.
    pub restarted: Option<Time>,
}

/// A packet marked as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostPacket {
    /// When the packet was found lost.
    pub now: Time,
    /// The packet's size in bytes.
    pub size: u32,
    /// The number of bytes delivered before the packet was sent (`P.delivered` of the draft).
    pub prior_delivered: u64,
    /// The bytes delivered so far (C.delivered).
    pub total_delivered: u64,
    /// The bytes found lost since the packet was sent, itself included (RS.lost).
    pub lost: u64,
    /// The number of bytes in flight just after the packet was sent (`P.tx_in_flight` of the
    /// draft).
    pub sent_in_flight: u64,
    /// Whether the packet was sent while the application limited the rate.
    pub app_limited: bool,
    /// Whether a new range of losses begins: the previous packet in sending order was not the last
    /// one marked as lost.
    pub begins_range: bool,
}

/// Measures the delivery rate of a connection.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    lost: u64,
    in_flight: u64,
    /// The number of packets sent.
    sent: u64,
    newest_acked: u64,
    /// One past the order of the last packet marked as lost.
    after_lost: u64,
    /// The application limits the rate until `delivered` exceeds this value; 0 if it does not.
    app_limited: u64,
    /// The value of `delivered` that ends the round trip in which the window stopped the sender;
    /// `None` if the window did not stop it.
    window_limited: Option<u64>,
    restarted: Option<Time>,
    /// C.min_rtt; [`Duration::MAX`] before the first sample.
    min_rtt: Duration,
    /// The newest packet of the current acknowledgement.
    newest: Option<Snapshot>,
    newly_acked: u64,
}

impl Default for DeliveryRate {
    /// Creates the state before anything is sent.
    fn default() -> Self {
        Self {
            delivered: 0,
            delivered_time: Time::ZERO,
            first_sent_time: Time::ZERO,
            lost: 0,
            in_flight: 0,
            sent: 0,
            newest_acked: 0,
            after_lost: 0,
            app_limited: 0,
            window_limited: None,
            restarted: None,
            min_rtt: Duration::MAX,
            newest: None,
            newly_acked: 0,
        }
    }
}

impl DeliveryRate {
    /// Records that a packet of `size` bytes is sent at `now`.
    pub fn on_sent(&mut self, now: Time, size: u32, retransmission: bool) -> Snapshot {
        if self.in_flight == 0 {
            self.first_sent_time = now;
            self.delivered_time = now;
            if self.app_limited > 0 {
                self.restarted = Some(now);
            }
        }
        self.in_flight = self.in_flight.saturating_add(u64::from(size));
        let snapshot = Snapshot {
            order: self.sent,
            sent: now,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            lost: self.lost,
            in_flight: self.in_flight,
            size,
            app_limited: self.app_limited > 0,
            retransmission,
            fate: Fate::UnderWay,
        };
        self.sent += 1;
        snapshot
    }

    /// Records the first acknowledgement of a packet; ignores later ones.
    pub fn on_acked(&mut self, now: Time, packet: &mut Snapshot) {
        if packet.fate == Fate::Acknowledged {
            return;
        }
        self.leave(packet, Fate::Acknowledged);
        self.delivered = self.delivered.saturating_add(u64::from(packet.size));
        self.newly_acked = self.newly_acked.saturating_add(u64::from(packet.size));
        self.delivered_time = now;
        self.newest_acked = self.newest_acked.max(packet.order);
        if self.newest.is_none_or(|newest| newest.order < packet.order) {
            self.newest = Some(*packet);
        }
    }

    /// Marks a packet as lost at `now`; returns `None` if it was no longer in flight.
    pub fn on_lost(&mut self, now: Time, packet: &mut Snapshot) -> Option<LostPacket> {
        if packet.fate != Fate::UnderWay {
            return None;
        }
        self.leave(packet, Fate::Lost);
        self.lost = self.lost.saturating_add(u64::from(packet.size));
        let begins_range = packet.order == 0 || packet.order != self.after_lost;
        self.after_lost = packet.order + 1;
        Some(LostPacket {
            now,
            size: packet.size,
            prior_delivered: packet.delivered,
            total_delivered: self.delivered,
            lost: self.lost - packet.lost,
            sent_in_flight: packet.in_flight,
            app_limited: packet.app_limited,
            begins_range,
        })
    }

    /// Marks a packet as lost for another cause than congestion, so no loss counter includes it.
    /// Does nothing if it was no longer in flight.
    pub fn on_spared_loss(&mut self, packet: &mut Snapshot) {
        if packet.fate == Fate::UnderWay {
            self.leave(packet, Fate::Lost);
        }
    }

    /// Records that the sender has nothing to send, although window and pacing would allow it.
    pub fn mark_app_limited(&mut self) {
        self.app_limited = self.delivered.saturating_add(self.in_flight).max(1);
    }

    /// Records that only the window keeps the sender from sending.
    pub fn mark_window_limited(&mut self) {
        self.window_limited = Some(self.delivered.saturating_add(self.in_flight));
    }

    /// Returns how many packets had been sent before the newest one acknowledged so far; 0 before
    /// the first.
    pub fn newest_acked(&self) -> u64 {
        self.newest_acked
    }

    /// Returns the bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the sample of the current acknowledgement, after all its packets; `None` if it
    /// delivered no packet.
    pub fn sample(&mut self, now: Time) -> Option<RateSample> {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let window_limited = self.window_limited.is_some_and(|end| self.delivered <= end);
        if !window_limited {
            self.window_limited = None;
        }
        let newest = self.newest.take()?;
        let newly_acked = core::mem::take(&mut self.newly_acked);
        let send_elapsed = newest.sent - newest.first_sent_time;
        let ack_elapsed = now - newest.delivered_time;
        let interval = send_elapsed.max(ack_elapsed);
        self.first_sent_time = newest.sent;
        let delivered = self.delivered - newest.delivered;
        let rtt = now - newest.sent;
        let rtt = (!newest.retransmission || rtt >= self.min_rtt).then_some(rtt);
        self.min_rtt = self.min_rtt.min(rtt.unwrap_or(Duration::MAX));
        Some(RateSample {
            now,
            delivery_rate: rate(delivered, interval).filter(|_| interval >= self.min_rtt),
            rtt,
            delivered,
            prior_delivered: newest.delivered,
            total_delivered: self.delivered,
            newly_acked,
            lost: self.lost - newest.lost,
            sent_in_flight: newest.in_flight,
            in_flight: self.in_flight,
            app_limited: newest.app_limited,
            window_limited,
            restarted: self.restarted.take(),
        })
    }

    /// Removes the packet from the bytes in flight.
    fn leave(&mut self, packet: &mut Snapshot, fate: Fate) {
        if packet.fate == Fate::UnderWay {
            self.in_flight = self.in_flight.saturating_sub(u64::from(packet.size));
        }
        packet.fate = fate;
    }
}

/// Returns the rate of `bytes` in `interval`; `None` if the interval is not positive.
fn rate(bytes: u64, interval: Duration) -> Option<Rate> {
    let nanos = u64::try_from(interval.as_nanos()).ok();
    let nanos = nanos.filter(|&nanos| nanos > 0)?;
    Some(Rate::from_bps(share(bytes, 8_000_000_000, nanos)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let mut path = DeliveryRate::default();
        // Ten packets leave within 9 ms. The first is acknowledged at 100 ms, and one more every 5
        // ms.
        let mut packets: Vec<_> = (0..10).map(|i| path.on_sent(ms(i), 1000, false)).collect();
        path.on_acked(ms(100), &mut packets[0]);
        let first = path.sample(ms(100)).unwrap();
        // 1000 bytes in the 100 ms since the flight began.
        assert_eq!(first.delivery_rate, Some(Rate::from_bps(80_000)));
        assert_eq!(first.rtt, Some(Duration::from_millis(100)));
        assert_eq!((first.in_flight, first.sent_in_flight), (9000, 1000));
        // Another packet leaves now …
        let mut next = path.on_sent(ms(100), 1000, false);
        for (i, packet) in packets.iter_mut().enumerate().skip(1) {
            path.on_acked(ms(100 + 5 * i as u64), packet);
        }
        path.on_acked(ms(200), &mut next);
        let sample = path.sample(ms(200)).unwrap();
        // … and its sample is the rate of the 10 packets acknowledged in the 100 ms since it left.
        assert_eq!(sample.delivery_rate, Some(Rate::from_bps(800_000)));
        assert_eq!((sample.delivered, sample.prior_delivered), (10_000, 1000));
        assert_eq!(
            (sample.newly_acked, sample.total_delivered),
            (10_000, 11_000)
        );
        assert_eq!(path.sample(ms(201)), None);
        // Ten packets leave from 210 to 480 ms, and all are acknowledged at 580 ms.
        let mut packets: Vec<_> = (0..10)
            .map(|i| path.on_sent(ms(210 + 30 * i), 1000, false))
            .collect();
        for packet in &mut packets {
            path.on_acked(ms(580), packet);
        }
        let sample = path.sample(ms(580)).unwrap();
        // The flight began at 210 ms with nothing in flight. Sending took 270 ms, and the
        // acknowledgement came 370 ms after the beginning.
        assert_eq!(
            sample.delivery_rate,
            Some(Rate::from_bps(10_000 * 8000 / 370))
        );
    }

    /// A packet leaves every 30 ms. The first is acknowledged at 100 ms, and all others 250 ms
    /// later, when 270 ms have passed between the departures of the first and the last.
    #[test]
    fn acknowledgements_in_a_bunch_count_at_the_rate_of_sending() {
        let mut path = DeliveryRate::default();
        let mut packets = Vec::new();
        for i in 0..10 {
            packets.push(path.on_sent(ms(30 * i), 1000, false));
            if i == 3 {
                path.on_acked(ms(100), &mut packets[0]);
                path.sample(ms(100)).expect("a packet was delivered");
            }
        }
        for packet in &mut packets[1..] {
            path.on_acked(ms(350), packet);
        }
        let sample = path.sample(ms(350)).expect("packets were delivered");
        assert_eq!(
            sample.delivery_rate,
            Some(Rate::from_bps(9_000 * 8000 / 270))
        );
    }

    #[test]
    fn losses_count_from_when_the_packet_was_sent() {
        let mut path = DeliveryRate::default();
        let mut packets: Vec<_> = (0..6).map(|i| path.on_sent(ms(i), 1000, false)).collect();
        let lost = path.on_lost(ms(9), &mut packets[1]).unwrap();
        assert_eq!((lost.lost, lost.sent_in_flight), (1000, 2000));
        assert!(lost.begins_range);
        assert!(!path.on_lost(ms(9), &mut packets[2]).unwrap().begins_range);
        let lost = path.on_lost(ms(9), &mut packets[4]).unwrap();
        assert_eq!(
            (lost.lost, lost.sent_in_flight, lost.begins_range),
            (3000, 5000, true)
        );
        assert_eq!(path.on_lost(ms(9), &mut packets[4]), None);
        // A spared loss only leaves the bytes in flight.
        path.on_spared_loss(&mut packets[5]);
        assert_eq!(path.in_flight(), 2000);
        // No packet was lost since the retransmission was sent.
        packets[1] = path.on_sent(ms(10), 1000, true);
        path.on_acked(ms(110), &mut packets[0]);
        let sample = path.sample(ms(110)).unwrap();
        assert_eq!((sample.lost, sample.in_flight), (3000, 2000));
        path.on_acked(ms(115), &mut packets[1]);
        let sample = path.sample(ms(115)).unwrap();
        assert_eq!((sample.lost, sample.in_flight), (0, 1000));
        // A packet that was marked as lost arrives after all. It counts as delivered; it had
        // already left the bytes in flight.
        path.on_acked(ms(116), &mut packets[4]);
        assert_eq!((path.in_flight(), path.delivered), (1000, 3000));
    }

    #[test]
    fn what_has_arrived_cannot_be_lost() {
        let mut path = DeliveryRate::default();
        let mut packet = path.on_sent(ms(0), 1000, false);
        path.on_acked(ms(100), &mut packet);
        path.on_spared_loss(&mut packet);
        path.on_acked(ms(110), &mut packet);
        assert_eq!((path.in_flight(), path.delivered), (0, 1000));
    }

    #[test]
    fn an_early_acknowledgement_of_a_retransmission_says_nothing() {
        let mut path = DeliveryRate {
            min_rtt: Duration::from_millis(100),
            ..DeliveryRate::default()
        };
        let mut packet = path.on_sent(ms(0), 1000, false);
        path.on_lost(ms(9), &mut packet);
        let mut again = path.on_sent(ms(90), 1000, true);
        path.on_acked(ms(101), &mut again);
        let sample = path.sample(ms(101)).unwrap();
        assert_eq!((sample.delivery_rate, sample.rtt), (None, None));
        assert_eq!(sample.newly_acked, 1000);
    }

    #[test]
    fn an_idle_application_marks_the_next_round() {
        let mut path = DeliveryRate::default();
        let mut limits = |from: u64| {
            let mut packet = path.on_sent(ms(from), 1000, false);
            path.on_acked(ms(from + 100), &mut packet);
            let sample = path.sample(ms(from + 100)).unwrap();
            path.mark_window_limited();
            if from == 0 {
                path.mark_app_limited();
            }
            (sample.app_limited, sample.window_limited, sample.restarted)
        };
        assert_eq!(limits(0), (false, false, None));
        // The application limit is marked at 1000 delivered bytes with none in flight. It applies
        // until more than 1000 are delivered.
        assert_eq!(limits(150), (true, false, Some(ms(150))));
        assert_eq!(limits(300), (false, false, None));
        let mut packets: Vec<_> = (0..4)
            .map(|i| path.on_sent(ms(500 + i), 1000, false))
            .collect();
        path.mark_window_limited();
        let mut limited = Vec::new();
        let mut more = path.on_sent(ms(600), 1000, false);
        for packet in packets.iter_mut().chain([&mut more]) {
            path.on_acked(ms(700), packet);
            limited.push(path.sample(ms(700)).unwrap().window_limited);
        }
        assert_eq!(limited, [true, true, true, true, false]);
    }
}
