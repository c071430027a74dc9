//! Counters over time, for pages of what happens in real time.

use whyloss_study::outcome::{CAUSES, word};
use whyloss_study::{Figure, Look, Panel, Series, Sign};

use crate::run::picture::add_losses;

/// Samples that are kept, of which a chart has about as many pixels.
const MOST: usize = 800;

/// Counters at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Seconds since the start.
    pub(crate) at_s: f64,
    /// Bytes so far.
    pub(crate) bytes: u64,
    /// Packets waiting.
    pub(crate) waiting: Option<usize>,
    /// Packets lost so far for each of [`CAUSES`].
    pub(crate) lost: [u64; CAUSES.len()],
}

/// The counters of a link or session.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Vec<Sample>);

impl History {
    /// Takes the next sample, not earlier than the last; halves the samples when there are too
    /// many. Counters lose nothing by that, as rates are differences.
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

    /// Returns the picture; `sign` says how a loss of a cause is drawn, `called` what it is called.
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
