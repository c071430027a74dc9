//! Evaluates a metric: an expression that reduces a run to one number. Papers, plans and sweeps
//! share the syntax. For example, `jain(delivered)` is Jain's index of the flows' delivered packets.
//!
//! ```text
//! delivered  lost.wireless  gaps.mc  delay.mean_ms  …   of each selected flow: keys of
//!                                                       `run --format csv`, `received_bytes`,
//!                                                       and `gaps.{mc,mw,accuracy}` of loss events
//! total.KEY  flow.NAME.KEY  link.NAME.KEY   of all flows but background traffic, a flow, a link
//! frames.NAME.KEY  frames.NAME@MS.KEY       of a flow's frames, at its first playout delay or MS
//! transfers.NAME.KEY          of the transfers of a flow, or of all copies of a `[[flow]]`
//! call.NAME.KEY               a key of a call
//! link.NAME.rate_bps          of the link, or else of the first whose name starts with NAME, bit/s
//! window  events  probe.KEY   measured seconds, handled events, a probe's count
//! mean  sum  count  first  jain             over the flows that have a value
//! min  max  sqrt  floor
//! ```
//!
//! Without `@`, an expression covers all flows but background traffic. `@` and a name select that
//! flow, or else the flows whose names start with it: `delivered@balde`. Arithmetic works flow by
//! flow. A metric without a value, such as a share of zero packets, leaves the whole expression
//! without one.
//!
//! A plan gives a key (`total.mw`) or names an expression: `NAME = EXPRESSION`. The form
//! `NAME@FLOWS = EXPRESSION` selects those flows only.

use whyloss::{Confusion, Duration};
use whyloss_sim::measure::FlowResult;
use whyloss_sim::scenario::{Transport, suggest};
use whyloss_sim::{
    CallResult, DelaySummary, FrameCounts, LinkResult, Measurement, Needs, Run, Scenario,
    TransferResult,
};

use crate::expr::{Expr, ExprError, Op};
use crate::results::{CALL, DELAY, FLOW, FRAMES, LINK, Metrics, TRANSFERS, Value, total};
use crate::statistics;

/// The results of a run that metrics read.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Counts of all flows and links.
    pub measurement: &'a Measurement,
    /// Delays per flow; empty if not measured.
    pub delays: &'a [DelaySummary],
    /// Frames per flow; empty if not measured.
    pub frames: &'a [Vec<FrameCounts>],
    /// Counts of a probe, by key; empty if the run has no probe.
    pub probe: &'a [(&'static str, f64)],
}

impl<'a> From<&'a Run> for Observed<'a> {
    fn from(run: &'a Run) -> Self {
        Self {
            measurement: &run.measurement,
            delays: &run.delays,
            frames: &run.frames,
            probe: &[],
        }
    }
}

type Of<T> = fn(&T, Duration) -> Value;

/// The flows that a leaf names after `@`; `None` for the selected ones.
type Flows = Option<String>;

/// The resolved meaning of a name.
#[derive(Clone, Debug)]
enum Leaf {
    Window,
    Events,
    Probe(String),
    Total(Of<FlowResult>),
    Flow(String, Of<FlowResult>),
    FlowDelay(String, Of<DelaySummary>),
    /// Flow, playout delay in ms (the first if `None`), and key.
    Frames(String, Option<f64>, Of<FrameCounts>),
    Transfers(String, Of<TransferResult>),
    Call(String, Of<CallResult>),
    Link(String, Of<LinkResult>),
    Each(Flows, Of<FlowResult>),
    Delay(Flows, Of<DelaySummary>),
}

/// Whether a metric's values are whole or real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The values are whole numbers.
    Count,
    /// The values are real numbers.
    Real,
}

/// A named expression over the results of a run.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The id in expressions and columns.
    pub id: String,
    /// The name in tables and on axes.
    pub name: String,
    /// The unit of the values; may be empty.
    pub unit: String,
    /// Whether the axis of the metric is logarithmic in figures.
    pub log: bool,
    /// Whether the values are whole or real numbers.
    pub kind: Kind,
    of: Expr<Leaf>,
    /// Flows that it selects by default.
    flows: Flows,
    /// The source text, if it is an expression.
    expression: Option<String>,
}

/// Keys of a flow that exist in expressions only.
const GAPS: Metrics<FlowResult> = &[
    ("received_bytes", |f, _| Value::Count(f.received_bytes)),
    ("gaps.mc", |f, _| Value::Real(f.gaps.mc())),
    ("gaps.mw", |f, _| Value::Real(f.gaps.mw())),
    ("gaps.accuracy", |f, _| Value::Real(f.gaps.accuracy())),
    ("gaps.events", |f, _| Value::Count(events(&f.gaps))),
];

/// Keys of a link that exist in expressions only.
const LIMITS: Metrics<LinkResult> = &[("rate_bps", |l, _| Value::Count(l.rate.as_bps()))];

fn events(confusion: &Confusion) -> u64 {
    let causes = [whyloss::Cause::Congestion, whyloss::Cause::Wireless];
    causes.map(|cause| confusion.total(cause)).iter().sum()
}

const FUNCTIONS: [&str; 9] = [
    "mean", "sum", "count", "first", "jain", "min", "max", "sqrt", "floor",
];

fn find<T>(list: Metrics<T>, key: &str) -> Option<Of<T>> {
    list.iter().find(|(known, _)| *known == key).map(|of| of.1)
}

fn of_flow(key: &str) -> Option<Of<FlowResult>> {
    find(FLOW, key).or_else(|| find(GAPS, key))
}

/// Returns the unit that a name's suffix implies, or an empty string.
fn unit(name: &str) -> &'static str {
    let units = [
        ("_bps", "bit/s"),
        ("_ms2", "ms²"),
        ("_ms", "ms"),
        ("_bytes", "bytes"),
        ("_s", "s"),
    ];
    let unit = units.iter().find(|(end, _)| name.ends_with(end));
    unit.map_or("", |(_, unit)| unit)
}

impl Metric {
    /// Parses an expression and names the metric by its text.
    ///
    /// # Errors
    /// Returns the fault and its offset.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let fault = |message: String, about: &str| ExprError {
            message,
            at: text.find(about).unwrap_or_default(),
        };
        let of = Expr::parse(text)?
            .named(&|name: String| Leaf::find(&name).map_err(|message| fault(message, &name)))?;
        if let Some(name) = unknown(&of) {
            let hint = suggest(name, FUNCTIONS);
            return Err(fault(format!("no function is called `{name}`{hint}"), name));
        }
        let kind = Kind::Real;
        let mut metric = Self::new(text, of, kind);
        metric.expression = Some(text.to_owned());
        Ok(metric)
    }

    /// Parses a metric in a plan's notation: a key or `NAME = EXPRESSION`.
    ///
    /// # Errors
    /// Returns the fault and a suggestion.
    pub fn find(text: &str) -> Result<Self, String> {
        let named = |message| format!("metric {text:?}: {message}");
        let Some((id, expression)) = text.split_once('=') else {
            let leaf = Leaf::find(text).map_err(named)?;
            let kind = leaf.kind();
            return Ok(Self::new(text, Expr::Name(leaf), kind));
        };
        let metric = Self::parse(expression.trim());
        let metric = metric.map_err(|error| named(error.to_string()))?;
        let id = id.trim();
        Ok(Self {
            id: id.to_owned(),
            name: id.to_owned(),
            unit: unit(id).to_owned(),
            flows: id.split_once('@').map(|(_, flows)| flows.to_owned()),
            ..metric
        })
    }

    fn new(id: &str, of: Expr<Leaf>, kind: Kind) -> Self {
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            unit: unit(id).to_owned(),
            log: false,
            kind,
            of,
            flows: None,
            expression: None,
        }
    }

    /// Returns the metric in a plan's notation, restricted to `flows` if given.
    pub fn text(&self, flows: Option<&str>) -> String {
        // The flows replace those that the id names.
        let (name, _) = self.id.split_once('@').unwrap_or((&self.id, ""));
        match (&self.expression, flows) {
            (None, None) => self.id.clone(),
            (None, Some(flows)) => format!("{name}@{flows}"),
            (Some(of), None) => format!("{} = {of}", self.id),
            (Some(of), Some(flows)) => format!("{name}@{flows} = {of}"),
        }
    }

    /// Evaluates the metric on a run. `flows` replaces the selected flows, except those named with
    /// `@`. If flows have separate values, returns the first that exists.
    pub fn of(&self, run: &Observed<'_>, flows: Option<&str>) -> Option<f64> {
        match run.value(&self.of, flows.or(self.flows.as_deref())) {
            Values::One(value) => value,
            Values::Each(values) => values.into_iter().flatten().next(),
        }
    }

    /// Returns the measurements that these metrics need.
    pub fn needs<'a>(metrics: impl IntoIterator<Item = &'a Self>) -> Needs {
        let mut needs = Needs::default();
        for metric in metrics {
            each_leaf(&metric.of, &mut |leaf| match leaf {
                Leaf::Delay(..) | Leaf::FlowDelay(..) => needs.delays = true,
                Leaf::Frames(..) => needs.frames = true,
                _ => {}
            });
        }
        needs
    }

    /// Returns whether the metric needs a probe's counts.
    pub fn needs_probe(&self) -> bool {
        let mut probe = false;
        each_leaf(&self.of, &mut |leaf| {
            probe |= matches!(leaf, Leaf::Probe(_));
        });
        probe
    }

    /// Returns whether a scenario has the flow or link that a bare key names. Returns true for
    /// expressions, which have no value where something is missing.
    pub fn is_about(&self, scenario: &Scenario) -> bool {
        let Expr::Name(leaf) = &self.of else {
            return true;
        };
        let flow = |name: &str| scenario.flows.iter().find(|flow| flow.name == name);
        match leaf {
            Leaf::Flow(name, _) | Leaf::FlowDelay(name, _) => flow(name).is_some(),
            Leaf::Frames(name, ..) => {
                flow(name).is_some_and(|flow| flow.application.stream().is_some())
            }
            Leaf::Transfers(name, _) => match flow(name) {
                Some(flow) => flow.has_transfers(),
                None => scenario
                    .flows
                    .iter()
                    .any(|flow| flow.copy_of.as_deref() == Some(name) && flow.has_transfers()),
            },
            Leaf::Call(name, _) => {
                flow(name).is_some_and(|flow| matches!(flow.transport, Transport::Rtp { .. }))
            }
            Leaf::Link(name, _) if self.expression.is_none() => {
                scenario.links.iter().any(|link| link.name == *name)
            }
            _ => true,
        }
    }

    /// Returns the flows for which the metric has separate values; empty if it has one value for
    /// all.
    ///
    /// # Errors
    /// Returns an error if its own `@` matches several flows; then only a function can pick or
    /// combine values.
    pub fn flows_of<'a>(&self, scenario: &'a Scenario) -> Result<Vec<&'a str>, String> {
        let Some(own) = apart(&self.of) else {
            return Ok(Vec::new());
        };
        let names = scenario.flows.iter().filter(|flow| !flow.background);
        let names: Vec<&str> = names.map(|flow| flow.name.as_str()).collect();
        let looked_at = match own {
            Apart::Named(own) => Some(own),
            Apart::LookedAt => self.flows.as_deref(),
        };
        let exact = looked_at.is_some_and(|name| names.contains(&name));
        let is = |name: &&str| match looked_at {
            Some(own) if exact => *name == own,
            Some(prefix) => name.starts_with(prefix),
            None => true,
        };
        let among: Vec<&str> = names.into_iter().filter(is).collect();
        match (own, among.len()) {
            (Apart::LookedAt, _) => Ok(among),
            (Apart::Named(_), 0 | 1) => Ok(Vec::new()),
            (Apart::Named(own), several) => Err(format!(
                "metric {:?}: `@{own}` stands for {several} flows; expected `mean(…)`, `sum(…)` or `first(…)` of them",
                self.id
            )),
        }
    }
}

/// Calls `tell` with every leaf of an expression.
fn each_leaf(expr: &Expr<Leaf>, tell: &mut impl FnMut(&Leaf)) {
    match expr {
        Expr::Number(_) => {}
        Expr::Name(leaf) => tell(leaf),
        Expr::Call(_, arguments) => arguments.iter().for_each(|of| each_leaf(of, tell)),
        Expr::Binary(_, a, b) => {
            each_leaf(a, tell);
            each_leaf(b, tell);
        }
        Expr::Not(a) | Expr::Only(a, _) => each_leaf(a, tell),
    }
}

/// Identifies the flows for which an expression has separate values.
#[derive(Clone, Copy)]
enum Apart<'a> {
    /// The flows that the metric selects.
    LookedAt,
    /// The flows that the metric names after `@`.
    Named(&'a str),
}

/// Returns the flows for which an expression has separate values; `None` if it has one value.
fn apart(expr: &Expr<Leaf>) -> Option<Apart<'_>> {
    match expr {
        Expr::Name(Leaf::Each(own, _) | Leaf::Delay(own, _)) => {
            Some(own.as_deref().map_or(Apart::LookedAt, Apart::Named))
        }
        Expr::Call(name, of) if matches!(name.as_str(), "min" | "max" | "sqrt" | "floor") => {
            of.iter().find_map(apart)
        }
        Expr::Number(_) | Expr::Name(_) | Expr::Call(..) => None,
        Expr::Binary(_, a, b) => match (apart(a), apart(b)) {
            (Some(own @ Apart::Named(_)), _) | (_, Some(own @ Apart::Named(_))) => Some(own),
            (a, b) => a.or(b),
        },
        Expr::Not(a) | Expr::Only(a, _) => apart(a),
    }
}

/// Returns the first function name that does not exist.
fn unknown(expr: &Expr<Leaf>) -> Option<&str> {
    match expr {
        Expr::Number(_) | Expr::Name(_) => None,
        Expr::Call(name, arguments) => (!FUNCTIONS.contains(&name.as_str()))
            .then_some(name.as_str())
            .or_else(|| arguments.iter().find_map(unknown)),
        Expr::Binary(_, a, b) => unknown(a).or_else(|| unknown(b)),
        Expr::Not(a) | Expr::Only(a, _) => unknown(a),
    }
}

/// Returns the keys that a misspelt name is compared with.
fn keys() -> impl Iterator<Item = &'static str> + Clone {
    let flow = FLOW.iter().chain(GAPS).map(|of| of.0);
    flow.chain(DELAY.iter().map(|of| of.0))
        .chain(["window", "events"])
}

impl Leaf {
    /// Resolves a name.
    fn find(name: &str) -> Result<Self, String> {
        let (key, flows) = match name.split_once('@') {
            Some((key, flows)) => (key, Some(flows.to_owned())),
            None => (name, None),
        };
        if let Some(of) = of_flow(key) {
            return Ok(Self::Each(flows, of));
        }
        if let Some(of) = find(DELAY, key) {
            return Ok(Self::Delay(flows, of));
        }
        let (family, rest) = name.split_once('.').unwrap_or((name, ""));
        let parts = || {
            rest.split_once('.').ok_or_else(|| {
                let key = match family {
                    "link" => "utilisation",
                    "call" | "transfers" => "p95_ms",
                    _ => "received",
                };
                format!("expected `{family}.NAME.KEY`, such as `{family}.video.{key}`")
            })
        };
        Ok(match family {
            "window" if rest.is_empty() => Self::Window,
            "events" if rest.is_empty() => Self::Events,
            "probe" => Self::Probe(rest.into()),
            "total" => Self::Total(known(&[FLOW, GAPS], rest)?),
            "flow" => {
                let (flow, key) = parts()?;
                match find(DELAY, key) {
                    Some(of) => Self::FlowDelay(flow.into(), of),
                    None => Self::Flow(flow.into(), known(&[FLOW, GAPS], key)?),
                }
            }
            "frames" => {
                let (flow, key) = parts()?;
                let (flow, playout) = match flow.split_once('@') {
                    None => (flow, None),
                    Some((flow, ms)) => {
                        let parsed = ms.parse::<f64>();
                        let parsed = parsed.map_err(|_| format!("`{ms}` is no number of ms"))?;
                        (flow, Some(parsed))
                    }
                };
                Self::Frames(flow.into(), playout, known(&[FRAMES], key)?)
            }
            "transfers" => {
                let (flow, key) = parts()?;
                Self::Transfers(flow.into(), known(&[TRANSFERS], key)?)
            }
            "call" => {
                let (flow, key) = parts()?;
                Self::Call(flow.into(), known(&[CALL], key)?)
            }
            "link" => {
                let (link, key) = parts()?;
                Self::Link(link.into(), known(&[LINK, LIMITS], key)?)
            }
            _ => {
                return Err(format!(
                    "no key is called `{name}`{}",
                    suggest(name, keys())
                ));
            }
        })
    }

    /// Returns whether the values are counts or real numbers.
    fn kind(&self) -> Kind {
        let window = Duration::from_secs_f64(1.0);
        let value = match self {
            Self::Total(of) | Self::Flow(_, of) | Self::Each(_, of) => {
                of(&FlowResult::default(), window)
            }
            Self::FlowDelay(_, of) | Self::Delay(_, of) => of(&DelaySummary::default(), window),
            Self::Frames(_, _, of) => of(&FrameCounts::default(), window),
            Self::Transfers(_, of) => of(&TransferResult::default(), window),
            Self::Call(_, of) => of(&CallResult::default(), window),
            Self::Link(_, of) => of(&LinkResult::default(), window),
            Self::Events => Value::Count(0),
            Self::Window | Self::Probe(_) => Value::Real(None),
        };
        match value {
            Value::Count(_) => Kind::Count,
            Value::Real(_) => Kind::Real,
        }
    }
}

/// Returns the entry of a key from the first list that has it.
fn known<T: 'static>(lists: &[Metrics<T>], key: &str) -> Result<Of<T>, String> {
    let found = lists.iter().find_map(|list| find(list, key));
    found.ok_or_else(|| {
        let keys = lists.iter().flat_map(|list| list.iter().map(|of| of.0));
        format!("no key is called `{key}`{}", suggest(key, keys))
    })
}

/// The value of an expression: a single one, or one per selected flow.
enum Values {
    One(Option<f64>),
    Each(Vec<Option<f64>>),
}

impl Observed<'_> {
    fn value(&self, expr: &Expr<Leaf>, flows: Option<&str>) -> Values {
        match expr {
            Expr::Number(number) => Values::One(Some(*number)),
            Expr::Name(leaf) => self.leaf(leaf, flows),
            Expr::Call(name, arguments) => {
                let mut arguments = arguments.iter().map(|of| self.value(of, flows));
                let first = arguments.next().unwrap_or(Values::One(None));
                call(name, first, arguments.next())
            }
            Expr::Binary(op, a, b) => pair(self.value(a, flows), self.value(b, flows), |a, b| {
                op.apply(a, b)
            }),
            Expr::Not(of) => pair(self.value(of, flows), Values::One(Some(0.0)), |a, b| {
                Op::AtMost.apply(a, b)
            }),
            Expr::Only(of, _) => self.value(of, flows),
        }
    }

    fn leaf(&self, leaf: &Leaf, flows: Option<&str>) -> Values {
        let run = self.measurement;
        let one = |value: Option<Value>| Values::One(value.and_then(Value::as_f64));
        let flow = |name: &str| run.flows.iter().position(|flow| flow.name == name);
        let among = |own: &Option<String>, flow: &FlowResult| match own.as_deref().or(flows) {
            Some(name) if run.flows.iter().any(|flow| flow.name == name) => flow.name == name,
            Some(prefix) => flow.name.starts_with(prefix),
            None => true,
        };
        match leaf {
            Leaf::Window => Values::One(Some(run.window.as_secs_f64())),
            Leaf::Events => one(Some(Value::Count(run.events))),
            Leaf::Probe(key) => {
                let found = self.probe.iter().find(|(name, _)| name == key);
                Values::One(found.map(|of| of.1).filter(|value| !value.is_nan()))
            }
            Leaf::Total(of) => one(Some(of(&total(run), run.window))),
            Leaf::Flow(name, of) => one(flow(name).map(|at| of(&run.flows[at], run.window))),
            Leaf::FlowDelay(name, of) => {
                let delays = flow(name).and_then(|at| self.delays.get(at));
                one(delays.map(|delays| of(delays, run.window)))
            }
            Leaf::Frames(name, playout, of) => {
                let ms = |counts: &&FrameCounts| {
                    playout.is_none_or(|ms| counts.playout == Duration::from_secs_f64(ms / 1e3))
                };
                let frames = flow(name).and_then(|at| self.frames.get(at)?.iter().find(ms));
                one(frames.map(|counts| of(counts, run.window)))
            }
            Leaf::Transfers(name, of) => {
                let result = run.transfers_of(name);
                one(result.map(|result| of(&result, run.window)))
            }
            Leaf::Call(name, of) => {
                let result = flow(name).and_then(|at| run.flows[at].call.as_deref());
                one(result.map(|result| of(result, run.window)))
            }
            Leaf::Link(name, of) => {
                let mut links = run.links.iter();
                let named = links.clone().find(|link| link.name == *name);
                let link = named.or_else(|| links.find(|link| link.name.starts_with(name)));
                one(link.map(|link| of(link, run.window)))
            }
            Leaf::Each(own, of) => {
                let flows = run
                    .flows
                    .iter()
                    .filter(|flow| !flow.background && among(own, flow));
                Values::Each(flows.map(|flow| of(flow, run.window).as_f64()).collect())
            }
            Leaf::Delay(own, of) => {
                let flows = run.flows.iter().zip(self.delays);
                let flows = flows.filter(|(flow, _)| !flow.background && among(own, flow));
                Values::Each(
                    flows
                        .map(|(_, delay)| of(delay, run.window).as_f64())
                        .collect(),
                )
            }
        }
    }
}

/// Applies a function to one or two arguments.
fn call(name: &str, first: Values, second: Option<Values>) -> Values {
    let known = |values: Values| -> Vec<f64> {
        match values {
            Values::One(value) => value.into_iter().collect(),
            Values::Each(values) => values.into_iter().flatten().collect(),
        }
    };
    Values::One(match (name, second) {
        ("min", Some(second)) => return pair(first, second, f64::min),
        ("max", Some(second)) => return pair(first, second, f64::max),
        ("sqrt", _) => return pair(first, Values::One(Some(0.0)), |a, _| libm::sqrt(a)),
        ("floor", _) => return pair(first, Values::One(Some(0.0)), |a, _| libm::floor(a)),
        ("mean", _) => statistics::mean(&known(first)),
        ("sum", _) => Some(known(first).iter().sum()),
        ("count", _) => Some(known(first).len() as f64),
        ("jain", _) => statistics::jain(&known(first)),
        ("first", _) => match first {
            Values::One(value) => value,
            Values::Each(values) => values.into_iter().next().flatten(),
        },
        (_, _) => None,
    })
}

fn pair(a: Values, b: Values, of: impl Fn(f64, f64) -> f64) -> Values {
    let of = |a: Option<f64>, b: Option<f64>| Some(of(a?, b?));
    match (a, b) {
        (Values::One(a), Values::One(b)) => Values::One(of(a, b)),
        (Values::Each(a), Values::One(b)) => {
            Values::Each(a.into_iter().map(|a| of(a, b)).collect())
        }
        (Values::One(a), Values::Each(b)) => {
            Values::Each(b.into_iter().map(|b| of(a, b)).collect())
        }
        (Values::Each(a), Values::Each(b)) => {
            Values::Each(a.into_iter().zip(b).map(|(a, b)| of(a, b)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use whyloss_sim::measure::FlowCounts;

    use super::*;

    fn value(text: &str) -> Option<f64> {
        let flow = |name: &str, delivered, background| FlowResult {
            name: name.into(),
            background,
            counts: FlowCounts {
                delivered,
                ..FlowCounts::default()
            },
            ..FlowResult::default()
        };
        let flows = vec![
            flow("a-1", 10, false),
            flow("a-2", 30, false),
            flow("b", 20, false),
            flow("x", 99, true),
        ];
        let measurement = Measurement {
            window: Duration::from_secs(2),
            flows,
            links: Vec::new(),
            events: 7,
        };
        let run = Observed {
            measurement: &measurement,
            delays: &[],
            frames: &[],
            probe: &[("seen", 5.0), ("none", f64::NAN)],
        };
        Metric::parse(text).expect(text).of(&run, None)
    }

    #[test]
    fn values_by_hand() {
        for (text, expected) in [
            ("mean(delivered)", Some(20.0)),
            ("sum(delivered@a / window)", Some(20.0)),
            ("100 * first(delivered@b) / events", Some(2000.0 / 7.0)),
            ("jain(delivered@b)", Some(1.0)),
            ("count(delivered@a)", Some(2.0)),
            ("max(total.delivered, 100) - flow.x.delivered", Some(1.0)),
            ("probe.seen * 2", Some(10.0)),
            ("probe.none + 1", None),
            ("first(gaps.mc)", None),
            ("mean(delivered@c)", None),
            ("floor(sum(delivered@b) / 3)", Some(6.0)),
        ] {
            let found = value(text);
            let same = match (found, expected) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-9,
                (a, b) => a == b,
            };
            assert!(same, "{text}: {found:?}");
        }
    }

    #[test]
    fn slips_have_a_nearest_name() {
        for (text, expected) in [
            (
                "mean(delivred)",
                "no key is called `delivred`; did you mean `delivered`?",
            ),
            (
                "maen(delivered)",
                "no function is called `maen`; did you mean `mean`?",
            ),
        ] {
            assert_eq!(Metric::parse(text).expect_err(text).message, expected);
        }
    }
}
