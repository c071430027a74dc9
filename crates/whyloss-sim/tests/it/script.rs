//! Runs a sender under a script: given these acknowledgements at these times, these segments leave.

use std::ops::Range;

use whyloss::{Duration, Time};
use whyloss_sim::host::tcp::{Ack, Options, Recovery, SackBlocks, Sender};

/// The bytes of a segment.
pub(crate) const MSS: u32 = 1000;

/// A sender, and the time of its last acknowledgement.
pub(crate) struct Script {
    pub(crate) sender: Sender,
    last: u64,
}

/// Returns the options of most scripts.
pub(crate) fn options(recovery: Recovery) -> Options {
    Options {
        recovery,
        initial_window: 10,
        limited_transmit: false,
        ..Options::rfc(MSS)
    }
}

pub(crate) fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

impl Script {
    pub(crate) fn new(options: &Options) -> Self {
        Self::of(Sender::new(options))
    }

    pub(crate) fn of(sender: Sender) -> Self {
        Self { sender, last: 0 }
    }

    /// Returns a sender whose first window of ten segments has left at 0 ms.
    pub(crate) fn after_ten(options: &Options) -> Self {
        let mut script = Self::new(options);
        assert!(script.leave(0).into_iter().eq(0..10));
        script
    }

    /// Returns the departures at `at`.
    pub(crate) fn leave(&mut self, at: u64) -> Vec<u64> {
        std::iter::from_fn(|| self.sender.poll_transmit(ms(at)))
            .map(|segment| segment.sequence)
            .collect()
    }

    /// Returns the departures after an acknowledgement at `at`, which answers a segment sent 100 ms
    /// before.
    pub(crate) fn ack(&mut self, at: u64, next: u64) -> Vec<u64> {
        self.sack(at, next, &[])
    }

    pub(crate) fn sack(&mut self, at: u64, next: u64, blocks: &[Range<u64>]) -> Vec<u64> {
        assert!(at >= self.last, "scripts go forward");
        self.last = at;
        let ack = Ack {
            next,
            echo: ms(at.saturating_sub(100)),
            sack: SackBlocks::new(next, blocks.iter().cloned()),
        };
        self.sender.on_ack(ms(at), &ack, ms(at));
        self.leave(at)
    }

    /// Returns the departures when the retransmission timer, due at `at`, expires.
    pub(crate) fn timeout(&mut self, at: u64) -> Vec<u64> {
        assert_eq!(self.sender.next_timeout(), ms(at));
        self.sender.on_timeout(ms(at) - Duration::from_nanos(1));
        assert_eq!(self.leave(at), [], "nothing leaves before");
        self.sender.on_timeout(ms(at));
        self.leave(at)
    }

    /// Returns cwnd and ssthresh, in bytes.
    pub(crate) fn windows(&self) -> (u64, u64) {
        (self.sender.cwnd(), self.sender.ssthresh())
    }
}
