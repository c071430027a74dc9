//! The machine that runs a scheme: it asks the classifier for causes, and has the controller act
//! upon them.

use crate::bandwidth::delivery_rate::{LostPacket, RateSample};
use crate::congestion::{AnyController, Controller};
use crate::event::{AckEvent, LossEvent, MarkEvent, SentEvent};
use crate::policy::UnderPolicy;
use crate::sender::{Classifier, SenderClassifier};
use crate::{Cause, Rate, Time};
use core::fmt;

/// Why a controller cannot run: it measures delivery rates, and nothing would tell it of any.
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

/// A connection under a scheme: told what happens to it, it says how much may be under way.
///
/// It tells the classifier and the controller of everything in the order that both expect, asks the
/// one for causes and has the other act upon them under its policy. Any classifier and any
/// controller will do, also one's own. The calls and when they are due are those of the
/// [controllers' contract](crate::congestion).
#[derive(Clone, Debug)]
pub struct CongestionControl<S = Classifier, C = AnyController> {
    classifier: S,
    control: UnderPolicy<C>,
    /// cwnd and ssthresh before the last loss event, if that can be undone.
    before: Option<(u64, u64)>,
}

impl<S: SenderClassifier, C: Controller> CongestionControl<S, C> {
    /// Puts a classifier and a controller under its policy together, for a transport that tells no
    /// rate samples.
    ///
    /// # Errors
    /// When the controller [wants them](Controller::wants_rate_samples): its window would never
    /// move.
    pub fn new(classifier: S, control: UnderPolicy<C>) -> Result<Self, NeedsRateSamples> {
        if control.wants_rate_samples() {
            return Err(NeedsRateSamples);
        }
        Ok(Self::metered(classifier, control))
    }

    /// Puts the two together for a transport that tells [rate samples](Self::on_rate_sample) and
    /// [lost packets](Self::on_packet_lost) if the controller wants them.
    pub fn metered(classifier: S, control: UnderPolicy<C>) -> Self {
        Self {
            classifier,
            control,
            before: None,
        }
    }

    /// The classifier, to look at.
    pub fn classifier(&self) -> &S {
        &self.classifier
    }

    /// The controller under its policy, to look at.
    pub fn control(&self) -> &UnderPolicy<C> {
        &self.control
    }

    /// A packet leaves.
    #[inline]
    pub fn on_sent(&mut self, sent: &SentEvent) {
        self.classifier.on_sent(sent);
        self.control.on_sent(sent);
    }

    /// An acknowledgement arrives; before it, if the controller
    /// [wants](UnderPolicy::wants_rate_samples) one, its [rate sample](Self::on_rate_sample).
    #[inline]
    pub fn on_ack(&mut self, ack: &AckEvent) {
        self.classifier.on_ack(ack);
        self.control.on_ack(ack);
    }

    /// An acknowledgement shows a delivery rate.
    pub fn on_rate_sample(&mut self, sample: &RateSample) {
        self.control.on_rate_sample(sample);
    }

    /// A loss event, a timeout or persistent congestion: answers with the cause it was given.
    pub fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let cause = self.classifier.on_loss(loss);
        self.before = Some((self.control.window(), self.control.ssthresh()));
        if loss.detection.is_timeout() {
            self.control.on_timeout(loss, cause);
        } else {
            self.control.on_loss(loss, cause);
        }
        cause
    }

    /// The peer saw ECN-CE.
    pub fn on_mark(&mut self, mark: &MarkEvent) {
        self.before = Some((self.control.window(), self.control.ssthresh()));
        self.control.on_mark(mark);
    }

    /// A packet is marked as lost, after the loss event it belongs to.
    pub fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.control.on_packet_lost(packet);
    }

    /// Ends a recovery; the window must not exceed `at_most` now ([`u64::MAX`]: no such bound).
    /// Returns the final cause of the loss if the classifier [revises](SenderClassifier::revises)
    /// its verdicts. If that is wireless, the window is as before the loss.
    pub fn on_recovery_end(&mut self, now: Time, at_most: u64) -> Option<Cause> {
        self.control.on_recovery_end(now, at_most);
        let revises = self.classifier.revises();
        let cause = revises.then(|| self.classifier.on_recovery_end(now));
        if cause == Some(Cause::Wireless) {
            self.on_spurious_loss(now);
        }
        cause
    }

    /// All that the last loss event called lost has arrived: what it did to the window is undone.
    /// Does nothing the second time.
    pub fn on_spurious_loss(&mut self, now: Time) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.control.on_spurious_loss(now, cwnd, ssthresh);
        }
    }

    /// Full segments have `segment_size` bytes from now on.
    pub fn on_mtu_change(&mut self, segment_size: u32) {
        self.control.on_mtu_change(segment_size);
    }

    /// How many bytes may be under way; at least one segment.
    #[inline]
    pub fn window(&self) -> u64 {
        self.control.window()
    }

    /// The slow start threshold in bytes; [`u64::MAX`] if there is none (yet).
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }

    /// The rate to pace packets at; `None`: as acknowledgements clock them.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }
}
