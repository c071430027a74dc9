//! What is stated in numbers or decides claims, under other readings of what the paper leaves open, one at a time.

use whyloss::Rate;
use whyloss::iftp::WindowMode;
use whyloss_link::queue::Limit;
use whyloss_sim::host::tcp::{Recovery, RtoOptions};

use super::network::{Errors, FINITE, Medium, Network};
use super::protocols::{HEADER, PACKET, Protocol, UDP_RATE, VIDEO};
use super::settings::alone;
use super::study::{FlowRun, Metric, run};
use whyloss_study::Mean;
use whyloss_study::Replications;
use whyloss_study::{CONFIDENCE, Cell, Outcome};
use whyloss_study::{Context, ExperimentError};

/// A reading: what it changes of every network.
struct Reading {
    name: &'static str,
    change: fn(&mut Network),
}

const READINGS: &[Reading] = &[
    Reading {
        name: "as taken",
        change: |_| {},
    },
    Reading {
        name: "IFTP: waits for all of a window (the older version)",
        change: |net| {
            for protocol in &mut net.protocols {
                *protocol = protocol
                    .clone()
                    .with(|options| options.window = WindowMode::Blocking);
            }
        },
    },
    Reading {
        name: "IFTP: τ = 0",
        change: |net| {
            for protocol in &mut net.protocols {
                *protocol = protocol
                    .clone()
                    .with(|options| options.transmission_time = Some(whyloss::Duration::ZERO));
            }
        },
    },
    Reading {
        name: "IFTP and TCP: RTO at least 0.2 s",
        change: |net| {
            let least = whyloss::Duration::from_millis(200);
            for protocol in &mut net.protocols {
                *protocol = protocol
                    .clone()
                    .with(|options| options.rto.min = least)
                    .with_tcp(|options| options.rto.min = least);
            }
        },
    },
    Reading {
        name: "TCP: NewReno's recovery",
        change: |net| with_tcp(net, |options| options.recovery = Recovery::NewReno),
    },
    Reading {
        name: "TCP: SACK",
        change: |net| with_tcp(net, |options| options.recovery = Recovery::Sack),
    },
    Reading {
        name: "TCP: ns-2's timer (ticks of 10 ms)",
        change: |net| with_tcp(net, |options| options.rto = RtoOptions::ns2()),
    },
    Reading {
        name: "acknowledgements without errors",
        change: |net| net.errors_in_acks = false,
    },
    Reading {
        name: "infinite buffers",
        change: |net| net.buffer = Limit::Unlimited,
    },
    Reading {
        name: "buffers of 20 000 bytes",
        change: |net| net.buffer = Limit::Bytes(20_000),
    },
    Reading {
        name: "wireless links of 2 Mbit/s",
        change: |net| net.wireless = Rate::from_mbps(2),
    },
    Reading {
        name: "one wireless link for all",
        change: |net| net.medium = Medium::Shared,
    },
    Reading {
        name: "30 s instead of 10, 120 as before",
        change: |net| {
            if net.sending < whyloss::Duration::from_secs(60) {
                net.sending = whyloss::Duration::from_secs(30);
            }
        },
    },
];

fn with_tcp(net: &mut Network, change: fn(&mut whyloss_sim::host::tcp::Options)) {
    for protocol in &mut net.protocols {
        *protocol = protocol.clone().with_tcp(change);
    }
}

/// What is looked at: a network, and some of its flows.
struct Place {
    name: &'static str,
    network: fn() -> Network,
    flows: &'static [(&'static str, usize)],
}

fn four(ber: f64) -> Network {
    let protocols = vec![
        Protocol::udp(UDP_RATE),
        Protocol::tcp(),
        Protocol::iftp(PACKET),
        Protocol::iftp_w(PACKET, HEADER),
    ];
    Network::one_router(ber, protocols)
}

const PLACES: &[Place] = &[
    Place {
        name: "Fig. 9 at 1e-5",
        network: || four(1e-5),
        flows: &[("TCP", 1), ("IFTP", 2), ("IFTP-W", 3)],
    },
    Place {
        name: "Fig. 9 at 1e-6",
        network: || four(1e-6),
        flows: &[("TCP", 1), ("IFTP", 2), ("IFTP-W", 3)],
    },
    Place {
        name: "all with 40 sensitive bytes, 1e-5",
        network: || {
            let tolerant = |protocol: Protocol| Protocol {
                coverage: Some(HEADER),
                ..protocol
            };
            let protocols = [
                Protocol::tcp(),
                Protocol::iftp(PACKET),
                Protocol::iftpv(PACKET),
            ];
            Network::one_router(1e-5, protocols.map(tolerant).into())
        },
        flows: &[("TCP", 0), ("IFTP-W", 1), ("IFTPV-W", 2)],
    },
    Place {
        name: "Fig. 8, UDP at 400 kbit/s",
        network: || Network {
            medium: Medium::Shared,
            buffer: FINITE,
            ..Network::one_router(
                0.0,
                vec![
                    Protocol::udp(Rate::from_kbps(400)),
                    Protocol::tcp(),
                    Protocol::iftp_w(PACKET, HEADER),
                ],
            )
        },
        flows: &[("TCP", 1), ("IFTP-W", 2)],
    },
    Place {
        name: "scenario 4, labelled, 1e-6",
        network: || scenario_4(Errors::Labelled),
        flows: &[("TCP", 0), ("IFTP", 1), ("IFTPV", 2)],
    },
    Place {
        name: "scenario 4, calibrated, 1e-6",
        network: || scenario_4(Errors::Calibrated),
        flows: &[("TCP", 0), ("IFTP", 1), ("IFTPV", 2)],
    },
    Place {
        name: "scenario 6, labelled, 40 B",
        network: || scenario_6(Errors::Labelled),
        flows: &[("IFTP-W", 0), ("IFTPV", 1)],
    },
    Place {
        name: "scenario 6, calibrated, 40 B",
        network: || scenario_6(Errors::Calibrated),
        flows: &[("IFTP-W", 0), ("IFTPV", 1)],
    },
];

fn scenario_4(errors: Errors) -> Network {
    let protocols = vec![
        Protocol::tcp(),
        Protocol::iftp(PACKET),
        Protocol::iftpv(PACKET),
    ];
    Network::two_routers((errors, Medium::Own), 1e-6, protocols)
}

fn scenario_6(errors: Errors) -> Network {
    let protocols = vec![Protocol::iftp_w(VIDEO, HEADER), Protocol::iftpv(VIDEO)];
    Network::two_routers((errors, Medium::Own), 1e-4, protocols)
}

/// Rates of UDP's wireless link, kbit/s: what they make of its jitter.
const RATES: [u64; 8] = [1000, 1050, 1100, 1200, 1500, 2000, 5500, 10_000];

/// `ela-sensitivity`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mut networks = Vec::new();
    for place in PLACES {
        for reading in READINGS {
            let mut network = (place.network)();
            (reading.change)(&mut network);
            networks.push(network);
        }
    }
    let udp = |header| {
        move |rate: u64| Network {
            wireless: Rate::from_kbps(rate),
            ..alone(
                (Errors::Calibrated, Medium::Own),
                0.0,
                Protocol::udp_with_header(UDP_RATE, header),
            )
        }
    };
    networks.extend(RATES.map(udp(0)));
    networks.extend(RATES.map(udp(super::tables::UDP_HEADER)));
    let runs = run(context, &networks.iter().collect::<Vec<_>>())?;
    let seeds = runs.iter().map(Vec::len).min().unwrap_or(0) as u64;
    let mut cells: Vec<Cell> = Vec::new();
    let mut next = runs.iter();
    for place in PLACES {
        for (reading, runs) in READINGS.iter().zip(next.by_ref()) {
            for &(name, flow) in place.flows {
                let mean = Mean::of(&values(runs, flow, Metric::Throughput));
                let column = format!("{}: {name}", place.name);
                cells.push(mean.cell(reading.name, &column, "Mbit/s"));
            }
        }
    }
    for header in ["1024", "1040"] {
        for (rate, runs) in RATES.iter().zip(next.by_ref()) {
            for metric in [Metric::Throughput, Metric::Deviation, Metric::Variance] {
                let row = format!(
                    "UDP alone over its link's rate in kbit/s: {}",
                    metric.name()
                );
                let column = format!("packets of {header} B");
                let mean = Mean::of(&values(runs, 0, metric));
                cells.push(Cell {
                    x: Some(*rate as f64),
                    ..mean.cell(&row, &column, metric.unit())
                });
            }
        }
    }
    Ok(Outcome {
        id: "ela-sensitivity".into(),
        title: "the stated numbers under other readings of the paper".into(),
        seeds,
        confidence: CONFIDENCE,
        cells,
        claims: Vec::new(),
        figures: Vec::new(),
        notes: vec![
            "One thing varies at a time; throughput in Mbit/s. The paper: at 1e-5 IFTP-W has more than 0.8 Mbit/s and IFTP less \
             than 0.2 (Fig. 9); in scenario 4 IFTPV is above IFTP and, at low BERs, above TCP; in scenario 6 IFTPV is above IFTP-W \
             at every coverage; UDP's jitter is 32.3 to 37.1 ms. Of scenario 4 and 6 every client has its own link; IFTPV-W is IFTPV \
             with a partial checksum, which the paper suggests in its conclusion."
                .into(),
        ],
    })
}

fn values(runs: &Replications<Vec<FlowRun>>, flow: usize, metric: Metric) -> Vec<f64> {
    let runs = runs.iter().filter_map(|run| run.get(flow));
    runs.filter_map(|run| metric.of(run)).collect()
}
