//! The sender by hand. s = 1000 bytes and R = 100 ms.

use super::{SIZE, close, millis};
use crate::tfrc::{Data, Feedback, InitialWindow, Options, Sender, SlowStart};
use crate::{Duration, Time};

/// Builds a report that gives a sample of 100 ms at `now`.
fn feedback(now: Time, receive_rate: f64, loss_event_rate: f64) -> Feedback {
    Feedback {
        echo: now - Duration::from_millis(130),
        hold: Duration::from_millis(30),
        receive_rate,
        loss_event_rate,
        new_loss_event: false,
    }
}

pub(super) fn report(sender: &mut Sender, at: u64, receive_rate: f64, loss_event_rate: f64) {
    sender.on_feedback(
        millis(at),
        &feedback(millis(at), receive_rate, loss_event_rate),
    );
}

/// Sends until `end` and returns the packets.
pub(super) fn send_until(sender: &mut Sender, end: Time) -> std::vec::Vec<Data> {
    let mut packets = std::vec::Vec::new();
    while sender.next_timeout() <= end {
        let next = sender.next_timeout();
        packets.extend(sender.on_timeout(next));
    }
    packets
}

pub(super) fn sender() -> Sender {
    Sender::new(&Options::rfc5348(), SIZE, millis(1000))
}

/// RFC 5348, 4.2 and 4.4: the sender starts with one packet per second. After 2 s without feedback,
/// it halves this rate, and the timer takes 2s/X = 4 s, then 8 s. Packets leave at 1 and 2 s. The
/// expiry at 3 s moves the next packet from 3 s to 2 + 2 = 4 s; the next one leaves at 6 s.
#[test]
fn before_any_feedback() {
    let mut sender = sender();
    assert!(sender.rtt().is_none());
    let sent = send_until(&mut sender, millis(2999));
    assert_eq!(sent.len(), 2);
    assert_eq!((sent[0].sequence, sent[0].stamp), (0, millis(1000)));
    assert_eq!((sent[1].sequence, sent[1].stamp), (1, millis(2000)));
    close(sender.rate(), 1000.0, 1e-12);
    send_until(&mut sender, millis(3000));
    close(sender.rate(), 500.0, 1e-12);
    send_until(&mut sender, millis(6999));
    close(sender.rate(), 500.0, 1e-12);
    send_until(&mut sender, millis(7000));
    close(sender.rate(), 250.0, 1e-12);
    send_until(&mut sender, millis(14_999));
    close(sender.rate(), 250.0, 1e-12);
}

/// W_init = min(4s, max(2s, 4380)) = 4000 bytes, so X is 40 kB/s at R = 100 ms. For 762 bytes, X is
/// 3048 / 0.1.
#[test]
fn the_first_feedback() {
    let mut sender = sender();
    send_until(&mut sender, millis(1000));
    report(&mut sender, 1100, 0.0, 0.0);
    assert_eq!(sender.rtt(), Some(Duration::from_millis(100)));
    close(sender.rate(), 40_000.0, 1e-12);
    // The packet that was due at 2 s is due now, because 1 s + 25 ms is past. The next ones follow
    // every 25 ms.
    let stamps: std::vec::Vec<_> = send_until(&mut sender, millis(1199))
        .iter()
        .map(|data| data.stamp)
        .collect();
    assert_eq!(
        stamps,
        [millis(1100), millis(1125), millis(1150), millis(1175)]
    );

    let mut small = Sender::new(&Options::rfc5348(), 762, millis(1000));
    report(&mut small, 1100, 0.0, 0.0);
    close(small.rate(), 30_480.0, 1e-12);
}

/// X doubles once per R. For 2R, the infinity in the set limits nothing; then 2·max(X_recv_set)
/// does. X is at least W_init/R.
#[test]
fn slow_start() {
    let mut sender = sender();
    report(&mut sender, 1100, 0.0, 0.0);
    report(&mut sender, 1150, 9e3, 0.0);
    close(sender.rate(), 40e3, 1e-12);
    report(&mut sender, 1200, 10e3, 0.0);
    close(sender.rate(), 80e3, 1e-12);
    report(&mut sender, 1301, 60e3, 0.0);
    close(sender.rate(), 120e3, 1e-12);
    report(&mut sender, 1501, 1e3, 0.0);
    close(sender.rate(), 120e3, 1e-12);
    report(&mut sender, 1702, 1e3, 0.0);
    close(sender.rate(), 40e3, 1e-12);
}

/// p = 0.01 allows 112332 byte/s (see `equation`), but X_recv = 40 kB/s only 80 kB/s.
#[test]
fn congestion_avoidance() {
    let mut sender = sender();
    report(&mut sender, 1100, 0.0, 0.0);
    report(&mut sender, 1200, 100e3, 0.01);
    close(sender.rate(), 112_332.0, 1e-5);
    report(&mut sender, 1400, 40e3, 0.01);
    close(sender.rate(), 112_332.0, 1e-5);
    report(&mut sender, 1401, 40e3, 0.01);
    close(sender.rate(), 80e3, 1e-12);
    // The floor is s/64: an R of 10 s at p = 1 would give 0.4 byte/s.
    let mut slow = Sender::new(&Options::rfc5348(), SIZE, millis(0));
    let far = Feedback {
        echo: millis(0),
        hold: Duration::ZERO,
        receive_rate: 1e6,
        loss_event_rate: 1.0,
        new_loss_event: true,
    };
    slow.on_feedback(millis(10_000), &far);
    close(slow.rate(), 1000.0 / 64.0, 1e-12);
}

/// RFC 5348, 4.4 with p > 0. X_Bps = 112332 does not exceed 2·X_recv = 200e3: the limit becomes
/// X_Bps/2 = 56166, and X_recv_set {28083}. X_Bps then exceeds 2·28083, so the limit is 28083. Each
/// step takes max(4R, 2s/X) = 0.4 s.
#[test]
fn no_feedback_halves() {
    let mut sender = sender();
    report(&mut sender, 1100, 0.0, 0.0);
    report(&mut sender, 1200, 100e3, 0.01);
    send_until(&mut sender, millis(1599));
    close(sender.rate(), 112_332.0, 1e-5);
    send_until(&mut sender, millis(1600));
    close(sender.rate(), 56_166.0, 1e-5);
    send_until(&mut sender, millis(2000));
    close(sender.rate(), 28_083.0, 1e-5);
    // Feedback restores the rate that X_recv allows.
    report(&mut sender, 2010, 50e3, 0.01);
    close(sender.rate(), 100e3, 1e-12);
}

/// An idle sender below W_init/R keeps its rate. A faster one is halved.
#[test]
fn idle_senders_keep_the_initial_rate() {
    let mut sender = sender();
    report(&mut sender, 1100, 0.0, 0.0);
    sender.set_has_data(millis(1101), false);
    send_until(&mut sender, millis(60_000));
    close(sender.rate(), 40e3, 1e-12);
    // A burst makes up for at most one R: 40 kB/s · 100 ms = 4 packets, and the packet that is due.
    sender.set_has_data(millis(60_000), true);
    assert_eq!(send_until(&mut sender, millis(60_000)).len(), 5);
}

/// RFC 5348, 4.3, step 4: a loss in a data-limited interval halves X_recv_set, counts X_recv with
/// 85 %, and sets the limit to the largest rate: max(60/2, 0.85·50) = 42.5 kB/s. Without a loss,
/// the limit is twice the largest rate.
#[test]
fn losses_while_data_limited() {
    let run = |new_loss_event| {
        let mut sender = sender();
        report(&mut sender, 1100, 0.0, 0.0001);
        sender.set_has_data(millis(1150), false);
        report(&mut sender, 1400, 60e3, 0.0001);
        let mut second = feedback(millis(1500), 50e3, 0.0001);
        second.new_loss_event = new_loss_event;
        sender.on_feedback(millis(1500), &second);
        sender.rate()
    };
    close(run(false), 120e3, 1e-12);
    close(run(true), 42.5e3, 1e-12);
}

/// RFC 5348, 4.5: after samples of 100 and 400 ms, mean(√R) = 0.9·√0.1 + 0.1·√0.4 = 0.34785, and
/// √0.4 = 0.63246. Packets leave at 0.55 X. R = 0.13, and X = 40 kB/s in slow start, not yet
/// doubled, so the interval is 1000/(40e3·0.55) = 45.45 ms.
#[test]
fn spacing_follows_the_root_of_the_sample() {
    for (damping, micros) in [(true, 45_455), (false, 25_000)] {
        let options = Options {
            damping,
            ..Options::rfc5348()
        };
        let mut sender = Sender::new(&options, SIZE, millis(1000));
        report(&mut sender, 1100, 0.0, 0.0);
        let mut far = feedback(millis(1101), 0.0, 0.0);
        far.hold = Duration::from_millis(-270);
        sender.on_feedback(millis(1101), &far);
        assert_eq!(sender.rtt(), Some(Duration::from_millis(130)));
        let first = sender.next_timeout();
        assert!(sender.on_timeout(first).is_some());
        let gap = sender.next_timeout() - first;
        assert!((gap - Duration::from_micros(micros)).as_nanos().abs() < 1000);
    }
}

/// In ns-2, the rate rises by s/R per R, for at most 2R: from X(p = 0.04) by 10, 20 and 20 kB/s.
#[test]
fn ns2_rises_by_a_packet_per_rtt() {
    let options = Options {
        filter: 0.9,
        ..Options::ns2()
    };
    let mut sender = Sender::new(&options, SIZE, millis(1000));
    report(&mut sender, 1100, 0.0, 0.0);
    report(&mut sender, 1200, 1e6, 0.04);
    report(&mut sender, 1300, 1e6, 0.04);
    let low = sender.rate();
    for (at, rise) in [(1400, 10e3), (1600, 20e3), (2500, 20e3)] {
        let before = sender.rate();
        report(&mut sender, at, 1e6, 0.0001);
        close(sender.rate() - before, rise, 1e-9);
    }
    report(&mut sender, 2600, 1e6, 0.04);
    close(sender.rate(), low, 1e-9);
    // The limit is twice the last receive rate, but at least s/R.
    report(&mut sender, 2700, 15e3, 0.0001);
    close(sender.rate(), 30e3, 1e-9);
    report(&mut sender, 2800, 0.0, 0.0001);
    close(sender.rate(), 10e3, 1e-9);
}

#[test]
fn impossible_reports_are_ignored() {
    let mut sender = sender();
    report(&mut sender, 1100, 0.0, 0.0);
    for (x_recv, p) in [
        (f64::NAN, 0.1),
        (-1.0, 0.1),
        (f64::INFINITY, 0.1),
        (1e3, f64::NAN),
        (1e3, -0.1),
        (1e3, 1.1),
    ] {
        report(&mut sender, 1200, x_recv, p);
        close(sender.rate(), 40e3, 1e-12);
    }
}

/// ns-2's W_init is whole packets, 3 of 1500 bytes: 45 kB/s at R = 100 ms. The RFC's 4380 bytes
/// give 43.8 kB/s. This holds for both ways in which the rate then rises.
#[test]
fn the_first_feedback_in_ns2() {
    let first = |initial_window, slow_start| {
        let options = Options {
            initial_window,
            slow_start,
            ..Options::ns2()
        };
        let mut sender = Sender::new(&options, 1500, millis(1000));
        report(&mut sender, 1100, 0.0, 0.0);
        sender.rate()
    };
    for slow_start in [SlowStart::Ramp, SlowStart::Doubling] {
        close(first(InitialWindow::Packets, slow_start), 45_000.0, 1e-12);
        close(first(InitialWindow::Bytes, slow_start), 43_800.0, 1e-12);
    }
}
