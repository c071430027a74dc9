//! What is said about a run, in whatever format: one list of metrics for flows, one for links, each with a value per
//! seed.
//!
//! [`whyloss_sim::run_measured`] simulates one seed and measures what is asked for, [`Results`] holds what several seeds gave, [`json`] writes
//! them, and [`Metric`]s have the same keys wherever they stand: in the command's output, in sweeps and in Python.

use crate::statistics;
use whyloss::{Cause, Confusion, Duration};
use whyloss_sim::{
    DelaySummary, FlowResult, FrameCounts, LinkResult, Measurement, Run, Scenario, TransferResult,
    scenario::Flow,
};

pub mod json;

/// The values of every flow and link under every seed.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    /// The scenario's title.
    pub title: &'a str,
    /// Seeds, in the order of every metric's values.
    pub seeds: Vec<u64>,
    /// Length of the measurement window.
    pub window: Duration,
    /// The sum over all flows but background traffic.
    pub total: Item,
    /// One for each flow, in the scenario's order.
    pub flows: Vec<Item>,
    /// One for each flow with a stream and each of its playout delays.
    pub frames: Vec<Item>,
    /// One for each flow with transfers.
    pub transfers: Vec<Item>,
    /// One for each link, in the scenario's order.
    pub links: Vec<Item>,
}

/// A flow, the frames or transfers of a flow, or a link.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its name in the scenario.
    pub name: String,
    /// How long after their capture frames are played, in ms.
    pub playout_ms: Option<f64>,
    /// Warm-up or cross traffic.
    pub background: bool,
    /// What is said about it, in the order of the lists below.
    pub metrics: Vec<Metric>,
}

/// One metric under every seed. A dot in its key parts a group from its member.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, which ends with its unit if it has one.
    pub key: &'static str,
    /// A value for each seed.
    pub values: Vec<Value>,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Something that is counted.
    Count(u64),
    /// Something that is measured; `None` when there was nothing to measure it by.
    Real(Option<f64>),
}

impl Value {
    /// As a real, if there is one.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(count as f64),
            Self::Real(real) => real,
        }
    }
}

impl Metric {
    /// Over the seeds that have a value.
    pub fn mean(&self) -> Option<f64> {
        statistics::mean(&self.known())
    }

    /// Half the width of the 95 % confidence interval of the mean.
    pub fn ci95(&self) -> Option<f64> {
        statistics::ci95(&self.known())
    }

    /// Whether not all seeds that have a value have the same.
    pub fn varies(&self) -> bool {
        let known = self.known();
        known
            .windows(2)
            .any(|pair| pair[0].total_cmp(&pair[1]).is_ne())
    }

    fn known(&self) -> Vec<f64> {
        self.values.iter().filter_map(|v| v.as_f64()).collect()
    }
}

impl Item {
    /// Its name, with the playout delay if it has one.
    pub fn label(&self) -> String {
        match self.playout_ms {
            Some(ms) => format!("{} {ms} ms", self.name),
            None => self.name.clone(),
        }
    }

    /// What is said under this key.
    pub fn metric(&self, key: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.key == key)
    }
}

impl<'a> Results<'a> {
    /// Whether any value differs between seeds.
    pub fn is_random(&self) -> bool {
        let items = [&self.flows, &self.frames, &self.transfers, &self.links];
        let mut metrics = items.into_iter().flatten().flat_map(|item| &item.metrics);
        metrics.any(|metric| {
            let known = metric
                .values
                .iter()
                .filter(|v| v.as_f64().is_some())
                .count();
            metric.varies() || (known > 0 && known < metric.values.len())
        })
    }

    /// `runs` are of this scenario, at least one.
    pub fn new(scenario: &'a Scenario, runs: &[&Run]) -> Self {
        let totals: Vec<FlowResult> = runs.iter().map(|run| total(&run.measurement)).collect();
        let flow = |index: usize| runs.iter().map(move |run| &run.measurement.flows[index]);
        let delay = |index: usize| runs.iter().map(move |run| &run.delays[index]);
        let measured = runs.iter().all(|run| !run.delays.is_empty());
        let link = |index: usize| runs.iter().map(move |run| &run.measurement.links[index]);
        let window = runs
            .first()
            .map_or(Duration::ZERO, |run| run.measurement.window);
        let printed = |mut metrics: Vec<Metric>| {
            metrics.retain(|metric| metric.key != MARKED || scenario.uses_ecn());
            metrics
        };
        Self {
            title: &scenario.title,
            seeds: runs.iter().map(|run| run.seed).collect(),
            window,
            total: Item {
                name: "total".into(),
                playout_ms: None,
                background: false,
                metrics: printed(metrics(FLOW, &totals.iter(), window)),
            },
            flows: scenario
                .flows
                .iter()
                .enumerate()
                .map(|(index, spec)| Item {
                    name: spec.name.clone(),
                    playout_ms: None,
                    background: spec.background,
                    metrics: [
                        printed(metrics(FLOW, &flow(index), window)),
                        if measured {
                            metrics(DELAY, &delay(index), window)
                        } else {
                            Vec::new()
                        },
                    ]
                    .concat(),
                })
                .collect(),
            frames: frames(scenario, runs, window),
            transfers: transfers(scenario, runs, window),
            links: scenario
                .links
                .iter()
                .enumerate()
                .map(|(index, spec)| Item {
                    name: spec.name.clone(),
                    playout_ms: None,
                    background: false,
                    metrics: printed(metrics(LINK, &link(index), window)),
                })
                .collect(),
        }
    }
}

fn frames(scenario: &Scenario, runs: &[&Run], window: Duration) -> Vec<Item> {
    let item = |flow: usize, playout: usize| {
        let counts = runs.iter().map(move |run| &run.frames[flow][playout]);
        let spec = &scenario.flows[flow];
        let delay = runs.first().map(|run| run.frames[flow][playout].playout);
        Item {
            name: spec.name.clone(),
            playout_ms: delay.map(|delay| delay.as_nanos() as f64 / 1e6),
            background: spec.background,
            metrics: metrics(FRAMES, &counts, window),
        }
    };
    let playouts = |flow: &usize| runs.first().map_or(0, |run| run.frames[*flow].len());
    (0..scenario.flows.len())
        .flat_map(|flow| (0..playouts(&flow)).map(move |playout| (flow, playout)))
        .map(|(flow, playout)| item(flow, playout))
        .collect()
}

fn transfers(scenario: &Scenario, runs: &[&Run], window: Duration) -> Vec<Item> {
    let item = |(index, spec): (usize, &Flow)| {
        let of_seeds = runs.iter().map(move |run| &run.measurement.flows[index]);
        let results = of_seeds.map(|flow| flow.transfers.as_deref());
        let results: Vec<&TransferResult> = results.collect::<Option<_>>()?;
        Some(Item {
            name: spec.name.clone(),
            playout_ms: None,
            background: spec.background,
            metrics: metrics(TRANSFERS, &results.iter().copied(), window),
        })
    };
    (scenario.flows.iter().enumerate())
        .filter_map(item)
        .collect()
}

/// Packets with ECN's mark: printed only where ECN is used.
const MARKED: &str = "marked";

/// A list of metrics: the key of each, and its value over a measurement window.
pub(crate) type Metrics<T> = &'static [(&'static str, fn(&T, Duration) -> Value)];

/// What is printed about a flow.
pub(crate) const FLOW: Metrics<FlowResult> = &[
    ("sent", |f, _| Value::Count(f.sent)),
    ("received", |f, _| Value::Count(f.received)),
    ("delivered", |f, _| Value::Count(f.delivered)),
    ("damaged", |f, _| Value::Count(f.damaged)),
    (MARKED, |f, _| Value::Count(f.marked)),
    ("throughput_bps", |f, window| {
        Value::Real(Some(f.throughput_bps(window)))
    }),
    ("lost.congestion", |f, _| Value::Count(f.lost.congestion)),
    ("lost.wireless", |f, _| Value::Count(f.lost.wireless)),
    ("mc", |f, _| Value::Real(f.packets.mc())),
    ("mw", |f, _| Value::Real(f.packets.mw())),
    ("accuracy", |f, _| Value::Real(f.packets.accuracy())),
    ("packets.congestion_called_congestion", |f, _| {
        count(&f.packets, Cause::Congestion, Cause::Congestion)
    }),
    ("packets.congestion_called_wireless", |f, _| {
        count(&f.packets, Cause::Congestion, Cause::Wireless)
    }),
    ("packets.wireless_called_congestion", |f, _| {
        count(&f.packets, Cause::Wireless, Cause::Congestion)
    }),
    ("packets.wireless_called_wireless", |f, _| {
        count(&f.packets, Cause::Wireless, Cause::Wireless)
    }),
    ("gaps.congestion_called_congestion", |f, _| {
        count(&f.gaps, Cause::Congestion, Cause::Congestion)
    }),
    ("gaps.congestion_called_wireless", |f, _| {
        count(&f.gaps, Cause::Congestion, Cause::Wireless)
    }),
    ("gaps.wireless_called_congestion", |f, _| {
        count(&f.gaps, Cause::Wireless, Cause::Congestion)
    }),
    ("gaps.wireless_called_wireless", |f, _| {
        count(&f.gaps, Cause::Wireless, Cause::Wireless)
    }),
    ("timeouts", |f, _| Value::Count(f.timeouts)),
];

/// What is printed about the delays of a flow.
pub(crate) const DELAY: Metrics<DelaySummary> = &[
    ("delay.mean_ms", |d, _| Value::Real(d.mean_ms())),
    ("delay.min_ms", |d, _| Value::Real(d.min_ms())),
    ("delay.p50_ms", |d, _| Value::Real(d.quantile_ms(0.5))),
    ("delay.p95_ms", |d, _| Value::Real(d.quantile_ms(0.95))),
    ("delay.p99_ms", |d, _| Value::Real(d.quantile_ms(0.99))),
    ("delay.max_ms", |d, _| Value::Real(d.max_ms())),
    ("delay.jitter_ms", |d, _| Value::Real(d.deviation_ms())),
    ("delay.jitter_ms2", |d, _| Value::Real(d.variance_ms2())),
    ("delay.rfc3550_jitter_ms", |d, _| {
        Value::Real(d.rfc3550_ms())
    }),
];

/// What is printed about the frames of a flow.
pub(crate) const FRAMES: Metrics<FrameCounts> = &[
    ("frames", |f, _| Value::Count(f.frames)),
    ("whole", |f, _| Value::Real(f.share(f.whole))),
    ("damaged", |f, _| Value::Real(f.share(f.damaged))),
    ("late", |f, _| Value::Real(f.share(f.late))),
    ("never", |f, _| Value::Real(f.share(f.never()))),
];

/// What is printed about the transfers of a flow.
pub(crate) const TRANSFERS: Metrics<TransferResult> = &[
    ("completed", |t, _| Value::Count(t.times.count())),
    ("unfinished", |t, _| Value::Count(t.unfinished)),
    ("mean_ms", |t, _| Value::Real(t.times.mean_ms())),
    ("p50_ms", |t, _| Value::Real(t.times.quantile_ms(0.5))),
    ("p95_ms", |t, _| Value::Real(t.times.quantile_ms(0.95))),
    ("p99_ms", |t, _| Value::Real(t.times.quantile_ms(0.99))),
    ("max_ms", |t, _| Value::Real(t.times.max_ms())),
];

/// What is printed about a link.
pub(crate) const LINK: Metrics<LinkResult> = &[
    ("delivered", |l, _| Value::Count(l.delivered)),
    ("damaged", |l, _| Value::Count(l.damaged)),
    (MARKED, |l, _| Value::Count(l.marked)),
    ("lost.congestion", |l, _| Value::Count(l.lost.congestion)),
    ("lost.wireless", |l, _| Value::Count(l.lost.wireless)),
    ("utilisation", |l, window| {
        Value::Real(Some(l.utilisation(window)))
    }),
];

fn count(confusion: &Confusion, truth: Cause, verdict: Cause) -> Value {
    Value::Count(confusion.count(truth, verdict))
}

fn metrics<'r, T: 'r>(
    list: Metrics<T>,
    results: &(impl Iterator<Item = &'r T> + Clone),
    window: Duration,
) -> Vec<Metric> {
    let metric = |&(key, value): &(&'static str, fn(&T, Duration) -> Value)| Metric {
        key,
        values: results
            .clone()
            .map(|result| value(result, window))
            .collect(),
    };
    list.iter().map(metric).collect()
}

/// The sum over all flows but background traffic.
pub(crate) fn total(run: &Measurement) -> FlowResult {
    let mut total = FlowResult::default();
    for flow in run.flows.iter().filter(|flow| !flow.background) {
        total.sent += flow.sent;
        total.received += flow.received;
        total.received_bytes += flow.received_bytes;
        total.delivered += flow.delivered;
        total.damaged += flow.damaged;
        total.marked += flow.marked;
        total.lost.congestion += flow.lost.congestion;
        total.lost.wireless += flow.lost.wireless;
        total.packets.merge(&flow.packets);
        total.gaps.merge(&flow.gaps);
        total.timeouts += flow.timeouts;
    }
    total
}
