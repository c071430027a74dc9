//! Bit errors with exponential gaps between them (ElAarag, Moedinger & Hogg 2008, section 5.2;
//! ELA-12).
//!
//! ```text
//! P(no error in k bits) = e^(−rate·k)          rate   bit errors per bit carried (BER)
//! ```
//!
//! The link's bits form one stream across packet boundaries, and errors are a Poisson process along
//! it. An error damages the bit in whose interval it falls; a second error in that bit has no
//! effect. Therefore each bit is damaged independently with probability 1 − e^(−rate). The number
//! of clean bits before the next damaged one is an exponential gap rounded down. Counting whole
//! bits keeps positions exact over any length.

use crate::random::Random;

#[derive(Clone, Debug)]
pub(super) struct BitErrors {
    rate: f64,
    random: Random,
    /// The number of clean bits before the next damaged one.
    clean: u64,
    /// The offsets of the damaged bits of the last packet, in ascending order.
    damaged: Vec<u32>,
}

impl BitErrors {
    pub(super) fn new(rate: f64, random: Random) -> Self {
        let mut errors = Self {
            rate,
            random,
            clean: 0,
            damaged: Vec::new(),
        };
        errors.clean = errors.gap();
        errors
    }

    /// Sends a packet of `size` bytes and returns the offset of its first damaged bit.
    pub(super) fn damages(&mut self, size: u32) -> Option<u32> {
        self.damaged.clear();
        let bits = u64::from(size) * 8;
        let mut at = 0;
        while self.clean < bits - at {
            at += self.clean;
            // No packet has more bits than a u32 can count.
            self.damaged.push(u32::try_from(at).unwrap_or(u32::MAX));
            at += 1;
            self.clean = self.gap();
        }
        self.clean -= bits - at;
        self.damaged.first().copied()
    }

    /// Returns the damaged bits of the last packet, as offsets in bits, in ascending order.
    pub(super) fn damaged(&self) -> &[u32] {
        &self.damaged
    }

    /// Draws the number of clean bits before the next damaged one. Without errors, this exceeds the
    /// number of bits ever sent.
    fn gap(&mut self) -> u64 {
        if self.rate <= 0.0 {
            return u64::MAX;
        }
        // The conversion saturates at the highest u64.
        self.random.exponential(1.0 / self.rate) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;
    use proptest::prelude::*;

    fn errors(rate: f64, seed: u64) -> BitErrors {
        BitErrors::new(rate, Streams::new(seed).stream("channel", 0))
    }

    /// Returns the positions, in the stream of bits, of all damaged bits of packets of these sizes.
    fn positions(rate: f64, seed: u64, sizes: impl IntoIterator<Item = u32>) -> Vec<u64> {
        let mut errors = errors(rate, seed);
        let mut offset = 0;
        let mut all = Vec::new();
        for size in sizes {
            let first = errors.damages(size);
            assert_eq!(first, errors.damaged().first().copied());
            all.extend(errors.damaged().iter().map(|&bit| offset + u64::from(bit)));
            offset += u64::from(size) * 8;
        }
        all
    }

    proptest! {
        /// The same bits are damaged, however the stream is cut into packets.
        #[test]
        fn cutting_changes_nothing(sizes in prop::collection::vec(0u32..2_000, 0..60), seed: u64) {
            let whole = sizes.iter().sum::<u32>();
            let rate = 2e-4;
            let cut = positions(rate, seed, sizes);
            prop_assert!(cut.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(cut, positions(rate, seed, [whole]));
        }
    }

    /// P(damage in the first c bytes) = 1 − e^(−8·rate·c), whatever follows them: within 4 σ at
    /// every rate of the paper.
    #[test]
    fn the_closed_form_of_drops() {
        for rate in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
            for covered in [40_u32, 512, 1464] {
                let expected = -libm::expm1(-rate * f64::from(8 * covered));
                let packets = 400_000_u32;
                let mut errors = errors(rate, 3);
                let hit = (0..packets)
                    .filter(|_| {
                        errors
                            .damages(1464)
                            .is_some_and(|first| first < 8 * covered)
                    })
                    .count();
                let share = hit as f64 / f64::from(packets);
                let sigma = libm::sqrt(expected * (1.0 - expected) / f64::from(packets));
                assert!(
                    (share - expected).abs() < 4.0 * sigma,
                    "{rate} {covered}: {share} instead of {expected}"
                );
            }
        }
    }

    /// Kolmogorov–Smirnov test that gaps are geometric, with P(gap ≤ k) = 1 − e^(−rate·(k + 1)).
    #[test]
    fn gaps_are_exponential() {
        let rate = 1e-4;
        let positions = positions(rate, 5, std::iter::repeat_n(1_500, 100_000));
        let mut gaps: Vec<u64> = positions.windows(2).map(|p| p[1] - p[0] - 1).collect();
        gaps.sort_unstable();
        let count = gaps.len() as f64;
        assert!(count > 100_000.0);
        let distance = gaps.iter().enumerate().map(|(below, &gap)| {
            // The distances just before this gap and at it.
            let before = -libm::expm1(-rate * gap as f64) - below as f64 / count;
            let at = -libm::expm1(-rate * (gap + 1) as f64) - (below + 1) as f64 / count;
            before.abs().max(at.abs())
        });
        let distance = distance.fold(0.0, f64::max);
        // The distance exceeds 2.23/√n with probability 10⁻⁴. Equal gaps enlarge `before` by at
        // most `rate`.
        assert!(distance < 2.23 / count.sqrt() + rate, "{distance}");
    }

    /// Damage is equally likely in every byte of a packet: χ² of 30 cells of 50 bytes exceeds 59
    /// with probability 0.001.
    #[test]
    fn positions_are_uniform() {
        let mut errors = errors(1e-4, 9);
        let mut cells = [0_f64; 30];
        for _ in 0..100_000 {
            errors.damages(1_500);
            for &bit in errors.damaged() {
                cells[bit as usize / 400] += 1.0;
            }
        }
        let expected = cells.iter().sum::<f64>() / 30.0;
        let chi2: f64 = cells
            .iter()
            .map(|n| (n - expected).powi(2) / expected)
            .sum();
        assert!(chi2 < 59.0, "{chi2}");
    }

    #[test]
    fn the_ends_of_the_range() {
        let mut none = errors(0.0, 1);
        assert!((0..1_000).all(|_| none.damages(65_535).is_none()));
        // Each of 524 280 bits is damaged with probability 1 − 1/e = 0.632; σ is 349.
        let mut all = errors(1.0, 1);
        all.damages(65_535);
        assert!((all.damaged().len() as f64 - 331_405.0).abs() < 1_400.0);
        // At so low a rate, the gap exceeds any count.
        assert_eq!(errors(1e-300, 1).clean, u64::MAX);
        assert_eq!(errors(1e-3, 1).damages(0), None);
    }
}
