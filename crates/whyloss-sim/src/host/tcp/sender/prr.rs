//! Proportional rate reduction (RFC 9937 §6): how many segments may leave for each acknowledgement
//! of a recovery.
//!
//! ```text
//! begin      delivered = out = 0;  RecoverFS = segments in flight before the acknowledgement that began it
//! each ack   delivered += segments that it delivers (0: nothing changes)
//!            inflight > ssthresh   count = ⌈delivered · ssthresh / RecoverFS⌉ − out          proportional
//!            otherwise             count = max(delivered − out, segments that it delivers)   conservative bound (CRB)
//!                                  + 1 if it moves the left edge and reveals no loss         slow start bound (SSRB)
//!                                  count = min(count, ssthresh − inflight)
//!            count = 1 if count and out are 0, so that the first loss is repaired immediately
//!            cwnd  = inflight + count, the limit of segments in flight until the next acknowledgement
//! ```
//!
//! The unit is the segment, as in Linux; the RFC uses bytes. ssthresh is the controller's window
//! after the loss. A loss called wireless may leave it unchanged; then only the bounds apply.

/// The state of one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    delivered: u64,
    out: u64,
    recover_fs: u64,
    /// The window cwnd, in segments.
    window: u64,
}

impl Prr {
    /// Begins a recovery with `recover_fs` segments in flight.
    pub(super) fn begin(recover_fs: u64) -> Self {
        Self {
            recover_fs: recover_fs.max(1),
            ..Self::default()
        }
    }

    /// Handles an acknowledgement, or the reordering timer, which delivers nothing. `in_flight`
    /// segments are in flight afterwards. `safe` means that the left edge moves and no loss is
    /// found.
    pub(super) fn on_ack(&mut self, delivered: u64, safe: bool, in_flight: u64, ssthresh: u64) {
        if delivered == 0 && self.out > 0 {
            return;
        }
        self.delivered += delivered;
        let count = if in_flight > ssthresh {
            let share = self.delivered.saturating_mul(ssthresh);
            share.div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            let conserving = self.delivered.saturating_sub(self.out).max(delivered);
            (conserving + u64::from(safe)).min(ssthresh - in_flight)
        };
        self.window = in_flight + count.max(u64::from(self.out == 0));
    }

    /// Returns how many segments may be in flight.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Records that a segment leaves.
    pub(super) fn leave(&mut self) {
        self.out += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends all segments that may leave after each acknowledgement: (delivered, safe, in flight).
    /// Returns how many leave after each.
    fn sent(prr: &mut Prr, ssthresh: u64, acks: &[(u64, bool, u64)]) -> Vec<u64> {
        let leave = |&(delivered, safe, in_flight): &(u64, bool, u64)| {
            prr.on_ack(delivered, safe, in_flight, ssthresh);
            let count = prr.window() - in_flight;
            (0..count).for_each(|_| prr.leave());
            count
        };
        acks.iter().map(leave).collect()
    }

    #[test]
    fn half_as_much_leaves_as_arrives_while_more_is_in_flight() {
        // RecoverFS 20, ssthresh 10: ⌈1/2⌉ − 0, ⌈2/2⌉ − 1, ⌈3/2⌉ − 1, ⌈4/2⌉ − 2, …
        let mut prr = Prr::begin(20);
        let acks = [
            (1, false, 18),
            (1, false, 18),
            (1, false, 17),
            (1, false, 17),
            (3, false, 15),
        ];
        // After the last one, seven are delivered: ⌈7/2⌉ − 2.
        assert_eq!(sent(&mut prr, 10, &acks), [1, 0, 1, 0, 2]);
    }

    #[test]
    fn what_leaves_is_bounded_while_less_is_in_flight() {
        // Sixteen of twenty were lost: three are in flight, and ten may be. CRB: no more leave than
        // are delivered.
        let mut prr = Prr::begin(20);
        let acks = [(1, false, 3), (1, false, 3), (2, false, 2)];
        assert_eq!(sent(&mut prr, 10, &acks), [1, 1, 2]);
        // SSRB: one more leaves while no loss is found, but never beyond ssthresh.
        assert_eq!(
            sent(
                &mut prr,
                10,
                &[(1, true, 3), (1, true, 4), (2, true, 8), (1, true, 10)]
            ),
            [2, 2, 2, 0]
        );
    }

    #[test]
    fn what_did_not_leave_may_leave_later() {
        let mut prr = Prr::begin(20);
        for _ in 0..3 {
            prr.on_ack(1, false, 9, 10);
        }
        // Three are delivered, none has left, and there is room for one.
        assert_eq!(prr.window(), 10);
        prr.on_ack(1, false, 5, 10);
        assert_eq!(prr.window(), 5 + 4);
    }

    #[test]
    fn the_first_loss_is_repaired_at_once() {
        // The reordering timer begins a recovery and later detects another loss, both without a
        // delivery. The second loss leaves room for its retransmission.
        let mut prr = Prr::begin(20);
        assert_eq!(sent(&mut prr, 10, &[(0, false, 19)]), [1]);
        prr.on_ack(0, false, 18, 10);
        assert_eq!(prr.window(), 20);
        assert_eq!(sent(&mut prr, 10, &[(1, false, 18)]), [0]);
    }
}
