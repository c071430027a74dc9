//! The estimator as `rtc-interceptor`'s [`BandwidthEstimator`], the seam of webrtc-rs.
//!
//! ```
//! use rtc_interceptor::CongestionControlBuilder;
//! use whyloss_rtc::{Estimator, interceptor::Whyloss};
//!
//! let estimator = Whyloss::new(Estimator::new(300e3, 100e3, 10e6));
//! ```

use crate::{Ecn, Estimator, Fate, Report, Time};
use rtc_interceptor::{BandwidthEstimator, EstimatorStats, PacketReport};
use std::time::{Duration, Instant};

/// An [`Estimator`] that hears the reports of rtc-interceptor.
#[derive(Clone, Debug)]
pub struct Whyloss {
    estimator: Estimator,
    /// The instant that [`EPOCH`] stands for.
    epoch: Option<Instant>,
}

/// Where the sender's clock begins, so that packets that left before the first report have a time.
const EPOCH: Duration = Duration::from_secs(3_600);

impl Whyloss {
    /// Hands reports on to `estimator`.
    pub fn new(estimator: Estimator) -> Self {
        let epoch = None;
        Self { estimator, epoch }
    }

    /// The estimator within.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }
}

/// Times of before the epoch by more than an hour become zero.
fn time(epoch: Instant, at: Instant) -> Time {
    let after = at.saturating_duration_since(epoch);
    let before = epoch.saturating_duration_since(at);
    nanos((EPOCH + after).saturating_sub(before))
}

fn nanos(span: Duration) -> Time {
    Time::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

impl BandwidthEstimator for Whyloss {
    fn on_reports(&mut self, now: Instant, reports: &[PacketReport]) {
        let epoch = *self.epoch.get_or_insert(now);
        let read = |report: &PacketReport| Report {
            id: report.id,
            departed: time(epoch, report.departure),
            size: u32::try_from(report.size).unwrap_or(u32::MAX),
            fate: if report.arrived {
                Fate::Arrived(report.arrival.map(nanos), Ecn::from_bits(report.ecn as u8))
            } else {
                Fate::Lost(None)
            },
        };
        self.estimator
            .on_reports(time(epoch, now), reports.iter().map(read));
    }

    fn target_bitrate(&self) -> f64 {
        self.estimator.target()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(epoch) = self.epoch {
            self.estimator.timeout(time(epoch, now));
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = Duration::from_nanos(self.estimator.poll_timeout()?.as_nanos());
        self.epoch?.checked_add(due.checked_sub(EPOCH)?)
    }

    fn stats(&self) -> EstimatorStats {
        let stats = self.estimator.stats();
        let mut said = EstimatorStats::default();
        said.packet_loss = Some(stats.lost);
        said.delay_based_bitrate = Some(stats.capacity).filter(|capacity| *capacity > 0.0);
        said
    }
}
