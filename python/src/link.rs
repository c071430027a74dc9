//! Returns the log of an emulated link as tables.

use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use whyloss_emulate::packets::{self, PACKETS};
use whyloss_emulate::summary::LinkCounts;
use whyloss_sim::trace::arrow;

use crate::table::{Table, counts, refuse, texts};

/// Reads every packet at each link of a log.
#[pyfunction]
pub(crate) fn link_packets(py: Python<'_>, directory: &str) -> PyResult<Table> {
    let batches = py.detach(|| packets::batches(Path::new(directory)));
    let batches = batches.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let batches = batches.iter().map(arrow::record_batch);
    let batches = batches.collect::<Result<_, _>>().map_err(refuse)?;
    Ok(Table::new(Arc::new(arrow::schema(&PACKETS)), batches))
}

/// Makes a table of the `links` of a `summary.json`.
#[pyfunction]
pub(crate) fn link_counts(text: &str) -> PyResult<Table> {
    let links: Vec<LinkCounts> =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let count = |of: &dyn Fn(&LinkCounts) -> u64| counts(links.iter().map(|link| of(link) as f64));
    let named = |name: &str, unit: &'static str, of: &dyn Fn(&LinkCounts) -> u64| {
        (name.to_owned(), unit, count(of))
    };
    Table::of(vec![
        (
            "link".to_owned(),
            "",
            texts(links.iter().map(|link| Some(&link.name))),
        ),
        named("offered", "packets", &|link| link.offered),
        named("delivered", "packets", &|link| link.delivered),
        named("damaged", "packets", &|link| link.damaged),
        named("bytes", "bytes", &|link| link.bytes),
        named("overflow", "packets", &|link| link.overflow),
        named("aqm", "packets", &|link| link.aqm),
        named("channel", "packets", &|link| link.channel),
        named("unfinished", "packets", &|link| link.unfinished),
        named("most_waiting", "packets", &|link| link.most_waiting.into()),
    ])
}
