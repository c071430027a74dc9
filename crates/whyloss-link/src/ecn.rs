//! Explicit congestion notification (RFC 3168): what a packet's IP header says of it.
//!
//! A queue with `ecn` marks an ECN-capable packet where it would have dropped it *early*, and lets it in or out; a packet that
//! finds no room is dropped whatever it says. Each discipline's file says where it marks, and from where on it drops all the same:
//!
//! | discipline | marks |
//! |---|---|
//! | RED | while the mean queue is below `max` (RFC 3168 §7, §19.1; ns-2): beyond, gentle or not, it drops |
//! | PIE | while p < 0.1 (RFC 8033 §5.1) |
//! | CoDel, FQ-CoDel | instead of every drop as packets leave (RFC 8290 §4.1); not instead of what makes room |

/// The ECN field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not-ECT: whoever sent it would not hear of a mark.
    #[default]
    NotCapable,
    /// ECT: a queue may mark it.
    Capable,
    /// CE: a queue did. Another may mark it again, which changes nothing.
    Marked,
}

impl Ecn {
    /// Whether a queue may mark the packet instead of dropping it.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }

    /// Whether some queue marked it.
    #[inline]
    pub const fn is_marked(self) -> bool {
        matches!(self, Self::Marked)
    }
}
