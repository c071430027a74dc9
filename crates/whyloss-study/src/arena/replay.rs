//! Runs all classifiers on the same arrivals, once from the oracle's traffic and once from that of
//! `unaware`.
//!
//! In closed loop, a classifier shapes its own traffic: if it mistakes congestion for errors, it
//! fills queues and causes losses that others never see. El Khayat, Geurts and Leduc point this out
//! for every closed-loop comparison. Here one contender drives the flows while every classifier
//! observes the same arrivals. Classifiers with a threshold run at several values, which gives a
//! curve of Mc against 1 − Mw.

use whyloss::receiver::{self, Arrival};
use whyloss::{Cause, Confusion, Time};
use whyloss_sim::decider::{RECEIVERS, ReceiverDecider};
use whyloss_sim::packet::Payload;
use whyloss_sim::{Event, Registry, Watch};

use super::{Contender, LEAST, Network, Setting, Transport, Variant, is_judged};
use crate::{Context, ExperimentError, statistics};

/// A receiver classifier at one value of its threshold.
#[derive(Clone, Debug)]
struct Candidate {
    id: &'static str,
    /// The value of the threshold; `None` for the default.
    threshold: Option<f64>,
    classifier: ReceiverDecider,
}

/// The thresholds of the curves: classifier, parameter, and values.
const THRESHOLDS: &[(&str, &str, &[f64])] = &[
    (
        "biaz",
        "upper",
        &[1.01, 1.1, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0],
    ),
    (
        "mbiaz",
        "upper",
        &[1.01, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0],
    ),
    (
        "spike",
        "alpha",
        &[0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    ),
    (
        "tobe",
        "start_ms",
        &[1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0],
    ),
];

/// Returns every receiver classifier at its defaults, and classifiers with a threshold at each
/// value.
fn candidates(registry: &Registry) -> Vec<Candidate> {
    let known = registry.receivers();
    let build = |id: &'static str, threshold: Option<(&str, f64)>| {
        let value = threshold.map(|(_, value)| value);
        // The end of a spike keeps its default ratio to the start: 1/3 to 1/2, and 5 ms to 20 ms.
        let end = match (id, value) {
            ("spike", Some(value)) => Some(("beta", value * 2.0 / 3.0)),
            ("tobe", Some(value)) => Some(("end_ms", value / 4.0)),
            _ => None,
        };
        let overrides: Vec<(&str, f64)> = threshold.into_iter().chain(end).collect();
        let classifier = known.build(id, &overrides)?.ok()?;
        Some(Candidate {
            id,
            threshold: value,
            classifier,
        })
    };
    // Skip the references, which know the truth.
    let reference = |id: &str| receiver::find(id).is_none() && RECEIVERS.find(id).is_some();
    let ids = known
        .lines()
        .map(|line| line.id)
        .filter(|id| !reference(id));
    let defaults = ids.map(|id| build(id, None));
    let curves = THRESHOLDS.iter().flat_map(|&(id, name, values)| {
        values
            .iter()
            .map(move |&value| build(id, Some((name, value))))
    });
    defaults.chain(curves).flatten().collect()
}

/// Observes the judged flows and records the verdict of every candidate.
struct Bank {
    flows: Vec<Option<Ear>>,
    from: Time,
    counts: Vec<Confusion>,
}

/// The state of one observed flow.
struct Ear {
    candidates: Vec<ReceiverDecider>,
    expected: u64,
    /// The true causes of the losses that the next arrival reveals.
    truth: Vec<Cause>,
}

impl Watch for Bank {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Judged { flow, truth, .. } => {
                if let Some(ear) = &mut self.flows[flow] {
                    ear.truth.push(truth);
                }
            }
            Event::Arrived {
                flow, at, packet, ..
            } => {
                let (Some(ear), Payload::TfrcData(data)) = (&mut self.flows[flow], &packet.payload)
                else {
                    return;
                };
                let missing = data.sequence.saturating_sub(ear.expected);
                ear.expected = ear.expected.max(data.sequence.saturating_add(1));
                let arrival = Arrival::new(data.sequence, data.stamp, at, packet.size);
                for (candidate, count) in ear.candidates.iter_mut().zip(&mut self.counts) {
                    if let Some(said) = candidate.hear(&arrival, missing)
                        && at >= self.from
                    {
                        for &truth in &ear.truth {
                            count.record(truth, said);
                        }
                    }
                }
                ear.truth.clear();
            }
            _ => {}
        }
    }
}

/// The verdicts of all candidates on the arrivals of one contender's traffic.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The contender that drives the flows.
    pub driver: Contender,
    /// The candidates in the registry's order, then curves by rising threshold.
    pub lines: Vec<Line>,
}

/// The scores of one candidate.
#[derive(Clone, Debug)]
pub struct Line {
    /// The id of the classifier.
    pub id: &'static str,
    /// The value of the threshold; `None` for the default.
    pub threshold: Option<f64>,
    /// Mc in percent, for each network with enough congestion losses.
    pub mc: Vec<f64>,
    /// Mw in percent, for each network with enough wireless losses.
    pub mw: Vec<f64>,
    /// 1 − (Mc + Mw)/2, for each network with enough of both.
    pub balanced: Vec<f64>,
}

impl Line {
    /// Returns the means of Mc and Mw in percent, or `None` if either has no value.
    pub fn point(&self) -> Option<(f64, f64)> {
        statistics::mean(&self.mc).zip(statistics::mean(&self.mw))
    }
}

/// Runs every receiver classifier on the arrivals of flows that the oracle and then `unaware`
/// control.
///
/// # Errors
/// Returns the errors of [`super::run`].
pub fn replay(
    context: &Context<'_>,
    setting: &Setting,
    registry: &Registry,
) -> Result<Vec<Replay>, ExperimentError> {
    let networks = setting.draw();
    let candidates = candidates(registry);
    let replay = |driver: Contender| {
        let counts = context.each(
            &networks,
            |network| format!("{setting:?} replay {} {driver:?}", network.index),
            |network, seed| listen(network, &driver, &candidates, seed),
        )?;
        if context.stopped() {
            return Err(ExperimentError::Stopped);
        }
        let of_network = |runs: &crate::Replications<Vec<Confusion>>| {
            let mut sum = vec![Confusion::default(); candidates.len()];
            for run in runs {
                for (sum, count) in sum.iter_mut().zip(run.iter()) {
                    sum.merge(count);
                }
            }
            sum
        };
        let counts: Vec<Vec<Confusion>> = counts.iter().map(of_network).collect();
        let line = |(at, candidate): (usize, &Candidate)| {
            let mut line = Line {
                id: candidate.id,
                threshold: candidate.threshold,
                mc: Vec::new(),
                mw: Vec::new(),
                balanced: Vec::new(),
            };
            for network in &counts {
                let count = &network[at];
                let enough = |cause| count.total(cause) >= LEAST;
                let mc = count.mc().filter(|_| enough(Cause::Congestion));
                let mw = count.mw().filter(|_| enough(Cause::Wireless));
                line.mc.extend(mc.map(|share| 100.0 * share));
                line.mw.extend(mw.map(|share| 100.0 * share));
                let both = mc.zip(mw).map(|(mc, mw)| 1.0 - f64::midpoint(mc, mw));
                line.balanced.extend(both);
            }
            line
        };
        let lines = candidates.iter().enumerate().map(line).collect();
        Ok(Replay { driver, lines })
    };
    [Contender::oracle(), Contender::unaware()]
        .into_iter()
        .map(replay)
        .collect()
}

/// Runs one network with one seed while every candidate observes.
fn listen(
    network: &Network,
    driver: &Contender,
    candidates: &[Candidate],
    seed: u64,
) -> Result<Vec<Confusion>, ExperimentError> {
    let registry = Registry::new();
    let scenario = driver.scenario(network, Transport::Tfrc, Variant::Drawn, &registry);
    let scenario = scenario.map_err(|error| ExperimentError::Failed(error.into()))?;
    let ear = |flow| {
        is_judged(flow).then(|| Ear {
            candidates: candidates.iter().map(|c| c.classifier.clone()).collect(),
            expected: 0,
            truth: Vec::new(),
        })
    };
    let mut bank = Bank {
        flows: scenario.flows.iter().map(ear).collect(),
        from: scenario.measure_from,
        counts: vec![Confusion::default(); candidates.len()],
    };
    whyloss_sim::Simulation::new(&scenario, seed)
        .watch(&mut bank)
        .run()
        .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
    Ok(bank.counts)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::experiment::Unwatched;

    /// A classifier that observes its own traffic repeats the verdicts that it gave there.
    #[test]
    fn beside_itself_it_says_the_same() {
        let network = Network::draw(3, 1, &Setting::default());
        let driver = Contender("zbs".into());
        let ours = Registry::new();
        let candidates = candidates(&ours);
        let heard = listen(&network, &driver, &candidates, 1).expect("runs");
        let scenario = driver.scenario(&network, Transport::Tfrc, Variant::Drawn, &ours);
        let scenario = scenario.expect("valid");
        let run = whyloss_sim::Simulation::new(&scenario, 1)
            .run()
            .expect("runs");
        let mut said = Confusion::default();
        for flow in run.flows.iter().filter(|flow| !flow.background) {
            said.merge(&flow.packets);
        }
        let at = candidates.iter().position(|c| c.id == "zbs");
        assert_eq!(heard[at.expect("a candidate")], said);
        assert!(said.total(Cause::Congestion) + said.total(Cause::Wireless) > 0);
    }

    /// All candidates see the same losses, and a threshold moves verdicts in one direction.
    #[test]
    fn same_losses_for_all() {
        let stop = AtomicBool::new(false);
        let context = Context::new(&Unwatched, &stop).with_seeds(1);
        let setting = Setting {
            networks: 3,
            ..Setting::default()
        };
        let replays = replay(&context, &setting, &Registry::new()).expect("not stopped");
        for replay in &replays {
            let lengths = |line: &Line| (line.mc.len(), line.mw.len());
            let first = lengths(&replay.lines[0]);
            assert!(replay.lines.iter().all(|line| lengths(line) == first));
            // The longer the allowed interval, the more losses are called wireless.
            let curve: Vec<_> = replay
                .lines
                .iter()
                .filter(|line| line.id == "biaz" && line.threshold.is_some())
                .filter_map(Line::point)
                .collect();
            for pair in curve.windows(2) {
                assert!(
                    pair[0].0 <= pair[1].0 && pair[0].1 >= pair[1].1,
                    "{curve:?}"
                );
            }
        }
    }
}
