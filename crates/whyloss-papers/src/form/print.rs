//! Writes a figure as plans for `whyloss sweep`, with the same networks and keys, and with axes for
//! the lines, x, and each dimension.

use core::fmt::Write as _;
use std::collections::{BTreeSet, HashMap};

use toml::{Table, Value};

use whyloss_study::{Beside, Grid, Network, Plan, Told};

use super::Paper;
use super::document::Figure;
use super::error::{Fault, PaperError};
use super::plan::{Job, Part};

/// A plan of a figure for `whyloss sweep`.
#[derive(Debug)]
pub struct Printed {
    /// The file name: the figure's id, and the plan's name if it is not the figure's own plan.
    pub file: String,
    /// The text of the plan, after a comment on the parts that it leaves out.
    pub text: String,
    /// The plan that the text describes.
    pub plan: Plan,
}

impl Paper {
    /// Returns the plans of a figure, its own first; `None` if the figure does not exist.
    ///
    /// # Errors
    /// Returns an error if the figure is a program, which no plan can describe.
    pub fn plans(&'static self, id: &str) -> Option<Result<Vec<Printed>, PaperError>> {
        let figure = self.figure(id)?;
        Some(self.printed(figure, id).map_err(|fault| self.show(fault)))
    }

    fn printed(&'static self, figure: &'static Figure, id: &str) -> Result<Vec<Printed>, Fault> {
        let parts = self.parts(figure)?;
        // A figure without lines becomes one plan with the runs of all its other plans.
        let groups: Vec<Vec<&Part<Grid<Job>>>> = if figure.lines.is_some() {
            parts
                .chunk_by(|a, b| a.plan == b.plan)
                .map(|parts| parts.iter().collect())
                .collect()
        } else {
            vec![parts.iter().collect()]
        };
        let plans = groups.iter().map(|parts| self.one(figure, id, parts));
        let plans: Vec<Option<Printed>> = plans.collect::<Result<_, _>>()?;
        let plans: Vec<Printed> = plans.into_iter().flatten().collect();
        if plans.is_empty() {
            return Err(Fault::whole(format!(
                "{id}: it is a program, which no plan can say"
            )));
        }
        Ok(plans)
    }

    /// Returns one plan; `None` if all its scenarios come from a program.
    fn one(
        &'static self,
        figure: &'static Figure,
        id: &str,
        parts: &[&Part<Grid<Job>>],
    ) -> Result<Option<Printed>, Fault> {
        let title = figure.heading.as_deref().or(figure.title.as_deref());
        let mut left_out: Vec<String> = Vec::new();
        let metrics = self.columns(figure, parts, &mut left_out);
        let names: BTreeSet<&str> = parts.iter().map(|part| part.plan).collect();
        let mut networks: Vec<Network> = Vec::new();
        let mut number: HashMap<&str, usize> = HashMap::new();
        let mut runs: Vec<Told> = Vec::new();
        for part in parts {
            let mut axes = self.document.axis.iter();
            let is = |axis| part.axis.is_some_and(|of| core::ptr::eq(of, axis));
            let x_axis = axes.find(|(_, axis)| is(*axis)).map(|(name, _)| name);
            for (line, x, job) in part.runs.items() {
                let mut places: Vec<(String, Value)> = Vec::new();
                if names.len() > 1 {
                    places.push(("plan".to_owned(), part.plan.into()));
                }
                places.extend(x_axis.map(|axis| (axis.clone(), x.into())));
                places.push(("line".to_owned(), line.into()));
                let items = part.selection.iter();
                places.extend(
                    items.map(|(dimension, item)| {
                        ((*dimension).to_owned(), item.name.as_str().into())
                    }),
                );
                if job.special {
                    let places = places.iter().map(|(_, place)| match place {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    });
                    left_out.push(places.collect::<Vec<_>>().join(", "));
                    continue;
                }
                let network = *number.entry(job.network).or_insert_with(|| {
                    let text = self.networks.get(job.network);
                    networks.push(Network {
                        file: job.network.to_owned(),
                        text: text.map_or_else(String::new, |network| network.text.clone()),
                    });
                    networks.len() - 1
                });
                runs.push(Told {
                    places,
                    network,
                    set: table(&job.set),
                });
            }
        }
        if runs.is_empty() {
            return Ok(None);
        }
        let name = match parts.first().map_or("", |part| part.plan) {
            own if own.is_empty() || names.len() > 1 || figure.lines.is_none() => id.to_owned(),
            other => format!("{id}-{other}"),
        };
        let until = figure.until.as_ref();
        let until = until.filter(|until| {
            let named = format!("{} = ", until.metric.get_ref());
            metrics.iter().any(|metric| metric.starts_with(&named))
        });
        let beside = Beside {
            name: format!("{name}.toml"),
            seeds: figure.seeds.unwrap_or(self.document.seeds),
            until: until.map(|until| {
                let named = format!("{} = ", until.metric.get_ref());
                let metric = metrics.iter().find(|metric| metric.starts_with(&named));
                let metric = metric.cloned().unwrap_or_default();
                (metric, until.within, self.confidence(), until.most)
            }),
            metrics,
        };
        let plan = Plan::of_runs(beside, &networks, &runs)
            .map_err(|error| Fault::whole(format!("{id}: {error}")))?;
        let mut text = format!("# {id}: {}\n", title.unwrap_or(id));
        for what in left_out {
            let _ = writeln!(
                text,
                "# {what} is left out: only `whyloss reproduce` has it"
            );
        }
        text.push_str(&plan.to_toml());
        Ok(Some(Printed {
            file: format!("{name}.toml"),
            text,
            plan,
        }))
    }

    /// Returns the metrics of a figure, each with the flows that its lines measure.
    fn columns(
        &self,
        figure: &Figure,
        parts: &[&Part<Grid<Job>>],
        left_out: &mut Vec<String>,
    ) -> Vec<String> {
        let lines = || parts.iter().flat_map(|part| &part.lines);
        let flows: BTreeSet<Option<&str>> =
            lines().map(|(_, line)| line.flows.as_deref()).collect();
        let mut columns = Vec::new();
        for metric in self
            .used(figure)
            .into_iter()
            .filter_map(|name| self.metrics.get(name))
        {
            if metric.needs_probe() {
                left_out.push(format!("metric `{}`", metric.id));
            } else {
                columns.extend(flows.iter().map(|flows| metric.text(*flows)));
            }
        }
        if columns.is_empty() {
            columns.push("total.throughput_bps".to_owned());
        }
        columns
    }

    /// Returns the metrics that a figure names.
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

/// Returns the settings of a run as a table. A key that is set again replaces the keys below it.
fn table(set: &[(String, String)]) -> Table {
    let mut table = Table::new();
    for (key, text) in set {
        let below = format!("{key}.");
        table.retain(|other, _| !other.starts_with(&below));
        table.insert(key.clone(), value(text));
    }
    table
}

/// Parses a value as `--set` does.
fn value(text: &str) -> Value {
    let read = toml::from_str::<Table>(&format!("of = {text}"));
    let read = read.ok().and_then(|mut table| table.remove("of"));
    read.unwrap_or_else(|| text.into())
}
