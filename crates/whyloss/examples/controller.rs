//! Defines a controller, runs the property tests on it, and combines it with any policy and
//! classifier. The controller is AIMD with an increase of two segments and a factor of 4/5.
//!
//! `cargo run -p whyloss --example controller`

use whyloss::congestion::{Controller, Start};
use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::policy::{UnderPolicy, WirelessPolicy};
use whyloss::schemes::{CongestionControl, NeedsRateSamples};
use whyloss::sender::fq_rtt::FqRtt;
use whyloss::{Cause, Duration, Time, testing};

/// Grows the window by two segments per round trip. Keeps four fifths of it at a loss.
struct Aimd {
    cwnd: u64,
    ssthresh: u64,
    segment: u64,
}

impl Aimd {
    fn new(start: &Start) -> Self {
        let segment = u64::from(start.segment_size.max(1));
        Self {
            cwnd: start.initial_window.max(segment),
            ssthresh: start.initial_ssthresh,
            segment,
        }
    }
}

impl Controller for Aimd {
    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.acked == 0 || ack.in_recovery || ack.app_limited {
            return;
        }
        let more = if self.cwnd < self.ssthresh {
            ack.acked.min(self.segment)
        } else {
            (2 * self.segment).saturating_mul(ack.acked.min(self.cwnd)) / self.cwnd
        };
        self.cwnd = self.cwnd.saturating_add(more);
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        let least = 2 * self.segment;
        self.set_window(
            (loss.in_flight / 5 * 4).max(least),
            (loss.in_flight / 5 * 4).max(least),
        );
    }

    fn on_recovery_end(&mut self, _now: Time, at_most: u64) {
        self.set_window(self.cwnd.min(at_most), self.ssthresh);
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        let ssthresh = (loss.in_flight / 2).max(2 * self.segment);
        self.set_window(self.segment, ssthresh);
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        self.segment = u64::from(segment_size);
        self.set_window(self.cwnd, self.ssthresh);
    }

    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = cwnd.max(self.segment);
        self.ssthresh = ssthresh;
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

fn main() -> Result<(), NeedsRateSamples> {
    testing::controller::properties(Aimd::new);

    let start = Start::new(1200);
    let aimd = UnderPolicy::new(Aimd::new(&start), WirelessPolicy::Keep);
    let mut control = CongestionControl::new(FqRtt::default(), aimd)?;
    // The queue of a path of 50 ms is empty for two seconds, then full, then empty again.
    for (second, rtt_ms) in [(0, 50), (1, 50), (2, 150), (3, 150), (4, 50), (5, 50)] {
        let now = Time::from_nanos(second * 1_000_000_000);
        let rtt = Some(Duration::from_millis(rtt_ms));
        let window = control.window();
        for k in 0..10 {
            let acknowledged = (second * 10 + k + 1) * window;
            control.on_ack(
                &AckEvent::new(now, 1200)
                    .acked(1200)
                    .acknowledged(acknowledged)
                    .window(window)
                    .rtt(rtt),
            );
        }
        let loss = LossEvent::new(now, Detection::Duplicates, 1200)
            .in_flight(control.window())
            .window(control.window());
        let before = control.window();
        let cause = control.on_loss(&loss);
        println!(
            "a loss at {rtt_ms} ms: {cause:?}, window {before} -> {}",
            control.window()
        );
        assert!(cause == Cause::Congestion || control.window() == before);
    }
    Ok(())
}
