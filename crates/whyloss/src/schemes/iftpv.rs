//! IFTPV: IFTP with enhanced Veno as its classifier (ElAarag, Moedinger & Hogg 2008, section 10.2;
//! Zhou & Fu 2006).
//!
//! ```text
//! B = (n/RTT_base − n/RTT_actual)·RTT_base            packets (equation 4); RTT_actual smoothed with gain 1/8
//! B < 3, congestion losses not more frequent          n stays
//! B < 3, congestion losses more frequent              4n/5
//! B ≥ 3, or a timeout                                 as IFTP
//! ```

use super::{Scheme, iftp};
use crate::iftp::Options;
use crate::sender::Classifier;
use crate::sender::veno::Veno;

/// Returns IFTPV: IFTP with enhanced Veno as its classifier.
pub fn scheme() -> Scheme<Classifier, Options> {
    iftp::of(Veno::iftpv())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, loss, queued};
    use super::*;
    use crate::event::Detection;
    use crate::iftp::{Advice, Reaction};
    use crate::sender::SenderClassifier;

    /// With 30 packets, a sample of 180 ms raises the smoothed 100 ms to 110 ms, so B = 30·(1 −
    /// 100/110) = 2.7. Another sample raises it to 118.75 ms, so B = 4.7.
    #[test]
    fn a_random_loss_costs_nothing() {
        let mut classifier = scheme().classifier;
        classifier.on_ack(&ack(900));
        for reaction in [Reaction::Keep, Reaction::Halve] {
            classifier.on_ack(&queued(180));
            let advice = Advice::of(&mut classifier, &loss(Detection::Duplicates));
            assert_eq!(advice.reaction, reaction);
        }
    }
}
