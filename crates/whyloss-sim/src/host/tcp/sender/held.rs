//! The controller of a sender, kept small because a run may have many senders. Reno, small and the
//! most common, is stored in place. Any other controller is behind a pointer and a virtual call,
//! because the largest takes 25 times the memory.

use std::ops::{Deref, DerefMut};

use whyloss::bandwidth::delivery_rate::{LostPacket, RateSample};
use whyloss::congestion::{AnyController, Controller, Reno, Spared, Vegas};
use whyloss::dispatch_controller;
use whyloss::event::{AckEvent, LossEvent, MarkEvent, SentEvent};
use whyloss::{Rate, Time};

use crate::registry::Boxed;

/// A controller in a sender.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Reno(Reno),
    Any(Pointed),
}

/// Any controller, built in or from outside.
pub(super) struct Pointed(Box<dyn Boxed>);

impl Deref for Pointed {
    type Target = dyn Boxed;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Pointed {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

impl Clone for Pointed {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl std::fmt::Debug for Pointed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pointed").finish_non_exhaustive()
    }
}

/// Stores the concrete controller behind the pointer, so that a call dispatches only once.
macro_rules! pointed {
    ($controller:ident: $($variant:ident)+) => {
        match $controller {
            AnyController::Reno(reno) => return Held::Reno(reno),
            $(AnyController::$variant(inner) => Box::new(inner),)+
            other => Box::new(other),
        }
    };
}

impl From<AnyController> for Held {
    fn from(controller: AnyController) -> Self {
        let pointed: Box<dyn Boxed> =
            pointed!(controller: Westwood Balde Veno Cubic Bbr Copa Scream Vegas Whyloss);
        Self::from(pointed)
    }
}

impl From<Box<dyn Boxed>> for Held {
    fn from(controller: Box<dyn Boxed>) -> Self {
        Self::Any(Pointed(controller))
    }
}

dispatch_controller!(Held { Reno, Any });

impl Held {
    /// Returns the controller if it is Vegas, whose recovery needs more than a window.
    pub(super) fn vegas(&self) -> Option<&Vegas> {
        match self {
            Self::Any(any) => any.as_any().downcast_ref(),
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
