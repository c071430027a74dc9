//! The receiving end of a TFRC flow: the receiver, its classifier, and the true causes of its
//! losses.

use whyloss::receiver::{Arrival, Classifier, ReceiverClassifier};
use whyloss::tfrc::{Data, Feedback, Options, Receiver, Sender};
use whyloss::{Cause, Time};
use whyloss_link::Random;

use crate::decider::{Decider, ReceiverDecider};

/// Returns the next packet that a sender may send at `now`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
pub(crate) fn poll(sender: &mut Sender, now: Time) -> Option<Data> {
    while sender.next_timeout() <= now {
        let data = sender.on_timeout(now);
        if data.is_some() {
            return data;
        }
    }
    None
}

/// A TFRC receiver with its classifier.
#[derive(Debug)]
pub(crate) struct TfrcSink {
    pub(crate) receiver: Receiver,
    decider: ReceiverDecider,
    /// The bytes of each packet that TFRC and the classifier do not count.
    header: u32,
    /// The first sequence number after the highest that arrived.
    expected: u64,
    /// The losses on the path that no arrival has revealed yet.
    truth: Vec<(u64, Cause)>,
    /// The losses that the last arrival revealed, in order, with the cause given to each.
    revealed: Vec<(u64, Cause)>,
    random: Random,
}

impl TfrcSink {
    pub(crate) fn new(
        options: &Options,
        packet_size: u32,
        decider: ReceiverDecider,
        random: Random,
    ) -> Self {
        Self {
            receiver: Receiver::new(options, packet_size),
            decider,
            header: options.header,
            expected: 0,
            truth: Vec::new(),
            revealed: Vec::new(),
            random,
        }
    }

    /// Returns the classifier at work, if there is one.
    pub(crate) fn classifier(&self) -> Option<&Classifier> {
        match &self.decider {
            Decider::Classifier(classifier) => Some(classifier),
            _ => None,
        }
    }

    /// Returns the number of losses for which there is memory.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.truth.capacity() + self.revealed.capacity()
    }

    /// Records that the path lost this packet for this cause.
    pub(crate) fn lost(&mut self, sequence: u64, cause: Cause) {
        self.truth.push((sequence, cause));
    }

    /// Handles a data packet of `wire_size` bytes, marked CE or not. Passes the true cause and the
    /// verdict of each lost packet that it reveals to `judged`, for gaps of any length.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot path is one piece of code")]
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        data: &Data,
        (wire_size, marked): (u32, bool),
        judged: impl FnMut(u64, Cause, Cause),
    ) -> Option<Feedback> {
        let size = wire_size.saturating_sub(self.header);
        let missing = data.sequence.saturating_sub(self.expected);
        self.expected = self.expected.max(data.sequence.saturating_add(1));
        let said = match &mut self.decider {
            Decider::Classifier(classifier) => {
                let arrival = Arrival::new(data.sequence, data.stamp, now, size);
                classifier.on_arrival(&arrival, missing)
            }
            Decider::Outside(outside) => {
                let arrival = Arrival::new(data.sequence, data.stamp, now, size);
                outside.classifier().on_arrival(&arrival, missing)
            }
            Decider::Unaware => (missing > 0).then_some(Cause::Congestion),
            _ => None,
        };
        if missing == 0 {
            let no_gap = |_| Cause::Congestion;
            return if marked {
                self.receiver.on_marked_data(now, data, size, no_gap)
            } else {
                self.receiver.on_data(now, data, size, no_gap)
            };
        }
        self.judge(data.sequence, said, judged);
        // An overtaken packet was not lost and has no true cause. It gets the verdict on the whole
        // gap, if there is one.
        let overtaken = said.unwrap_or(Cause::Congestion);
        let revealed = &self.revealed;
        let cause = |sequence| {
            let found = revealed.binary_search_by_key(&sequence, |&(lost, _)| lost);
            found.map_or(overtaken, |at| revealed[at].1)
        };
        if marked {
            self.receiver.on_marked_data(now, data, size, cause)
        } else {
            self.receiver.on_data(now, data, size, cause)
        }
    }

    /// Records a verdict for every loss before `sequence`, from the classifier or the reference.
    fn judge(
        &mut self,
        sequence: u64,
        said: Option<Cause>,
        mut judged: impl FnMut(u64, Cause, Cause),
    ) {
        let revealed = &mut self.revealed;
        revealed.clear();
        self.truth.retain(|&loss| {
            let due = loss.0 < sequence;
            if due {
                revealed.push(loss);
            }
            !due
        });
        // Losses are reported nearly in order: a later link may report an earlier loss.
        revealed.sort_unstable_by_key(|&(lost, _)| lost);
        for (lost, cause) in revealed {
            let truth = *cause;
            *cause = match (said, &self.decider) {
                (Some(said), _) => said,
                (None, &Decider::Erring { mc, mw }) => {
                    ReceiverDecider::err(mc, mw, truth, self.random.uniform())
                }
                (None, _) => truth,
            };
            judged(*lost, truth, *cause);
        }
    }
}
