//! The tail loss probe (RFC 8985 §7): if no acknowledgement arrives for two round trips, one
//! segment provokes one.
//!
//! ```text
//! PTO       2 · SRTT, + the receiver's delay of acknowledgements if one segment is out; no later than the retransmission
//!           timer. Starts anew as new segments leave and as acknowledgements move the left edge, unless something is being
//!           repaired or has been sacked (§7.2)
//! probe     a new segment, or else the last one again; one at a time, and none without a round trip measured since the last
//!           (§7.3). Then the retransmission timer starts anew
//! answer    to a probe that retransmitted the last segment: a duplicate without SACK, or a D-SACK, shows that nothing
//!           was lost; an acknowledgement beyond it shows that the probe repaired a loss, which counts as any (§7.4)
//! ```
//!
//! The timer does not run while no probe could leave. By the text of the RFC, it would expire even
//! then and delay the retransmission timer.

use whyloss::{Duration, Time};

use crate::host::tcp::Ack;

/// The probe and its timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// TLP.max_ack_delay, the time by which the receiver may delay an acknowledgement.
    ack_delay: Duration,
    /// When a probe is due; [`Time::MAX`] if none is planned.
    pub(super) at: Time,
    /// Whether a probe leaves next, even if the window is full.
    pub(super) leaves: bool,
    /// TLP.end_seq, one past the last segment when the unanswered probe left; `None` if no probe is
    /// unanswered.
    end: Option<u64>,
    /// TLP.is_retrans, whether the probe was a retransmission.
    retransmits: bool,
    /// Whether a round trip was measured since the last probe.
    pub(super) measured: bool,
}

impl Probe {
    pub(super) fn new(ack_delay: Option<Duration>) -> Self {
        Self {
            ack_delay: ack_delay.unwrap_or(Duration::ZERO),
            at: Time::MAX,
            leaves: false,
            end: None,
            retransmits: false,
            measured: false,
        }
    }

    /// Starts the timer (§7.2). `lone` means that one segment is outstanding; `rto` is the expiry
    /// of the retransmission timer.
    pub(super) fn schedule(&mut self, now: Time, srtt: Duration, lone: bool, rto: Time) {
        if self.end.is_none() && self.measured {
            let delay = if lone { self.ack_delay } else { Duration::ZERO };
            self.at = (now + srtt * 2 + delay).min(rto);
        }
    }

    /// Handles the expiry of the timer: a probe leaves next.
    pub(super) fn expire(&mut self) {
        self.at = Time::MAX;
        self.leaves = true;
    }

    /// Cancels the probe, because there is nothing to probe for.
    pub(super) fn cancel(&mut self) {
        self.at = Time::MAX;
        self.leaves = false;
    }

    /// Records that the probe leaves. `end` is one past the last segment then.
    pub(super) fn leave(&mut self, end: u64, retransmits: bool) {
        self.measured = false;
        self.end = Some(end);
        self.retransmits = retransmits;
    }

    /// Cancels everything, because a repair begins, which needs no probe (§7.1).
    pub(super) fn reset(&mut self) {
        self.cancel();
        self.end = None;
    }

    /// Handles an acknowledgement. Returns the segment that the probe has repaired, if any.
    pub(super) fn on_ack(&mut self, ack: &Ack, repeated: bool) -> Option<u64> {
        let end = self.end.filter(|&end| ack.next >= end)?;
        let needless = !self.retransmits
            || ack.duplicate().is_some_and(|twice| twice.end == end)
            || (ack.next == end && repeated && ack.sack.is_empty());
        if needless {
            self.end = None;
            return None;
        }
        (ack.next > end).then(|| {
            self.end = None;
            end - 1
        })
    }
}
