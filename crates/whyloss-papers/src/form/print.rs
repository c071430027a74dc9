//! A figure as a plan that `whyloss sweep` runs: the same network, the same keys, an axis for x, one for the lines, and one for
//! each dimension.

use core::fmt::Write as _;
use std::collections::BTreeSet;

use toml::{Table, Value};

use whyloss_study::Plan;

use super::document::{Figure, Item};
use super::error::{Fault, PaperError};
use super::plan::{Job, Part, Sets};
use super::{Paper, find};

/// An axis of a plan: its name, and of each place the name and what it sets.
type Axis = (String, Vec<(Value, Table)>);

impl Paper {
    /// The plan of a figure, the name of its scenario and the scenario; `None` if there is no such figure.
    ///
    /// # Errors
    /// If it is a program, or has several networks.
    pub fn plan(&'static self, id: &str) -> Option<Result<(String, String, String), PaperError>> {
        let figure = self.figure(id)?;
        Some(self.printed(figure, id).map_err(|fault| self.show(fault)))
    }

    fn printed(
        &'static self,
        figure: &'static Figure,
        id: &str,
    ) -> Result<(String, String, String), Fault> {
        let whole = |message: &str| Fault::whole(format!("{id}: {message}"));
        let parts = self.parts(figure)?;
        let own = |part: &&Part<Plan<Job>>| part.plan.is_empty() || figure.lines.is_none();
        let runs = parts.iter().filter(own).flat_map(|part| {
            let items = part.runs.items();
            items.map(move |(line, x, job)| (part, line, x, job))
        });
        let runs: Vec<_> = runs.collect();
        let networks: BTreeSet<&str> = runs.iter().map(|run| run.3.network).collect();
        let network = match *networks.iter().copied().collect::<Vec<_>>() {
            [] => return Err(whole("it is a program, which no plan can say")),
            [network] => network,
            _ => return Err(whole("it runs over several networks, and a plan has one")),
        };
        let title = figure.heading.as_deref().or(figure.title.as_deref());
        let mut plan = format!("# {id}: {}\n", title.unwrap_or(id));
        let mut left_out = |what: &str| {
            let _ = writeln!(
                plan,
                "# {what} is left out: only `whyloss reproduce` has it"
            );
        };
        for part in parts.iter().filter(|part| !own(part)) {
            left_out(&format!("plan `{}`", part.plan));
        }
        let mut metrics: Vec<Value> = Vec::new();
        for name in self.used(figure) {
            let spec = &self.document.metric[name];
            if spec.of.get_ref().contains("probe.") {
                left_out(&format!("metric `{name}`"));
            } else {
                metrics.push(format!("{name} = {}", spec.of.get_ref()).into());
            }
        }
        if metrics.is_empty() {
            metrics.push("total.throughput_bps".into());
        }
        let mut kept: Vec<(String, Table)> = Vec::new();
        for (part, line, x, job) in runs {
            let x = (!x.is_nan()).then(|| x.to_string());
            let items = part.selection.iter().map(|(_, item)| item.name.clone());
            let names = [Some(part.plan.to_owned()), Some(line.to_owned()), x];
            let names = names.into_iter().flatten().chain(items);
            let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
            let name = names.join(", ");
            if job.special {
                left_out(&name);
            } else {
                let set = job.set.iter();
                let set = set.map(|(key, text)| (key.clone(), value(text)));
                kept.push((name, set.collect()));
            }
        }
        let seeds = figure.seeds.unwrap_or(self.document.seeds);
        let _ = writeln!(
            plan,
            "scenario = {}\nseeds = {seeds}\nmetrics = {}",
            Value::from(network),
            Value::Array(metrics)
        );
        if kept.is_empty() {
            return Err(whole("only a program makes its scenarios"));
        }
        let (always, axes) = self.axes(figure, network)?;
        let factors = are_factors(&always, &axes, &kept);
        let axes = if factors {
            let _ = writeln!(plan, "set = {}", Value::Table(always));
            axes
        } else {
            let runs = kept.into_iter().map(|(name, set)| (name.into(), set));
            vec![("run".to_owned(), runs.collect())]
        };
        for (name, places) in axes {
            let _ = writeln!(
                plan,
                "\n[[axis]]\nname = {}\nchoices = [",
                Value::from(name)
            );
            for (name, set) in places {
                let set = Value::Table(set);
                let _ = writeln!(plan, "    {{ name = {name}, set = {set} }},");
            }
            plan.push_str("]\n");
        }
        let text = self.networks.get(network);
        let text = text.map_or_else(String::new, |network| network.text.clone());
        Ok((plan, network.to_owned(), text))
    }

    /// Common settings; an axis for x, one for the lines, and one for each dimension.
    fn axes(
        &'static self,
        figure: &'static Figure,
        network: &str,
    ) -> Result<(Table, Vec<Axis>), Fault> {
        let flows = figure.flows.as_deref().unwrap_or_default();
        let keys = |set: &Table, flow: &Table, x: f64| {
            let mut of = Sets {
                network: self.networks.get(network),
                flows,
                x,
                all: Vec::new(),
            };
            of.take(set, flow);
            let all = of.all.into_iter();
            all.map(|(key, text)| (key, value(&text)))
                .collect::<Table>()
        };
        let dimensions = figure.over.iter().flatten().map(|name| self.items(name));
        let dimensions = dimensions.collect::<Result<Vec<_>, _>>()?;
        let mut axes: Vec<Axis> = Vec::new();
        let always = keys(&figure.set, &figure.flow, f64::NAN);
        if let Some(name) = &figure.axis {
            let axis = find(&self.document.axis, name, "axis")?;
            let places = axis.x.iter().enumerate();
            let some =
                places.filter(|(_, x)| figure.x.as_ref().is_none_or(|some| some.contains(x)));
            let place = |(index, &x): (usize, &f64)| {
                let mut set = axis.set.clone();
                // An item that is alone in its dimension departs from nothing.
                let alone = dimensions.iter().filter(|(_, items)| items.len() == 1);
                let items = alone.map(|(_, items)| &items[0].each);
                for each in [&axis.each].into_iter().chain(items) {
                    let at = |values: &Vec<Value>| values.get(index).cloned();
                    set.extend(
                        each.iter()
                            .filter_map(|(key, of)| Some((key.clone(), at(of)?))),
                    );
                }
                (Value::from(x), keys(&set, &axis.flow, x))
            };
            axes.push((name.get_ref().clone(), some.map(place).collect()));
        }
        let mut lines = Vec::new();
        for id in figure.lines.iter().flatten() {
            let line = find(&self.document.line, id, "line")?;
            if line.of.is_none() && line.adjust.is_none() {
                let set = keys(&line.set, &line.flow, f64::NAN);
                lines.push((id.get_ref().as_str().into(), set));
            }
        }
        axes.push(("line".to_owned(), lines));
        for (dimension, items) in dimensions {
            let items = items.into_iter().filter(|item| item.adjust.is_none());
            let place = |item: &Item| {
                let set = keys(&item.set, &item.flow, f64::NAN);
                (item.name.as_str().into(), set)
            };
            axes.push((dimension.to_owned(), items.map(place).collect()));
        }
        Ok((always, axes))
    }

    /// The metrics that a figure names.
    fn used(&self, figure: &Figure) -> BTreeSet<&str> {
        let lines = figure.lines.iter().flatten();
        let lines = lines.filter_map(|id| self.document.line.get(id.get_ref()));
        let instead: Vec<_> = lines.map(|line| &line.instead).collect();
        let Figure {
            metric,
            rows,
            lets,
            claim,
            ..
        } = figure;
        let said = format!("{:?}", (metric, rows, lets, claim, instead));
        let metrics = self.document.metric.keys().map(String::as_str);
        let named = |name: &&str| {
            let ends = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
            said.match_indices(*name).any(|(at, _)| {
                said[..at].ends_with(['.', '"']) && said[at + name.len()..].starts_with(ends)
            })
        };
        metrics.filter(named).collect()
    }
}

/// Whether the axes say what is run: only if each sets the same wherever the others are.
fn are_factors(always: &Table, axes: &[Axis], kept: &[(String, Table)]) -> bool {
    let mut told: Vec<Table> = vec![always.clone()];
    for (_, places) in axes {
        let with = |all: &Table| {
            let all = all.clone();
            places.iter().map(move |(_, set)| {
                let mut all = all.clone();
                all.extend(set.clone());
                all
            })
        };
        told = told.iter().flat_map(with).collect();
    }
    let run = |set: &Table| kept.iter().any(|(_, other)| set == other);
    told.len() == kept.len() && told.iter().all(run)
}

/// A value as `--set` has it.
fn value(text: &str) -> Value {
    let read = toml::from_str::<Table>(&format!("of = {text}"));
    let read = read.ok().and_then(|mut table| table.remove("of"));
    read.unwrap_or_else(|| text.into())
}
