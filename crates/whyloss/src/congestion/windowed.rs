//! Extrema over a sliding window in constant space, by K. Nichols's algorithm (Linux's
//! `win_minmax.c`). It keeps the best three candidates, each later and worse than the previous one.
//! An extremum may cover less than the window, never more.

/// The largest value over a window, in the caller's unit: rounds or nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowedMax([(u64, u64); 3]);

impl WindowedMax {
    /// Returns the largest value; 0 before the first value.
    pub(super) fn get(&self) -> u64 {
        self.0[0].0
    }

    /// Adds `value`, seen at `now`, and forgets values that are `window` (at least 1) old or older.
    pub(super) fn update(&mut self, value: u64, now: u64, window: u64) {
        let candidates = &mut self.0;
        let first_smaller = candidates.iter().position(|&(old, _)| old <= value);
        if let Some(at) = first_smaller {
            candidates[at..].fill((value, now));
        }
        while now.saturating_sub(candidates[0].1) >= window.max(1) {
            candidates.copy_within(1.., 0);
            candidates[2] = (value, now);
        }
        // Later candidates must exist by the time the first one expires.
        let age = now.saturating_sub(candidates[0].1);
        if candidates[1].1 == candidates[0].1 && age >= window / 4 {
            candidates[1] = (value, now);
            candidates[2] = (value, now);
        } else if candidates[2].1 == candidates[1].1 && age >= window / 2 {
            candidates[2] = (value, now);
        }
    }
}

/// The smallest value over a window.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowedMin(WindowedMax);

impl WindowedMin {
    /// Returns the smallest value; [`u64::MAX`] before the first value.
    pub(super) fn get(&self) -> u64 {
        !self.0.get()
    }

    /// Adds a value, like [`WindowedMax::update`].
    pub(super) fn update(&mut self, value: u64, now: u64, window: u64) {
        self.0.update(!value, now, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        /// Compares with a list of all values. The extremum may cover less than the window, but
        /// never more, and covers at least the latest value.
        #[test]
        fn the_extremum_is_one_of_the_window(
            values in prop::collection::vec((0..1000u64, 0..4u64), 1..60),
            window in 1..12u64,
        ) {
            let (mut largest, mut smallest) = (WindowedMax::default(), WindowedMin::default());
            let mut all = Vec::new();
            let mut now = 0;
            for (value, later) in values {
                now += later;
                largest.update(value, now, window);
                smallest.update(value, now, window);
                all.push((value, now));
                let within = |&&(_, at): &&(u64, u64)| now - at < window;
                let values = || all.iter().filter(within).map(|&(value, _)| value);
                prop_assert!(largest.get() >= value && smallest.get() <= value);
                prop_assert!(Some(largest.get()) <= values().max());
                prop_assert!(Some(smallest.get()) >= values().min());
            }
        }
    }
}
