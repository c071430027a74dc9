//! Counters over time, for live pages.

use whyloss_study::outcome::{CAUSES, word};
use whyloss_study::{Figure, Look, Panel, Series, Sign};

use crate::run::picture::add_losses;

/// The maximum number of samples, about one per pixel of a chart.
const MOST: usize = 800;

/// The counters at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// The time since the start, in seconds.
    pub(crate) at_s: f64,
    /// The number of bytes so far.
    pub(crate) bytes: u64,
    /// The number of packets that wait.
    pub(crate) waiting: Option<usize>,
    /// The number of packets lost so far, for each of [`CAUSES`].
    pub(crate) lost: [u64; CAUSES.len()],
}

/// The counters of a link or session.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Vec<Sample>);

impl History {
    /// Appends a sample, which must not be earlier than the last. When there are too many, every
    /// second one is dropped. Rates, which are differences, stay correct.
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.0.len() == MOST {
            let mut index = 0;
            self.0.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
        self.0.push(sample);
    }

    /// Returns the figure. `sign` gives the mark for a loss with this cause, and `called` the word
    /// before the cause in the mark's name, such as `lost`.
    pub(crate) fn figure(
        &self,
        name: &str,
        caption: &str,
        called: &str,
        sign: fn(whyloss::Cause) -> Sign,
    ) -> Figure {
        let pairs = || self.0.iter().zip(self.0.iter().skip(1));
        let rate = pairs().map(|(from, to)| {
            let seconds = (to.at_s - from.at_s).max(1e-9);
            (
                to.at_s,
                (to.bytes.saturating_sub(from.bytes)) as f64 * 8e-3 / seconds,
            )
        });
        let mut series = vec![Series::new("rate", Look::Line, rate)];
        let kinds = CAUSES.iter().enumerate().map(|(kind, &cause)| {
            let lost = pairs().filter(|(from, to)| to.lost[kind] > from.lost[kind]);
            let times = lost.map(|(_, to)| to.at_s).collect();
            (format!("{called}: {}", word(cause)), sign(cause), times)
        });
        add_losses(&mut series, kinds);
        let mut panels = vec![Panel::new(
            "rate and losses",
            ("time (s)", "kbit/s"),
            series,
        )];
        let waiting = self.0.iter();
        let waiting: Vec<(f64, f64)> = waiting
            .filter_map(|sample| Some((sample.at_s, sample.waiting? as f64)))
            .collect();
        if !waiting.is_empty() {
            let series = vec![Series::new("waiting", Look::Line, waiting)];
            panels.push(Panel::new("queue", ("time (s)", "packets waiting"), series));
        }
        Figure {
            name: name.to_owned(),
            caption: caption.to_owned(),
            panels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_losses_come_from_differences_and_samples_stay_bounded() {
        let mut history = History::default();
        for second in 0..3 * MOST as u64 {
            history.push(Sample {
                at_s: second as f64,
                bytes: 125 * second,
                waiting: None,
                lost: [u64::from(second >= 2000), 0],
            });
            assert!(history.0.len() <= MOST);
        }
        let figure = history.figure("a", "b", "lost", |cause| {
            Sign::of_loss(Some(cause), Some(cause))
        });
        let [rate, lost] = &figure.panels[0].series[..] else {
            panic!("a line and one kind of losses");
        };
        assert!(rate.points.iter().all(|point| (point.1 - 1.0).abs() < 1e-9));
        assert_eq!(
            (lost.name.as_str(), lost.points.len()),
            ("lost: congestion", 1)
        );
        assert!((lost.points[0].0 - 2000.0).abs() < 8.0);
    }
}
