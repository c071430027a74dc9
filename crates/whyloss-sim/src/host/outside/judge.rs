//! The judge gives a host from outside the causes of its losses, by the flow's classifier or
//! reference.
//!
//! The path identifies datagrams by numbers, and the host identifies packets by offsets
//! ([`whyloss::event`]). A departure reported by [`SenderClassifier::on_sent`] while the engine
//! polls the host belongs to the next datagram. This links offsets to numbers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use whyloss::event::{AckEvent, LossEvent, SentEvent};
use whyloss::sender::SenderClassifier;
use whyloss::{Cause, Time};
use whyloss_link::Random;

use crate::decider::SenderDecider;
use crate::host::judge::{self, Judgement};

/// The sender classifier of a host from outside.
///
/// The host passes it the events of a sender classifier. While the engine polls the host for a
/// datagram, the host must also report the departure of its packet ([`SenderClassifier::on_sent`]).
/// The verdicts are those of the flow's `classifier` and are scored against the truth. If one event
/// of the engine has several verdicts, the last one counts. All clones share one judge.
#[derive(Clone, Debug)]
pub struct Judge(Arc<Mutex<Bench>>);

#[derive(Debug)]
struct Bench {
    judge: judge::Judge,
    /// The number of the departing datagram.
    leaving: u64,
    /// The offset of each packet that may be lost, and its datagram's number.
    left: VecDeque<(u64, u64)>,
    /// The first datagram that a later verdict may cover.
    first: u64,
    /// Whether the host has reported a departure. If not, no verdict can follow, and losses are not
    /// stored.
    asked: bool,
    /// Losses for a host that holds the [`Truth`], in the order in which they happened.
    told: Option<VecDeque<(u64, Cause)>>,
}

/// The maximum number of packets whose datagrams are stored.
const MOST_LEFT: usize = 1 << 20;
/// The maximum number of losses kept for the [`Truth`].
const MOST_TOLD: usize = 1 << 13;

impl Judge {
    pub(crate) fn new(decider: SenderDecider, random: Random) -> Self {
        Self(Arc::new(Mutex::new(Bench {
            judge: judge::Judge::new(decider, random),
            leaving: 0,
            left: VecDeque::new(),
            first: 0,
            asked: false,
            told: None,
        })))
    }

    /// Sets the datagram to which the next departures belong.
    pub(super) fn leaves(&self, number: u64) {
        self.bench().leaving = number;
    }

    /// Records that the path lost this datagram for this cause.
    pub(super) fn on_lost(&self, number: u64, cause: Cause) {
        let mut bench = self.bench();
        if bench.asked {
            let first = bench.first;
            bench.judge.on_lost(number, cause, first);
        }
        if let Some(told) = &mut bench.told {
            if told.len() == MOST_TOLD {
                told.pop_front();
            }
            told.push_back((number, cause));
        }
    }

    /// Returns the truth about each later loss. Only a reference may use it.
    #[must_use]
    pub fn truth(&self) -> Truth {
        self.bench().told.get_or_insert_default();
        Truth(self.clone())
    }

    /// Returns the last verdict since the previous call, and writes the lost datagrams that it
    /// covers to `packets`.
    pub(super) fn said(&self, packets: &mut Vec<(u64, Cause)>) -> Option<Judgement> {
        let mut bench = self.bench();
        let (said, about) = bench.judge.judgement()?;
        packets.clear();
        packets.extend_from_slice(about);
        bench.judge.clear();
        Some(said)
    }

    fn bench(&self) -> MutexGuard<'_, Bench> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The true causes of the losses of a source, for reference algorithms.
#[derive(Clone, Debug)]
pub struct Truth(Judge);

impl Truth {
    /// Returns why the path lost datagram `number`, counted from 0. Returns `None` if the path did
    /// not lose it, or lost 8,192 others since.
    pub fn cause(&self, number: u64) -> Option<Cause> {
        let bench = self.0.bench();
        let mut told = bench.told.iter().flatten().rev();
        told.find(|lost| lost.0 == number).map(|lost| lost.1)
    }
}

impl SenderClassifier for Judge {
    fn on_sent(&mut self, sent: &SentEvent) {
        let mut bench = self.bench();
        let number = bench.leaving;
        bench.asked = true;
        if bench.left.len() == MOST_LEFT {
            bench.left.pop_front();
        }
        bench.left.push_back((sent.offset, number));
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let mut bench = self.bench();
        bench.judge.on_ack(ack);
        while let Some(&(offset, number)) = bench.left.front()
            && offset < ack.acknowledged
        {
            bench.first = number + 1;
            bench.left.pop_front();
        }
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Cause {
        let mut bench = self.bench();
        let place = bench
            .left
            .partition_point(|&(offset, _)| offset < loss.first);
        let number = bench.left.get(place).map_or(bench.leaving, |left| left.1);
        let said = bench.judge.judge(loss, number, (0, 0));
        // Window and threshold are 0 here, because the stack keeps its own.
        said.verdict
    }

    fn revises(&self) -> bool {
        self.bench().judge.revises()
    }

    fn on_recovery_end(&mut self, now: Time) -> Cause {
        let mut bench = self.bench();
        let end = bench.judge.on_recovery_end(now);
        end.map_or(Cause::Congestion, |(verdict, ..)| verdict)
    }
}
