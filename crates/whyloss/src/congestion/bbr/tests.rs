//! Tests BBR on a path that delivers at a given rate, round by round, with a round-trip time of 100
//! ms. The simulator's tests run BBR over links with queues and losses.

use super::*;
use crate::congestion::Spared;
use crate::congestion::tests::{START, ack, loss};

pub(in crate::congestion) fn sample() -> RateSample {
    RateSample {
        now: Time::ZERO,
        delivery_rate: None,
        rtt: None,
        delivered: 0,
        prior_delivered: 0,
        total_delivered: 0,
        newly_acked: 0,
        lost: 0,
        sent_in_flight: 0,
        in_flight: 0,
        app_limited: false,
        window_limited: false,
        restarted: None,
    }
}

pub(in crate::congestion) fn lost() -> LostPacket {
    LostPacket {
        now: Time::ZERO,
        size: 1000,
        prior_delivered: 0,
        total_delivered: 0,
        lost: 0,
        sent_in_flight: 0,
        app_limited: false,
        begins_range: true,
    }
}

/// The bandwidth-delay product at 10 Mbit/s and 100 ms, in bytes.
const BDP: u64 = 125_000;
const RTT: Duration = Duration::from_millis(100);

struct Path {
    bbr: Bbr,
    now: Time,
    total: u64,
}

impl Path {
    fn new() -> Self {
        Self {
            bbr: Bbr::new(&START),
            now: Time::ZERO,
            total: 0,
        }
    }

    /// Runs a round trip at `mbps` with a single acknowledgement. Afterwards `in_flight` bytes are
    /// in flight, if the window allows. Returns the state.
    fn round(&mut self, mbps: u64, in_flight: u64) -> State {
        let in_flight = in_flight.min(self.bbr.window());
        self.now += RTT;
        let rate = Rate::from_mbps(mbps);
        let delivered = delivered_in(rate, RTT);
        let prior_delivered = self.total;
        self.total += delivered;
        self.bbr.on_rate_sample(&RateSample {
            now: self.now,
            delivery_rate: Some(rate),
            rtt: Some(RTT),
            delivered,
            prior_delivered,
            total_delivered: self.total,
            newly_acked: delivered,
            sent_in_flight: in_flight,
            in_flight,
            ..sample()
        });
        self.bbr.state
    }

    /// Runs rounds at 10 Mbit/s until BBR is in `state`.
    fn until(&mut self, state: State, in_flight: u64) {
        let rounds = (0..80).find(|_| self.round(10, in_flight) == state);
        assert!(rounds.is_some(), "{:?}", self.bbr.state);
    }

    /// Returns a path in Cruise at 10 Mbit/s, half a second after the start.
    fn cruising() -> Self {
        let mut path = Self::new();
        for _ in 0..4 {
            path.round(10, 2 * BDP);
        }
        assert_eq!(path.round(10, BDP), State::ProbeBw(Phase::Cruise));
        path
    }

    /// Returns the path of `cruising` once it probes.
    fn probing() -> Self {
        let mut path = Self::cruising();
        path.until(State::ProbeBw(Phase::Up), BDP);
        path
    }

    fn lose(&mut self, bytes: u64, sent_in_flight: u64) {
        self.bbr.on_packet_lost(&LostPacket {
            now: self.now,
            total_delivered: self.total,
            prior_delivered: self.total,
            lost: bytes,
            sent_in_flight,
            ..lost()
        });
    }
}

#[test]
fn the_first_round_trip_sets_the_pace() {
    let mut path = Path::new();
    // 2000 bytes in a millisecond are 16 Mbit/s; the gain is 2.77.
    assert_eq!(path.bbr.pacing_rate(), Some(Rate::from_kbps(44_320)));
    // In 100 ms they are 160 kbit/s, which exceeds the sample of 80 kbit/s.
    path.bbr.on_rate_sample(&RateSample {
        now: path.now + RTT,
        delivery_rate: Some(Rate::from_kbps(80)),
        rtt: Some(RTT),
        newly_acked: 1000,
        ..sample()
    });
    assert_eq!(path.bbr.pacing_rate(), Some(Rate::from_bps(443_200)));
}

#[test]
fn startup_ends_when_the_rate_no_longer_grows() {
    let mut path = Path::new();
    // In each round, the rate grows by a quarter or by slightly less.
    assert_eq!(path.round(4, BDP), State::Startup);
    assert_eq!(path.round(8, BDP), State::Startup);
    assert_eq!(path.bbr.pacing_rate(), Some(Rate::from_bps(21_938_400)));
    for _ in 0..2 {
        assert_eq!(path.round(9, 2 * BDP), State::Startup);
    }
    assert_eq!(path.round(10, 2 * BDP), State::Startup);
    for _ in 0..2 {
        assert_eq!(path.round(10, 2 * BDP), State::Startup);
    }
    assert_eq!(path.round(10, 2 * BDP), State::Drain(8));
    // The rate is 0.99·0.5·10 Mbit/s. The window is two BDP plus the data acknowledged together.
    assert_eq!(path.bbr.pacing_rate(), Some(Rate::from_kbps(4950)));
    assert_eq!(path.bbr.window(), 3 * BDP);
    assert_eq!(path.round(10, BDP + 1), State::Drain(8));
    assert_eq!(path.round(10, BDP), State::ProbeBw(Phase::Cruise));
    assert_eq!(path.bbr.pacing_rate(), Some(Rate::from_kbps(9900)));
}

#[test]
fn startup_ends_when_losses_are_many() {
    let after = |ranges, in_recovery| {
        let mut path = Path::new();
        path.round(4, BDP);
        if in_recovery {
            path.bbr.on_loss(&loss(0, 0));
        }
        for _ in 0..ranges {
            path.lose(1000, BDP);
        }
        path.now += RTT;
        path.bbr.on_rate_sample(&RateSample {
            now: path.now,
            delivery_rate: Some(Rate::from_mbps(8)),
            delivered: 80_000,
            prior_delivered: path.total,
            total_delivered: path.total + 80_000,
            lost: 3000,
            sent_in_flight: BDP,
            in_flight: 2 * BDP,
            ..sample()
        });
        (path.bbr.state, path.bbr.inflight_longterm)
    };
    // The earlier rate of 4 Mbit/s has a BDP of 50 000 bytes. More was delivered in this round.
    assert_eq!(after(6, true), (State::Drain(2), 80_000));
    assert_eq!(after(5, true).0, State::Startup);
    assert_eq!(after(6, false).0, State::Startup);
}

#[test]
fn probing_comes_every_two_to_three_seconds() {
    let mut path = Path::cruising();
    let began = path.now;
    path.until(State::ProbeBw(Phase::Refill), BDP);
    let waited = path.now - began;
    assert!(waited > Duration::from_secs(2) && waited <= Duration::from_millis(3100));
    assert_eq!(path.round(10, BDP), State::ProbeBw(Phase::Up));
    assert_eq!(path.bbr.pacing_rate(), Some(Rate::from_kbps(12_375)));
    for _ in 0..2 {
        assert_eq!(path.round(10, 2 * BDP), State::ProbeBw(Phase::Up));
    }
    assert_eq!(path.round(10, 2 * BDP), State::ProbeBw(Phase::Down));
    assert_eq!(path.bbr.pacing_rate(), Some(Rate::from_kbps(8910)));
}

#[test]
fn growing_bandwidth_is_found() {
    let mut path = Path::probing();
    for mbps in [13, 17, 22] {
        assert_eq!(path.round(mbps, 2 * BDP), State::ProbeBw(Phase::Up));
    }
    assert_eq!(path.bbr.bandwidth(), Some(Rate::from_mbps(22)));
}

#[test]
fn losses_in_cruise_lower_the_short_term_model() {
    let mut path = Path::cruising();
    let window = path.bbr.window();
    path.lose(1000, BDP);
    path.round(8, BDP);
    // The previous round delivered 10 Mbit/s and a BDP.
    assert_eq!(path.bbr.bw, Rate::from_mbps(10));
    assert_eq!(path.bbr.inflight_shortterm, window * 7 / 10);
    path.lose(1000, BDP);
    path.round(8, BDP);
    assert_eq!(path.bbr.bw, Rate::from_mbps(8));
    assert_eq!(path.bbr.inflight_shortterm, window * 49 / 100);
    for _ in 0..2 {
        path.lose(1000, BDP);
        path.round(1, BDP);
    }
    // 0.7·8 after the round at 8 Mbit/s; the rounds at 1 Mbit/s deliver less than 0.7 of it.
    assert_eq!(path.bbr.bw, Rate::from_kbps(5600));
    // Refill removes the short-term bounds.
    path.until(State::ProbeBw(Phase::Refill), BDP);
    assert_eq!(path.bbr.bw, Rate::from_mbps(10));
}

#[test]
fn losses_of_a_probe_bound_what_is_under_way() {
    let mut path = Path::probing();
    // 2000 of 140 000 bytes are less than 2 %.
    path.lose(2000, 140_000);
    assert_eq!(path.bbr.state, State::ProbeBw(Phase::Up));
    path.lose(3000, 140_000);
    assert_eq!(path.bbr.state, State::ProbeBw(Phase::Down));
    // Before the packet, 2000 of 139 000 bytes were lost, where 2 % are 2780. 780/0.98 bytes later,
    // the loss exceeded 2 %.
    assert_eq!(path.bbr.inflight_longterm, 139_795);
    // The bound is set once per probe.
    path.lose(9000, 130_000);
    assert_eq!(path.bbr.inflight_longterm, 139_795);
    // The window in Cruise is 0.85 of the bound: 139 795 − 20 969.
    path.until(State::ProbeBw(Phase::Cruise), 110_000);
    assert_eq!(path.bbr.window(), 118_826);
    // The next probe ends as soon as the bound is in flight …
    path.until(State::ProbeBw(Phase::Up), 110_000);
    assert_eq!(path.round(10, 139_795), State::ProbeBw(Phase::Down));
    // … and the next one follows a round later, because it lost nothing.
    assert_eq!(path.round(10, 110_000), State::ProbeBw(Phase::Refill));
    assert_eq!(path.round(10, 110_000), State::ProbeBw(Phase::Up));
}

#[test]
fn five_seconds_without_a_smaller_round_trip_lead_to_probe_rtt() {
    let mut path = Path::cruising();
    path.until(State::ProbeRtt, BDP);
    assert_eq!(path.now, Time::ZERO + RTT * 52);
    assert_eq!(path.bbr.window(), BDP / 2);
    // The 200 ms begin when half a BDP is in flight. Delivery rates of this phase do not count.
    path.round(10, BDP / 2);
    for _ in 0..2 {
        assert_eq!(path.round(5, BDP / 2), State::ProbeRtt);
        assert!(path.bbr.is_app_limited(false, path.total));
    }
    assert_eq!(path.round(5, BDP / 2), State::ProbeBw(Phase::Cruise));
    assert_eq!(path.bbr.bw, Rate::from_mbps(10));
    assert!(path.bbr.window() > 2 * BDP);
}

#[test]
fn a_timeout_leaves_a_segment_until_all_is_repaired() {
    let mut path = Path::cruising();
    let window = path.bbr.window();
    path.bbr.on_timeout(&LossEvent {
        first: 700_000,
        ..loss(BDP, window)
    });
    assert_eq!(path.bbr.window(), 1000);
    let acknowledged = |acknowledged| AckEvent {
        acknowledged,
        ..ack(1000)
    };
    path.bbr.on_ack(&acknowledged(700_000 + BDP - 1));
    assert_eq!(path.bbr.window(), 1000);
    path.bbr.on_ack(&acknowledged(700_000 + BDP));
    assert_eq!(path.bbr.window(), window);
}

#[test]
fn draws_repeat_and_differ() {
    let wait = |rounds: u64| {
        let mut path = Path::cruising();
        for _ in 0..rounds {
            path.round(10, BDP);
        }
        path.bbr.start_probe_bw_down(path.now, path.total);
        path.bbr.probe.wait()
    };
    assert_eq!(wait(3), wait(3));
    assert_ne!(wait(3), wait(4));
}

#[test]
fn the_end_of_a_spared_recovery_restores_nothing() {
    let mut path = Path::cruising();
    path.bbr.prior_cwnd = 5 * BDP;
    let before = path.bbr.window();
    path.bbr.on_spared_loss(&loss(BDP, before), Spared::Wholly);
    path.bbr.on_recovery_end(path.now, u64::MAX);
    assert_eq!(path.bbr.window(), before);
}

#[test]
fn after_a_timeout_what_was_sacked_belongs_to_the_recovery_too() {
    let mut path = Path::cruising();
    let acknowledged = |acknowledged, in_flight| AckEvent {
        acknowledged,
        in_flight,
        ..ack(1000)
    };
    path.bbr.on_ack(&acknowledged(10_000, 50_000));
    // 30 000 of the bytes have been acknowledged selectively.
    path.bbr.on_timeout(&LossEvent {
        first: 10_000,
        ..loss(20_000, 50_000)
    });
    path.bbr.on_ack(&acknowledged(59_000, 1000));
    assert!(path.bbr.in_recovery);
    path.bbr.on_ack(&acknowledged(60_000, 1000));
    assert!(!path.bbr.in_recovery);
}
