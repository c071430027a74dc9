//! A controller where senders are many: Reno in place, since it is small and the most common; any other behind a pointer,
//! since the largest takes 25 times the room. One from outside costs a virtual call.

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
    Any(Box<Any>),
}

/// Any controller but Reno.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it lies behind a pointer, and few come from outside"
)]
pub(super) enum Any {
    Ours(AnyController),
    Outside(Foreign),
}

/// A controller from outside.
pub(super) struct Foreign(Box<dyn Boxed>);

impl Deref for Foreign {
    type Target = dyn Boxed;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Foreign {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

impl Clone for Foreign {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Foreign").finish_non_exhaustive()
    }
}

impl From<AnyController> for Held {
    fn from(controller: AnyController) -> Self {
        match controller {
            AnyController::Reno(reno) => Self::Reno(reno),
            other => Self::Any(Box::new(Any::Ours(other))),
        }
    }
}

impl From<Box<dyn Boxed>> for Held {
    fn from(controller: Box<dyn Boxed>) -> Self {
        Self::Any(Box::new(Any::Outside(Foreign(controller))))
    }
}

dispatch_controller!(Held { Reno, Any });
// Out of line: the code of most senders, which have Reno, stays small.
dispatch_controller!(Any { Ours, Outside } #[inline(never)]);

impl Held {
    /// Vegas, if it is Vegas: its recovery asks for more than a window.
    pub(super) fn vegas(&self) -> Option<&Vegas> {
        match self {
            Self::Any(any) => match &**any {
                Any::Ours(AnyController::Vegas(vegas)) => Some(vegas),
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
