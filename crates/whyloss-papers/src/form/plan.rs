//! Turns a figure into scenarios and their runs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, MutexGuard, PoisonError};

use toml::{Table, Value};
use whyloss_sim::scenario::suggest;
use whyloss_sim::{DelaySummary, Measurement, Needs, Scenario};
use whyloss_study::metric::Observed;
use whyloss_study::replicate::Precision;
use whyloss_study::{Axis, CONFIDENCE, Context, ExperimentError, Grid, Metric, Runs};

use super::document::{AxisSpec, Figure, Item, LineSpec, PlanSpec, Text};
use super::error::{Fault, fault};
use super::{Network, Paper, find, find_at};
use crate::probes::{self, Probe, Probed};

/// One item of each dimension, by the dimension's name.
pub(crate) type Selection = Vec<(&'static str, &'static Item)>;

/// The results of a run that are kept.
#[derive(Debug)]
pub(crate) struct Observation {
    measurement: Measurement,
    delays: Vec<DelaySummary>,
    pub(crate) probed: Probed,
}

impl Observation {
    pub(crate) fn observed(&self) -> Observed<'_> {
        Observed {
            measurement: &self.measurement,
            delays: &self.delays,
            frames: &[],
            probe: &self.probed.values,
        }
    }
}

/// A parsed scenario with its number in the paper; equal scenarios share a number.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(super) scenario: Scenario,
    pub(super) number: usize,
}

/// All distinct scenarios of a paper.
#[derive(Debug, Default)]
pub(super) struct Scenarios {
    /// The scenarios by network and set keys.
    named: HashMap<String, Arc<Ready>>,
    /// The scenarios by their full text.
    written: HashMap<String, Arc<Ready>>,
}

impl Scenarios {
    fn take(&mut self, mut scenario: Scenario) -> Arc<Ready> {
        // The title of a scenario has no effect on its runs.
        scenario.title.clear();
        let number = self.written.len();
        let ready = self.written.entry(format!("{scenario:?}"));
        ready
            .or_insert_with(|| Arc::new(Ready { scenario, number }))
            .clone()
    }
}

/// A planned run.
pub(crate) struct Job {
    pub(super) ready: Arc<Ready>,
    /// The name of the network, and the keys set in it.
    pub(super) network: &'static str,
    pub(super) set: Vec<(String, String)>,
    /// Whether a program creates the scenario, so that no file can express it.
    pub(super) special: bool,
    probe: Option<&'static Probe>,
    delays: bool,
}

/// The runs of one combination of a plan and dimension items.
pub(crate) struct Part<R = Runs<Observation>> {
    /// The plan's name; empty for the figure's own plan.
    pub(crate) plan: &'static str,
    pub(crate) selection: Selection,
    /// The ids and specifications of its lines.
    pub(crate) lines: Vec<(&'static Text, &'static LineSpec)>,
    pub(crate) axis: Option<&'static AxisSpec>,
    pub(crate) runs: R,
}

impl Paper {
    /// Returns every combination of a figure with its jobs.
    pub(crate) fn parts(
        &'static self,
        figure: &'static Figure,
    ) -> Result<Vec<Part<Grid<Job>>>, Fault> {
        let mut specs: Vec<(&'static str, &'static PlanSpec)> = Vec::new();
        if figure.lines.is_some() {
            specs.push(("", &OWN));
        }
        specs.extend(
            figure
                .plan
                .iter()
                .flatten()
                .map(|(name, spec)| (name.as_str(), spec)),
        );
        let mut parts = Vec::new();
        for (name, spec) in specs {
            let over = spec.over.as_ref().or(figure.over.as_ref());
            for selection in self.selections(over.into_iter().flatten())? {
                parts.push(self.part(figure, (name, spec), selection)?);
            }
        }
        Ok(parts)
    }

    /// Returns every combination of the items of these dimensions. The first dimension varies
    /// slowest.
    pub(crate) fn selections(
        &'static self,
        over: impl IntoIterator<Item = &'static Text>,
    ) -> Result<Vec<Selection>, Fault> {
        let mut all: Vec<Selection> = vec![Vec::new()];
        for name in over {
            let (dimension, items) = self.items(name)?;
            let longer = |selection: &Selection| {
                let with = |item: &&'static Item| {
                    let mut selection = selection.clone();
                    selection.push((dimension, *item));
                    selection
                };
                items.iter().map(with).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        Ok(all)
    }

    /// Returns all items of a dimension, or the selected ones, as in `level=medium,low`.
    pub(crate) fn items(
        &'static self,
        name: &'static Text,
    ) -> Result<(&'static str, Vec<&'static Item>), Fault> {
        let (dimension, some) = match name.get_ref().split_once('=') {
            Some((dimension, some)) => (dimension, Some(some)),
            None => (name.get_ref().as_str(), None),
        };
        let items = find_at(&self.document.over, dimension, name, "dimension of `over`")?;
        let Some(some) = some else {
            return Ok((dimension, items.iter().collect()));
        };
        let item = |id| {
            items.iter().find(|item| item.id == id).ok_or_else(|| {
                let hint = suggest(id, items.iter().map(|item| item.id.as_str()));
                fault(
                    name,
                    format!("no item of `{dimension}` is called `{id}`{hint}"),
                )
            })
        };
        let some = some.split(',').map(item).collect::<Result<_, _>>()?;
        Ok((dimension, some))
    }

    #[expect(clippy::too_many_lines, reason = "one thing after the other")]
    fn part(
        &'static self,
        figure: &'static Figure,
        (name, spec): (&'static str, &'static PlanSpec),
        selection: Selection,
    ) -> Result<Part<Grid<Job>>, Fault> {
        let axis = spec.axis.as_ref().or(figure.axis.as_ref());
        let axis = axis.filter(|axis| axis.get_ref() != "none");
        let axis = axis
            .map(|axis| find(&self.document.axis, axis, "axis"))
            .transpose()?;
        let lines = spec.lines.as_ref().or(figure.lines.as_ref());
        let lines = lines.into_iter().flatten();
        let lines = lines.map(|id| Ok((id, find(&self.document.line, id, "line")?)));
        let lines = lines.collect::<Result<Vec<_>, Fault>>()?;
        let of_items = || {
            selection
                .iter()
                .rev()
                .find_map(|(_, item)| item.network.as_ref())
        };
        let network = spec
            .network
            .as_ref()
            .or_else(of_items)
            .or(figure.network.as_ref());
        let probe = spec.probe.as_ref().or(figure.probe.as_ref());
        let probe = probe.map(probes::find).transpose()?;
        let flows = spec.flows.as_ref().or(figure.flows.as_ref());
        let flows = flows.map_or(&[][..], Vec::as_slice);
        let delays = Metric::needs(self.metrics.values()).delays;
        let label = axis.map_or("", |axis| axis.label.as_str()).to_owned();
        let mut of_axis = Axis::named(label);
        of_axis.log = axis.is_some_and(|axis| axis.log);
        of_axis.notation = self.notation.of_lines().filter(|_| axis.is_some());
        let table = [f64::NAN];
        let some = spec
            .x
            .as_ref()
            .or(figure.x.as_ref())
            .filter(|_| axis.is_some());
        let xs = axis.map_or(&table[..], |axis| some.unwrap_or(&axis.x));
        let mut grid = Grid::new(&of_axis, xs);
        for (id, line) in lines.iter().filter(|(_, line)| line.of.is_none()) {
            let Some(network) = line.network.as_ref().or(network) else {
                return Err(fault(
                    id,
                    "expected `network`, the name of a file in `networks`",
                ));
            };
            let known = self.networks.get(network.get_ref());
            let mut jobs = Vec::new();
            for &x in xs {
                let mut set = Sets {
                    network: known,
                    flows,
                    x,
                    all: Vec::new(),
                };
                set.take(&figure.set, &figure.flow);
                set.take(&spec.set, &spec.flow);
                let index = axis
                    .and_then(|axis| axis.x.iter().position(|&place| place.total_cmp(&x).is_eq()));
                let at_place = |set: &mut Sets<'_>, each: &BTreeMap<String, Vec<Value>>| {
                    for (key, values) in each {
                        let value = index.and_then(|index| values.get(index)).ok_or_else(|| {
                            fault(id, format!("`each.{key}` has no value for the axis's {x}"))
                        })?;
                        set.push(key, value);
                    }
                    Ok::<(), Fault>(())
                };
                if let Some(axis) = axis {
                    set.take(&axis.set, &axis.flow);
                    at_place(&mut set, &axis.each)?;
                }
                set.take(&line.set, &line.flow);
                // The settings of an item come last.
                for (_, item) in &selection {
                    set.take(&item.set, &item.flow);
                    at_place(&mut set, &item.each)?;
                    if let Some(flow) = item.line.get(id.get_ref()) {
                        set.take(&Table::new(), flow);
                    }
                    let own = if name.is_empty() { "own" } else { name };
                    for (key, value) in item.on.get(own).into_iter().flatten() {
                        set.push(key, value);
                    }
                }
                let adjust = [&line.adjust]
                    .into_iter()
                    .chain(selection.iter().map(|(_, item)| &item.adjust));
                let own = axis.and_then(|axis| axis.networks.as_ref()?.get(index?));
                let network = own.unwrap_or(network);
                let place = || format!("{}, line `{}`, x = {x}", network.get_ref(), id.get_ref());
                let mut ready = self.scenario(network, &set.all, place)?;
                let mut special = false;
                for name in adjust.flatten() {
                    let mut scenario = ready.scenario.clone();
                    probes::adjust(name)?(&mut scenario);
                    ready = self.known().take(scenario);
                    special = true;
                }
                jobs.push(Job {
                    ready,
                    network: network.get_ref(),
                    set: set.all,
                    special,
                    probe,
                    delays: delays && probe.is_none(),
                });
            }
            grid = grid.line_of(id.get_ref(), &line.name, jobs);
        }
        Ok(Part {
            plan: name,
            selection,
            lines,
            axis,
            runs: grid,
        })
    }

    /// Returns the scenario of a network with keys set, from the cache if possible. Reading a
    /// scenario takes as long as a short run.
    fn scenario(
        &self,
        network: &Text,
        set: &[(String, String)],
        place: impl Fn() -> String,
    ) -> Result<Arc<Ready>, Fault> {
        let key = format!("{} {set:?}", network.get_ref());
        if let Some(ready) = self.known().named.get(&key) {
            return Ok(ready.clone());
        }
        let text = self
            .networks
            .get(network.get_ref())
            .map_or("", |network| &network.text);
        let file = format!("{}/networks/{}", self.directory, network.get_ref());
        let scenario = Scenario::from_toml(text, &file, set)
            .map_err(|error| Fault::of_network(network, &place(), &error))?;
        let mut known = self.known();
        let ready = known.take(scenario);
        known.named.insert(key, ready.clone());
        Ok(ready)
    }

    fn known(&self) -> MutexGuard<'_, Scenarios> {
        self.scenarios
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the text of each scenario that the plan named `plan` of the figure `id` runs.
    #[cfg(test)]
    pub(crate) fn scenarios(
        &'static self,
        id: &str,
        plan: &str,
    ) -> std::collections::BTreeSet<String> {
        let figure = self.figure(id);
        let parts = figure.and_then(|figure| self.parts(figure).ok());
        let parts = parts.unwrap_or_default();
        let is = |part: &&Part<Grid<Job>>| {
            figure.is_some_and(|figure| figure.lines.is_none())
                || format!("{id}-{}", part.plan).trim_end_matches('-') == plan
        };
        let jobs = parts.iter().filter(is).flat_map(|part| part.runs.items());
        jobs.map(|(_, _, job)| format!("{:?}", job.ready.scenario))
            .collect()
    }

    /// Runs all jobs of a figure, and returns its combinations with their results.
    pub(crate) fn measured(
        &'static self,
        figure: &'static Figure,
        context: &Context<'_>,
    ) -> Result<Vec<Part>, ExperimentError> {
        let failed = |fault: Fault| ExperimentError::Failed(Box::new(self.show(fault)));
        let (frames, grids): (Vec<_>, Vec<_>) = self
            .parts(figure)
            .map_err(failed)?
            .into_iter()
            .map(Part::taken)
            .unzip();
        let key = |job: &Job| {
            let probe = job.probe.map_or("", |probe| probe.id);
            format!("{} {} {probe} {}", self.file, job.ready.number, job.delays)
        };
        let runs = match &figure.until {
            None => Grid::run_all(context, &grids, key, Job::run)?,
            Some(until) => {
                let metric = find(&self.metrics, &until.metric, "metric").map_err(failed)?;
                let precision = Precision {
                    half_width: until.within,
                    confidence: self.confidence(),
                    at_most: until.most,
                };
                let value =
                    |run: &Observation| metric.of(&run.observed(), None).unwrap_or(f64::NAN);
                Grid::run_until(context, &grids, &precision, value, key, Job::run)?
            }
        };
        let confident = runs
            .into_iter()
            .map(|runs| runs.with_confidence(self.confidence()));
        Ok(frames
            .into_iter()
            .zip(confident)
            .map(|(frame, runs)| frame.with(runs))
            .collect())
    }

    /// Returns the combinations of a figure without running them.
    pub(crate) fn unrun(&'static self, figure: &'static Figure) -> Result<Vec<Part>, Fault> {
        let parts = self.parts(figure)?.into_iter().map(Part::taken);
        Ok(parts
            .map(|(frame, grid)| frame.with(grid.unrun()))
            .collect())
    }

    pub(crate) fn confidence(&self) -> f64 {
        self.document.confidence.unwrap_or(CONFIDENCE)
    }
}

impl<R> Part<R> {
    /// Returns whether the combination has a line with this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.lines.iter().any(|(line, _)| line.get_ref() == id)
    }

    fn taken(self) -> (Part<()>, R) {
        let Self {
            plan,
            selection,
            lines,
            axis,
            runs,
        } = self;
        (
            Part {
                plan,
                selection,
                lines,
                axis,
                runs: (),
            },
            runs,
        )
    }

    fn with<S>(self, runs: S) -> Part<S> {
        let Self {
            plan,
            selection,
            lines,
            axis,
            ..
        } = self;
        Part {
            plan,
            selection,
            lines,
            axis,
            runs,
        }
    }
}

impl Job {
    fn run(&self, seed: u64) -> Result<Observation, ExperimentError> {
        let failed = |error| ExperimentError::Failed(Box::new(error));
        if let Some(probe) = self.probe {
            let (measurement, probed) = (probe.run)(&self.ready.scenario, seed).map_err(failed)?;
            return Ok(Observation {
                measurement,
                delays: Vec::new(),
                probed,
            });
        }
        let probed = Probed::default();
        if self.delays {
            let needs = Needs {
                delays: true,
                ..Needs::default()
            };
            let run = whyloss_sim::Simulation::new(&self.ready.scenario, seed)
                .measure(needs)
                .map_err(failed)?;
            return Ok(Observation {
                measurement: run.measurement,
                delays: run.delays,
                probed,
            });
        }
        let measurement = whyloss_sim::Simulation::new(&self.ready.scenario, seed)
            .run()
            .map_err(failed)?;
        Ok(Observation {
            measurement,
            delays: Vec::new(),
            probed,
        })
    }
}

/// The plan of the figure itself, which adds no keys.
static OWN: LazyLock<PlanSpec> = LazyLock::new(PlanSpec::default);

/// Scenario keys with their values, in the order in which they are set.
pub(super) struct Sets<'a> {
    pub(super) network: Option<&'a Network>,
    pub(super) flows: &'a [String],
    pub(super) x: f64,
    pub(super) all: Vec<(String, String)>,
}

impl Sets<'_> {
    pub(super) fn take(&mut self, set: &Table, flow: &Table) {
        for (key, value) in set {
            self.push(key, value);
        }
        for of in self.flows {
            for (key, value) in flow {
                self.push(&format!("flow.{of}.{key}"), value);
            }
        }
    }

    fn push(&mut self, key: &str, value: &Value) {
        let value = filled(value, self.x).to_string();
        let keys = self
            .network
            .map_or_else(|| vec![key.to_owned()], |network| network.expanded(key));
        self.all
            .extend(keys.into_iter().map(|key| (key, value.clone())));
    }
}

/// Replaces `{x}`, `{x/100}` and `{x*8}` in a value by the place. A text that consists of just one
/// of these becomes a number.
fn filled(value: &Value, x: f64) -> Value {
    match value {
        Value::String(text) => {
            let (filled, number) = placed(text, x);
            match number.filter(|_| {
                text.starts_with('{') && text.matches('{').count() == 1 && text.ends_with('}')
            }) {
                Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                    Value::Integer(number as i64)
                }
                Some(number) => Value::Float(number),
                None => Value::String(filled),
            }
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| filled(item, x)).collect()),
        Value::Table(table) => {
            let entries = table
                .iter()
                .map(|(key, value)| (key.clone(), filled(value, x)));
            Value::Table(entries.collect())
        }
        other => other.clone(),
    }
}

/// Computes a value from a place: `*88/8192` multiplies by 88, then divides by 8192.
fn made(how: &str, x: f64) -> Option<f64> {
    let Some(op) = how.chars().next() else {
        return Some(x);
    };
    let end = how[1..]
        .find(['/', '*', '-'])
        .map_or(how.len(), |at| at + 1);
    let by: f64 = how.get(1..end)?.parse().ok()?;
    match op {
        '/' => made(&how[end..], x / by),
        '*' => made(&how[end..], x * by),
        '-' => made(&how[end..], x - by),
        _ => None,
    }
}

/// Replaces the placeholder in a text. Returns the text and the last number inserted.
fn placed(text: &str, x: f64) -> (String, Option<f64>) {
    let (mut done, mut rest, mut last) = (String::new(), text, None);
    while let Some((before, after)) = rest.split_once("{x") {
        let Some((how, after)) = after.split_once('}') else {
            break;
        };
        let number = made(how, x);
        done.push_str(before);
        if let Some(number) = number {
            done.push_str(&number.to_string());
            last = Some(number);
        } else {
            done.push_str("{x");
            done.push_str(how);
            done.push('}');
        }
        rest = after;
    }
    done.push_str(rest);
    (done, last)
}
