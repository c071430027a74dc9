//! The state that a sender shows: its window, its timers, and counts.

use whyloss::congestion::Controller;
use whyloss::{Duration, Rate};

use super::Sender;
use crate::observe::SourceState;

impl Sender {
    /// The congestion window in bytes, without the inflation of a fast recovery.
    pub fn cwnd(&self) -> u64 {
        self.control.window()
    }

    /// The slow start threshold in bytes; [`u64::MAX`] if there is none yet.
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }

    /// Returns the state of congestion control.
    pub(crate) fn state(&self) -> SourceState {
        let controller = self.control.controller();
        let pacing = controller.pacing_rate();
        SourceState {
            cwnd: Some(controller.window()),
            ssthresh: Some(controller.ssthresh()).filter(|&bytes| bytes < u64::MAX),
            in_flight: Some(self.bytes(self.nxt - self.una)),
            rate: pacing.map(|rate| rate.as_bps() as f64 / 8.0),
            rtt: Some(self.latest_rtt).filter(|&rtt| rtt < Duration::MAX),
            srtt: self.srtt(),
            rto: Some(self.rto.timeout()),
            una: self.una,
        }
    }

    /// The bandwidth that the controller estimates, if it does.
    pub fn bandwidth(&self) -> Option<Rate> {
        self.control.bandwidth()
    }

    /// The fine-grained timeout at work, if the controller has one (Vegas).
    pub fn fine_timeout(&self) -> Option<Duration> {
        self.control.controller().vegas()?.fine_timeout()
    }

    /// The next new segment.
    pub fn next(&self) -> u64 {
        self.nxt
    }

    /// The smoothed round-trip time; `None` without a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rto.srtt()
    }

    /// The variation of the round-trip time; `None` without a sample.
    pub fn rttvar(&self) -> Option<Duration> {
        self.rto.rttvar()
    }

    /// The retransmission timeout in force, back-off included.
    pub fn rto(&self) -> Duration {
        self.rto.timeout()
    }

    /// Whether a loss is being repaired without a timeout.
    pub fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// Segments that the receiver has acknowledged cumulatively.
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Segments sent, retransmissions included.
    pub fn sent(&self) -> u64 {
        self.max + u64::from(self.retransmitted)
    }

    /// Retransmissions.
    pub fn retransmitted(&self) -> u64 {
        u64::from(self.retransmitted)
    }

    /// Expiries of the retransmission timer with data outstanding.
    pub fn timeouts(&self) -> u64 {
        u64::from(self.timeouts)
    }

    /// Recoveries begun by duplicates or SACK blocks.
    pub fn fast_recoveries(&self) -> u64 {
        u64::from(self.fast_recoveries)
    }
}
