//! IFTP and IFTP-W (ElAarag, Moedinger & Hogg 2008, sections 4, 5.2 and 7).
//!
//! ```text
//! rate      n packets in a round trip; n grows as Reno's window does: threshold 32, at most 50 packets
//! loss      n/2, whatever the cause
//! timeout   n = 1, threshold n/2
//! IFTP-W    the same sender; the checksum covers the header and the first bytes of the payload alone
//! ```
//!
//! The covered section belongs to the wire format ([`packet`](crate::iftp::packet)): bit errors
//! that damage a packet of IFTP may not damage one of IFTP-W. Both have the same sender.

use super::Scheme;
use crate::iftp::Options;
use crate::sender::{Classifier, Unaware};

/// Returns IFTP; IFTP-W differs only in its wire format.
pub fn scheme() -> Scheme<Classifier, Options> {
    of(Unaware)
}

/// Returns IFTP with this classifier.
pub(super) fn of(classifier: impl Into<Classifier>) -> Scheme<Classifier, Options> {
    Scheme {
        controller: Options::default(),
        classifier: classifier.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iftp::{Advice, Reaction};

    /// Tests the constants of section 5.2: threshold 32, at most 50 packets, three duplicates.
    /// Every loss halves n.
    #[test]
    fn constants_of_the_paper() {
        let Scheme {
            controller,
            mut classifier,
        } = scheme();
        assert_eq!(
            (
                controller.initial_ssthresh,
                controller.max_window,
                controller.duplicates
            ),
            (32, 50, 3)
        );
        let loss = super::super::tests::loss(crate::event::Detection::Duplicates);
        assert_eq!(Advice::of(&mut classifier, &loss).reaction, Reaction::Halve);
    }
}
