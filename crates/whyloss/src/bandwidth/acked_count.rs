//! AckedCount: the data that an acknowledgement accounts for, with nothing counted twice.
//!
//! Casetti, Gerla, Mascolo, Sanadidi, Wang, "TCP Westwood", MobiCom 2001 and Wireless Networks 8,
//! 2002, as in the UCLA module for ns-2 and in Linux (`tcp_westwood.c`).
//!
//! ```text
//! acked = 0                  a duplicate: one segment arrived.   accounted += SMSS, counts SMSS
//! 0 < acked ≤ SMSS                                               counts acked
//! SMSS < acked ≤ accounted   duplicates reported it before.      accounted −= acked, counts SMSS
//! otherwise                  delayed or cumulative.  counts acked − accounted, then accounted = 0
//! then no more than `at_most`                                                             [bytes]
//! ```
//!
//! `acked = accounted` counts SMSS, for the segment whose arrival triggered the
//! acknowledgement. The UCLA module limits the count to two segments ("safety check"); Linux does
//! not. The UCLA module has two versions of the third line (`tcp-westwood.cc` leaves one segment
//! more in `accounted`). The one above is also in Linux.

use crate::event::AckEvent;

/// Counts the bytes that each acknowledgement accounts for, as Westwood does. A duplicate accounts
/// for one segment, and the next cumulative acknowledgement does not count that segment again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckedCount {
    segment: u64,
    /// The highest count per acknowledgement in segments; `None` for no bound.
    at_most: Option<u32>,
    /// The bytes that duplicates have counted and no cumulative acknowledgement has covered.
    accounted: u64,
}

impl AckedCount {
    /// Creates a counter for segments of `segment_size` bytes, with at most `at_most` segments per
    /// acknowledgement.
    pub fn new(segment_size: u32, at_most: Option<u32>) -> Self {
        Self {
            segment: u64::from(segment_size.max(1)),
            at_most,
            accounted: 0,
        }
    }

    /// Returns the bytes that `ack` accounts for; at least 1.
    #[inline]
    pub fn count(&mut self, ack: &AckEvent) -> u64 {
        let counted = if ack.acked == 0 {
            self.accounted = self.accounted.saturating_add(self.segment);
            self.segment
        } else if ack.acked <= self.segment {
            ack.acked
        } else if self.accounted >= ack.acked {
            self.accounted -= ack.acked;
            self.segment
        } else {
            ack.acked - core::mem::take(&mut self.accounted)
        };
        match self.at_most {
            Some(segments) => counted.min(self.segment * u64::from(segments.max(1))),
            None => counted,
        }
    }

    /// Sets the segment size in bytes.
    pub fn resize(&mut self, segment_size: u32) {
        self.segment = u64::from(segment_size.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::ack;

    fn counts<const N: usize>(at_most: Option<u32>, acked: [u64; N]) -> [u64; N] {
        let mut count = AckedCount::new(1000, at_most);
        acked.map(|acked| count.count(&ack(acked)))
    }

    #[test]
    fn duplicates_are_not_counted_again() {
        // One of five segments is lost. Four duplicates come first, then one acknowledgement of all
        // five, which adds one segment.
        assert_eq!(
            counts(None, [0, 0, 0, 0, 5000, 1000]),
            [1000, 1000, 1000, 1000, 1000, 1000]
        );
        // A partial acknowledgement covers three of them. The next one covers the rest and an
        // unreported segment.
        assert_eq!(
            counts(None, [0, 0, 0, 0, 3000, 3000]),
            [1000, 1000, 1000, 1000, 1000, 2000]
        );
    }

    #[test]
    fn delayed_and_cumulative_acknowledgements_count_whole() {
        assert_eq!(counts(None, [2000, 500, 7000]), [2000, 500, 7000]);
        assert_eq!(counts(Some(2), [2000, 500, 7000]), [2000, 500, 2000]);
    }

    #[test]
    fn what_duplicates_counted_counts_a_segment() {
        // 3000 bytes are accounted for, and 3000 are acknowledged.
        assert_eq!(
            counts(None, [0, 0, 0, 3000, 2000]),
            [1000, 1000, 1000, 1000, 2000]
        );
    }
}
