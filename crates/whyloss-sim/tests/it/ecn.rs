//! Checks ECN against RFC 3168: a sender under a script, and TCP and TFRC over queues that mark.

use whyloss_sim::host::tcp::{Ack, Options, Receiver, Recovery, SackBlocks, Segment, Sender};
use whyloss_sim::{Measurement, Scenario};

use crate::script::{MSS, Script, ms, options};

const SEGMENT: u64 = MSS as u64;

fn capable(recovery: Recovery) -> Options {
    Options {
        ecn: true,
        ..options(recovery)
    }
}

/// Passes an acknowledgement with ECE at `at`. Returns the departures, each with or without CWR.
fn echo(script: &mut Script, at: u64, next: u64) -> Vec<(u64, bool)> {
    let ack = Ack {
        next,
        echo: ms(at - 100),
        sack: SackBlocks::NONE,
    };
    script.sender.on_echo(ms(at), &ack, ms(at));
    leave(&mut script.sender, at)
}

fn leave(sender: &mut Sender, at: u64) -> Vec<(u64, bool)> {
    let segments = std::iter::from_fn(|| {
        let segment = sender.poll_transmit(ms(at))?;
        let (capable, cwr) = sender.marking(&segment);
        assert_eq!(capable, !segment.retransmission, "RFC 3168 §6.1.5");
        Some((segment.sequence, cwr))
    });
    segments.collect()
}

/// Ten segments are in flight, and all their acknowledgements carry ECE. The first halves the
/// window, the others neither cut nor grow it, and the first new segment carries CWR. A mark on
/// later packets may cut it again.
#[test]
fn a_window_is_halved_once_whatever_the_number_of_marks() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut script = Script::after_ten(&capable(recovery));
        // FlightSize is nine: the window becomes half of it, and the acknowledgement does not grow
        // it.
        assert_eq!(echo(&mut script, 100, 1), []);
        assert_eq!(script.windows(), (4_500, 4_500));
        let mut left = Vec::new();
        for next in 2..=10 {
            left.extend(echo(&mut script, 100 + next, next));
            assert_eq!(script.windows(), (4_500, 4_500));
        }
        // Four are in flight again.
        assert_eq!(left, [(10, true), (11, false), (12, false), (13, false)]);
        assert_eq!(script.sender.fast_recoveries(), 0);
        // The first mark of the next window cuts again, to at least two segments.
        assert_eq!(echo(&mut script, 300, 11), []);
        assert_eq!(script.windows(), (2 * SEGMENT, 2 * SEGMENT));
    }
}

/// Only acknowledgements without ECE grow the window (RFC 3168 §6.1.2): in slow start, one of the
/// two here.
#[test]
fn an_echo_does_not_grow_the_window() {
    let mut script = Script::after_ten(&capable(Recovery::NewReno));
    script.ack(100, 1);
    assert_eq!(script.windows().0, 11 * SEGMENT);
    echo(&mut script, 101, 2);
    let (window, _) = script.windows();
    echo(&mut script, 102, 3);
    assert_eq!(script.windows().0, window);
    script.ack(103, 4);
    assert!(script.windows().0 > window);
}

/// A segment that was in flight when a mark cut the window is found lost: it is repaired, and the
/// window is not cut again. A timeout cuts it, and so does a loss without a mark.
#[test]
fn a_loss_in_the_window_of_a_mark_cuts_no_more() {
    let mut script = Script::after_ten(&capable(Recovery::NewReno));
    echo(&mut script, 100, 1);
    let (window, _) = script.windows();
    for at in 101..103 {
        script.ack(at, 1);
    }
    assert_eq!(script.ack(103, 1), [1], "the retransmission");
    assert_eq!(script.sender.fast_recoveries(), 1);
    assert_eq!(script.windows().0, window);
    // Without a mark, the loss cuts it.
    let mut script = Script::after_ten(&capable(Recovery::NewReno));
    script.ack(100, 1);
    for at in 101..104 {
        script.ack(at, 1);
    }
    assert_eq!(script.windows().1, 5_500, "half of eleven in flight");
    // The first new segment after the cut carries CWR, although no mark arrived.
    let ack = Ack {
        next: 12,
        echo: ms(104),
        sack: SackBlocks::NONE,
    };
    script.sender.on_ack(ms(204), &ack, ms(204));
    assert_eq!(
        leave(&mut script.sender, 204)[..2],
        [(12, true), (13, false)]
    );
    let expiry = script.sender.next_timeout();
    script.sender.on_timeout(expiry);
    assert_eq!(script.windows().0, SEGMENT);
}

/// Whyloss spares the first losses of slow start. The first mark in the same window still cuts it.
#[test]
fn a_mark_cuts_the_window_of_a_spared_loss() {
    let mut script = Script::after_ten(&Options {
        controller: whyloss::schemes::whyloss::scheme().controller,
        ..capable(Recovery::NewReno)
    });
    for next in 1..=10 {
        script.ack(100 + next, next);
    }
    for at in 201..204 {
        script.ack(at, 10);
    }
    let (window, _) = script.windows();
    assert_eq!((script.sender.fast_recoveries(), window), (1, 20 * SEGMENT));
    echo(&mut script, 204, 10);
    let (cut, _) = script.windows();
    assert!(cut < window);
    for at in 205..210 {
        echo(&mut script, at, 10);
    }
    assert_eq!(script.windows().0, cut);
}

/// A mark is not a loss to judge, and marks do not reach a sender that is not ECN-capable.
#[test]
fn no_classifier_is_asked() {
    let mut script = Script::after_ten(&capable(Recovery::Sack));
    echo(&mut script, 100, 1);
    assert!(script.sender.judgement().is_none());
    let mut deaf = Script::after_ten(&options(Recovery::Sack));
    let before = deaf.windows().0;
    let ack = Ack {
        next: 1,
        ..Ack::default()
    };
    deaf.sender.on_echo(ms(100), &ack, ms(100));
    assert_eq!(deaf.windows().0, before + SEGMENT);
}

/// The receiver sends ECE after a mark until a segment carries CWR. A marked segment with CWR
/// starts ECE again (§6.1.3).
#[test]
fn a_receiver_echoes_until_it_is_heard() {
    let mut receiver = Receiver::new(&Options {
        delayed_ack: None,
        ..capable(Recovery::Sack)
    });
    let mut echoed = Vec::new();
    let arrivals = [
        (false, false),
        (true, false),
        (false, false),
        (false, true),
        (true, true),
        (false, false),
        (false, true),
    ];
    for (sequence, (marked, cwr)) in arrivals.into_iter().enumerate() {
        receiver.on_marks(marked, cwr);
        let segment = Segment {
            sequence: sequence as u64,
            stamp: ms(1),
            retransmission: false,
        };
        assert!(receiver.on_segment(ms(2), &segment).is_some());
        echoed.push(receiver.echoes());
    }
    assert_eq!(echoed, [false, true, true, false, true, true, false]);
}

/// Runs flows of this transport over a bottleneck of 10 Mbit/s with this queue and a round trip of
/// 20 ms. Returns the results of the last 20 of 30 s.
fn run(queue: &str, transport: &str, flows: u32) -> (Measurement, f64) {
    let text = crate::aqm::bottleneck(queue, transport, (10, 20), flows);
    let scenario = Scenario::from_toml(&text, "test", &[]).expect("valid");
    let run = crate::delays::run(&scenario);
    let p95 = run.delays[0].quantile_ms(0.95).expect("arrivals");
    // 1500 bytes take 1.2 ms.
    (run.measurement, p95 - 11.2)
}

/// With marks, the queue loses nothing after slow start, the link stays in use, and the delay is
/// within CoDel's bound.
#[test]
fn codel_marks_instead_of_losing() {
    for transport in [
        r#"{ kind = "tcp", controller = "cubic", ecn = true }"#,
        r#"{ kind = "tcp", recovery = "newreno", ecn = true }"#,
    ] {
        for aqm in ["codel", "fq-codel"] {
            let queue = format!(r#"{{ packets = 1000, aqm = {{ kind = "{aqm}", ecn = true }} }}"#);
            let (found, waited) = run(&queue, transport, 2);
            let narrow = &found.links[2];
            assert_eq!(narrow.lost.congestion, 0, "{aqm}");
            assert!(narrow.marked > 20, "{aqm}: {}", narrow.marked);
            let marked: u64 = found.flows.iter().map(|flow| flow.marked).sum();
            assert!(marked.abs_diff(narrow.marked) <= 20);
            assert!(narrow.utilisation(found.window) > 0.9);
            assert!(waited < 30.0, "{aqm}: {waited} ms");
        }
    }
}

/// A queue that marks drops packets that are not capable. A queue that does not mark drops capable
/// ones.
#[test]
fn both_must_want_it() {
    let codel = |ecn| format!(r#"{{ packets = 1000, aqm = {{ kind = "codel", ecn = {ecn} }} }}"#);
    let tcp = |ecn| format!(r#"{{ kind = "tcp", recovery = "newreno", ecn = {ecn} }}"#);
    for (queue, transport) in [(true, false), (false, true)] {
        let (found, _) = run(&codel(queue), &tcp(transport), 2);
        assert!(found.links[2].lost.congestion > 20);
        assert_eq!(found.links[2].marked, 0);
    }
}

/// TFRC counts marks as loss events: nothing is lost, no verdict is given, and the rate is close to
/// the rate with drops.
#[test]
fn tfrc_counts_marks_as_loss_events() {
    let queue = |ecn| {
        format!(
            r#"{{ packets = 100, red = {{ kind = "classic", min = 5, max = 30, weight = 0.02, ecn = {ecn} }} }}"#
        )
    };
    let tfrc = |ecn| format!(r#"{{ kind = "tfrc", ecn = {ecn} }}"#);
    let (marks, _) = run(&queue(true), &tfrc(true), 2);
    let (drops, _) = run(&queue(false), &tfrc(false), 2);
    let [link, other] = [&marks.links[2], &drops.links[2]];
    assert_eq!((link.lost.congestion, other.marked), (0, 0));
    assert!(link.marked > 20 && other.lost.congestion > 20);
    let (marked, lost) = (link.marked as f64, other.lost.congestion as f64);
    assert!((0.5..2.0).contains(&(marked / lost)), "{marked} {lost}");
    for (flow, of_drops) in marks.flows.iter().zip(&drops.flows) {
        assert_eq!(flow.lost.congestion, 0);
        assert!(of_drops.lost.congestion > 0);
        let judged: u64 = [whyloss::Cause::Congestion, whyloss::Cause::Wireless]
            .map(|truth| flow.packets.count(truth, whyloss::Cause::Congestion))
            .iter()
            .sum();
        assert_eq!(judged, 0);
    }
    assert!(link.utilisation(marks.window) > 0.85);
    assert!(link.utilisation(marks.window) < 1.0 + 1e-9);
}
