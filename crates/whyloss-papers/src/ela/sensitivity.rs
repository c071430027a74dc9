//! What is stated in numbers or decides claims, under other readings of what the paper leaves open, one at a time.

use whyloss::Rate;
use whyloss::iftp::WindowMode;
use whyloss_link::queue::Limit;
use whyloss_sim::host::tcp::{Recovery, RtoOptions};

use whyloss_study::{Axis, Context, ExperimentError, Outcome, Plan, Runs};

use super::measure::{DEVIATION, Item, THROUGHPUT, VARIANCE, run};
use super::network::{Errors, FINITE, Medium, Network};
use super::protocols::{HEADER, PACKET, Protocol, UDP_RATE, VIDEO};
use super::settings::alone;

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

/// What is looked at: a network, and some of its flows by name and id.
struct Place {
    name: &'static str,
    network: fn() -> Network,
    flows: &'static [(&'static str, &'static str)],
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
        flows: &[("TCP", "tcp"), ("IFTP", "iftp"), ("IFTP-W", "iftp-w")],
    },
    Place {
        name: "Fig. 9 at 1e-6",
        network: || four(1e-6),
        flows: &[("TCP", "tcp"), ("IFTP", "iftp"), ("IFTP-W", "iftp-w")],
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
        flows: &[("TCP", "tcp"), ("IFTP-W", "iftp"), ("IFTPV-W", "iftpv")],
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
        flows: &[("TCP", "tcp"), ("IFTP-W", "iftp-w")],
    },
    Place {
        name: "scenario 4, labelled, 1e-6",
        network: || scenario_4(Errors::Labelled),
        flows: &[("TCP", "tcp"), ("IFTP", "iftp"), ("IFTPV", "iftpv")],
    },
    Place {
        name: "scenario 4, calibrated, 1e-6",
        network: || scenario_4(Errors::Calibrated),
        flows: &[("TCP", "tcp"), ("IFTP", "iftp"), ("IFTPV", "iftpv")],
    },
    Place {
        name: "scenario 6, labelled, 40 B",
        network: || scenario_6(Errors::Labelled),
        flows: &[("IFTP-W", "iftp-w"), ("IFTPV", "iftpv")],
    },
    Place {
        name: "scenario 6, calibrated, 40 B",
        network: || scenario_6(Errors::Calibrated),
        flows: &[("IFTP-W", "iftp-w"), ("IFTPV", "iftpv")],
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
const RATES: [f64; 8] = [
    1000.0, 1050.0, 1100.0, 1200.0, 1500.0, 2000.0, 5500.0, 10_000.0,
];

/// The flows of every place under a reading.
fn plan(reading: &Reading) -> Plan<Item> {
    let flows = PLACES
        .iter()
        .flat_map(|place| place.flows.iter().map(move |flow| (place, flow)));
    flows.fold(Plan::table(), |plan, (place, &(name, id))| {
        let column = format!("{}: {name}", place.name);
        plan.line(&column, &column, |_| {
            let mut network = (place.network)();
            (reading.change)(&mut network);
            (network, id)
        })
    })
}

/// UDP alone with packets of 1024 bytes, and with a header on top.
fn over_rate() -> Plan<Item> {
    let plan = Plan::new(&Axis::linear(""), &RATES);
    [("1024", 0), ("1040", super::tables::UDP_HEADER)]
        .into_iter()
        .fold(plan, |plan, (size, header)| {
            plan.line(size, &format!("packets of {size} B"), |rate| {
                let udp = Protocol::udp_with_header(UDP_RATE, header);
                let network = Network {
                    wireless: Rate::from_kbps(rate as u64),
                    ..alone((Errors::Calibrated, Medium::Own), 0.0, udp)
                };
                (network, "udp")
            })
        })
}

/// `ela-sensitivity`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mut plans: Vec<Plan<Item>> = READINGS.iter().map(plan).collect();
    plans.push(over_rate());
    let runs = run(context, &plans)?;
    let lines: Vec<_> = runs.iter().map(|runs| runs.lines(&THROUGHPUT)).collect();
    let columns = PLACES.iter().flat_map(|place| {
        let readings = READINGS.iter().zip(&lines);
        readings.flat_map(move |(reading, lines)| {
            let lines = place
                .flows
                .iter()
                .map(|(name, _)| lines.line(&format!("{}: {name}", place.name)));
            lines
                .flat_map(|line| line.cells(reading.name))
                .collect::<Vec<_>>()
        })
    });
    let alone = &runs[READINGS.len()];
    let by_size = ["1024", "1040"].into_iter().flat_map(|size| {
        let lines = [THROUGHPUT, DEVIATION, VARIANCE].map(|metric| {
            let row = format!("UDP alone over its link's rate in kbit/s: {}", metric.name);
            alone.line(size, &metric).cells(&row)
        });
        (0..RATES.len()).flat_map(move |rate| lines.each_ref().map(|cells| cells[rate].clone()))
    });
    let title = "the stated numbers under other readings of the paper";
    let seeds = runs.iter().map(Runs::seeds).min();
    Ok(Outcome::new("ela-sensitivity", title, seeds.unwrap_or(0))
        .cells(columns)
        .cells(by_size)
        .note(
            "One thing varies at a time; throughput in Mbit/s. The paper: at 1e-5 IFTP-W has more than 0.8 Mbit/s and IFTP less \
             than 0.2 (Fig. 9); in scenario 4 IFTPV is above IFTP and, at low BERs, above TCP; in scenario 6 IFTPV is above IFTP-W \
             at every coverage; UDP's jitter is 32.3 to 37.1 ms. Of scenario 4 and 6 every client has its own link; IFTPV-W is IFTPV \
             with a partial checksum, which the paper suggests in its conclusion.",
        ))
}
