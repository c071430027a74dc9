//! Whyloss: CUBIC or Reno that cuts less, or not at all, if a radio probably lost the packet.
//!
//! An algorithm of this project (2026). `docs/reference/scheme.md` explains it, with results and
//! limits.
//!
//! Letters in parentheses are defined below. An empty queue did not drop the packet, whatever the
//! odds say. RED and PIE drop by past averages, though, and TCP takes few samples during recovery.
//! So one low sample is not enough for a cut of 0: half of the recent bytes must have met an empty
//! queue, or a quarter if the losses are blind (e). In the first slow start, a queue drops packets
//! if the window grows while the delivered rate does not (u).
//!
//! If some losses meet an empty queue (ρ), the channel loses packets, and L decides about the
//! others. If no queue was seen, the cause can be a buffer of a few packets, a policer, many flows
//! on a long path, or a channel. A full buffer drops packets at the highest delays, however small
//! these are, so the ranks of losses have a mean near 1. A channel loses packets at any delay, so
//! the mean is near 1/2 (R).
//!
//! On a lossy path, L also decides if no queue was seen, or if the window is too small to
//! have filled the seen one (small). A recovery from a loss without a cut does not stop growth,
//! because the window would otherwise never grow at one loss per round trip.
//!
//! These conditions cannot prove a channel on many paths, for example if windows have a few
//! segments. There, trees that know the past of the flow decide (T), unless the losses look like
//! those of a queue by their odds (L̄ > 0) or by their ranks (R > 3/4).
//!
//! The first eight acknowledgements are a warm-up: losses cut in full, and no mean counts them.
//! Repeated timeouts and persistent congestion do the same. A loss that the transport reports as
//! spurious no longer counts.
//!
//! ```text
//! m    ns, the lowest round-trip time of the last one to two minutes
//! S    ns, the highest, over that time, of the lowest samples of round trips; a round trip counts
//!      if it has eight samples outside recoveries
//! W    bytes, the window at the end of the round trip of S
//! r    ns, the last round-trip time or, if lower, a trough, which falls to each lower sample at
//!      once and rises towards higher ones with gain 1/8
//! e    share of the bytes acknowledged in this and the previous round trip by samples that meet
//!      the first two conditions of *empty*; a sample counts for at most two segments
//! f    share of the samples of these round trips with 32·(sample − m) ≤ m
//! r′   ns, the higher of the last two samples
//! R    65536ths, mean over losses with gain 1/8, 3/4 at first, of the rank of the last sample
//!      among 64 of the last round trips (an equal sample counts as half a smaller one)
//! w    bytes, the window
//! w₀   bytes, w at the end of the round trip that last raised the delivered rate by a quarter
//! u    losses of the first slow start at 2·w ≥ 3·w₀ since then, this one included
//! L    thousandths, log-odds of congestion from the trees of senders
//! L̄    thousandths, mean of L over losses with gain 1/8, each limited to ±3000; 0 at first
//! T    thousandths, log-odds of congestion from the scheme's own trees ([`evidence`])
//!
//! seen   ⇔ W·(S − m) ≥ 6·SMSS·S  or  3·(S − m) ≥ m   six own segments, or a third of m, waited
//! blind  ⇔ R ≤ 0.68                                 losses come at any delay
//! empty  ⇔ 8·(r − m) ≤ S − m  and  r − m ≤ 4 ms  and  (e ≥ 1/2, or e ≥ 1/4 and blind)
//! flat   ⇔ 32·(r′ − m) ≤ m  and  f ≥ 1/2
//! small  ⇔ 4·w·S ≤ 3·W·m                    less than three quarters of what filled the path
//! lossy  ⇔ L̄ ≤ −1500                        most losses look like those of a channel
//! ρ     += (65536·[empty] − ρ)/16           at each loss while seen; 0 at first   65536ths
//!
//! cut c, thousandths of the base controller's cut:
//!   in the first slow start  0 if u ≤ 8 and L ≤ 1000 (2000 where 32·(r − m) ≤ m), else 1000
//!   afterwards               the lower of a and b
//!
//! a = 0                                   seen, empty
//!   = 0                                   not seen, flat, blind
//!   = clamp(L − 500, 0, 1000)             not seen, not flat, lossy, R ≤ 0.62
//!   = clamp(L − 500, 0, 1000)             seen, not empty, and ρ ≥ 8192 or (lossy, blind, small)
//!   = 1000                                otherwise
//! b = clamp(T + 300, 0, 1000)             L̄ ≤ 0, R ≤ 3/4
//!   = 1000                                otherwise
//!
//! window = before − (before − the window that the base controller leaves)·c/1000
//! timeout                  the window is the base controller's; 0 < c < 1000 acts as 1000;
//!                          c = 0 raises ssthresh to max(ssthresh, w), w in the first slow start
//! grows in a recovery      after a loss with c = 0, if lossy and R ≤ 0.62, after the first slow
//!                          start
//! ```
//!
//! These lines hold by construction, and property tests check them. After the first slow start,
//! with κ the cut and κ′ the base controller's cut of the same window:
//!
//! ```text
//! κ = κ′      if (L̄ > 0 or R > 3/4) and a queue was seen, unless e ≥ 1/4 or ρ ≥ 1/8
//! κ = κ′      if (L̄ > 0 or R > 3/4) and no queue was seen, unless R ≤ 0.68 and flat
//! 0 ≤ κ ≤ κ′  if κ′ ≥ 0, so no loss makes the window larger
//! κ′ ≤ κ ≤ 0  if κ′ < 0: below two segments, or if FlightSize exceeds the window
//! κ = κ′      at ECN marks and at persistent congestion
//! ```
//!
//! In the first slow start, at most eight losses at 2·w ≥ 3·w₀ are spared before the delivered rate
//! grows by a quarter. For the ninth and later ones, κ = κ′.

pub mod evidence;
mod history;
mod table;

use super::{Controller, Cubic, CubicDialect, Decrease, Reno, Spared, Start};
use crate::event::{AckEvent, Detection, LossEvent, MarkEvent, SentEvent};
use crate::sender::trees::{Losses, Signals, log_odds};
use crate::{Duration, Time};
use evidence::{Context, Evidence, Means, Past};
use history::{History, Queue};

/// The number of own segments in the largest queue from which the queue counts as seen.
const SEEN: i64 = 6;
/// The delay up to which a queue counts as empty; CoDel drops at no less than 5 ms.
const EMPTY: Duration = Duration::from_millis(4);
/// The share of losses at an empty queue, in 65536ths, from which L decides about the others.
const EVIDENT: i32 = 65536 / 8;
/// The mean rank, in 65536ths, up to which losses are blind to the queue: 0.68.
const BLIND: i32 = 44_564;
/// The mean rank, in 65536ths, above which losses look like those of a queue: 3/4.
const HIGH: i32 = 3 * 65536 / 4;
/// The number of losses over which ρ is averaged.
const MEMORY: i32 = 16;
/// The mean rank, in 65536ths, up to which the odds decide without a visible queue: 0.62.
const UNSEEN: i32 = 40_632;
/// The mean log-odds, in thousandths, up to which a channel explains most losses.
const LOSSY: i32 = -1500;
/// The most that one loss adds to the mean log-odds, in thousandths.
const WEIGHT: i32 = 3000;
/// The log-odds, in thousandths, at which cuts begin.
const FIRST_CUT: i32 = 500;
/// The log-odds, in thousandths, above which slow start's first cut is made.
const SLOW_START: i32 = 1000;
/// The number of losses that slow start spares while the window outgrows the delivered rate.
const UNPAID: u32 = 8;
/// A full cut, in thousandths.
const FULL: u64 = 1000;

/// The controller that grows the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Under {
    /// [`Cubic`] of RFC 9438.
    #[default]
    Cubic,
    /// [`Reno`] of RFC 5681.
    Reno,
}

/// The controller of the scheme `whyloss`: a base controller whose cut at a loss depends on the
/// odds of congestion. `docs/reference/scheme.md` has the formula.
#[derive(Clone, Debug)]
pub struct Whyloss {
    base: Base,
    signals: Signals,
    history: History,
    /// ρ of the formula, in 65536ths: the share of losses that met an empty queue.
    empties: i32,
    /// R and L̄ of the formula.
    means: Means,
    past: Past,
    /// The evidence before the last loss, if the loss counts.
    before: Option<Before>,
    /// The cut at the last loss, in thousandths; `None` before the first, and after a mark.
    last: Option<u64>,
    /// Whether the last loss left the window as it was.
    spared: bool,
}

/// The evidence before a loss, which returns if the loss was spurious.
#[derive(Clone, Copy, Debug)]
struct Before {
    empties: i32,
    means: Means,
    past: Past,
    unpaid: u32,
    signals: Losses,
}

/// A decision of [`Whyloss`] about a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// c, the share of the base controller's cut, in thousandths.
    pub cut: u64,
    /// The quantities that the scheme's own trees weigh; `None` during the warm-up.
    pub evidence: Option<Evidence>,
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
    /// Creates the controller over `under`, in slow start.
    pub fn new(start: &Start, under: Under) -> Self {
        let base = match under {
            Under::Cubic => Base::Cubic(Cubic::new(start, CubicDialect::Rfc9438)),
            Under::Reno => Base::Reno(Reno::new(start, Decrease::FlightSize)),
        };
        Self {
            base,
            signals: Signals::new(),
            history: History::new(),
            empties: 0,
            means: Means::NONE,
            past: Past::NONE,
            before: None,
            last: None,
            spared: false,
        }
    }

    /// Decides about a loss, and counts it, without changing the window. Do not also report it with
    /// [`Controller::on_loss`] or [`Controller::on_timeout`]. The latter cuts in full at persistent
    /// congestion and at repeated timeouts, and does not count them.
    pub fn decide(&mut self, loss: &LossEvent) -> Decision {
        let loss = &self.complete(loss);
        self.before = Some(Before {
            empties: self.empties,
            means: self.means,
            past: self.past,
            unpaid: self.history.unpaid_losses(),
            signals: self.signals.losses(),
        });
        let queue = self.history.queue(&self.signals);
        let rank = self.history.rank(&self.signals);
        let Some(signals) = self.signals.on_loss(loss) else {
            return Decision {
                cut: FULL,
                evidence: None,
            };
        };
        let odds = log_odds(&signals);
        self.means.add((rank, odds), 8);
        let mut cut = self.cut_by_conditions(loss, &queue, odds);
        let about = self.past.on_loss(
            loss,
            Context {
                queue: &queue,
                signals: &signals,
                loss: (rank, odds),
                means: self.means,
                empties: self.empties,
            },
        );
        let may_be_channel = self.means.odds <= 0 && self.means.rank <= HIGH;
        if cut > 0 && may_be_channel && self.ssthresh() < u64::MAX {
            cut = cut.min(cut_by(evidence::log_odds(&about), evidence::FIRST_CUT));
        }
        Decision {
            cut,
            evidence: Some(about),
        }
    }

    /// Returns a of the formula, or the cut of the first slow start.
    fn cut_by_conditions(&mut self, loss: &LossEvent, queue: &Queue, odds: i32) -> u64 {
        let blind = self.means.rank <= BLIND;
        let by_odds = cut_by(odds, FIRST_CUT);
        if self.ssthresh() == u64::MAX {
            let bound = SLOW_START * (1 + i32::from(queue.is_flat()));
            let paid = self.history.unpaid(loss.window) <= UNPAID;
            return if paid && odds <= bound { 0 } else { FULL };
        }
        if !queue.is_seen(loss) {
            return if blind && queue.stays_flat() {
                0
            } else if self.is_proven() {
                by_odds
            } else {
                FULL
            };
        }
        let empty = queue.is_empty(if blind { 4 } else { 2 });
        self.empties += (65536 * i32::from(empty) - self.empties) / MEMORY;
        if empty {
            0
        } else if self.empties >= EVIDENT
            || (self.means.odds <= LOSSY && blind && queue.outsizes(loss.window))
        {
            by_odds
        } else {
            FULL
        }
    }

    /// Fills in the window if the transport does not report it.
    fn complete(&self, loss: &LossEvent) -> LossEvent {
        match loss.window {
            0 => loss.window(self.window()),
            _ => *loss,
        }
    }

    /// Changes the outcome of the base controller's reduction, which a spurious loss still undoes.
    fn adjust(&mut self, cwnd: u64, ssthresh: u64) {
        match &mut self.base {
            Base::Cubic(base) => base.set(cwnd, ssthresh),
            Base::Reno(base) => base.set_window(cwnd, ssthresh),
        }
    }

    /// Returns whether a channel explains the losses, even if no queue was seen.
    fn is_proven(&self) -> bool {
        self.means.odds <= LOSSY && self.means.rank <= UNSEEN
    }
}

/// Returns the cut at these log-odds, where cuts begin at `first`.
fn cut_by(odds: i32, first: i32) -> u64 {
    (odds - first).clamp(0, FULL as i32) as u64
}

impl Controller for Whyloss {
    fn on_sent(&mut self, sent: &SentEvent) {
        base!(self.on_sent(sent));
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(heard) = self.signals.hear(ack) {
            self.history.on_ack(ack, heard, &self.signals);
        }
        if ack.in_recovery && self.spared && self.is_proven() && self.ssthresh() < u64::MAX {
            let ack = AckEvent {
                in_recovery: false,
                ..*ack
            };
            return base!(self.on_ack(&ack));
        }
        base!(self.on_ack(ack));
    }

    fn on_loss(&mut self, loss: &LossEvent) {
        let loss = &self.complete(loss);
        let cut = self.decide(loss).cut;
        self.last = Some(cut);
        self.spared = cut == 0;
        if self.spared {
            return base!(self.on_spared_loss(loss, Spared::Wholly));
        }
        let before = self.window();
        base!(self.on_loss(loss));
        let off = before.saturating_sub(self.window());
        if cut < FULL && off > 0 {
            let kept = before - off / FULL * cut - off % FULL * cut / FULL;
            self.adjust(kept, kept);
        }
    }

    fn on_mark(&mut self, mark: &MarkEvent) {
        self.before = None;
        self.last = None;
        self.spared = false;
        base!(self.on_mark(mark));
    }

    /// Ignores the verdict of another classifier, because the scheme has its own.
    fn on_spared_loss(&mut self, loss: &LossEvent, _: Spared) {
        self.on_loss(loss);
    }

    fn on_recovery_end(&mut self, now: Time, at_most: u64) {
        // Slow start restores the part that is taken off a spared window.
        let window = self.window();
        if self.spared && at_most < window {
            let ssthresh = self.ssthresh().max(window);
            base!(self.set_window(at_most, ssthresh));
        }
        base!(self.on_recovery_end(now, at_most));
    }

    fn on_timeout(&mut self, loss: &LossEvent) {
        let loss = &self.complete(loss);
        let cut = match loss.detection {
            Detection::PersistentCongestion => {
                self.before = None;
                FULL
            }
            // The timer expires for the same packet, which is no further evidence.
            _ if loss.repeated => FULL,
            _ => self.decide(loss).cut,
        };
        self.last = Some(cut);
        self.spared = false;
        let before = self.ssthresh();
        base!(self.on_timeout(loss));
        if cut == 0 {
            // Slow start restores the window. An unlimited threshold means that the first slow
            // start still ran; the new one must stop at the window that was reached.
            let least = if before == u64::MAX { 0 } else { before };
            let window = self.window();
            self.adjust(window, least.max(loss.window));
        }
    }

    fn on_mtu_change(&mut self, segment_size: u32) {
        base!(self.on_mtu_change(segment_size));
    }

    fn on_spurious_loss(&mut self, now: Time, cwnd: u64, ssthresh: u64) {
        if let Some(before) = self.before.take() {
            self.empties = before.empties;
            self.means = before.means;
            self.past = before.past;
            self.history.forget_unpaid(before.unpaid);
            self.signals.forget_loss(&before.signals);
        }
        base!(self.on_spurious_loss(now, cwnd, ssthresh));
    }

    fn own_cut(&self) -> Option<u64> {
        self.last
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

#[cfg(test)]
mod tests;
