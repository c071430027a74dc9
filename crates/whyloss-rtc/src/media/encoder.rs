//! Models a live encoder by RFC 8593, section 5: draws the size of each frame.
//!
//! ```text
//! mean   = rate/(8·frame_rate)             bytes; rate is the target of one reaction ago
//! frame  = mean·(1 + Laplace(0.15))        at least a tenth of mean
//! key    = 13.5/4.17 of mean               the seven frames after it share the rest of eight means
//! ```
//!
//! The RFC also varies the interval between frames; here, each tick captures a frame. In the RFC, a
//! burst follows every change of the rate; here, every key frame.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use whyloss::{Duration, Time};

/// The scale of the deviation of sizes (RFC 8593, table 1: `SCALE_B`).
const SCALE: f64 = 0.15;
/// The size of a key frame in mean frames (table 1: `K_B` over `B_0`).
const KEY: f64 = 13.5 / 4.17;
/// The number of frames of a burst (table 1: `K_d`).
const BURST: u32 = 8;

#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    random: Xoshiro256PlusPlus,
    reaction: Duration,
    frame_rate: f64,
    /// The requested rates and their times.
    asked: VecDeque<(Time, f64)>,
    /// The number of frames left in the burst after a key frame.
    burst: u32,
}

impl Encoder {
    pub(crate) fn new(seed: [u64; 4], reaction: Duration, frame_rate: f64) -> Self {
        let mut bytes = [0; 32];
        for (part, word) in bytes.chunks_exact_mut(8).zip(seed) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        Self {
            random: Xoshiro256PlusPlus::from_seed(bytes),
            reaction,
            frame_rate,
            asked: VecDeque::new(),
            burst: 0,
        }
    }

    /// Requests a rate of video at `now`, in bit/s. Returns the rate that the encoder follows.
    pub(crate) fn ask(&mut self, now: Time, rate: f64) -> f64 {
        self.asked.push_back((now, rate));
        while self
            .asked
            .get(1)
            .is_some_and(|next| next.0 + self.reaction <= now)
        {
            self.asked.pop_front();
        }
        self.asked.front().map_or(rate, |asked| asked.1)
    }

    /// Returns the bytes of the next frame at `rate` bit/s.
    pub(crate) fn frame(&mut self, rate: f64, key: bool) -> f64 {
        let mean = rate / (8.0 * self.frame_rate);
        if key {
            self.burst = BURST - 1;
            return mean * KEY;
        }
        if self.burst > 0 {
            self.burst -= 1;
            return mean * (f64::from(BURST) - KEY) / f64::from(BURST - 1);
        }
        let mut uniform = || ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        // The difference of two exponential numbers has a Laplace distribution.
        let laplace = libm::log(uniform()) - libm::log(uniform());
        mean * (1.0 + SCALE * laplace).max(0.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_average_to_the_rate_and_follow_it_after_the_reaction() {
        let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut encoder = Encoder::new([1, 2, 3, 4], Duration::from_millis(200), 30.0);
        assert!((encoder.ask(ms(0), 1e6) - 1e6).abs() < 1e-9);
        for at in 1..200 {
            assert!((encoder.ask(ms(at), 2e6) - 1e6).abs() < 1e-9, "{at}");
        }
        assert!((encoder.ask(ms(201), 2e6) - 2e6).abs() < 1e-9);
        let mut total = encoder.frame(1e6, true);
        assert!((total - 4_166.67 * KEY).abs() < 1.0);
        for _ in 1..8 {
            total += encoder.frame(1e6, false);
        }
        assert!((total - 8.0 * 4_166.67).abs() < 1.0);
        let sizes: Vec<f64> = (0..3_000).map(|_| encoder.frame(1e6, false)).collect();
        let mean = sizes.iter().sum::<f64>() / 3_000.0;
        assert!((mean / 4_166.67 - 1.0).abs() < 0.02, "{mean}");
    }
}
