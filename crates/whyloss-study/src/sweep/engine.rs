//! Tracks the known and missing runs of a sweep, and runs the missing ones.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rayon::prelude::*;
use twox_hash::XxHash3_128;
use whyloss_sim::{Registry, Scenario};

use super::columns::{Flows, Lists, columns};
use super::desk::Desk;
use super::part::{Part, PartError};
use super::rows::{AxisColumn, Rows};
use super::share::Share;
use super::store::Store;
use super::task::{Runs, Task};
use super::{Key, SweepError};
use crate::axis::Setting;
use crate::experiment::Progress;
use crate::metric::Metric;
use crate::plan::{Network, Plan, description};
use crate::replicate::Precision;

/// A plan with its known runs.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: Plan,
    /// The metrics of tasks and parts; a plan's metric for all flows is one metric per flow here.
    names: Vec<String>,
    metrics: Vec<Metric>,
    /// The flow of each of these metrics, if the plan's metric is for all flows.
    flows: Vec<Option<String>>,
    /// The index of the metric that must be precise, and the required precision.
    precision: Option<(usize, Precision)>,
    /// The key of each point's runs, without the seed.
    points: Vec<Key>,
    /// The number of seeds that each point needs.
    wanted: Vec<u64>,
    known: HashMap<Key, Known>,
    registry: Registry,
    /// The runs that this process is responsible for; `None` for all.
    share: Option<Share>,
}

#[derive(Clone, Debug)]
struct Known {
    values: Box<[f64]>,
    error: Option<Box<str>>,
}

/// The failed runs, which fail again when repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The number of failed runs.
    pub runs: usize,
    /// The error of the first failed run.
    pub first: String,
}

/// Runs to do together, as pairs of point and seed.
pub type Batch = Vec<(u64, u64)>;

/// The number of runs in a local batch. It is small, so that no core waits long for the last one.
const LOCAL: usize = 10;

/// The maximum number of metrics of a run.
const MOST_METRICS: usize = 1_000;

impl Sweep {
    /// Reads the scenario of every point.
    ///
    /// # Errors
    /// Returns an error if a metric or a point's scenario is invalid.
    pub fn new(plan: Plan) -> Result<Self, SweepError> {
        Self::with(plan, Registry::new())
    }

    /// Reads the scenario of every point, which may name the algorithms of `registry`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::new`].
    pub fn with(plan: Plan, registry: Registry) -> Result<Self, SweepError> {
        let metrics = plan.document.metrics.iter().map(|name| Metric::find(name));
        let metrics: Vec<Metric> = metrics
            .collect::<Result<_, _>>()
            .map_err(|message| plan.refuse(&message))?;
        let salt = format!(
            "{}\0{:?}\0",
            env!("CARGO_PKG_VERSION"),
            plan.document.metrics
        );
        let lists = Lists::default();
        let read = (0..plan.points()).into_par_iter().map(|point| {
            let at = plan.point(point);
            let Network { file, text } = &plan.networks[at.network];
            let scenario = Scenario::from_toml_with(text, file, &at.set, &registry);
            let mut scenario = scenario.map_err(|source| SweepError::Scenario {
                point,
                at: plan.place(point),
                source: Box::new(source),
            })?;
            let about: Vec<bool> = metrics
                .iter()
                .map(|metric| metric.is_about(&scenario))
                .collect();
            let flows = metrics.iter().map(|metric| {
                let flows = metric.flows_of(&scenario);
                let flows = flows.map_err(|message| plan.refuse(&message))?;
                Ok(flows.into_iter().map(str::to_owned).collect())
            });
            let flows = lists.share(flows.collect::<Result<_, SweepError>>()?);
            scenario.title.clear();
            let key = XxHash3_128::oneshot(format!("{salt}{scenario:?}").as_bytes());
            Ok((key, about, flows))
        });
        // Collect all results first, so that the first point's error is reported, regardless of
        // threads.
        let read: Vec<Result<_, SweepError>> = read.collect();
        let mut points: Vec<Key> = Vec::new();
        let mut known = vec![false; metrics.len()];
        let mut flows: Vec<Arc<Flows>> = Vec::new();
        for point in read {
            let (key, about, of_point) = point?;
            points.push(key);
            for (known, about) in known.iter_mut().zip(about) {
                *known |= about;
            }
            flows.push(of_point);
        }
        if let Some(unknown) = known.iter().position(|known| !known) {
            return Err(plan.refuse(&format!(
                "metric {:?}: no point's scenario has what it is about",
                metrics[unknown].id
            )))?;
        }
        let columns = columns(&plan.document.metrics, &metrics, &flows);
        if columns.len() > MOST_METRICS {
            return Err(plan.refuse(&format!(
                "metrics: one for each flow makes {}, expected at most {MOST_METRICS}; `mean(…)` or `sum(…)` make one of all",
                columns.len()
            )))?;
        }
        let mut mistaken: HashMap<*const Flows, bool> = HashMap::new();
        for (key, flows) in points.iter_mut().zip(&flows) {
            let is_mistaken = || columns.iter().any(|column| column.is_mistaken(flows));
            if *mistaken
                .entry(Arc::as_ptr(flows))
                .or_insert_with(is_mistaken)
            {
                *key =
                    XxHash3_128::oneshot(format!("{key:x}\0flows by their whole name").as_bytes());
            }
        }
        let columns = columns.into_iter().map(|column| (column.text, column.flow));
        let (names, flows): (Vec<String>, Vec<Option<String>>) = columns.unzip();
        if let Some(message) = plan.same_column(&names) {
            return Err(plan.refuse(&message))?;
        }
        let metrics = names.iter().map(|name| Metric::find(name));
        let metrics = metrics.collect::<Result<Vec<Metric>, _>>();
        let metrics = metrics.map_err(|message| plan.refuse(&message))?;
        let precision = plan.precision(&names)?;
        Ok(Self {
            wanted: vec![plan.seeds().1; points.len()],
            plan,
            names,
            metrics,
            flows,
            precision,
            points,
            known: HashMap::new(),
            registry,
            share: None,
        })
    }

    /// Returns the plan of the sweep.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the index of a point's network.
    fn network(&self, point: u64) -> usize {
        self.plan.point(point).network
    }

    fn key(&self, point: u64, seed: u64) -> Key {
        let mut of = [0; 24];
        of[..16].copy_from_slice(&self.points[point as usize].to_be_bytes());
        of[16..].copy_from_slice(&seed.to_be_bytes());
        XxHash3_128::oneshot(&of)
    }

    /// Adds the rows of a part, which any plan may have produced.
    pub fn learn(&mut self, part: &Part) {
        if part.metrics != self.names {
            return;
        }
        for row in &part.rows {
            let known = Known {
                values: row.values.clone().into(),
                error: row.error.clone().map(Into::into),
            };
            self.known.insert(row.key, known);
        }
    }

    /// Returns the point and seed of each run that is known to be needed, in the order of points,
    /// then of seeds.
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let first = self.plan.seeds().0;
        let wanted = self.wanted.iter().enumerate();
        wanted.flat_map(move |(point, &seeds)| {
            (first..first + seeds).map(move |seed| (point as u64, seed))
        })
    }

    /// Limits [`Self::count`], [`Self::missing`] and [`Self::run`] to the runs of a share.
    pub fn keep(&mut self, share: Share) {
        self.share = Some(share);
    }

    fn has(&self, key: Key) -> bool {
        self.share.is_none_or(|share| share.has(key))
    }

    /// Returns the number of known runs and the number of runs needed so far.
    pub fn count(&self) -> (usize, usize) {
        let keys = self.runs().map(|(point, seed)| self.key(point, seed));
        let own = keys.filter(|&key| self.has(key));
        own.fold((0, 0), |(known, wanted), key| {
            (
                known + usize::from(self.known.contains_key(&key)),
                wanted + 1,
            )
        })
    }

    /// Returns the settings of each point with missing runs, in the form of [`Rows::sets`], and the
    /// number of missing runs.
    pub fn unfinished(&self) -> Vec<(String, usize)> {
        let mut found: Vec<(u64, usize)> = Vec::new();
        for (point, seed) in self.runs() {
            if !self.known.contains_key(&self.key(point, seed)) {
                match found.last_mut() {
                    Some((last, count)) if *last == point => *count += 1,
                    _ => found.push((point, 1)),
                }
            }
        }
        let described = |(point, count)| (description(&self.plan.point(point).set), count);
        found.into_iter().map(described).collect()
    }

    /// Returns missing runs in batches, each of at most `most` runs of one network. The list is
    /// empty if all are known. With a rule of precision, new results may show that more runs are
    /// needed.
    pub fn missing(&mut self, most: usize) -> Vec<Batch> {
        self.want_more();
        let mut seen = HashSet::new();
        let mut batches: Vec<Batch> = Vec::new();
        let several = self.plan.networks.len() > 1;
        let network = |point| several.then(|| self.network(point));
        for (point, seed) in self.runs() {
            let key = self.key(point, seed);
            if !self.has(key) || self.known.contains_key(&key) || !seen.insert(key) {
                continue;
            }
            match batches.last_mut() {
                Some(batch) if batch.len() < most && network(batch[0].0) == network(point) => {
                    batch.push((point, seed));
                }
                _ => batches.push(vec![(point, seed)]),
            }
        }
        batches
    }

    /// Requests more seeds for points whose requested seeds are all known but whose mean is not
    /// precise.
    fn want_more(&mut self) {
        let Some((metric, precision)) = self.precision else {
            return;
        };
        let first = self.plan.seeds().0;
        for point in 0..self.points.len() {
            loop {
                let wanted = self.wanted[point];
                let known = (first..first + wanted)
                    .map_while(|seed| self.known.get(&self.key(point as u64, seed)));
                let known: Vec<f64> = known.map(|known| known.values[metric]).collect();
                if (known.len() as u64) < wanted {
                    break;
                }
                let values: Vec<f64> = known.into_iter().filter(|value| !value.is_nan()).collect();
                let silent = wanted - values.len() as u64;
                let more = (precision.needed(&values) + silent).min(precision.at_most);
                if more <= wanted {
                    break;
                }
                self.wanted[point] = more;
            }
        }
    }

    /// Returns a batch with everything that another machine needs to run it.
    pub fn task(&self, batch: &Batch) -> Task {
        let mut points: Vec<Runs> = Vec::new();
        let network = &self.plan.networks[batch.first().map_or(0, |run| self.network(run.0))];
        for runs in batch.chunk_by(|a, b| a.0 == b.0) {
            let point = runs[0].0;
            points.push(Runs {
                set: self.plan.point(point).set,
                seeds: runs.iter().map(|&(_, seed)| seed).collect(),
                keys: runs
                    .iter()
                    .map(|&(_, seed)| format!("{:032x}", self.key(point, seed)))
                    .collect(),
            });
        }
        Task {
            scenario: network.text.clone(),
            file: network.file.clone(),
            metrics: self.names.clone(),
            flows: self.flows.clone(),
            points,
        }
    }

    /// Runs the missing runs on the caller's thread pool until `stop` is set. Writes results to
    /// `store` at least once per interval `every`.
    ///
    /// # Errors
    /// Returns an error if a part cannot be written. Parts written earlier stay complete, and the
    /// next call reads them.
    pub fn run(
        &mut self,
        store: Option<&Store>,
        every: Duration,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<(), SweepError> {
        self.run_watched(store, every, progress, &|_| {}, stop)
    }

    /// Runs like [`Self::run`], and passes each finished run to `watch` as a part of one row.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`].
    pub fn run_watched(
        &mut self,
        store: Option<&Store>,
        every: Duration,
        progress: &dyn Progress,
        watch: &(dyn Fn(&Part) + Sync),
        stop: &AtomicBool,
    ) -> Result<(), SweepError> {
        loop {
            let threads = rayon::current_num_threads();
            let (known, wanted) = self.count();
            let most = (wanted.saturating_sub(known) / (8 * threads)).clamp(1, LOCAL);
            let batches = self.missing(most);
            if batches.is_empty() || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            progress.expect(batches.iter().map(|batch| batch.len() as u64).sum());
            let desk = Desk::new(store, every);
            // Batches are handed out one by one in order.
            let run = |batch: &Batch| {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let task = self.task(batch);
                let mut part = task.part();
                let mut taken = Ok(());
                // Each row is handed over at once. A kill would lose rows that wait for their
                // batch.
                let ran = task.run_each(&self.registry, stop, |row| {
                    progress.finish();
                    part.rows.push(row);
                    watch(&part);
                    taken = desk.take(&mut part);
                    taken.is_ok()
                });
                ran.map_err(|source| SweepError::Scenario {
                    point: batch[0].0,
                    at: self.plan.place(batch[0].0),
                    source: Box::new(source),
                })?;
                taken
            };
            let done = desk.with_clock(|| batches.iter().par_bridge().try_for_each(run));
            for part in done.and_then(|()| desk.finish())? {
                self.learn(&part);
            }
        }
    }

    /// Returns the failed runs, if any.
    pub fn failed(&self) -> Option<Failed> {
        let known = self.runs().filter_map(|(point, seed)| {
            let known = self.known.get(&self.key(point, seed))?;
            Some((point, seed, known.error.as_deref()?))
        });
        let mut failed = known.peekable();
        let &(point, seed, error) = failed.peek()?;
        let first = format!(
            "point {point} ({}), seed {seed}: {error}",
            self.plan.place(point)
        );
        Some(Failed {
            runs: failed.count(),
            first,
        })
    }

    /// Returns the known runs in the plan's order.
    pub fn rows(&self) -> Rows {
        let mut rows = Rows::new(&self.plan.networks, &self.metrics);
        let mut axes: Vec<Vec<Setting>> = self.plan.axes().map(|_| Vec::new()).collect();
        let mut at = None;
        let (mut shown, mut set, mut network) = (Vec::new(), String::new(), 0);
        for (point, seed) in self.runs() {
            let Some(known) = self.known.get(&self.key(point, seed)) else {
                continue;
            };
            if at != Some(point) {
                let found = self.plan.point(point);
                network = found.network;
                (shown, set, at) = (found.shown, description(&found.set), Some(point));
            }
            for (axis, setting) in axes.iter_mut().zip(&shown) {
                axis.push(setting.clone());
            }
            rows.points.push(point);
            rows.network.push(network);
            rows.seeds.push(seed);
            rows.sets.push(set.clone());
            rows.errors.push(known.error.as_deref().map(str::to_owned));
            for (column, value) in rows.metrics.iter_mut().zip(&known.values) {
                column.1.push(*value);
            }
        }
        let names = self.plan.axes().map(str::to_owned);
        rows.axes = names
            .zip(axes)
            .map(|(name, settings)| (name, AxisColumn::of(&settings)))
            .collect();
        rows
    }
}

impl SweepError {
    pub(super) fn of_part(path: &Path, source: PartError) -> Self {
        Self::Part {
            path: path.to_owned(),
            source,
        }
    }
}
