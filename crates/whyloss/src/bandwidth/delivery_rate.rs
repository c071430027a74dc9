//! Delivery rate sampling: how fast the path delivered the latest flight (draft-ietf-ccwg-bbr-06
//! §4.1, before that draft-cheng-iccrg-delivery-rate-estimation).
//!
//! ```text
//! sent           P = (delivered, delivered_time, first_send_time, lost, inflight) as they are now
//! acknowledged   delivered += size of P,  delivered_time = now
//! sample         of the newest packet P that the acknowledgement delivers:                     [bytes, time]
//!                delivered − P.delivered  ÷  max(send_time − P.first_send_time, now − P.delivered_time)
//! ```
//!
//! No rate is given if the divisor is below the smallest round-trip time measured here: then the
//! packet was acknowledged by what an earlier transmission of it had caused. A retransmission gives
//! no round-trip time below that either (RFC 8985 §6.2). "Newest" is by order of transmission;
//! packets need no identifiers.
//!
//! # Contract
//!
//! The transport keeps a [`Snapshot`] per packet under way, which [`DeliveryRate::on_sent`] gives.
//! It hands it back once when the packet is acknowledged, cumulatively or selectively
//! ([`DeliveryRate::on_acked`]), or marked as lost, and after all packets of one acknowledgement
//! asks for [`DeliveryRate::sample`]. A retransmission is a new packet, with a new snapshot instead
//! of the old one. A packet that was marked as lost and arrives nevertheless is acknowledged with
//! its old snapshot.
//!
//! # Losses that are not congestion
//!
//! A controller that reacts to the rate of losses shall not count those that a classifier calls
//! wireless and its policy spares. The transport marks them with [`DeliveryRate::on_spared_loss`]
//! instead of [`DeliveryRate::on_lost`]: they are no longer under way, but count as lost nowhere,
//! and there is nothing to tell the controller.

use crate::rate::share;
use crate::{Duration, Rate, Time};

/// The state kept of a packet under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// How many packets had been sent before.
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
    /// How many packets had been sent before it.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// Whether it has neither been acknowledged nor marked as lost.
    pub fn is_under_way(&self) -> bool {
        self.fate == Fate::UnderWay
    }

    /// Takes `size` bytes of what left together under this snapshot, to be acknowledged or marked
    /// as lost by themselves.
    #[must_use]
    pub fn split(&mut self, size: u32) -> Self {
        let size = size.min(self.size);
        self.size -= size;
        Self { size, ..*self }
    }

    /// Whether it has been acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.fate == Fate::Acknowledged
    }
}

/// A rate sample: an acknowledgement's measure of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateSample {
    /// When it arrived.
    pub now: Time,
    /// The delivery rate; `None` if the interval was too short to be believed.
    pub delivery_rate: Option<Rate>,
    /// The round-trip time of the newest packet; `None` if it may be that of an earlier
    /// transmission.
    pub rtt: Option<Duration>,
    /// Bytes delivered over the interval (RS.delivered).
    pub delivered: u64,
    /// Bytes that had been delivered when the newest packet was sent (RS.prior_delivered).
    pub prior_delivered: u64,
    /// Bytes delivered so far (C.delivered).
    pub total_delivered: u64,
    /// Bytes that this acknowledgement delivers (RS.newly_acked).
    pub newly_acked: u64,
    /// Bytes found lost since the newest packet was sent (RS.lost).
    pub lost: u64,
    /// Bytes that were under way once the newest packet had been sent (RS.tx_in_flight).
    pub sent_in_flight: u64,
    /// Bytes under way now: sent, not acknowledged, not marked as lost (C.inflight).
    pub in_flight: u64,
    /// Whether the newest packet was sent while the application limited the rate.
    pub app_limited: bool,
    /// Whether the window stopped the sender at any time in the last round trip
    /// (C.is_cwnd_limited).
    pub window_limited: bool,
    /// The latest packet that was the first one after an idle time was sent at this time, if the
    /// sender has been idle since the last sample.
    pub restarted: Option<Time>,
}

/// A packet marked as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostPacket {
    /// When it was found lost.
    pub now: Time,
    /// The packet's size in bytes.
    pub size: u32,
    /// Bytes delivered when it was sent (P.delivered), …
    pub prior_delivered: u64,
    /// … and so far (C.delivered).
    pub total_delivered: u64,
    /// Bytes found lost since it was sent, it included (RS.lost).
    pub lost: u64,
    /// Bytes that were under way once it had been sent (P.tx_in_flight).
    pub sent_in_flight: u64,
    /// Whether it was sent while the application limited the rate.
    pub app_limited: bool,
    /// Whether the packet sent before it is not the one marked as lost before it: a new range of
    /// losses begins.
    pub begins_range: bool,
}

/// The state of a connection.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    lost: u64,
    in_flight: u64,
    /// Packets sent.
    sent: u64,
    newest_acked: u64,
    /// One past the order of the packet marked as lost last.
    after_lost: u64,
    /// The application limits the rate until more than so much has been delivered; 0: it does not.
    app_limited: u64,
    /// The window stopped the sender; a round trip later more than so much has been delivered.
    window_limited: Option<u64>,
    restarted: Option<Time>,
    /// C.min_rtt; [`Duration::MAX`] before the first sample.
    min_rtt: Duration,
    /// The newest packet of the acknowledgement that is being taken.
    newest: Option<Snapshot>,
    newly_acked: u64,
}

impl Default for DeliveryRate {
    /// Nothing has been sent.
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
    /// A packet of `size` bytes leaves at `now`.
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

    /// A packet is acknowledged for the first time; does nothing if it has been before.
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

    /// A packet is marked as lost at `now`; `None` if it was not under way any more.
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

    /// A packet is marked as lost, but not to congestion: it counts as lost nowhere. Does nothing
    /// if it was not under way any more.
    pub fn on_spared_loss(&mut self, packet: &mut Snapshot) {
        if packet.fate == Fate::UnderWay {
            self.leave(packet, Fate::Lost);
        }
    }

    /// The sender has nothing to send although window and pacing would allow it.
    pub fn mark_app_limited(&mut self) {
        self.app_limited = self.delivered.saturating_add(self.in_flight).max(1);
    }

    /// The sender has something to send, and only the window forbids it.
    pub fn mark_window_limited(&mut self) {
        self.window_limited = Some(self.delivered.saturating_add(self.in_flight));
    }

    /// How many packets had been sent before the newest one acknowledged so far; 0 before the
    /// first.
    pub fn newest_acked(&self) -> u64 {
        self.newest_acked
    }

    /// Bytes under way.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the sample of the acknowledgement whose packets have been told; `None` if it
    /// delivered none.
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

    /// The packet is no longer under way.
    fn leave(&mut self, packet: &mut Snapshot, fate: Fate) {
        if packet.fate == Fate::UnderWay {
            self.in_flight = self.in_flight.saturating_sub(u64::from(packet.size));
        }
        packet.fate = fate;
    }
}

/// `bytes` in `interval`; `None` if that is no time.
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
        // Ten packets in 9 ms, acknowledged from 100 ms on, one every 5 ms.
        let mut packets: Vec<_> = (0..10).map(|i| path.on_sent(ms(i), 1000, false)).collect();
        path.on_acked(ms(100), &mut packets[0]);
        let first = path.sample(ms(100)).unwrap();
        // 1000 bytes in the 100 ms since the flight began.
        assert_eq!(first.delivery_rate, Some(Rate::from_bps(80_000)));
        assert_eq!(first.rtt, Some(Duration::from_millis(100)));
        assert_eq!((first.in_flight, first.sent_in_flight), (9000, 1000));
        // A packet sent now …
        let mut next = path.on_sent(ms(100), 1000, false);
        for (i, packet) in packets.iter_mut().enumerate().skip(1) {
            path.on_acked(ms(100 + 5 * i as u64), packet);
        }
        path.on_acked(ms(200), &mut next);
        let sample = path.sample(ms(200)).unwrap();
        // … brings the rate of the 10 packets acknowledged in the 100 ms since the last
        // acknowledgement before it.
        assert_eq!(sample.delivery_rate, Some(Rate::from_bps(800_000)));
        assert_eq!((sample.delivered, sample.prior_delivered), (10_000, 1000));
        assert_eq!(
            (sample.newly_acked, sample.total_delivered),
            (10_000, 11_000)
        );
        assert_eq!(path.sample(ms(201)), None);
        // Sent over 300 ms, acknowledged within 110: the sending was slower. Ten packets in 270 ms
        // from 200 ms on.
        let mut packets: Vec<_> = (0..10)
            .map(|i| path.on_sent(ms(210 + 30 * i), 1000, false))
            .collect();
        for packet in &mut packets {
            path.on_acked(ms(580), packet);
        }
        let sample = path.sample(ms(580)).unwrap();
        // The flight began with nothing under way, at 210 ms: 370 ms from there to the
        // acknowledgement, 270 to send.
        assert_eq!(
            sample.delivery_rate,
            Some(Rate::from_bps(10_000 * 8000 / 370))
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
        // A spared loss is no longer under way, and that is all.
        path.on_spared_loss(&mut packets[5]);
        assert_eq!(path.in_flight(), 2000);
        // The retransmission has seen nothing lost since it was sent.
        packets[1] = path.on_sent(ms(10), 1000, true);
        path.on_acked(ms(110), &mut packets[0]);
        let sample = path.sample(ms(110)).unwrap();
        assert_eq!((sample.lost, sample.in_flight), (3000, 2000));
        path.on_acked(ms(115), &mut packets[1]);
        let sample = path.sample(ms(115)).unwrap();
        assert_eq!((sample.lost, sample.in_flight), (0, 1000));
        // A packet that was given up arrives nevertheless: delivered, but it was not under way.
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
        // Marked with 1000 bytes delivered and none under way: until more than those are delivered.
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
