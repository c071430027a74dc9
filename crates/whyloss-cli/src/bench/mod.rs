//! `whyloss bench`: what a delivered packet costs, here and in ns-2, in the same minutes on the same machine.
//!
//! Each run is a process of its own ([`child`]); repetitions alternate between the two simulators, and ratios are
//! taken between neighbours, so that what else the machine does weighs on both.

pub(crate) mod callgrind;
pub(crate) mod child;
pub(crate) mod error;
mod ns2;
mod render;
mod report;
mod results;
mod workload;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use clap::{Args, ValueEnum};
use whyloss_papers::Progress;
use whyloss_papers::report as papers_report;

use self::error::BenchError;
use self::results::{Memory, Results, Row, Side, Sweep};
use self::workload::{Load, Network};
use crate::error::CliError;
use crate::progress::Bar;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure [default: all]. May be repeated.
    #[arg(long = "workload", value_enum, value_name = "NAME")]
    workloads: Vec<Workload>,
    /// Seconds instead of minutes: shorter runs, up to 1,000 flows, one repetition, instructions of our dumbbell alone.
    #[arg(long)]
    quick: bool,
    /// Fail if ns-2 or valgrind is not there.
    #[arg(long)]
    require: bool,
    /// How often everything is measured [default: 5, or 1 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: Option<u32>,
    /// Write a page, a picture (SVG) and the values (CSV) here as well.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print: tables for people, one JSON object, or CSV with one row per value.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// Ten NewReno flows over 100 Mbit/s.
    Dumbbell,
    /// One NewReno flow over 10 Mbit/s and 50 ms.
    OneFlow,
    /// 1 to 10,000 NewReno flows over 1 Gbit/s.
    Flows,
    /// Three adaptive RED queues, TCP both ways and across, voice, video and web traffic.
    ParkingLot,
    /// Bytes per flow and per packet in flight.
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

/// Numbers of flows; with `--quick` the last is left out.
const FLOWS: [u32; 5] = [1, 10, 100, 1_000, 10_000];
/// What nothing of ours drives yet.
const GAPS: [&str; 2] = [
    "anything in ns-3",
    "the sweep and the memory per flow in ns-2",
];
/// Under callgrind ns-2 takes minutes to build a network of more.
const MOST_FLOWS_COUNTED_IN_NS2: u32 = 100;
/// So many runs of one flow make a run long enough to be timed.
const RUNS_OF_ONE_FLOW: u32 = 100;
/// Delays of the pipe in ms, and how many more packets are under way in the longer one: 1 Gbit/s · 4 s / 12000 bit.
const PIPES: [u32; 2] = [100, 4_100];
const MORE_PACKETS: f64 = 1e9 * 4.0 / 12_000.0;

/// A network to be timed.
struct Task {
    name: String,
    load: Load,
    runs: u64,
    /// Seconds of the runs whose instructions are counted.
    counted: Option<(u32, u32)>,
}

pub(crate) fn run(args: &BenchArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let Some(dir) = &args.out {
        papers_report::prepare(dir).map_err(CliError::Out)?;
    }
    let tools = Tools::find();
    let missing = tools.missing();
    if args.require && !missing.is_empty() {
        return Err(BenchError::Missing(missing.join("; ")).into());
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
    Ok(printed?)
}

/// What else is on this machine.
struct Tools {
    ns2: bool,
    valgrind: bool,
}

impl Tools {
    fn find() -> Self {
        Self {
            ns2: ns2::is_there(),
            valgrind: callgrind::is_there(),
        }
    }

    fn missing(&self) -> Vec<String> {
        let tools = [
            (self.ns2, "ns-2", ns2::INSTALL),
            (self.valgrind, "valgrind", callgrind::INSTALL),
        ];
        let missing = tools.iter().filter(|(there, ..)| !there);
        missing
            .map(|(_, name, install)| format!("{name} ({install})"))
            .collect()
    }
}

fn measure(args: &BenchArgs, tools: &Tools, bar: &Bar) -> Result<Results, BenchError> {
    let wanted = |workload| args.workloads.is_empty() || args.workloads.contains(&workload);
    let repetitions = args.repetitions.unwrap_or(if args.quick { 1 } else { 5 });
    let mut results = Results {
        repetitions,
        missing: tools.missing(),
        gaps: GAPS.map(str::to_owned).into(),
        ..Results::default()
    };
    let tasks: Vec<Task> = tasks(args.quick, wanted);
    let (memory, sweep) = (wanted(Workload::Memory), wanted(Workload::Sweep));
    let steps = tasks.len() as u64 * (u64::from(repetitions) + 1);
    bar.expect(steps + u64::from(memory) + u64::from(sweep) * u64::from(repetitions));
    for task in &tasks {
        results.rows.push(Row {
            name: task.name.clone(),
            flows: (task.load.network == Network::Flows).then_some(task.load.size),
            ours: Side::default(),
            ns2: Side::default(),
        });
    }
    for _ in 0..repetitions {
        for (task, row) in tasks.iter().zip(&mut results.rows) {
            bar.begin(&task.name, 0, 1);
            let mut ours = child::command(&task.load, task.runs, 1)?;
            row.ours.runs.push(child::measure(&mut ours, "")?.0);
            if tools.ns2 {
                let (mut command, input) = in_ns2(&task.load)?;
                row.ns2.runs.push(child::measure(&mut command, &input)?.0);
            }
            bar.finish();
        }
    }
    for (task, row) in tasks.iter().zip(&mut results.rows) {
        bar.begin(&format!("{}, instructions", task.name), 0, 1);
        if let (true, Some((shorter, longer))) = (tools.valgrind, task.counted) {
            let [shorter, longer] = [shorter, longer].map(|seconds| Load {
                seconds: Some(seconds),
                ..task.load
            });
            let ours = |load| child::command(load, 1, 1).map(|command| (command, String::new()));
            let count = callgrind::per_packet(&ours(&shorter)?, &ours(&longer)?)?;
            row.ours.instructions = Some(count);
            if tools.ns2 && !args.quick && task.load.size <= MOST_FLOWS_COUNTED_IN_NS2 {
                let count = callgrind::per_packet(&in_ns2(&shorter)?, &in_ns2(&longer)?)?;
                row.ns2.instructions = Some(count);
            }
        }
        bar.finish();
    }
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

fn in_ns2(load: &Load) -> Result<(Command, String), BenchError> {
    Ok((ns2::command(), ns2::input(&load.scenario()?, 1)?))
}

/// The networks to be timed.
fn tasks(quick: bool, wanted: impl Fn(Workload) -> bool) -> Vec<Task> {
    let single = [
        (Workload::Dumbbell, Network::Dumbbell, "dumbbell", 5, (2, 8)),
        (Workload::OneFlow, Network::OneFlow, "one flow", 20, (5, 25)),
        (
            Workload::ParkingLot,
            Network::ParkingLot,
            "parking lot",
            10,
            (5, 25),
        ),
    ];
    let mut tasks = Vec::new();
    for (workload, network, name, short, counted) in single {
        if wanted(workload) {
            tasks.push(Task {
                name: name.to_owned(),
                load: Load {
                    seconds: quick.then_some(short),
                    ..Load::whole(network)
                },
                runs: 1,
                counted: (!quick || network == Network::Dumbbell).then_some(counted),
            });
        }
    }
    let sizes = if quick { &FLOWS[..4] } else { &FLOWS };
    for &size in sizes.iter().filter(|_| wanted(Workload::Flows)) {
        tasks.push(Task {
            name: format!("{size} {}", if size == 1 { "flow" } else { "flows" }),
            load: Load {
                network: Network::Flows,
                size,
                seconds: quick.then_some(2),
            },
            runs: u64::from((RUNS_OF_ONE_FLOW / size).max(1)),
            counted: (!quick).then_some((1, 3)),
        });
    }
    tasks
}

/// Differences of peaks. Flows: 1,000 and 10,000 share the same hosts and links, and the same link and queue hold the
/// packets. Packets: two pipes differ in their delay alone, so in the packets under way.
fn bytes(quick: bool) -> Result<Memory, BenchError> {
    let peak = |network, size| {
        let load = Load {
            network,
            size,
            seconds: quick.then_some(5),
        };
        let measured = child::measure(&mut child::command(&load, 1, 1)?, "")?.0;
        Ok::<f64, BenchError>(measured.peak_bytes as f64)
    };
    let difference = |network, [few, many]: [u32; 2], by: f64| {
        let (few, many) = (peak(network, few)?, peak(network, many)?);
        // A machine that does not tell says zero.
        Ok::<_, BenchError>((few > 0.0).then_some((many - few) / by))
    };
    Ok(Memory {
        per_flow: difference(Network::Flows, [1_000, 10_000], 9_000.0)?,
        per_packet: difference(Network::Pipe, PIPES, MORE_PACKETS)?,
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
            runs.push(child::measure(&mut command, "")?.0);
        }
        bar.finish();
    }
    Ok(sweep)
}
