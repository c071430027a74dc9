//! Evaluates the expressions of a paper's file: its claims, table rows and figure panels. A *line* is
//! a series of means over an axis; a *place* is a value on that axis.
//!
//! ```text
//! newreno  lp.accuracy  red:lp         a line; in a metric; at an item of a dimension or in a plan
//! all.goodput@balde                    for flows whose names begin with `balde`; a name may also
//!                                      be a definition of the figure's `let`
//! gain(a, b)  over(a, b)  less(a, b)   seed by seed: 100·(a/b − 1) %, a/b, a − b
//! improvement(a, b)                    100·(ā/b̄ − 1) %, with the interval of a ratio of means
//! a / b  a - 1  max(a, b)  min  abs(a) of the means, place by place
//! next(a)  prev(a)                     the mean at a place, and at the one before it
//! average  at(a, x)  half(a, x)        numbers of a line
//! peak  trough                         x of the highest and of the lowest mean
//! highest  lowest  spread  slope  r2  correlation
//! least  greatest                      of the values of all seeds
//! every(a > 2)  any  count  most       of a comparison, place by place
//! across(dimension, average(a))        a line over the items of a dimension, which have an `x`
//! onwards(a > 2)                       the first place at and after which the comparison holds
//! above(a, b)  rises(a)  falls(a)      of every place, or every step
//! turned(item, 2, 1, a, b, …)          pairs over 2 apart at `item`, and here over 1 the other way
//! agree(item, 2, a, b, …)              the means are within 2 of those at an item
//! total(a)  place(a)                   the sum of the seeds' values, and the place, place by place
//! measured(a)  constant(a, 1.5)        whether there is a mean; a number everywhere
//! harmonic(a)                          the harmonic mean
//! where(a, b >= 1)  joined(a, b, …)    the points where a comparison holds; those of several lines
//! reaches(a, 0.01)                     whether every interval of a difference overlaps ±0.01
//! binomial(k, n, p, …)                 whether k of n agree with probability p (5 %, all places)
//! exp(a)  log(a)  sqrt(a)  round(a)    of a number, or place by place, like abs
//! binned(a, b, 10, 20)                 the seeds' values by those of b: below 10, from 10 to 20
//! deviation(a)  values(a)              the standard deviation and the number of the seeds' values
//! ```
//!
//! The evidence consists of each line that is compared or reduced to a number, in the order of the
//! text. No comparison holds for a missing mean.

mod between;
mod chance;
mod evidence;

use std::cell::RefCell;

use whyloss_sim::scenario::suggest;
use whyloss_study::expr::{Expr, Op, Places};
use whyloss_study::{Line, Look, Mean};

use self::evidence::Evidence;
pub(crate) use self::evidence::{Writing, short};
use super::document::{AxisSpec, Figure, Item, Let, LineSpec, Text};
use super::error::{Fault, fault};
use super::plan::{Observation, Part, Selection};
use super::{Metric, Paper};

/// The value of an expression.
enum Value {
    Number(f64),
    /// A line, and whether it was computed from other lines at each place.
    Line(Box<Line>, bool),
    /// Whether a comparison holds, at each place.
    Holds(Vec<(f64, bool)>),
}

/// The context in which an expression is evaluated.
pub(crate) struct Scope<'p> {
    pub(crate) paper: &'static Paper,
    pub(crate) figure: &'static Figure,
    pub(crate) parts: &'p [Part],
    pub(crate) at: Selection,
    plan: &'static str,
    evidence: RefCell<Evidence>,
    /// The nesting depth of definitions.
    depth: usize,
    /// Whether the expression belongs to a claim, whose evidence names lines differently.
    claiming: bool,
}

/// The maximum nesting depth of definitions.
const DEEPEST: usize = 16;
const FUNCTIONS: &str = "gain over less improvement max min abs next prev average at half peak trough highest \
    lowest spread slope r2 correlation least greatest every any count most above rises falls \
    measured constant onwards harmonic across turned agree total place where joined reaches \
    binomial exp sqrt round log deviation values binned";

impl<'p> Scope<'p> {
    pub(crate) fn new(paper: &'static Paper, figure: &'static Figure, parts: &'p [Part]) -> Self {
        Self {
            paper,
            figure,
            parts,
            at: Vec::new(),
            plan: "",
            evidence: RefCell::default(),
            depth: 0,
            claiming: false,
        }
    }

    /// Returns this scope with the selected items. They replace its items of the same dimensions.
    pub(crate) fn within(&self, selection: &Selection) -> Self {
        let mut at: Selection = self.at.clone();
        at.retain(|(dimension, _)| selection.iter().all(|(other, _)| other != dimension));
        at.extend(selection.iter().copied());
        Self {
            at,
            evidence: RefCell::default(),
            ..*self
        }
    }

    /// Returns this scope in another plan.
    pub(crate) fn of_plan(&self, plan: &'static str) -> Self {
        Self {
            plan,
            at: self.at.clone(),
            evidence: RefCell::default(),
            ..*self
        }
    }

    /// Returns a scope for each combination of these dimensions, restricted to the items that the
    /// figure uses.
    pub(crate) fn each(&self, dimensions: Option<&'static Vec<Text>>) -> Result<Vec<Self>, Fault> {
        let some = |name: &'static Text| {
            let mut over = self.figure.over.iter().flatten();
            let of_it = |of: &str| of.split_once('=').is_some_and(|of| of.0 == name.get_ref());
            over.find(|of| of_it(of.get_ref())).unwrap_or(name)
        };
        let dimensions = dimensions.into_iter().flatten().map(some);
        let selections = self.paper.selections(dimensions)?;
        Ok(selections
            .iter()
            .map(|selection| self.within(selection))
            .collect())
    }

    /// Returns whether the scope's item is one of these, as in `medium=own,shared`; `true` if none
    /// are given.
    pub(crate) fn is_at(&self, items: Option<&'static Text>) -> Result<bool, Fault> {
        let Some(items) = items else {
            return Ok(true);
        };
        let (dimension, items) = self.paper.items(items)?;
        let is = |item: &Item| items.iter().any(|of| core::ptr::eq(*of, item));
        Ok(self
            .at
            .iter()
            .any(|(of, item)| *of == dimension && is(item)))
    }

    /// Returns this scope for a claim.
    pub(crate) fn claiming(mut self) -> Self {
        self.claiming = true;
        self
    }

    /// Fills the names of the selected items into a template, as in `{topology}` and
    /// `{rate.letter}`.
    pub(crate) fn filled(&self, text: &str) -> String {
        self.at
            .iter()
            .fold(text.to_owned(), |text, (dimension, item)| {
                let named = text.replace(&format!("{{{dimension}}}"), &item.name);
                item.text.iter().fold(named, |text, (key, value)| {
                    text.replace(&format!("{{{dimension}.{key}}}"), value)
                })
            })
    }

    /// Returns the selected combination. A dimension without a selected item takes its first.
    pub(crate) fn part(&self, at: &Text) -> Result<&'p Part, Fault> {
        let of_plan = || self.parts.iter().filter(|part| part.plan == self.plan);
        let fits = |part: &&Part| {
            part.selection.iter().all(|(dimension, item)| {
                let mut own = self.at.iter().filter(|(other, _)| other == dimension);
                own.all(|(_, other)| core::ptr::eq(*other, *item))
            })
        };
        let found = of_plan().find(fits);
        found.ok_or_else(|| fault(at, "nothing was run for this"))
    }

    /// Returns the lines of the expressions in a text, separated by `;`.
    pub(crate) fn lines(&self, text: &'static Text) -> Result<Vec<Line>, Fault> {
        let mut lines = Vec::new();
        let mut from = 0;
        for part in text.get_ref().split_inclusive(';') {
            let one = part.trim_end_matches(';');
            if !one.trim().is_empty() {
                lines.push(self.line(one, text, from)?);
            }
            from += part.len();
        }
        Ok(lines)
    }

    /// Evaluates an expression to a line. `of` is the part of `text` that starts at byte `from`.
    pub(crate) fn line(&self, of: &str, text: &'static Text, from: usize) -> Result<Line, Fault> {
        match self.value(&parsed(of, text, from)?, text)? {
            Value::Line(line, _) => Ok(*line),
            Value::Number(number) => Ok(Line::of("", "", "", [(f64::NAN, vec![Some(number)])])),
            Value::Holds(_) => Err(fault(
                text,
                "expected a line, found a comparison; `every` or `any` decides it",
            )),
        }
    }

    /// Evaluates an expression to a number.
    pub(crate) fn number(&self, of: &str, text: &'static Text) -> Result<f64, Fault> {
        match self.value(&parsed(of, text, 0)?, text)? {
            Value::Number(number) => Ok(number),
            Value::Line(line, _) => Ok(line.average()),
            Value::Holds(_) => Err(fault(
                text,
                "expected a number, found a comparison; `every` or `any` decides it",
            )),
        }
    }

    /// Returns whether the claim holds, with its evidence.
    pub(crate) fn holds(&self, text: &'static Text) -> Result<(bool, String), Fault> {
        self.evidence.take();
        let value = self.value(&parsed(text.get_ref(), text, 0)?, text)?;
        let evidence = self.told(&self.evidence.take());
        match value {
            Value::Number(number) => Ok((number > 0.0, evidence)),
            Value::Line(..) => Err(fault(text, "expected a comparison, found a line")),
            Value::Holds(_) => Err(fault(
                text,
                "this holds at some places; `every`, `any`, `most` or `count` decides it",
            )),
        }
    }

    /// Adds a line to the evidence, unless it was computed.
    fn seen(&self, line: &Line, computed: bool) {
        if !computed && self.depth == 0 {
            self.evidence.borrow_mut().line(line);
        }
    }

    /// Formats lines as evidence.
    pub(crate) fn evidence(&self, lines: &[Line]) -> String {
        let mut evidence = Evidence::default();
        for line in lines {
            evidence.line(line);
        }
        self.told(&evidence)
    }

    fn told(&self, evidence: &Evidence) -> String {
        let metrics = self.paper.metrics.values();
        let metrics = metrics.map(|metric| metric.name.as_str());
        evidence.told(self.paper.notation, &metrics)
    }

    fn note(&self, evidence: String) {
        if self.depth == 0 {
            self.evidence.borrow_mut().text(evidence);
        }
    }

    fn value(&self, expr: &Expr, text: &'static Text) -> Result<Value, Fault> {
        match expr {
            Expr::Number(number) => Ok(Value::Number(*number)),
            Expr::Name(name) => self.named(name, text),
            Expr::Call(name, arguments) => self.call(name, arguments, text),
            Expr::Not(of) => match self.value(of, text)? {
                Value::Number(number) => Ok(Value::Number(f64::from(u8::from(number <= 0.0)))),
                Value::Holds(holds) => Ok(Value::Holds(
                    holds.into_iter().map(|(x, holds)| (x, !holds)).collect(),
                )),
                Value::Line(..) => Err(fault(text, "`not` is about a comparison")),
            },
            Expr::Only(of, places) => match self.value(of, text)? {
                Value::Line(line, computed) => Ok(Value::Line(
                    Box::new(line.only(|x| places.contain(x))),
                    computed,
                )),
                _ => Err(fault(text, "only a line has places: `a[< 5]`")),
            },
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a, text)?, self.value(b, text)?);
                self.binary(*op, a, b, text)
            }
        }
    }

    fn binary(&self, op: Op, a: Value, b: Value, text: &'static Text) -> Result<Value, Fault> {
        for of in [&a, &b] {
            if let Value::Line(line, computed) = of {
                self.seen(line, *computed);
            }
        }
        Ok(match (a, b) {
            (Value::Number(a), Value::Number(b)) => Value::Number(op.apply(a, b)),
            (Value::Line(a, _), Value::Number(b)) => place_by_place(&a, op, |_| b),
            (Value::Line(a, _), Value::Line(b, _)) => place_by_place(&a, op, |x| b.at(x).value),
            (Value::Number(a), Value::Line(b, _)) => {
                if op.compares() {
                    let holds = b.means().map(|(x, mean)| (x, op.holds(a, mean.value)));
                    Value::Holds(holds.collect())
                } else {
                    let line = b.by_mean(&b.name, |_, mean| op.apply(a, mean));
                    Value::Line(Box::new(line), true)
                }
            }
            (Value::Holds(a), Value::Holds(b)) if matches!(op, Op::And | Op::Or) => {
                let both = a.into_iter().zip(b);
                let both =
                    both.map(|((x, a), (_, b))| (x, if op == Op::And { a && b } else { a || b }));
                Value::Holds(both.collect())
            }
            _ => {
                return Err(fault(
                    text,
                    "a comparison of lines stands within `every`, `any`, `most` or `count`",
                ));
            }
        })
    }

    #[expect(clippy::too_many_lines, reason = "a list of functions")]
    fn call(&self, name: &str, arguments: &[Expr], text: &'static Text) -> Result<Value, Fault> {
        match (name, arguments) {
            ("across", [Expr::Name(dimension), of]) => {
                return self.across(dimension, of, text);
            }
            (
                "turned",
                [
                    Expr::Name(other),
                    Expr::Number(apart),
                    Expr::Number(least),
                    of @ ..,
                ],
            ) => {
                return self.turned(&self.chosen(other, text)?, (*apart, *least), of, text);
            }
            ("agree", [Expr::Name(other), Expr::Number(within), of @ ..]) => {
                return self.agree(&self.chosen(other, text)?, *within, of, text);
            }
            ("binned", [a, by, bounds @ ..]) => return self.binned(a, by, bounds, text),
            ("binomial", of) => return self.binomial(of, text),
            ("joined", of) => return self.joined(of, text),
            _ => {}
        }
        let arguments = self.arguments(arguments);
        let values = arguments.iter().map(|of| self.value(of, text));
        let mut values = values.collect::<Result<Vec<_>, _>>()?;
        if let ("max" | "min", 2..) = (name, values.len()) {
            let of = |a: f64, b: f64| match name {
                // A missing mean stays missing.
                _ if a.is_nan() || b.is_nan() => f64::NAN,
                "max" => a.max(b),
                _ => a.min(b),
            };
            let mut values = values.into_iter();
            let first = values.next().unwrap_or(Value::Number(f64::NAN));
            return values.try_fold(first, |a, b| self.paired(&of, a, b, text));
        }
        let unfit = || {
            let hint = if functions().any(|of| of == name) {
                format!(
                    "`{name}` does not go with this; docs/reference/papers.md#claims lists the expressions"
                )
            } else {
                format!(
                    "no function is called `{name}`{}",
                    suggest(name, functions())
                )
            };
            fault(text, hint)
        };
        let second = (values.len() > 1).then(|| values.remove(1));
        if values.len() != 1 {
            return Err(unfit());
        }
        let first = values.remove(0);
        let line = |line: Line, computed| Ok(Value::Line(Box::new(line), computed));
        let number = |number: f64| Ok(Value::Number(number));
        let flag = |flag: bool| Ok(Value::Number(f64::from(u8::from(flag))));
        match (name, first, second) {
            ("gain", Value::Line(a, _), Some(Value::Line(b, _))) => line(a.gain(&b), false),
            ("over", Value::Line(a, _), Some(Value::Line(b, _))) => line(a.over(&b), false),
            ("less", Value::Line(a, _), Some(Value::Line(b, _))) => line(a.less(&b), false),
            ("improvement", Value::Line(a, _), Some(Value::Line(b, _))) => {
                line(a.improvement(&b), false)
            }
            ("harmonic", Value::Line(a, _), None) => {
                line(Line::one(&a.name, a.unit, a.harmonic()), false)
            }
            ("measured", Value::Line(a, computed), None) => line(a.measured(), computed),
            ("place", Value::Line(a, _), None) => line(a.by_mean(&a.name, |x, _| x), true),
            ("total", Value::Line(a, _), None) => line(a.total(), true),
            ("deviation", Value::Line(a, _), None) => line(a.deviation(), true),
            ("values", Value::Line(a, _), None) => line(a.known(), true),
            ("above", Value::Line(a, _), Some(Value::Line(b, _))) => {
                let check = a.above(&b);
                self.note(check.evidence);
                flag(check.holds)
            }
            ("constant", Value::Line(a, _), Some(Value::Number(value))) => {
                line(a.constant("", "", value), false)
            }
            (_, Value::Line(a, computed), None) if unary(name).is_some() => {
                self.seen(&a, computed);
                let of = unary(name).unwrap_or(f64::abs);
                line(a.by_mean(&a.name, |_, mean| of(mean)), true)
            }
            ("next" | "prev", Value::Line(a, computed), None) => {
                self.seen(&a, computed);
                let means: Vec<(f64, Mean)> = a.means().collect();
                let pairs = means.windows(2).map(|pair| {
                    let of = if name == "next" { pair[1].1 } else { pair[0].1 };
                    (pair[1].0, vec![Some(of.value)])
                });
                line(Line::of(&a.id, &a.name, a.unit, pairs), true)
            }
            ("every", Value::Holds(of), None) => flag(!of.is_empty() && of.iter().all(|of| of.1)),
            ("any", Value::Holds(of), None) => flag(of.iter().any(|of| of.1)),
            ("count", Value::Holds(of), None) => number(of.iter().filter(|of| of.1).count() as f64),
            ("most", Value::Holds(of), None) => {
                flag(2 * of.iter().filter(|of| of.1).count() > of.len())
            }
            ("onwards", Value::Holds(of), None) => {
                let after = of.iter().rposition(|of| !of.1).map_or(0, |last| last + 1);
                number(of.get(after).map_or(f64::INFINITY, |of| of.0))
            }
            ("where", Value::Line(a, computed), Some(Value::Holds(of))) => {
                let places = of.iter().filter(|of| of.1).map(|of| of.0).collect();
                let places = Places::Listed(places);
                line(a.only(|x| places.contain(x)), computed)
            }
            ("reaches", Value::Line(a, _), Some(Value::Number(allowed))) => {
                flag(self.reaches(&a.measured(), allowed))
            }
            (_, Value::Number(a), None) => number(unary(name).ok_or_else(unfit)?(a)),
            (_, Value::Line(a, computed), second) => {
                self.seen(&a, computed);
                match (name, second) {
                    ("at", Some(Value::Number(x))) => number(a.at(x).value),
                    ("half", Some(Value::Number(x))) => number(a.at(x).half_width),
                    ("correlation", Some(Value::Line(b, computed))) => {
                        self.seen(&b, computed);
                        number(a.correlation(&b))
                    }
                    ("average", None) => number(a.average()),
                    ("peak", None) => number(a.peak().unwrap_or(f64::NAN)),
                    ("trough", None) => number(a.trough().unwrap_or(f64::NAN)),
                    ("highest", None) => {
                        number(a.highest().map_or(f64::NAN, |(_, mean)| mean.value))
                    }
                    ("lowest", None) => number(a.lowest().map_or(f64::NAN, |(_, mean)| mean.value)),
                    ("spread", None) => number(a.spread()),
                    ("slope", None) => number(a.trend().0),
                    ("r2", None) => number(a.trend().1),
                    ("least", None) => number(a.values().fold(f64::NAN, f64::min)),
                    ("greatest", None) => number(a.values().fold(f64::NAN, f64::max)),
                    ("rises", None) => flag(a.every_step(|before, after| before < after)),
                    ("falls", None) => flag(a.every_step(|before, after| before > after)),
                    _ => Err(unfit()),
                }
            }
            _ => Err(unfit()),
        }
    }

    /// Applies a function to two numbers, or to lines at each place.
    fn paired(
        &self,
        of: &impl Fn(f64, f64) -> f64,
        a: Value,
        b: Value,
        text: &'static Text,
    ) -> Result<Value, Fault> {
        for of in [&a, &b] {
            if let Value::Line(line, computed) = of {
                self.seen(line, *computed);
            }
        }
        let computed = |line| Ok(Value::Line(Box::new(line), true));
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => Ok(Value::Number(of(a, b))),
            (Value::Line(a, _), Value::Number(b)) | (Value::Number(b), Value::Line(a, _)) => {
                computed(a.by_mean(&a.name, |_, mean| of(mean, b)))
            }
            (Value::Line(a, _), Value::Line(b, _)) => {
                computed(a.by_mean(&a.name, |x, mean| of(mean, b.at(x).value)))
            }
            _ => Err(fault(
                text,
                "only numbers and lines have a `max` and a `min`",
            )),
        }
    }

    /// Returns the value of a name: a line, or a definition of the figure's `let`.
    fn named(&self, name: &str, text: &'static Text) -> Result<Value, Fault> {
        if let Some((chosen, rest)) = name.split_once(':') {
            return self.chosen(chosen, text)?.named(rest, text);
        }
        let lets = self.figure.lets.as_ref();
        if let Some(definition) = lets.and_then(|lets| lets.get(name)) {
            return Ok(Value::Line(
                Box::new(self.defined(name, definition)?),
                false,
            ));
        }
        let (of_line, flows) = match name.split_once('@') {
            Some((of_line, flows)) => (of_line, Some(flows)),
            None => (name, None),
        };
        let (id, metric) = match of_line.split_once('.') {
            Some((id, metric)) => (id, Some(metric)),
            None => (of_line, None),
        };
        let alias = self.figure.alias.as_ref().and_then(|alias| alias.get(id));
        let id = alias.map_or(id, String::as_str);
        let part = self.part(text)?;
        let Some((_, line)) = part.lines.iter().find(|(known, _)| known.get_ref() == id) else {
            let known = part.lines.iter().map(|(id, _)| id.get_ref().as_str());
            let defined = lets
                .into_iter()
                .flat_map(|lets| lets.keys().map(String::as_str));
            let known: Vec<&str> = known.chain(defined).collect();
            let hint = suggest(id, known.iter().copied());
            return Err(fault(text, format!("no line is called `{id}`{hint}")));
        };
        let metric = self.metric(metric, text)?;
        let line = self.read(part, (id, line), metric, flows, text)?;
        let called = self
            .figure
            .called
            .as_ref()
            .filter(|_| self.claiming && self.depth == 0);
        let line = match called {
            None => line,
            Some(called) => {
                let called = self.filled(called).replace("{metric}", &metric.name);
                let called = called.replace("{line}", &line.name);
                line.named(&called)
            }
        };
        Ok(Value::Line(Box::new(line), false))
    }

    /// Returns the metric with this name, or the figure's metric.
    pub(crate) fn metric(&self, name: Option<&str>, text: &Text) -> Result<&'static Metric, Fault> {
        let own = self
            .figure
            .metric
            .as_ref()
            .map(|own| own.get_ref().as_str());
        let Some(name) = name.or(own) else {
            return Err(fault(
                text,
                "expected the metric behind the line, such as `line.goodput`",
            ));
        };
        self.paper.metrics.get(name).ok_or_else(|| {
            let hint = suggest(name, self.paper.metrics.keys().map(String::as_str));
            fault(text, format!("no metric is called `{name}`{hint}"))
        })
    }

    /// Measures a line in a metric from its runs.
    fn read(
        &self,
        part: &Part,
        (id, line): (&str, &'static LineSpec),
        metric: &'static Metric,
        flows: Option<&str>,
        text: &Text,
    ) -> Result<Line, Fault> {
        let of = line.of.as_ref().map_or(id, |of| of.get_ref());
        let flows = flows.or(line.flows.as_deref());
        let mut read = metric;
        let items = part.selection.iter().map(|(_, item)| &item.instead);
        for instead in [&line.instead].into_iter().chain(items) {
            if let Some(other) = instead.get(&read.id) {
                read = self.metric(Some(other.get_ref()), text)?;
            }
        }
        let read = |run: &Observation| read.of(&run.observed(), flows);
        Ok(part.runs.read_off(of, (id, &line.name), &metric.unit, read))
    }

    /// Returns the x axis of the selected combination.
    pub(crate) fn axis(&self, at: &Text) -> Result<Option<&'static AxisSpec>, Fault> {
        Ok(self.part(at)?.axis)
    }

    fn chosen(&self, chosen: &str, text: &Text) -> Result<Self, Fault> {
        if self.parts.iter().any(|part| part.plan == chosen) {
            let plan = self
                .parts
                .iter()
                .find(|part| part.plan == chosen)
                .map_or("", |part| part.plan);
            return Ok(self.of_plan(plan));
        }
        let all = || self.parts.iter().flat_map(|part| &part.selection);
        if let Some(of) = all().find(|(_, item)| item.id == chosen) {
            Ok(self.within(&vec![*of]))
        } else {
            let known: Vec<&str> = all().map(|(_, item)| item.id.as_str()).collect();
            let hint = suggest(chosen, known.iter().copied());
            Err(fault(
                text,
                format!("no item or plan is called `{chosen}`{hint}"),
            ))
        }
    }

    fn defined(&self, name: &str, definition: &'static Let) -> Result<Line, Fault> {
        if self.depth >= DEEPEST {
            return Err(fault(
                &definition.of,
                format!("`{name}` leads back to itself"),
            ));
        }
        let mut inner = self.within(&Vec::new());
        inner.depth += 1;
        let of = inner.filled(definition.of.get_ref());
        let mut line = inner.line(&of, &definition.of, 0)?;
        if definition.bare {
            line = line.bare();
        }
        if let Some(unit) = &definition.unit {
            line.unit = unit;
        }
        let shown = definition.name.as_ref().map_or_else(
            || line.name.clone(),
            |name| self.filled(name).replace("{line}", &line.name),
        );
        let line = line.called(name, &shown);
        Ok(match &definition.look {
            None => line,
            Some(look) => line.drawn(self::look(look)?),
        })
    }
}

fn look(text: &Text) -> Result<Look, Fault> {
    match text.get_ref().as_str() {
        "line" => Ok(Look::Line),
        "dashed" => Ok(Look::Dashed),
        "bars" => Ok(Look::Bars),
        "points" => Ok(Look::Points),
        other => {
            let hint = suggest(other, ["line", "dashed", "bars", "points"]);
            Err(fault(text, format!("no look is called `{other}`{hint}")))
        }
    }
}

fn place_by_place(a: &Line, op: Op, b: impl Fn(f64) -> f64) -> Value {
    if op.compares() {
        let holds = a.means().map(|(x, mean)| (x, op.holds(mean.value, b(x))));
        Value::Holds(holds.collect())
    } else {
        let line = a.by_mean(&a.name, |x, mean| op.apply(mean, b(x)));
        Value::Line(Box::new(line), true)
    }
}

fn functions() -> impl Iterator<Item = &'static str> + Clone {
    FUNCTIONS.split_whitespace()
}

/// Returns the function of one number that has this name.
fn unary(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "exp" => libm::exp,
        "sqrt" => libm::sqrt,
        "round" => libm::round,
        "log" => libm::log,
        _ => return None,
    })
}

/// Parses the expression that starts at a byte of a text.
fn parsed(of: &str, text: &Text, from: usize) -> Result<Expr, Fault> {
    Expr::parse(of).map_err(|error| fault(text, error.message).shifted(from + error.at))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_vocabulary_is_told_whole() {
        let told = include_str!("scope.rs")
            .split("use std::cell")
            .next()
            .unwrap_or_default();
        for function in super::functions() {
            assert!(told.contains(function), "{function}");
        }
    }
}
