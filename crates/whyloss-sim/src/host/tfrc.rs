//! The receiving end of TFRC: classifier, receiver, and the truth that only the path knows.

use whyloss::receiver::{Arrival, Classifier, ReceiverClassifier, Verdict};
use whyloss::tfrc::{Data, Feedback, Options, Receiver};
use whyloss::{Cause, Time};
use whyloss_link::Random;

/// A TFRC receiver with its classifier.
#[derive(Debug)]
pub(crate) struct TfrcSink {
    pub(crate) receiver: Receiver,
    pub(crate) classifier: Classifier,
    /// The first sequence number after the highest that arrived.
    expected: u64,
    /// Losses on the path that no arrival has revealed yet.
    truth: Vec<(u64, Cause)>,
    random: Random,
}

impl TfrcSink {
    pub(crate) fn new(
        options: &Options,
        packet_size: u32,
        classifier: Classifier,
        random: Random,
    ) -> Self {
        let receiver = Receiver::new(options, packet_size);
        Self {
            receiver,
            classifier,
            expected: 0,
            truth: Vec::new(),
            random,
        }
    }

    /// Losses that are remembered.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.truth.capacity()
    }

    /// The path lost this packet, for this reason.
    pub(crate) fn lost(&mut self, sequence: u64, cause: Cause) {
        self.truth.push((sequence, cause));
    }

    /// Takes one data packet. `judged` hears the truth and the verdict on each lost packet that it reveals.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        data: &Data,
        size: u32,
        mut judged: impl FnMut(u64, Cause, Cause),
    ) -> Option<Feedback> {
        let missing = data.sequence.saturating_sub(self.expected);
        self.expected = self.expected.max(data.sequence.saturating_add(1));
        let arrival = Arrival {
            sequence: data.sequence,
            sent: data.stamp,
            received: now,
            size,
        };
        let Some(verdict) = self.classifier.on_arrival(&arrival, missing) else {
            return self
                .receiver
                .on_data(now, data, size, |_| Cause::Congestion);
        };
        let Self {
            receiver,
            truth,
            random,
            ..
        } = self;
        let feedback = receiver.on_data(now, data, size, |sequence| match take(truth, sequence) {
            Some(truth) => {
                let cause = verdict.cause(truth, || random.uniform());
                judged(sequence, truth, cause);
                cause
            }
            // Overtaken, not lost: nobody knows a cause, and only a verdict on the gap can be asked for.
            None => match verdict {
                Verdict::Gap(cause) => cause,
                Verdict::Truth | Verdict::Erring { .. } => Cause::Congestion,
            },
        });
        truth.retain(|&(sequence, _)| sequence > data.sequence);
        feedback
    }
}

/// Takes the true cause of one loss out of the list, which is short and nearly in order.
fn take(truth: &mut Vec<(u64, Cause)>, sequence: u64) -> Option<Cause> {
    let at = truth.iter().position(|&(lost, _)| lost == sequence)?;
    Some(truth.swap_remove(at).1)
}
