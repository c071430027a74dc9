//! What every controller must keep to, and what the policies do around them. The events here serve the controllers' own
//! tests too.

use super::*;
use crate::event::Detection;
use crate::{Cause, Duration};
use proptest::prelude::*;
use std::vec;

pub(crate) const START: Start = Start {
    segment_size: 1000,
    initial_window: 2000,
    initial_ssthresh: u64::MAX,
    growth: Growth::PerByte,
};

pub(crate) fn ack(acked: u64) -> AckEvent {
    AckEvent::new(Time::ZERO, START.segment_size).acked(acked)
}

pub(crate) fn loss(in_flight: u64, window: u64) -> LossEvent {
    LossEvent::new(Time::ZERO, Detection::Duplicates, START.segment_size)
        .in_flight(in_flight)
        .window(window)
}

/// One of each kind. A new kind belongs here.
fn kinds() -> impl Strategy<Value = ControllerKind> {
    prop_oneof![
        Just(ControllerKind::Reno(Decrease::FlightSize)),
        Just(ControllerKind::Reno(Decrease::Window)),
        crate::bandwidth::tests::specs()
            .prop_map(|estimator| { ControllerKind::Westwood(WestwoodOptions::new(estimator)) }),
        Just(ControllerKind::from(WestwoodOptions::plus())),
        Just(ControllerKind::from(WestwoodOptions::linux())),
        Just(ControllerKind::Balde(DuplicateAcks::Wait)),
        Just(ControllerKind::Balde(DuplicateAcks::Sample)),
        Just(ControllerKind::Veno(BacklogRtt::LastRound)),
        Just(ControllerKind::Veno(BacklogRtt::Latest)),
        Just(ControllerKind::Cubic(CubicDialect::Rfc9438)),
        Just(ControllerKind::Cubic(CubicDialect::Rfc8312)),
        Just(ControllerKind::Bbr),
        Just(ControllerKind::Copa(CopaModes::Both)),
        Just(ControllerKind::Copa(CopaModes::Default)),
        Just(ControllerKind::Scream(ScreamTarget::Adapts)),
        Just(ControllerKind::Scream(ScreamTarget::Fixed)),
        Just(ControllerKind::Vegas(VegasDialect::Paper)),
        Just(ControllerKind::Vegas(VegasDialect::Ns2)),
    ]
}

fn policies() -> impl Strategy<Value = WirelessPolicy> {
    prop_oneof![
        Just(WirelessPolicy::Keep),
        Just(WirelessPolicy::KeepWindow),
        Just(WirelessPolicy::AsCongestion),
        Just(WirelessPolicy::FlightSize),
        any::<u8>().prop_map(WirelessPolicy::Percent),
        any::<u16>().prop_map(WirelessPolicy::KeepUnlessQueued),
    ]
}

fn under(policy: WirelessPolicy) -> UnderPolicy {
    let kind = ControllerKind::default();
    ControllerSpec {
        kind,
        wireless: policy,
    }
    .build(&START)
}

/// (window, ssthresh) after a wireless loss with 20 of 30 segments under way.
fn after_loss(policy: WirelessPolicy, queued_ms: i64) -> (u64, u64) {
    let mut governed = under(policy);
    governed.set_window(30_000, 15_000);
    let loss = LossEvent {
        rtt: Some(Duration::from_millis(100 + queued_ms)),
        min_rtt: Some(Duration::from_millis(100)),
        ..loss(20_000, 30_000)
    };
    governed.on_loss(&loss, Cause::Wireless);
    (governed.window(), governed.ssthresh())
}

#[test]
fn the_policy_decides_about_wireless_losses() {
    use WirelessPolicy as P;
    for (policy, queued_ms, expected) in [
        (P::Keep, 0, (30_000, 15_000)),
        (P::KeepWindow, 0, (30_000, 15_000)),
        (P::AsCongestion, 0, (10_000, 10_000)),
        (P::FlightSize, 0, (20_000, 20_000)),
        (P::Percent(80), 0, (24_000, 24_000)),
        (P::KeepUnlessQueued(50), 50, (30_000, 15_000)),
        (P::KeepUnlessQueued(50), 51, (10_000, 10_000)),
    ] {
        assert_eq!(after_loss(policy, queued_ms), expected, "{policy:?}");
    }
}

#[test]
fn a_wireless_timeout_keeps_ssthresh_or_makes_it_the_flight() {
    use WirelessPolicy as P;
    for (policy, ssthresh) in [
        (P::Keep, 30_000),
        (P::AsCongestion, 10_000),
        (P::FlightSize, 20_000),
        (P::Percent(80), 24_000),
    ] {
        let mut governed = under(policy);
        governed.set_window(30_000, 15_000);
        governed.on_timeout(&loss(20_000, 30_000), Cause::Wireless);
        let controller = governed.controller();
        assert_eq!(
            (controller.window(), controller.ssthresh()),
            (1000, ssthresh),
            "{policy:?}"
        );
        // Congestion is congestion under every policy.
        let mut governed = under(policy);
        governed.on_loss(&loss(20_000, 30_000), Cause::Congestion);
        assert_eq!(governed.window(), 10_000);
    }
}

#[test]
fn a_repeated_wireless_timeout_leaves_ssthresh_as_it_is() {
    use WirelessPolicy as P;
    for (policy, ssthresh) in [
        (P::Keep, 30_000),
        (P::KeepWindow, 30_000),
        (P::FlightSize, 20_000),
        (P::Percent(80), 24_000),
    ] {
        for initial in [15_000, u64::MAX] {
            let mut governed = under(policy);
            governed.set_window(30_000, initial);
            governed.on_timeout(&loss(20_000, 30_000), Cause::Wireless);
            // A lone retransmission is under way, in a window of a segment.
            for _ in 0..2 {
                let repeated = LossEvent {
                    repeated: true,
                    ..loss(1000, 1000)
                };
                governed.on_timeout(&repeated, Cause::Wireless);
                let controller = governed.controller();
                let sizes = (controller.window(), controller.ssthresh());
                assert_eq!(sizes, (1000, ssthresh), "{policy:?}");
            }
        }
    }
}

#[test]
fn packets_of_a_spared_loss_are_not_told() {
    for (policy, spared) in [
        (WirelessPolicy::Keep, true),
        (WirelessPolicy::Percent(80), true),
        (WirelessPolicy::AsCongestion, false),
        // Without round-trip times there is no saying how much is queued.
        (WirelessPolicy::KeepUnlessQueued(50), false),
    ] {
        let mut governed = under(policy);
        governed.on_loss(&loss(20_000, 30_000), Cause::Wireless);
        assert_eq!(governed.spares_losses(), spared, "{policy:?}");
        governed.on_timeout(&loss(20_000, 30_000), Cause::Wireless);
        assert_eq!(governed.spares_losses(), spared, "{policy:?}");
        governed.on_loss(&loss(20_000, 30_000), Cause::Congestion);
        assert!(!governed.spares_losses());
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Ack {
        acked: u64,
        rtt_us: i64,
        in_flight: u64,
        in_recovery: bool,
    },
    Loss {
        in_flight: u64,
        window: u64,
        wireless: bool,
    },
    Sample {
        rate: u64,
        rtt_us: i64,
        bytes: u64,
        in_flight: u64,
    },
    Lost {
        lost: u64,
        in_flight: u64,
    },
    End {
        at_most: u64,
    },
    Timeout {
        in_flight: u64,
        window: u64,
        wireless: bool,
        repeated: bool,
    },
}

fn events() -> impl Strategy<Value = Event> {
    let bytes = || prop_oneof![0..100_000u64, 0..1u64 << 40];
    prop_oneof![
        4 => (bytes(), 0..10_000_000i64, bytes(), any::<bool>()).prop_map(
            |(acked, rtt_us, in_flight, in_recovery)| Event::Ack { acked, rtt_us, in_flight, in_recovery }
        ),
        1 => (bytes(), bytes(), any::<bool>())
            .prop_map(|(in_flight, window, wireless)| Event::Loss { in_flight, window, wireless }),
        4 => (prop_oneof![0..100_000_000u64, any::<u64>()], 0..10_000_000i64, bytes(), bytes()).prop_map(
            |(rate, rtt_us, bytes, in_flight)| Event::Sample { rate, rtt_us, bytes, in_flight }
        ),
        1 => (bytes(), bytes()).prop_map(|(lost, in_flight)| Event::Lost { lost, in_flight }),
        1 => bytes().prop_map(|at_most| Event::End { at_most }),
        1 => (bytes(), bytes(), any::<bool>(), any::<bool>()).prop_map(
            |(in_flight, window, wireless, repeated)| Event::Timeout { in_flight, window, wireless, repeated }
        ),
    ]
}

proptest! {
    /// A loss called wireless, and the end of its recovery, never raise a window.
    #[test]
    fn a_spared_loss_raises_no_window(
        kind in kinds(),
        wireless in policies(),
        rounds in 1..60u64,
        losses in prop::collection::vec(any::<bool>(), 1..8),
    ) {
        let mut governed = ControllerSpec { kind, wireless }.build(&START);
        let (mut now, mut acknowledged) = (0, 0);
        for wireless_loss in losses {
            for _ in 0..rounds {
                let window = governed.window();
                now += 10_000_000;
                acknowledged += 1000;
                governed.on_ack(&AckEvent {
                    now: Time::from_nanos(now),
                    acknowledged,
                    in_flight: window,
                    window,
                    rtt: Some(Duration::from_millis(100)),
                    receiver_stamp: Some(Time::from_nanos(now)),
                    ..ack(1000)
                });
            }
            let window = governed.window();
            let at = Time::from_nanos(now);
            let cause = if wireless_loss { Cause::Wireless } else { Cause::Congestion };
            governed.on_loss(&LossEvent { now: at, ..loss(window, window) }, cause);
            governed.on_recovery_end(at, u64::MAX);
            // At a loss by congestion Linux's Westwood sets the window to what it thinks the path holds, up or down.
            let spared = !matches!(
                wireless,
                WirelessPolicy::AsCongestion | WirelessPolicy::KeepUnlessQueued(_)
            );
            if wireless_loss && spared {
                prop_assert!(governed.window() <= window.max(2000));
            }
        }
    }

    /// Whatever a transport tells it, a controller lets at least a segment be under way and does not panic.
    #[test]
    fn any_order_of_events_keeps_a_segment_open(
        kind in kinds(),
        wireless in policies(),
        events in prop::collection::vec((events(), 0..100_000_000u64), 0..200),
        size in 0..65_536u32,
    ) {
        let start = Start { segment_size: size, initial_window: 0, initial_ssthresh: u64::MAX, growth: Growth::PerByte };
        let mut governed = ControllerSpec { kind, wireless }.build(&start);
        let cause = |wireless| if wireless { Cause::Wireless } else { Cause::Congestion };
        let (mut now, mut acknowledged, mut delivered) = (0, 0, 0);
        for (event, later) in events {
            now += later;
            let at = Time::from_nanos(now);
            match event {
                Event::Ack { acked, rtt_us, in_flight, in_recovery } => {
                    acknowledged += acked;
                    governed.on_ack(&AckEvent {
                        now: at,
                        acknowledged,
                        in_flight,
                        window: governed.window(),
                        rtt: (rtt_us % 3 > 0).then(|| Duration::from_micros(rtt_us)),
                        receiver_stamp: (rtt_us % 2 > 0).then_some(at),
                        in_recovery,
                        ..ack(acked)
                    });
                }
                Event::Loss { in_flight, window, wireless } => {
                    governed.on_loss(&LossEvent { now: at, ..loss(in_flight, window) }, cause(wireless));
                }
                Event::Sample { rate, rtt_us, bytes, in_flight } => {
                    let before = delivered;
                    delivered += bytes;
                    governed.on_rate_sample(&RateSample {
                        now: at,
                        delivery_rate: (rate % 5 > 0).then_some(Rate::from_bps(rate)),
                        rtt: (rtt_us % 3 > 0).then(|| Duration::from_micros(rtt_us)),
                        delivered: bytes,
                        prior_delivered: before.saturating_sub(rate % 100_000),
                        total_delivered: delivered,
                        newly_acked: bytes / 2,
                        lost: bytes / 40,
                        sent_in_flight: in_flight,
                        in_flight,
                        app_limited: rate % 7 == 0,
                        window_limited: rate % 2 == 0,
                        restarted: (rate % 11 == 0).then_some(at),
                    });
                }
                Event::Lost { lost, in_flight } => {
                    governed.on_packet_lost(&LostPacket {
                        now: at,
                        size,
                        prior_delivered: delivered,
                        total_delivered: delivered,
                        lost,
                        sent_in_flight: in_flight,
                        app_limited: lost % 5 == 0,
                        begins_range: true,
                    });
                }
                Event::End { at_most } => governed.on_recovery_end(at, at_most),
                Event::Timeout { in_flight, window, wireless, repeated } => {
                    let loss = LossEvent { now: at, repeated, ..loss(in_flight, window) };
                    governed.on_timeout(&loss, cause(wireless));
                }
            }
            prop_assert!(governed.window() >= u64::from(size.max(1)));
            prop_assert!(governed.pacing_rate() != Some(Rate::default()));
        }
    }
}
