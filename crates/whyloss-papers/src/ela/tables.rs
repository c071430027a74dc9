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

use super::network::{Errors, Medium, Network, WIRELESS};
use super::protocols::{Protocol, UDP_RATE, WIRED};
use super::settings::{all_compete, alone};
use super::study::{FlowRun, Metric, run, short};
use whyloss_study::Mean;
use whyloss_study::Replications;
use whyloss_study::Weight;
use whyloss_study::statistics::mean;
use whyloss_study::{CONFIDENCE, Cell, Claim, Outcome};
use whyloss_study::{Context, ExperimentError};

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

/// The values of UDP, which is the first flow, in the seeds' order.
pub(super) fn values(runs: &Replications<Vec<FlowRun>>, metric: Metric) -> Vec<f64> {
    let first = runs.iter().filter_map(|run| run.first());
    first.filter_map(|run| metric.of(run)).collect()
}

fn table(
    context: &Context<'_>,
    identity: (&str, &str),
    readings: &[Reading],
    printed: Printed,
    network: impl Fn(&Reading, f64) -> Network,
) -> Result<Outcome, ExperimentError> {
    let networks: Vec<Network> = readings
        .iter()
        .flat_map(|reading| BERS.map(|ber| network(reading, ber)))
        .collect();
    let runs = run(context, &networks.iter().collect::<Vec<_>>())?;
    let seeds = runs.iter().map(Vec::len).min().unwrap_or(0) as u64;
    let mut cells = Vec::new();
    let mut claims = Vec::new();
    for (reading, runs) in readings.iter().zip(runs.chunks(BERS.len())) {
        for (runs, (ber, printed)) in runs.iter().zip(BERS.iter().zip(printed)) {
            let column = format!("{ber:e}");
            cells.extend(row_cells(reading, &column, runs, printed));
        }
        let weight = match reading.of.0 {
            Errors::Labelled => Weight::Counted,
            Errors::Calibrated => Weight::Beside,
        };
        for metric in [Metric::Deviation, Metric::Variance] {
            claims.push(jitter(reading, metric, runs, printed).weighing(weight));
        }
    }
    // All readings of a metric together.
    let metric = |cell: &Cell| cell.row.split(", ").next().map(str::to_owned);
    let metrics: Vec<_> = cells.iter().take(5).map(metric).collect();
    cells.sort_by_key(|cell| metrics.iter().position(|known| *known == metric(cell)));
    Ok(Outcome {
        id: identity.0.into(),
        title: identity.1.into(),
        seeds,
        confidence: CONFIDENCE,
        cells,
        claims,
        figures: Vec::new(),
        notes: vec![
            "−ln(goodput)/BER of the printed values is 88.1, 1318, 12 085, 93.0 bits in Table 1 and 88.7, 90.4, 87.2, 95.4 in \
             Table 2: but for the two middle rows of Table 1 (`ela-table-1-rows`), a packet is lost to errors within 88 bits, \
             not within its 8192. \"calibrated\" loses packets so; \"labelled\" takes the BER at its word."
                .into(),
            "\"sent\" is throughput over goodput. The paper's is 1.0146 to 1.0174 Mbit/s in all eight rows, where the text says \
             1 Mbit/s: 1040/1024 = 1.0156 if a header of 16 bytes comes on top of 1024; 10 s/(10 s − 169 ms) = 1.0172 if \
             the time counted from the first arrival. A wireless link of 1 Mbit/s carries neither, so both need a faster one; \
             Section 10 states none."
                .into(),
            "Throughput and goodput are to be within 1 % where there is a target; the calibrated readings descend from the \
             goodputs printed here, so their cells are fitted and do not count. Jitter is shown as standard deviation (ms) and \
             as variance (ms²), with claims for each: the paper says variance and prints ms."
                .into(),
        ],
    })
}

/// What a reading gives at a BER.
fn row_cells(
    reading: &Reading,
    column: &str,
    runs: &Replications<Vec<FlowRun>>,
    [throughput, goodput, jitter]: [f64; 3],
) -> [Cell; 5] {
    let row = |what: &str| format!("{what}, {}", reading.name);
    let cell = |metric: Metric, paper: f64, target: bool| {
        let mean = Mean::of(&values(runs, metric));
        Cell {
            paper: Some(paper),
            tolerance: target.then_some(TOLERANCE * paper),
            metric: metric.name(),
            fitted: reading.of.0 == Errors::Calibrated,
            ..mean.cell(&row(metric.name()), column, metric.unit())
        }
    };
    let rate = values(runs, Metric::Throughput)
        .iter()
        .zip(values(runs, Metric::Goodput))
        .map(|(throughput, goodput)| throughput / goodput)
        .collect::<Vec<f64>>();
    [
        cell(Metric::Throughput, throughput, reading.target),
        cell(Metric::Goodput, goodput, reading.target),
        Cell {
            paper: Some((1e4 * throughput / goodput).round() / 1e4),
            ..Mean::of(&rate).cell(&row("sent"), column, "Mbit/s")
        },
        cell(Metric::Deviation, jitter, false),
        cell(Metric::Variance, jitter, false),
    ]
}

/// Whether what the paper prints as jitter is this metric.
fn jitter(
    reading: &Reading,
    metric: Metric,
    runs: &[Replications<Vec<FlowRun>>],
    printed: Printed,
) -> Claim {
    let ours: Vec<f64> = runs
        .iter()
        .map(|runs| mean(&values(runs, metric)).unwrap_or(f64::NAN))
        .collect();
    let holds = ours
        .iter()
        .zip(printed)
        .all(|(ours, [_, _, paper])| (ours / paper - 1.0).abs() <= JITTER_TOLERANCE);
    let (letter, what) = match metric {
        Metric::Deviation => ("a", "the standard deviation in ms"),
        _ => ("b", "the variance in ms²"),
    };
    let listed = |values: &mut dyn Iterator<Item = f64>| {
        let values: Vec<String> = values.map(short).collect();
        values.join(", ")
    };
    Claim::new(
        &format!("ELA-17{letter} ({})", reading.name),
        &format!("the table's jitter is {what} (within 20 % in every row)"),
        holds,
        format!(
            "{}; paper {}",
            listed(&mut ours.iter().copied()),
            listed(&mut printed.iter().map(|row| row[2]))
        ),
    )
}
