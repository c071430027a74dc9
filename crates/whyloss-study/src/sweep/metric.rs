//! Metrics of a sweep: numbers of a run, by name.
//!
//! | name | |
//! |---|---|
//! | `total.KEY` | of all flows but background traffic, summed before anything is divided |
//! | `flow.NAME.KEY` | of one flow; `delay.` keys measure its delays |
//! | `frames.NAME.KEY`, `frames.NAME@MS.KEY` | of one flow's frames, under its first playout delay or that of `MS` ms |
//! | `transfers.NAME.KEY` | of one flow's transfers |
//! | `call.NAME.KEY` | of a call |
//! | `link.NAME.KEY` | of one link |
//! | `events` | the engine handled |
//! | `NAME = EXPRESSION` | whatever [`measure`](crate::measure) can say, under a name |
//!
//! Keys are those of `whyloss run --format csv`.

use whyloss::Duration;
use whyloss_sim::scenario::Transport;
use whyloss_sim::{
    CallResult, DelaySummary, FlowResult, FrameCounts, LinkResult, Needs, Run, Scenario,
    TransferResult,
};

use crate::measure::{Measure, Observed};
use crate::results::{self, CALL, DELAY, FLOW, FRAMES, LINK, Metrics, TRANSFERS, Value};

/// What the values of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Count,
    /// Reals.
    Real,
}

/// A metric of every run.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: Kind,
    of: Of,
}

type Value1<T> = fn(&T, Duration) -> Value;

#[derive(Clone, Debug)]
enum Of {
    Total(Value1<FlowResult>),
    Flow(String, Value1<FlowResult>),
    Delay(String, Value1<DelaySummary>),
    Frames(String, Option<f64>, Value1<FrameCounts>),
    Transfers(String, Value1<TransferResult>),
    Call(String, Value1<CallResult>),
    Link(String, Value1<LinkResult>),
    Events,
    Expression(Box<Measure>),
}

impl Column {
    /// Finds the metric of that name.
    ///
    /// # Errors
    /// What is wrong with the name, and what would be right.
    pub fn find(name: &str) -> Result<Self, String> {
        if let Some((own, expression)) = name.split_once('=') {
            let measure = Measure::parse(expression.trim());
            let measure = measure.map_err(|error| format!("metric {name:?}: {error}"))?;
            return Ok(Self {
                name: own.trim().to_owned(),
                kind: Kind::Real,
                of: Of::Expression(Box::new(measure)),
            });
        }
        let (family, rest) = name.split_once('.').unwrap_or((name, ""));
        let named = || {
            rest.split_once('.').ok_or_else(|| {
                format!(
                    "metric {name:?}: expected `{family}.NAME.KEY`, such as `{family}.video.{}`",
                    match family {
                        "link" => "utilisation",
                        "call" | "transfers" => "p95_ms",
                        _ => "received",
                    }
                )
            })
        };
        let of = match family {
            "events" if rest.is_empty() => Of::Events,
            "total" => Of::Total(find(FLOW, rest, name)?),
            "flow" => {
                let (flow, key) = named()?;
                if key.starts_with("delay.") {
                    Of::Delay(flow.into(), find(DELAY, key, name)?)
                } else {
                    Of::Flow(flow.into(), find(FLOW, key, name)?)
                }
            }
            "frames" => {
                let (flow, key) = named()?;
                let (flow, playout) = match flow.split_once('@') {
                    None => (flow, None),
                    Some((flow, ms)) => {
                        let parsed = ms.parse::<f64>();
                        (
                            flow,
                            Some(parsed.map_err(|_| {
                                format!("metric {name:?}: `{ms}` is no number of ms")
                            })?),
                        )
                    }
                };
                Of::Frames(flow.into(), playout, find(FRAMES, key, name)?)
            }
            "transfers" => {
                let (flow, key) = named()?;
                Of::Transfers(flow.into(), find(TRANSFERS, key, name)?)
            }
            "call" => {
                let (flow, key) = named()?;
                Of::Call(flow.into(), find(CALL, key, name)?)
            }
            "link" => {
                let (link, key) = named()?;
                Of::Link(link.into(), find(LINK, key, name)?)
            }
            _ => {
                return Err(format!(
                    "metric {name:?}: expected `total.KEY`, `flow.NAME.KEY`, `frames.NAME.KEY`, `transfers.NAME.KEY`, `call.NAME.KEY`, `link.NAME.KEY` or `events`"
                ));
            }
        };
        let window = Duration::from_secs_f64(1.0);
        let default = match &of {
            Of::Total(value) | Of::Flow(_, value) => value(&FlowResult::default(), window),
            Of::Delay(_, value) => value(&DelaySummary::default(), window),
            Of::Frames(_, _, value) => value(&FrameCounts::default(), window),
            Of::Transfers(_, value) => value(&TransferResult::default(), window),
            Of::Call(_, value) => value(&CallResult::default(), window),
            Of::Link(_, value) => value(&LinkResult::default(), window),
            Of::Events | Of::Expression(_) => Value::Count(0),
        };
        let kind = match default {
            Value::Count(_) => Kind::Count,
            Value::Real(_) => Kind::Real,
        };
        Ok(Self {
            name: name.to_owned(),
            kind,
            of,
        })
    }

    /// The unit, which is what the name ends with; empty if it has none.
    pub fn unit(&self) -> &'static str {
        let units = [
            ("_bps", "bit/s"),
            ("_ms2", "ms²"),
            ("_ms", "ms"),
            ("_bytes", "bytes"),
            ("_s", "s"),
        ];
        let unit = units.iter().find(|(end, _)| self.name.ends_with(end));
        unit.map_or("", |(_, unit)| unit)
    }

    /// What must be measured for these.
    pub(super) fn needs(columns: &[Self]) -> Needs {
        Needs {
            delays: columns.iter().any(|column| match &column.of {
                Of::Expression(measure) => measure.needs_delays(),
                of => matches!(of, Of::Delay(..)),
            }),
            frames: columns
                .iter()
                .any(|column| matches!(column.of, Of::Frames(..))),
        }
    }

    /// Whether a scenario has what this is about.
    pub(super) fn is_about(&self, scenario: &Scenario) -> bool {
        match &self.of {
            Of::Total(_) | Of::Events | Of::Expression(_) => true,
            Of::Flow(name, _) | Of::Delay(name, _) => {
                scenario.flows.iter().any(|flow| flow.name == *name)
            }
            Of::Frames(name, ..) => scenario
                .flows
                .iter()
                .any(|flow| flow.name == *name && flow.application.stream().is_some()),
            Of::Transfers(name, _) => scenario
                .flows
                .iter()
                .any(|flow| flow.name == *name && flow.has_transfers()),
            Of::Call(name, _) => scenario
                .flows
                .iter()
                .any(|flow| flow.name == *name && matches!(flow.transport, Transport::Rtp { .. })),
            Of::Link(name, _) => scenario.links.iter().any(|link| link.name == *name),
        }
    }

    /// The value of a run; NaN where there is none.
    pub(super) fn value(&self, scenario: &Scenario, run: &Run) -> f64 {
        let window = run.measurement.window;
        let flow = |name: &str| scenario.flows.iter().position(|flow| flow.name == name);
        let value = match &self.of {
            Of::Total(value) => Some(value(&results::total(&run.measurement), window)),
            Of::Flow(name, value) => flow(name).map(|at| value(&run.measurement.flows[at], window)),
            Of::Delay(name, value) => flow(name).map(|at| value(&run.delays[at], window)),
            Of::Frames(name, playout, value) => flow(name).and_then(|at| {
                let ms = |counts: &&FrameCounts| {
                    playout.is_none_or(|ms| counts.playout == Duration::from_secs_f64(ms / 1e3))
                };
                run.frames[at]
                    .iter()
                    .find(ms)
                    .map(|counts| value(counts, window))
            }),
            Of::Transfers(name, value) => flow(name).and_then(|at| {
                let result = run.measurement.flows[at].transfers.as_deref()?;
                Some(value(result, window))
            }),
            Of::Call(name, value) => flow(name).and_then(|at| {
                let result = run.measurement.flows[at].call.as_deref()?;
                Some(value(result, window))
            }),
            Of::Link(name, value) => {
                let at = scenario.links.iter().position(|link| link.name == *name);
                at.map(|at| value(&run.measurement.links[at], window))
            }
            Of::Events => Some(Value::Count(run.measurement.events)),
            Of::Expression(measure) => {
                let observed = Observed {
                    measurement: &run.measurement,
                    delays: &run.delays,
                    probe: &[],
                };
                Some(Value::Real(measure.of(&observed, None)))
            }
        };
        value.and_then(Value::as_f64).unwrap_or(f64::NAN)
    }
}

fn find<T>(list: Metrics<T>, key: &str, name: &str) -> Result<Value1<T>, String> {
    let found = list.iter().find(|(known, _)| *known == key);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let keys: Vec<&str> = list.iter().map(|&(key, _)| key).collect();
        format!(
            "metric {name:?}: no key is called `{key}`; expected one of {}",
            keys.join(", ")
        )
    })
}
