//! The state machine that runs a scheme: the classifier finds causes, and the controller acts on
//! them.

use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::congestion::{AnyController, Controller};
use crate::event::{AckEvent, LossEvent, MarkEvent, SentEvent};
use crate::policy::UnderPolicy;
use crate::sender::{Classifier, SenderClassifier};
use crate::{Cause, Rate, Time};
use core::fmt;

/// The error of a controller that needs delivery rates, which the transport does not report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedsRateSamples;

impl fmt::Display for NeedsRateSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this controller needs rate samples: drive it through `connection::Connection`, or tell them and use `metered`",
        )
    }
}

impl core::error::Error for NeedsRateSamples {}

/// Runs a connection under a scheme: takes the transport's events and returns the window.
///
/// It passes events to the classifier and the controller in the order that both expect, and applies
/// each verdict under the policy. Any classifier and controller work, including your own. Calls
/// follow the [controllers' contract](crate::congestion).
#[derive(Clone, Debug)]
pub struct CongestionControl<S = Classifier, C = AnyController> {
    classifier: S,
    control: UnderPolicy<C>,
    /// cwnd and ssthresh before the last loss event, if the event can be undone.
    before: Option<(u64, u64)>,
}

impl<S: SenderClassifier, C: Controller> CongestionControl<S, C> {
    /// Combines a classifier and a controller with its policy, for a transport that reports no rate
    /// samples.
    ///
    /// # Errors
    /// Returns an error if the controller [wants rate samples](Controller::wants_rate_samples),
    /// because its window would never change.
    pub fn new(classifier: S, control: UnderPolicy<C>) -> Result<Self, NeedsRateSamples> {
        if control.wants_rate_samples() {
            return Err(NeedsRateSamples);
        }
        Ok(Self::metered(classifier, control))
    }

    /// Combines a classifier and a controller with its policy. The transport must report [rate
    /// samples](Self::on_rate_sample) and [lost packets](Self::on_packet_lost) if the controller
    /// wants them.
    pub fn metered(classifier: S, control: UnderPolicy<C>) -> Self {
        Self {
            classifier,
            control,
            before: None,
        }
    }

    /// Returns the classifier, for inspection.
    pub fn classifier(&self) -> &S {
        &self.classifier
    }

    /// Returns the controller with its policy, for inspection.
    pub fn control(&self) -> &UnderPolicy<C> {
        &self.control
    }

    /// Records that a packet was sent.
    #[inline]
    pub fn on_sent(&mut self, sent: &SentEvent) {
        self.classifier.on_sent(sent);
        self.control.on_sent(sent);
    }

    /// Handles an acknowledgement. If the controller [wants](UnderPolicy::wants_rate_samples) rate
    /// samples, call [`Self::on_rate_sample`] first.
    #[inline]
    pub fn on_ack(&mut self, ack: &AckEvent) {
        self.classifier.on_ack(ack);
        self.control.on_ack(ack);
    }

    /// Updates the controller with the delivery rate that an acknowledgement shows.
    pub fn on_rate_sample(&mut self, sample: &RateSample) {
        self.control.on_rate_sample(sample);
    }

    /// Handles a loss event, a timeout or persistent congestion, and returns the cause assigned to
    /// it. A controller that weighs causes itself (`whyloss`) replaces the classifier's verdict:
    /// wireless if it cuts nothing, as in the kernel.
    pub fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let cause = self.classifier.on_loss(loss);
        // A repeated timeout belongs to the loss event of the first one.
        if !loss.repeated {
            self.before = Some((self.control.window(), self.control.ssthresh()));
        }
        if loss.detection.is_timeout() {
            self.control.on_timeout(loss, cause);
        } else {
            self.control.on_loss(loss, cause);
        }
        self.control.own_cause().unwrap_or(cause)
    }

    /// Handles an ECN-CE mark that the peer reports. It is never spurious, so earlier loss events
    /// can no longer be undone.
    pub fn on_mark(&mut self, mark: &MarkEvent) {
        self.before = None;
        self.control.on_mark(mark);
    }

    /// Records a lost packet; call it after the loss event that the packet belongs to.
    pub fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.control.on_packet_lost(packet);
    }

    /// Ends a recovery and limits the window to `at_most` bytes; [`u64::MAX`] sets no limit.
    /// Returns the final cause of the loss if the classifier [revises](SenderClassifier::revises)
    /// its verdicts. If that is wireless, the window returns to its value before the loss.
    pub fn on_recovery_end(&mut self, now: Time, at_most: u64) -> Option<Cause> {
        self.control.on_recovery_end(now, at_most);
        let revises = self.classifier.revises();
        let cause = revises.then(|| self.classifier.on_recovery_end(now));
        if cause == Some(Cause::Wireless) {
            self.on_spurious_loss(now);
        }
        cause
    }

    /// Undoes the window change of the last loss event, because all its packets have arrived after
    /// all. A second call does nothing.
    pub fn on_spurious_loss(&mut self, now: Time) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.control.on_spurious_loss(now, cwnd, ssthresh);
        }
    }

    /// Sets the size of full segments, in bytes.
    pub fn on_mtu_change(&mut self, segment_size: u32) {
        self.control.on_mtu_change(segment_size);
    }

    /// Returns the congestion window in bytes; at least one segment.
    #[inline]
    pub fn window(&self) -> u64 {
        self.control.window()
    }

    /// Returns the slow start threshold in bytes; [`u64::MAX`] if there is none.
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }

    /// Returns the pacing rate; `None` means that acknowledgements clock packets out.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }
}
