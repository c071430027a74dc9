//! What is printed about a run, in whatever format: one list of metrics for flows, one for links, each with a value per
//! seed.

use whyloss::{Cause, Confusion, Duration};
use whyloss_sim::{DelaySummary, FlowResult, FrameCounts, LinkResult, Measurement, Scenario};
use whyloss_study::statistics;

/// What one seed gave.
pub(super) struct Run {
    pub(super) seed: u64,
    pub(super) measurement: Measurement,
    /// One per flow of the scenario, in its order.
    pub(super) delays: Vec<DelaySummary>,
    /// Counts of frames of each flow of the scenario, for each playout delay; none without a stream.
    pub(super) frames: Vec<Vec<FrameCounts>>,
}

/// The values of every flow and link under every seed.
pub(super) struct Results<'a> {
    pub(super) title: &'a str,
    pub(super) seeds: Vec<u64>,
    /// Length of the measurement window.
    pub(super) window: Duration,
    /// The sum over all flows but background traffic.
    pub(super) total: Item,
    pub(super) flows: Vec<Item>,
    /// One for each flow with a stream and each of its playout delays.
    pub(super) frames: Vec<Item>,
    pub(super) links: Vec<Item>,
}

/// A flow, the frames of a flow, or a link.
pub(super) struct Item {
    pub(super) name: String,
    /// How long after their capture frames are played, in ms.
    pub(super) playout_ms: Option<f64>,
    /// Warm-up or cross traffic.
    pub(super) background: bool,
    pub(super) metrics: Vec<Metric>,
}

/// One metric under every seed. A dot in its key parts a group from its member.
#[derive(Clone)]
pub(super) struct Metric {
    pub(super) key: &'static str,
    pub(super) values: Vec<Value>,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// Something that is counted.
    Count(u64),
    /// Something that is measured; `None` when there was nothing to measure it by.
    Real(Option<f64>),
}

impl Value {
    pub(super) fn as_f64(self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(count as f64),
            Self::Real(real) => real,
        }
    }
}

impl Metric {
    /// Over the seeds that have a value.
    pub(super) fn mean(&self) -> Option<f64> {
        statistics::mean(&self.known())
    }

    /// Half the width of the 95 % confidence interval of the mean.
    pub(super) fn ci95(&self) -> Option<f64> {
        statistics::ci95(&self.known())
    }

    /// Whether not all seeds that have a value have the same.
    pub(super) fn varies(&self) -> bool {
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
    /// Names the row, with the playout delay if it has one.
    pub(super) fn label(&self) -> String {
        match self.playout_ms {
            Some(ms) => format!("{} {ms} ms", self.name),
            None => self.name.clone(),
        }
    }

    pub(super) fn metric(&self, key: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.key == key)
    }
}

impl<'a> Results<'a> {
    /// Whether any value differs between seeds.
    pub(super) fn is_random(&self) -> bool {
        let items = [&self.flows, &self.frames, &self.links];
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
    pub(super) fn new(scenario: &'a Scenario, runs: &[&Run]) -> Self {
        let totals: Vec<FlowResult> = runs.iter().map(|run| total(&run.measurement)).collect();
        let flow = |index: usize| runs.iter().map(move |run| &run.measurement.flows[index]);
        let delay = |index: usize| runs.iter().map(move |run| &run.delays[index]);
        let link = |index: usize| runs.iter().map(move |run| &run.measurement.links[index]);
        let window = runs
            .first()
            .map_or(Duration::ZERO, |run| run.measurement.window);
        Self {
            title: &scenario.title,
            seeds: runs.iter().map(|run| run.seed).collect(),
            window,
            total: Item {
                name: "total".into(),
                playout_ms: None,
                background: false,
                metrics: metrics(FLOW, &totals.iter(), window),
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
                        metrics(FLOW, &flow(index), window),
                        metrics(DELAY, &delay(index), window),
                    ]
                    .concat(),
                })
                .collect(),
            frames: frames(scenario, runs, window),
            links: scenario
                .links
                .iter()
                .enumerate()
                .map(|(index, spec)| Item {
                    name: spec.name.clone(),
                    playout_ms: None,
                    background: false,
                    metrics: metrics(LINK, &link(index), window),
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

type Metrics<T> = &'static [(&'static str, fn(&T, Duration) -> Value)];

/// What is printed about a flow.
const FLOW: Metrics<FlowResult> = &[
    ("sent", |f, _| Value::Count(f.sent)),
    ("received", |f, _| Value::Count(f.received)),
    ("delivered", |f, _| Value::Count(f.delivered)),
    ("damaged", |f, _| Value::Count(f.damaged)),
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
const DELAY: Metrics<DelaySummary> = &[
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
const FRAMES: Metrics<FrameCounts> = &[
    ("frames", |f, _| Value::Count(f.frames)),
    ("whole", |f, _| Value::Real(f.share(f.whole))),
    ("damaged", |f, _| Value::Real(f.share(f.damaged))),
    ("late", |f, _| Value::Real(f.share(f.late))),
    ("never", |f, _| Value::Real(f.share(f.never()))),
];

/// What is printed about a link.
const LINK: Metrics<LinkResult> = &[
    ("delivered", |l, _| Value::Count(l.delivered)),
    ("damaged", |l, _| Value::Count(l.damaged)),
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

fn total(run: &Measurement) -> FlowResult {
    let mut total = FlowResult::default();
    for flow in run.flows.iter().filter(|flow| !flow.background) {
        total.sent += flow.sent;
        total.received += flow.received;
        total.received_bytes += flow.received_bytes;
        total.delivered += flow.delivered;
        total.damaged += flow.damaged;
        total.lost.congestion += flow.lost.congestion;
        total.lost.wireless += flow.lost.wireless;
        total.packets.merge(&flow.packets);
        total.gaps.merge(&flow.gaps);
        total.timeouts += flow.timeouts;
    }
    total
}
