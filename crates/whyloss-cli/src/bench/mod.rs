//! `whyloss bench`: measures the cost of a delivered packet here, in ns-2 and in ns-3, in the same
//! minutes on the same machine.
//!
//! Each run is a separate process ([`child`]). Repetitions alternate between the simulators, and
//! ratios compare neighbouring runs, so that other load on the machine affects all alike. A peer
//! that fails on a network is skipped for that network only.

mod ablate;
pub(crate) mod callgrind;
pub(crate) mod child;
pub(crate) mod error;
mod ns2;
mod ns3;
mod render;
mod report;
mod results;
mod ways;
mod workload;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use whyloss_study::Progress;
use whyloss_study::report as papers_report;
use whyloss_validate::peers::{Missing, Ns2, Ns3, Peer, PeerError};

use self::error::BenchError;
use self::results::{Memory, Results, Row, Simulator, Sweep};
use self::workload::{Load, Network};
use crate::cache::CacheArgs;
use crate::error::CliError;
use crate::progress::Bar;

#[derive(Debug, Args)]
#[command(after_help = "Example: whyloss bench --quick --workload one-flow")]
pub(crate) struct BenchArgs {
    /// Workload to measure; may be repeated [default: all].
    #[arg(long = "workload", value_enum, value_name = "NAME")]
    workloads: Vec<Workload>,
    /// Measure for seconds instead of minutes: shorter runs, at most 1,000 flows, one repetition,
    /// and instruction counts only for Whyloss on the dumbbell.
    #[arg(long)]
    quick: bool,
    /// Instead, report how many instructions and events each shortcut of the engine saves. Needs
    /// valgrind.
    #[arg(long, conflicts_with_all = ["workloads", "quick", "repetitions", "out", "format"])]
    ablate: bool,
    /// Exit with 1 if ns-2, ns-3 or valgrind is missing, or if a run of ns-2 or ns-3 fails.
    #[arg(long)]
    require: bool,
    /// Number of repetitions of each measurement [default: 5, or 1 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: Option<u32>,
    /// Also write an HTML page, a figure (SVG) and values (CSV) to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Output format: tables, one JSON object, or CSV with one row per value.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    cache: CacheArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// Ten NewReno flows over 100 Mbit/s.
    Dumbbell,
    /// One NewReno flow over 10 Mbit/s and 50 ms.
    OneFlow,
    /// 1 to 10,000 NewReno flows over 1 Gbit/s.
    Flows,
    /// Three adaptive RED queues with TCP in both directions and across, voice, video and web
    /// traffic.
    ParkingLot,
    /// Bytes of memory per flow and per packet in flight.
    Memory,
    /// 1,000 replications of the wireless last hop, on one core and on all.
    Sweep,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
}

/// Numbers of flows; `--quick` leaves out the last.
const FLOWS: [u32; 5] = [1, 10, 100, 1_000, 10_000];
/// The measurements that the command lacks, because it has no driver for them or because they take
/// too long.
const GAPS: [&str; 3] = [
    "the parking lot in ns-3",
    "the sweep and the memory per flow in ns-2 and ns-3",
    "events in ns-2",
];
const GAP_WHOLE: &str =
    "10000 flows in ns-3; more than 100 flows under callgrind in ns-2, 10 in ns-3";
const GAP_QUICK: &str = "1000 flows in ns-3, instructions in ns-2 and ns-3 (with --quick)";
/// The number of runs of one flow that are timed together, since one alone is too short.
const RUNS_OF_ONE_FLOW: u32 = 100;
/// The delays of the two pipes in ms. The longer pipe holds 1 Gbit/s · 4 s / 12000 bit more
/// packets.
const PIPES: [u32; 2] = [100, 4_100];
const MORE_PACKETS: f64 = 1e9 * 4.0 / 12_000.0;

/// A network, with the work of each simulator on it.
struct Task {
    name: String,
    flows: Option<u32>,
    /// The work of each simulator, in the order of [`Simulator::ALL`]; `None` if it does not run
    /// the network.
    works: [Option<Work>; 3],
}

/// The runs of a simulator: the load, the number of runs, and their length for counting
/// instructions.
struct Work {
    load: Load,
    runs: u64,
    /// The simulated seconds of the two runs whose instructions are counted; `None` if none are
    /// counted.
    counted: Option<(u32, u32)>,
}

pub(crate) fn run(args: &BenchArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if args.ablate {
        if !callgrind::is_there() {
            return Err(CliError::Required(vec![format!(
                "valgrind (`{}`)",
                callgrind::INSTALL
            )]));
        }
        let bar = Bar::new();
        let table = ablate::table(&bar);
        bar.clear();
        out.write_all(table?.as_bytes())?;
        return Ok(());
    }
    if let Some(dir) = &args.out {
        papers_report::renew(dir).map_err(CliError::Out)?;
    }
    let cache = args.cache.directory()?;
    let tools = Tools::find(&cache).map_err(CliError::Peer)?;
    if args.require && !tools.missing.is_empty() {
        return Err(CliError::Required(tools.missing));
    }
    let bar = Bar::new();
    let results = measure(args, &tools, &bar);
    bar.clear();
    let results = results?;
    let text = match args.format {
        Format::Table => render::table(&results),
        Format::Json => render::json(&results),
        Format::Csv => render::csv(&results),
    };
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Some(dir) = &args.out {
        report::write(dir, &results)?;
    }
    printed?;
    if args.require && !results.failures.is_empty() {
        return Err(CliError::Required(results.failures));
    }
    Ok(())
}

/// Tools that this machine has.
struct Tools {
    ns2: Option<Ns2>,
    ns3: Option<Ns3>,
    valgrind: bool,
    /// The missing tools, each with the reason and the command that installs it.
    missing: Vec<String>,
}

impl Tools {
    fn find(cache: &Path) -> Result<Self, PeerError> {
        let mut missing = Vec::new();
        let mut miss = |Missing { peer, why }: Missing| {
            missing.push(format!("{}: {why} (`{}`)", peer.name(), peer.install()));
        };
        let ns2 = Ns2::find(cache)?.map_err(&mut miss).ok();
        let ns3 = Ns3::find(Peer::Ns3, cache)?.map_err(&mut miss).ok();
        let valgrind = callgrind::is_there();
        if !valgrind {
            missing.push(format!("valgrind (`{}`)", callgrind::INSTALL));
        }
        Ok(Self {
            ns2,
            ns3,
            valgrind,
            missing,
        })
    }

    /// Returns the command that runs a load, and its input; `None` if the simulator is not
    /// installed.
    fn command(
        &self,
        simulator: Simulator,
        load: &Load,
        runs: u64,
    ) -> Result<Option<(Command, String)>, BenchError> {
        let scenario = load.scenario()?;
        Ok(match simulator {
            Simulator::Whyloss => Some((child::command(load, runs, 1)?, String::new())),
            Simulator::Ns2 => match &self.ns2 {
                Some(ns2) => {
                    let command = ns2.script("bench.tcl", ns2::SCRIPT)?;
                    Some((command, ns2::input(&scenario, 1)?))
                }
                None => None,
            },
            Simulator::Ns3 => match &self.ns3 {
                Some(ns3) => Some((ns3.command(), ns3::input(&scenario, 1)?)),
                None => None,
            },
        })
    }
}

fn measure(args: &BenchArgs, tools: &Tools, bar: &Bar) -> Result<Results, BenchError> {
    let wanted = |workload| args.workloads.is_empty() || args.workloads.contains(&workload);
    let repetitions = args.repetitions.unwrap_or(if args.quick { 1 } else { 5 });
    let more = if args.quick { GAP_QUICK } else { GAP_WHOLE };
    let gaps = GAPS.into_iter().chain([more]);
    let mut tasks: Vec<Task> = tasks(args.quick, wanted);
    let mut results = Results {
        repetitions,
        rows: tasks
            .iter()
            .map(|task| Row::new(&task.name, task.flows))
            .collect(),
        missing: tools.missing.clone(),
        gaps: gaps.map(str::to_owned).collect(),
        ..Results::default()
    };
    let (memory, sweep) = (wanted(Workload::Memory), wanted(Workload::Sweep));
    let steps = tasks.len() as u64 * (u64::from(repetitions) + u64::from(tools.valgrind));
    bar.expect(steps + u64::from(memory) + u64::from(sweep) * u64::from(repetitions));
    let mut failures = Vec::new();
    for _ in 0..repetitions {
        each(
            &mut tasks,
            &mut results.rows,
            &mut failures,
            bar,
            |work, row, simulator| time(tools, work, row, simulator),
        )?;
    }
    if tools.valgrind {
        each(
            &mut tasks,
            &mut results.rows,
            &mut failures,
            bar,
            |work, row, simulator| count(tools, work, row, simulator),
        )?;
    }
    expect(&tasks, &mut results.rows)?;
    results.failures = failures;
    if memory {
        bar.begin("memory", 0, 1);
        results.memory = bytes(args.quick)?;
        bar.finish();
    }
    if sweep {
        bar.begin("sweep", 0, 1);
        results.sweep = Some(replicate(args.quick, repetitions, bar)?);
    }
    Ok(results)
}

/// Calls `what` for each simulator on each network. Skips a peer on a network where it has failed.
fn each(
    tasks: &mut [Task],
    rows: &mut [Row],
    failures: &mut Vec<String>,
    bar: &Bar,
    what: impl Fn(&Work, &mut Row, Simulator) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    for (task, row) in tasks.iter_mut().zip(rows) {
        bar.begin(&task.name, 0, 1);
        for (place, simulator) in task.works.iter_mut().zip(Simulator::ALL) {
            let Some(work) = place else { continue };
            match what(work, row, simulator) {
                Err(BenchError::Process(error)) if simulator != Simulator::Whyloss => {
                    failures.push(format!("{} in {}: {error}", task.name, simulator.name()));
                    *place = None;
                }
                done => done?,
            }
        }
        bar.finish();
    }
    Ok(())
}

fn time(tools: &Tools, work: &Work, row: &mut Row, simulator: Simulator) -> Result<(), BenchError> {
    if let Some((mut command, input)) = tools.command(simulator, &work.load, work.runs)? {
        let measured = child::measure(&mut command, &input)?;
        let side = row.side_mut(simulator);
        side.seconds = work.load.scenario()?.end.as_secs_f64();
        side.packets = Some(measured.packets as f64 / work.runs as f64);
        side.runs.push(measured);
    }
    Ok(())
}

fn count(
    tools: &Tools,
    work: &Work,
    row: &mut Row,
    simulator: Simulator,
) -> Result<(), BenchError> {
    let Some((shorter, longer)) = work.counted else {
        return Ok(());
    };
    let run = |seconds| {
        let load = Load {
            seconds: Some(seconds),
            ..work.load
        };
        tools.command(simulator, &load, 1)
    };
    if let (Some(shorter), Some(longer)) = (run(shorter)?, run(longer)?) {
        let count = callgrind::per_packet(&shorter, &longer)?;
        row.side_mut(simulator).instructions = Some(count);
    }
    Ok(())
}

/// Measures how many packets Whyloss delivers in the simulated time of each peer. ns-2 simulates as
/// long as Whyloss; ns-3 simulates a shorter time, with selective acknowledgements.
fn expect(tasks: &[Task], rows: &mut [Row]) -> Result<(), BenchError> {
    for (task, row) in tasks.iter().zip(rows) {
        let [Some(ours), _, ns3] = &task.works else {
            continue;
        };
        row.side_mut(Simulator::Ns2).expected = row.side(Simulator::Whyloss).packets;
        if let Some(ns3) = ns3 {
            let load = Load {
                sack: true,
                ..ns3.load
            };
            let measured = child::measure(&mut child::command(&load, ours.runs, 1)?, "")?;
            let packets = measured.packets as f64 / ours.runs as f64;
            row.side_mut(Simulator::Ns3).expected = Some(packets);
        }
    }
    Ok(())
}

/// Returns the networks of the wanted workloads that are timed. With `quick`, the one with 10,000
/// flows is left out.
fn tasks(quick: bool, wanted: impl Fn(Workload) -> bool) -> Vec<Task> {
    let single = [
        (Workload::Dumbbell, Network::Dumbbell, "dumbbell"),
        (Workload::OneFlow, Network::OneFlow, "one flow"),
        (Workload::ParkingLot, Network::ParkingLot, "parking lot"),
    ];
    let mut tasks = Vec::new();
    for (_, network, name) in single
        .into_iter()
        .filter(|&(workload, ..)| wanted(workload))
    {
        tasks.push(Task {
            name: name.to_owned(),
            flows: None,
            works: Simulator::ALL.map(|simulator| work(simulator, network, 1, quick)),
        });
    }
    let sizes = if quick { &FLOWS[..4] } else { &FLOWS };
    for &size in sizes.iter().filter(|_| wanted(Workload::Flows)) {
        tasks.push(Task {
            name: format!("{size} {}", if size == 1 { "flow" } else { "flows" }),
            flows: Some(size),
            works: Simulator::ALL.map(|simulator| work(simulator, Network::Flows, size, quick)),
        });
    }
    tasks
}

/// Returns the work of a simulator on a network; `None` if the simulator does not run the network.
/// ns-3 takes a hundred times as long, so it simulates less.
fn work(simulator: Simulator, network: Network, size: u32, quick: bool) -> Option<Work> {
    let ns3 = simulator == Simulator::Ns3;
    let (whole, short) = match (network, size) {
        (Network::Dumbbell, _) if ns3 => (Some(20), 5),
        (Network::Dumbbell, _) => (None, 5),
        (Network::OneFlow, _) => (None, 20),
        (Network::ParkingLot, _) if !ns3 => (None, 10),
        (Network::Flows, 100) if ns3 => (Some(4), 1),
        (Network::Flows, 1_000) if ns3 && !quick => (Some(2), 2),
        (Network::Flows, 1 | 10) => (None, 2),
        (Network::Flows, _) if !ns3 => (None, 2),
        _ => return None,
    };
    let most_counted = match simulator {
        Simulator::Whyloss => u32::MAX,
        // Under callgrind, a larger network takes minutes to build.
        Simulator::Ns2 => 100,
        Simulator::Ns3 => 10,
    };
    let counts = if quick {
        simulator == Simulator::Whyloss && network == Network::Dumbbell
    } else {
        size <= most_counted
    };
    let counted = match network {
        Network::Dumbbell => (2, 8),
        Network::Flows => (1, 3),
        _ => (5, 25),
    };
    let repeated = simulator == Simulator::Whyloss && network == Network::Flows;
    Some(Work {
        load: Load {
            network,
            size,
            seconds: if quick { Some(short) } else { whole },
            sack: false,
        },
        runs: if repeated {
            u64::from((RUNS_OF_ONE_FLOW / size).max(1))
        } else {
            1
        },
        counted: counts.then_some(counted),
    })
}

/// Returns the memory per flow and per packet, from differences of peaks. For flows, a run with
/// 1,000 flows lasts a tenth of the time of one with 10,000 over the same links. A flow of either
/// run then delivers as many packets and holds as many delays, and the same link and queue hold the
/// packets. For packets, two pipes differ only in their delay, and therefore in the packets in
/// flight.
fn bytes(quick: bool) -> Result<Memory, BenchError> {
    let peak = |network, (size, seconds)| {
        let load = Load {
            network,
            size,
            seconds,
            sack: false,
        };
        let measured = child::measure(&mut child::command(&load, 1, 1)?, "")?;
        Ok::<f64, BenchError>(measured.peak_bytes as f64)
    };
    let difference = |network, [few, many]: [(u32, Option<u32>); 2], by: f64| {
        let (few, many) = (peak(network, few)?, peak(network, many)?);
        // A system that does not report peak memory gives zero.
        Ok::<_, BenchError>((few > 0.0).then_some((many - few) / by))
    };
    let flows = [(1_000, Some(1)), (10_000, Some(10))];
    let pipes = PIPES.map(|size| (size, quick.then_some(5)));
    Ok(Memory {
        per_flow: difference(Network::Flows, flows, 9_000.0)?,
        per_packet: difference(Network::Pipe, pipes, MORE_PACKETS)?,
    })
}

fn replicate(quick: bool, repetitions: u32, bar: &Bar) -> Result<Sweep, BenchError> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(1024) as u16);
    let mut sweep = Sweep {
        replications: if quick { 50 } else { 1_000 },
        threads,
        ..Sweep::default()
    };
    let load = Load::whole(Network::Wlh);
    for _ in 0..repetitions {
        for (threads, runs) in [(1, &mut sweep.one), (threads, &mut sweep.all)] {
            let mut command = child::command(&load, sweep.replications, threads)?;
            runs.push(child::measure(&mut command, "")?);
        }
        bar.finish();
    }
    Ok(sweep)
}
