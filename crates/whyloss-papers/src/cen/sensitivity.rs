//! Tables 2 and 3 under other readings of what the paper leaves open, one at a time.

use whyloss::tfrc;
use whyloss_link::ChannelSpec;
use whyloss_link::channel::{BurstRenewal, GilbertElliott};
use whyloss_study::{Context, ExperimentError, Outcome, Plan, Runs};

use super::channel::Level;
use super::measure::{self, Item, OF_ONE};
use super::network::{Network, Topology};
use super::radio;
use super::scheme::{self, Scheme, with_options};

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
        options: whyloss::schemes::tfrc::OPTIONS,
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
    let whose_delay = |reading: &&Reading| reading.name == "as taken" || !reading.delay_before_gap;
    let places = [("WLH", Topology::Wlh), ("WB", Topology::Wb)];
    let mut labels = Vec::new();
    let mut plans = Vec::new();
    for ((place, topology), flows) in places
        .into_iter()
        .flat_map(|at| [1, SEVERAL].map(|n| (at, n)))
    {
        // Whose delay ZigZag compares matters where flows compete.
        for reading in readings.iter().filter(|r| flows == 1 || whose_delay(r)) {
            let with = if flows == 1 {
                String::new()
            } else {
                format!(" with {flows} flows")
            };
            labels.push((format!("{place}{with}"), reading.name));
            let line = |plan: Plan<Item>, scheme: Scheme| {
                let network = Network {
                    warm_up: reading.warm_up,
                    before_queue: reading.before_queue,
                    ..Network::new(
                        topology,
                        flows,
                        std::slice::from_ref(&scheme),
                        &reading.channel,
                    )
                };
                plan.line(&scheme.id, &scheme.name, |_| network.item())
            };
            plans.push(schemes(reading).into_iter().fold(Plan::table(), line));
        }
    }
    let runs = measure::run(context, &plans)?;
    let cells = OF_ONE.iter().flat_map(|metric| {
        labels
            .iter()
            .zip(&runs)
            .flat_map(|((place, reading), runs)| {
                let row = format!("{place}, {}: {reading}", metric.name);
                runs.lines(metric).cells(&row)
            })
    });
    let title = "Tables 2 and 3 under other readings of the paper";
    let seeds = runs.iter().map(Runs::seeds).min();
    Ok(Outcome::new("cen-sensitivity", title, seeds.unwrap_or(0)).cells(cells).note(
        "One thing varies at a time, at high loss with one flow; whose delay ZigZag compares, with eight flows, too.",
    ))
}
