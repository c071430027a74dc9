//! Runs a criterion as a sweep and collects the values of contenders in its cases.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toml::{Table, Value};
use whyloss_sim::Registry;

use super::criterion::{Against, Case, Column, Criterion};
use super::{Carrier, Contender, Setting};
use crate::experiment::Progress;
use crate::sweep::{Part, Plan, Share, Store, Sweep, SweepError};
use crate::{CONFIDENCE, Mean, statistics};

/// The interval at which finished runs are saved.
const EVERY: Duration = Duration::from_secs(10);

/// The store of runs with the runs of earlier evaluations. They are read once, because an
/// evaluation has many sweeps.
#[derive(Debug)]
pub struct Kept {
    store: Store,
    parts: Vec<Part>,
}

impl Kept {
    /// Reads the runs in this directory, which is created if it is missing.
    ///
    /// # Errors
    /// Returns the errors of [`Store::open`] and [`Store::parts`].
    pub fn open(directory: &Path) -> Result<Self, SweepError> {
        Self::read(Store::open(directory)?)
    }

    /// Reads the runs in this directory, in which other processes may run other shares meanwhile.
    ///
    /// # Errors
    /// Returns the errors of [`Store::join`] and [`Store::parts`].
    pub fn join(directory: &Path) -> Result<Self, SweepError> {
        Self::read(Store::join(directory)?)
    }

    fn read(store: Store) -> Result<Self, SweepError> {
        let mut parts = Vec::new();
        store.parts(|part| parts.push(part.clone()))?;
        Ok(Self { store, parts })
    }
}

/// The findings of one criterion.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The criterion, with the cases that were run.
    pub criterion: Criterion,
    /// The judged scheme, its controller with the oracle if the criterion needs it, then the peers.
    pub contenders: Vec<Contender>,
    /// The number of seeds of each case, starting with seed 1.
    pub seeds: u64,
    /// The values by contender, case and measure, each with an interval over the seeds.
    pub(super) values: Vec<Vec<Vec<Mean>>>,
    /// The packets received, by contender and case, if the criterion measures their share.
    pub(super) received: Option<Vec<Vec<f64>>>,
    /// The transport of the judged flows.
    pub carrier: Carrier,
    /// The number of failed runs and the reason for the first failure; `None` if none failed.
    pub failed: Option<(usize, String)>,
}

/// A criterion with everything that decides its runs.
struct Job {
    criterion: Criterion,
    /// The contenders that tables show.
    shown: Vec<Contender>,
    /// These and the references with which they are compared.
    all: Vec<Contender>,
    carrier: Carrier,
    seeds: u64,
}

impl Job {
    fn new(criterion: &Criterion, setting: &Setting) -> Self {
        let mut criterion = criterion.clone();
        if setting.quick {
            criterion.cases.truncate(2);
        }
        let shown = contenders(setting, criterion.truth);
        let mut all = shown.clone();
        if criterion.truth {
            let told = shown
                .iter()
                .filter(|one| !one.is_told())
                .map(Contender::told);
            all.extend(told.filter(|told| !shown.contains(told)));
        }
        let cubic = Contender::cubic();
        let measures = &criterion.measures;
        let harm = (measures.iter()).any(|measure| measure.against == Some(Against::Cubic));
        if harm && all.iter().all(|one| one.name != cubic.name) {
            all.push(cubic);
        }
        Self {
            carrier: criterion.carrier.unwrap_or(setting.carrier),
            seeds: if criterion.once { 1 } else { setting.seeds },
            criterion,
            shown,
            all,
        }
    }

    /// Returns the cases of each sweep: those of one network.
    fn sweeps(&self) -> impl Iterator<Item = &[Case]> {
        let cases = &self.criterion.cases;
        cases.chunk_by(|a, b| a.scenario == b.scenario)
    }

    /// Runs the missing runs of these cases, or those of a share. Returns the sweep, or `None` once
    /// `stop` is set.
    fn run(
        &self,
        cases: &[Case],
        registry: &Registry,
        kept: Option<&Kept>,
        share: Option<Share>,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Option<Sweep>, SweepError> {
        let plan = plan(&self.criterion, cases, &self.all, self.carrier, self.seeds)?;
        let mut sweep = Sweep::with(plan, registry.clone())?;
        if let Some(share) = share {
            sweep.keep(share);
        }
        for part in kept.map_or(&[][..], |kept| &kept.parts) {
            sweep.learn(part);
        }
        sweep.run(kept.map(|kept| &kept.store), EVERY, progress, stop)?;
        let (known, wanted) = sweep.count();
        Ok((known == wanted).then_some(sweep))
    }
}

/// Runs the missing runs of a criterion and returns the findings, or `None` once `stop` is set.
///
/// # Errors
/// Returns an error if a scenario is invalid for a contender, or a file cannot be read or written.
pub fn run(
    criterion: &Criterion,
    setting: &Setting,
    registry: &Registry,
    kept: Option<&Kept>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Option<Finding>, SweepError> {
    let job = Job::new(criterion, setting);
    // The values by contender, case, measure and seed.
    let measures = job.criterion.measures.len();
    let mut raw =
        vec![
            vec![vec![vec![f64::NAN; job.seeds as usize]; measures]; job.criterion.cases.len()];
            job.all.len()
        ];
    let mut failed: Option<(usize, String)> = None;
    let mut start = 0;
    for cases in job.sweeps() {
        let Some(sweep) = job.run(cases, registry, kept, None, progress, stop)? else {
            return Ok(None);
        };
        if let Some(failure) = sweep.failed() {
            let before = failed.take();
            let runs = before.as_ref().map_or(0, |before| before.0) + failure.runs;
            failed = Some((runs, before.map_or(failure.first, |before| before.1)));
        }
        let rows = sweep.rows();
        for (row, (point, seed)) in rows.points.iter().zip(&rows.seeds).enumerate() {
            let (contender, case) = (*point as usize / cases.len(), *point as usize % cases.len());
            for (measure, (_, values)) in rows.metrics.iter().enumerate() {
                raw[contender][start + case][measure][*seed as usize - 1] = values[row];
            }
        }
        start += cases.len();
    }
    let (criterion, shown) = (job.criterion, job.shown);
    let values = set_against(&criterion, &shown, &job.all, &raw);
    Ok(Some(Finding {
        received: received(&criterion, &raw[..shown.len()]),
        criterion,
        contenders: shown,
        seeds: job.seeds,
        carrier: job.carrier,
        values,
        failed,
    }))
}

/// Runs the missing runs of a share of a criterion. Returns the number of runs in the share, or
/// `None` once `stop` is set.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn run_share(
    criterion: &Criterion,
    setting: &Setting,
    registry: &Registry,
    kept: &Kept,
    share: Share,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Option<usize>, SweepError> {
    let job = Job::new(criterion, setting);
    let mut runs = 0;
    for cases in job.sweeps() {
        let sweep = job.run(cases, registry, Some(kept), Some(share), progress, stop)?;
        let Some(sweep) = sweep else {
            return Ok(None);
        };
        runs += sweep.count().1;
    }
    Ok(Some(runs))
}

/// Returns the mean number of packets received, by contender and case, if the criterion measures
/// their share.
fn received(criterion: &Criterion, raw: &[Vec<Vec<Vec<f64>>>]) -> Option<Vec<Vec<f64>>> {
    let mut measures = criterion.measures.iter();
    let index = measures.position(|measure| measure.column == Some(Column::Received))?;
    let mean = |case: &Vec<Vec<f64>>| statistics::mean(&case[index]).unwrap_or(f64::NAN);
    let of_contender = |cases: &Vec<Vec<Vec<f64>>>| cases.iter().map(mean).collect();
    Some(raw.iter().map(of_contender).collect())
}

/// Returns the contenders that tables show.
fn contenders(setting: &Setting, truth: bool) -> Vec<Contender> {
    let mut all = Contender::all(&setting.scheme);
    if setting.quick {
        all.retain(|one| *one == setting.scheme || one.name == Contender::cubic().name);
    }
    if truth {
        all.insert(1, setting.scheme.told());
    }
    all
}

/// Returns the plan of a criterion. Contenders vary slowest, cases fastest.
fn plan(
    criterion: &Criterion,
    cases: &[Case],
    contenders: &[Contender],
    carrier: Carrier,
    seeds: u64,
) -> Result<Plan, SweepError> {
    let scenario = &cases[0].scenario;
    let choice = |name: String, set: Table| {
        let pairs = [("name", Value::String(name)), ("set", Value::Table(set))];
        Value::Table(
            pairs
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect(),
        )
    };
    let flows = judged(scenario);
    let of_contender = |contender: &Contender| {
        let sets = flows.iter().flat_map(|flow| contender.sets(flow, carrier));
        let sets = sets.map(|(key, value)| (key, toml_value(value)));
        choice(contender.name.clone(), sets.collect())
    };
    let axis = |name: &str, choices: Vec<Value>| {
        let pairs = [
            ("name", Value::String(name.into())),
            ("choices", Value::Array(choices)),
        ];
        Value::Table(
            pairs
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect(),
        )
    };
    let axes = vec![
        axis("contender", contenders.iter().map(of_contender).collect()),
        axis(
            "case",
            cases
                .iter()
                .map(|case| choice(case.name.clone(), case.set.clone()))
                .collect(),
        ),
    ];
    let metrics = criterion.measures.iter().enumerate();
    let metrics = metrics.map(|(index, measure)| Value::String(measure.metric(index)));
    let document: Table = [
        ("seeds".to_owned(), Value::Integer(seeds.cast_signed())),
        ("metrics".to_owned(), Value::Array(metrics.collect())),
        ("axis".to_owned(), Value::Array(axes)),
    ]
    .into_iter()
    .collect();
    let plan = Plan::of_scenario(
        &document.to_string(),
        &criterion.id,
        scenario.clone(),
        cases[0].file.clone(),
    );
    Ok(plan?)
}

/// Converts a setting to a TOML value. A text that is not valid TOML becomes a string.
fn toml_value(text: String) -> Value {
    let table = format!("it = {text}");
    let parsed = table
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("it"));
    parsed.unwrap_or(Value::String(text))
}

/// Returns the names of a scenario's judged flows, which begin with `own` or, in the arena's
/// networks, with `judged`.
fn judged(scenario: &str) -> Vec<String> {
    let table = scenario.parse::<Table>().unwrap_or_default();
    let flows = table.get("flow").and_then(Value::as_array);
    let names = flows.into_iter().flatten();
    let names = names.filter_map(|flow| flow.get("name")?.as_str().map(str::to_owned));
    names
        .filter(|name| name.starts_with("own") || name.starts_with("judged"))
        .collect()
}

/// Returns the values of the shown contenders, each over the seeds.
fn set_against(
    criterion: &Criterion,
    shown: &[Contender],
    all: &[Contender],
    raw: &[Vec<Vec<Vec<f64>>>],
) -> Vec<Vec<Vec<Mean>>> {
    let at: BTreeMap<&str, usize> = all
        .iter()
        .enumerate()
        .map(|(index, one)| (one.name.as_str(), index))
        .collect();
    let find = |name: &str| at.get(name).copied();
    let mean = |contender: &Contender, case: usize, index: usize| {
        let measure = &criterion.measures[index];
        let own = &raw[find(&contender.name)?][case][index];
        // An unfinished transfer has no time, so the mean of the finished ones would be too good.
        if measure.of.starts_with("transfers.") && own.iter().any(|value| value.is_nan()) {
            return None;
        }
        let Some(against) = measure.against else {
            let known = own.iter().copied().filter(|value| value.is_finite());
            return Some(Mean::of(&known.collect::<Vec<f64>>()));
        };
        let reference = match against {
            Against::Cubic => Contender::cubic(),
            Against::Truth if contender.is_told() => contender.clone(),
            Against::Truth => contender.told(),
        };
        let reference = &raw[find(&reference.name)?][case][index];
        Some(relative(own, reference, against))
    };
    let cases = 0..criterion.cases.len();
    let measures = 0..criterion.measures.len();
    shown
        .iter()
        .map(|contender| {
            let of_case = |case| {
                let of = |measure| mean(contender, case, measure).unwrap_or(Mean::NONE);
                measures.clone().map(of).collect()
            };
            cases.clone().map(of_case).collect()
        })
        .collect()
}

/// Compares each seed's value with the mean of the reference. The reference's mean has an error,
/// too, so the interval is that of a ratio of means over the seeds that both have.
pub(super) fn relative(own: &[f64], reference: &[f64], against: Against) -> Mean {
    let mean = statistics::mean(reference).unwrap_or(f64::NAN);
    let of = |value: f64| match against {
        Against::Cubic => 100.0 * (1.0 - value / mean),
        Against::Truth => value / mean,
    };
    let both = own.iter().copied().zip(reference.iter().copied());
    let both = both.filter(|&(own, _)| of(own).is_finite());
    let (own, reference): (Vec<f64>, Vec<f64>) = both.unzip();
    let half_width = Mean::ratio(&own, &reference, CONFIDENCE).half_width;
    let values: Vec<f64> = own.into_iter().map(of).collect();
    Mean {
        value: statistics::mean(&values).unwrap_or(f64::NAN),
        half_width: match against {
            Against::Cubic => 100.0 * half_width,
            Against::Truth => half_width,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::criteria;

    /// The ratio is 20/10 = 2, and y − 2x is 4, 0, −4. So s = 4, and h = 4.3027 · 4/√3/10 = 0.99366.
    #[test]
    fn the_reference_varies_too() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-5 * b.abs();
        let (own, reference) = ([20.0; 3], [8.0, 10.0, 12.0]);
        let share = relative(&own, &reference, Against::Truth);
        assert!(close(share.value, 2.0) && close(share.half_width, 0.993_66));
        let harm = relative(&own, &reference, Against::Cubic);
        assert!(close(harm.value, -100.0) && close(harm.half_width, 99.366));
        // One seed has no interval, and the seeds that are missing do not count.
        let lone = relative(&[f64::NAN, 20.0, f64::NAN], &reference, Against::Truth);
        assert!(close(lone.value, 2.0) && lone.half_width.is_nan());
        let unknown = relative(&own, &[8.0, f64::NAN, 12.0], Against::Truth);
        assert!(unknown.value.is_nan() && unknown.half_width.is_nan());
    }

    /// Under any seeds, CUBIC harms exactly as CUBIC does, and a contender that knows every
    /// cause receives exactly its own share.
    #[test]
    fn a_reference_has_no_interval_against_itself() {
        let measured = [12.0, 7.0, 23.0];
        for (id, measure) in [("beside-cubic", 0), ("loss", 1)] {
            let mut criteria = criteria().into_iter();
            let mut criterion = criteria.find(|one| one.id == id).expect("a criterion");
            criterion.cases.truncate(1);
            let all = [Contender::cubic(), Contender::cubic().told()];
            let raw = vec![vec![vec![measured.to_vec(); criterion.measures.len()]]; all.len()];
            for values in set_against(&criterion, &all, &all, &raw) {
                assert!(values[0][measure].half_width == 0.0, "{id}");
            }
        }
    }
}
