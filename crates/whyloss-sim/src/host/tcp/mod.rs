//! TCP as two sans-I/O state machines: a [`Sender`] with an endless (or bounded) supply of full
//! segments, and a [`Receiver`] that acknowledges them.
//!
//! # Contract
//!
//! Every event carries the time. After [`Sender::on_ack`] or [`Sender::on_timeout`], and once at
//! the start, call [`Sender::poll_transmit`] until it returns `None`. Every segment that it returns
//! counts as sent. [`Receiver::on_segment`] and [`Receiver::on_timeout`] return an acknowledgement
//! to send immediately, if there is one. Timers are deadlines: call `on_timeout` when
//! [`Sender::next_timeout`] or [`Receiver::next_timeout`] has come. A call that comes too early
//! does nothing. An event queue may therefore hold one early entry per flow and postpone it when it
//! fires.
//!
//! Sequence numbers count whole segments from 0. Segments and acknowledgements may arrive in any
//! order. Acknowledgements that no honest receiver would send are ignored. With a pacing rate,
//! [`Sender::poll_transmit`] may return `None` although the window is open;
//! [`Sender::next_timeout`] then says when to poll again.
//!
//! # Where ns-2 departs from the RFCs
//!
//! The RFCs are the default. [`Dialect::Ns2`] follows ns-2 2.35 (`tcp.cc`, `tcp-reno.cc`,
//! `tcp-newreno.cc`, `tcp-sack1.cc`) with its defaults; [`Options::ns2`] sets it together with
//! ns-2's timers and windows.
//!
//! | | [`Dialect::Rfc`] | [`Dialect::Ns2`] |
//! |---|---|---|
//! | Reno: third duplicate while an earlier window's losses are repaired | another fast retransmit (RFC 5681) | ignored until everything sent before that loss is acknowledged (`bugFix_`) |
//! | NewReno: new segments per duplicate in a recovery | what the window allows | at most two |
//! | window after a recovery | Reno: ssthresh; NewReno: min(ssthresh, max(FlightSize, SMSS) + SMSS); no growth | what partial acknowledgements left of it; Reno and NewReno grow by the acknowledgement that ends it |
//! | SACK: a recovery begins | at the third duplicate with news, or when three segments above the first hole are sacked | at the third duplicate with news |
//! | SACK: pipe | computed from the scoreboard (RFC 6675 SetPipe) | counted: −1 per acknowledgement, −2 per partial one, +1 per segment |
//! | SACK: a hole counts as lost | when three segments above it are sacked; others only if there is nothing new to send | when any segment above it is sacked |
//! | SACK: rescue retransmission | yes (RFC 6675 NextSeg rule 4) | no |
//! | SACK: after a timeout | the scoreboard stays and sacked segments are not sent again | the scoreboard is emptied; duplicates are ignored until new data is acknowledged |
//! | Vegas: inflation by up to three duplicates | ends with the recovery | stays in the window |
//! | Vegas: a loss that does not cut the window | inflates it like any other | inflates it from the fourth duplicate |
//! | Vegas: the retransmission timer at a loss | restarts | backs off and restarts |
//! | Vegas: duplicates of segments sent before a timeout | do nothing | inflate the window from the fourth |
//! | Vegas: acknowledgements still to be checked after a retransmission | forgotten at a timeout | not forgotten |
//! | Vegas: nothing is in flight at the first or second acknowledgement after a retransmission | no effect | the next new segment leaves twice |
//! | Vegas: a handshake | one segment goes alone | two do |
//! | receiver: another copy of the last segment delivered | acknowledged immediately | its acknowledgement may be delayed |
//!
//! With a controller that needs delivery rates (BBR, Copa, SCReAM), segments are paced, and a
//! retransmission that three later segments have overtaken is repeated: see
//! `sender/metered_pacer.rs`.
//!
//! Neither dialect detects a spurious timeout: F-RTO (RFC 5682) and Eifel (RFC 3522) are not
//! implemented. Only [`Recovery::Rack`] has D-SACK (RFC 2883); it has no dialects. The table of
//! rules and scripts is `crates/whyloss-sim/tests/it/recovery/README.md`.
//!
//! [`Decrease::Window`](whyloss::congestion::Decrease) describes how ns-2's window arithmetic
//! differs.

mod ranges;
mod receiver;
mod sender;

pub use super::judge::Judgement;
pub use receiver::Receiver;
pub use sender::Sender;
pub use whyloss::rto::RtoOptions;

use std::ops::Range;

use whyloss::congestion::{
    ControllerKind, ControllerSpec, Decrease, Growth, VegasDialect, WirelessPolicy,
};
use whyloss::{Duration, Time};

/// The size of IPv4 and TCP headers without options, in bytes.
pub(crate) const HEADERS: u32 = 40;

/// Returns the bytes of data in a packet of this size, at least one. A segment may
/// [count for](Options::segment_size) another number.
pub(crate) fn payload(packet: u32) -> u32 {
    packet.saturating_sub(HEADERS).max(1)
}

/// A data segment, as the sender sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The segment's number, from 0.
    pub sequence: u64,
    /// The time of sending, on the sender's clock.
    pub stamp: Time,
    /// Whether the segment was sent before.
    pub retransmission: bool,
}

/// An acknowledgement, as the receiver sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next segment expected; all segments before it have arrived.
    pub next: u64,
    /// The timestamp of the segment that [`Echo`] selects.
    pub echo: Time,
    /// The segments that have arrived beyond `next`.
    pub sack: SackBlocks,
}

impl Ack {
    /// Returns the blocks of the option in their order. The first is the most recent one (RFC 2018
    /// §4), or the [duplicate](Self::duplicate).
    pub fn sacked(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.sack.0.iter().map_while(|&(offset, len)| {
            let below = u64::from(offset) & BELOW;
            let start = self.next.saturating_add(u64::from(offset) & !BELOW);
            let start = start.saturating_sub(below);
            (len > 0).then(|| start..start.saturating_add(u64::from(len)))
        })
    }

    /// Returns the D-SACK block, which reports segments that had already arrived (RFC 2883 §4). It
    /// comes first, below `next` or within the second block.
    pub fn duplicate(&self) -> Option<Range<u64>> {
        let mut blocks = self.sacked();
        let first = blocks.next()?;
        let within = |block: Range<u64>| block.start <= first.start && first.end <= block.end;
        (first.start < self.next || blocks.next().is_some_and(within)).then_some(first)
    }
}

/// The bit that marks a negative offset from [`Ack::next`], in two's complement; no window is so
/// large.
const BELOW: u64 = 1 << 31;

/// Up to three SACK blocks (RFC 2018), the most recent first. A timestamp leaves no room for a
/// fourth. Each block is stored as an offset from [`Ack::next`] and a length; [`Ack::sacked`] reads
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks([(u32, u32); 3]);

impl SackBlocks {
    /// The value without any SACK block.
    pub const NONE: Self = Self([(0, 0); 3]);

    /// Returns the first three of `ranges` that are beyond `next`, without empty and
    /// unrepresentable ranges.
    pub fn new(next: u64, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let mut blocks = Self::NONE;
        let fitting = ranges.into_iter().filter_map(|range| {
            let offset = u32::try_from(range.start.checked_sub(next)?).ok()?;
            let len = u32::try_from(range.end.checked_sub(range.start)?).ok()?;
            (len > 0 && u64::from(offset) < BELOW).then_some((offset, len))
        });
        for (slot, block) in blocks.0.iter_mut().zip(fitting) {
            *slot = block;
        }
        blocks
    }

    /// Returns these blocks after a D-SACK block, which reports that segment `sequence` arrived
    /// twice (RFC 2883 §4). Drops the third block.
    #[must_use]
    pub fn with_duplicate(self, next: u64, sequence: u64) -> Self {
        match i32::try_from(i128::from(sequence) - i128::from(next)) {
            Ok(offset) => Self([(offset as u32, 1), self.0[0], self.0[1]]),
            Err(_) => self,
        }
    }

    /// Returns whether there is no block.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0[0].1 == 0
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.0.iter().take_while(|block| block.1 > 0).count()
    }
}

/// Names how losses are found and repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Fast retransmit and fast recovery (RFC 5681 §3.2): the first new acknowledgement ends a
    /// recovery.
    Reno,
    /// NewReno (RFC 6582): partial acknowledgements each repair one more loss.
    NewReno,
    /// Selective acknowledgements and the pipe algorithm (RFC 6675).
    #[default]
    Sack,
    /// Fast retransmit alone, as in UCLA's Westwood module for ns-2. Every third duplicate
    /// retransmits and counts as a loss, even while an earlier window is repaired. The window is
    /// not inflated, and the next new acknowledgement grows it.
    FastRetransmit,
    /// The recovery of Vegas: a loss is found by the third duplicate, or by a fine-grained timeout
    /// if the controller has one (Brakmo & Peterson 1995).
    Vegas,
    /// RACK-TLP (RFC 8985), as in current kernels: finds losses by departure times, and probes for
    /// lost tails. Proportional rate reduction cuts the window (RFC 9937). The receiver reports
    /// duplicate segments (RFC 2883).
    Rack,
}

/// Selects the TCP whose details apply. The [module](self) has a table of the differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Follows the RFCs.
    #[default]
    Rfc,
    /// Follows ns-2 2.35 with its defaults.
    Ns2,
}

/// Selects the round trips that are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RttSampling {
    /// One new segment at a time is timed. The measurement is dropped if the segment may have been
    /// retransmitted (Karn's rule).
    OncePerWindow,
    /// Every acknowledgement of new data measures one, by the stamp it echoes (RFC 7323).
    #[default]
    EveryAck,
}

/// The segment whose timestamp an acknowledgement echoes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Echo {
    /// The earliest segment not acknowledged yet (RFC 7323 §4.3), so that a round trip includes the
    /// receiver's delay of acknowledgements.
    #[default]
    Earliest,
    /// The segment that arrived last, as in ns-2 with `ts_echo_bugfix_ false`. It was the default
    /// of ns-2 in 2004; ns-2.35 has `true`.
    Latest,
}

/// The settings of a TCP connection in a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// SMSS, the bytes that a segment counts for in the window. ns-2 counts segments, so there this
    /// is only a unit.
    pub segment_size: u32,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// The TCP whose details apply.
    pub dialect: Dialect,
    /// The congestion controller and its policy.
    pub controller: ControllerSpec,
    /// The unit of congestion avoidance.
    pub growth: Growth,
    /// The initial window IW, in segments.
    pub initial_window: u32,
    /// The initial slow start threshold in segments. `None` means slow start until the first loss.
    pub initial_ssthresh: Option<u32>,
    /// The receiver's window in segments.
    pub receive_window: u32,
    /// The number of segments to send; `None` for no end.
    pub segments: Option<u64>,
    /// Whether segment 0 represents the connection's SYN (ns-2's `syn_` and `delay_growth_`).
    /// Nothing else is sent until it is acknowledged. Its acknowledgement is not delayed and does
    /// not open the window.
    pub handshake: bool,
    /// Whether the first two duplicates each release a new segment (RFC 3042; ns-2's `singledup_`).
    pub limited_transmit: bool,
    /// The round trips that are measured.
    pub rtt_sampling: RttSampling,
    /// The tick of the clock that measures round trips, at most 1 s (RFC 7323 §5.4). A round trip
    /// is a whole number of ticks, at least one. Coarse timestamps tick every 1 ms or 10 ms.
    pub rtt_tick: Duration,
    /// The segment whose timestamp an acknowledgement echoes.
    pub echo: Echo,
    /// The tick of the receiver's timestamp clock, 1 ms to 1 s (RFC 7323 §5.4). From its stamps,
    /// controllers compute when acknowledgements left. `None` if acknowledgements carry no stamp of
    /// the receiver.
    pub timestamp_tick: Option<Duration>,
    /// The options of the retransmission timer.
    pub rto: RtoOptions,
    /// The time that the acknowledgement of a lone segment waits for a second segment. `None`
    /// acknowledges every segment.
    pub delayed_ack: Option<Duration>,
    /// The maximum number of segments in order that one delayed acknowledgement answers. Above two,
    /// these are the stretch acknowledgements of offloading, which RFC 5681 §4.2 forbids.
    pub ack_every: u8,
    /// Whether new segments are ECN-capable, and marks are echoed and answered (RFC 3168).
    pub ecn: bool,
}

impl Default for Options {
    /// [`Options::rfc`] with segments of 1460 bytes.
    fn default() -> Self {
        Self::rfc(1460)
    }
}

impl Options {
    /// Returns TCP as in the RFCs: SACK, limited transmit, timestamps and the initial window of
    /// RFC 5681 §3.1. Acknowledgements wait up to 100 ms; RFC 9293 §3.8.6.3 allows 500 ms. The
    /// receiver's window never limits.
    pub fn rfc(segment_size: u32) -> Self {
        Self {
            segment_size,
            recovery: Recovery::Sack,
            dialect: Dialect::Rfc,
            controller: ControllerSpec::default(),
            growth: Growth::PerByte,
            initial_window: match segment_size {
                0..=1095 => 4,
                1096..=2190 => 3,
                _ => 2,
            },
            initial_ssthresh: None,
            receive_window: 1 << 20,
            segments: None,
            handshake: false,
            limited_transmit: true,
            rtt_sampling: RttSampling::EveryAck,
            rtt_tick: Duration::from_nanos(1),
            echo: Echo::Earliest,
            timestamp_tick: Some(Duration::from_millis(1)),
            rto: RtoOptions::default(),
            delayed_ack: Some(Duration::from_millis(100)),
            ack_every: 2,
            ecn: false,
        }
    }

    /// Returns `Agent/TCP/Reno`, `Newreno`, `Sack1` or `Vegas` of ns-2 2.35 with a `DelAck` sink
    /// and a `window_` of `window` segments. For a plain sink, set `delayed_ack: None`.
    pub fn ns2(recovery: Recovery, segment_size: u32, window: u32) -> Self {
        let vegas = recovery == Recovery::Vegas;
        Self {
            recovery,
            dialect: Dialect::Ns2,
            controller: ControllerSpec {
                kind: if vegas {
                    ControllerKind::Vegas(VegasDialect::Ns2)
                } else {
                    ControllerKind::Reno(Decrease::Window)
                },
                wireless: WirelessPolicy::default(),
            },
            growth: Growth::PerAck,
            initial_window: 2,
            initial_ssthresh: Some(window),
            receive_window: window,
            handshake: true,
            limited_transmit: !vegas,
            rtt_sampling: RttSampling::OncePerWindow,
            // Exact, like all timestamps in ns-2.
            timestamp_tick: Some(Duration::from_nanos(1)),
            rto: RtoOptions::ns2(),
            ..Self::rfc(segment_size)
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "lists of one range are meant"
)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_order() {
        let sack = SackBlocks::new(10, [20..25, 12..13, 30..31, 40..41]);
        let ack = Ack {
            next: 10,
            echo: Time::ZERO,
            sack,
        };
        assert_eq!(ack.sacked().collect::<Vec<_>>(), [20..25, 12..13, 30..31]);
        assert_eq!((sack.len(), sack.is_empty()), (3, false));
    }

    #[test]
    fn duplicates_come_first() {
        let ack = |next, sequence, blocks: &[Range<u64>]| Ack {
            next,
            echo: Time::ZERO,
            sack: SackBlocks::new(next, blocks.iter().cloned()).with_duplicate(next, sequence),
        };
        // The duplicate is below the next expected segment, then within a block beyond it.
        let below = ack(10, 7, &[20..25, 12..13, 30..31]);
        assert_eq!(below.sacked().collect::<Vec<_>>(), [7..8, 20..25, 12..13]);
        assert_eq!(below.duplicate(), Some(7..8));
        let beyond = ack(10, 22, &[20..25]);
        assert_eq!(beyond.duplicate(), Some(22..23));
        let none = ack(u64::MAX, 3, &[]);
        assert_eq!((none.duplicate(), none.sack), (None, SackBlocks::NONE));
        let sack = SackBlocks::new(10, [20..25, 12..13]);
        assert_eq!(Ack { sack, ..below }.duplicate(), None);
    }

    #[test]
    fn impossible_blocks_are_left_out() {
        let reversed = Range { start: 30, end: 20 };
        let sack = SackBlocks::new(10, [5..8, 12..12, reversed, 1 << 40..1 << 41, 11..12]);
        assert_eq!(sack, SackBlocks::new(10, [11..12]));
        assert!(SackBlocks::new(0, []).is_empty());
    }

    #[test]
    fn packets_are_small() {
        assert_eq!(size_of::<Segment>(), 24);
        assert_eq!(size_of::<Ack>(), 40);
    }

    /// Ten thousand ends must fit into a cache, so their sizes are bounded. The sender contains its
    /// judge.
    #[test]
    fn ends_are_small() {
        assert!(size_of::<Sender>() <= 352, "{}", size_of::<Sender>());
        assert!(size_of::<Receiver>() <= 80, "{}", size_of::<Receiver>());
    }
}
