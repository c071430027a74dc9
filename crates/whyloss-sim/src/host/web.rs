//! Web traffic: a sequence of TCP connections, each with one transfer from source to sink.
//!
//! ```text
//! transfers    a Poisson process of `per_second` transfers per second
//! size         Pareto, in bytes of payload, rounded up to whole segments
//! connection   new for each transfer: initial window, no round-trip time, no state of the previous one
//! ```
//!
//! Web transfers are heavy-tailed, with a shape just above 1 (Crovella and Bestavros 1997). The
//! defaults, a mean of 12 packets of 1000 bytes and a shape of 1.2, are those of ns-2's example of
//! large-scale web traffic (Huang 1999; there for ns-2's ParetoII). tcp-eval uses ns-2's
//! PackMimeHTTP (Cao et al. 2004), where connections also come as a Poisson process. Its sizes are
//! measured, with a mean response of 2272 bytes.
//!
//! # Where it departs
//!
//! A flow has one connection at a time, so a transfer that arrives during another one waits. To
//! avoid waiting, spread the process over several flows. Requests and handshakes are not simulated:
//! a connection starts with its first data. Sequence numbers continue from one connection to the
//! next, so that one receiver serves all. An acknowledgement for an earlier connection is ignored,
//! as if it came to another port.

use whyloss::{Duration, Time};
use whyloss_link::Random;

use super::tcp;
use crate::observe::SourceState;

/// Describes the times and sizes of web transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfers {
    /// The mean number of transfers per second.
    pub per_second: f64,
    /// The mean size of a transfer, in bytes of payload.
    pub size: u64,
    /// The shape of the Pareto distribution of sizes, above 1.
    pub shape: f64,
}

impl Default for Transfers {
    fn default() -> Self {
        Self {
            per_second: 1.0,
            size: 12_000,
            shape: 1.2,
        }
    }
}

/// The sending end of a flow that carries web transfers.
#[derive(Debug)]
pub(crate) struct Web {
    transfers: Transfers,
    /// The bytes of data in a packet.
    payload: u32,
    options: tcp::Options,
    random: Random,
    /// The start of the next transfer.
    next: Time,
    /// The number of transfers that have been requested and not begun.
    waiting: u64,
    /// The connection, whose first segment is number `base` of the flow. Before the first transfer,
    /// it has nothing to send.
    sender: tcp::Sender,
    base: u64,
    began: Time,
    /// Whether the sink has all of the current transfer.
    arrived: bool,
}

impl Web {
    pub(crate) fn new(
        options: &tcp::Options,
        transfers: &Transfers,
        payload: u32,
        start: Time,
        random: Random,
    ) -> Self {
        let options = tcp::Options {
            handshake: false,
            segments: Some(0),
            ..*options
        };
        let mut web = Self {
            transfers: *transfers,
            payload,
            options,
            random,
            next: start,
            waiting: 0,
            sender: tcp::Sender::new(&options),
            base: 0,
            began: start,
            arrived: true,
        };
        web.next = start + web.gap();
        web
    }

    /// Returns when to wake the source.
    pub(crate) fn next_timeout(&self) -> Time {
        self.next.min(self.sender.next_timeout())
    }

    /// Handles an expired deadline of the source. Returns whether it was a retransmission timeout.
    pub(crate) fn wake(&mut self, now: Time) -> bool {
        while self.next <= now {
            self.waiting += 1;
            let gap = self.gap();
            self.next += gap;
        }
        super::expire(&mut self.sender, now)
    }

    /// Handles an acknowledgement that the receiver sent at `stamped`, with ECE or not.
    pub(crate) fn on_ack(&mut self, now: Time, ack: &tcp::Ack, stamped: Time, echoes: bool) {
        if let Some(next) = ack.next.checked_sub(self.base)
            && ack.echo >= self.began
        {
            let ack = tcp::Ack { next, ..*ack };
            if echoes {
                self.sender.on_echo(now, &ack, stamped);
            } else {
                self.sender.on_ack(now, &ack, stamped);
            }
        }
    }

    /// Returns the next segment that may leave at `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<tcp::Segment> {
        if self.waiting > 0 && self.sender.acknowledged() == self.segments() {
            self.begin(now);
        }
        let segment = self.sender.poll_transmit(now)?;
        let sequence = self.base + segment.sequence;
        Some(tcp::Segment {
            sequence,
            ..segment
        })
    }

    /// Returns whether the segment of the last poll is ECN-capable and whether it carries CWR.
    pub(crate) fn marking(&mut self, segment: &tcp::Segment) -> (bool, bool) {
        self.sender.marking(segment)
    }

    /// Returns the state of the congestion control of the current transfer.
    pub(crate) fn state(&self) -> SourceState {
        self.sender.state()
    }

    /// Records that the sink has all segments before `next`. Returns the start time of the transfer
    /// that this completes, if any.
    pub(crate) fn completed(&mut self, next: u64) -> Option<Time> {
        let completes = !self.arrived && next >= self.base + self.segments();
        self.arrived |= completes;
        completes.then_some(self.began)
    }

    /// Returns when the current transfer began; `None` if the sink has all of it.
    pub(crate) fn unfinished(&self) -> Option<Time> {
        (!self.arrived).then_some(self.began)
    }

    /// Returns the number of segments of the current transfer.
    pub(crate) fn segments(&self) -> u64 {
        self.options.segments.unwrap_or(0)
    }

    /// Opens a connection for the next transfer.
    fn begin(&mut self, now: Time) {
        let Transfers { size, shape, .. } = self.transfers;
        let bytes = self.random.pareto(size as f64, shape);
        let segments = libm::ceil(bytes / f64::from(self.payload.max(1)));
        self.waiting -= 1;
        self.base += self.segments();
        self.began = now;
        self.arrived = false;
        // Transfers of the largest size still end far below the largest sequence number.
        self.options.segments = Some((segments as u64).clamp(1, LARGEST));
        self.sender = tcp::Sender::new(&self.options);
    }

    /// Draws the time from one transfer to the next.
    fn gap(&mut self) -> Duration {
        Duration::from_secs_f64(self.random.exponential(1.0 / self.transfers.per_second))
    }
}

/// The maximum number of segments of a transfer.
const LARGEST: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss_link::Streams;

    const RTT: Duration = Duration::from_millis(10);

    fn options() -> tcp::Options {
        tcp::Options {
            recovery: tcp::Recovery::NewReno,
            delayed_ack: None,
            ..tcp::Options::rfc(1_000)
        }
    }

    fn web(per_second: f64) -> Web {
        let transfers = Transfers {
            per_second,
            ..Transfers::default()
        };
        let random = Streams::new(7).stream("web", 0);
        Web::new(&options(), &transfers, 1_000, Time::ZERO, random)
    }

    /// Runs over a path that delivers immediately and acknowledges after `RTT`. Returns the
    /// segments sent, with their times.
    fn run(mut web: Web, end: Time) -> (Vec<(Time, tcp::Segment)>, Web) {
        let mut receiver = tcp::Receiver::new(&options());
        let (mut sent, mut acks) = (Vec::new(), std::collections::VecDeque::new());
        loop {
            let ack_due = acks.front().map_or(Time::MAX, |&(due, _)| due);
            let now = ack_due.min(web.next_timeout());
            if now > end {
                return (sent, web);
            }
            if ack_due == now {
                let (_, ack) = acks.pop_front().expect("due");
                web.on_ack(now, &ack, now - RTT, false);
            } else {
                web.wake(now);
            }
            while let Some(segment) = web.poll(now) {
                sent.push((now, segment));
                let ack = receiver.on_segment(now, &segment);
                acks.extend(ack.map(|ack| (now + RTT, ack)));
            }
        }
    }

    fn seconds(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    #[test]
    fn sequence_numbers_go_on_and_nothing_is_repeated() {
        let (sent, web) = run(web(1.0), seconds(2_000.0));
        for (index, (_, segment)) in sent.iter().enumerate() {
            assert_eq!(segment.sequence, index as u64);
        }
        // With a shape of 1.2, the mean of 12 segments converges slowly, but half are below
        // 12·(1/6)·2^(1/1.2) = 3.6.
        assert!(web.base > 2_000 * 4, "{}", web.base);
    }

    #[test]
    fn every_connection_starts_slowly() {
        // A transfer a minute: none waits for another. The initial window is four segments.
        let (sent, _) = run(web(1.0 / 60.0), seconds(60_000.0));
        let mut begun = 0;
        let mut last = Time::ZERO;
        for window in sent.chunk_by(|a, b| a.0 == b.0) {
            let now = window[0].0;
            if now - last > Duration::from_secs(1) {
                begun += 1;
                assert!(window.len() <= 4, "{} at {now}", window.len());
            }
            last = now;
        }
        assert!((900..1_100).contains(&begun), "{begun}");
    }

    #[test]
    fn transfers_wait_for_one_another() {
        // A thousand transfers per second arrive on a path on which the smallest takes 10 ms.
        let (sent, web) = run(web(1_000.0), seconds(10.0));
        assert!(
            web.waiting > 8_000 && web.waiting < 10_500,
            "{}",
            web.waiting
        );
        assert!(sent.len() > 1_000);
    }

    #[test]
    fn acknowledgements_of_an_earlier_connection_are_ignored() {
        let mut web = web(1_000.0);
        let mut now = seconds(1.0);
        web.wake(now);
        let ack = |next, echo| tcp::Ack {
            next,
            echo,
            ..tcp::Ack::default()
        };
        // The first transfer, a window at a time.
        let mut sent = 0;
        while sent == 0 || sent < web.segments() {
            while web.poll(now).is_some() {
                sent += 1;
            }
            now += RTT;
            web.on_ack(now, &ack(sent, now - RTT), now, false);
        }
        assert_eq!((web.base, web.segments()), (0, sent));
        // The second connection continues the numbers of the first, and does not count its last
        // acknowledgement as a duplicate.
        assert_eq!(web.poll(now).map(|segment| segment.sequence), Some(sent));
        for _ in 0..3 {
            web.on_ack(now + RTT, &ack(sent, now - RTT), now, false);
        }
        assert_eq!(web.sender.fast_recoveries(), 0);
        for _ in 0..3 {
            web.on_ack(now + RTT, &ack(sent, now), now, false);
        }
        assert_eq!(web.sender.fast_recoveries(), 1);
        web.on_ack(now + RTT, &ack(sent - 1, now), now, false);
        assert_eq!(web.sender.acknowledged(), 0);
    }
}
