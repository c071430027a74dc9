//! The results of a run in every format: one list of metrics for flows and one for links, each with
//! a value per seed.
//!
//! [`whyloss_sim::Simulation`] simulates one seed, [`Results`] holds the values of several seeds,
//! and [`json`] writes them. [`Metric`]s have the same keys in the command's output, in sweeps and
//! in Python.

use std::borrow::Cow;

use crate::statistics;
use whyloss::{Cause, Confusion, Duration};
use whyloss_sim::{
    CallResult, Closed, DelaySummary, FlowResult, FrameCounts, LinkResult, Measurement, Run,
    Scenario, TransferResult,
};

pub mod json;
#[cfg(test)]
mod tests;

/// The values of every flow and link for every seed.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    /// The scenario's title.
    pub title: &'a str,
    /// The seeds, in the order of every metric's values.
    pub seeds: Vec<u64>,
    /// The length of the measurement window.
    pub window: Duration,
    /// The sum over all flows but background traffic.
    pub total: Item,
    /// The results of the flows, in the scenario's order.
    pub flows: Vec<Item>,
    /// The frames of each flow with a stream, one item per playout delay.
    pub frames: Vec<Item>,
    /// The transfers of each flow that has any. An item named as in the file follows the copies of
    /// a `[[flow]]`, with the transfers of all of them.
    pub transfers: Vec<Item>,
    /// The results of the calls.
    pub calls: Vec<Item>,
    /// The results of the links, in the scenario's order.
    pub links: Vec<Item>,
    /// The connections that closed during a run.
    pub closings: Vec<Closing>,
}

/// A connection that closed during a run.
#[derive(Clone, Debug)]
pub struct Closing {
    /// The name of the flow.
    pub flow: String,
    /// The seed of the run.
    pub seed: u64,
    /// The time and the reason of the close.
    pub closed: Closed,
}

/// A flow, the frames or transfers of a flow, or a link.
#[derive(Clone, Debug)]
pub struct Item {
    /// The name in the scenario.
    pub name: String,
    /// The playout delay of frames, in ms after their capture; `None` for other items.
    pub playout_ms: Option<f64>,
    /// Whether the flow is warm-up or cross traffic.
    pub background: bool,
    /// The metrics of the item, in a fixed order.
    pub metrics: Vec<Metric>,
}

/// One metric for every seed. A dot in its key separates group and member.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The name, which ends with the unit if there is one.
    pub key: &'static str,
    /// The value for each seed.
    pub values: Vec<Value>,
}

/// The value of a metric for one seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A count, for example of packets.
    Count(u64),
    /// A measured value; `None` if nothing could be measured.
    Real(Option<f64>),
}

impl Value {
    /// Returns the value as a real number, if there is one.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(count as f64),
            Self::Real(real) => real,
        }
    }
}

impl Metric {
    /// Returns the mean over the seeds that have a value; `None` if none has.
    pub fn mean(&self) -> Option<f64> {
        statistics::mean(&self.known())
    }

    /// Returns half the width of the mean's 95 % confidence interval; `None` with fewer than two
    /// values.
    pub fn ci95(&self) -> Option<f64> {
        statistics::ci95(&self.known())
    }

    /// Returns whether the values differ between seeds.
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
    /// Returns the item's name, with its playout delay if it has one.
    pub fn label(&self) -> String {
        match self.playout_ms {
            Some(ms) => format!("{} {ms} ms", self.name),
            None => self.name.clone(),
        }
    }

    /// Returns the metric with this key; `None` if the item has none.
    pub fn metric(&self, key: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.key == key)
    }
}

impl<'a> Results<'a> {
    /// Returns whether any value differs between seeds.
    pub fn is_random(&self) -> bool {
        let items = [
            &self.flows,
            &self.frames,
            &self.transfers,
            &self.calls,
            &self.links,
        ];
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

    /// Returns the results of `runs`, which holds at least one run of this scenario.
    pub fn new(scenario: &'a Scenario, runs: &[&Run]) -> Self {
        let seeds: Vec<Seed> = runs.iter().map(|run| Seed::of(scenario, run)).collect();
        Self::of(scenario, &seeds)
    }

    /// Returns the results of `seeds`, which holds at least one seed of this scenario.
    pub fn of(scenario: &'a Scenario, seeds: &[Seed]) -> Self {
        let first = seeds.first();
        let mut columns = Columns {
            seeds,
            uses_ecn: scenario.uses_ecn(),
            next: 0,
        };
        let plain = |name: &str, metrics| Item {
            name: name.into(),
            playout_ms: None,
            background: false,
            metrics,
        };
        let total = plain("total", columns.take(&keys(FLOW)));
        let is_measured = first.is_some_and(|seed| seed.is_measured);
        let flow = |spec: &whyloss_sim::scenario::Flow| {
            let mut metrics = columns.take(&keys(FLOW));
            if is_measured {
                metrics.extend(columns.take(&keys(DELAY)));
            }
            Item {
                background: spec.background,
                ..plain(&spec.name, metrics)
            }
        };
        let flows = scenario.flows.iter().map(flow).collect();
        let playouts = first.map_or(&[][..], |seed| &seed.playouts);
        let frames = |&(flow, playout): &(usize, Duration)| {
            let spec = &scenario.flows[flow];
            Item {
                playout_ms: Some(playout.as_nanos() as f64 / 1e6),
                background: spec.background,
                ..plain(&spec.name, columns.take(&keys(FRAMES)))
            }
        };
        let frames = playouts.iter().map(frames).collect();
        let transfers = first.map_or(&[][..], |seed| &seed.transfers);
        let transfers = transfers.iter().map(|&(flow, copies)| {
            let spec = &scenario.flows[flow];
            let name = spec.copy_of.as_deref().filter(|_| copies);
            Item {
                background: spec.background,
                ..plain(name.unwrap_or(&spec.name), columns.take(&keys(TRANSFERS)))
            }
        });
        let transfers = transfers.collect();
        let calls = first.map_or(&[][..], |seed| &seed.calls);
        let calls = calls.iter().map(|&flow| {
            let spec = &scenario.flows[flow];
            Item {
                background: spec.background,
                ..plain(&spec.name, columns.take(&keys(CALL)))
            }
        });
        let calls = calls.collect();
        let links = scenario.links.iter();
        let links = links.map(|spec| plain(&spec.name, columns.take(&keys(LINK))));
        Self {
            title: &scenario.title,
            seeds: seeds.iter().map(|seed| seed.number).collect(),
            window: first.map_or(Duration::ZERO, |seed| seed.window),
            total,
            flows,
            frames,
            transfers,
            calls,
            links: links.collect(),
            closings: seeds
                .iter()
                .flat_map(|seed| {
                    seed.closed.iter().map(|(flow, closed)| Closing {
                        flow: scenario.flows[*flow].name.clone(),
                        seed: seed.number,
                        closed: closed.clone(),
                    })
                })
                .collect(),
        }
    }
}

/// The values of one seed, 16 bytes each. A [`Run`] takes a hundred times as much, because it keeps
/// the histograms of its delays.
#[derive(Clone, Debug)]
pub struct Seed {
    number: u64,
    window: Duration,
    /// Whether delays were measured.
    is_measured: bool,
    /// The flows with frames, once for each of their playout delays.
    playouts: Box<[(usize, Duration)]>,
    /// The flows with transfers. With `true`, all copies of a `[[flow]]`, of which this is one.
    transfers: Box<[(usize, bool)]>,
    /// The flows that are calls.
    calls: Box<[usize]>,
    /// The flows whose connections closed.
    closed: Box<[(usize, Closed)]>,
    /// The values of the total, the flows, frames, transfers, calls and links, in the order of the
    /// lists below.
    values: Box<[Value]>,
}

impl Seed {
    /// Returns how many values a seed has in this scenario for the total, flows and links. Values
    /// of frames, transfers and calls do not count.
    pub fn size(scenario: &Scenario) -> usize {
        let flow = FLOW.len() + DELAY.len();
        FLOW.len() + scenario.flows.len() * flow + scenario.links.len() * LINK.len()
    }

    /// Returns the values of a run of this scenario.
    pub fn of(scenario: &Scenario, run: &Run) -> Self {
        let measured = &*scored(scenario, &run.measurement);
        let window = measured.window;
        let mut values = Vec::with_capacity(Self::size(scenario));
        push(&mut values, FLOW, &total(measured), window);
        for (index, flow) in measured.flows.iter().enumerate() {
            push(&mut values, FLOW, flow, window);
            if let Some(delays) = run.delays.get(index) {
                push(&mut values, DELAY, delays, window);
            }
        }
        let mut playouts = Vec::new();
        for (flow, counts) in run.frames.iter().enumerate() {
            for count in counts {
                playouts.push((flow, count.playout));
                push(&mut values, FRAMES, count, window);
            }
        }
        let mut transfers = Vec::new();
        let timed = measured.flows.iter().enumerate();
        let timed = timed.filter_map(|(at, flow)| Some((at, flow, flow.transfers.as_deref()?)));
        let timed: Vec<_> = timed.collect();
        for copies in timed.chunk_by(|a, b| a.1.copy_of.is_some() && a.1.copy_of == b.1.copy_of) {
            for &(index, _, result) in copies {
                transfers.push((index, false));
                push(&mut values, TRANSFERS, result, window);
            }
            if let [(index, flow, _), ..] = copies
                && let Some(name) = flow.copy_of.as_deref()
                && measured.flows.iter().all(|other| other.name != name)
            {
                transfers.push((*index, true));
                let all = copies.iter().map(|copy| copy.2).sum();
                push(&mut values, TRANSFERS, &all, window);
            }
        }
        let mut calls = Vec::new();
        for (index, flow) in measured.flows.iter().enumerate() {
            if let Some(result) = flow.call.as_deref() {
                calls.push(index);
                push(&mut values, CALL, result, window);
            }
        }
        for link in &measured.links {
            push(&mut values, LINK, link, window);
        }
        Self {
            number: run.seed,
            window,
            is_measured: !run.delays.is_empty(),
            playouts: playouts.into(),
            transfers: transfers.into(),
            calls: calls.into(),
            closed: measured
                .flows
                .iter()
                .enumerate()
                .filter_map(|(index, flow)| Some((index, flow.closed.as_deref()?.clone())))
                .collect(),
            values: values.into(),
        }
    }
}

/// Drops the verdicts of flows whose controller weighs causes itself, because all would count as
/// wrong.
fn scored<'m>(scenario: &Scenario, measured: &'m Measurement) -> Cow<'m, Measurement> {
    let mut measured = Cow::Borrowed(measured);
    for (index, flow) in scenario.flows.iter().enumerate() {
        if flow.transport.ignores_verdicts() {
            let counts = &mut measured.to_mut().flows[index].counts;
            (counts.packets, counts.gaps) = Default::default();
        }
    }
    measured
}

fn push<T>(values: &mut Vec<Value>, list: Metrics<T>, of: &T, window: Duration) {
    values.extend(list.iter().map(|(_, value)| value(of, window)));
}

fn keys<T>(list: Metrics<T>) -> Vec<&'static str> {
    list.iter().map(|&(key, _)| key).collect()
}

/// The values of seeds, metric by metric.
struct Columns<'s> {
    seeds: &'s [Seed],
    uses_ecn: bool,
    /// The index of the next metric among each seed's values.
    next: usize,
}

impl Columns<'_> {
    /// Returns the next metrics, which have these keys.
    fn take(&mut self, keys: &[&'static str]) -> Vec<Metric> {
        let mut metrics = Vec::with_capacity(keys.len());
        for &key in keys {
            let values = self.seeds.iter().map(|seed| seed.values[self.next]);
            if key != MARKED || self.uses_ecn {
                let values = values.collect();
                metrics.push(Metric { key, values });
            }
            self.next += 1;
        }
        metrics
    }
}

/// The metric of ECN-marked packets, printed only if a flow or queue uses ECN.
const MARKED: &str = "marked";

/// A list of metrics: the key of each, and its value over a measurement window.
pub(crate) type Metrics<T> = &'static [(&'static str, fn(&T, Duration) -> Value)];

/// The metrics of a flow.
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

/// The metrics of a flow's delays.
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

/// The metrics of a flow's frames.
pub(crate) const FRAMES: Metrics<FrameCounts> = &[
    ("frames", |f, _| Value::Count(f.frames)),
    ("whole", |f, _| Value::Real(f.share(f.whole))),
    ("damaged", |f, _| Value::Real(f.share(f.damaged))),
    ("late", |f, _| Value::Real(f.share(f.late))),
    ("never", |f, _| Value::Real(f.share(f.never()))),
];

/// The metrics of a flow's transfers.
pub(crate) const TRANSFERS: Metrics<TransferResult> = &[
    ("completed", |t, _| Value::Count(t.times.count())),
    ("unfinished", |t, _| Value::Count(t.unfinished)),
    ("mean_ms", |t, _| Value::Real(t.times.mean_ms())),
    ("p50_ms", |t, _| Value::Real(t.times.quantile_ms(0.5))),
    ("p95_ms", |t, _| Value::Real(t.times.quantile_ms(0.95))),
    ("p99_ms", |t, _| Value::Real(t.times.quantile_ms(0.99))),
    ("max_ms", |t, _| Value::Real(t.times.max_ms())),
];

/// The metrics of a call.
pub(crate) const CALL: Metrics<CallResult> = &[
    ("frames", |c, _| Value::Count(c.expected)),
    ("late", |c, _| Value::Real(c.share(c.late))),
    ("never", |c, _| Value::Real(c.share(c.never()))),
    ("freezes", |c, _| Value::Count(c.freezes)),
    ("frozen_ms", |c, _| {
        Value::Real(Some(c.frozen.as_nanos() as f64 / 1e6))
    }),
    ("mean_ms", |c, _| Value::Real(c.delays.mean_ms())),
    ("p50_ms", |c, _| Value::Real(c.delays.quantile_ms(0.5))),
    ("p95_ms", |c, _| Value::Real(c.delays.quantile_ms(0.95))),
    ("max_ms", |c, _| Value::Real(c.delays.max_ms())),
    ("ramp_ms", |c, _| {
        Value::Real(c.ramp.map(|ramp| ramp.as_nanos() as f64 / 1e6))
    }),
];

/// The metrics of a link.
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

/// Returns the sum over all flows but background traffic.
pub(crate) fn total(run: &Measurement) -> FlowResult {
    let mut result = FlowResult::default();
    let total = &mut result.counts;
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
    result
}
