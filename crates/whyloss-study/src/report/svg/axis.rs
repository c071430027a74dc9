//! Chooses ranges and ticks of axes.
//!
//! ```text
//! linear  ticks at k·step, step ∈ {1, 2, 5}·10^m; from zero, or with a margin of 5 % at either end
//! log     coordinates are log₁₀ of the values, ticks at whole powers of ten; y spans whole powers,
//!         x has a margin of 4 % at either end if at least two powers lie within
//! ```

use std::collections::BTreeSet;

use crate::{Figure, Look, Panel};

/// Holds an axis in drawn coordinates: values or their logarithms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) ticks: Vec<f64>,
    log: bool,
    decimals: usize,
}

impl Axis {
    /// Returns the coordinate of `value`; `None` if it is not finite or has no logarithm.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = if self.log { libm::log10(value) } else { value };
        place.is_finite().then_some(place)
    }

    /// Returns the text at a tick.
    pub(super) fn label(&self, tick: f64) -> String {
        if self.log {
            let exponent = |tick: f64| libm::round(tick) as i32;
            let plain = self
                .ticks
                .iter()
                .all(|&tick| PLAIN.contains(&exponent(tick)));
            return power_of_ten(exponent(tick), plain);
        }
        let text = format!("{tick:.*}", self.decimals);
        text.strip_prefix('-')
            .map_or_else(|| text.clone(), |positive| format!("−{positive}"))
    }
}

/// Returns the range of the x axis that all panels of a figure share, so that their times agree.
/// They share it if the axes are linear, have one label, and show time series.
pub(in crate::report) fn shared(figure: &Figure) -> Option<(f64, f64)> {
    let (first, others) = figure.panels.split_first()?;
    let alike = |panel: &Panel| !panel.log_x && panel.x_label == first.x_label;
    let mut series = figure.panels.iter().flat_map(|panel| &panel.series);
    let long = series.any(|series| series.points.len() >= LONG);
    if others.is_empty() || !figure.panels.iter().all(alike) || !long {
        return None;
    }
    let places = figure
        .panels
        .iter()
        .flat_map(|panel| points(panel).map(|point| point.0).chain(marks(panel)));
    let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    });
    (low < high).then_some((low, high))
}

/// The minimum number of points for a line to count as a time series.
pub(in crate::report) const LONG: usize = 60;

/// Returns the x axis, which also contains `shared`. Ticks mark the measured places if those are
/// few and far apart, else round numbers. Logarithmic axes always have ticks at powers of ten.
pub(super) fn x(panel: &Panel, shared: Option<(f64, f64)>) -> Axis {
    let places: BTreeSet<Ordered> = points(panel)
        .filter(|&(x, _, _)| !panel.log_x || x > 0.0)
        .map(|(x, _, _)| Ordered(if panel.log_x { libm::log10(x) } else { x }))
        .collect();
    let places: Vec<f64> = places.into_iter().map(|place| place.0).collect();
    let marks = marks(panel).filter(|&x| !panel.log_x || x > 0.0);
    let marks = marks.map(|x| if panel.log_x { libm::log10(x) } else { x });
    // Marks extend the axis but get no ticks.
    let (low, high) = marks.fold(ends(&places), |(low, high), x| (low.min(x), high.max(x)));
    let (low, high) = shared.map_or((low, high), |(from, to)| (low.min(from), high.max(to)));
    let (Some(first), Some(last)) = (finite(low), finite(high)) else {
        return if panel.log_x {
            logarithmic(0.1, 1.0)
        } else {
            linear(0.0, 1.0)
        };
    };
    let gap = places.windows(2).map(|pair| pair[1] - pair[0]);
    let gap = gap.fold(f64::INFINITY, f64::min);
    let margin = if panel.series.iter().any(|series| series.look == Look::Bars) {
        if gap.is_finite() { gap * 0.6 } else { 0.6 }
    } else if last > first {
        (last - first) * 0.04
    } else {
        0.5
    };
    if panel.log_x {
        return powers(first, last, margin);
    }
    let few =
        (1..=12).contains(&places.len()) && places.windows(2).all(|pair| apart(pair, last - first));
    let round = linear(first, last);
    let ticks = if few { places } else { round.ticks };
    let decimals = ticks.iter().map(|&tick| decimals_of(tick)).max();
    Axis {
        start: first - margin,
        end: last + margin,
        ticks: ticks
            .into_iter()
            .filter(|tick| (first..=last).contains(tick))
            .collect(),
        log: false,
        decimals: decimals.unwrap_or(0),
    }
}

/// Returns whether the labels of neighbouring places keep a character's width apart. A panel of two
/// side by side is about forty characters wide.
fn apart(pair: &[f64], length: f64) -> bool {
    let width = |place: &f64| place.to_string().chars().count() as f64;
    let widths: f64 = pair.iter().map(width).sum();
    pair[1] - pair[0] >= length * 0.024 * (widths / 2.0 + 1.0)
}

/// Returns the y axis, which contains every interval and starts at zero unless all values are far
/// from it.
pub(super) fn y(panel: &Panel) -> Axis {
    let bars = panel.series.iter().any(|series| series.look == Look::Bars);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (_, y, half_width) in points(panel) {
        let half = half_width.filter(|half| half.is_finite()).unwrap_or(0.0);
        // Whiskers are cut near zero. On a logarithmic axis they would span many decades, and below
        // zero they would suggest impossible shares and counts.
        let whisker = match (panel.log_y, y >= 0.0) {
            (true, _) => (y - half).max(y / 10.0),
            (false, true) => (y - half).max(0.0),
            (false, false) => y - half,
        };
        for value in [whisker, y, y + half] {
            if !panel.log_y || value > 0.0 {
                low = low.min(value);
                high = high.max(value);
            }
        }
    }
    if low > high {
        return if panel.log_y {
            logarithmic(0.1, 1.0)
        } else {
            linear(0.0, 1.0)
        };
    }
    if panel.log_y {
        return logarithmic(if bars { low * 0.7 } else { low }, high);
    }
    if low > 0.0 && (bars || low < high * 0.6) {
        low = 0.0;
    } else if high < 0.0 && (bars || high > low * 0.6) {
        high = 0.0;
    }
    linear(low, high)
}

/// Returns the first and last place, or infinities if empty.
fn ends(places: &[f64]) -> (f64, f64) {
    let first = places.first().copied().unwrap_or(f64::INFINITY);
    (first, places.last().copied().unwrap_or(f64::NEG_INFINITY))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn marks(panel: &Panel) -> impl Iterator<Item = f64> {
    let marks = panel.series.iter().filter(|s| s.look == Look::Marks);
    marks
        .flat_map(|series| &series.points)
        .map(|point| point.0)
        .filter(|x| x.is_finite())
}

fn points(panel: &Panel) -> impl Iterator<Item = (f64, f64, Option<f64>)> {
    let series = panel.series.iter().filter(|s| s.look != Look::Marks);
    let points = series.flat_map(|series| &series.points);
    points
        .copied()
        .filter(|(x, y, _)| x.is_finite() && y.is_finite())
}

fn linear(low: f64, high: f64) -> Axis {
    let (low, high) = if high > low {
        (low, high)
    } else {
        let margin = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
        (low - margin, high + margin)
    };
    let step = round_step((high - low) / 7.0);
    // Zero is a natural end; elsewhere a margin keeps the markers whole.
    let margin = (high - low) * 0.05;
    let start = if low == 0.0 { 0.0 } else { low - margin };
    let end = if high == 0.0 { 0.0 } else { high + margin };
    // Ticks are integer multiples of the step, so that rounding errors do not add up.
    let first = libm::ceil(start / step - 1e-9) as i64;
    let last = libm::floor(end / step + 1e-9) as i64;
    Axis {
        start,
        end,
        ticks: (first..=last).map(|k| k as f64 * step).collect(),
        log: false,
        decimals: decimals_of(step),
    }
}

fn logarithmic(low: f64, high: f64) -> Axis {
    let first = libm::floor(libm::log10(low)) as i32;
    let last = (libm::ceil(libm::log10(high)) as i32).max(first + 1);
    let every = 1 + (last - first) / 7;
    Axis {
        start: f64::from(first),
        end: f64::from(last),
        ticks: (first..=last)
            .filter(|exponent| (exponent - first) % every == 0)
            .map(f64::from)
            .collect(),
        log: true,
        decimals: 0,
    }
}

/// Returns a logarithmic axis around `first` to `last`. It extends to whole powers of ten if it
/// would show fewer than two ticks, since one tick shows no scale.
fn powers(first: f64, last: f64, margin: f64) -> Axis {
    // The margin of half a thousandth allows for the logarithm of 0.001, which need not be exactly
    // −3.
    let whole = logarithmic(libm::pow(10.0, first + 5e-4), libm::pow(10.0, last - 5e-4));
    let (start, end) = (first - margin, last + margin);
    let within = |&&tick: &&f64| (start..=end).contains(&tick);
    if whole.ticks.iter().filter(within).count() < 2 {
        return Axis {
            start: whole.start.min(start),
            end: whole.end.max(end),
            ..whole
        };
    }
    Axis {
        start,
        end,
        ticks: whole.ticks.iter().filter(within).copied().collect(),
        ..whole
    }
}

/// Returns the smallest 1, 2 or 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let exponent = libm::floor(libm::log10(step));
    let power = libm::pow(10.0, exponent);
    let digit = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|digit| digit * power >= step * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

fn decimals_of(step: f64) -> usize {
    (0..6)
        .find(|&decimals| {
            let scaled = step * libm::pow(10.0, f64::from(decimals));
            (scaled - libm::round(scaled)).abs() < 1e-6
        })
        .unwrap_or(6) as usize
}

/// Exponents that are written out: 0.001 to 1000.
const PLAIN: core::ops::RangeInclusive<i32> = -3..=3;

/// Formats a power of ten, written out if `plain`; all ticks of an axis use one form.
fn power_of_ten(exponent: i32, plain: bool) -> String {
    const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if plain {
        let decimals = usize::try_from(-exponent).unwrap_or(0);
        return format!("{:.decimals$}", libm::pow(10.0, f64::from(exponent)));
    }
    let digits = exponent.unsigned_abs().to_string();
    let digits = digits
        .bytes()
        .map(|digit| SUPERSCRIPTS[usize::from(digit - b'0')]);
    let sign = if exponent < 0 { "⁻" } else { "" };
    format!("10{sign}{}", digits.collect::<String>())
}

/// Orders floating-point numbers by their total order.
#[derive(Clone, Copy)]
struct Ordered(f64);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}
