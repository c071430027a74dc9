//! Judges the causes of a sender's losses and scores the verdicts against the truth.
//!
//! The path reports every segment that it loses. Verdicts are scored against these reports, and the
//! oracle reads its verdicts from them; no other classifier sees them. A loss event without a lost
//! segment in the window, such as an early timeout, has no true cause. The oracle then returns
//! congestion, and no verdict is scored. A retransmitted segment no longer counts as lost, unless
//! its retransmission is also lost.

use whyloss::event::{AckEvent, Detection, LossEvent};
use whyloss::sender::{Classifier, SenderClassifier as _};
use whyloss::{Cause, Time};
use whyloss_link::Random;

use crate::decider::{Decider, Lookup, LookupOf, SenderDecider};
use crate::prefetch::prefetch;
use crate::snug;

/// The verdict of a classifier on a loss event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The sequence number of the first segment lost.
    pub sequence: u64,
    /// How the loss was found.
    pub detection: Detection,
    /// The true cause: congestion if a full queue lost any segment of the window, wireless if the
    /// channel lost them all. `None` if no segment was lost.
    pub truth: Option<Cause>,
    /// The cause that the classifier named.
    pub verdict: Cause,
}

/// A segment that the path lost.
#[derive(Clone, Copy, Debug)]
struct Lost {
    sequence: u64,
    /// The cause of the segment's last loss.
    cause: Cause,
    /// Whether the channel ever corrupted the segment.
    corrupted: bool,
    /// Whether the segment's last loss has had a verdict.
    judged: bool,
    /// Whether the segment has left again since its last loss.
    resent: bool,
}

/// Decides causes and keeps the packets of the window that the path lost.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    /// The decider and its random numbers; `None` if every loss is congestion.
    asked: Option<Box<Asked>>,
    /// The lost segments in the order of their numbers, which is mostly the order of their losses.
    lost: Vec<Lost>,
    /// The last verdict, until it is scored.
    said: Option<Box<Said>>,
}

/// A verdict on a loss event.
#[derive(Clone, Debug)]
struct Said {
    judgement: Judgement,
    /// The losses that the verdict covers, each with its segment and true cause.
    packets: Vec<(u64, Cause)>,
    /// The window and slow start threshold before the loss, if the verdict is not final yet.
    pending: Option<(u64, u64)>,
}

/// A decider that may return a cause other than congestion.
#[derive(Clone, Debug)]
struct Asked {
    decider: SenderDecider,
    random: Random,
}

impl Judge {
    pub(super) fn new(decider: SenderDecider, random: Random) -> Self {
        let asked = !matches!(decider, Decider::Unaware);
        Self {
            asked: asked.then(|| Box::new(Asked { decider, random })),
            lost: Vec::new(),
            said: None,
        }
    }

    fn decider(&mut self) -> Option<&mut SenderDecider> {
        Some(&mut self.asked.as_mut()?.decider)
    }

    /// Returns the number of losses for which there is memory.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let said = self.said.as_ref();
        self.lost.capacity() + said.map_or(0, |said| said.packets.capacity())
    }

    /// Prefetches the list of losses.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.lost.first().map(prefetch);
    }

    #[inline]
    pub(super) fn on_ack(&mut self, ack: &AckEvent) {
        match self.decider() {
            Some(Decider::Classifier(classifier)) => classifier.on_ack(ack),
            Some(Decider::Outside(outside)) => outside.classifier().on_ack(ack),
            _ => {}
        }
    }

    /// Records that the path lost this segment; `una` is the first unacknowledged one.
    pub(super) fn on_lost(&mut self, sequence: u64, cause: Cause, una: u64) {
        self.forget(una);
        let corrupted = cause == Cause::Wireless;
        let lost = Lost {
            sequence,
            cause,
            corrupted,
            judged: false,
            resent: false,
        };
        match self.place(sequence) {
            Ok(place) => {
                let corrupted = corrupted || self.lost[place].corrupted;
                self.lost[place] = Lost { corrupted, ..lost };
            }
            Err(place) => snug::insert(&mut self.lost, place, lost),
        }
    }

    /// Records that this segment leaves again.
    #[cold]
    pub(super) fn on_retransmission(&mut self, sequence: u64) {
        if let Ok(place) = self.place(sequence) {
            self.lost[place].resent = true;
        }
    }

    /// Records that this segment's retransmission has arrived. The loss that it repaired has yet to
    /// be judged.
    pub(super) fn on_repaired(&mut self, sequence: u64) {
        if let Ok(place) = self.place(sequence) {
            self.lost[place].resent = false;
        }
    }

    /// Returns whether some verdicts are final only when the recovery ends.
    pub(super) fn revises(&mut self) -> bool {
        match self.decider() {
            Some(Decider::Classifier(classifier)) => classifier.revises(),
            Some(Decider::Outside(outside)) => outside.classifier().revises(),
            _ => false,
        }
    }

    /// Handles the end of a recovery. Returns the final verdict on its loss, with the window and
    /// threshold before the loss; `None` if the verdict was already final.
    pub(super) fn on_recovery_end(&mut self, now: Time) -> Option<(Cause, u64, u64)> {
        let said = self.said.as_mut()?;
        let (cwnd, ssthresh) = said.pending.take()?;
        let cause = match &mut self.asked.as_mut()?.decider {
            Decider::Classifier(classifier) => classifier.on_recovery_end(now),
            Decider::Outside(outside) => outside.classifier().on_recovery_end(now),
            Decider::Unaware | Decider::Oracle(_) | Decider::Erring { .. } => Cause::Congestion,
        };
        said.judgement.verdict = cause;
        Some((cause, cwnd, ssthresh))
    }

    /// Returns the last verdict, if it is final, and the losses that it covers.
    #[inline]
    pub(super) fn judgement(&self) -> Option<(Judgement, &[(u64, Cause)])> {
        let said = self.said.as_ref().filter(|said| said.pending.is_none())?;
        Some((said.judgement, &said.packets))
    }

    /// Drops a final verdict, which has been scored, at the next event.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.said.take_if(|said| said.pending.is_none());
    }

    /// Returns the verdict on a loss event whose first segment is `una`. Before the event, the
    /// window was `before.0` and the slow start threshold `before.1`. Some verdicts wait for the
    /// end of the recovery.
    pub(super) fn judge(&mut self, loss: &LossEvent, una: u64, before: (u64, u64)) -> Judgement {
        let ask = |classifier: &mut Classifier| classifier.on_loss(loss);
        let (judgement, _) = self.judge_by(loss, una, ask, |&cause| cause);
        let waits = self.revises() && !loss.detection.is_timeout();
        if let Some(said) = &mut self.said {
            said.pending = waits.then_some(before);
        }
        judgement
    }

    /// Returns a verdict like [`Self::judge`], but calls the classifier through `ask`, whose result
    /// may contain more than a cause. Verdicts of references are converted to this type.
    pub(super) fn judge_by<T: From<Cause>>(
        &mut self,
        loss: &LossEvent,
        una: u64,
        ask: impl FnOnce(&mut Classifier) -> T,
        cause: impl FnOnce(&T) -> Cause,
    ) -> (Judgement, T) {
        self.forget(una);
        let truth = self.truth(LookupOf::Window, false, una);
        let or_congestion = |truth: Option<Cause>| truth.unwrap_or(Cause::Congestion);
        let said = match self
            .asked
            .as_deref_mut()
            .map(|a| (&mut a.decider, &mut a.random))
        {
            None | Some((Decider::Unaware, _)) => ask(&mut Classifier::unaware()),
            Some((Decider::Classifier(classifier), _)) => ask(classifier),
            Some((Decider::Outside(outside), _)) => outside.classifier().on_loss(loss).into(),
            Some((Decider::Oracle(Lookup { timeouts, .. }), _))
                if loss.detection.is_timeout() && !*timeouts =>
            {
                Cause::Congestion.into()
            }
            Some((&mut Decider::Oracle(Lookup { of, remembers, .. }), _)) => {
                or_congestion(self.truth(of, remembers, una)).into()
            }
            Some((Decider::Erring { mc, mw }, random)) => {
                let truth = or_congestion(truth);
                SenderDecider::err(*mc, *mw, truth, random.uniform()).into()
            }
        };
        // This verdict replaces one that is not final, and covers its losses.
        let waiting = self.said.take().filter(|said| said.pending.is_some());
        let mut packets = waiting.map_or_else(Vec::new, |said| said.packets);
        let from = self.from(una);
        let new = |lost: &Lost| !lost.judged;
        packets.reserve_exact(self.lost[from..].iter().filter(|lost| new(lost)).count());
        for lost in self.lost[from..].iter_mut().filter(|lost| new(lost)) {
            lost.judged = true;
            packets.push((lost.sequence, lost.cause));
        }
        let judgement = Judgement {
            sequence: una,
            detection: loss.detection,
            truth,
            verdict: cause(&said),
        };
        self.said = Some(Box::new(Said {
            judgement,
            packets,
            pending: None,
        }));
        (judgement, said)
    }

    fn truth(&self, of: LookupOf, remembers: bool, una: u64) -> Option<Cause> {
        let cause = |lost: &Lost| {
            if remembers && lost.corrupted {
                Some(Cause::Wireless)
            } else {
                (!lost.resent).then_some(lost.cause)
            }
        };
        match of {
            LookupOf::First => self.get(una).and_then(cause),
            LookupOf::Acknowledged => {
                let lost = self.get(una.checked_sub(1)?)?;
                // The segment was repaired; otherwise it would not have been acknowledged.
                Some(if remembers && lost.corrupted {
                    Cause::Wireless
                } else {
                    lost.cause
                })
            }
            LookupOf::Window => {
                let mut causes = self.lost[self.from(una)..].iter().filter_map(cause);
                let first = causes.next()?;
                let congestion =
                    first == Cause::Congestion || causes.any(|c| c == Cause::Congestion);
                Some(Cause::congestion_if(congestion))
            }
        }
    }

    /// Forgets the acknowledged segments, except the last one.
    fn forget(&mut self, una: u64) {
        self.lost.drain(..self.from(una.saturating_sub(1)));
        snug::tidy(&mut self.lost);
    }

    /// Returns the index of a lost segment; as an error, the index at which it would be inserted.
    fn place(&self, sequence: u64) -> Result<usize, usize> {
        self.lost
            .binary_search_by_key(&sequence, |lost| lost.sequence)
    }

    fn get(&self, sequence: u64) -> Option<&Lost> {
        self.lost.get(self.place(sequence).ok()?)
    }

    /// Returns the index of the first lost segment with this number or a higher one.
    fn from(&self, sequence: u64) -> usize {
        self.place(sequence).unwrap_or_else(|place| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decider::SENDERS;
    use whyloss::{Duration, Time};
    use whyloss_link::Streams;

    fn judge(id: &str, parameters: &[(&str, f64)]) -> Judge {
        let decider = SENDERS.build(id, parameters);
        let decider = decider.expect("registered").expect("in range");
        Judge::new(decider, Streams::new(1).stream("verdict", 0))
    }

    fn packets(judge: &Judge) -> &[(u64, Cause)] {
        judge.judgement().expect("a final verdict").1
    }

    fn loss(detection: Detection) -> LossEvent {
        LossEvent::new(Time::ZERO, detection, 1000).rtt(Some(Duration::from_millis(100)))
    }

    #[test]
    fn an_oracle_looks_up_what_it_is_told_to() {
        let verdict = |parameters: &[(&str, f64)], detection| {
            let mut judge = judge("oracle", parameters);
            judge.on_lost(4, Cause::Congestion, 3);
            judge.on_lost(5, Cause::Wireless, 3);
            judge.on_lost(8, Cause::Congestion, 3);
            let judgement = judge.judge(&loss(detection), 5, (0, 0));
            assert_eq!(judgement.truth, Some(Cause::Congestion));
            assert_eq!(
                packets(&judge),
                [(5, Cause::Wireless), (8, Cause::Congestion)]
            );
            judgement.verdict
        };
        let dup = Detection::Duplicates;
        assert_eq!(verdict(&[], dup), Cause::Congestion);
        assert_eq!(verdict(&[("of", 1.0)], dup), Cause::Wireless);
        assert_eq!(verdict(&[("of", 2.0)], dup), Cause::Congestion);
        assert_eq!(verdict(&[("of", 1.0)], Detection::Timeout), Cause::Wireless);
        let sparing = [("of", 1.0), ("timeouts", 0.0)];
        assert_eq!(verdict(&sparing, Detection::Timeout), Cause::Congestion);
    }

    #[test]
    fn a_retransmission_lost_to_a_queue() {
        let verdict = |remembers| {
            let mut judge = judge("oracle", &[("of", 1.0), ("remembers", remembers)]);
            judge.on_lost(5, Cause::Wireless, 5);
            judge.judge(&loss(Detection::Duplicates), 5, (0, 0));
            judge.on_lost(5, Cause::Congestion, 5);
            let judgement = judge.judge(&loss(Detection::Timeout), 5, (0, 0));
            assert_eq!(packets(&judge), [(5, Cause::Congestion)]);
            judgement.verdict
        };
        assert_eq!(verdict(0.0), Cause::Congestion);
        assert_eq!(verdict(1.0), Cause::Wireless);
    }

    #[test]
    fn a_repaired_loss_is_no_cause_of_the_next() {
        let mut judge = judge("oracle", &[]);
        judge.on_lost(3, Cause::Congestion, 3);
        judge.judge(&loss(Detection::Duplicates), 3, (0, 0));
        judge.on_retransmission(3);
        judge.on_lost(5, Cause::Wireless, 3);
        let judgement = judge.judge(&loss(Detection::Timeout), 3, (0, 0));
        assert_eq!(
            (judgement.truth, judgement.verdict),
            (Some(Cause::Wireless), Cause::Wireless)
        );
        // This holds until its retransmission is also lost.
        judge.on_lost(3, Cause::Congestion, 3);
        assert_eq!(
            judge.judge(&loss(Detection::Timeout), 3, (0, 0)).verdict,
            Cause::Congestion
        );
    }

    #[test]
    fn nothing_lost_is_not_scored() {
        let mut judge = judge("oracle", &[]);
        judge.on_lost(3, Cause::Wireless, 3);
        let judgement = judge.judge(&loss(Detection::Timeout), 7, (0, 0));
        assert_eq!(
            (judgement.truth, judgement.verdict),
            (None, Cause::Congestion)
        );
        assert!(packets(&judge).is_empty());
    }
}
