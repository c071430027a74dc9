//! Jitter: a random extra delay, drawn for each packet.
//!
//! ```text
//! distribution of the extra delay J, mean m (s)   variance
//! uniform       between 0 and 2m                  m²/3
//! exponential                                     m²
//! Pareto        shape a, minimum m·(a − 1)/a      m²/(a·(a − 2)) if a > 2; else infinite
//!
//! in order      a packet waits at the far end, so that jitter reorders no packets
//! out of order  packets do not wait; of two that depart T apart, the second arrives first with
//!               probability P(J₁ − J₂ > T): ½·e^(−T/m) for exponential J, and (1 − T/2m)²/2 for
//!               uniform J (T < 2m)
//! ```
//!
//! An extra delay is never longer than an hour.

use whyloss::Duration;

use crate::random::Random;

/// The longest extra delay, in seconds.
const LONGEST: f64 = 3_600.0;

/// Names the distribution of the extra delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JitterLaw {
    /// The extra delay is uniform between 0 and twice the mean.
    Uniform,
    /// The extra delay is exponential with the given mean.
    Exponential,
    /// The extra delay has a Pareto distribution with this shape, which is above 1.
    Pareto(f64),
}

/// Describes a link whose delay varies from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JitterSpec {
    /// The distribution of the extra delays.
    pub law: JitterLaw,
    /// The mean of the extra delays.
    pub mean: Duration,
    /// Whether packets wait at the far end for those that the jitter has delayed more.
    pub in_order: bool,
}

/// The state of a link's jitter.
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    pub(crate) spec: JitterSpec,
    random: Random,
}

impl Jitter {
    pub(crate) fn new(spec: JitterSpec, random: Random) -> Self {
        Self { spec, random }
    }

    /// Returns the extra delay of the next packet.
    pub(crate) fn draw(&mut self) -> Duration {
        let mean = self.spec.mean.as_secs_f64();
        let extra = match self.spec.law {
            JitterLaw::Uniform => 2.0 * mean * self.random.uniform(),
            JitterLaw::Exponential => self.random.exponential(mean),
            JitterLaw::Pareto(shape) => self.random.pareto(mean, shape),
        };
        Duration::from_secs_f64(extra.clamp(0.0, LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    /// Compares 200,000 draws with the closed form: means within four standard errors, variances
    /// within 3 %.
    #[test]
    fn draws_by_the_closed_form() {
        for (law, variance) in [
            (JitterLaw::Uniform, 1.0 / 3.0),
            (JitterLaw::Exponential, 1.0),
            (JitterLaw::Pareto(6.0), 1.0 / 24.0),
        ] {
            let spec = JitterSpec {
                law,
                mean: Duration::from_millis(10),
                in_order: true,
            };
            let mut jitter = Jitter::new(spec, Streams::new(1).stream("jitter", 0));
            let n = 200_000;
            let draws: Vec<f64> = (0..n).map(|_| jitter.draw().as_secs_f64()).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let error = 0.01 * libm::sqrt(variance / f64::from(n));
            assert!((mean - 0.01).abs() < 4.0 * error, "{law:?}: {mean}");
            let square = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            let found = square / f64::from(n) / 1e-4;
            assert!((found / variance - 1.0).abs() < 0.03, "{law:?}: {found}");
        }
    }
}
