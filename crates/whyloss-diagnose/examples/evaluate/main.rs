//! Scores the diagnosis on captures of simulated networks, whose true causes are known, for
//! `docs/evidence/diagnosis.md`.
//!
//! ```sh
//! cargo run --release -p whyloss-diagnose --example evaluate            # the tables
//! cargo run --release -p whyloss-diagnose --example evaluate -- --fit   # the weights
//! ```
//!
//! Networks 0, 2, 4, … serve to find weights, and networks 1, 3, 5, … to score them. `--networks N`
//! takes the first N of both together. `--radio` replaces every noisy channel by one that is bad
//! for stretches of time. Weights are found on both kinds, from captures alone, not from logs of
//! QUIC. `--fit` prints the weights, and then the tables of both kinds with these weights.

mod fit;
mod networks;
mod qlog;
mod table;
mod truth;

use std::collections::HashMap;
use std::fs::File;
use std::io::Cursor;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use whyloss::Cause;
use whyloss_diagnose::loss::{Side, Sure, Votes};
use whyloss_diagnose::verdict::Features;
use whyloss_diagnose::{Options, Vantage, diagnose};
use whyloss_sim::{NodeCapture, Scenario, Simulation};

use networks::Network;
use qlog::Qlog;
use truth::Truth;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The places at which captures are taken.
pub(crate) const PLACES: [(&str, &str); 4] = [
    ("s", "at the sender"),
    ("r1", "before the bottleneck"),
    ("r2", "behind it"),
    ("d", "at the receiver"),
];

/// The log of a QUIC sender, instead of a capture.
pub(crate) const QUIC: usize = PLACES.len();

/// A loss that was found, and its true cause if it was a loss.
pub(crate) struct Found {
    pub(crate) place: usize,
    /// Whether the network's channel is bad for stretches of time, and the network's number.
    pub(crate) network: (bool, u64),
    pub(crate) controller: &'static str,
    pub(crate) side: Side,
    pub(crate) truth: Option<Cause>,
    pub(crate) votes: Votes,
    pub(crate) verdict: Option<Sure>,
    pub(crate) features: Option<Features>,
}

/// One capture's score.
pub(crate) struct Score {
    pub(crate) place: usize,
    pub(crate) network: (bool, u64),
    pub(crate) controller: &'static str,
    pub(crate) vantage: Vantage,
    /// The numbers of original transmissions that never arrived and of those found, before and
    /// beyond the capture.
    pub(crate) originals: [[u64; 2]; 2],
    /// The number of originals lost before the capture that left no gap, because no later packet
    /// passed before their repair.
    pub(crate) traceless: u64,
    /// The number of retransmissions lost beyond the capture, and of those found.
    pub(crate) again: [u64; 2],
    pub(crate) spurious: u64,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        arguments
            .iter()
            .position(|a| a == name)
            .and_then(|at| arguments.get(at + 1))
    };
    let networks = value("--networks").map_or(Ok(400), |value| value.parse())?;
    let fitting = arguments.iter().any(|argument| argument == "--fit");
    let radio = arguments.iter().any(|argument| argument == "--radio");
    let only: Option<u64> = value("--only").map(|value| value.parse()).transpose()?;
    let jobs: Vec<(u64, bool)> = (0..networks)
        .flat_map(|index| [(index, false), (index, true)])
        .filter(|&(index, of_radio)| fitting || (index % 2 == 1 && of_radio == radio))
        .filter(|&(index, _)| only.is_none_or(|only| only == index))
        .collect();
    let directory = tempfile::tempdir()?;
    let next = AtomicUsize::new(0);
    let results = Mutex::new((Vec::new(), Vec::new(), Vec::<Failure>::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(&(index, radio)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let network = networks::draw(index, radio);
                    let judged = judge(&network, directory.path(), only.is_some());
                    let Ok(mut results) = results.lock() else {
                        return;
                    };
                    match judged {
                        Ok((scores, found)) => {
                            results.0.extend(scores);
                            results.1.extend(found);
                        }
                        Err(failure) => {
                            results.2.push(format!("network {index}: {failure}").into());
                        }
                    }
                }
            });
        }
    });
    let (mut scores, mut found, failures) = results.into_inner().map_err(|_| "a thread failed")?;
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    scores.sort_by_key(|score| (score.place, score.network));
    found.sort_by_key(|found| (found.place, found.network));
    if fitting {
        let (training, judged): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|one| one.network.1 % 2 == 0);
        found = judged;
        let fits = [Side::Beyond, Side::Before].map(|side| fit::fit(&training, side));
        fit::print(fits);
        fit::judge(&mut found, fits);
        scores.retain(|score| score.network.1 % 2 == 1);
    }
    let (in_stretches, plain): (Vec<_>, Vec<_>) = scores.into_iter().partition(|one| one.network.0);
    let (of_stretches, of_plain): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|one| one.network.0);
    for (scores, found) in [(plain, of_plain), (in_stretches, of_stretches)] {
        if !scores.is_empty() {
            table::print(&scores, &found);
        }
        if arguments.iter().any(|argument| argument == "--each") {
            table::print_each(&scores);
        }
    }
    Ok(())
}

/// Runs a network, captures it everywhere, and scores each capture.
fn judge(
    network: &Network,
    directory: &Path,
    show: bool,
) -> Result<(Vec<Score>, Vec<Found>), Failure> {
    let scenario = Scenario::from_toml(&network.scenario, "drawn", &[])?;
    let node = |name: &str| {
        scenario
            .nodes
            .iter()
            .position(|node| node == name)
            .ok_or("no such node")
    };
    let path =
        |place: usize| directory.join(format!("{}-{}-{place}.pcapng", network.id.0, network.id.1));
    let capture = |place: usize| {
        Ok::<_, Failure>(NodeCapture::new(
            &scenario,
            node(PLACES[place].0)?,
            &path(place),
        ))
    };
    let mut observers = (
        (
            Truth::new(&scenario),
            Qlog::new(&scenario, node("s")?, node("d")?),
        ),
        ((capture(0)?, capture(1)?), (capture(2)?, capture(3)?)),
    );
    Simulation::new(&scenario, network.id.1 + 1)
        .watch(&mut observers)
        .run()?;
    let ((truth, qlog), ((a, b), (c, d))) = observers;
    for capture in [a, b, c, d] {
        capture.finish()?;
    }
    let (mut scores, mut all) = (Vec::new(), Vec::new());
    for (place, (name, _)) in PLACES.iter().enumerate() {
        let (score, found) = score(network, &truth, node(name)?, place, &path(place), show)?;
        std::fs::remove_file(path(place))?;
        scores.push(score);
        all.extend(found);
    }
    all.extend(of_quic(network, qlog)?);
    Ok((scores, all))
}

/// Diagnoses the log that a QUIC sender would have written.
fn of_quic(network: &Network, qlog: Qlog) -> Result<Vec<Found>, Failure> {
    let (log, causes) = qlog.write();
    let diagnosis = diagnose(Box::new(Cursor::new(log)), Options::default())?;
    let flow = diagnosis.flows.into_iter().next().ok_or("an empty log")?;
    let found = flow.losses.iter().zip(&flow.features);
    let found = found.map(|(loss, features)| {
        let event = loss.event.and_then(|event| flow.events.get(event as usize));
        Found {
            place: QUIC,
            network: network.id,
            controller: network.controller,
            side: loss.side,
            truth: causes.get(&loss.offset).copied(),
            votes: event.map_or_else(Votes::default, |event| event.votes),
            verdict: loss.verdict,
            features: *features,
        }
    });
    Ok(found.collect())
}

#[allow(clippy::too_many_lines, reason = "a comparison, step by step")]
fn score(
    network: &Network,
    truth: &Truth,
    node: usize,
    place: usize,
    path: &Path,
    show: bool,
) -> Result<(Score, Vec<Found>), Failure> {
    let diagnosis = diagnose(Box::new(File::open(path)?), Options::default())?;
    // The source port of the judged flow is the first one.
    let flow = diagnosis.flows.into_iter().find(|flow| {
        flow.source.port() == 49_152
            && flow.destination.port() == 49_152
            && flow.counts.data_bytes > 1000
    });
    let flow = flow.ok_or("the judged flow is not in the capture")?;
    let segment = 1448;
    let mut score = Score {
        place,
        network: network.id,
        controller: network.controller,
        vantage: flow.vantage,
        originals: [[0; 2]; 2],
        traceless: 0,
        again: [0; 2],
        spurious: flow.counts.spurious,
    };
    // Drops of segments that were repaired before the end. Other drops look like segments in
    // flight.
    let mut beyond = HashMap::new();
    let mut before = HashMap::new();
    for drop in truth
        .drops
        .iter()
        .filter(|drop| drop.sequence < truth.acknowledged)
    {
        if let Some(at) = truth.passed.get(&(node, drop.sequence, drop.sent)) {
            beyond.insert(
                (drop.sequence, at.as_nanos()),
                (drop.cause, drop.retransmission),
            );
        } else if !drop.retransmission {
            before.insert(drop.sequence, drop.cause);
        }
    }
    for (_, retransmission) in beyond.values() {
        if *retransmission {
            score.again[0] += 1;
        } else {
            score.originals[1][0] += 1;
        }
    }
    score.originals[0][0] = before.len() as u64;
    let passed = truth.at(node);
    let traceless = before
        .keys()
        .filter(|&&segment| !passed.shows_hole(segment));
    score.traceless = traceless.count() as u64;
    // Losses that were not repaired still count as true.
    let mut open = HashMap::new();
    for drop in &truth.drops {
        if let Some(at) = truth.passed.get(&(node, drop.sequence, drop.sent)) {
            open.insert((drop.sequence, at.as_nanos()), drop.cause);
        }
    }
    let mut found = Vec::new();
    for (loss, features) in flow.losses.iter().zip(&flow.features) {
        let first = (loss.offset + u64::from(flow.first_sequence) - 1) / segment;
        for sequence in first..first + u64::from(loss.packets) {
            let truth = match loss.side {
                Side::Beyond => {
                    let cause = beyond.remove(&(sequence, loss.time));
                    if let Some((_, retransmission)) = cause {
                        if retransmission {
                            score.again[1] += 1;
                        } else {
                            score.originals[1][1] += 1;
                        }
                    }
                    cause
                        .map(|cause| cause.0)
                        .or_else(|| open.get(&(sequence, loss.time)).copied())
                }
                Side::Before => {
                    let cause = before.remove(&sequence);
                    score.originals[0][1] += u64::from(cause.is_some());
                    cause
                }
            };
            if show && truth.is_none() {
                println!("{} false: {sequence} {loss:?}", PLACES[place].0);
            }
            let event = loss.event.and_then(|event| flow.events.get(event as usize));
            found.push(Found {
                place,
                network: network.id,
                controller: network.controller,
                side: loss.side,
                truth,
                votes: event.map_or_else(Votes::default, |event| event.votes),
                verdict: loss.verdict,
                features: *features,
            });
        }
    }
    if show {
        let mut missed: Vec<_> = beyond.iter().collect();
        missed.sort_by_key(|one| one.0.1);
        for ((sequence, at), what) in missed {
            println!(
                "{} missed beyond: {sequence} at {at} {what:?}",
                PLACES[place].0
            );
        }
        let mut missed: Vec<_> = before.iter().collect();
        missed.sort_by_key(|one| one.0);
        for (sequence, what) in missed {
            println!("{} missed before: {sequence} {what:?}", PLACES[place].0);
        }
        println!(
            "{} {:?} {:?} acknowledged {}",
            PLACES[place].0, flow.counts, flow.vantage, truth.acknowledged
        );
    }
    Ok((score, found))
}
