//! Scripts for Vegas. Unless a script says otherwise, segments 0 to 9 have left at 0 ms. The
//! acknowledgement of segment 0 at 100 ms has released segment 10 and set the fine-grained timeout
//! to 150 ms.

use super::script::{MSS, Script, ms, options};
use whyloss::Cause;
use whyloss::congestion::{ControllerKind, VegasDialect};
use whyloss_link::Streams;
use whyloss_sim::decider::SENDERS;
use whyloss_sim::host::tcp::{Options, Recovery, Sender};

fn paper() -> Options {
    let mut options = options(Recovery::Vegas);
    options.controller.kind = ControllerKind::Vegas(VegasDialect::Paper);
    options
}

fn ns2() -> Options {
    Options {
        initial_window: 10,
        handshake: false,
        delayed_ack: None,
        ..Options::ns2(Recovery::Vegas, MSS, 100)
    }
}

fn begun(options: &Options) -> Script {
    let mut script = Script::after_ten(options);
    assert_eq!(script.ack(100, 1), [10]);
    script
}

/// Returns a sender with an oracle whose segment 1 was lost to the channel.
fn spared(options: &Options) -> Script {
    let oracle = SENDERS.build("oracle", &[]).expect("registered");
    let oracle = oracle.expect("its defaults");
    let random = Streams::new(0).stream("verdict", 0);
    let mut script = begun(options);
    script.sender = Sender::with_decider(options, None, oracle, random);
    assert!(script.leave(0).into_iter().eq(0..10));
    assert_eq!(script.ack(100, 1), [10]);
    script.sender.on_lost(1, Cause::Wireless);
    script
}

#[test]
fn the_first_duplicate_after_the_fine_timeout_finds_a_loss() {
    for (options, ssthresh) in [(paper(), 2000), (ns2(), 100_000)] {
        let mut script = begun(&options);
        assert_eq!(script.ack(149, 1), []);
        // Segment 1 left 150 ms ago: ten segments become eight, and two duplicates are not enough
        // for a new one.
        assert_eq!(script.ack(150, 1), [1]);
        assert_eq!(script.windows(), (8000, ssthresh));
        assert!(script.sender.in_recovery());
        // The next duplicate is the eleventh segment of 8 + 3.
        assert_eq!(script.ack(151, 1), [11]);
        assert_eq!(script.ack(152, 1), [12]);
        // Ten are acknowledged, segment 10 is not late: eight from 10.
        assert_eq!(script.ack(250, 10), [13, 14, 15, 16, 17]);
        assert_eq!(script.windows(), (8000, 2000));
        assert_eq!(script.sender.fast_recoveries(), 1);
    }
}

#[test]
fn the_third_duplicate_finds_a_loss_before_the_timeout() {
    for options in [paper(), ns2()] {
        let mut script = begun(&options);
        assert_eq!(script.ack(110, 1), []);
        assert_eq!(script.ack(111, 1), []);
        // Ten segments were in flight: 8 + 3 let one more leave.
        assert_eq!(script.ack(112, 1), [1, 11]);
        assert_eq!(script.windows().0, 8000);
        assert_eq!(script.ack(113, 1), [12]);
    }
}

#[test]
fn the_first_acknowledgement_after_a_retransmission_repairs_the_next_loss() {
    for options in [paper(), ns2()] {
        // 1 and 5 are lost.
        let mut script = begun(&options);
        assert_eq!(script.ack(149, 1), []);
        assert_eq!(script.ack(150, 1), [1]);
        assert_eq!(script.ack(151, 1), [11]);
        // The sample of 250 ms makes the timeout (950/4 + 225)/2·17/16 = 245.7 ms; segment 5 left
        // 250 ms ago.
        assert_eq!(script.ack(250, 5), [5, 12]);
        assert_eq!(script.windows(), (8000, 2000));
        // No new loss event began. The second acknowledgement is checked again, the third is not.
        assert_eq!(script.sender.fast_recoveries(), 1);
        assert_eq!(script.ack(350, 6)[0], 6, "left 350 ms ago");
        assert_ne!(script.ack(351, 7).first(), Some(&7));
    }
}

#[test]
fn a_lost_retransmission_is_found_by_the_timeout() {
    let mut script = begun(&paper());
    assert_eq!(script.ack(149, 1), []);
    assert_eq!(script.ack(150, 1), [1]);
    // The timeout grew by an eighth, to 168.75 ms.
    assert_eq!(script.ack(318, 1), [11]);
    assert_eq!(script.ack(319, 1), [1, 12]);
    // The segment left no later than the cut, so the window stays. The timeout doubles, to 337.5
    // ms.
    assert_eq!(script.windows(), (8000, 2000));
    assert_eq!(script.ack(656, 1), [13]);
    // The segment left after the cut, and had left twice, so the window is halved.
    assert_eq!(script.ack(657, 1), [1]);
    assert_eq!(script.windows(), (4000, 2000));
    assert_eq!(script.sender.fast_recoveries(), 3);
}

#[test]
fn duplicates_after_a_timeout_are_no_loss() {
    for options in [paper(), ns2()] {
        let mut script = Script::after_ten(&options);
        let due = script.sender.next_timeout().as_nanos() / 1_000_000;
        assert_eq!(script.timeout(due), [0, 1]);
        assert_eq!(script.windows(), (2000, 5000));
        script.ack(due + 100, 4);
        for later in 0..3 {
            assert_eq!(script.ack(due + 101 + later, 4), []);
        }
        assert_eq!(script.sender.fast_recoveries(), 0);
    }
}

#[test]
fn ns2_keeps_what_up_to_three_duplicates_added() {
    let loss = |options: &Options| {
        let mut script = begun(options);
        assert_eq!(script.ack(149, 1), []);
        assert_eq!(script.ack(150, 1), [1]);
        script
    };
    let mut script = loss(&ns2());
    // 300 ms from the sample of 100 ms, backed off at the loss.
    assert_eq!(script.sender.next_timeout(), ms(750));
    assert!(script.ack(250, 10).into_iter().eq(11..20));
    assert_eq!(script.windows(), (10_000, 100_000));
    let mut script = loss(&paper());
    assert!(script.ack(250, 10).into_iter().eq(11..18));
    assert_eq!(script.windows(), (8000, 2000));
}

#[test]
fn ns2_sends_twice_what_follows_when_nothing_is_under_way() {
    let mut script = begun(&ns2());
    assert_eq!(script.ack(149, 1), []);
    assert_eq!(script.ack(150, 1), [1]);
    assert!(
        script
            .ack(250, 11)
            .into_iter()
            .eq([11].into_iter().chain(11..21))
    );
    let mut script = begun(&paper());
    assert_eq!(script.ack(149, 1), []);
    assert_eq!(script.ack(150, 1), [1]);
    assert!(script.ack(250, 11).into_iter().eq(11..19));
}

/// A spared loss costs ns-2's Vegas its window, so an oracle hurts it (Milenkoski and Stojcevska
/// 2010).
#[test]
fn a_spared_loss_costs_ns2_the_window() {
    let recovery = |options: &Options| {
        let mut script = spared(options);
        assert_eq!(script.ack(149, 1), []);
        assert_eq!(script.ack(150, 1)[0], 1);
        assert_eq!(script.windows().0, 10_000);
        script.ack(151, 1);
        assert_eq!(script.windows().0, 10_000);
        script.ack(250, 10);
        script.windows()
    };
    assert_eq!(recovery(&paper()), (10_000, u64::MAX));
    assert_eq!(recovery(&ns2()), (1000, 2000));
}
