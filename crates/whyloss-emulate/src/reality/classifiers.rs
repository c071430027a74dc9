//! TFRC with every classifier of a receiver, in the networks of Cen et al., on sockets and in the
//! simulator.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use whyloss::receiver::{Arrival, Classifier, REGISTRY, ReceiverClassifier};
use whyloss::{Cause, Confusion, Duration, Time};
use whyloss_sim::Scenario;

use super::jobs::{Job, run_all};
use super::{Bench, RealityError, Table, arrivals_of, failed, json, last_line, mean, number};
use crate::endpoint::arrivals::{Compared, Line, Skew, replay};
use crate::endpoint::truth::{Fates, Scores};
use crate::record::Record;

/// The allowed differences in percentage points: of throughput, and of Mc and Mw.
const LIMITS: (f64, f64) = (5.0, 10.0);
/// The minimum number of losses for comparing a share of them. With fewer, one loss is more than
/// five points.
const LEAST: u64 = 20;
/// A run is repeated if a packet left later than this, up to this number of runs.
const LATE: (Duration, u32) = (Duration::from_millis(20), 3);
/// The number of groups of simulated runs that show how much as few runs as the real ones differ by
/// chance.
const GROUPS: u64 = 5;
/// The size of a packet, in bytes.
const PACKET: f64 = 762.0;
const TRANSPORT: &str = "{ kind = \"tfrc\", base = \"ns2\", header = \"0 B\" }";

/// Returns the scenario of a wireless last hop (`WLH`) or wireless backbone with `flows` flows.
fn network(name: &str, flows: u32, classifier: &str, seconds: u64) -> String {
    let channel = "{ kind = \"burst-renewal\", loss = 0.078, lengths = [0.75, 0.25] }";
    let link = |name: &str,
                from: &str,
                to: &str,
                count: u32,
                rate: &str,
                delay: &str,
                queue: u32,
                channel: &str| {
        let count = if from.contains('{') || to.contains('{') {
            format!("count = {count}\n")
        } else {
            String::new()
        };
        format!(
            "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{count}rate = \"{rate}\"\ndelay = \"{delay}\"\nqueue = {{ packets = {queue} }}\nchannel = {channel}\n"
        )
    };
    let none = "\"none\"";
    let shared = flows.max(2) * 130;
    let body = if name == "WLH" {
        link(
            "shared",
            "r1",
            "r2",
            1,
            &format!("{shared} kbit/s"),
            "20 ms",
            (shared / 60).max(6) - 1,
            none,
        ) + &link(
            "last",
            "r2",
            "d{i}",
            flows,
            "150 kbit/s",
            "10 ms",
            5,
            channel,
        )
    } else {
        link("shared", "r1", "r2", 1, "800 kbit/s", "20 ms", 12, channel)
            + &link("far", "r2", "d{i}", flows, "10 Mbit/s", "1 ms", 165, none)
    };
    format!("duration = \"{seconds} s\"\n")
        + &link("lan", "s{i}", "r1", flows, "10 Mbit/s", "1 ms", 165, none)
        + &body
        + &format!(
            "[[flow]]\nname = \"video\"\nfrom = \"s{{i}}\"\nto = \"d{{i}}\"\ncount = {flows}\npacket = \"762 B\"\n\
             transport = {TRANSPORT}\nclassifier = \"{classifier}\"\nstart = [\"0 s\", \"0.2 s\"]\n"
        )
}

/// Returns a flow's share of the narrowest link, in bits per second.
fn share(name: &str, flows: u32) -> f64 {
    match (name, flows) {
        ("WLH", 1) => 150e3,
        ("WLH", _) => 130e3,
        (_, flows) => 800e3 / f64::from(flows),
    }
}

/// Returns the number of runs at the same time. On two cores, 44 runs delay each other and their
/// verdicts (one flow over the backbone with Biaz gets 36 % of the link instead of 84 %). The
/// checks of `--quick` do not depend on time.
fn at_once(bench: &Bench) -> usize {
    if bench.quick { 44 } else { 8 }
}

/// Returns the directory with the logs of a cell's first run.
fn scratch(bench: &Bench, name: &str, flows: u32, id: &str) -> PathBuf {
    bench
        .scratch
        .join(format!("classifiers-{name}-{flows}-{id}-1"))
}

/// The results of one row, measured or simulated.
#[derive(Default)]
pub(super) struct Measured {
    /// The throughput of each flow, in percent of its share.
    throughput: Vec<f64>,
    confusion: Confusion,
}

impl Measured {
    /// Returns the differences of two rows in percentage points: throughput, Mc and Mw. The last
    /// two are 0 if this row has fewer than [`LEAST`] losses.
    pub(super) fn differences(&self, other: &Self) -> [f64; 3] {
        let shares = |a: Option<f64>, b: Option<f64>, cause| match (a, b) {
            (Some(a), Some(b)) if self.confusion.total(cause) >= LEAST => (a - b).abs() * 100.0,
            _ => 0.0,
        };
        [
            (mean(&self.throughput) - mean(&other.throughput)).abs(),
            shares(self.confusion.mc(), other.confusion.mc(), Cause::Congestion),
            shares(self.confusion.mw(), other.confusion.mw(), Cause::Wireless),
        ]
    }

    /// Returns whether all differences from another row are within the limits.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let [throughput, mc, mw] = self.differences(other);
        throughput <= LIMITS.0 && mc <= LIMITS.1 && mw <= LIMITS.1
    }
}

/// Returns the classifiers that need no true causes.
pub(super) fn ids(quick: bool) -> Vec<&'static str> {
    let all = REGISTRY.iter().map(|entry| entry.id);
    all.filter(|id| !quick || ["zigzag", "mbiaz"].contains(id))
        .collect()
}

pub(super) fn sizes(quick: bool) -> (&'static [u32], u64, u64) {
    if quick {
        (&[1], 12, 1)
    } else {
        (&[1, 4], 60, 4)
    }
}

pub(super) fn classifiers(bench: &Bench) -> Result<Table, RealityError> {
    let (counts, seconds, runs) = sizes(bench.quick);
    let mut table = Table::new(
        "classifiers",
        "Classifiers on sockets",
        &format!(
            "TFRC (ns-2's ways) in the wireless last hop and the wireless backbone of Cen et al., without their warm-up traffic: `whyloss send` and \
             `whyloss recv` through `whyloss link` ({runs} runs of {seconds} s), and the same file in the simulator (10 runs of {seconds} s). \
             Throughput: what arrives, in percent of a flow's share of the narrowest link: the mean, and the least and the most of a run. Mc and Mw are of all lost packets of all \
             flows and runs, by the emulator's log; of fewer than {LEAST} losses no share is compared. The last columns: \
             gaps whose verdict an offline replay of the logged arrivals gives otherwise, and links' fates which a replay of \
             the emulator's log through `whyloss-link` gives otherwise. On time: what the classifier says of the same packets when each comes \
             at the very time at which its links let it go, by the emulator's log, instead of when the machine got to it. \
             Least gap: between two arrivals on the receiver's clock, and by that log; a machine that was busy for a moment then \
             takes packets that had come one by one as a bunch, which those that go by the least gap ever seen (Biaz and its kin) never get over. \
             As late: the simulation with a receiver's clock that stamps arrivals as late, on average, as the sockets' receivers did, each \
             by an exponential draw of its own (`clock_noise`): nothing else is varied, so what it has in common with reality is the \
             machine's doing. \
             Chance: of {GROUPS} groups of {runs} simulated runs with other seeds, those that are within the limits, which shows how many rows \
             an emulator without any lateness would get right. \
             A run in which a packet left more than {} ms late is made again, {} times in all.",
            LATE.0.as_nanos() / 1_000_000,
            if bench.quick { 1 } else { LATE.1 },
        ),
        &[
            "network",
            "flows",
            "classifier",
            "throughput, %: real",
            "simulated",
            "as late",
            "Mc, %: real",
            "on time",
            "simulated",
            "as late",
            "Mw, %: real",
            "on time",
            "simulated",
            "as late",
            "late on average, ms",
            "least gap, ms: real",
            "on time",
            "within the limits",
            "chance",
            "losses: congestion, wireless",
            "verdicts that differ",
            "fates that differ",
        ],
    );
    let mut cells = Vec::new();
    for name in ["WLH", "WB"] {
        for &flows in counts {
            cells.extend(ids(bench.quick).into_iter().map(|id| (name, flows, id)));
        }
    }
    let runs_of = |&cell| (1..=runs).map(move |seed| (cell, seed));
    let each: Vec<_> = cells.iter().flat_map(runs_of).collect();
    let (jobs, late) = on_time_if_possible(bench, &each, seconds)?;
    let (mut verdicts, mut fates) = (Compared::default(), 0);
    let mut worst: [(f64, String); 3] = Default::default();
    let (mut within, mut by_chance) = (0, 0);
    for ((name, flows, id), jobs) in cells.iter().zip(jobs.chunks(runs as usize)) {
        let (real, on_time, compared, (offers, differ)) = real(jobs, name, *flows, id)?;
        let simulate = |late| {
            let noise = |scenario: &mut Scenario| scenario.clock_noise = late;
            simulated(name, *flows, id, seconds, noise)
        };
        let (simulated, as_late) = (simulate(None)?, simulate(on_time.late())?);
        verdicts.verdicts += compared.verdicts;
        verdicts.differ += compared.differ;
        fates += differ;
        let is_within = real.is_within(&simulated);
        let mut groups = 0;
        for first in (0..GROUPS).map(|group| 11 + runs * group) {
            let seeds = first..=first + runs - 1;
            let group = simulated_with(seeds, name, *flows, id, seconds, |_| ())?;
            groups += u64::from(group.is_within(&simulated));
        }
        within += usize::from(is_within);
        by_chance += groups;
        let percent = |share: Option<f64>| {
            share.map_or("–".into(), |share| format!("{:.1}", share * 100.0))
        };
        let lost = [Cause::Congestion, Cause::Wireless].map(|cause| real.confusion.total(cause));
        table.rows.push(vec![
            (*name).into(),
            flows.to_string(),
            (*id).into(),
            spread(&real.throughput),
            spread(&simulated.throughput),
            spread(&as_late.throughput),
            percent(real.confusion.mc()),
            percent(on_time.confusion.mc()),
            percent(simulated.confusion.mc()),
            percent(as_late.confusion.mc()),
            percent(real.confusion.mw()),
            percent(on_time.confusion.mw()),
            percent(simulated.confusion.mw()),
            percent(as_late.confusion.mw()),
            on_time.late().map_or("–".into(), |late| {
                format!("{:.3}", late.as_nanos() as f64 / 1e6)
            }),
            format!("{:.3}", on_time.least_gap.0 as f64 / 1e6),
            format!("{:.3}", on_time.least_gap.1 as f64 / 1e6),
            if is_within { "yes" } else { "no" }.into(),
            format!("{groups} of {GROUPS}"),
            format!("{}, {}", lost[0], lost[1]),
            format!("{} of {}", compared.differ, compared.verdicts),
            format!("{differ} of {offers}"),
        ]);
        let differences = real.differences(&simulated);
        for (difference, worst) in differences.into_iter().zip(&mut worst) {
            if difference >= worst.0 {
                *worst = (
                    difference,
                    format!("{name}, {flows}, {id}: {difference:.1} points"),
                );
            }
        }
    }
    for ((what, limit), (difference, where_)) in
        [("throughput", LIMITS.0), ("Mc", LIMITS.1), ("Mw", LIMITS.1)]
            .into_iter()
            .zip(&worst)
    {
        table.check_when_quiet(
            format!("{what} within ±{limit} points of the simulator everywhere (most at {where_})"),
            *difference <= limit,
        );
    }
    let rows = table.rows.len();
    table.check_when_quiet(
        format!(
            "{within} of {rows} rows are within all limits; at least 44 of 48 (groups of simulated runs: {:.1} on average)",
            by_chance as f64 / GROUPS as f64
        ),
        within * 48 >= rows * 44,
    );
    table.check_when_quiet(
        format!(
            "in {late} of {} runs a packet was late to the last",
            jobs.len()
        ),
        late == 0,
    );
    table.check(
        format!(
            "offline, the classifiers give the {} verdicts they gave live",
            verdicts.verdicts
        ),
        verdicts.differ == 0 && verdicts.verdicts > 0,
    );
    table.check(
        "the emulator's logs replay fate for fate".into(),
        fates == 0,
    );
    Ok(table)
}

/// Formats the mean with the lowest and highest value.
fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.1} ({least:.0}–{most:.0})", mean(values))
}

/// A network, a number of flows, a classifier, and a seed.
type Cell = ((&'static str, u32, &'static str), u64);

/// Runs every job, and repeats late runs. Returns all runs, and the number of runs that were late
/// at the last attempt.
fn on_time_if_possible(
    bench: &Bench,
    cells: &[Cell],
    seconds: u64,
) -> Result<(Vec<Job>, usize), RealityError> {
    let job = |&((name, flows, id), seed): &Cell| job(bench, name, flows, id, seconds, seed);
    let jobs = cells.iter().map(job).collect::<Result<Vec<_>, _>>()?;
    let mut again: Vec<usize> = (0..cells.len()).collect();
    for attempt in 1.. {
        let these: Vec<Job> = match attempt {
            1 => jobs.clone(),
            _ => again
                .iter()
                .map(|&at| job(&cells[at]))
                .collect::<Result<_, _>>()?,
        };
        let finished = run_all(bench, &these, at_once(bench), seconds + 60)?;
        for (job, finished) in these.iter().zip(finished) {
            finished.succeeded(job)?;
        }
        let mut late = Vec::new();
        for &at in &again {
            let summary = json(&jobs[at].directory.join("log/summary.json"))?;
            let most = number(&summary, &["lateness", "max_ns"])?;
            if most > LATE.0.as_nanos() as f64 {
                late.push(at);
            }
        }
        again = late;
        if again.is_empty() || bench.quick || attempt == LATE.1 {
            break;
        }
    }
    Ok((jobs, again.len()))
}

pub(super) fn job(
    bench: &Bench,
    name: &str,
    flows: u32,
    id: &str,
    seconds: u64,
    seed: u64,
) -> Result<Job, RealityError> {
    let directory = bench.directory(&format!("classifiers-{name}-{flows}-{id}-{seed}"))?;
    let file = directory.join("network.toml");
    std::fs::write(&file, network(name, flows, id, seconds)).map_err(failed(&file))?;
    let (program, log) = (bench.shell(), directory.join("log"));
    let path = |name: String| super::quoted(&directory.join(name));
    let mut arguments: Vec<String> = [
        "link",
        &file.to_string_lossy(),
        "--log",
        &log.to_string_lossy(),
        "--late-bound",
        "100ms",
        "--seed",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(seed.to_string());
    let mut leads = Vec::new();
    for i in 1..=flows {
        let recv = format!(
            "exec {program} recv 5000 --transport '{TRANSPORT}' --classifier {id} --arrivals {} --stats {} --truth {}",
            path(format!("arrivals-{i}.jsonl")),
            path(format!("received-{i}.jsonl")),
            super::quoted(&log)
        );
        let send = format!(
            "exec {program} send $WHYLOSS_D{i}:5000 --transport '{TRANSPORT}' --packet '762 B' --time {seconds}s"
        );
        arguments.extend([
            "--at".into(),
            format!("d{i}={recv}"),
            "--at".into(),
            format!("s{i}={send}"),
        ]);
        leads.push(format!("d{i}"));
    }
    arguments.extend(["--leads".into(), leads.join(",")]);
    Ok(Job {
        arguments,
        directory,
    })
}

fn classifier(id: &str) -> Result<whyloss::receiver::Classifier, RealityError> {
    let entry = whyloss::receiver::find(id);
    let built = entry.and_then(|entry| entry.build(&[]).ok());
    built.ok_or_else(|| RealityError::Result(format!("no classifier is called {id}")))
}

fn real(
    jobs: &[Job],
    name: &str,
    flows: u32,
    id: &str,
) -> Result<(Measured, OnTime, Compared, (u64, u64)), RealityError> {
    let (mut measured, mut compared, mut fates) =
        (Measured::default(), Compared::default(), (0, 0));
    let mut on_time = OnTime::default();
    for job in jobs {
        let records = crate::archive::records(&job.directory.join("log"))
            .map_err(|error| RealityError::Result(error.to_string()))?;
        for i in 1..=flows {
            let received = last_line(&job.directory.join(format!("received-{i}.jsonl")))?;
            let rate =
                number(&received, &["packets"])? * PACKET * 8.0 / number(&received, &["at"])?;
            measured.throughput.push(100.0 * rate / share(name, flows));
            let count = |key: &str| number(&received, &["truth", key]).map(|count| count as u64);
            let scores = Scores {
                congestion_called_congestion: count("congestion_called_congestion")?,
                congestion_called_wireless: count("congestion_called_wireless")?,
                wireless_called_congestion: count("wireless_called_congestion")?,
                wireless_called_wireless: count("wireless_called_wireless")?,
                unknown: count("unknown")?,
            };
            measured.confusion.merge(&scores.confusion());
            let arrivals = arrivals_of(&job.directory.join(format!("arrivals-{i}.jsonl")))?;
            on_time.add(&arrivals, &records, i, classifier(id)?);
            let one = replay(&arrivals, classifier(id)?, Skew::default());
            compared.verdicts += one.verdicts;
            compared.differ += one.differ;
        }
        let replayed = crate::archive::replay_run(&job.directory.join("log"))
            .map_err(|error| RealityError::Result(error.to_string()))?;
        fates.0 += replayed.offers;
        fates.1 += replayed.differences;
    }
    Ok((measured, on_time, compared, fates))
}

/// The results that arrivals and departures exactly at the times in the links' log would give.
struct OnTime {
    confusion: Confusion,
    /// The shortest time between two arrivals in ns: the measured one, and the one without
    /// lateness.
    least_gap: (u64, u64),
    /// The total lateness of arrivals in ns, and their number. The two clocks share only their
    /// rate, so the earliest arrival of a flow counts as on time.
    late: (u64, u64),
}

impl Default for OnTime {
    fn default() -> Self {
        Self {
            confusion: Confusion::default(),
            least_gap: (u64::MAX, u64::MAX),
            late: (0, 0),
        }
    }
}

impl OnTime {
    /// Returns the mean lateness of arrivals; `None` if none was late.
    fn late(&self) -> Option<Duration> {
        let (late, arrivals) = self.late;
        (late > 0).then(|| Duration::from_nanos((late / arrivals).cast_signed()))
    }

    /// Adds the arrivals of a flow, and the verdicts on its losses.
    fn add(
        &mut self,
        arrivals: &[Line],
        records: &[Record],
        flow: u32,
        mut classifier: Classifier,
    ) {
        let sink = format!("d{flow}");
        let own = || records.iter().filter(|record| record.to == sink);
        let spans = spans(own());
        let fates = Fates::of(own(), |_| true);
        let mut scores = Scores::default();
        let mut last: Option<(u64, u64)> = None;
        let mut behind = Vec::with_capacity(arrivals.len());
        for line in arrivals {
            let Some(&(left, came)) = spans.get(&line.number) else {
                continue;
            };
            if let Some((received, on_time)) = last {
                let gaps = (line.received.abs_diff(received), came.abs_diff(on_time));
                self.least_gap.0 = self.least_gap.0.min(gaps.0);
                self.least_gap.1 = self.least_gap.1.min(gaps.1);
            }
            last = Some((line.received, came));
            behind.push(line.received.wrapping_sub(came).cast_signed());
            let times = (Time::from_nanos(left), Time::from_nanos(came));
            let arrival = Arrival::new(line.sequence, times.0, times.1, line.size);
            if let Some(cause) = classifier.on_arrival(&arrival, line.missing) {
                for back in 1..=line.missing {
                    let number = line.number.wrapping_sub(back as u32);
                    scores.count(fates.cause(number), cause.into());
                }
            }
        }
        let late = lateness(&behind);
        self.late.0 += late.iter().sum::<u64>();
        self.late.1 += late.len() as u64;
        self.confusion.merge(&scores.confusion());
    }
}

/// Returns, by packet number, when a packet came to its first link and when it left its last, in
/// ns.
fn spans<'a>(records: impl Iterator<Item = &'a Record>) -> HashMap<u32, (u64, u64)> {
    let mut spans: HashMap<u32, (u64, u64)> = HashMap::new();
    for record in records {
        if let Some(number) = record.headers.sequence {
            let span = spans.entry(number).or_insert((record.enqueued, 0));
            span.0 = span.0.min(record.enqueued);
            span.1 = span.1.max(record.scheduled);
        }
    }
    spans
}

/// Returns the lateness of arrivals in ns. `behind` holds the differences of arrival time and link
/// time in ns, on clocks with an unknown offset; the smallest difference counts as on time.
fn lateness(behind: &[i64]) -> Vec<u64> {
    let promptest = behind.iter().copied().min().unwrap_or(0);
    let late = behind.iter().map(|behind| behind.abs_diff(promptest));
    late.collect()
}

/// Returns the lateness of arrivals at `d1` in a finished job, in ns, in the order of arrival.
pub(super) fn late_arrivals(job: &Job) -> Result<Vec<u64>, RealityError> {
    let records = crate::archive::records(&job.directory.join("log"))
        .map_err(|error| RealityError::Result(error.to_string()))?;
    let spans = spans(records.iter().filter(|record| record.to == "d1"));
    let arrivals = arrivals_of(&job.directory.join("arrivals-1.jsonl"))?;
    let behind = arrivals.iter().filter_map(|line| {
        let (_, came) = spans.get(&line.number)?;
        Some(line.received.wrapping_sub(*came).cast_signed())
    });
    Ok(lateness(&behind.collect::<Vec<_>>()))
}

/// Simulates the flows with ten seeds, in the scenario that `change` modifies.
pub(super) fn simulated(
    name: &str,
    flows: u32,
    id: &str,
    seconds: u64,
    change: impl FnOnce(&mut Scenario),
) -> Result<Measured, RealityError> {
    simulated_with(1..=10, name, flows, id, seconds, change)
}

/// Simulates the flows with these seeds.
fn simulated_with(
    seeds: RangeInclusive<u64>,
    name: &str,
    flows: u32,
    id: &str,
    seconds: u64,
    change: impl FnOnce(&mut Scenario),
) -> Result<Measured, RealityError> {
    let mut scenario = Scenario::from_toml(&network(name, flows, id, seconds), "network.toml", &[])
        .map_err(|error| RealityError::Result(error.to_string()))?;
    change(&mut scenario);
    let mut measured = Measured::default();
    for seed in seeds {
        let run = whyloss_sim::Simulation::new(&scenario, seed)
            .run()
            .map_err(|error| RealityError::Result(error.to_string()))?;
        for flow in &run.flows {
            let rate = flow.received_bytes as f64 * 8.0 / seconds as f64;
            measured.throughput.push(100.0 * rate / share(name, flows));
            measured.confusion.merge(&flow.packets);
        }
    }
    Ok(measured)
}

/// Returns the table of clocks that disagree: the logged arrivals of the earlier runs, judged with
/// a receiver clock that differs.
pub(super) fn clocks(bench: &Bench) -> Result<Table, RealityError> {
    let mut table = Table::new(
        "clocks",
        "Clocks apart",
        "The arrivals that the receivers of the table above logged, fed to the classifiers again with a receiver's clock that is an hour \
         ahead, and with one that is also fast by 100 ppm. A constant offset may change nothing. A drift moves the relative trip time by \
         6 ms in a minute, which those that compare it with what it once was must see.",
        &[
            "network",
            "flows",
            "classifier",
            "verdicts",
            "changed by an hour",
            "changed by an hour and 100 ppm",
        ],
    );
    let (counts, seconds, _) = sizes(bench.quick);
    let hour = Duration::from_secs(3_600);
    let mut missing = Vec::new();
    for name in ["WLH", "WB"] {
        for &flows in counts {
            for id in ids(bench.quick) {
                if !scratch(bench, name, flows, id).exists() {
                    missing.push(job(bench, name, flows, id, seconds, 1)?);
                }
            }
        }
    }
    let finished = run_all(bench, &missing, at_once(bench), seconds + 60)?;
    for (job, finished) in missing.iter().zip(finished) {
        finished.succeeded(job)?;
    }
    let mut changed = 0;
    for name in ["WLH", "WB"] {
        for &flows in counts {
            for id in ids(bench.quick) {
                let directory = scratch(bench, name, flows, id);
                let (mut apart, mut drifting) = (Compared::default(), 0);
                for i in 1..=flows {
                    let lines = arrivals_of(&directory.join(format!("arrivals-{i}.jsonl")))?;
                    let offset = replay(
                        &lines,
                        classifier(id)?,
                        Skew {
                            offset: hour,
                            drift: 0.0,
                        },
                    );
                    apart.verdicts += offset.verdicts;
                    apart.differ += offset.differ;
                    drifting += replay(
                        &lines,
                        classifier(id)?,
                        Skew {
                            offset: hour,
                            drift: 1e-4,
                        },
                    )
                    .differ;
                }
                changed += apart.differ;
                table.rows.push(vec![
                    name.into(),
                    flows.to_string(),
                    id.into(),
                    apart.verdicts.to_string(),
                    apart.differ.to_string(),
                    drifting.to_string(),
                ]);
            }
        }
    }
    table.check(
        "clocks an hour apart change no verdict".into(),
        changed == 0,
    );
    Ok(table)
}
