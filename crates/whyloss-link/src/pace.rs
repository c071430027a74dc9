//! The pace at which bits leave a link: a fixed rate, the opportunities of a trace, or a Markov
//! chain.

use whyloss::{Duration, Rate, Time};

use crate::link::LinkSpec;
use crate::markov::RateProcess;
use crate::random::Streams;
use crate::traced::Replay;

/// The pace at which one link sends.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// The fixed rate, or the mean of a rate that varies.
    rate: Rate,
    /// The last size sent and its transmission time, kept because most packets have the same size.
    last: (u32, Duration),
    varies: Option<Box<Varying>>,
}

#[derive(Clone, Debug)]
enum Varying {
    Traced(Replay),
    Drawn(RateProcess),
}

impl Pace {
    /// Returns the pace of link number `index`; a Markov chain draws from a separate stream.
    pub(crate) fn new(spec: &LinkSpec, streams: Streams, index: u64) -> Self {
        if let Some(trace) = &spec.trace {
            return Self {
                varies: Some(Box::new(Varying::Traced(Replay::new(trace)))),
                ..Self::fixed(trace.rate())
            };
        }
        let law = spec.rates.as_ref();
        let law = law.map(|rates| RateProcess::new(rates, streams.stream("rate", index)));
        Self {
            varies: law.map(|law| Box::new(Varying::Drawn(law))),
            ..Self::fixed(spec.rate)
        }
    }

    /// Returns a pace that does not vary.
    pub(crate) fn fixed(rate: Rate) -> Self {
        Self {
            rate,
            last: (0, rate.transmission_time(0)),
            varies: None,
        }
    }

    /// Returns the rate, or the mean of one that varies.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns whether the transmission time of `size` bytes is known, that is, `size` is the last
    /// size.
    #[inline]
    pub(crate) fn knows(&self, size: u32) -> bool {
        self.last.0 == size
    }

    /// Computes and keeps the transmission time of packets of `size` bytes.
    #[inline]
    pub(crate) fn look_up(&mut self, size: u32) {
        self.last = (size, self.rate.transmission_time(size));
    }

    /// Returns the transmission time of a packet of the last size.
    #[inline]
    pub(crate) fn transmission(&self) -> Duration {
        self.last.1
    }

    /// Returns whether packets leave at opportunities.
    pub(crate) fn is_traced(&self) -> bool {
        matches!(self.varies.as_deref(), Some(Varying::Traced(_)))
    }

    /// Returns the first time, not before `free`, at which a packet may begin: with a trace, that of
    /// an opportunity.
    #[inline]
    pub(crate) fn ready(&self, free: Time) -> Time {
        match self.varies.as_deref() {
            Some(Varying::Traced(replay)) => replay.ready(free),
            _ => free,
        }
    }

    /// Sends a packet of `size` bytes that may begin at `free`. Returns the departure times of its
    /// first and last bit. Times must not decrease.
    #[inline]
    pub(crate) fn send(&mut self, free: Time, size: u32) -> (Time, Time) {
        match self.varies.as_deref_mut() {
            None => {
                if !self.knows(size) {
                    self.look_up(size);
                }
                (free, free.later(self.transmission()))
            }
            Some(Varying::Drawn(law)) => (free, law.departure(free, size)),
            Some(Varying::Traced(replay)) => replay.send(free, size),
        }
    }

    /// Returns how long `bytes` bytes take at the rate.
    pub(crate) fn span(&self, bytes: u64) -> Duration {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        let nanos = bits / u128::from(self.rate.as_bps()).max(1);
        Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}
