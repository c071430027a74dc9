//! Decodes the events that the BPF programs report, in the layout of `src/bpf/socket.h` and the
//! byte order of this machine.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use whyloss::Cause;

/// The size of an event, in bytes.
pub const EVENT: usize = 104;
/// The size of an event with addresses, in bytes.
pub const INTRODUCTION: usize = EVENT + 48;
/// The size of a socket's state, in bytes.
pub const STATE: usize = 256;

/// The kind of the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A socket appears for the first time in this watch.
    Socket,
    /// An acknowledgement arrived.
    Ack,
    /// The kernel requested the new threshold after a loss, and the program returned it.
    Asked(Detection),
    /// The state of the kernel's recovery changed.
    State,
    /// A reduction was undone, because no packet had been lost.
    Undo,
    /// The socket closed, or changed to another control.
    Closed,
}

/// The kernel's means of detecting a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Detection {
    /// Acknowledgements of later segments: a recovery begins.
    Duplicates,
    /// A tail loss probe filled the hole.
    Probe,
    /// The retransmission timer expired.
    Timeout,
    /// An ECN mark, or the host's own queue; no packet was lost.
    Mark,
}

/// The state of the kernel's recovery (`icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// No recovery is in progress.
    Open,
    /// No recovery yet, but a segment arrived out of order.
    Disorder,
    /// The window shrinks without a lost segment.
    Cwr,
    /// Lost segments are retransmitted.
    Recovery,
    /// Segments are retransmitted after a timeout.
    Loss,
}

/// One event of one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The socket's number, unique within its control.
    pub id: u64,
    /// The arrival time of the packet, or the expiry of the timer, in µs of the machine's monotonic
    /// clock.
    pub now_us: u64,
    /// The bandwidth estimate in sixteenths of a byte/s, after this event; 0 before the first.
    pub estimate: u64,
    /// The serial number of the event among the socket's events in this watch, including dropped
    /// ones.
    pub serial: u32,
    /// The kind of the event.
    pub kind: Kind,
    /// The verdict, if the event is an answer.
    pub cause: Cause,
    /// The state of the kernel's recovery.
    pub state: Recovery,
    /// The first sequence number that is not cumulatively acknowledged.
    pub una: u32,
    /// The first sequence number that was never sent.
    pub nxt: u32,
    /// The bytes that the acknowledgement acknowledges cumulatively.
    pub acked: u32,
    /// The round-trip time of the acknowledgement in µs, if it has one.
    pub rtt_us: Option<u32>,
    /// The lowest round-trip time that the program has measured, in µs.
    pub min_rtt_us: Option<u32>,
    /// The round-trip time that the program compares with `min_rtt_us`, in µs; 0 before the first
    /// sample.
    pub used_rtt_us: u32,
    /// The congestion window, in segments.
    pub cwnd: u32,
    /// The slow start threshold in segments; for an answer, the one that the program returned.
    pub ssthresh: u32,
    /// The number of segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// The number of those segments that have arrived.
    pub sacked_out: u32,
    /// The number of those segments that are known to be lost.
    pub lost_out: u32,
    /// The payload of a full segment, in bytes.
    pub mss: u32,
    /// The peer's latest timestamp, in its ticks; 0 for none.
    pub stamp: u32,
    /// Whether the program's predictor sees congestion.
    pub congested: bool,
    /// For [`Kind::Socket`], whether the watch has seen the connection from its first event.
    pub fresh: bool,
    /// For an answer, whether it is late: the kernel had reduced the window before, without running
    /// the program.
    pub late: bool,
    /// The trees' log-odds of congestion in thousandths, for the loss or for a loss found now.
    /// `None` during the warm-up, and for controls without trees.
    pub odds: Option<i32>,
    /// A digest of the evidence about the latest loss; if watched, of the signals now.
    pub digest: u32,
    /// The latest answer that used the odds.
    pub cut: Cut,
}

/// The window reduction that the odds of congestion led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// The share of the full reduction that was made, in thousandths.
    pub thousandths: u16,
    /// Whether no loss had cut the window before.
    pub first: bool,
}

/// The ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the other end.
    pub remote: SocketAddr,
    /// The inode number of the network namespace.
    pub namespace: u32,
}

/// The counters that a BPF program keeps for one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The number of acknowledgements.
    pub acks: u64,
    /// The number of losses called wireless.
    pub wireless: u32,
    /// The number of losses called congestion.
    pub congestion: u32,
    /// The number of losses of either cause that were detected by a timeout.
    pub timeouts: u32,
    /// The number of window reductions without a loss: at ECN marks, or when the host's own queue
    /// was full.
    pub marks: u32,
}

/// Reads one field after another.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *head
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    fn u8(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }
}

impl Event {
    /// Decodes an event, with its ends if it has them; `None` if the bytes are not an event.
    pub fn read(bytes: &[u8]) -> Option<(Self, Option<Ends>)> {
        if bytes.len() < EVENT {
            return None;
        }
        let (event, rest) = bytes.split_at(EVENT);
        let fields = &mut Fields(event);
        let (id, now_us, estimate, serial) =
            (fields.u64(), fields.u64(), fields.u64(), fields.u32());
        let [kind, detection, cause, state] = fields.take();
        let [una, nxt, acked, rtt, min_rtt] = std::array::from_fn(|_| fields.u32());
        let [used_rtt_us, cwnd, ssthresh, packets_out, sacked_out] =
            std::array::from_fn(|_| fields.u32());
        let [lost_out, mss, stamp] = std::array::from_fn(|_| fields.u32());
        let [congested, _ecn, fresh, late] = fields.take();
        let (odds, digest) = (fields.u32() as i32, fields.u32());
        let (cut, first) = (fields.u16(), fields.u8());
        let detection = match detection {
            0 => Detection::Duplicates,
            1 => Detection::Probe,
            2 => Detection::Timeout,
            3 => Detection::Mark,
            _ => return None,
        };
        let event = Self {
            id,
            now_us,
            estimate,
            serial,
            kind: match kind {
                0 => Kind::Socket,
                1 => Kind::Ack,
                2 => Kind::Asked(detection),
                3 => Kind::State,
                4 => Kind::Undo,
                5 => Kind::Closed,
                _ => return None,
            },
            cause: if cause == 0 {
                Cause::Congestion
            } else {
                Cause::Wireless
            },
            state: match state {
                0 => Recovery::Open,
                1 => Recovery::Disorder,
                2 => Recovery::Cwr,
                3 => Recovery::Recovery,
                4 => Recovery::Loss,
                _ => return None,
            },
            una,
            nxt,
            acked,
            rtt_us: (rtt as i32 > 0).then_some(rtt),
            min_rtt_us: (min_rtt != u32::MAX).then_some(min_rtt),
            used_rtt_us,
            cwnd,
            ssthresh,
            packets_out,
            sacked_out,
            lost_out,
            mss,
            stamp,
            congested: congested != 0,
            fresh: fresh != 0,
            late: late != 0,
            odds: (odds != i32::MIN).then_some(odds),
            digest,
            cut: Cut {
                thousandths: cut,
                first: first != 0,
            },
        };
        Some((event, Ends::read(rest)))
    }

    /// Returns V_P, the number of the window's segments that wait in queues; `None` before a
    /// round-trip time is known.
    pub fn backlog(&self) -> Option<f64> {
        let min = self.min_rtt_us?;
        let rtt = self.used_rtt_us;
        (rtt > 0)
            .then(|| f64::from(self.cwnd) * f64::from(rtt.saturating_sub(min)) / f64::from(rtt))
    }

    /// Returns the trees' log-odds of congestion, [`odds`](Self::odds) divided by 1000.
    pub fn log_odds(&self) -> Option<f64> {
        self.odds.map(|odds| f64::from(odds) / 1e3)
    }

    /// Returns the bandwidth estimate in Mbit/s, if there is one.
    pub fn estimate_mbps(&self) -> Option<f64> {
        (self.estimate > 0).then(|| self.estimate as f64 / 16.0 * 8e-6)
    }
}

impl Ends {
    fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < INTRODUCTION - EVENT {
            return None;
        }
        let fields = &mut Fields(bytes);
        let (local, remote): ([u8; 16], [u8; 16]) = (fields.take(), fields.take());
        let (local_port, remote_port) = (fields.u16(), fields.u16());
        let (family, _spare) = (fields.u16(), fields.u16());
        let namespace = fields.u32();
        let address = |bytes: [u8; 16]| match family {
            2 => {
                let [a, b, c, d, ..] = bytes;
                IpAddr::V4(Ipv4Addr::new(a, b, c, d))
            }
            _ => IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical(),
        };
        Some(Self {
            local: SocketAddr::new(address(local), local_port),
            remote: SocketAddr::new(address(remote), remote_port),
            namespace,
        })
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.local, self.remote)
    }
}

impl Detection {
    /// Returns the name of the signal, such as `later segments`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duplicates => "later segments",
            Self::Probe => "tail probe",
            Self::Timeout => "timeout",
            Self::Mark => "mark",
        }
    }
}

impl Counts {
    /// Decodes the counters from a state; `None` if the bytes are not a state.
    pub fn read(state: &[u8]) -> Option<Self> {
        if state.len() < STATE {
            return None;
        }
        let fields = &mut Fields(state);
        let (_id, acks) = (fields.u64(), fields.u64());
        let [_events, _session, _una, _ssthresh, wireless, congestion] =
            std::array::from_fn(|_| fields.u32());
        let (timeouts, marks) = (fields.u32(), fields.u32());
        let _state = fields.u8();
        Some(Self {
            acks,
            wireless,
            congestion,
            timeouts,
            marks,
        })
    }
}
