//! A receiver's clock that stamps arrivals late by exponential noise, as interrupts, batches and
//! schedulers do.
//!
//! ```text
//! stamp_i = max(stamp_(i−1), arrival_i + e_i)      e_i exponential, independent; stamps never go back
//! ```
//!
//! In a simulator, arrival times are exact to the nanosecond, which favours rules that use
//! inter-arrival times. Only the classifier sees the noise; transport, truth and measurement keep
//! the exact time. A wrapper around the classifier adds the noise, so a flow without noise costs
//! nothing.

use whyloss::receiver::{Arrival, ReceiverClassifier};
use whyloss::{Cause, Duration, Time};
use whyloss_link::Random;

use crate::decider::{Decider, OutsideReceiver, ReceiverDecider};

/// A clock whose stamps are late by exponential noise.
#[derive(Clone, Debug)]
pub struct NoisyClock {
    mean: Duration,
    latest: Time,
    random: Random,
}

impl NoisyClock {
    /// Returns a clock whose stamps are late by `mean` on average, with draws from `random`.
    pub fn new(mean: Duration, random: Random) -> Self {
        Self {
            mean,
            latest: Time::ZERO,
            random,
        }
    }

    /// Returns the clock's stamp for an event at `now`. Stamps never decrease.
    pub fn stamp(&mut self, now: Time) -> Time {
        let noise = self.random.exponential(self.mean.as_nanos() as f64);
        self.latest = self.latest.max(now + Duration::from_nanos(noise as i64));
        self.latest
    }
}

/// A receiver classifier that gets arrivals with the stamps of a noisy clock.
struct Noisy {
    clock: NoisyClock,
    classifier: Box<dyn ReceiverClassifier + Send + Sync>,
}

impl ReceiverClassifier for Noisy {
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let received = self.clock.stamp(arrival.received);
        let heard = Arrival::new(arrival.sequence, arrival.sent, received, arrival.size);
        self.classifier.on_arrival(&heard, missing)
    }
}

/// Returns the decider with its arrivals stamped by `clock`. References that know the truth do not
/// use a clock and stay unchanged.
pub(crate) fn noisy(decider: ReceiverDecider, clock: NoisyClock) -> ReceiverDecider {
    let exact = match decider {
        Decider::Classifier(classifier) => OutsideReceiver::new(move || classifier.clone()),
        Decider::Outside(outside) => outside,
        truth => return truth,
    };
    Decider::Outside(OutsideReceiver::new(move || {
        Box::new(Noisy {
            clock: clock.clone(),
            classifier: exact.make(),
        })
    }))
}

#[cfg(test)]
mod tests {
    use whyloss_link::Streams;

    use super::*;
    use crate::scenario::Scenario;

    /// Stamps of distant packets are late by an exponential delay: its mean and deviation are
    /// right. Stamps of close packets keep their order.
    #[test]
    fn stamps_are_late_and_in_order() {
        let mean = Duration::from_micros(200);
        let mut clock = NoisyClock::new(mean, Streams::new(1).stream("clock", 0));
        let late: Vec<f64> = (0..20_000_u64)
            .map(|i| Time::from_nanos(i * 100_000_000))
            .map(|now| (clock.stamp(now) - now).as_nanos() as f64 / 200_000.0)
            .collect();
        let n = late.len() as f64;
        let found = late.iter().sum::<f64>() / n;
        let square = late.iter().map(|x| x * x).sum::<f64>() / n;
        // Three deviations: 1/√n of the mean, √20/√n of the square's.
        assert!((found - 1.0).abs() < 3.0 / n.sqrt(), "{found}");
        assert!((square - 2.0).abs() < 3.0 * 4.5 / n.sqrt(), "{square}");
        let start = Time::from_nanos(3_000_000_000_000);
        let stamps: Vec<Time> = (0..1_000)
            .map(|i| clock.stamp(start + Duration::from_micros(i)))
            .collect();
        assert!(stamps.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    /// Noise changes a classifier's verdicts and leaves an oracle's run unchanged; the same seed
    /// gives the same run.
    #[test]
    fn only_the_classifier_hears_it() {
        let run = |classifier: &str, noise: &str| {
            let scenario = Scenario::of(&format!(
                r#"
                duration = "30 s"
                {noise}
                link = [{{ from = "a", to = "b", rate = "2 Mbit/s", delay = "20 ms", queue = {{ packets = 9 }}, channel = {{ kind = "bernoulli", loss = 0.03 }} }}]
                flow = [{{ name = "f", from = "a", to = "b", packet = "1000 B", transport = "tfrc", classifier = "{classifier}" }}]
                "#
            ));
            crate::Simulation::new(&scenario, 3)
                .run()
                .expect("runs")
                .flows
        };
        let noise = "clock_noise = \"2 ms\"";
        for truth in ["oracle", "random"] {
            assert_eq!(run(truth, noise), run(truth, ""));
        }
        assert_eq!(run("mbiaz", noise), run("mbiaz", noise));
        let (noisy, exact) = (run("mbiaz", noise), run("mbiaz", ""));
        let recognised = |flows: &[crate::FlowResult]| {
            let gaps = &flows[0].gaps;
            1.0 - gaps.mw().expect("wireless losses")
        };
        assert!(recognised(&noisy) < 0.8 * recognised(&exact));
    }
}
