//! Records a quantity over time in bounded memory. A few hundred spans have a minimum, mean and
//! maximum each, and grow longer with the recording.

/// The maximum number of spans, an even number.
const SPANS: usize = 256;
/// The length of the first spans, in ns.
const FIRST: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Span {
    low: u32,
    high: u32,
    count: u32,
    sum: u64,
}

impl Span {
    fn add(&mut self, value: u32) {
        *self = self.join(Self {
            low: value,
            high: value,
            count: 1,
            sum: value.into(),
        });
    }

    fn join(self, other: Self) -> Self {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            count: self.count.saturating_add(other.count),
            sum: self.sum + other.sum,
        }
    }
}

/// A quantity over time. The field that holds the track documents the unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    start: u64,
    width: u64,
    spans: Vec<Span>,
    /// The index and start of the span that was changed last.
    last: (usize, u64),
}

/// A span of time and the values in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The middle of the span, in ns since 1970.
    pub time: u64,
    /// The smallest value in the span, in the track's unit.
    pub low: u32,
    /// The mean of the values in the span, in the track's unit.
    pub mean: f64,
    /// The largest value in the span, in the track's unit.
    pub high: u32,
}

impl Track {
    /// Records the value at `now` ns.
    pub(crate) fn add(&mut self, now: u64, value: u32) {
        // Most values are in the span of the previous one, which avoids a division.
        if let Some(span) = self.spans.get_mut(self.last.0)
            && now.wrapping_sub(self.last.1) < self.width
        {
            span.add(value);
            return;
        }
        if self.spans.is_empty() {
            (self.start, self.width) = (now, FIRST);
        }
        let mut place = now.saturating_sub(self.start) / self.width;
        while place >= SPANS as u64 {
            self.join_pairs();
            self.width = self.width.saturating_mul(2);
            place = now.saturating_sub(self.start) / self.width;
        }
        let place = place as usize;
        if place >= self.spans.len() {
            self.spans.resize(place + 1, Span::default());
        }
        self.spans[place].add(value);
        let begin = self.width.saturating_mul(place as u64);
        self.last = (place, self.start.saturating_add(begin));
    }

    /// Joins the first span with the second, the third with the fourth, and so on.
    fn join_pairs(&mut self) {
        let half = self.spans.len().div_ceil(2);
        for at in 0..half {
            let second = self.spans.get(2 * at + 1).copied().unwrap_or_default();
            self.spans[at] = self.spans[2 * at].join(second);
        }
        self.spans.truncate(half);
    }

    /// Returns a point for each span that has values, in order of time.
    pub fn points(&self) -> impl Iterator<Item = Point> {
        let known = self
            .spans
            .iter()
            .enumerate()
            .filter(|(_, span)| span.count > 0);
        known.map(|(place, span)| Point {
            time: self
                .start
                .saturating_add(self.width.saturating_mul(place as u64))
                .saturating_add(self.width / 2),
            low: span.low,
            mean: span.sum as f64 / f64::from(span.count),
            high: span.high,
        })
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.spans.capacity() * size_of::<Span>()
    }

    /// Returns the mean of the span at `time`, in ns since 1970. If that span is empty, returns the
    /// mean of the last span before it with values; `None` if there is none.
    pub fn at(&self, time: u64) -> Option<f64> {
        let place = time.checked_sub(self.start)? / self.width.max(1);
        let last = (place as usize).min(self.spans.len().checked_sub(1)?);
        let known = self.spans[..=last]
            .iter()
            .rev()
            .find(|span| span.count > 0)?;
        Some(known.sum as f64 / f64::from(known.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_spans_grow() {
        let mut track = Track::default();
        for n in 0..10_000_u32 {
            track.add(u64::from(n) * 700_000 + 5, n);
        }
        let points: Vec<Point> = track.points().collect();
        assert!(points.len() <= SPANS && points.len() > SPANS / 4);
        assert_eq!((points[0].low, points[points.len() - 1].high), (0, 9_999));
        assert!(
            points
                .windows(2)
                .all(|two| two[0].high < two[1].low && two[0].time < two[1].time)
        );
        let middle = track.at(5 + 3_500_000_000).expect("known");
        assert!((middle - 5_000.0).abs() < 50.0, "{middle}");
        assert_eq!(track.at(0), None);
    }

    #[test]
    fn time_that_jumps_is_survived() {
        let mut track = Track::default();
        track.add(u64::MAX - 10, 1);
        track.add(0, 2);
        let mut ahead = Track::default();
        ahead.add(0, 1);
        ahead.add(u64::MAX, 2);
        assert_eq!((track.points().count(), ahead.points().count()), (1, 2));
        assert_eq!(Track::default().at(7), None);
    }
}
