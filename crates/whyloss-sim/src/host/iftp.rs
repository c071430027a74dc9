//! The sending end of an IFTP flow: the sender, its classifier, and the true causes of its losses.

use whyloss::event::{AckEvent, LossEvent};
use whyloss::iftp::{self, Ack, Advice, Data, Options, Reaction, Sender};
use whyloss::{Cause, Time};
use whyloss_link::Random;

use super::judge::{Judge, Judgement};
use crate::decider::SenderDecider;
use crate::observe::SourceState;

/// An IFTP sender with its classifier: IFTP with the unaware one, IFTPV with enhanced Veno.
#[derive(Debug)]
pub(crate) struct IftpSource {
    pub(crate) sender: Sender,
    judge: Judge,
}

impl IftpSource {
    pub(crate) fn new(
        options: &Options,
        packet_size: u32,
        decider: SenderDecider,
        random: Random,
    ) -> Self {
        Self {
            sender: Sender::new(options, packet_size),
            judge: Judge::new(decider, random),
        }
    }

    /// Returns the number of losses for which the judge has memory.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.judge.held()
    }

    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.judge.clear();
        self.sender.on_ack(now, ack, &mut self.judge);
    }

    /// Handles the timer if it is due. Returns whether it was due.
    pub(crate) fn wake(&mut self, now: Time) -> bool {
        self.judge.clear();
        let before = self.sender.timeouts();
        self.sender.on_timeout(now, &mut self.judge);
        self.sender.timeouts() > before
    }

    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Data> {
        self.sender.poll_transmit(now)
    }

    /// Records that the path lost this packet for this cause.
    pub(crate) fn on_lost(&mut self, sequence: u64, cause: Cause) {
        self.judge.on_lost(sequence, cause, self.sender.una());
    }

    /// Returns the state of congestion control.
    pub(crate) fn state(&self) -> SourceState {
        let sender = &self.sender;
        SourceState {
            cwnd: Some(sender.window_bytes()),
            ssthresh: Some(sender.ssthresh_bytes()),
            in_flight: Some(sender.in_flight()),
            rate: sender.rate(),
            rtt: sender.latest_rtt(),
            srtt: sender.rtt(),
            rto: None,
            una: sender.una(),
        }
    }

    /// Returns the classifier's verdict on the loss that the last event found, if any, and the
    /// packets that it covers.
    #[inline]
    pub(crate) fn judgement(&self) -> Option<(Judgement, &[(u64, Cause)])> {
        self.judge.judgement()
    }

    /// Frees a final verdict, which has been scored.
    pub(crate) fn scored(&mut self) {
        self.judge.clear();
    }
}

impl iftp::Judge for Judge {
    #[inline]
    fn on_ack(&mut self, ack: &AckEvent) {
        Self::on_ack(self, ack);
    }

    fn on_loss(&mut self, loss: &LossEvent) -> Reaction {
        let una = loss.first / u64::from(loss.segment_size);
        let ask = |classifier: &mut _| Advice::of(classifier, loss);
        let (_, advice) = self.judge_by(loss, una, ask, |advice| advice.cause);
        advice.reaction
    }
}
