//! Tables 1 and 2: UDP alone and among TCP, IFTP and IFTPV (ELA-29, -30, -17, -32, -33).
//!
//! Each row is printed under several readings. Throughput and goodput are to be within 1 % of the paper's. The labelled
//! error rate, which the text states, counts, though it contradicts the tables by arithmetic (e^{−8192·BER} is 0.0003, 0.44,
//! 0.92, 0.992). The calibrated ones lose packets as often as the tables' goodputs say: a constant fitted to what is then
//! compared, so they are shown as fitted and do not count. A shared medium contradicts a goodput of 0.9999 and has no target.
//!
//! ```text
//! throughput / goodput = what UDP sends: 1.0146 to 1.0174 Mbit/s in all eight rows
//! 1040/1024            = 1.0156          with a header of 16 bytes on top of 1024
//! 10 s/(10 s − 169 ms) = 1.0172          if the time counted from the first arrival
//! ```
//!
//! More than 1 Mbit/s needs a link of more than 1 Mbit/s; Section 10 states delays alone. The reading "10 Mbit/s" gives
//! the wireless links the wired ones' rate.

use whyloss::Rate;

use whyloss_study::{
    Cell, Check, Claim, Context, ExperimentError, Line, Metric, Outcome, Plan, Runs, Weight,
};

use super::decide::{at, listed};
use super::measure::{BER, DEVIATION, FlowRun, GOODPUT, Item, THROUGHPUT, VARIANCE, place, run};
use super::network::{Errors, Medium, Network, WIRELESS};
use super::protocols::{Protocol, UDP_RATE, WIRED};
use super::settings::{all_compete, alone};

/// BERs of the tables.
pub(super) const BERS: [f64; 4] = [1e-3, 1e-4, 1e-5, 1e-6];
/// Throughput (Mbit/s), goodput and jitter (ms) at each of them.
pub(super) type Printed = [[f64; 3]; 4];

pub(super) const TABLE_1: Printed = [
    [0.929_384, 0.915_637_74, 35.155_892_1],
    [0.891_845_547, 0.876_558_87, 34.369_844_5],
    [0.899_109_867, 0.886_168_71, 37.067_094_1],
    [1.014_740_373, 0.999_907_01, 32.295_718_7],
];
pub(super) const TABLE_2: Printed = [
    [0.928_611_2, 0.915_126_467, 34.434_560_9],
    [1.005_395_627, 0.991_002_197, 32.539_600_98],
    [1.015_148_853, 0.999_127_881, 36.634_922_11],
    [1.015_779_36, 0.999_904_609, 36.250_599_13],
];

/// Tolerance of throughput and goodput, as a share of the paper's.
const TOLERANCE: f64 = 0.01;
/// Tolerance of jitter, as a share of the paper's.
const JITTER_TOLERANCE: f64 = 0.2;
/// The header of 1040/1024.
pub(super) const UDP_HEADER: u32 = 16;

/// How a table is read.
struct Reading {
    name: &'static str,
    of: (Errors, Medium),
    wireless: Rate,
    header: u32,
    target: bool,
}

const fn reading(
    name: &'static str,
    errors: Errors,
    wireless: Rate,
    header: u32,
    target: bool,
) -> Reading {
    Reading {
        name,
        of: (errors, Medium::Own),
        wireless,
        header,
        target,
    }
}

fn readings(shared: bool) -> Vec<Reading> {
    let mut readings = vec![
        reading("labelled", Errors::Labelled, WIRELESS, 0, true),
        reading("calibrated", Errors::Calibrated, WIRELESS, 0, true),
        reading("calibrated, 10 Mbit/s", Errors::Calibrated, WIRED, 0, true),
        reading(
            "calibrated, 10 Mbit/s, 16-byte header",
            Errors::Calibrated,
            WIRED,
            UDP_HEADER,
            true,
        ),
    ];
    if shared {
        readings.push(Reading {
            of: (Errors::Calibrated, Medium::Shared),
            ..reading("calibrated, shared", Errors::Calibrated, WIRELESS, 0, false)
        });
    }
    readings
}

/// `ela-table-1`.
pub(crate) fn table_1(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |reading: &Reading, ber| Network {
        wireless: reading.wireless,
        ..alone(reading.of, ber, udp(reading))
    };
    let identity = ("ela-table-1", "Table 1: UDP alone");
    table(context, identity, &readings(false), TABLE_1, network)
}

/// `ela-table-2`.
pub(crate) fn table_2(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |reading: &Reading, ber| Network {
        wireless: reading.wireless,
        ..all_compete(reading.of, ber, udp(reading))
    };
    let identity = ("ela-table-2", "Table 2: UDP among TCP, IFTP and IFTPV");
    table(context, identity, &readings(true), TABLE_2, network)
}

fn udp(reading: &Reading) -> Protocol {
    Protocol::udp_with_header(UDP_RATE, reading.header)
}

fn table(
    context: &Context<'_>,
    (id, title): (&str, &str),
    readings: &[Reading],
    printed: Printed,
    network: impl Fn(&Reading, f64) -> Network,
) -> Result<Outcome, ExperimentError> {
    let plan =
        |reading| Plan::new(&BER, &BERS).line("udp", "UDP", |ber| (network(reading, ber), "udp"));
    let plans: Vec<Plan<Item>> = readings.iter().map(plan).collect();
    let runs = run(context, &plans)?;
    let read = || readings.iter().zip(&runs);
    // All readings of a metric together.
    let rows = [THROUGHPUT, GOODPUT]
        .into_iter()
        .enumerate()
        .flat_map(|(index, metric)| {
            read().flat_map(move |(reading, runs)| {
                let paper = move |row: [f64; 3]| {
                    (row[index], reading.target.then_some(TOLERANCE * row[index]))
                };
                row(
                    reading,
                    metric.name,
                    &runs.line("udp", &metric),
                    printed,
                    paper,
                )
            })
        });
    let sent = read().flat_map(|(reading, runs)| {
        let line = runs.read_off("udp", ("udp", "UDP"), "Mbit/s", |run| {
            Some(run.throughput / run.goodput()?)
        });
        let paper =
            |[throughput, goodput, _]: [f64; 3]| ((1e4 * throughput / goodput).round() / 1e4, None);
        row(reading, "sent", &line, printed, paper)
            .into_iter()
            .map(|cell| Cell {
                metric: "",
                fitted: false,
                ..cell
            })
    });
    let jitters = [DEVIATION, VARIANCE].into_iter().flat_map(|metric| {
        read().flat_map(move |(reading, runs)| {
            let paper = |row: [f64; 3]| (row[2], None);
            row(
                reading,
                metric.name,
                &runs.line("udp", &metric),
                printed,
                paper,
            )
        })
    });
    let claims = read().flat_map(|(reading, runs)| {
        [DEVIATION, VARIANCE].map(|metric| jitter(reading, &metric, runs, printed))
    });
    let seeds = runs.iter().map(Runs::seeds).min();
    Ok(Outcome::new(id, title, seeds.unwrap_or(0))
        .cells(rows)
        .cells(sent)
        .cells(jitters)
        .claims(claims)
        .notes(NOTES))
}

const NOTES: [&str; 3] = [
    "−ln(goodput)/BER of the printed values is 88.1, 1318, 12 085, 93.0 bits in Table 1 and 88.7, 90.4, 87.2, 95.4 in \
     Table 2: but for the two middle rows of Table 1 (`ela-table-1-rows`), a packet is lost to errors within 88 bits, \
     not within its 8192. \"calibrated\" loses packets so; \"labelled\" takes the BER at its word.",
    "\"sent\" is throughput over goodput. The paper's is 1.0146 to 1.0174 Mbit/s in all eight rows, where the text says \
     1 Mbit/s: 1040/1024 = 1.0156 if a header of 16 bytes comes on top of 1024; 10 s/(10 s − 169 ms) = 1.0172 if \
     the time counted from the first arrival. A wireless link of 1 Mbit/s carries neither, so both need a faster one; \
     Section 10 states none.",
    "Throughput and goodput are to be within 1 % where there is a target; the calibrated readings descend from the \
     goodputs printed here, so their cells are fitted and do not count. Jitter is shown as standard deviation (ms) and \
     as variance (ms²): the paper says variance, which counts, and prints ms, which is shown beside it.",
];

/// What a reading gives at each BER, beside what `paper` takes of the printed row: a value, and how far from it.
fn row(
    reading: &Reading,
    what: &'static str,
    line: &Line,
    printed: Printed,
    paper: impl Fn([f64; 3]) -> (f64, Option<f64>),
) -> Vec<Cell> {
    let cells = line.cells(&format!("{what}, {}", reading.name));
    let beside = |(cell, printed): (Cell, [f64; 3])| {
        let (paper, tolerance) = paper(printed);
        Cell {
            column: place(cell.x.unwrap_or(f64::NAN)),
            x: None,
            paper: Some(paper),
            tolerance,
            metric: what,
            fitted: reading.of.0 == Errors::Calibrated,
            ..cell
        }
    };
    cells.into_iter().zip(printed).map(beside).collect()
}

/// Whether what the paper prints as jitter is this metric.
fn jitter(
    reading: &Reading,
    metric: &Metric<FlowRun>,
    runs: &Runs<FlowRun>,
    printed: Printed,
) -> Claim {
    let ours = runs.line("udp", metric);
    let ours = BERS.map(|ber| at(&ours, ber));
    let paper = printed.map(|row| row[2]);
    let near = |(ours, paper): (&f64, &f64)| (ours / paper - 1.0).abs() <= JITTER_TOLERANCE;
    let (letter, what) = if metric.unit == "ms" {
        ("a", "the standard deviation in ms")
    } else {
        ("b", "the variance in ms²")
    };
    let check = Check {
        holds: ours.iter().zip(&paper).all(near),
        evidence: format!("{}; paper {}", listed(ours), listed(paper)),
    };
    // "Delay jitter is the variance of the packet delay" (Section 5.3): what the table's ms would make of it is beside.
    let weight = match (reading.of.0, letter) {
        (Errors::Labelled, "b") => Weight::Counted,
        _ => Weight::Beside,
    };
    let text = format!("the table's jitter is {what} (within 20 % in every row)");
    check
        .claim(&format!("ELA-17{letter} ({})", reading.name), &text)
        .weighing(weight)
}
