//! The no-feedback timer (RFC 5348, 4.4), one script per branch, and the end of slow start. s =
//! 1000 bytes, R = 100 ms, so that W_init/R, the RFC's `recover_rate`, is 40 kB/s. X_Bps(p = 0.01)
//! = 112 332 byte/s (see `equation`).
//!
//! With feedback the timer runs for max(4R, 2s/X) = 400 ms by the X before the report (4.3, steps 3
//! and 6), after an expiry by the X after it (4.4, step 2).

use super::sender::{report, send_until, sender};
use super::{Pair, close, equation, millis};
use crate::tfrc::{Options, Sender};
use crate::{Cause, Duration, Rate};

/// X at these times, with packets sent whenever they are due.
fn rates<const N: usize>(sender: &mut Sender, expected: [(u64, f64); N]) {
    for (at, rate) in expected {
        send_until(sender, millis(at));
        close(sender.rate(), rate, 1e-5);
    }
}

/// Slow start at 160 kB/s since 1300 ms: doubled at 1200 and 1300, nothing sent since.
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

/// After a loss, limited by a receive rate of `x_recv` reported at 1200 and 1401, when the infinity
/// of 1100 is forgotten.
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

/// First branch: no sample of R, and the sender is not idle. The timer is 2 s at first (4.2), then
/// 2s/X.
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

/// No sample, and idle since the timer was set: no branch applies, because no packet was sent that
/// feedback could answer.
#[test]
fn without_a_sample_an_idle_sender_keeps_its_rate() {
    let mut sender = sender();
    sender.set_has_data(millis(1000), false);
    rates(&mut sender, [(3000, 1000.0), (60_000, 1000.0)]);
    // Idle means since the timer was set: one packet at 60 s is enough. It was set at 59 s for 2 s.
    sender.set_has_data(millis(60_000), true);
    assert_eq!(send_until(&mut sender, millis(60_000)).len(), 1);
    sender.set_has_data(millis(60_001), false);
    rates(&mut sender, [(60_999, 1000.0), (61_000, 500.0)]);
}

/// Second branch, p = 0: an idle sender below 2·W_init/R keeps its rate. Above that rate, the third
/// branch halves it: 160, 80 and then 40 kB/s.
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

/// Second branch, p > 0: idle with X_recv below W_init/R.
#[test]
fn an_idle_sender_below_the_initial_rate_keeps_it() {
    let mut sender = limited(30e3);
    sender.set_has_data(millis(1401), false);
    rates(&mut sender, [(1801, 60e3), (2201, 60e3), (60_000, 60e3)]);
}

/// Idle with X_recv at 50 kB/s: the fourth branch limits to X_recv and leaves {25 kB/s}, which is
/// below W_init/R.
#[test]
fn an_idle_sender_above_the_initial_rate_is_halved() {
    let mut sender = limited(50e3);
    sender.set_has_data(millis(1401), false);
    rates(
        &mut sender,
        [(1800, 100e3), (1801, 50e3), (2201, 50e3), (60_000, 50e3)],
    );
}

/// Third branch, p = 0 and not idle: down by halves from 40 kB/s. The first timer is set by 1000
/// byte/s, 2s/X = 2 s; those after it run 400 ms down to 5 kB/s, then 2s/X = 0.8 s, 1.6 s.
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

/// Fourth branch: X_Bps > 2·X_recv. X_recv becomes the limit, half of it the set; each expiry
/// halves, to s/t_mbi and no less.
#[test]
fn what_the_receive_rate_limits_is_halved_by_it() {
    let mut sender = limited(30e3);
    rates(
        &mut sender,
        [(1800, 60e3), (1801, 30e3), (2201, 15e3), (2601, 7.5e3)],
    );
    // 2s/X = 267, so still 400 ms; then 3.75 kB/s for 533 ms.
    rates(
        &mut sender,
        [(3001, 3750.0), (3534, 3750.0), (3535, 1875.0)],
    );
    rates(&mut sender, [(2_000_000, 1000.0 / 64.0)]);
}

/// Fifth branch: X_Bps ≤ 2·X_recv. Half of X_Bps becomes the limit, a quarter the set; then the
/// fourth branch applies.
#[test]
fn what_the_equation_limits_is_halved_by_it() {
    let mut sender = limited(100e3);
    rates(
        &mut sender,
        [(1800, 112_332.0), (1801, 56_166.0), (2201, 28_083.0)],
    );
}

/// Feedback after an expiry: with p > 0 the limit is 2·max(X_recv_set) at once, 2·45 kB/s; with p =
/// 0 a rate below W_init/R is lifted to it, and doubling continues from there.
#[test]
fn feedback_restores_the_rate() {
    let mut sender = limited(50e3);
    rates(&mut sender, [(1801, 50e3), (2201, 25e3)]);
    report(&mut sender, 2300, 45e3, 0.01);
    close(sender.rate(), 90e3, 1e-12);
    // The timer restarts: 2300 + 400.
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

/// RFC 5348, 4.3, and 6.3.1. The link is never full, R is 100 ms and 10 µs of transmission: X =
/// W_init/R, then doubled once per R. The first loss event then makes p what the equation answers
/// to the largest receive rate so far, which is that of the rates before the last doubling or two:
/// the rate falls, but not below a quarter.
#[test]
fn slow_start_doubles_until_the_first_loss_event() {
    let options = Options::rfc5348();
    let mut pair = Pair::new(&options, Duration::from_millis(50), Rate::from_mbps(800));
    let rtt = 0.100_01;
    pair.run(millis(101), |_| None);
    assert!(pair.rates.is_empty());
    // The report of packet 0, sent at 1 ms, comes at 101.01 ms.
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
