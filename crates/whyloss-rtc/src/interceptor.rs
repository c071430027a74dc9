//! Adapts the estimator to `rtc-interceptor`'s [`BandwidthEstimator`], the interface of webrtc-rs.
//!
//! ```
//! use rtc_interceptor::{CongestionControlBuilder, Registry, Slot};
//! use whyloss_rtc::{Estimator, interceptor::Whyloss};
//!
//! let estimator = Whyloss::new(Estimator::new(300e3, 100e3, 10e6));
//! let control = CongestionControlBuilder::new(estimator).build();
//! let chain = Registry::new().with(Slot::CongestionControl, control).build();
//! ```

use crate::bandwidth::Bandwidth;
use crate::instant::{Clock, nanos};
use crate::{Ecn, Estimator, Fate, Report, Time};
use rtc_interceptor::{BandwidthEstimator, EstimatorStats, PacketReport};
use std::time::{Duration, Instant};

/// An [`Estimator`] as a `BandwidthEstimator` of rtc-interceptor.
#[derive(Clone, Debug)]
pub struct Whyloss {
    estimator: Estimator,
    clock: Clock,
}

impl Whyloss {
    /// Wraps `estimator`.
    pub fn new(estimator: Estimator) -> Self {
        let clock = Clock::default();
        Self { estimator, clock }
    }

    /// Returns the estimator.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }
}

impl BandwidthEstimator for Whyloss {
    fn on_reports(&mut self, now: Instant, reports: &[PacketReport]) {
        let now = self.clock.read(now);
        let clock = self.clock;
        let read = |report: &PacketReport| Report {
            id: report.id,
            departed: { clock }.read(report.departure),
            size: u32::try_from(report.size).unwrap_or(u32::MAX),
            fate: if report.arrived {
                Fate::Arrived(report.arrival.map(nanos), Ecn::from_bits(report.ecn as u8))
            } else {
                Fate::Lost(None)
            },
        };
        self.estimator.on_reports(now, reports.iter().map(read));
    }

    fn target_bitrate(&self) -> f64 {
        self.estimator.target()
    }

    fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock.read(now);
        self.estimator.timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.clock.instant(self.estimator.poll_timeout()?)
    }

    fn stats(&self) -> EstimatorStats {
        let stats = self.estimator.stats();
        let mut said = EstimatorStats::default();
        said.packet_loss = Some(stats.lost);
        said.delay_based_bitrate = Some(stats.capacity).filter(|capacity| *capacity > 0.0);
        said
    }
}

/// An estimator of rtc-interceptor, such as its `Gcc`, as a [`Bandwidth`].
#[derive(Clone, Debug)]
pub struct Theirs<E> {
    estimator: E,
    /// The instant of time zero.
    epoch: Instant,
    reports: Vec<PacketReport>,
}

impl<E: BandwidthEstimator> Theirs<E> {
    /// Wraps `estimator`.
    pub fn new(estimator: E) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "only the epoch: all else is the caller's time"
        )]
        let epoch = Instant::now();
        Self {
            estimator,
            epoch,
            reports: Vec::new(),
        }
    }

    fn at(&self, now: Time) -> Instant {
        self.epoch + Duration::from_nanos(now.as_nanos())
    }
}

impl<E: BandwidthEstimator> Bandwidth for Theirs<E> {
    fn on_reports(&mut self, now: Time, reports: &[Report]) {
        let mut read = std::mem::take(&mut self.reports);
        read.clear();
        read.extend(reports.iter().map(|report| PacketReport {
            ssrc: 1,
            id: report.id,
            rtp_sequence_number: report.id as u16,
            is_twcc: true,
            twcc_sequence_number: report.id as u16,
            size: report.size as usize,
            arrived: matches!(report.fate, Fate::Arrived(..)),
            departure: self.at(report.departed),
            arrival: match report.fate {
                Fate::Arrived(Some(at), _) => Some(Duration::from_nanos(at.as_nanos())),
                _ => None,
            },
            #[allow(
                clippy::default_trait_access,
                reason = "its type is in a crate that nothing else here needs"
            )]
            ecn: Default::default(),
        }));
        self.estimator.on_reports(self.at(now), &read);
        self.reports = read;
    }

    fn target(&self) -> f64 {
        self.estimator.target_bitrate()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let due = self.estimator.poll_timeout()?;
        Some(nanos(due.saturating_duration_since(self.epoch)))
    }

    fn timeout(&mut self, now: Time) {
        self.estimator.handle_timeout(self.at(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets leave in 100 ms. The first left before the estimator existed.
    #[test]
    fn reads_reports_and_keeps_their_clock() {
        let mut whyloss = Whyloss::new(Estimator::new(1e6, 1e5, 1e7));
        // Any instant will do; the trait accepts no other kind of time.
        #[expect(clippy::disallowed_methods)]
        let now = Instant::now();
        assert_eq!(whyloss.poll_timeout(), None);
        let reports: Vec<PacketReport> = (0..10)
            .map(|id| PacketReport {
                ssrc: 1,
                id,
                rtp_sequence_number: id as u16,
                is_twcc: true,
                twcc_sequence_number: id as u16,
                size: 1_200,
                arrived: true,
                departure: now
                    .checked_sub(Duration::from_millis(100 - 10 * id))
                    .unwrap(),
                arrival: Some(Duration::from_millis(10 * id)),
                #[allow(
                    clippy::default_trait_access,
                    reason = "its type is in a crate that nothing else here needs"
                )]
                ecn: Default::default(),
            })
            .collect();
        whyloss.on_reports(now, &reports);
        // 1,200 bytes every 10 ms are 960 kbit/s, so the target may rise to twice that rate.
        assert!((whyloss.target_bitrate() - 1.92e6).abs() < 1.0);
        let due = whyloss.poll_timeout().expect("arrivals were reported");
        assert_eq!(due, now + Duration::from_millis(500));
        whyloss.handle_timeout(due);
        assert!((whyloss.target_bitrate() - 0.96e6).abs() < 1.0);
        assert_eq!(whyloss.stats().packet_loss, Some(0.0));
    }
}
