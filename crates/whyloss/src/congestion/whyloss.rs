//! WIP
use super::{Controller, Cubic, CubicDialect, Decrease, Reno, Spared, Start};
use crate::Time;
use crate::event::{AckEvent, LossEvent, SentEvent};
use crate::sender::trees::{Signals, log_odds};
use core::sync::atomic::{AtomicI32, Ordering};

/// Knobs.
pub static KNOBS: [AtomicI32; 16] = [const { AtomicI32::new(0) }; 16];
fn knob(at: usize) -> i32 {
    KNOBS[at].load(Ordering::Relaxed)
}

/// What grows the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Under {
    /// [`Cubic`] of RFC 9438.
    #[default]
    Cubic,
    /// [`Reno`] of RFC 5681.
    Reno,
}

#[derive(Clone, Debug)]
enum Base {
    Cubic(Cubic),
    Reno(Reno),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Whyloss {
    base: Base,
    signals: Signals,
    spared: bool,
    empties: i32,
}

macro_rules! base {
    ($self:ident.$name:ident($($argument:expr),*)) => {
        match &mut $self.base {
            Base::Cubic(base) => base.$name($($argument),*),
            Base::Reno(base) => base.$name($($argument),*),
        }
    };
}

impl Whyloss {
    /// At its start.
    pub fn new(start: &Start, under: Under) -> Self {
        let base = match under {
            Under::Cubic => Base::Cubic(Cubic::new(start, CubicDialect::Rfc9438)),
            Under::Reno => Base::Reno(Reno::new(start, Decrease::FlightSize)),
        };
        Self {
            base,
            signals: Signals::new(),
            spared: false,
            empties: 0,
        }
    }

    /// Thousandths of the cut.
    fn severity(&mut self, loss: &LossEvent) -> i64 {
        let [least, standing, now] = self.signals.queue();
        let Some(signals) = self.signals.on_loss(loss) else { return 1000 };
        let odds = log_odds(&signals);
        if self.ssthresh() == u64::MAX {
            return if odds <= knob(1) { 0 } else { 1000 };
        }
        let queue = standing - least;
        let own = loss.in_flight as i64 * queue / standing.max(1);
        if own < i64::from(knob(3)) * i64::from(loss.segment_size) {
            return 1000;
        }
        let waits = now - least;
        let empty = waits * 100 <= queue * i64::from(knob(4)) && waits <= 1_000_000 * i64::from(knob(5));
        self.empties += (65536 * i32::from(empty) - self.empties) / knob(6);
        if empty {
            return 0;
        }
        let (low, high) = (knob(8), knob(9));
        if self.empties >= 655 * knob(7) {
            if odds <= low {
                0
            } else if odds >= high {
                1000
            } else {
                1000 * i64::from(odds - low) / i64::from(high - low)
            }
        } else {
            1000
        }
    }
}

impl Controller for Whyloss {
    fn on_sent(&mut self, sent: &SentEvent) {
        base!(self.on_sent(sent));
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        self.signals.on_ack(ack);
        base!(self.on_ack(ack));
    }
    fn on_loss(&mut self, loss: &LossEvent) {
        let severity = self.severity(loss);
        self.spared = severity == 0;
        if severity == 0 {
            base!(self.on_spared_loss(loss, Spared::Wholly));
            return;
        }
        let before = self.window();
        base!(self.on_loss(loss));
        if severity < 1000 {
            let after = self.window();
            let kept = before - before.saturating_sub(after) * severity as u64 / 1000;
            base!(self.set_window(kept, kept));
        }
    }
    fn on_spared_loss(&mut self, loss: &LossEvent, _: Spared) {
        self.on_loss(loss);
    }
    fn on_recovery_end(&mut self, now: Time, at_most: u64) {
        let window = self.window();
        if self.spared && at_most < window {
            let ssthresh = self.ssthresh().max(window);
            base!(self.set_window(at_most, ssthresh));
        }
        base!(self.on_recovery_end(now, at_most));
    }
    fn on_timeout(&mut self, loss: &LossEvent) {
        let severity = self.severity(loss);
        self.spared = false;
        let before = self.ssthresh();
        base!(self.on_timeout(loss));
        if severity == 0 {
            let least = if before == u64::MAX { 0 } else { before };
            let ssthresh = if loss.repeated {
                before
            } else {
                least.max(loss.window)
            };
            let window = self.window();
            base!(self.set_window(window, ssthresh));
        }
    }
    fn on_mtu_change(&mut self, segment_size: u32) {
        base!(self.on_mtu_change(segment_size));
    }
    fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64) {
        base!(self.on_spurious_loss(now, cwnd, ssthresh));
    }
    fn set_window(&mut self, cwnd: u64, ssthresh: u64) {
        base!(self.set_window(cwnd, ssthresh));
    }
    #[inline]
    fn window(&self) -> u64 {
        match &self.base {
            Base::Cubic(base) => base.window(),
            Base::Reno(base) => base.window(),
        }
    }
    fn ssthresh(&self) -> u64 {
        match &self.base {
            Base::Cubic(base) => base.ssthresh(),
            Base::Reno(base) => base.ssthresh(),
        }
    }
}
