//! Properties of every controller and of the policies around it. The controllers' own tests also
//! use the events here.

use super::*;
use crate::event::Detection;
use crate::testing::Raw;
use crate::testing::controller::{check, properties};
use crate::{Cause, Duration};
use proptest::collection::vec;
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

/// Draws any kind of controller. Each new kind must be added here.
fn kinds() -> impl Strategy<Value = ControllerKind> {
    prop_oneof![
        Just(ControllerKind::Reno(Decrease::FlightSize)),
        Just(ControllerKind::Reno(Decrease::Window)),
        crate::bandwidth::tests::specs()
            .prop_map(|estimator| { ControllerKind::Westwood(WestwoodOptions::new(estimator)) }),
        Just(ControllerKind::from(WestwoodOptions::plus())),
        Just(ControllerKind::from(WestwoodOptions::linux())),
        Just(ControllerKind::from(WestwoodOptions::ucla())),
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
        Just(ControllerKind::Whyloss(Under::Cubic)),
        Just(ControllerKind::Whyloss(Under::Reno)),
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

/// Returns (window, ssthresh) after a wireless loss with 20 of 30 segments in flight.
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
        // Every policy treats congestion as congestion.
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
            // Only a retransmission is in flight, in a window of one segment.
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
        // Without round-trip times, the queueing delay is unknown.
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

proptest! {
    /// A loss called wireless, and the end of its recovery, never raise a window.
    #[test]
    fn a_spared_loss_raises_no_window(
        kind in kinds(),
        wireless in policies(),
        rounds in 1..60u64,
        losses in vec(any::<bool>(), 1..8),
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
            let cause = Cause::wireless_if(wireless_loss);
            governed.on_loss(&LossEvent { now: at, ..loss(window, window) }, cause);
            governed.on_recovery_end(at, u64::MAX);
            // At a congestion loss, Linux's Westwood sets the window to its estimate of the path's
            // capacity, up or down.
            let spared = !matches!(
                wireless,
                WirelessPolicy::AsCongestion | WirelessPolicy::KeepUnlessQueued(_)
            );
            if wireless_loss && spared {
                prop_assert!(governed.window() <= window.max(2000));
            }
        }
    }

    /// After any order of events, a controller allows at least a segment in flight and does not
    /// panic.
    #[test]
    fn any_order_of_events(
        kind in kinds(),
        wireless in policies(),
        operations in prop_oneof![
            vec(any::<Raw>(), 0..200),
            vec((any::<u8>(), 0..100_000_000_u64, 0..10_000_u64), 0..200),
        ],
        segment_size in 0..65_536_u32,
        initial_window in 0..1_u64 << 20,
    ) {
        let start = Start { initial_window, ..Start::new(segment_size) };
        check(ControllerSpec { kind, wireless }.build(&start), segment_size, &operations);
    }
}

#[test]
fn the_drawn_sequences_too() {
    for entry in REGISTRY {
        let kind = entry.build(&[]).unwrap();
        properties(|start| kind.build(start));
    }
}
