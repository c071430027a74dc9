//! The extension module `whyloss._whyloss` of the Python package. `whyloss/_whyloss.pyi` and
//! `docs/guides/python.md` document it for users.
//!
//! Results are passed to Python as Arrow tables through the C data interface ([`table`]). Polars,
//! pandas and DuckDB read them without a copy, but are not needed to build or to run the package.

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
