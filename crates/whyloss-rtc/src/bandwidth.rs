//! The interface between a media sender and its bandwidth estimator, which may come from another
//! stack.

use crate::{Estimator, Report, Time};

/// Estimates the rate at which a sender of media should send.
pub trait Bandwidth: Send {
    /// Records the departure at `now` of packet `id`, of `size` bytes on the wire.
    fn on_sent(&mut self, now: Time, id: u64, size: u32) {
        let _ = (now, id, size);
    }

    /// Updates the target with the reports that arrived at `now` on the sender's clock.
    fn on_reports(&mut self, now: Time, reports: &[Report]);

    /// Returns the bitrate to send at, in bit/s.
    fn target(&self) -> f64;

    /// Returns when [`timeout`](Self::timeout) is due unless a report arrives first; `None` if
    /// there is no deadline.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Lowers the target if the deadline has passed at `now`; else does nothing.
    fn timeout(&mut self, now: Time) {
        let _ = now;
    }
}

impl Bandwidth for Estimator {
    fn on_reports(&mut self, now: Time, reports: &[Report]) {
        self.on_reports(now, reports.iter().copied());
    }

    fn target(&self) -> f64 {
        self.target()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.poll_timeout()
    }

    fn timeout(&mut self, now: Time) {
        self.timeout(now);
    }
}

impl Bandwidth for Box<dyn Bandwidth> {
    fn on_sent(&mut self, now: Time, id: u64, size: u32) {
        (**self).on_sent(now, id, size);
    }

    fn on_reports(&mut self, now: Time, reports: &[Report]) {
        (**self).on_reports(now, reports);
    }

    fn target(&self) -> f64 {
        (**self).target()
    }

    fn poll_timeout(&self) -> Option<Time> {
        (**self).poll_timeout()
    }

    fn timeout(&mut self, now: Time) {
        (**self).timeout(now);
    }
}
