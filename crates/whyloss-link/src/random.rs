//! Random streams by name, so that each component draws its own numbers.
//!
//! Each random component (a link's channel, a flow's start, a traffic source) draws from its own
//! stream. The stream's name is the component's kind and index. Schemes compared under one seed
//! therefore meet the same channel errors.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The random streams of one replication.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// Returns all streams of the replication with this `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the stream of component number `index` of kind `name`.
    pub fn stream(&self, name: &str, index: u64) -> Random {
        // FNV-1a over name, index and seed. The generator's seeding mixes the bits more.
        let bytes = name
            .bytes()
            .chain(index.to_le_bytes())
            .chain(self.seed.to_le_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random(Xoshiro256PlusPlus::seed_from_u64(hash))
    }
}

/// A random generator (xoshiro256++) that gives the same numbers on every machine and in every
/// version.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Draws a number that is uniform in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws like [`Self::uniform`], in integer arithmetic, and returns whether the number is below
    /// `p`. `threshold` is [`Self::threshold`] of `p`.
    #[inline]
    pub fn below_threshold(&mut self, threshold: u64) -> bool {
        self.0.next_u64() >> 11 < threshold
    }

    /// Returns the integer ⌈p·2⁵³⌉ that [`Self::below_threshold`] needs: k/2⁵³ < p if and only if k
    /// is below it.
    pub fn threshold(p: f64) -> u64 {
        libm::ceil(p * (1u64 << 53) as f64) as u64
    }

    /// Draws from the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Draws from the Pareto distribution with this mean and a shape above 1. Its minimum is
    /// mean·(shape − 1)/shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let least = mean * (shape - 1.0) / shape;
        least * libm::pow(1.0 - self.uniform(), -1.0 / shape)
    }

    /// Draws uniformly from all 64-bit integers.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws uniformly from 0, 1, ..., `n` − 1, with a bias below `n`/2⁶⁴. Returns 0 if `n` is 0.
    /// Always takes one draw.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Draws whether an event of probability `p` happens. Always takes one draw.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_probability() {
        let (mut reals, mut integers) = (
            Streams::new(1).stream("test", 0),
            Streams::new(1).stream("test", 0),
        );
        for p in [
            0.0,
            1e-300,
            1e-3,
            0.1,
            0.25,
            1.0 / 3.0,
            0.5,
            1.0 - f64::EPSILON / 2.0,
            1.0,
        ] {
            let threshold = Random::threshold(p);
            for _ in 0..10_000 {
                assert_eq!(reals.chance(p), integers.below_threshold(threshold), "{p}");
            }
        }
        // At the edge: k/2^53 is not below itself but is below the next double.
        for k in [1u64, 2, 3, 1 << 40, (1 << 53) - 1] {
            let p = k as f64 / (1u64 << 53) as f64;
            assert_eq!(Random::threshold(p), k);
            let above = f64::from_bits(p.to_bits() + 1);
            assert_eq!(Random::threshold(above.min(1.0)), k + 1);
        }
    }

    #[test]
    fn pareto_has_its_mean_and_its_tail() {
        const DRAWS: usize = 1_000_000;
        let mut random = Streams::new(1).stream("test", 0);
        // With shape 3, the variance is finite, the minimum is 2/3 of the mean, and an eighth of
        // the draws exceed twice the minimum.
        let draws: Vec<f64> = (0..DRAWS).map(|_| random.pareto(6.0, 3.0)).collect();
        let mean = draws.iter().sum::<f64>() / DRAWS as f64;
        let beyond = draws.iter().filter(|&&x| x > 8.0).count() as f64 / DRAWS as f64;
        assert!(draws.iter().all(|&x| x >= 4.0));
        assert!((mean - 6.0).abs() < 0.02, "{mean}");
        assert!((beyond - 0.125).abs() < 0.002, "{beyond}");
    }

    #[test]
    fn streams_differ_by_name_index_and_seed() {
        let first = |seed, name, index| Streams::new(seed).stream(name, index).bits();
        let reference = first(1, "channel", 0);
        assert_eq!(reference, first(1, "channel", 0));
        assert_ne!(reference, first(2, "channel", 0));
        assert_ne!(reference, first(1, "start", 0));
        assert_ne!(reference, first(1, "channel", 1));
    }
}
