//! The reactions of n to a loss, and how any sender classifier chooses one.
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
//! ```
//!
//! B is what [`Veno`] computes from the sender's events: their window is n packets, and its
//! smoothed round-trip time starts and moves as the sender's R does.

use crate::Cause;
use crate::event::{AckEvent, LossEvent};
use crate::sender::veno::{Judgement, Veno};
use crate::sender::{Classifier, SenderClassifier};

/// The reaction of n to a loss found by acknowledgements. A timeout always does the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reaction {
    /// n stays.
    Keep,
    /// n·4/5.
    FourFifths,
    /// n/2.
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

/// Whom a sender tells of its acknowledgements, and asks about its losses. A sender of plain IFTP
/// has `()`.
pub trait Judge {
    /// Takes an acknowledgement.
    fn on_ack(&mut self, ack: &AckEvent);
    /// The reaction to a loss event. Asked about timeouts too, but the answer is not used there.
    fn on_loss(&mut self, loss: &LossEvent) -> Reaction;
}

/// Every loss is congestion.
impl Judge for () {
    #[inline]
    fn on_ack(&mut self, _: &AckEvent) {}

    fn on_loss(&mut self, _: &LossEvent) -> Reaction {
        Reaction::Halve
    }
}

/// IFTPV.
impl Judge for Veno {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        SenderClassifier::on_ack(self, ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        self.judge(loss).into()
    }
}

/// A classifier's answer about a loss event of IFTP: the cause, and the reaction, of which some
/// classifiers know more than two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Advice {
    /// The cause.
    pub cause: Cause,
    /// The sender's reaction.
    pub reaction: Reaction,
}

impl Advice {
    /// Asks a classifier about a loss event.
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

/// Any classifier of the registry. With the unaware one it is IFTP, with enhanced Veno IFTPV.
impl Judge for Classifier {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        SenderClassifier::on_ack(self, ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        Advice::of(self, loss).reaction
    }
}
