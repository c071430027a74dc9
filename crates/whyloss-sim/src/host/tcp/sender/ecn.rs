//! ECN at a connection's ends (RFC 3168 §6.1): the state of a sender and a receiver.
//!
//! ```text
//! data            new segments are ECT; retransmissions (§6.1.5), acknowledgements and the segment that represents the SYN
//!                 (§6.1.1, §6.1.4) are not
//! a mark arrives  every acknowledgement carries ECE until a segment carries CWR; a marked segment with CWR starts ECE
//!                 again (§6.1.3)
//! ECE arrives     the window is cut as at a congestion loss, without a classifier, at most once per window: not while
//!                 data sent before the last cut of any kind is acknowledged (§6.1.2). Acknowledgements with ECE do
//!                 not grow the window. A loss that the scheme spares is no cut
//! after a cut     the first new segment carries CWR, whether a mark, a loss or a timeout cut the window (§6.1.2)
//! a loss          of a segment that was in flight when a mark cut the window is repaired and judged, but does not cut
//!                 the window again; a timeout does
//! ```
//!
//! The negotiation of ECN in the handshake is not simulated. The timer does not hold back a window
//! of one segment (§6.1.2, end), since controllers here go below two segments only at a timeout.
//!
//! ns-2 (`ecn_`, `old_ecn_` 0) departs in one point: before it *retransmits* with a cut, it waits
//! until all data sent before a mark's cut is acknowledged (`bugFix_`).

use super::Sender;
use crate::host::tcp::{Ack, Segment};
use whyloss::Time;
use whyloss::event::{Detection, MarkEvent};

/// The memory of an ECN-capable sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Cuts {
    /// Whether the current acknowledgement carries ECE.
    echoed: bool,
    /// The highest sequence sent when the window was last cut.
    until: u64,
    /// The value of `until`, if a mark cut the window.
    by_mark: u64,
    /// Whether the next new segment carries CWR.
    owed: bool,
}

impl Sender {
    /// Handles an acknowledgement with ECE, instead of [`Sender::on_ack`].
    pub fn on_echo(&mut self, now: Time, ack: &Ack, stamped: Time) {
        if let Some(cuts) = &mut self.ecn {
            cuts.echoed = true;
        }
        // Ignores acknowledgements while nothing is outstanding, and those that no honest receiver
        // would send.
        let news = ack.next <= self.max && ack.next >= self.una && self.una < self.max;
        self.on_ack(now, ack, stamped);
        let Some(cuts) = &mut self.ecn else {
            return;
        };
        cuts.echoed = false;
        if !news || self.una <= cuts.until {
            return;
        }
        let oldest = self.loss_event(now, Detection::Duplicates, self.outstanding());
        let mark = MarkEvent::new(now, oldest.segment_size)
            .first(oldest.first)
            .sent(oldest.sent)
            .transmissions(oldest.transmissions)
            .in_flight(oldest.in_flight)
            .window(oldest.window)
            .rtt(oldest.rtt)
            .min_rtt(oldest.min_rtt);
        self.control.on_mark(&mark);
        self.note_cut(None);
        self.open_window();
    }

    /// Returns whether the current acknowledgement carries ECE, so that the window does not grow.
    pub(super) fn is_echoed(&self) -> bool {
        self.ecn.as_ref().is_some_and(|cuts| cuts.echoed)
    }

    /// Returns whether this segment was in flight when a mark cut the window.
    pub(super) fn was_cut_by_mark(&self, sequence: u64) -> bool {
        let cut = |cuts: &Cuts| sequence < cuts.by_mark;
        self.ecn.as_deref().is_some_and(cut)
    }

    /// Records a cut of the window. A loss that the scheme spares is none, so a mark of the same
    /// window still cuts. `detection` says how the loss was found; `None` means a mark.
    pub(super) fn note_cut(&mut self, detection: Option<Detection>) {
        let sent = self.max;
        if detection.is_some() && self.control.kept_window() {
            return;
        }
        if let Some(cuts) = &mut self.ecn {
            cuts.until = sent;
            cuts.owed = true;
            match detection {
                None => cuts.by_mark = sent,
                // A lost retransmission is evidence of more congestion.
                Some(Detection::Timeout) => cuts.by_mark = 0,
                _ => {}
            }
        }
    }

    /// Returns whether the segment that [`Sender::poll_transmit`] returned last is ECN-capable, and
    /// whether it carries CWR.
    pub fn marking(&mut self, segment: &Segment) -> (bool, bool) {
        let syn = self.handshaking && segment.sequence == 0;
        match &mut self.ecn {
            Some(cuts) if !segment.retransmission => (!syn, std::mem::take(&mut cuts.owed)),
            _ => (false, false),
        }
    }
}
