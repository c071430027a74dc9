//! Implements noq's congestion controller (`noq-proto` 1) for [`SchemeConfig`].
//!
//! ```
//! use std::sync::Arc;
//! use noq_proto::TransportConfig;
//! use whyloss::schemes::Scheme;
//! use whyloss_quic::SchemeConfig;
//!
//! let mut transport = TransportConfig::default();
//! let scheme = Scheme::of("cubic", "keep", "trees")?;
//! transport.congestion_controller_factory(Arc::new(SchemeConfig::new(scheme)));
//! # Ok::<(), whyloss::schemes::SchemeError>(())
//! ```

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use whyloss::Time;
use whyloss::congestion::send_quantum;
use whyloss::connection::Connection;
use whyloss::sender::SenderClassifier;

use crate::{Clock, SchemeConfig};

/// The congestion controller of a noq path.
#[derive(Clone, Debug)]
pub struct NoqController<S = whyloss::sender::Classifier> {
    clock: Clock,
    connection: Connection<S>,
    /// The time of the last event, because the report of a spurious congestion event has no time.
    now: Time,
    mtu: u16,
    initial_window: u64,
}

impl<S: SenderClassifier> NoqController<S> {
    /// Returns the active classifier, controller and policy, for inspection.
    pub fn control(&self) -> &whyloss::schemes::CongestionControl<S> {
        self.connection.control()
    }
}

impl<S: SenderClassifier + Clone + Debug + Send + Sync + 'static> Controller for NoqController<S> {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.now = self.clock.now(now);
        self.connection.on_sent(self.now, bytes.into(), pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.connection.on_window_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let now = self.clock.now(now);
        if let Some(left) = self.clock.departure(sent) {
            self.connection.on_acked(now, left, bytes, pn);
        }
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        _in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.now = self.clock.now(now);
        self.connection
            .on_end_acks(self.now, app_limited, largest_packet_num_acked);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, _now: Instant) {
        self.connection.on_packet_lost(pn, lost_bytes.into());
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        self.now = self.clock.now(now);
        let Some(left) = self.clock.departure(sent) else {
            return;
        };
        if is_ecn && !is_persistent_congestion {
            return self.connection.on_marked(self.now, left);
        }
        self.connection
            .on_lost(self.now, left, is_persistent_congestion);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.connection.on_spurious(self.now);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
        self.connection.on_mtu_change(new_mtu.into());
    }

    fn window(&self) -> u64 {
        self.connection.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.connection.window();
        metrics.ssthresh = Some(self.connection.control().ssthresh());
        if let Some(rate) = self.connection.pacing_rate() {
            metrics.pacing_rate = Some(rate.as_bps() / 8);
            metrics.send_quantum = Some(send_quantum(rate, self.mtu.into()));
        }
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl<S: SenderClassifier + Clone + Debug + Send + Sync + 'static> ControllerFactory
    for SchemeConfig<S>
{
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(NoqController {
            clock: Clock::new(now),
            connection: self.connection(current_mtu),
            now: Time::ZERO,
            mtu: current_mtu,
            initial_window: self.start(current_mtu).initial_window,
        })
    }
}
