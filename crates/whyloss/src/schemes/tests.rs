//! Tests schemes by name and connections under them.

extern crate std;

use super::*;
use crate::event::{AckEvent, Detection, LossEvent, MarkEvent};
use crate::{Cause, Duration, Time};
use std::string::ToString;

const SEGMENT: u32 = 1000;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

pub(super) fn ack(ms: u64) -> AckEvent {
    AckEvent::new(at(ms), SEGMENT)
        .acked(1000)
        .in_flight(20_000)
        .window(30_000)
        .rtt(Some(Duration::from_millis(100)))
}

pub(super) fn loss(detection: Detection) -> LossEvent {
    LossEvent::new(at(1000), detection, SEGMENT)
        .in_flight(20_000)
        .window(30_000)
}

/// A window of 30 segments, in congestion avoidance.
pub(super) const BEGUN: Start = Start {
    initial_window: 30_000,
    initial_ssthresh: 15_000,
    ..Start::new(SEGMENT)
};

/// Returns a connection with a round-trip sample and a window of 30 segments.
pub(super) fn begun(scheme: &Scheme) -> CongestionControl {
    let mut control = scheme.start_metered(&BEGUN);
    control.on_ack(&AckEvent {
        app_limited: true,
        ..ack(900)
    });
    control
}

/// Builds an acknowledgement with a round-trip time of `rtt` ms that does not let the window grow.
pub(super) fn queued(rtt: i64) -> AckEvent {
    AckEvent {
        rtt: Some(Duration::from_millis(rtt)),
        app_limited: true,
        ..ack(950)
    }
}

/// Acknowledges a segment every 10 ms for a minute, each 100 ms after it left.
pub(super) fn steady(control: &mut CongestionControl) {
    for count in 1..6000 {
        let now = at(1000 + 10 * count);
        control.on_ack(&AckEvent {
            now,
            acknowledged: 1000 * count,
            receiver_stamp: Some(now),
            app_limited: true,
            ..ack(0)
        });
    }
}

/// Returns window and ssthresh after a loss at the end of such a minute, in segments.
pub(super) fn fills(scheme: &Scheme) -> (u64, u64) {
    let mut control = begun(scheme);
    steady(&mut control);
    control.on_loss(&LossEvent {
        now: at(61_000),
        ..loss(Detection::Duplicates)
    });
    let segments = |bytes: u64| (bytes + 500) / 1000;
    (segments(control.window()), segments(control.ssthresh()))
}

#[test]
fn every_line_builds_and_starts() {
    let ids = REGISTRY.iter().map(|entry| entry.id);
    let ids = ids.chain(IDEAL.iter().map(|entry| entry.id));
    for id in ids.clone().chain(IFTP.iter().map(|entry| entry.id)) {
        assert!(
            ids.clone().filter(|other| *other == id).count() <= 1,
            "{id}"
        );
    }
    for entry in REGISTRY {
        let scheme = find(entry.id).unwrap().build(&[]).unwrap();
        let control = scheme.start_metered(&Start::new(1200));
        assert_eq!(control.window(), 12_000, "{}", entry.id);
    }
}

#[test]
fn constructors_and_the_registries_agree() {
    for (id, classifier) in [
        ("cubic", "unaware"),
        ("cubic-fqrtt", "fqrtt"),
        ("cubic-trees", "trees"),
    ] {
        let named = find(id).unwrap().build(&[]).unwrap();
        assert_eq!(named, Scheme::of("cubic", "keep", classifier).unwrap());
    }
}

#[test]
fn marks_are_congestion_that_no_classifier_is_asked_about() {
    let scheme = Scheme::of("reno", "keep", "vegas").unwrap();
    let mut control = begun(&scheme);
    assert_eq!(
        control.on_loss(&loss(Detection::Duplicates)),
        Cause::Wireless
    );
    assert_eq!(control.window(), 30_000);
    control.on_mark(
        &MarkEvent::new(at(1000), SEGMENT)
            .in_flight(20_000)
            .window(30_000),
    );
    assert_eq!(control.window(), 10_000);
}

#[test]
fn timeouts_and_persistent_congestion_start_the_window_anew() {
    for (detection, window) in [
        (Detection::Timeout, 1000),
        (Detection::PersistentCongestion, 2000),
    ] {
        for policy in ["keep", "as-congestion", "flight-size"] {
            let mut control = begun(&Scheme::of("reno", policy, "vegas").unwrap());
            control.on_loss(&loss(detection));
            assert_eq!(control.window(), window, "{detection:?} under {policy}");
        }
    }
}

#[test]
fn a_spurious_loss_is_undone_once() {
    for entry in congestion::REGISTRY {
        let mut control = begun(&Scheme::of(entry.id, "as-congestion", "unaware").unwrap());
        let before = (control.window(), control.ssthresh());
        control.on_loss(&loss(Detection::Duplicates));
        let (after, raised) = (control.window(), control.ssthresh().max(before.1));
        control.on_spurious_loss(at(1001));
        let undone = (control.window(), control.ssthresh());
        assert_eq!(undone, (before.0, raised), "{}", entry.id);
        control.on_loss(&loss(Detection::Timeout));
        control.on_spurious_loss(at(1002));
        control.on_loss(&loss(Detection::Timeout));
        control.on_loss(&loss(Detection::Timeout));
        control.on_spurious_loss(at(1003));
        control.on_spurious_loss(at(1004));
        assert!(control.window() <= after.max(1000), "{}", entry.id);
    }
}

/// The first loss comes before the scheme has heard enough, so it is congestion. Later losses come
/// at flat delays, so they cut nothing.
#[test]
fn whyloss_tells_the_cause_by_its_own_cut() {
    let mut control = begun(&find("whyloss").unwrap().build(&[]).unwrap());
    assert_eq!(
        control.on_loss(&loss(Detection::Duplicates)),
        Cause::Congestion
    );
    steady(&mut control);
    let window = control.window();
    let lost = LossEvent::new(at(61_000), Detection::Duplicates, SEGMENT).first(6_000_000);
    let cause = control.on_loss(&lost.in_flight(window).window(window));
    assert_eq!((cause, control.window()), (Cause::Wireless, window));
    let controller = control.control().controller();
    assert_eq!(congestion::Controller::own_cut(controller), Some(0));
}

#[test]
fn a_spurious_loss_does_not_undo_a_mark() {
    for entry in congestion::REGISTRY {
        let mut control = begun(&Scheme::of(entry.id, "as-congestion", "unaware").unwrap());
        control.on_loss(&loss(Detection::Duplicates));
        control.on_mark(
            &MarkEvent::new(at(1100), SEGMENT)
                .in_flight(20_000)
                .window(20_000),
        );
        let cut = (control.window(), control.ssthresh());
        control.on_spurious_loss(at(1200));
        assert_eq!((control.window(), control.ssthresh()), cut, "{}", entry.id);
    }
}

#[test]
fn larger_packets_are_counted_from_then_on() {
    for entry in congestion::REGISTRY {
        let mut control = begun(&Scheme::of(entry.id, "keep", "unaware").unwrap());
        control.on_mtu_change(40_000);
        assert_eq!(control.window(), 40_000, "{}: a segment", entry.id);
    }
}

#[test]
fn unknown_names_are_told() {
    let error = |names: [&str; 3]| {
        Scheme::of(names[0], names[1], names[2])
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(["cubik", "keep", "fqrtt"]),
        "no controller is called `cubik`; did you mean `cubic`?"
    );
    assert_eq!(
        error(["cubic", "kep", "fqrtt"]),
        "no policy is called `kep`; did you mean `keep`?"
    );
    assert_eq!(
        error(["cubic", "never", "fqrtt"]),
        "no policy is called `never`; there are keep, keep-window, as-congestion, flight-size, percent, keep-unless-queued"
    );
    assert!(
        error(["cubic", "keep", "zbs"])
            .starts_with("`zbs` is a receiver classifier; senders have vegas, ldea, veno,")
    );
}
