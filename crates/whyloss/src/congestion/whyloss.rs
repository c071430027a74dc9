//! Whyloss: a window that a loss cuts by the odds that a queue refused it, and only where the path has shown its queue.
//!
//! This project's own (2026); `docs/scheme.md` derives it, and says what it is worth and where it falls short.
//!
//! ```text
//! m        ns, the smallest round-trip time of the last one to two minutes
//! S        ns, the largest trough of that time; the trough is the smallest round-trip time, forgotten with gain 1/8
//! W        bytes, the window when the trough was S
//! r        ns, the smaller of the last round-trip time and the trough: what the packet before the lost one met
//! L        thousandths of log-odds of congestion, from the trees of senders
//!
//! seen     ⇔ W·(S − m) ≥ 6·SMSS·S                                        six own segments have waited in a queue
//! empty    ⇔ 8·(r − m) ≤ S − m  and  r − m ≤ 4 ms                         and it is empty now
//! ρ       += (65536·[empty] − ρ)/16     at each loss while seen; 0 at first   65536ths
//!
//! cut c    = 0                                    seen, empty               thousandths of the base controller's
//!          = clamp(L − 500, 0, 1000)              seen, not empty, ρ ≥ 8192
//!          = 0 if L ≤ 1000, else 1000             before the first cut (slow start)
//!          = 1000                                 otherwise
//! window   = before − (before − what the base controller leaves)·c/1000
//! ```
//!
//! A packet that met an empty queue was not refused by it, whatever the odds. Where losses come at an empty queue at least now and
//! then (ρ), there is a channel that loses, and the odds decide about the others. Where no queue has shown itself (a few packets of
//! buffer, a policer, many flows on a long path), nothing tells the two causes apart: a loss cuts as ever.
//!
//! What holds by construction, and `tests` hold it to: once slow start is over, a loss is cut in full unless a queue was
//! seen; no window is ever larger than the base controller's would be right after the same loss uncut; ECN marks and
//! persistent congestion are cut in full.

use super::{Controller, Cubic, CubicDialect, Decrease, Reno, Spared, Start};
use crate::event::{AckEvent, Detection, LossEvent, SentEvent};
use crate::sender::trees::{Signals, log_odds};
use crate::{Duration, Time};

/// Own segments in the largest queue from which on it counts as seen.
const SEEN: i64 = 6;
/// A queue is empty up to this delay: CoDel drops at no less than 5 ms.
const EMPTY: Duration = Duration::from_millis(4);
/// 65536ths: the share of losses at an empty queue from which on the odds decide about the others.
const EVIDENCE: i32 = 65536 / 8;
/// Losses that this share remembers.
const MEMORY: i32 = 16;
/// Thousandths of log-odds at which cuts begin.
const FIRST_CUT: i32 = 500;
/// Thousandths of log-odds above which slow start's first cut is made.
const SLOW_START: i32 = 1000;
/// A cut in full.
const FULL: u64 = 1000;

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

/// The state of Whyloss. See the top of its file for the formula.
#[derive(Clone, Debug)]
pub struct Whyloss {
    base: Base,
    signals: Signals,
    /// ρ.
    empties: i32,
    /// Whether the last loss left the window as it was.
    spared: bool,
}

#[derive(Clone, Debug)]
enum Base {
    Cubic(Cubic),
    Reno(Reno),
}

macro_rules! base {
    ($self:ident.$name:ident($($argument:expr),*)) => {
        match &mut $self.base {
            Base::Cubic(base) => base.$name($($argument),*),
            Base::Reno(base) => base.$name($($argument),*),
        }
    };
    (&$self:ident.$name:ident()) => {
        match &$self.base {
            Base::Cubic(base) => base.$name(),
            Base::Reno(base) => base.$name(),
        }
    };
}

impl Whyloss {
    /// Whyloss over that controller, at its start.
    pub fn new(start: &Start, under: Under) -> Self {
        let base = match under {
            Under::Cubic => Base::Cubic(Cubic::new(start, CubicDialect::Rfc9438)),
            Under::Reno => Base::Reno(Reno::new(start, Decrease::FlightSize)),
        };
        Self {
            base,
            signals: Signals::new(),
            empties: 0,
            spared: false,
        }
    }

    /// c: how much of the cut a loss is worth, in thousandths.
    fn cut(&mut self, loss: &LossEvent) -> u64 {
        let queue = self.signals.queue();
        let Some(signals) = self.signals.on_loss(loss) else {
            return FULL;
        };
        let odds = log_odds(&signals);
        if self.ssthresh() == u64::MAX {
            let bound = SLOW_START * (1 + i32::from(queue.is_flat()));
            return if odds <= bound { 0 } else { FULL };
        }
        if !queue.is_seen(loss) {
            return FULL;
        }
        let empty = queue.is_empty();
        self.empties += (65536 * i32::from(empty) - self.empties) / MEMORY;
        if empty {
            0
        } else if self.empties >= EVIDENCE {
            (odds - FIRST_CUT).clamp(0, FULL as i32) as u64
        } else {
            FULL
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
        let cut = match loss.detection {
            Detection::EcnCe => FULL,
            _ => self.cut(loss),
        };
        self.spared = cut == 0;
        if self.spared {
            return base!(self.on_spared_loss(loss, Spared::Wholly));
        }
        let before = self.window();
        base!(self.on_loss(loss));
        let off = before.saturating_sub(self.window());
        if cut < FULL && off > 0 {
            let kept = before - off / FULL * cut - off % FULL * cut / FULL;
            base!(self.set_window(kept, kept));
        }
    }

    /// It has a classifier of its own, and asks no other.
    fn on_spared_loss(&mut self, loss: &LossEvent, _: Spared) {
        self.on_loss(loss);
    }

    fn on_recovery_end(&mut self, now: Time, at_most: u64) {
        // What is taken off a window that was spared, slow start brings back.
        let window = self.window();
        if self.spared && at_most < window {
            let ssthresh = self.ssthresh().max(window);
            base!(self.set_window(at_most, ssthresh));
        }
        base!(self.on_recovery_end(now, at_most));
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        let cut = match loss.detection {
            Detection::PersistentCongestion => FULL,
            _ => self.cut(loss),
        };
        self.spared = false;
        let before = self.ssthresh();
        base!(self.on_timeout(loss));
        if cut == 0 && !loss.repeated {
            // Slow start brings the window back; unlimited means that it still ran, which it shall not past what was reached.
            let least = if before == u64::MAX { 0 } else { before };
            let window = self.window();
            base!(self.set_window(window, least.max(loss.window)));
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
        base!(&self.window())
    }

    fn ssthresh(&self) -> u64 {
        base!(&self.ssthresh())
    }
}

/// What round trips say of the queue, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// m.
    pub(crate) least: i64,
    /// S; at least m once a round trip was measured outside a recovery.
    pub(crate) largest: i64,
    /// W, in bytes.
    pub(crate) window: u64,
    /// r.
    pub(crate) now: i64,
}

impl Queue {
    fn depth(&self) -> i64 {
        self.largest.saturating_sub(self.least)
    }

    fn is_seen(&self, loss: &LossEvent) -> bool {
        let depth = i128::from(self.depth());
        let own = depth * i128::from(self.window);
        let segments = i128::from(SEEN) * i128::from(loss.segment_size.max(1));
        depth > 0
            && (own >= segments * i128::from(self.largest) || 3 * depth >= i128::from(self.least))
    }

    fn is_flat(&self) -> bool {
        (self.now - self.least).saturating_mul(32) <= self.least
    }

    fn is_empty(&self) -> bool {
        let waits = self.now - self.least;
        waits.saturating_mul(8) <= self.depth() && waits <= EMPTY.as_nanos()
    }
}
