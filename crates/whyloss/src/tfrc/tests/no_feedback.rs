//! The no-feedback timer (RFC 5348, 4.4), one script per branch, and the end of slow start. s =
//! 1000 bytes and R = 100 ms, so W_init/R, the RFC's `recover_rate`, is 40 kB/s. X_Bps(p = 0.01) =
//! 112 332 byte/s (see `equation`).
//!
//! After feedback, the timer runs for max(4R, 2s/X) = 400 ms, with X from before the report (4.3,
//! steps 3 and 6). After an expiry, it uses X from after the expiry (4.4, step 2).

use super::sender::{report, send_until, sender};
use super::{Pair, close, equation, millis};
use crate::tfrc::{Options, Sender};
use crate::{Cause, Duration, Rate};

/// Asserts X at these times, with packets sent when they are due.
fn rates<const N: usize>(sender: &mut Sender, expected: [(u64, f64); N]) {
    for (at, rate) in expected {
        send_until(sender, millis(at));
        close(sender.rate(), rate, 1e-5);
    }
}

/// Returns a sender in slow start at 160 kB/s, doubled at 1200 and 1300 ms. It has sent nothing
/// since 1300 ms.
fn fast() -> Sender {
    let mut sender = sender();
    send_until(&mut sender, millis(1099));
    for at in [1100, 1200, 1300] {
        report(&mut sender, at, 1e6, 0.0);
        if at < 1300 {
            send_until(&mut sender, millis(at + 99));
        }
    }
    close(sender.rate(), 160e3, 1e-12);
    sender
}

/// Returns a sender after a loss, limited by a receive rate of `x_recv` reported at 1200 and 1401
/// ms. At 1401 ms, the infinity of 1100 ms is forgotten.
fn limited(x_recv: f64) -> Sender {
    let mut sender = sender();
    send_until(&mut sender, millis(1099));
    report(&mut sender, 1100, 0.0, 0.0);
    report(&mut sender, 1200, x_recv, 0.01);
    close(sender.rate(), 112_332.0, 1e-5);
    send_until(&mut sender, millis(1400));
    report(&mut sender, 1401, x_recv, 0.01);
    close(sender.rate(), (2.0 * x_recv).min(112_332.0), 1e-5);
    sender
}

/// First branch: there is no sample of R, and the sender is not idle. The timer is 2 s at first
/// (4.2), then 2s/X.
#[test]
fn without_a_sample_the_rate_halves() {
    rates(
        &mut sender(),
        [
            (2999, 1000.0),
            (3000, 500.0),
            (6999, 500.0),
            (7000, 250.0),
            (14_999, 250.0),
            (15_000, 125.0),
        ],
    );
}

/// There is no sample, and the sender is idle since the timer was set. No branch applies, because
/// feedback could answer no packet.
#[test]
fn without_a_sample_an_idle_sender_keeps_its_rate() {
    let mut sender = sender();
    sender.set_has_data(millis(1000), false);
    rates(&mut sender, [(3000, 1000.0), (60_000, 1000.0)]);
    // The timer was set at 59 s for 2 s. One packet at 60 s means that the sender was not idle.
    sender.set_has_data(millis(60_000), true);
    assert_eq!(send_until(&mut sender, millis(60_000)).len(), 1);
    sender.set_has_data(millis(60_001), false);
    rates(&mut sender, [(60_999, 1000.0), (61_000, 500.0)]);
}

/// Second branch, p = 0: an idle sender below 2·W_init/R keeps its rate. Above that rate, the third
/// branch halves it, from 160 to 80 and then to 40 kB/s.
#[test]
fn an_idle_sender_in_slow_start_falls_below_twice_the_initial_rate() {
    let mut sender = fast();
    sender.set_has_data(millis(1300), false);
    rates(
        &mut sender,
        [
            (1699, 160e3),
            (1700, 80e3),
            (2100, 40e3),
            (2500, 40e3),
            (60_000, 40e3),
        ],
    );
}

/// Second branch, p > 0: the sender is idle, and X_recv is below W_init/R.
#[test]
fn an_idle_sender_below_the_initial_rate_keeps_it() {
    let mut sender = limited(30e3);
    sender.set_has_data(millis(1401), false);
    rates(&mut sender, [(1801, 60e3), (2201, 60e3), (60_000, 60e3)]);
}

/// An idle sender with X_recv at 50 kB/s: the fourth branch sets the limit to X_recv and the set to
/// {25 kB/s}, which is below W_init/R.
#[test]
fn an_idle_sender_above_the_initial_rate_is_halved() {
    let mut sender = limited(50e3);
    sender.set_has_data(millis(1401), false);
    rates(
        &mut sender,
        [(1800, 100e3), (1801, 50e3), (2201, 50e3), (60_000, 50e3)],
    );
}

/// Third branch, p = 0 and not idle: the rate halves repeatedly from 40 kB/s. The first timer is
/// 2s/X = 2 s at 1000 byte/s. Later timers take 400 ms down to 5 kB/s, then 2s/X = 0.8 s and 1.6 s.
#[test]
fn in_slow_start_the_rate_halves() {
    let mut sender = sender();
    send_until(&mut sender, millis(1099));
    report(&mut sender, 1100, 0.0, 0.0);
    rates(
        &mut sender,
        [
            (3099, 40e3),
            (3100, 20e3),
            (3500, 10e3),
            (3900, 5e3),
            (4300, 2.5e3),
            (5099, 2.5e3),
            (5100, 1250.0),
            (6699, 1250.0),
            (6700, 625.0),
        ],
    );
}

/// Fourth branch: X_Bps > 2·X_recv. The limit becomes X_recv, and the set half of it. Each expiry
/// halves the rate, down to s/t_mbi.
#[test]
fn what_the_receive_rate_limits_is_halved_by_it() {
    let mut sender = limited(30e3);
    rates(
        &mut sender,
        [(1800, 60e3), (1801, 30e3), (2201, 15e3), (2601, 7.5e3)],
    );
    // 2s/X = 267 ms, so the timer takes 400 ms. At 3.75 kB/s, it takes 533 ms.
    rates(
        &mut sender,
        [(3001, 3750.0), (3534, 3750.0), (3535, 1875.0)],
    );
    rates(&mut sender, [(2_000_000, 1000.0 / 64.0)]);
}

/// Fifth branch: X_Bps ≤ 2·X_recv. The limit becomes half of X_Bps, and the set a quarter. The
/// fourth branch then applies.
#[test]
fn what_the_equation_limits_is_halved_by_it() {
    let mut sender = limited(100e3);
    rates(
        &mut sender,
        [(1800, 112_332.0), (1801, 56_166.0), (2201, 28_083.0)],
    );
}

/// Feedback after an expiry: with p > 0, the limit is immediately 2·max(X_recv_set), 2·45 kB/s.
/// With p = 0, a rate below W_init/R rises to it, and then continues to double.
#[test]
fn feedback_restores_the_rate() {
    let mut sender = limited(50e3);
    rates(&mut sender, [(1801, 50e3), (2201, 25e3)]);
    report(&mut sender, 2300, 45e3, 0.01);
    close(sender.rate(), 90e3, 1e-12);
    // The timer restarts and expires at 2300 + 400.
    rates(&mut sender, [(2699, 90e3), (2700, 45e3)]);

    let mut sender = fast();
    rates(
        &mut sender,
        [(1700, 80e3), (2100, 40e3), (2500, 20e3), (2900, 10e3)],
    );
    report(&mut sender, 3000, 100e3, 0.0);
    close(sender.rate(), 40e3, 1e-12);
    report(&mut sender, 3100, 100e3, 0.0);
    close(sender.rate(), 80e3, 1e-12);
}

/// Each report delays the timer by 400 ms, so it never expires.
#[test]
fn feedback_in_time_keeps_the_timer_from_expiring() {
    let mut sender = limited(50e3);
    for at in (1800..10_000).step_by(399) {
        send_until(&mut sender, millis(at));
        report(&mut sender, at, 50e3, 0.01);
        close(sender.rate(), 100e3, 1e-12);
    }
}

/// RFC 5348, 4.3 and 6.3.1. The link is never full, and R is 100 ms and 10 µs of transmission. X =
/// W_init/R, then doubles once per R. At the first loss event, p is set so that the equation gives
/// the largest receive rate so far. This rate is from before the last one or two doublings: the
/// rate falls, but not below a quarter.
#[test]
fn slow_start_doubles_until_the_first_loss_event() {
    let options = Options::rfc5348();
    let mut pair = Pair::new(&options, Duration::from_millis(50), Rate::from_mbps(800));
    let rtt = 0.100_01;
    pair.run(millis(101), |_| None);
    assert!(pair.rates.is_empty());
    // The report of packet 0, sent at 1 ms, arrives at 101.01 ms.
    pair.run(millis(102), |_| None);
    close(pair.sender.rate(), 4000.0 / rtt, 1e-6);
    let mut levels = std::vec::Vec::new();
    pair.run(millis(900), |_| None);
    for &rate in &pair.rates {
        if levels.last() != Some(&rate) {
            levels.push(rate);
        }
    }
    assert!(levels.len() >= 4, "{levels:?}");
    close(levels[1], 2.0 * levels[0], 1e-9);
    for pair in levels.windows(2) {
        assert!(pair[1] > pair[0] && pair[1] <= 2.0 * pair[0] * (1.0 + 1e-9));
    }
    let lost = pair.sent + 3;
    let mut before = 0.0;
    while pair.sender.loss_event_rate() == 0.0 {
        before = pair.sender.rate();
        let next = pair.now + Duration::from_millis(1);
        pair.run(next, |s| (s == lost).then_some(Cause::Congestion));
    }
    let p = pair.sender.loss_event_rate();
    let (rate, r) = (pair.sender.rate(), pair.sender.rtt().expect("sampled"));
    let r = r.as_secs_f64();
    close(rate, equation(&options, r, 4.0 * r).throughput(p), 1e-6);
    assert!(rate < before && rate > 0.25 * before, "{before} to {rate}");
}
