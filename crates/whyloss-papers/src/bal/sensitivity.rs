//! The stated numbers under other readings of what the paper leaves open, one at a time.

use whyloss::bandwidth::{DuplicateAcks, Gain, WestwoodSpec};
use whyloss::{Duration, Rate};
use whyloss_sim::host::tcp::{Options, Recovery, RtoOptions, RttSampling};

use super::estimates::{changing, compressing, error, excess, settling};
use super::findings::{gains, goodputs, run};
use super::goodput::lossy;
use super::network::{Cross, EDGE_RATE, Network};
use super::stack::{PACKET, Stack};
use super::trace::{Value, trace, values};
use crate::experiment::{Context, ExperimentError};
use crate::mean::Mean;
use crate::{CONFIDENCE, Cell, Outcome};

/// A reading of the paper.
struct Reading {
    name: &'static str,
    stack: Stack,
    /// Of the wireless link.
    rate: Rate,
    /// Of the buffers, in pipes.
    buffer: f64,
}

/// Where goodput is looked at.
#[derive(Clone, Copy)]
struct Place {
    name: &'static str,
    /// Of the wireless link, per cent.
    loss: f64,
    cross: Cross,
    flows: usize,
}

const PLACES: [Place; 5] = [
    place("0.001 % loss", 0.001, Cross::None, 1),
    place("0.1 % loss", 0.1, Cross::None, 1),
    place("1 % loss", 1.0, Cross::None, 1),
    place("0.001 % loss, UDP both ways", 0.001, Cross::OnOff, 1),
    place("0.1 % loss, ten flows of one version", 0.1, Cross::None, 10),
];

const fn place(name: &'static str, loss: f64, cross: Cross, flows: usize) -> Place {
    Place {
        name,
        loss,
        cross,
        flows,
    }
}

fn readings() -> Vec<Reading> {
    let taken = || Reading {
        name: "as taken",
        stack: Stack::default(),
        rate: EDGE_RATE,
        buffer: 1.0,
    };
    let estimating = |name, change: fn(&mut Stack)| {
        let mut reading = Reading { name, ..taken() };
        change(&mut reading.stack);
        reading
    };
    let with = |name, change: fn(&mut Options)| {
        let mut reading = Reading { name, ..taken() };
        change(&mut reading.stack.options);
        reading
    };
    vec![
        taken(),
        with("NewReno's recovery", |options| {
            options.recovery = Recovery::NewReno;
        }),
        with("the RFCs' TCP, Reno's recovery", |options| {
            *options = Options {
                recovery: Recovery::Reno,
                delayed_ack: None,
                ..Options::rfc(PACKET)
            };
        }),
        with("SACK's recovery", |options| {
            options.recovery = Recovery::Sack;
        }),
        with("RTO at least 0.2 s, 3 s at first", |options| {
            options.rto = RtoOptions::ns2();
        }),
        with("acknowledgements delayed", |options| {
            options.delayed_ack = Some(Duration::from_millis(100));
        }),
        with("one round trip measured per window", |options| {
            options.rtt_sampling = RttSampling::OncePerWindow;
        }),
        with("receiver's stamps in ticks of 10 ms", |options| {
            options.timestamp_tick = Some(Duration::from_millis(10));
        }),
        with("receiver's stamps in ticks of 1 ms", |options| {
            options.timestamp_tick = Some(Duration::from_millis(1));
        }),
        estimating("Westwood: a sample per acknowledgement", |stack| {
            stack.westwood = WestwoodSpec::PER_ACK;
        }),
        estimating("Westwood: m = 2", |stack| {
            stack.westwood.gain = Gain::Timed {
                tau: Duration::from_secs(1),
                m: 2,
            };
        }),
        estimating("Westwood: τ = 0.5 s", |stack| {
            stack.westwood.gain = Gain::Timed {
                tau: Duration::from_millis(500),
                m: 10,
            };
        }),
        estimating(
            "Westwood: any number of segments per acknowledgement",
            |stack| {
                stack.westwood.at_most = None;
            },
        ),
        estimating("SARBE: duplicates are samples", |stack| {
            stack.duplicates = DuplicateAcks::Sample;
        }),
        Reading {
            name: "wireless link of 10 Mbit/s",
            rate: Rate::from_mbps(10),
            ..taken()
        },
        Reading {
            name: "buffers of half a pipe",
            buffer: 0.5,
            ..taken()
        },
        Reading {
            name: "buffers of two pipes",
            buffer: 2.0,
            ..taken()
        },
        Reading {
            name: "wireless link of 2 Mbit/s",
            rate: Rate::from_mbps(2),
            ..taken()
        },
    ]
}

/// `bal-sensitivity`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let readings = readings();
    let mut scenarios = Vec::new();
    for reading in &readings {
        for place in PLACES {
            for variant in reading.stack.all() {
                let network = Network {
                    wireless: Some(reading.rate),
                    buffer: reading.buffer,
                    cross: place.cross,
                    ..lossy(place.loss)
                };
                scenarios.push(network.scenario(&vec![variant; place.flows]));
            }
        }
    }
    let (runs, seeds) = run(context, &scenarios)?;
    let goodput: Vec<Vec<f64>> = runs
        .iter()
        .map(|runs| {
            runs.iter()
                .map(|run| goodputs(run, "").iter().sum())
                .collect()
        })
        .collect();
    let mut cells: Vec<Cell> = Vec::new();
    for (point, place) in PLACES.iter().enumerate() {
        for (index, reading) in readings.iter().enumerate() {
            let first = 3 * (index * PLACES.len() + point);
            let [reno, westwood, balde] = [first, first + 1, first + 2].map(|i| &goodput[i]);
            let mut add = |column: &str, values: &[f64], unit| {
                let row = format!("{}: {}", place.name, reading.name);
                cells.push(Mean::of(values).cell(&row, column, unit));
            };
            add("Reno", reno, "Mbit/s");
            add("Westwood", westwood, "Mbit/s");
            add("BaLDE", balde, "Mbit/s");
            add("BaLDE over Reno", &gains(balde, reno), "%");
            add("BaLDE over Westwood", &gains(balde, westwood), "%");
        }
    }
    cells.extend(estimates(context, &readings)?);
    Ok(Outcome {
        id: "bal-sensitivity".into(),
        title: "the stated numbers under other readings of the paper".into(),
        seeds,
        confidence: CONFIDENCE,
        cells,
        claims: Vec::new(),
        figures: Vec::new(),
        notes: vec![
            "One thing varies at a time. The paper: at 1 % BaLDE is 76.6 % above Reno and 17.9 % above Westwood; at 0.001 % \
             it is 3.4 % above Westwood, 15.8 % among UDP sources; in Fig. 5 Westwood estimates more than 2 Mbit/s more than \
             BaLDE."
                .into(),
        ],
    })
}

/// Figs 4 and 5 in numbers.
fn estimates(context: &Context<'_>, readings: &[Reading]) -> Result<Vec<Cell>, ExperimentError> {
    let networks = [changing(), compressing(Cross::None)];
    let mut scenarios = Vec::new();
    for reading in readings {
        for network in &networks {
            let network = Network {
                buffer: reading.buffer,
                ..network.clone()
            };
            let both = [reading.stack.westwood(), reading.stack.balde()];
            scenarios.extend(both.map(|variant| network.scenario(&[variant])));
        }
    }
    let traces = trace(context, &scenarios)?;
    let mut cells = Vec::new();
    for (reading, traces) in readings.iter().zip(traces.chunks(4)) {
        let [westwood, balde, westwood_compressed, balde_compressed] = traces else {
            continue;
        };
        let row = format!("estimates: {}", reading.name);
        let mean = |traces, value: Value| Mean::of(&values(traces, value));
        cells.extend([
            mean(westwood, settling).cell(&row, "Westwood settles", "s"),
            mean(balde, settling).cell(&row, "BaLDE settles", "s"),
            mean(westwood, error).cell(&row, "Westwood's error", "%"),
            mean(balde, error).cell(&row, "BaLDE's error", "%"),
            excess(westwood_compressed, balde_compressed).cell(
                &row,
                "Westwood less BaLDE, Fig. 5",
                "Mbit/s",
            ),
        ]);
    }
    Ok(cells)
}
