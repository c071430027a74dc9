//! The estimators that are compared, behind one trait.

use rtc_interceptor::{BandwidthEstimator, Gcc, PacketReport};
use std::time::Instant;
use whyloss_rtc::{Ecn, Estimator, Fate, Report, Time};

/// A packet in the closed loop; times are in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) id: u64,
    pub(crate) departed: f64,
    pub(crate) size: u32,
    /// The arrival time, or the cause of the loss.
    pub(crate) fate: Result<f64, whyloss_rtc::Cause>,
}

/// An estimator under test.
pub(crate) trait Peer {
    fn on_reports(&mut self, now: f64, samples: &[Sample]);
    fn target(&self) -> f64;
    fn timeout(&mut self, _now: f64) {}
}

/// The estimator of this crate; with `told`, the path reports the cause of each loss.
pub(crate) struct Whyloss {
    estimator: Estimator,
    told: bool,
}

impl Whyloss {
    pub(crate) fn new(initial: f64, told: bool) -> Self {
        let estimator = Estimator::new(initial, crate::LEAST, crate::MOST);
        Self { estimator, told }
    }
}

fn time(seconds: f64) -> Time {
    // Avoid zero, which would look like a missing stamp.
    Time::from_secs_f64(1_000.0 + seconds)
}

impl Peer for Whyloss {
    fn on_reports(&mut self, now: f64, samples: &[Sample]) {
        let told = self.told;
        let reports = samples.iter().map(|sample| Report {
            id: sample.id,
            departed: time(sample.departed),
            size: sample.size,
            fate: match sample.fate {
                Ok(at) => Fate::Arrived(Some(time(at)), Ecn::NotEct),
                Err(cause) => Fate::Lost(told.then_some(cause)),
            },
        });
        self.estimator.on_reports(time(now), reports);
    }

    fn target(&self) -> f64 {
        self.estimator.target()
    }

    fn timeout(&mut self, now: f64) {
        self.estimator.timeout(time(now));
    }
}

/// The estimator of rtc-interceptor.
pub(crate) struct Theirs {
    gcc: Gcc,
    epoch: Instant,
}

impl Theirs {
    pub(crate) fn new(initial: f64, least: f64, most: f64) -> Self {
        // Any instant will do, because the loop's time is relative to it.
        #[expect(clippy::disallowed_methods)]
        let epoch = Instant::now();
        let gcc = Gcc::new(initial, least, most);
        Self { gcc, epoch }
    }
}

impl Peer for Theirs {
    fn on_reports(&mut self, now: f64, samples: &[Sample]) {
        let at = |seconds| std::time::Duration::from_secs_f64(seconds);
        let reports: Vec<PacketReport> = samples
            .iter()
            .map(|sample| PacketReport {
                ssrc: 1,
                id: sample.id,
                rtp_sequence_number: sample.id as u16,
                is_twcc: true,
                twcc_sequence_number: sample.id as u16,
                size: sample.size as usize,
                arrived: sample.fate.is_ok(),
                departure: self.epoch + at(sample.departed),
                arrival: sample.fate.ok().map(at),
                #[allow(
                    clippy::default_trait_access,
                    reason = "its type is in a crate that nothing else here needs"
                )]
                ecn: Default::default(),
            })
            .collect();
        self.gcc.on_reports(self.epoch + at(now), &reports);
    }

    fn target(&self) -> f64 {
        self.gcc.target_bitrate()
    }
}
