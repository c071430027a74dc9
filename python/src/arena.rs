//! Runs the arena: classifiers on random networks, with a row for each contender in each network.

use arrow_array::ArrayRef;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use whyloss_sim::scenario::MOST_SEEDS;
use whyloss_study::arena::{Contender, Found, Network, Queue, Score, Setting, Transport, Variant};
use whyloss_study::experiment::Unwatched;
use whyloss_study::{Context, ExperimentError};

use crate::outside::{Names, Raised};
use crate::scenario::{interruptible, refuse};
use crate::table::{Table, counts, reals, texts};

/// Returns the entry of this name.
fn one_of<T: Copy>(what: &str, name: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(id, _)| *id == name);
    found.map(|&(_, of)| of).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|(id, _)| format!("{id:?}")).collect();
        let known = names.join(", ");
        PyValueError::new_err(format!("{what} is {name:?}, expected one of {known}"))
    })
}

const QUEUES: [(&str, Queue); 6] = [
    ("drawn", Queue::Drawn),
    ("droptail", Queue::DropTail),
    ("red", Queue::Red),
    ("codel", Queue::Codel),
    ("fq-codel", Queue::FqCodel),
    ("pie", Queue::Pie),
];

/// Runs the contenders on random networks. `switches` are `arq`, `ecn`, `varying` and `harm`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub(crate) fn arena(
    py: Python<'_>,
    contenders: Option<Vec<String>>,
    networks: u64,
    seeds: u64,
    seed: u64,
    transport: &str,
    queue: &str,
    switches: (bool, bool, bool, bool),
    jobs: usize,
    own: Vec<(String, Py<PyAny>)>,
    version: String,
) -> PyResult<Table> {
    if networks == 0 || networks > 10_000 || seeds == 0 || seeds > MOST_SEEDS {
        return Err(PyValueError::new_err(format!(
            "{networks} networks with {seeds} seeds; expected 1 to 10000 networks and 1 to {MOST_SEEDS} seeds"
        )));
    }
    let (arq, ecn, varying, harm) = switches;
    let setting = Setting {
        networks,
        seed,
        transport: one_of(
            "transport",
            transport,
            &Transport::ALL.map(|of| (of.id(), of)),
        )?,
        queue: one_of("queue", queue, &QUEUES)?,
        arq,
        ecn,
        varying,
        harm,
        ..Setting::default()
    };
    let raised = Raised::default();
    let registry = Names::new(own, version).registry(py, &raised)?;
    let contenders = match contenders {
        Some(given) => given.into_iter().map(Contender).collect(),
        None => setting.transport.contenders(&registry),
    };
    // Reject names that are not classifiers before anything runs.
    let first = Network::draw(setting.seed, 0, &setting);
    for contender in &contenders {
        let scenario = contender.scenario(&first, setting.transport, Variant::Drawn, &registry);
        scenario.map_err(|error| refuse(py, &error))?;
    }
    let pool = ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let found = interruptible(py, raised.stop(), || {
        let context = Context::new(&Unwatched, raised.stop()).with_seeds(seeds);
        pool.install(|| whyloss_study::arena::run(&context, &setting, &contenders, &registry))
    })?;
    if let Some(error) = raised.take() {
        return Err(error);
    }
    let found =
        found.map_err(|error: ExperimentError| PyRuntimeError::new_err(error.to_string()))?;
    table(&found)
}

/// Returns a row for each contender in each network.
fn table(found: &Found) -> PyResult<Table> {
    let rows: Vec<(&str, &Network, &Score)> = found
        .contenders
        .iter()
        .flat_map(|(contender, scores)| {
            let networks = found.networks.iter().zip(scores);
            networks.map(|(network, score)| (contender.0.as_str(), network, score))
        })
        .collect();
    let text = |of: &dyn Fn(&(&str, &Network, &Score)) -> String| {
        texts(rows.iter().map(|row| Some(of(row))))
    };
    let count = |of: &dyn Fn(&Network) -> u64| counts(rows.iter().map(|row| of(row.1) as f64));
    let of_network = |of: &dyn Fn(&Network) -> f64| reals(rows.iter().map(|row| of(row.1)));
    let of_score = |of: &dyn Fn(&Score) -> Option<f64>| {
        reals(rows.iter().map(|row| of(row.2).unwrap_or(f64::NAN)))
    };
    let columns: Vec<(&str, &str, ArrayRef)> = vec![
        ("contender", "", text(&|row| row.0.to_owned())),
        ("network", "", count(&|network| network.index)),
        ("family", "", text(&|row| row.1.family.id().to_owned())),
        ("flows", "", count(&|network| network.flows)),
        ("rate_bps", "bit/s", of_network(&|network| network.rate)),
        (
            "round_trip_s",
            "s",
            of_network(&|network| network.round_trip),
        ),
        (
            "buffer_packets",
            "packets",
            count(&|network| network.buffer),
        ),
        ("loss", "", of_network(&|network| network.loss)),
        ("received", "", of_score(&|score| score.received)),
        ("balanced", "", of_score(&|score| score.balanced)),
        ("mc_percent", "%", of_score(&|score| score.mc)),
        ("mw_percent", "%", of_score(&|score| score.mw)),
        ("excess_points", "points", of_score(&|score| score.excess)),
        ("harm_percent", "%", of_score(&|score| score.harm)),
        (
            "clean_harm_percent",
            "%",
            of_score(&|score| score.clean_harm),
        ),
    ];
    let columns = columns
        .into_iter()
        .map(|(name, unit, array)| (name.to_owned(), unit, array));
    Table::of(columns.collect())
}
