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

use whyloss_study::{Check, Line, Metric};

use super::measure::{FlowRun, Reading, THROUGHPUT, place, short};

/// Below this many Mbit/s, throughputs are alike.
pub(crate) const GRAIN: f64 = 0.002;
/// Mbit/s from which on delays are compared.
const ALIVE: f64 = 0.01;

/// The mean at a place.
pub(crate) fn at(line: &Line, x: f64) -> f64 {
    line.at(x).value
}

/// Whether the means of two lines satisfy `holds` at every place of the first, of which there is at least one.
pub(crate) fn everywhere(a: &Line, b: &Line, holds: impl Fn(f64, f64) -> bool) -> bool {
    let mut means = a.means().peekable();
    means.peek().is_some() && means.all(|(x, mean)| holds(mean.value, at(b, x)))
}

/// The part of a line where all of these deliver enough for delays to mean something.
pub(crate) fn alive(reading: &Reading, ids: &[&str], line: &Line) -> Line {
    let lines = reading.runs.lines(&THROUGHPUT);
    let delivered: Vec<Line> = ids.iter().map(|id| lines.line(id).bare()).collect();
    line.only(|x| delivered.iter().all(|line| at(line, x) >= ALIVE))
}

/// One throughput is better than another.
pub(crate) fn better(reading: &Reading, pair: [&str; 2]) -> Check {
    reading.check(pair, &THROUGHPUT, |[a, b]| {
        let above = |own: f64, other: f64| own >= 1.05 * other && own - other >= GRAIN;
        everywhere(a, b, |own, other| own >= other - (0.01 * other).max(GRAIN))
            && a.means().any(|(x, mean)| above(mean.value, at(b, x)))
    })
}

/// Every quotient of two means lies in a range.
pub(crate) fn ratio(a: &Line, b: &Line, (low, high): (f64, f64)) -> Check {
    let name = format!("{} over {}:", a.name, b.name);
    let quotients = a.by_mean(&name, |x, mean| mean / at(b, x));
    Check::of([&quotients], |[of]| {
        of.every(|quotient| low <= quotient && quotient <= high)
    })
}

/// Every difference of two means reaches into ±`allowed` with its interval.
pub(crate) fn within(
    reading: &Reading,
    pair: [&str; 2],
    metric: &Metric<FlowRun>,
    allowed: f64,
) -> Check {
    let [a, b] = reading.lines(pair, metric);
    // Without packets there is nothing to compare.
    let differences: Vec<_> = a.less(&b).measured().means().collect();
    let half = |width: f64| if width.is_nan() { 0.0 } else { width };
    let reaches = |(_, mean): &(f64, whyloss_study::Mean)| {
        mean.value.abs() <= allowed + half(mean.half_width)
    };
    let listed = differences.iter().map(|(x, mean)| {
        let half = half(mean.half_width);
        format!("{}: {:+.5} ± {half:.5}", place(*x), mean.value)
    });
    let listed: Vec<String> = listed.collect();
    Check {
        holds: !listed.is_empty() && differences.iter().all(reaches),
        evidence: format!("{} less {}: {}", a.name, b.name, listed.join(", ")),
    }
}

/// Means as evidence lists them, without a name.
pub(crate) fn listed(values: impl IntoIterator<Item = f64>) -> String {
    let values: Vec<String> = values.into_iter().map(short).collect();
    values.join(", ")
}
