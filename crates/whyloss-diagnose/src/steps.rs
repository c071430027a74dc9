//! Counts steps of work on structures that grow with the input, in tests only. Twice the input must
//! take about twice the steps.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts `many` steps in tests; does nothing elsewhere.
#[inline]
pub(crate) fn step(many: usize) {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + many as u64));
    #[cfg(not(test))]
    let _ = many;
}

/// Asserts that `work` on twice the input takes at most 2.5 times the steps, and at most `each`
/// steps per element.
#[cfg(test)]
pub(crate) fn assert_linear(input: u64, each: u64, work: impl Fn(u64)) {
    let count = |input| {
        STEPS.with(|steps| steps.set(0));
        work(input);
        STEPS.with(std::cell::Cell::get)
    };
    let (few, many) = (count(input), count(2 * input));
    assert!(few > 0, "no step was counted");
    assert!(
        2 * many <= 5 * few,
        "{few} steps, and {many} for twice the input"
    );
    assert!(
        many <= 2 * input * each,
        "{many} steps for {} elements",
        2 * input
    );
}
