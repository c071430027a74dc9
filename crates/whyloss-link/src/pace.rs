//! How fast bits leave a link: at a fixed rate, at the opportunities of a trace, or by a law.

use whyloss::{Duration, Rate, Time};

use crate::link::LinkSpec;
use crate::markov::RateProcess;
use crate::random::Streams;
use crate::traced::Replay;

/// The pace of one link.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// The rate, or the mean of one that varies.
    rate: Rate,
    /// The size sent last and its transmission time: most packets are of one size.
    last: (u32, Duration),
    varies: Option<Box<Varying>>,
}

#[derive(Clone, Debug)]
enum Varying {
    Traced(Replay),
    Drawn(RateProcess),
}

impl Pace {
    /// The pace of link number `index`; a law draws from a stream of its own.
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

    /// A pace that does not vary.
    pub(crate) fn fixed(rate: Rate) -> Self {
        Self {
            rate,
            last: (0, rate.transmission_time(0)),
            varies: None,
        }
    }

    /// The rate, or the mean of one that varies.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// Whether packets of `size` bytes were asked for last.
    #[inline]
    pub(crate) fn knows(&self, size: u32) -> bool {
        self.last.0 == size
    }

    /// Asks for packets of `size` bytes.
    #[inline]
    pub(crate) fn look_up(&mut self, size: u32) {
        self.last = (size, self.rate.transmission_time(size));
    }

    /// Returns the transmission time at the rate of a packet of the size asked for last.
    #[inline]
    pub(crate) fn transmission(&self) -> Duration {
        self.last.1
    }

    /// Whether packets leave at opportunities.
    pub(crate) fn is_traced(&self) -> bool {
        matches!(self.varies.as_deref(), Some(Varying::Traced(_)))
    }

    /// Sends a packet of `size` bytes that may begin at `free`. Returns when its first bit leaves
    /// and when its last one has left. Times never decrease.
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

    /// How long `bytes` bytes take at the rate.
    pub(crate) fn span(&self, bytes: u64) -> Duration {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        let nanos = bits / u128::from(self.rate.as_bps()).max(1);
        Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}
