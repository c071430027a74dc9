//! A controller where senders are many: Reno in place, since it is small and the most common; any other behind a pointer,
//! since the largest takes 25 times the room. One from outside costs a virtual call.

use whyloss::bandwidth::delivery_rate::{LostPacket, RateSample};
use whyloss::congestion::{AnyController, Controller, Reno, Spared};
use whyloss::event::{AckEvent, LossEvent, SentEvent};
use whyloss::{Duration, Rate, Time};

use crate::registry::Boxed;

/// A controller in a sender.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Reno(Reno),
    Any(Box<AnyController>),
    Outside(Foreign),
}

/// A controller from outside.
pub(super) struct Foreign(pub(super) Box<dyn Boxed>);

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
            other => Self::Any(Box::new(other)),
        }
    }
}

/// Hands each call on to the controller.
macro_rules! hand_on {
    ($(fn $name:ident(&mut self $(, $argument:ident: $type:ty)*);)+ --- $(fn $read:ident(&self) -> $answer:ty;)+) => {
        impl Controller for Held {
            $(#[inline]
            fn $name(&mut self $(, $argument: $type)*) {
                match self {
                    Self::Reno(inner) => inner.$name($($argument),*),
                    Self::Any(inner) => inner.$name($($argument),*),
                    Self::Outside(inner) => inner.0.$name($($argument),*),
                }
            })+
            $(#[inline]
            fn $read(&self) -> $answer {
                match self {
                    Self::Reno(inner) => inner.$read(),
                    Self::Any(inner) => inner.$read(),
                    Self::Outside(inner) => inner.0.$read(),
                }
            })+
        }
    };
}

hand_on! {
    fn on_sent(&mut self, sent: &SentEvent);
    fn on_ack(&mut self, ack: &AckEvent);
    fn on_loss(&mut self, loss: &LossEvent);
    fn on_spared_loss(&mut self, loss: &LossEvent, spared: Spared);
    fn on_recovery_end(&mut self, now: Time, at_most: u64);
    fn on_timeout(&mut self, loss: &LossEvent);
    fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64);
    fn on_mtu_change(&mut self, segment_size: u32);
    fn on_rate_sample(&mut self, sample: &RateSample);
    fn on_packet_lost(&mut self, packet: &LostPacket);
    fn set_window(&mut self, cwnd: u64, ssthresh: u64);
    ---
    fn wants_rate_samples(&self) -> bool;
    fn window(&self) -> u64;
    fn ssthresh(&self) -> u64;
    fn pacing_rate(&self) -> Option<Rate>;
    fn fine_timeout(&self) -> Option<Duration>;
    fn last_cut(&self) -> Option<Time>;
    fn bandwidth(&self) -> Option<Rate>;
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
