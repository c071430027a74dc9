//! What is read off a run, by an expression: the metrics of papers and of sweeps.
//!
//! ```text
//! delivered  lost.wireless  gaps.mc  delay.mean_ms  …   of each flow that is looked at: the keys of `whyloss run --format csv`,
//!                                                       `received_bytes`, and `gaps.mc`, `gaps.mw`, `gaps.accuracy` of
//!                                                       loss events
//! total.KEY  flow.NAME.KEY  link.NAME.KEY               of all flows but background traffic, of one flow, of one link
//! link.NAME.rate_bps                                    a link's rate; without such a link, of the first whose name begins so
//! window  events  probe.KEY                             seconds measured; events handled; what a probe counted
//! mean  sum  count  first  jain                         of the flows that have a value
//! min  max  sqrt  floor
//! ```
//!
//! Looked at are all flows but background traffic, or, after `@`, the one of this name, else those whose names begin so:
//! `delivered@balde`. Arithmetic
//! is done flow by flow. What has no value (a share of nothing) makes what is computed of it have none.

use whyloss::{Confusion, Duration};
use whyloss_sim::measure::FlowResult;
use whyloss_sim::{DelaySummary, LinkResult, Measurement};

use crate::expr::{Expr, ExprError, Op};
use crate::results::{DELAY, FLOW, LINK, Metrics, Value, total};
use crate::statistics;

/// A run, as far as metrics look at it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Its counts.
    pub measurement: &'a Measurement,
    /// Delays, flow by flow, if they were measured.
    pub delays: &'a [DelaySummary],
    /// What a probe counted, if there was one.
    pub probe: &'a [(&'static str, f64)],
}

type Of<T> = fn(&T, Duration) -> Value;

/// What a name stands for.
#[derive(Clone, Debug)]
enum Leaf {
    Window,
    Events,
    Probe(String),
    Total(Of<FlowResult>),
    Flow(String, Of<FlowResult>),
    Link(String, Of<LinkResult>),
    Each(Option<String>, Of<FlowResult>),
    Delay(Option<String>, Of<DelaySummary>),
}

/// A metric.
#[derive(Clone, Debug)]
pub struct Measure(Expr<Leaf>);

/// Keys that only expressions have.
const GAPS: Metrics<FlowResult> = &[
    ("received_bytes", |f, _| Value::Count(f.received_bytes)),
    ("gaps.mc", |f, _| Value::Real(f.gaps.mc())),
    ("gaps.mw", |f, _| Value::Real(f.gaps.mw())),
    ("gaps.accuracy", |f, _| Value::Real(f.gaps.accuracy())),
    ("gaps.events", |f, _| Value::Count(events(&f.gaps))),
];

/// Keys of a link that only expressions have.
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

impl Measure {
    /// Reads a metric.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let fault = |message: String, about: &str| ExprError {
            message,
            at: text.find(about).unwrap_or_default(),
        };
        let named = Expr::parse(text)?.named(&|name: String| {
            Leaf::find(&name).ok_or_else(|| {
                let hint = whyloss_sim::scenario::suggest(&name, keys());
                fault(format!("no key is called `{name}`{hint}"), &name)
            })
        })?;
        let measure = Self(named);
        match unknown(&measure.0) {
            None => Ok(measure),
            Some(name) => {
                let hint = whyloss_sim::scenario::suggest(name, FUNCTIONS);
                Err(fault(format!("no function is called `{name}`{hint}"), name))
            }
        }
    }

    /// The value of a run, `None` if it has none. `flows` takes the place of the flows looked at where no `@` does.
    pub fn of(&self, run: &Observed<'_>, flows: Option<&str>) -> Option<f64> {
        match run.value(&self.0, flows) {
            Values::One(value) => value,
            Values::Each(values) => values.into_iter().flatten().next(),
        }
    }

    /// Whether delays must be measured for it.
    pub fn needs_delays(&self) -> bool {
        fn any(expr: &Expr<Leaf>) -> bool {
            match expr {
                Expr::Number(_) => false,
                Expr::Name(leaf) => matches!(leaf, Leaf::Delay(..)),
                Expr::Call(_, arguments) => arguments.iter().any(any),
                Expr::Binary(_, a, b) => any(a) || any(b),
                Expr::Not(a) | Expr::Only(a, _) => any(a),
            }
        }
        any(&self.0)
    }
}

/// A function that there is not.
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

/// Every key of a flow.
fn keys() -> impl Iterator<Item = &'static str> + Clone {
    let flow = FLOW.iter().chain(GAPS).map(|of| of.0);
    flow.chain(DELAY.iter().map(|of| of.0))
        .chain(["window", "events"])
}

impl Leaf {
    fn find(name: &str) -> Option<Self> {
        let (key, flows) = match name.split_once('@') {
            Some((key, flows)) => (key, Some(flows.to_owned())),
            None => (name, None),
        };
        if let Some(of) = of_flow(key) {
            return Some(Self::Each(flows, of));
        }
        if let Some(of) = find(DELAY, key) {
            return Some(Self::Delay(flows, of));
        }
        let (family, rest) = name.split_once('.').unwrap_or((name, ""));
        let named = || rest.split_once('.');
        match family {
            "window" if rest.is_empty() => Some(Self::Window),
            "events" if rest.is_empty() => Some(Self::Events),
            "probe" => Some(Self::Probe(rest.into())),
            "total" => of_flow(rest).map(Self::Total),
            "flow" => named().and_then(|(flow, key)| Some(Self::Flow(flow.into(), of_flow(key)?))),
            "link" => {
                let of = |key| find(LINK, key).or_else(|| find(LIMITS, key));
                named().and_then(|(link, key)| Some(Self::Link(link.into(), of(key)?)))
            }
            _ => None,
        }
    }
}

/// A value, or one for each flow that is looked at.
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
            Leaf::Flow(name, of) => {
                let flow = run.flows.iter().find(|flow| flow.name == *name);
                one(flow.map(|flow| of(flow, run.window)))
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

/// A function of one or two arguments.
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
    use super::*;

    fn value(text: &str) -> Option<f64> {
        let flow = |name: &str, delivered, background| FlowResult {
            name: name.into(),
            delivered,
            background,
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
            probe: &[("seen", 5.0), ("none", f64::NAN)],
        };
        Measure::parse(text).expect(text).of(&run, None)
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
            assert_eq!(Measure::parse(text).expect_err(text).message, expected);
        }
    }
}
