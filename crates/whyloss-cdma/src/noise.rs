//! Draws normal random numbers by the fast ziggurat of Marsaglia and Tsang (J. Stat. Softw. 5(8),
//! 2000).
//!
//! 256 layers of equal area `V` cover `f(x) = exp(−x²/2)`, x > 0. A draw picks a layer and a point
//! across its width. It accepts a point under the layer above (98.9 %) without another draw. It
//! takes half a word: 8 bits for the layer, and 24 others for the point with its sign. Numbers are
//! `f32`, finer than any soft decision made from them.

use whyloss_link::Random;

const LAYERS: usize = 256;
/// The start of the tail, for 256 layers.
const R: f64 = 3.654_152_885_361_009;
/// The area of each layer; the lowest layer includes the tail.
const V: f64 = 0.004_928_673_233_992_336;
/// The number of positions in half a layer.
const PLACES: f64 = 8_388_608.0;

pub(super) struct Normal {
    /// The right edge of each layer, from bottom to top. The lowest entry is a virtual edge that
    /// gives the bottom layer its area.
    edges: [f64; LAYERS + 1],
    /// The density f at the edges.
    heights: [f64; LAYERS + 1],
    /// The width of a position in each layer: the edge divided by the number of positions.
    width: [f32; LAYERS],
    /// Positions with an index below this are under the layer above.
    inside: [i32; LAYERS],
}

impl Normal {
    pub(super) fn new() -> Self {
        let mut edges = [0.0; LAYERS + 1];
        edges[0] = V / density(R);
        edges[1] = R;
        for i in 2..LAYERS {
            // Layer i−1 has area edge·(f(next) − f(edge)) = V.
            let above = V / edges[i - 1] + density(edges[i - 1]);
            edges[i] = libm::sqrt(-2.0 * libm::log(above));
        }
        Self {
            edges,
            heights: edges.map(density),
            width: core::array::from_fn(|i| (edges[i] / PLACES) as f32),
            inside: core::array::from_fn(|i| (PLACES * edges[i + 1] / edges[i]) as i32),
        }
    }

    /// Fills `out` with independent normal numbers of mean 0 and variance 1.
    pub(super) fn fill(&self, random: &mut Random, out: &mut [f32]) {
        for pair in out.chunks_mut(2) {
            let bits = random.bits();
            for (x, half) in pair.iter_mut().zip([bits as u32, (bits >> 32) as u32]) {
                *x = self.number(half, random);
            }
        }
    }

    #[inline]
    fn number(&self, half: u32, random: &mut Random) -> f32 {
        let layer = (half & 0xff) as usize;
        let place = half as i32 >> 8;
        if place.abs() < self.inside[layer] {
            return place as f32 * self.width[layer];
        }
        self.outside(layer, place, random)
    }

    /// Handles the rare cases: the tail, and the wedges between a layer and the curve.
    #[cold]
    fn outside(&self, mut layer: usize, mut place: i32, random: &mut Random) -> f32 {
        loop {
            let x = f64::from(place) * self.edges[layer] / PLACES;
            if layer == 0 {
                if x.abs() < R {
                    return x as f32;
                }
                return tail(random).copysign(x) as f32;
            }
            let (low, high) = (self.heights[layer], self.heights[layer + 1]);
            if low + random.uniform() * (high - low) < density(x) {
                return x as f32;
            }
            let half = random.bits() as u32;
            layer = (half & 0xff) as usize;
            place = half as i32 >> 8;
            if place.abs() < self.inside[layer] {
                return place as f32 * self.width[layer];
            }
        }
    }
}

/// Returns `exp(−x²/2)`, the density up to a factor.
fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x)
}

/// Returns a normal number beyond R (Marsaglia 1964).
fn tail(random: &mut Random) -> f64 {
    loop {
        let x = random.exponential(1.0 / R);
        let y = random.exponential(1.0);
        if 2.0 * y > x * x {
            return R + x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whyloss_link::Streams;

    #[test]
    fn numbers_are_normal() {
        const N: usize = 4_000_000;
        let mut numbers = vec![0.0; N];
        Normal::new().fill(&mut Streams::new(1).stream("noise", 0), &mut numbers);
        let moment = |k: i32| numbers.iter().map(|x| f64::from(*x).powi(k)).sum::<f64>() / N as f64;
        // σ of the k-th moment is √((m₂ₖ − mₖ²)/N); 4 σ.
        assert!(moment(1).abs() < 4.0 * 0.0005);
        assert!((moment(2) - 1.0).abs() < 4.0 * 0.000_71);
        assert!(moment(3).abs() < 4.0 * 0.0020);
        assert!((moment(4) - 3.0).abs() < 4.0 * 0.0049);
        // Tails: P(|x| > t) = erfc(t/√2), also beyond the last layer; 4 σ.
        for t in [0.5, 1.0, 2.0, 3.0, 3.8, 4.5] {
            let expected = libm::erfc(t / core::f64::consts::SQRT_2);
            let share = numbers.iter().filter(|x| f64::from(x.abs()) > t).count() as f64 / N as f64;
            let sigma = libm::sqrt(expected * (1.0 - expected) / N as f64);
            assert!(
                (share - expected).abs() < 4.0 * sigma,
                "{t}: {share} {expected}"
            );
        }
    }

    #[test]
    fn the_layers_close_at_the_top() {
        // The area of the last layer is also V: edge·(1 − f(edge)).
        let top = Normal::new().edges[LAYERS - 1];
        assert!((top * (1.0 - density(top)) - V).abs() < 1e-9);
    }
}
