//! The registry of receiver classifiers and their parameters.
//!
//! Scenarios, experiments and the command read [`REGISTRY`]. To add a classifier, add its file, its
//! `mod` line, and its entry in the list below.

use super::biaz::Biaz;
use super::spike::Spike;
use super::trees::Trees;
use super::zbs::{Lock, Rule, Zbs};
use super::zigzag::ZigZag;
use super::{Arrival, ReceiverClassifier, Unaware};
use crate::macros::{any, registry};
use crate::registry::{Parameter, real, switch, whole};
use crate::{Cause, Duration, dispatch};

/// A parameter of every classifier with a state (CEN-A2).
const UPDATE_FIRST: Parameter = switch(
    true,
    "whether the packet that reveals a gap updates the state before the decision",
);
/// A parameter of ZigZag, alone or in a hybrid.
const DELAY_BEFORE_GAP: Parameter = switch(
    true,
    "whether the delay of the packet before the gap is compared, or of the one after it",
);
const UPPER: &str = "c of the upper bound (n+c)·T_min";
const LOCK_SECONDS: &str =
    "seconds for which the hybrid keeps a base scheme, unless lock_packets arrive first";
const LOCK_PACKETS: &str = "packets for which the hybrid keeps a base scheme";

macro_rules! dispatch_receiver {
    ($enum:ident $variants:tt) => {
        dispatch! {
            impl ReceiverClassifier for $enum $variants
            #[inline] fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause>;
            fn odds(&self) -> Option<f64>;
        }
    };
}

any! {
    /// Any receiver classifier in the registry.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Classifier by dispatch_receiver { Biaz, Spike, ZigZag, Zbs, Trees, Unaware }
}

registry! {
    /// Every receiver classifier.
    Classifier {
        "biaz", "Biaz", "wireless if the packet after the gap comes on time",
        "Biaz & Vaidya, ASSET 1999",
        (upper = real(Biaz::BIAZ, 1.0, 10.0, UPPER), update_first = UPDATE_FIRST)
        => Biaz::new(upper).update_first(update_first != 0.0);

        "mbiaz", "mBiaz", "Biaz with a tighter upper bound",
        "Cen, Cosman & Voelker, MMCN 2002, section 3.1",
        (upper = real(Biaz::MBIAZ, 1.0, 10.0, UPPER), update_first = UPDATE_FIRST)
        => Biaz::new(upper).update_first(update_first != 0.0);

        "mbiaz-2003", "mBiaz (2003)", "mBiaz with the upper bound of the journal version",
        "Cen, Cosman & Voelker, IEEE/ACM ToN 11(5), 2003, after two public ports",
        (upper = real(Biaz::MBIAZ_2003, 1.0, 10.0, UPPER), update_first = UPDATE_FIRST)
        => Biaz::new(upper).update_first(update_first != 0.0);

        "spike", "Spike", "congestion while the one-way delay is high in its range",
        "Cen, Cosman & Voelker, MMCN 2002, section 3.2",
        (
            alpha = real(Spike::ALPHA, -1.0, 2.0, "share of the range of rott where a spike starts"),
            beta = real(Spike::BETA, -1.0, 2.0, "share of the range of rott where a spike ends"),
            update_first = UPDATE_FIRST,
        )
        => Spike::new(alpha, beta).update_first(update_first != 0.0), where beta <= alpha;

        "tobe", "Tobe", "Spike with fixed thresholds above the smallest delay",
        "Tobe et al., LCN 2000",
        (
            start_ms = real(20.0, 0.0, 60_000.0, "ms above rott_min where a spike starts"),
            end_ms = real(5.0, 0.0, 60_000.0, "ms above rott_min where a spike ends"),
            update_first = UPDATE_FIRST,
        )
        => Spike::tobe(millis(start_ms), millis(end_ms)).update_first(update_first != 0.0),
        where end_ms <= start_ms;

        "zigzag", "ZigZag", "wireless if the delay is low compared with its mean and deviation",
        "Cen, Cosman & Voelker, MMCN 2002, section 3.3",
        (
            alpha = real(ZigZag::ALPHA, 0.0001, 0.5, "gain of rott_mean; rott_dev's is twice that"),
            rott_dev_ms = real(0.0, 0.0, 60_000.0, "initial rott_dev in ms"),
            delay_before_gap = DELAY_BEFORE_GAP,
            update_first = UPDATE_FIRST,
        )
        => ZigZag::new(alpha, millis(rott_dev_ms))
            .delay_before_gap(delay_before_gap != 0.0)
            .update_first(update_first != 0.0);

        "zbs", "ZBS", "chooses ZigZag, mBiaz or Spike by the spacing of packets",
        "Cen, Cosman & Voelker, MMCN 2002, section 7.1",
        (
            upper = real(Biaz::MBIAZ, 1.0, 10.0, UPPER),
            lock_seconds = real(3.0, 0.0, 3600.0, LOCK_SECONDS),
            lock_packets = whole(50, 0, 1_000_000, LOCK_PACKETS),
            delay_before_gap = DELAY_BEFORE_GAP,
            update_first = UPDATE_FIRST,
        )
        => Zbs::new(Rule::Zbs, upper, lock(lock_seconds, lock_packets))
            .delay_before_gap(delay_before_gap != 0.0)
            .update_first(update_first != 0.0);

        "zbs2", "ZBS2", "ZBS with ZigZag instead of Spike if the delay hardly varies",
        "Cen, Cosman & Voelker, MMCN 2002, section 7.2",
        (
            upper = real(Biaz::MBIAZ, 1.0, 10.0, UPPER),
            lock_seconds = real(3.0, 0.0, 3600.0, LOCK_SECONDS),
            lock_packets = whole(50, 0, 1_000_000, LOCK_PACKETS),
            delay_before_gap = DELAY_BEFORE_GAP,
            update_first = UPDATE_FIRST,
        )
        => Zbs::new(Rule::Zbs2, upper, lock(lock_seconds, lock_packets))
            .delay_before_gap(delay_before_gap != 0.0)
            .update_first(update_first != 0.0);

        "zbs3", "ZBS3", "Spike if queues are empty, ZigZag if the delay hardly varies, otherwise ZBS",
        "Cen, Cosman & Voelker, MMCN 2002, section 7.3",
        (
            upper = real(Biaz::MBIAZ, 1.0, 10.0, UPPER),
            lock_seconds = real(3.0, 0.0, 3600.0, LOCK_SECONDS),
            lock_packets = whole(50, 0, 1_000_000, LOCK_PACKETS),
            delay_before_gap = DELAY_BEFORE_GAP,
            update_first = UPDATE_FIRST,
        )
        => Zbs::new(Rule::Zbs3, upper, lock(lock_seconds, lock_packets))
            .delay_before_gap(delay_before_gap != 0.0)
            .update_first(update_first != 0.0);

        "zbs-2003", "ZBS (2003)", "Spike if queues are empty, otherwise a choice by the spacing of packets; no lock",
        "Cen, Cosman & Voelker, IEEE/ACM ToN 11(5), 2003, after two public ports",
        (
            upper = real(Biaz::MBIAZ_2003, 1.0, 10.0, UPPER),
            lock_seconds = real(0.0, 0.0, 3600.0, LOCK_SECONDS),
            lock_packets = whole(0, 0, 1_000_000, LOCK_PACKETS),
            delay_before_gap = DELAY_BEFORE_GAP,
            update_first = UPDATE_FIRST,
        )
        => Zbs::new(Rule::Zbs2003, upper, lock(lock_seconds, lock_packets))
            .delay_before_gap(delay_before_gap != 0.0)
            .update_first(update_first != 0.0);

        "trees", "Trees", "sixty small decision trees over timing and delay, trained on random networks",
        "this project, docs/evidence/classifier.md",
        (threshold = real(Trees::THRESHOLD, -100.0, 100.0, "log-odds above which a loss is called congestion"))
        => Trees::new(threshold);

        "unaware", "Unaware", "always congestion, like a transport without a classifier",
        "Cen, Cosman & Voelker, MMCN 2002, section 3",
        ()
        => Unaware;
    }
}

impl Classifier {
    /// Returns the classifier that calls every loss congestion.
    pub fn unaware() -> Self {
        Self::Unaware(Unaware)
    }
}

fn millis(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

fn lock(seconds: f64, packets: f64) -> Lock {
    Lock {
        span: Duration::from_secs_f64(seconds),
        packets: packets as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_and_the_registry_agree() {
        let named: [(&str, Classifier); 11] = [
            ("biaz", Biaz::default().into()),
            ("mbiaz", Biaz::mbiaz().into()),
            ("mbiaz-2003", Biaz::mbiaz_2003().into()),
            ("spike", Spike::default().into()),
            ("zigzag", ZigZag::default().into()),
            ("zbs", Zbs::default().into()),
            ("zbs2", Zbs::zbs2().into()),
            ("zbs3", Zbs::zbs3().into()),
            ("zbs-2003", Zbs::zbs_2003().into()),
            ("trees", Trees::default().into()),
            ("unaware", Unaware.into()),
        ];
        for (id, classifier) in named {
            assert_eq!(find(id).unwrap().build(&[]), Ok(classifier), "{id}");
        }
    }
}
