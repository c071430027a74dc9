//! Explicit congestion notification (RFC 3168): the ECN field of a packet's IP header.
//!
//! A queue with `ecn` marks an ECN-capable packet instead of dropping it *early*. A packet that
//! finds no room is always dropped. The file of each discipline says when it marks and when it
//! still drops:
//!
//! | discipline | marks |
//! |---|---|
//! | RED | while the mean queue is below `max` (RFC 3168 §7, §19.1; ns-2); above, it drops, gentle or not |
//! | PIE | while p < 0.1 (RFC 8033 §5.1) |
//! | CoDel, FQ-CoDel | instead of every drop as packets leave (RFC 8290 §4.1), but not of drops that make room |

/// The ECN field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not-ECT: the sender does not react to marks.
    #[default]
    NotCapable,
    /// ECT: a queue may mark the packet instead of dropping it.
    Capable,
    /// CE: a queue marked the packet. A second mark has no effect.
    Marked,
}

impl Ecn {
    /// Returns whether a queue may mark the packet instead of dropping it.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }

    /// Returns whether a queue marked the packet.
    #[inline]
    pub const fn is_marked(self) -> bool {
        matches!(self, Self::Marked)
    }
}
