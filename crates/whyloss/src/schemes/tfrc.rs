//! TFRC with a receiver classifier, as Cen, Cosman & Voelker (MMCN 2002) compare them (CEN-13,
//! CEN-14).
//!
//! ```text
//! rate              TFRC's, ns-2's; packets count without a header
//! a gap             the classifier gives one cause for all its packets
//! congestion        enters the loss history
//! wireless          does not: the packets count as received
//! ```
//!
//! Section 3 has the base classifiers Biaz, mBiaz, Spike and ZigZag. Section 7 has the hybrids ZBS
//! to ZBS3, which select one of three by the spacing of packets. Each is a [receiver
//! classifier](crate::receiver::REGISTRY). *Unaware* TFRC has none; *omniscient* TFRC uses the
//! truth.

use super::Scheme;
use crate::receiver::Classifier;
use crate::tfrc::Options;

/// Returns ns-2's TFRC with this classifier, without its 32 bytes of header. With the header, no
/// scheme could use more than 96 % of a link with packets of 762 bytes, but the paper's do.
pub fn scheme(classifier: impl Into<Classifier>) -> Scheme<Classifier, Options> {
    Scheme {
        controller: OPTIONS,
        classifier: classifier.into(),
    }
}

/// The TFRC variant of all these schemes.
pub const OPTIONS: Options = Options {
    header: 0,
    ..Options::ns2()
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::zbs::Zbs;
    use crate::receiver::{Arrival, ReceiverClassifier};
    use crate::{Cause, Time};

    /// A flow alone on its link sends 762 bytes every 7.62 ms. T_narr is small, so mBiaz decides.
    /// If a gap takes the time of its packets, it is wireless.
    #[test]
    fn a_hybrid_is_one_classifier() {
        let Scheme {
            controller,
            mut classifier,
        } = scheme(Zbs::zbs3());
        assert_eq!(controller.header, 0);
        let slot = |k: u64| Time::from_nanos(k * 7_620_000);
        for k in 0..200 {
            classifier.on_arrival(&Arrival::new(k, slot(k), slot(k + 5), 762), 0);
        }
        let after = Arrival::new(201, slot(201), slot(206), 762);
        assert_eq!(classifier.on_arrival(&after, 1), Some(Cause::Wireless));
    }
}
