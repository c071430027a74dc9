//! `whyloss._whyloss`: what the Python package calls. Its documentation for users is in
//! `whyloss/_whyloss.pyi` and `docs/guides/python.md`; here is how it is done.
//!
//! Results go to Python as Arrow tables through the C data interface ([`table`]), so nothing is
//! copied on the way to Polars, pandas or DuckDB, and none of them is needed to build or to run.

mod arena;
mod classify;
mod columns;
mod connection;
mod control;
mod diagnose;
mod events;
mod link;
mod media;
mod names;
mod outside;
mod reproduce;
mod scenario;
mod sweep;
mod table;

use pyo3::prelude::*;

#[pymodule]
fn _whyloss(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", py.get_type::<scenario::ScenarioError>())?;
    module.add("RunError", py.get_type::<scenario::RunError>())?;
    module.add("SweepError", py.get_type::<sweep::SweepError>())?;
    module.add("CaptureError", py.get_type::<diagnose::CaptureError>())?;
    whyloss_rtc::sim::install();
    module.add_class::<table::Table>()?;
    module.add_class::<scenario::Parsed>()?;
    module.add_class::<events::Arrival>()?;
    module.add_class::<events::Sent>()?;
    module.add_class::<events::Ack>()?;
    module.add_class::<events::Loss>()?;
    module.add_class::<classify::Classifier>()?;
    module.add_class::<classify::Lost>()?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<control::Estimator>()?;
    module.add_class::<media::BandwidthEstimator>()?;
    module.add_class::<control::Controller>()?;
    module.add_class::<control::Scheme>()?;
    module.add_class::<sweep::Engine>()?;
    module.add_function(wrap_pyfunction!(scenario::examples, module)?)?;
    module.add_function(wrap_pyfunction!(diagnose::diagnose, module)?)?;
    module.add_function(wrap_pyfunction!(link::link_counts, module)?)?;
    module.add_function(wrap_pyfunction!(link::link_packets, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::run_task, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(arena::arena, module)?)?;
    module.add_function(wrap_pyfunction!(names::registry, module)?)?;
    module.add_function(wrap_pyfunction!(table::half_width, module)?)
}
