//! Runs the papers' experiments. Returns their cells and claims as tables.

use std::sync::atomic::AtomicBool;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use whyloss_study::experiment::Unwatched;
use whyloss_study::{Context, report};

use crate::scenario::interruptible;
use crate::table::{Table, flags, reals, texts};

/// Returns the name, the paper and the title of every experiment.
#[pyfunction]
pub(crate) fn experiments() -> Vec<(&'static str, &'static str, &'static str)> {
    whyloss_papers::all()
        .map(|experiment| (experiment.id, experiment.paper, experiment.title))
        .collect()
}

/// Runs an experiment. Returns its outcome as JSON, and tables of its cells and claims.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    id: &str,
    seeds: Option<u64>,
) -> PyResult<(String, Table, Table)> {
    let Some(experiment) = whyloss_papers::all().find(|experiment| experiment.id == id) else {
        return Err(PyValueError::new_err(format!(
            "no experiment is called `{id}`; `whyloss.experiments()` names them all"
        )));
    };
    if seeds == Some(0) {
        return Err(PyValueError::new_err("seeds is 0, expected at least 1"));
    }
    let stop = AtomicBool::new(false);
    let outcome = interruptible(py, &stop, || {
        let context = Context::new(&Unwatched, &stop);
        let context = match seeds {
            Some(seeds) => context.with_seeds(seeds),
            None => context.for_experiment(experiment),
        };
        (experiment.run)(&context)
    })?;
    let outcome = outcome.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let cells = &outcome.cells;
    let real = |of: fn(&whyloss_study::Cell) -> Option<f64>| {
        reals(cells.iter().map(|cell| of(cell).unwrap_or(f64::NAN)))
    };
    let cells = Table::of(vec![
        (
            "row".into(),
            "",
            texts(cells.iter().map(|cell| Some(&cell.row))),
        ),
        (
            "column".into(),
            "",
            texts(cells.iter().map(|cell| Some(&cell.column))),
        ),
        ("x".into(), "", real(|cell| cell.x)),
        (
            "metric".into(),
            "",
            texts(cells.iter().map(|cell| Some(cell.metric))),
        ),
        (
            "unit".into(),
            "",
            texts(cells.iter().map(|cell| Some(cell.unit))),
        ),
        ("paper".into(), "", real(|cell| cell.paper)),
        ("mean".into(), "", real(|cell| cell.mean)),
        ("half_width".into(), "", real(|cell| cell.half_width)),
        ("tolerance".into(), "", real(|cell| cell.tolerance)),
        (
            "within".into(),
            "",
            flags(cells.iter().map(whyloss_study::Cell::within)),
        ),
    ])?;
    let claims = &outcome.claims;
    let claims = Table::of(vec![
        (
            "id".into(),
            "",
            texts(claims.iter().map(|claim| Some(&claim.id))),
        ),
        (
            "text".into(),
            "",
            texts(claims.iter().map(|claim| Some(&claim.text))),
        ),
        (
            "holds".into(),
            "",
            flags(claims.iter().map(|claim| Some(claim.holds))),
        ),
        (
            "counts".into(),
            "",
            flags(claims.iter().map(|claim| Some(claim.counts()))),
        ),
        (
            "evidence".into(),
            "",
            texts(claims.iter().map(|claim| Some(&claim.evidence))),
        ),
    ])?;
    Ok((report::json::render(&outcome), cells, claims))
}
