//! Receiver classifiers: loss differentiation from packet arrivals alone.
//!
//! # Contract
//!
//! A classifier is told of *every* arrival, in the order of arrival, through [`ReceiverClassifier::on_arrival`]. When
//! the arrival reveals a gap of `missing` packets, the answer is one [`Verdict`] for the whole gap (CEN-1); otherwise
//! it is `None`. Whether the revealing packet updates the state before or after the decision is part of each
//! algorithm's definition (CEN-A2). Stamps of sender and receiver come from clocks that need not agree: a constant
//! offset between them never changes a decision.
//!
//! # Adding a classifier
//!
//! One file here, one line in the `classifiers!` list below; scenarios, experiments and the command read the list.

mod biaz;

use crate::{Cause, Time};

/// One packet's arrival, as an end host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Sequence number, in packets.
    pub sequence: u64,
    /// The sender's stamp, on the sender's clock.
    pub sent: Time,
    /// The receiver's stamp, on the receiver's clock.
    pub received: Time,
    /// Bytes.
    pub size: u32,
}

impl Arrival {
    /// Relative one-way trip time: receive stamp − send stamp. Negative when the clocks say so.
    pub fn rott(&self) -> crate::Duration {
        self.received - self.sent
    }
}

/// What a classifier answers about a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// One cause for every packet missing in the gap.
    Gap(Cause),
    /// The true cause of each packet: the oracle's answer, which whoever knows the truth fills in.
    Truth,
    /// The true cause of each packet, given wrongly with probability `mc` (congestion called wireless) or `mw`
    /// (wireless called congestion) (CEN-14).
    Erring {
        /// Probability of calling a congestion loss wireless.
        mc: f64,
        /// Probability of calling a wireless loss congestion.
        mw: f64,
    },
}

impl Verdict {
    /// The cause given to one missing packet whose true cause is `truth`; `uniform` in [0, 1) decides errors.
    pub fn cause(self, truth: Cause, uniform: impl FnOnce() -> f64) -> Cause {
        let (rate, wrong) = match (self, truth) {
            (Self::Gap(cause), _) => return cause,
            (Self::Truth, _) => return truth,
            (Self::Erring { mc, .. }, Cause::Congestion) => (mc, Cause::Wireless),
            (Self::Erring { mw, .. }, Cause::Wireless) => (mw, Cause::Congestion),
        };
        if uniform() < rate { wrong } else { truth }
    }
}

/// A loss differentiation algorithm at the receiver. See the [module](self) for the contract.
pub trait ReceiverClassifier {
    /// Takes one arrival; `missing` packets lie between it and the highest sequence number that arrived before.
    ///
    /// Answers `Some` exactly when `missing > 0`. A late packet (one that fills an old gap) comes with `missing` 0.
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Verdict>;
}
