//! Implements quinn's congestion controller (`quinn-proto` 0.11) for [`SchemeConfig`].
//!
//! ```
//! use std::sync::Arc;
//! use quinn_proto::TransportConfig;
//! use whyloss::schemes::Scheme;
//! use whyloss_quic::SchemeConfig;
//!
//! let mut transport = TransportConfig::default();
//! let scheme = Scheme::of("cubic", "keep", "trees")?;
//! transport.congestion_controller_factory(Arc::new(SchemeConfig::new(scheme)));
//! # Ok::<(), whyloss::schemes::SchemeError>(())
//! ```

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use whyloss::connection::Connection;
use whyloss::sender::SenderClassifier;

use crate::{Clock, SchemeConfig};

/// The congestion controller of a quinn connection.
#[derive(Clone, Debug)]
pub struct QuinnController<S = whyloss::sender::Classifier> {
    clock: Clock,
    connection: Connection<S>,
    initial_window: u64,
}

impl<S: SenderClassifier> QuinnController<S> {
    /// Returns the active classifier, controller and policy, for inspection.
    pub fn control(&self) -> &whyloss::schemes::CongestionControl<S> {
        self.connection.control()
    }
}

impl<S: SenderClassifier + Clone + Send + Sync + 'static> Controller for QuinnController<S> {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let now = self.clock.now(now);
        self.connection.on_sent(now, bytes, last_packet_number);
        self.connection.infer_window_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        let now = self.clock.now(now);
        if let Some(left) = self.clock.departure(sent) {
            self.connection.on_acked_at(now, left, bytes);
        }
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        _in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let now = self.clock.now(now);
        self.connection
            .on_end_acks(now, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let now = self.clock.now(now);
        let Some(left) = self.clock.departure(sent) else {
            return;
        };
        if lost_bytes == 0 && !is_persistent_congestion {
            return self.connection.on_marked(now, left);
        }
        if lost_bytes > 0 {
            self.connection.on_lost_until(left, lost_bytes);
        }
        self.connection.on_lost(now, left, is_persistent_congestion);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.connection.on_mtu_change(new_mtu.into());
    }

    fn window(&self) -> u64 {
        self.connection.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.connection.window();
        metrics.ssthresh = Some(self.connection.control().ssthresh());
        metrics.pacing_rate = self.connection.pacing_rate().map(whyloss::Rate::as_bps);
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

impl<S: SenderClassifier + Clone + Send + Sync + 'static> ControllerFactory for SchemeConfig<S> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(QuinnController {
            clock: Clock::new(now),
            connection: self.connection(current_mtu),
            initial_window: self.start(current_mtu).initial_window,
        })
    }
}
