//! Tables 2 and 3 under other readings of what the paper leaves open, one at a time.

use whyloss::tfrc;
use whyloss_link::ChannelSpec;
use whyloss_link::channel::{BurstRenewal, GilbertElliott};
use whyloss_sim::scenario::Scenario;

use super::channel::Level;
use super::findings::Metric;
use super::network::{Network, Topology};
use super::radio;
use super::scheme::{self, Scheme, with_options};
use whyloss_study::statistics::Summary;
use whyloss_study::{CONFIDENCE, Cell, Outcome};
use whyloss_study::{Context, ExperimentError};

/// A reading: the channel, the options of TFRC, the order of update and decision, whose delay ZigZag compares, the warm-up.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent choices, not one state"
)]
struct Reading {
    name: &'static str,
    channel: ChannelSpec,
    options: tfrc::Options,
    update_first: bool,
    delay_before_gap: bool,
    warm_up: bool,
    before_queue: bool,
}

/// Flows where they compete.
const SEVERAL: usize = 8;

fn readings(context: &Context<'_>) -> Result<Vec<Reading>, ExperimentError> {
    let failed =
        |error: whyloss_link::channel::ChannelError| ExperimentError::Failed(Box::new(error));
    let base = || Reading {
        name: "as taken",
        channel: Level::High.channel(),
        options: scheme::tfrc_options(),
        update_first: true,
        delay_before_gap: true,
        warm_up: true,
        before_queue: false,
    };
    let loss = Level::High.loss();
    let slots = ChannelSpec::Slots {
        channel: Box::new(Level::High.channel()),
        per_packet: 2,
    };
    let bursts = |lengths: &[f64], good_run_cv| {
        ChannelSpec::BurstRenewal(BurstRenewal {
            loss,
            lengths: lengths.to_vec(),
            good_run_cv,
        })
    };
    let chain = GilbertElliott::from_loss_and_stay(loss, 0.25).map_err(failed)?;
    Ok(vec![
        base(),
        Reading {
            name: "TFRC of RFC 5348",
            options: tfrc::Options::rfc5348(),
            ..base()
        },
        Reading {
            name: "TFRC of RFC 5348, loss at the gap",
            options: tfrc::Options {
                loss_threshold: 1,
                ..tfrc::Options::rfc5348()
            },
            ..base()
        },
        Reading {
            name: "TFRC of ns-2 2.35 with its header",
            options: tfrc::Options::ns2(),
            ..base()
        },
        Reading {
            name: "decision before update",
            update_first: false,
            ..base()
        },
        Reading {
            name: "ZigZag compares the packet after the gap",
            delay_before_gap: false,
            ..base()
        },
        Reading {
            name: "errors before the queue",
            before_queue: true,
            ..base()
        },
        Reading {
            name: "no warm-up traffic",
            warm_up: false,
            ..base()
        },
        Reading {
            name: "good runs with a longer tail (coefficient of variation 1.5)",
            channel: bursts(&[0.75, 0.25], Some(1.5)),
            ..base()
        },
        Reading {
            name: "one burst in twenty longer than two packets",
            channel: bursts(&[0.70, 0.25, 0.04, 0.01], None),
            ..base()
        },
        Reading {
            name: "independent loss",
            channel: ChannelSpec::Bernoulli { loss },
            ..base()
        },
        Reading {
            name: "two-state chain",
            channel: ChannelSpec::GilbertElliott(chain),
            ..base()
        },
        Reading {
            name: "a packet is two slots",
            channel: slots,
            ..base()
        },
        Reading {
            name: "the simulated radio",
            channel: radio::pattern(context, Level::High)?,
            ..base()
        },
    ])
}

fn schemes(reading: &Reading) -> Vec<Scheme> {
    let flag = |name, on: bool| (name, f64::from(u8::from(on)));
    let update = [flag("update_first", reading.update_first)];
    let delay = [
        update[0],
        flag("delay_before_gap", reading.delay_before_gap),
    ];
    let classified = |id: &str, parameters: &[(&str, f64)]| {
        let name = scheme::by_id(id).name;
        with_options(id, &name, parameters, &reading.options)
    };
    let mut schemes = vec![
        scheme::tcp(),
        classified("unaware", &[]),
        classified("oracle", &[]),
    ];
    schemes.extend(["biaz", "mbiaz", "spike"].map(|id| classified(id, &update)));
    schemes.extend(["zigzag", "zbs", "zbs2", "zbs3"].map(|id| classified(id, &delay)));
    schemes
}

/// `cen-sensitivity`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let readings = readings(context)?;
    let mut labels = Vec::new();
    let mut scenarios: Vec<Scenario> = Vec::new();
    let whose_delay = |reading: &&Reading| reading.name == "as taken" || !reading.delay_before_gap;
    let places = [Topology::Wlh, Topology::Wb]
        .into_iter()
        .flat_map(|topology| [1, SEVERAL].map(|flows| (topology, flows)));
    for (topology, flows) in places {
        // Whose delay ZigZag compares matters where flows compete.
        for reading in readings.iter().filter(|r| flows == 1 || whose_delay(r)) {
            for scheme in schemes(reading) {
                let schemes = std::slice::from_ref(&scheme);
                let (channel, warm_up) = (&reading.channel, reading.warm_up);
                scenarios.push(
                    Network {
                        topology,
                        flows,
                        schemes,
                        channel,
                        warm_up,
                        before_queue: reading.before_queue,
                    }
                    .scenario(),
                );
                labels.push((topology, flows, reading, scheme.name));
            }
        }
    }
    let runs = context.replicate(&scenarios)?;
    let mut cells = Vec::new();
    for &metric in &Metric::ALL[..6] {
        for ((topology, flows, reading, scheme), runs) in labels.iter().zip(&runs) {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| match metric {
                    // What is lost before the queue never crosses the link.
                    Metric::Throughput | Metric::Crossed if reading.before_queue => {
                        Metric::Received.of(run, *topology)
                    }
                    _ => metric.of(run, *topology),
                })
                .collect();
            let Summary { mean, ci95, .. } = Summary::of(&values);
            cells.push(Cell {
                row: match flows {
                    1 => format!("{}, {}: {}", topology.name(), metric.name(), reading.name),
                    _ => format!(
                        "{} with {flows} flows, {}: {}",
                        topology.name(),
                        metric.name(),
                        reading.name
                    ),
                },
                column: scheme.clone(),
                x: None,
                unit: "%",
                paper: None,
                mean,
                half_width: ci95,
                tolerance: None,
                ..Cell::default()
            });
        }
    }
    Ok(Outcome {
        id: "cen-sensitivity".into(),
        title: "Tables 2 and 3 under other readings of the paper".into(),
        seeds: runs.iter().map(|runs| runs.len() as u64).max().unwrap_or(0),
        confidence: CONFIDENCE,
        cells,
        claims: Vec::new(),
        figures: Vec::new(),
        notes: vec![
            "One thing varies at a time, at high loss with one flow; whose delay ZigZag compares, with eight flows, too.".into(),
        ],
    })
}
