//! How the paper's words become comparisons. Fixed before the first run, like every threshold that is passed in.
//!
//! | words | comparison, of means over the seeds |
//! |---|---|
//! | better | nowhere below by more than 1 % (or the metric's grain), and somewhere above by at least 5 % |
//! | higher, lower | everywhere |
//! | within 0.1 % | the 95 % interval of the difference, seed by seed, reaches into ±0.001 |
//! | much | at least twice |
//!
//! Where less than 10 kbit/s come through, a run has a handful of packets; delays are not compared there.

use super::study::{Metric, View, place, short};
use whyloss_study::Claim;

/// Below this many Mbit/s, throughputs are alike.
const GRAIN: f64 = 0.002;
/// Mbit/s from which on delays are compared.
const ALIVE: f64 = 0.01;

/// A claim's id and its words.
pub(crate) type Words<'a> = (&'a str, &'a str);

/// The places where both lines deliver enough for delays to mean something.
pub(crate) fn alive(view: &View, ids: &[&str]) -> Vec<usize> {
    let lives = |&index: &usize| {
        let throughput = |id: &&str| view.mean(id, Metric::Throughput, index);
        ids.iter().all(|id| throughput(id) >= ALIVE)
    };
    view.all().into_iter().filter(lives).collect()
}

/// One throughput is better than another at these places.
pub(crate) fn better(view: &View, words: Words<'_>, (a, b): (&str, &str), at: &[usize]) -> Claim {
    let mean = |id, index| view.mean(id, Metric::Throughput, index);
    let never_below = at.iter().all(|&index| {
        let other = mean(b, index);
        mean(a, index) >= other - (0.01 * other).max(GRAIN)
    });
    let somewhere_above = at.iter().any(|&index| {
        let (own, other) = (mean(a, index), mean(b, index));
        own >= 1.05 * other && own - other >= GRAIN
    });
    let evidence = view.evidence(&[a, b], Metric::Throughput);
    view.claim(words.0, words.1, never_below && somewhere_above, evidence)
}

/// Every quotient of two means at these places lies in a range.
pub(crate) fn ratio(
    view: &View,
    words: Words<'_>,
    (a, b): (&str, &str),
    metric: Metric,
    at: &[usize],
    (low, high): (f64, f64),
) -> Claim {
    let quotients: Vec<(f64, f64)> = at
        .iter()
        .map(|&index| {
            let quotient = view.mean(a, metric, index) / view.mean(b, metric, index);
            (view.xs[index], quotient)
        })
        .collect();
    let holds = !quotients.is_empty()
        && quotients
            .iter()
            .all(|&(_, quotient)| low <= quotient && quotient <= high);
    let listed: Vec<String> = quotients
        .iter()
        .map(|&(x, quotient)| format!("{}: {}", place(x), short(quotient)))
        .collect();
    let evidence = format!(
        "{} over {}: {}",
        view.name(a),
        view.name(b),
        listed.join(", ")
    );
    view.claim(words.0, words.1, holds, evidence)
}

/// Every difference of two means at these places reaches into ±`allowed` with its interval.
pub(crate) fn within(
    view: &View,
    words: Words<'_>,
    (a, b): (&str, &str),
    metric: Metric,
    allowed: f64,
) -> Claim {
    let mut holds = true;
    let mut listed = Vec::new();
    for index in view.all() {
        let difference = view.difference(a, b, metric, index);
        // Without packets there is nothing to compare.
        if difference.value.is_nan() {
            continue;
        }
        let half = if difference.half_width.is_nan() {
            0.0
        } else {
            difference.half_width
        };
        holds &= difference.value.abs() <= allowed + half;
        listed.push(format!(
            "{}: {:+.5} ± {half:.5}",
            place(view.xs[index]),
            difference.value
        ));
    }
    let evidence = format!(
        "{} less {}: {}",
        view.name(a),
        view.name(b),
        listed.join(", ")
    );
    view.claim(words.0, words.1, holds && !listed.is_empty(), evidence)
}
