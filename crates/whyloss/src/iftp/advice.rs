//! Maps the verdict of a sender classifier to how the rate n of an IFTP sender reacts to a loss
//! (ElAarag, Moedinger & Hogg 2008).
//!
//! ```text
//! IFTP     every loss                                    n/2
//! IFTPV    B < β, con_lr_cur ≤ con_lr_prev               n             (section 10.2)
//!          B < β, con_lr_cur > con_lr_prev               4n/5
//!          B ≥ β                                         n/2
//! others   wireless                                      n
//!          congestion                                    n/2
//!
//! B = (n/RTT_base − n/RTT_actual)·RTT_base               (4), in packets
//! con_lr: congestion losses per time between random losses, current and previous; β = 3
//! ```
//!
//! [`Veno`] computes B from the sender's events, whose window is n packets. Its smoothed round-trip
//! time follows the same rule as the sender's R.

use crate::Cause;
use crate::event::{AckEvent, LossEvent};
use crate::sender::veno::{Judgement, Veno};
use crate::sender::{Classifier, SenderClassifier};

/// The reaction of the rate n, in packets per period, to a loss that acknowledgements reveal. The
/// reaction to a timeout is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reaction {
    /// The rate n stays the same.
    Keep,
    /// The rate n falls to 4n/5.
    FourFifths,
    /// The rate n falls to n/2.
    Halve,
}

impl From<Judgement> for Reaction {
    fn from(judgement: Judgement) -> Self {
        match judgement {
            Judgement::Random => Self::Keep,
            Judgement::RandomWhileCongestive => Self::FourFifths,
            Judgement::Congestion => Self::Halve,
        }
    }
}

impl From<Cause> for Reaction {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Wireless => Self::Keep,
            Cause::Congestion => Self::Halve,
        }
    }
}

/// Decides how an IFTP sender reacts to its losses, from its acknowledgements. The judge `()` is
/// plain IFTP, which halves the rate at every loss.
pub trait Judge {
    /// Updates the judge with an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Returns the reaction to a loss event. The sender also calls it at timeouts, and ignores the
    /// answer.
    fn on_loss(&mut self, loss: &LossEvent) -> Reaction;
}

/// The judge of plain IFTP, for which every loss is congestion.
impl Judge for () {
    #[inline]
    fn on_ack(&mut self, _: &AckEvent) {}

    fn on_loss(&mut self, _: &LossEvent) -> Reaction {
        Reaction::Halve
    }
}

/// The judge of IFTPV: the predictor of enhanced Veno.
impl Judge for Veno {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        SenderClassifier::on_ack(self, ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        self.judge(loss).into()
    }
}

/// The cause of a loss event of IFTP and the sender's reaction to it. Enhanced Veno has three
/// reactions for two causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Advice {
    /// The cause of the loss.
    pub cause: Cause,
    /// The reaction of the sender.
    pub reaction: Reaction,
}

impl Advice {
    /// Returns the classifier's cause for a loss event, and the reaction.
    pub fn of(classifier: &mut Classifier, loss: &LossEvent) -> Self {
        if let Classifier::Veno(veno) = classifier {
            let judgement = veno.judge(loss);
            let cause = veno.cause(judgement);
            let reaction = judgement.into();
            return Self { cause, reaction };
        }
        SenderClassifier::on_loss(classifier, loss).into()
    }
}

impl From<Cause> for Advice {
    fn from(cause: Cause) -> Self {
        let reaction = cause.into();
        Self { cause, reaction }
    }
}

/// Uses any classifier of the registry. The unaware one gives IFTP, and enhanced Veno gives IFTPV.
impl Judge for Classifier {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        SenderClassifier::on_ack(self, ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        Advice::of(self, loss).reaction
    }
}
