//! A figure as a plan that `whyloss sweep` runs: the same network, the same keys, an axis for x, one for the lines, and one for
//! each dimension.

use core::fmt::Write as _;
use std::collections::BTreeSet;

use toml::{Table, Value};

use super::document::{Figure, Text};
use super::error::{Fault, PaperError};
use super::plan::filled;
use super::{Paper, find};

impl Paper {
    /// The plan of a figure, the name of its scenario and the scenario; `None` if there is no such figure.
    ///
    /// # Errors
    /// If it is a program, or has several networks.
    pub fn plan(&'static self, id: &str) -> Option<Result<(String, String, String), PaperError>> {
        let figure = self.figure(id)?;
        Some(self.printed(figure, id).map_err(|fault| self.show(fault)))
    }

    #[expect(clippy::too_many_lines, reason = "one thing after the other")]
    fn printed(
        &'static self,
        figure: &'static Figure,
        id: &str,
    ) -> Result<(String, String, String), Fault> {
        let whole = |message: &str| Fault::whole(format!("{id}: {message}"));
        let Some(lines) = &figure.lines else {
            return Err(whole(
                "it is a program or several plans, which no one plan can say",
            ));
        };
        let over = figure.over.as_deref().unwrap_or_default();
        let mut networks: BTreeSet<&str> = figure
            .network
            .iter()
            .map(|name| name.get_ref().as_str())
            .collect();
        for name in over {
            let (_, items) = self.items(name)?;
            let own = items.iter().filter_map(|item| item.network.as_ref());
            networks.extend(own.map(|network| network.get_ref().as_str()));
        }
        let [network] = networks.iter().copied().collect::<Vec<_>>()[..] else {
            return Err(whole("it runs over several networks, and a plan has one"));
        };
        let flows = figure.flows.as_deref().unwrap_or_default();
        let keys = |set: &Table, flow: &Table, x: f64| self.keys(network, flows, (set, flow), x);
        let mut plan = format!(
            "# {id}: {}\n",
            figure
                .heading
                .as_deref()
                .or(figure.title.as_deref())
                .unwrap_or(id)
        );
        let seeds = figure.seeds.unwrap_or(self.document.seeds);
        let mut metrics: Vec<Value> = Vec::new();
        for name in self.used(figure) {
            let spec = &self.document.metric[name];
            if spec.of.get_ref().contains("probe.") {
                let _ = writeln!(
                    plan,
                    "# metric `{name}` is left out: only `whyloss reproduce` has its probe"
                );
            } else {
                metrics.push(format!("{name} = {}", spec.of.get_ref()).into());
            }
        }
        if metrics.is_empty() {
            metrics.push("total.throughput_bps".into());
        }
        let _ = writeln!(
            plan,
            "scenario = {}\nseeds = {seeds}\nmetrics = {}",
            Value::from(network),
            Value::Array(metrics)
        );
        let _ = writeln!(
            plan,
            "set = {}",
            Value::Table(keys(&figure.set, &figure.flow, f64::NAN))
        );
        if let Some(axis) = &figure.axis {
            let axis_of = find(&self.document.axis, axis, "axis")?;
            let _ = writeln!(
                plan,
                "\n[[axis]]\nname = {}\nchoices = [",
                Value::from(axis.get_ref().as_str())
            );
            for (index, &x) in axis_of.x.iter().enumerate() {
                if figure.x.as_ref().is_some_and(|some| !some.contains(&x)) {
                    continue;
                }
                let mut set = axis_of.set.clone();
                let each = axis_of
                    .each
                    .iter()
                    .filter_map(|(key, values)| Some((key.clone(), values.get(index)?.clone())));
                set.extend(each);
                choice(&mut plan, &Value::from(x), keys(&set, &axis_of.flow, x));
            }
            plan.push_str("]\n");
        }
        let _ = writeln!(plan, "\n[[axis]]\nname = \"line\"\nchoices = [");
        for id in lines {
            let line = find(&self.document.line, id, "line")?;
            if line.of.is_some() {
                continue;
            }
            match &line.adjust {
                None => choice(
                    &mut plan,
                    &Value::from(id.get_ref().as_str()),
                    keys(&line.set, &line.flow, f64::NAN),
                ),
                Some(how) => left_out(&mut plan, id.get_ref(), how),
            }
        }
        plan.push_str("]\n");
        for name in over {
            let (dimension, items) = self.items(name)?;
            let _ = writeln!(
                plan,
                "\n[[axis]]\nname = {}\nchoices = [",
                Value::from(dimension)
            );
            for item in items {
                match &item.adjust {
                    None => choice(
                        &mut plan,
                        &Value::from(item.name.as_str()),
                        keys(&item.set, &item.flow, f64::NAN),
                    ),
                    Some(how) => left_out(&mut plan, &item.name, how),
                }
            }
            plan.push_str("]\n");
        }
        let text = self
            .networks
            .get(network)
            .map_or_else(String::new, |network| network.text.clone());
        Ok((plan, network.to_owned(), text))
    }

    /// Keys of the scenario, for each flow and without wildcards.
    fn keys(
        &self,
        network: &str,
        flows: &[String],
        (set, flow): (&Table, &Table),
        x: f64,
    ) -> Table {
        let of_flows = flows.iter().flat_map(|of| {
            flow.iter()
                .map(move |(key, value)| (format!("flow.{of}.{key}"), value))
        });
        let all = set
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .chain(of_flows);
        let all: Vec<(String, Value)> = all.map(|(key, value)| (key, filled(value, x))).collect();
        let known = self.networks.get(network);
        let expanded = all.into_iter().flat_map(|(key, value)| {
            let keys = known.map_or_else(|| vec![key.clone()], |known| known.expanded(&key));
            keys.into_iter().map(move |key| (key, value.clone()))
        });
        expanded.collect()
    }

    /// The metrics that a figure names.
    fn used(&self, figure: &Figure) -> BTreeSet<&str> {
        let said = format!(
            "{:?}",
            (&figure.metric, &figure.rows, &figure.lets, &figure.claim)
        );
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

fn choice(plan: &mut String, name: &Value, set: Table) {
    let _ = writeln!(
        plan,
        "    {{ name = {name}, set = {} }},",
        Value::Table(set)
    );
}

fn left_out(plan: &mut String, name: &str, how: &Text) {
    let _ = writeln!(
        plan,
        "    # {name} is left out: only `whyloss reproduce` makes its adjustment `{}`",
        how.get_ref()
    );
}
