//! Tests connections by packet numbers: every controller of the registry works, and any order of
//! calls is safe.

#[path = "../examples/quic.rs"]
#[allow(dead_code, reason = "the example's main")]
mod quic;

use proptest::prelude::*;
use whyloss::connection::Connection;
use whyloss::event::Detection;
use whyloss::schemes::Scheme;
use whyloss::{Cause, Duration, Time, congestion};

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

#[test]
fn every_controller_fills_a_clean_link() {
    for entry in congestion::REGISTRY {
        let scheme = Scheme::of(entry.id, "keep", "trees").expect("registered");
        let (share, _) = quic::run(&scheme, u64::MAX, 30);
        assert!(share >= 85.0, "{}: {share:.1} %", entry.id);
    }
}

/// The radio loses one packet in 100, and the queue holds twice as many packets as the path.
#[test]
fn what_is_told_apart_keeps_the_link_busy() {
    let of = |classifier| {
        let scheme = Scheme::of("cubic", "keep", classifier).expect("registered");
        quic::run(&scheme, 100, 60)
    };
    let ((unaware, _), (trees, [congestion, wireless])) = (of("unaware"), of("trees"));
    assert!(trees > 2.0 * unaware, "{trees} {unaware}");
    assert!(wireless > 5 * congestion, "{congestion} {wireless}");
}

fn begun(classifier: &str) -> Connection {
    let scheme = Scheme::of("reno", "keep", classifier).expect("registered");
    let mut connection = Connection::new(&scheme, 1000);
    for number in 0..10 {
        connection.on_packet_sent(number, 1000, ms(number), false);
    }
    connection
}

/// Sends ten packets of 1000 bytes, which fill the initial window.
#[test]
fn a_window_by_hand() {
    let mut connection = begun("unaware");
    assert_eq!(
        (connection.window(), connection.in_flight()),
        (10_000, 10_000)
    );
    connection.on_packets_acked([0], ms(100));
    assert_eq!(
        (connection.window(), connection.in_flight()),
        (11_000, 9_000)
    );
    connection.on_packets_acked([2, 3, 4], ms(104));
    let verdict = connection
        .on_packets_lost([1], ms(104))
        .expect("a new event");
    assert_eq!(
        (verdict.cause, verdict.odds, verdict.detection),
        (Cause::Congestion, None, Detection::Duplicates)
    );
    assert_eq!(Some(verdict), connection.last_verdict());
    // The window becomes half of the nine packets in flight at the loss.
    assert_eq!(
        (connection.window(), connection.in_flight()),
        (4_500, 5_000)
    );
    // Packets that left before the recovery began belong to it.
    assert_eq!(connection.on_packets_lost([5], ms(105)), None);
    connection.on_spurious(ms(106));
    assert_eq!(connection.window(), 11_000);
    // Settled, unknown and out-of-order numbers have no effect.
    connection.on_packets_acked([0, 1, 5, 99], ms(107));
    connection.on_packet_sent(3, 1000, ms(107), false);
    assert_eq!(
        (connection.window(), connection.in_flight()),
        (11_000, 4_000)
    );
}

#[test]
fn marks_and_timeouts_by_hand() {
    let mut connection = begun("vegas");
    connection.on_packets_acked([0], ms(100));
    connection.on_ecn_ce(ms(100));
    assert_eq!(
        (connection.window(), connection.last_verdict()),
        (4_500, None)
    );
    // Marks count once per recovery period.
    connection.on_ecn_ce(ms(101));
    assert_eq!(connection.window(), 4_500);
    let verdict = connection.on_timeout(ms(1_100));
    assert_eq!(verdict.detection, Detection::Timeout);
    assert_eq!(connection.on_packets_lost(1..10, ms(1_100)), None);
    assert_eq!((connection.window(), connection.in_flight()), (2_000, 0));
}

/// A loss repaired within two round trips of 100 ms becomes wireless, and the window is restored.
#[test]
fn a_verdict_is_revised_when_the_recovery_ends() {
    for (repaired, window, cause) in [
        (205, 11_000, Cause::Wireless),
        (305, 4_500, Cause::Congestion),
    ] {
        let mut connection = begun("episode");
        connection.on_packets_acked([0], ms(100));
        connection.on_packets_acked([2, 3, 4], ms(104));
        let verdict = connection.on_packets_lost([1], ms(104)).expect("an event");
        assert_eq!(
            (verdict.cause, connection.window()),
            (Cause::Congestion, 4_500)
        );
        connection.on_packet_sent(10, 1000, ms(105), false);
        connection.on_packets_acked([10], ms(repaired));
        assert_eq!(connection.window(), window);
        assert_eq!(
            connection.last_verdict().map(|said| said.cause),
            Some(cause)
        );
    }
}

/// Trees give odds after eight acknowledgements, and the verdict agrees with the odds.
#[test]
fn odds_go_with_the_verdict() {
    let mut connection = begun("trees");
    for number in 0..9 {
        connection.on_packets_acked([number], ms(100 + number));
        connection.on_packet_sent(10 + number, 1000, ms(100 + number), false);
    }
    connection.on_packets_acked([10, 11, 12], ms(202));
    let verdict = connection.on_packets_lost([9], ms(202)).expect("an event");
    let odds = verdict.odds.expect("evidence");
    assert!(odds > 0.0 && odds.is_finite());
}

#[test]
fn the_oldest_packet_is_forgotten_at_the_bound() {
    let scheme = Scheme::of("bbr", "keep", "unaware").expect("registered");
    let mut connection = Connection::new(&scheme, 1000).most_packets(100);
    for number in 0..10_000 {
        connection.on_packet_sent(number, 1000, ms(number), false);
    }
    assert_eq!(connection.in_flight(), 100_000);
    assert!(connection.held() <= 256);
    connection.on_packets_acked([0, 9_900], ms(10_000));
    assert_eq!(connection.in_flight(), 99_000);
}

/// A packet size of 0 counts as 1, and packets far above it take a bounded number of steps.
#[test]
fn no_packet_size_stops_the_clock() {
    let scheme = Scheme::of("cubic", "keep", "trees").expect("registered");
    let mut connection = Connection::new(&scheme, 0);
    connection.on_packet_sent(0, u64::from(u32::MAX), ms(0), false);
    connection.on_packets_acked([0], ms(50));
    connection.on_mtu_change(0);
    connection.on_packet_sent(1, 1200, ms(60), false);
    connection.on_packets_acked([1], ms(110));
    assert_eq!(connection.in_flight(), 0);
}

/// A naive ledger: every packet that the connection remembers, with its bytes in flight, in sending
/// order.
#[derive(Default)]
struct Model {
    packets: Vec<(u64, u64)>,
    last: Option<u64>,
}

impl Model {
    /// The number of packets that it remembers.
    const MOST: usize = 64;

    fn sent(&mut self, number: u64, bytes: u64) {
        if self.last.is_none_or(|last| number > last) {
            self.last = Some(number);
            self.packets.push((number, bytes.min(u32::MAX.into())));
            if self.packets.len() > Self::MOST {
                self.packets.remove(0);
            }
        }
    }

    /// Settles these packets. Returns whether any of them was in flight.
    fn settle(&mut self, numbers: impl IntoIterator<Item = u64>) -> bool {
        let mut any = false;
        for number in numbers {
            for packet in self.packets.iter_mut().filter(|packet| packet.0 == number) {
                any |= packet.1 > 0;
                packet.1 = 0;
            }
        }
        any
    }

    /// Settles these packets. Also forgets the settled packets before the first one in flight.
    fn acked(&mut self, numbers: impl IntoIterator<Item = u64>) {
        if self.settle(numbers) {
            let settled = self.packets.iter().take_while(|packet| packet.1 == 0);
            self.packets.drain(..settled.count());
        }
    }

    fn in_flight(&self) -> u64 {
        self.packets.iter().map(|packet| packet.1).sum()
    }
}

proptest! {
    /// For any order of calls, the data in flight equals the naive ledger's, at least two packets
    /// may be in flight, and nothing panics.
    #[test]
    fn any_order_of_calls(
        controller in 0..congestion::REGISTRY.len(),
        calls in prop::collection::vec((0_u8..9, any::<u64>(), 0_u64..60), 0..300),
    ) {
        let scheme = Scheme::of(congestion::REGISTRY[controller].id, "percent", "trees").expect("registered");
        let mut connection = Connection::new(&scheme, 1200).most_packets(Model::MOST);
        let mut model = Model::default();
        let (mut now, mut next, mut mtu) = (Time::ZERO, 0_u64, 1200);
        for (kind, a, b) in calls {
            now += Duration::from_nanos((a % 20_000_000) as i64);
            let back = |by: u64| next.saturating_sub(by);
            match kind {
                0..=2 => {
                    // Some numbers leave a gap, repeat, or decrease.
                    let number = match b {
                        0 => a,
                        1 => next,
                        2 => back(a % 60),
                        _ => next.saturating_add(1 + b / 50),
                    };
                    let bytes = if b % 10 == 3 { a } else { 1200 * (b % 20).min(1) };
                    connection.on_packet_sent(number, bytes, now, a % 7 == 0);
                    model.sent(number, bytes);
                    next = next.max(number);
                }
                3 | 4 => {
                    if b % 3 == 0 {
                        connection.on_rtt(Duration::from_nanos(a as i64));
                    }
                    connection.on_packets_acked(back(b)..=back(b / 2), now);
                    model.acked(back(b)..=back(b / 2));
                }
                5 => {
                    let numbers = [back(b), a, back(b / 3)];
                    let verdict = connection.on_packets_lost(numbers, now);
                    let any = model.settle(numbers);
                    prop_assert!(any || verdict.is_none());
                }
                6 => connection.on_ecn_ce(now),
                7 if a % 2 == 0 => connection.on_spurious(now),
                7 => {
                    mtu = a as u32 % 9000;
                    connection.on_mtu_change(mtu);
                }
                _ if a % 2 == 0 => drop(connection.on_timeout(now)),
                _ => drop(connection.on_persistent_congestion(now)),
            }
            prop_assert_eq!(connection.in_flight(), model.in_flight());
            prop_assert!(connection.window() >= 2 * u64::from(mtu.max(1)));
            prop_assert!(connection.pacing_rate().is_none_or(|rate| rate.as_bps() > 0));
        }
    }
}
