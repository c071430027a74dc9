//! Evaluates decision trees. Also maintains extrema and classes of delays for their signals. The
//! classifiers and the scheme `whyloss` use this file.
//!
//! Real numbers are only added, multiplied and divided, so results are identical on every machine.

/// The depth of a tree: the number of questions from its root to a leaf.
const DEPTH: usize = 4;

/// The number of possible signal indices, so that no index needs a bounds check.
const WIDTH: usize = 1 << u8::BITS;

/// The number of classes of delay.
pub(crate) const CLASSES: usize = 16;

/// A complete tree. Question k separates leaves k and k + 1. Each step takes the middle question of
/// the remaining range.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The questions, each with the index of a signal and a bound. A signal up to the bound leads
    /// to the leaves before the question, a larger one to those after it.
    pub(crate) questions: [(u8, i16); (1 << DEPTH) - 1],
    /// The log-odds of congestion at each leaf, in thousandths.
    pub(crate) leaves: [i16; 1 << DEPTH],
}

impl Tree {
    /// Has no branches, so the processor can evaluate several trees in parallel.
    #[inline]
    fn leaf(&self, signals: &[i16; WIDTH]) -> i32 {
        let mut at = 0;
        for half in [8, 4, 2, 1] {
            let (signal, bound) = self.questions[at + half - 1];
            at += half * usize::from(signals[usize::from(signal)] > bound);
        }
        i32::from(self.leaves[at])
    }
}

/// Returns the sum of the trees' log-odds of congestion, in thousandths.
#[inline]
pub(crate) fn log_odds<const COUNT: usize>(trees: &[Tree], signals: &[i16; COUNT]) -> i32 {
    const { assert!(COUNT <= WIDTH) };
    let mut wide = [0; WIDTH];
    wide[..COUNT].copy_from_slice(signals);
    trees.iter().map(|tree| tree.leaf(&wide)).sum()
}

/// Extrema over the last one to two buckets of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extrema {
    /// The extrema of the current bucket.
    now: (i64, i64),
    /// The extrema of the current and the previous bucket.
    both: (i64, i64),
}

impl Extrema {
    const EMPTY: (i64, i64) = (i64::MAX, i64::MIN);
    pub(crate) const NONE: Self = Self {
        now: Self::EMPTY,
        both: Self::EMPTY,
    };

    #[inline]
    pub(crate) fn add(&mut self, value: i64) {
        self.lower(value);
        self.raise(value);
    }

    /// Updates only the minimum.
    #[inline]
    pub(crate) fn lower(&mut self, value: i64) {
        if value < self.now.0 {
            self.now.0 = value;
            self.both.0 = self.both.0.min(value);
        }
    }

    /// Updates only the maximum.
    #[inline]
    pub(crate) fn raise(&mut self, value: i64) {
        if value > self.now.1 {
            self.now.1 = value;
            self.both.1 = self.both.1.max(value);
        }
    }

    /// Updates only the minimum, with the whole part of a real number. Converts only new minima,
    /// because a conversion is slow.
    #[inline]
    pub(crate) fn lower_to(&mut self, value: f64) {
        if value < self.now.0 as f64 {
            self.lower(value as i64);
        }
    }

    /// Updates only the maximum, with the whole part of a real number, as 32 bits.
    #[inline]
    pub(crate) fn raise_to(&mut self, value: f64) {
        if value > self.now.1 as f64 {
            self.raise(i64::from(value as u32));
        }
    }

    pub(crate) fn turn(&mut self) {
        (self.both, self.now) = (self.now, Self::EMPTY);
    }

    /// Begins a new bucket, `passed` buckets after the current one; at most two matter.
    pub(crate) fn turn_by(&mut self, passed: u8) {
        self.turn();
        if passed > 1 {
            self.turn();
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> (i64, i64) {
        self.both
    }

    /// Returns the extrema including `value`.
    pub(crate) fn with(&self, value: i64) -> (i64, i64) {
        let (min, max) = self.get();
        (min.min(value), max.max(value))
    }

    #[inline]
    pub(crate) fn least(&self) -> Option<i64> {
        Some(self.get().0).filter(|&least| least < i64::MAX)
    }
}

/// Returns the position of a delay between the extrema, from 0 to 1; 0 if they are equal.
#[inline]
pub(crate) fn position((min, max): (i64, i64), delay: i64) -> f64 {
    let (min, max, delay) = (min as f64, max as f64, delay as f64);
    ratio(delay - min, max - min)
}

/// Returns the class of a delay.
#[inline]
pub(crate) fn class(extrema: (i64, i64), delay: i64) -> usize {
    usize::from((15.99 * position(extrema, delay)) as u8).min(15)
}

/// Returns the larger number. Three times as fast as `f64::max`, which handles NaN.
#[inline]
pub(crate) fn larger(one: f64, other: f64) -> f64 {
    if one > other { one } else { other }
}

#[inline]
pub(crate) fn smaller(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

/// Returns `value/by`, or 0 if `by` is zero.
#[inline]
pub(crate) fn ratio(value: f64, by: f64) -> f64 {
    if by > 0.0 { value / by } else { 0.0 }
}

/// Returns a signal value in hundredths, saturating at 16 bits.
#[inline]
pub(crate) fn hundredths(value: f64) -> i16 {
    (100.0 * value) as i16
}

/// Converts thousandths of log-odds to odds.
pub(crate) fn odds(log_odds: i32) -> f64 {
    libm::exp(f64::from(log_odds) / 1e3)
}

/// Asserts that each of these signals only raises the odds (1) or only lowers them (−1), whatever
/// the other signals are.
#[cfg(test)]
pub(crate) fn assert_monotone<const COUNT: usize>(
    names: &[(&str, &str); COUNT],
    constrained: &[(&str, i32)],
    log_odds: impl Fn(&[i16; COUNT]) -> i32,
) {
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as i16
    };
    for _ in 0..2_000 {
        let mut signals = [0; COUNT];
        for signal in &mut signals {
            *signal = draw(300);
        }
        let (name, sign) = constrained[draw(constrained.len() as u64) as usize];
        let at = names.iter().position(|(known, _)| *known == name);
        let at = at.expect("a signal");
        let mut last = i32::MIN;
        for step in 0..20 {
            signals[at] = if sign > 0 { 15 * step } else { 300 - 15 * step };
            let odds = log_odds(&signals);
            assert!(odds >= last, "{name}: {odds} after {last}");
            last = odds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2.5 counts as 2, so 2.75 changes nothing. Numbers of more than 32 bits count as the largest.
    #[test]
    fn extrema_of_whole_parts() {
        let mut extrema = Extrema::NONE;
        for value in [2.5, 2.75, 2.0, 7.9] {
            extrema.lower_to(value);
        }
        assert_eq!(extrema.least(), Some(2));
        for (value, most) in [
            (0.5, 0),
            (2.5, 2),
            (2.75, 2),
            (3.0, 3),
            (1e12, 4_294_967_295),
        ] {
            extrema.raise_to(value);
            assert_eq!(extrema.get().1, most);
        }
    }

    #[test]
    fn leaves_by_hand() {
        // If pace ≤ 50, the next question is slots ≤ 7, otherwise the third signal, and so on.
        let mut questions = [(0, 0); 15];
        (questions[7], questions[3], questions[11]) = ((0, 50), (1, 7), (2, 3));
        let mut leaves = [0; 16];
        (leaves[0], leaves[4], leaves[8], leaves[15]) = (1, 2, 3, 4);
        let tree = Tree { questions, leaves };
        let at = |pace, slots, missing| {
            let mut signals = [0; WIDTH];
            (signals[0], signals[1], signals[2]) = (pace, slots, missing);
            tree.leaf(&signals)
        };
        // After the first two levels, every question is pace ≤ 0.
        assert_eq!(at(0, 7, 0), 1);
        assert_eq!(at(0, 8, 0), 2);
        assert_eq!(at(51, 0, 4), 4);
    }
}
