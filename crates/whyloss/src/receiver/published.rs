//! Runs all published receiver classifiers side by side, with their defaults.
//!
//! Their rules share statistics: T_min, the range, mean and deviation of rott, and T_avg.
//! [`Published`] keeps each of them once, for programs that need every classifier's verdict on
//! every gap. The test below compares its verdicts with those of the registry's separate
//! classifiers.

use super::Arrival;
use super::biaz::Biaz;
use super::spike::Spike;
use super::zbs::{Base, Bases, Choice, Lock, Rule};
use crate::{Cause, Duration};

/// The published receiver classifiers, with their defaults.
///
/// ```
/// use whyloss::receiver::{Arrival, Published};
/// use whyloss::{Cause, Time};
///
/// let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
/// let arrival = |sequence, sent| Arrival::new(sequence, ms(sent), ms(sent + 20), 762);
/// let mut published = Published::default();
/// assert_eq!(published.on_arrival(&arrival(0, 0), 0), None);
/// assert_eq!(published.on_arrival(&arrival(1, 40), 0), None);
/// let causes = published.on_arrival(&arrival(3, 120), 1).expect("a gap");
/// assert_eq!((Published::IDS[0], causes[0]), ("biaz", Cause::Wireless));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    bases: Bases,
    tobe: Spike,
    hybrids: [Choice; 4],
}

impl Published {
    /// The ids of the classifiers in the registry, in the registry's order.
    pub const IDS: [&str; 10] = [
        "biaz",
        "mbiaz",
        "mbiaz-2003",
        "spike",
        "tobe",
        "zigzag",
        "zbs",
        "zbs2",
        "zbs3",
        "zbs-2003",
    ];

    /// Updates the classifiers with an arrival, like
    /// [`ReceiverClassifier::on_arrival`](super::ReceiverClassifier). Returns their causes for the
    /// gap before the arrival, in the order of [`Self::IDS`]; `None` if there is no gap.
    #[inline]
    pub fn on_arrival(
        &mut self,
        arrival: &Arrival,
        missing: u64,
    ) -> Option<[Cause; Self::IDS.len()]> {
        let rott = arrival.rott();
        let interval = self.bases.biaz.interval(arrival);
        let compared = self.bases.zigzag.compared(rott);
        self.bases.update(arrival, interval);
        self.tobe.update(rott);
        for hybrid in &mut self.hybrids {
            hybrid.update(&self.bases, arrival, interval, missing);
        }
        (missing > 0).then(|| self.judge(compared, interval, missing))
    }

    #[cold]
    fn judge(
        &self,
        compared: Option<Duration>,
        interval: Option<Duration>,
        missing: u64,
    ) -> [Cause; Self::IDS.len()] {
        let [biaz, mbiaz, mbiaz_2003] = [Biaz::BIAZ, Biaz::MBIAZ, Biaz::MBIAZ_2003]
            .map(|upper| self.bases.biaz.with_upper(upper).judge(interval, missing));
        let spike = self.bases.spike.judge();
        let zigzag = self.bases.zigzag.judge(compared, missing);
        let hybrid = |at: usize, mbiaz: Cause| match self.hybrids[at].base() {
            Base::MBiaz => mbiaz,
            Base::Spike => spike,
            Base::ZigZag => zigzag,
        };
        [
            biaz,
            mbiaz,
            mbiaz_2003,
            spike,
            self.tobe.judge(),
            zigzag,
            hybrid(0, mbiaz),
            hybrid(1, mbiaz),
            hybrid(2, mbiaz),
            hybrid(3, mbiaz_2003),
        ]
    }
}

impl Default for Published {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            bases: Bases::new(Biaz::MBIAZ),
            tobe: Spike::tobe(ms(20), ms(5)),
            hybrids: [
                Choice::new(Rule::Zbs, Lock::PAPER),
                Choice::new(Rule::Zbs2, Lock::PAPER),
                Choice::new(Rule::Zbs3, Lock::PAPER),
                Choice::new(Rule::Zbs2003, Lock::NONE),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Classifier, ReceiverClassifier, find};
    use super::*;
    use crate::Time;

    /// Returns a generator of numbers below a bound.
    fn draws(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        }
    }

    /// The registry gives the same verdicts for bursts, waves of delay, gaps, pauses and clocks set
    /// back.
    #[test]
    fn the_registry_says_the_same() {
        let mut different = [0; Published::IDS.len()];
        for seed in 0..40 {
            let mut draw = draws(seed);
            let mut single: [Classifier; Published::IDS.len()] = Published::IDS
                .map(|id| find(id).expect("registered").build(&[]).expect("defaults"));
            let mut published = Published::default();
            let (mut now, spacing) = (1_u64 << 40, 1 + draw(20_000_000));
            for number in 0..2_000 {
                now = match draw(400) {
                    0 => now - draw(5_000_000_000),
                    1 => now + draw(9_000_000_000),
                    _ if draw(3) == 0 => now + spacing,
                    _ => now + draw(3 * spacing),
                };
                let wave = (number / 64 % 8) * draw(10_000_000);
                let sent = Time::from_nanos(now - (1 << 39) - wave - draw(1_000_000));
                let arrival = Arrival::new(number, sent, Time::from_nanos(now), 1000);
                let missing = if draw(12) == 0 { 1 + draw(5) } else { 0 };
                let causes = published.on_arrival(&arrival, missing);
                for (at, classifier) in single.iter_mut().enumerate() {
                    let cause = classifier.on_arrival(&arrival, missing);
                    assert_eq!(
                        causes.map(|causes| causes[at]),
                        cause,
                        "{} {seed} {number}",
                        Published::IDS[at]
                    );
                    different[at] += u32::from(cause.is_some() && cause != causes.map(|c| c[0]));
                }
            }
        }
        // Each rule differs from Biaz in at least one verdict.
        assert!(
            different[1..].iter().all(|&often| often > 0),
            "{different:?}"
        );
    }
}
