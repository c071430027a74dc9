//! The lateness of arrivals that each classifier tolerates. In these simulations, receivers stamp
//! arrivals as late as sockets did, or a multiple of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use whyloss::receiver::{Arrival, Classifier, ReceiverClassifier};
use whyloss::{Cause, Duration, Time};
use whyloss_sim::Scenario;
use whyloss_sim::decider::{Decider, OutsideReceiver};
use whyloss_sim::scenario::Transport;

use super::classifiers::{Measured, ids, job, late_arrivals, simulated, sizes};
use super::{Bench, RealityError, Table};

/// The tested mean latenesses, in ns. The shape of the distribution stays the same.
const MEANS: [u64; 7] = [
    10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000,
];
/// The classifier that must stay within the limits under the measured lateness.
const OURS: &str = "trees";
/// The distance between the positions in the distribution at which the flows of a run begin.
const STRIDE: usize = 7_919;

/// The measured lateness in ns, in the order of arrivals, so that stalls keep their length.
#[derive(Clone)]
struct Law(Arc<[u64]>);

impl Law {
    fn mean(&self) -> u64 {
        self.0.iter().sum::<u64>() / self.0.len().max(1) as u64
    }

    fn quantile(&self, quantile: f64) -> u64 {
        let mut sorted = self.0.to_vec();
        sorted.sort_unstable();
        let at = (sorted.len().saturating_sub(1)) as f64 * quantile;
        sorted.get(at as usize).copied().unwrap_or(0)
    }

    /// Returns the distribution scaled to another mean.
    fn with_mean(&self, mean: u64) -> Self {
        let factor = mean as f64 / self.mean().max(1) as f64;
        let scaled = self.0.iter().map(|&late| (late as f64 * factor) as u64);
        Self(scaled.collect())
    }
}

/// A classifier that sees arrivals late.
struct Late {
    law: Law,
    next: usize,
    latest: Time,
    classifier: Classifier,
}

impl ReceiverClassifier for Late {
    fn on_arrival(&mut self, arrival: &Arrival, missing: u64) -> Option<Cause> {
        let late = self.law.0[self.next % self.law.0.len()];
        self.next += 1;
        let stamp = arrival.received + Duration::from_nanos(late.cast_signed());
        // A clock never goes back.
        self.latest = self.latest.max(stamp);
        let heard = Arrival::new(arrival.sequence, arrival.sent, self.latest, arrival.size);
        self.classifier.on_arrival(&heard, missing)
    }
}

/// Adds this lateness to the arrival stamps of every receiver of the scenario.
fn delay(scenario: &mut Scenario, law: &Law) {
    let places = Arc::new(AtomicUsize::new(0));
    for flow in &mut scenario.flows {
        let Transport::Tfrc { classifier, .. } = &mut flow.transport else {
            continue;
        };
        let Decider::Classifier(exact) = classifier.clone() else {
            continue;
        };
        let (law, places) = (law.clone(), places.clone());
        *classifier = Decider::Outside(OutsideReceiver::new(move || {
            Box::new(Late {
                law: law.clone(),
                next: places.fetch_add(1, Ordering::Relaxed) * STRIDE,
                latest: Time::ZERO,
                classifier: (*exact).clone(),
            })
        }));
    }
}

/// The tolerance of one classifier in one network.
struct Tolerance {
    /// Whether the classifier is within the limits under the measured distribution.
    as_measured: bool,
    /// The highest tested mean lateness, in ns, that the classifier tolerates; `None` if it
    /// tolerates none of them.
    most: Option<u64>,
}

pub(super) fn tolerance(bench: &Bench) -> Result<Table, RealityError> {
    let (counts, seconds, _) = sizes(bench.quick);
    let mut laws = Vec::new();
    for name in ["WLH", "WB"] {
        let job = job(bench, name, 1, "unaware", seconds, 1)?;
        job.run(bench, seconds + 60)?.succeeded(&job)?;
        let late = late_arrivals(&job)?;
        if late.iter().sum::<u64>() == 0 {
            return Err(RealityError::Result(format!(
                "{name}: no arrival was late, or there was none"
            )));
        }
        laws.push((name, Law(late.into())));
    }
    let cells: Vec<(&str, &Law, u32)> = laws
        .iter()
        .flat_map(|(name, law)| counts.iter().map(move |&flows| (*name, law, flows)))
        .collect();
    let said = laws.iter().map(|(name, law)| {
        let millis = |nanos: u64| nanos as f64 / 1e6;
        format!(
            "{name}: {:.3} ms on average, 99 % within {:.3}, at most {:.3}, of {} arrivals",
            millis(law.mean()),
            millis(law.quantile(0.99)),
            millis(law.quantile(1.0)),
            law.0.len()
        )
    });
    let mut head = vec!["classifier".to_owned()];
    head.extend(
        cells
            .iter()
            .map(|(name, _, flows)| format!("{name}, {flows}, ms")),
    );
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(
        "tolerance",
        "Lateness that classifiers tolerate",
        &format!(
            "Simulations of the networks of the table above (10 runs of {seconds} s), in which classifiers hear of each arrival late. How late is measured: the arrivals of a flow over sockets, in \
             their order, against the emulator's log ({}). This lateness, times a factor, has means of {} ms; a cell has the greatest up to which \
             throughput, Mc and Mw stay within the limits of the table above around the simulation without lateness.",
            said.collect::<Vec<_>>().join("; "),
            MEANS.map(in_millis).join(", "),
        ),
        &head,
    );
    let (mut rows, mut within, mut ours) = (0, 0, true);
    let quick = [OURS, "zigzag"];
    for id in ids(false) {
        if bench.quick && !quick.contains(&id) {
            continue;
        }
        let answers = thread::scope(|scope| {
            let one = |&(name, law, flows): &(&'static str, &Law, u32)| {
                let law = law.clone();
                scope.spawn(move || tolerated(name, flows, id, seconds, &law))
            };
            let threads: Vec<_> = cells.iter().map(one).collect();
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(answer) => answer,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Result<Vec<_>, _>>()
        })?;
        rows += answers.len();
        within += answers.iter().filter(|answer| answer.as_measured).count();
        ours &= id != OURS || answers.iter().all(|answer| answer.as_measured);
        let cell = |answer: &Tolerance| {
            answer
                .most
                .map_or_else(|| format!("< {}", in_millis(MEANS[0])), in_millis)
        };
        let cells = answers.iter().map(cell);
        table
            .rows
            .push([id.to_owned()].into_iter().chain(cells).collect());
    }
    table.check_when_quiet(
        format!(
            "with lateness as measured, {within} of {rows} are within the limits, `{OURS}` in every network"
        ),
        ours,
    );
    Ok(table)
}

fn in_millis(nanos: u64) -> String {
    format!("{}", nanos as f64 / 1e6)
}

fn tolerated(
    name: &str,
    flows: u32,
    id: &str,
    seconds: u64,
    law: &Law,
) -> Result<Tolerance, RealityError> {
    let simulate = |law: Option<&Law>| -> Result<Measured, RealityError> {
        simulated(name, flows, id, seconds, |scenario| {
            if let Some(law) = law {
                delay(scenario, law);
            }
        })
    };
    let exact = simulate(None)?;
    let as_measured = exact.is_within(&simulate(Some(law))?);
    let mut most = None;
    for mean in MEANS {
        if !exact.is_within(&simulate(Some(&law.with_mean(mean)))?) {
            break;
        }
        most = Some(mean);
    }
    Ok(Tolerance { as_measured, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law() -> Law {
        Law(Arc::from([0, 1_000_000, 0, 3_000_000]))
    }

    #[test]
    fn a_law_keeps_its_form() {
        let law = law();
        assert_eq!((law.mean(), law.quantile(1.0)), (1_000_000, 3_000_000));
        let scaled = law.with_mean(10_000);
        assert_eq!(scaled.0[..], [0, 10_000, 0, 30_000]);
    }

    /// Lateness of zero changes nothing. If packets are milliseconds late, classifiers that use the
    /// shortest gap between arrivals take wireless losses for congestion.
    #[test]
    fn the_least_gap_is_spoilt() {
        let run = |law: Option<Law>| {
            simulated("WB", 1, "zbs", 20, |scenario| {
                if let Some(law) = &law {
                    delay(scenario, law);
                }
            })
            .unwrap()
        };
        let (exact, prompt) = (run(None), run(Some(Law(Arc::from([0])))));
        assert!(
            exact
                .differences(&prompt)
                .iter()
                .all(|&points| points < 1e-9)
        );
        assert!(!exact.is_within(&run(Some(law()))));
    }
}
