//! A controller where senders are many: Reno in place, since it is small and the most common; any other behind a pointer,
//! since the largest takes 25 times the room.

use whyloss::bandwidth::delivery_rate::{LostPacket, RateSample};
use whyloss::congestion::{AnyController, Controller, Reno, Spared, Vegas};
use whyloss::dispatch_controller;
use whyloss::event::{AckEvent, LossEvent, MarkEvent, SentEvent};
use whyloss::{Rate, Time};

/// A controller in a sender.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Reno(Reno),
    Any(Box<AnyController>),
}

impl From<AnyController> for Held {
    fn from(controller: AnyController) -> Self {
        match controller {
            AnyController::Reno(reno) => Self::Reno(reno),
            other => Self::Any(Box::new(other)),
        }
    }
}

dispatch_controller!(Held { Reno, Any });

impl Held {
    /// Vegas, if it is Vegas: its recovery asks for more than a window.
    pub(super) fn vegas(&self) -> Option<&Vegas> {
        match self {
            Self::Any(any) => match &**any {
                AnyController::Vegas(vegas) => Some(vegas),
                _ => None,
            },
            Self::Reno(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_controllers_are_small() {
        assert_eq!(size_of::<Held>(), 40);
        assert!(size_of::<AnyController>() > 900);
    }
}
