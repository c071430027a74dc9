//! Rayleigh fading of several paths with Clarke's Doppler spectrum, and the power that a RAKE
//! receiver collects.
//!
//! ```text
//! α_l(t)   complex normal, independent per path, E|α_l|² = 1/L        (Rayleigh)
//! E[α_l(t)·α_l*(t+τ)] = J₀(2π·f_D·τ)/L                                (Clarke 1968, Jakes 1974)
//! g(t) = Σ_l |α_l(t)|²,  E g = 1                                      (maximal-ratio combining)
//! ```
//!
//! Method (of Smith, in time): white complex noise passes a symmetric filter of ten Doppler periods
//! to each side. Its response is the square root of Clarke's spectrum, `S(f) ∝ 1/√(f_D² − f²)`. The
//! correlation then meets Bessel's function within 0.01 over two periods (tested). The values are
//! exactly normal and stationary from the first symbol. A sum of a few sinusoids would make deep
//! fades too rare. There are about 16 filtered values per Doppler period. A cubic interpolation
//! doubles them, and a second one gives the power at each symbol.

use super::noise::Normal;
use whyloss_link::Random;

/// The maximum number of paths.
pub(super) const MAX_PATHS: u32 = 8;
/// The half width of the filter, in Doppler periods.
const PERIODS: f64 = 10.0;
/// The minimum number of filtered values per Doppler period.
const PER_PERIOD: f64 = 16.0;

/// The real and imaginary parts of four paths, which fill two vector registers.
type Group = [f32; 8];

pub(super) struct Fading {
    /// The half of the symmetric filter that starts at its centre.
    taps: Vec<f32>,
    /// White noise per group of four paths, oldest first; the last `window` values are under the
    /// filter.
    white: Vec<Vec<Group>>,
    window: usize,
    /// The last four filtered values per group, oldest first.
    filtered: Vec<[Group; 4]>,
    paths: usize,
    /// The power at the last four nodes, which are `spacing` symbols apart, two per filtered value.
    nodes: [f32; 4],
    /// The power at the node between this filtered value and the last, which is returned next.
    midpoint: Option<f32>,
    spacing: usize,
    /// Powers of the current span; those with an index of at least `used` are still unused.
    span: Vec<f32>,
    used: usize,
}

impl Fading {
    /// Returns the fading of `paths` paths, with `doppler` Doppler periods per symbol.
    pub(super) fn new(paths: usize, doppler: f64, normal: &Normal, random: &mut Random) -> Self {
        let spacing = (0.5 / (PER_PERIOD * doppler)).clamp(1.0, 1e6) as usize;
        // Doppler periods per filtered value.
        let step = doppler * 2.0 * spacing as f64;
        let taps = filter(step, 1.0 / (2.0 * paths as f64));
        let groups = paths.div_ceil(4);
        let window = 2 * taps.len() - 1;
        let mut fading = Self {
            taps,
            white: vec![Vec::with_capacity(8 * window); groups],
            window,
            filtered: vec![[[0.0; 8]; 4]; groups],
            paths,
            nodes: [0.0; 4],
            midpoint: None,
            spacing,
            span: vec![0.0; spacing],
            used: spacing,
        };
        for _ in 0..window {
            fading.push_noise(normal, random);
        }
        for _ in 0..4 {
            fading.filter_next(normal, random);
        }
        for _ in 0..4 {
            fading.next_node(normal, random);
        }
        fading
    }

    /// Writes the combined power at each of the next symbols.
    pub(super) fn powers(&mut self, normal: &Normal, random: &mut Random, out: &mut [f32]) {
        let mut filled = 0;
        while filled < out.len() {
            if self.used == self.spacing {
                self.next_node(normal, random);
                self.draw_span();
                self.used = 0;
            }
            let n = (self.spacing - self.used).min(out.len() - filled);
            out[filled..filled + n].copy_from_slice(&self.span[self.used..self.used + n]);
            self.used += n;
            filled += n;
        }
    }

    /// Computes the powers from the second of the four nodes up to the third, by the cubic through
    /// all four.
    fn draw_span(&mut self) {
        let [p, q, r, s] = self.nodes;
        // Lagrange's cubic at −1, 0, 1, 2.
        let c1 = -p / 3.0 - 0.5 * q + r - s / 6.0;
        let c2 = 0.5 * (p + r) - q;
        let c3 = (s - p) / 6.0 + 0.5 * (q - r);
        let scale = 1.0 / self.spacing as f32;
        for (i, power) in self.span.iter_mut().enumerate() {
            let t = i as f32 * scale;
            *power = (q + t * (c1 + t * (c2 + t * c3))).max(0.0);
        }
    }

    /// Advances by one node. Nodes are alternately at a filtered value and half-way to the next
    /// one.
    fn next_node(&mut self, normal: &Normal, random: &mut Random) {
        let power = if let Some(power) = self.midpoint.take() {
            power
        } else {
            // The current values are those at −1, 0, 1, 2; this node is at 0, and the next one at
            // 1/2.
            let here = self.power(|[_, value, _, _]| value);
            self.midpoint = Some(self.power(|[a, b, c, d]| 0.0625 * (9.0 * (b + c) - (a + d))));
            self.filter_next(normal, random);
            here
        };
        self.nodes.rotate_left(1);
        self.nodes[3] = power;
    }

    /// Applies `value` to the last four filtered values of each path. Returns the sum of the
    /// squared magnitudes.
    fn power(&self, value: impl Fn([f32; 4]) -> f32) -> f32 {
        let parts = self
            .filtered
            .iter()
            .flat_map(|values| (0..8).map(|i| values.map(|group| group[i])));
        parts.take(2 * self.paths).map(value).map(|x| x * x).sum()
    }

    /// Computes the next filtered value of every path.
    fn filter_next(&mut self, normal: &Normal, random: &mut Random) {
        self.push_noise(normal, random);
        for (white, filtered) in self.white.iter().zip(&mut self.filtered) {
            let (past, future) = white[white.len() - self.window..].split_at(self.window / 2);
            let mut sum: Group = future[0].map(|noise| self.taps[0] * noise);
            let mirrored = past.iter().rev().zip(&future[1..]);
            for (tap, (before, after)) in self.taps[1..].iter().zip(mirrored) {
                for i in 0..8 {
                    sum[i] += tap * (before[i] + after[i]);
                }
            }
            filtered.rotate_left(1);
            filtered[3] = sum;
        }
    }

    fn push_noise(&mut self, normal: &Normal, random: &mut Random) {
        for white in &mut self.white {
            if white.len() == white.capacity() {
                white.drain(..white.len() + 1 - self.window);
            }
            let mut noise = [0.0; 8];
            normal.fill(random, &mut noise);
            white.push(noise);
        }
    }
}

/// Returns the half of the symmetric filter that starts at its centre. `energy` is the sum of
/// squares over the whole filter, and `step` the Doppler periods per filtered value.
///
/// Clarke's spectrum is cut into bins a twentieth of f_D wide. A bin's share is the difference of
/// `asin(f/f_D)/π` at its edges. The response is the cosine series of the shares' square roots.
/// Binning, unlike a window on the response, keeps the spectrum's edges at ±f_D sharp.
fn filter(step: f64, energy: f64) -> Vec<f32> {
    let reach = libm::ceil(PERIODS / step);
    let bins = 2.0 * reach;
    let below = |edge: f64| libm::asin((edge / (bins * step)).clamp(-1.0, 1.0));
    let amplitudes: Vec<f64> = (0..=(bins * step) as u32 + 1)
        .map(|k| libm::sqrt(below(f64::from(k) + 0.5) - below(f64::from(k) - 0.5)))
        .collect();
    let taps: Vec<f64> = (0..reach as u32)
        .map(|n| {
            let phase = core::f64::consts::TAU * f64::from(n) / bins;
            let waves = (1..).zip(&amplitudes[1..]);
            let sum: f64 = waves
                .map(|(k, a)| a * libm::cos(f64::from(k) * phase))
                .sum();
            amplitudes[0] + 2.0 * sum
        })
        .collect();
    let squares: f64 = taps.iter().map(|tap| tap * tap).sum();
    let scale = libm::sqrt(energy / (2.0 * squares - taps[0] * taps[0]));
    taps.iter().map(|tap| (tap * scale) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss_link::Streams;

    #[test]
    fn the_filter_makes_clarkes_correlation() {
        let step = 1.0 / 16.0;
        let half = filter(step, 1.0);
        let reach = half.len() as i32 - 1;
        let tap = |n: i32| {
            half.get(n.unsigned_abs() as usize)
                .map_or(0.0, |&tap| f64::from(tap))
        };
        for lag in 0..=2 * 16 {
            let correlation: f64 = (-reach..=reach).map(|n| tap(n) * tap(n + lag)).sum();
            let expected = libm::j0(core::f64::consts::TAU * step * f64::from(lag));
            assert!(
                (correlation - expected).abs() < 0.01,
                "{lag}: {correlation} {expected}"
            );
        }
    }

    /// Returns the powers of `n` symbols.
    fn powers(paths: usize, doppler: f64, n: usize, seed: u64) -> Vec<f32> {
        let normal = Normal::new();
        let mut random = Streams::new(seed).stream("fading", 0);
        let mut fading = Fading::new(paths, doppler, &normal, &mut random);
        let mut powers = vec![0.0; n];
        // Reads uneven pieces, as blocks do.
        for piece in powers.chunks_mut(777) {
            fading.powers(&normal, &mut random, piece);
        }
        powers
    }

    #[test]
    fn power_is_gamma_distributed() {
        // One path: P(g < x) = 1 − e^−x; four of mean 1/4: 1 − e^−4x·Σ_{k<4} (4x)^k/k!. 4 000
        // Doppler periods have about 8 000 independent values; correlated samples make σ about
        // √(P(1−P)/8 000); 4 σ.
        for (paths, tail) in [(1_usize, 0), (4, 3)] {
            let powers = powers(paths, 0.004, 1_000_000, 1);
            for x in [0.1, 0.3, 0.6, 1.0, 1.5, 2.5] {
                let y = paths as f64 * x;
                let sum: f64 = (0..=tail)
                    .scan(1.0, |term, k| {
                        let now = *term;
                        *term *= y / f64::from(k + 1);
                        Some(now)
                    })
                    .sum();
                let expected = 1.0 - libm::exp(-y) * sum;
                let share = powers.iter().filter(|g| f64::from(**g) < x).count() as f64 / 1e6;
                let sigma = libm::sqrt(expected * (1.0 - expected) / 8_000.0);
                assert!(
                    (share - expected).abs() < 4.0 * sigma,
                    "{paths} {x}: {share} {expected}"
                );
            }
        }
    }

    #[test]
    fn power_decorrelates_as_the_squared_bessel_function() {
        let (lag, doppler) = (25, 0.004);
        let powers = powers(1, doppler, 1_000_000, 2);
        let products: f64 = powers
            .windows(lag + 1)
            .map(|w| f64::from(w[0] * w[lag]))
            .sum();
        let correlation = products / (1e6 - lag as f64) - 1.0;
        let bessel = libm::j0(core::f64::consts::TAU * doppler * lag as f64);
        // σ about 3/√8 000 = 0.034 for products of exponentials.
        assert!((correlation - bessel * bessel).abs() < 0.1);
    }

    #[test]
    fn speed_does_not_change_the_mean() {
        for doppler in [1e-5, 2.62e-4, 4.2e-3, 0.09] {
            let n = (2_000.0 / doppler) as usize;
            let powers = powers(4, doppler, n.min(3_000_000), 3);
            let mean = powers.iter().map(|g| f64::from(*g)).sum::<f64>() / powers.len() as f64;
            let periods = powers.len() as f64 * doppler;
            // Variance 1/4 over about two independent values per period.
            assert!(
                (mean - 1.0).abs() < 4.0 * libm::sqrt(0.25 / (2.0 * periods)),
                "{doppler}: {mean}"
            );
        }
    }
}
