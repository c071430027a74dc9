//! Experiments on real kernels, for `whyloss reproduce`.

use whyloss_kernel::test_bed;
use whyloss_study::{Context, Experiment, ExperimentError, Outcome};

/// The name of the group for `--paper`.
pub(crate) const PAPER: &str = "kernel";

/// The experiments. They need root and run in real time, so `--all` leaves them out.
pub(crate) static EXPERIMENTS: [Experiment; 4] = [
    Experiment {
        id: "mar-fig-8-kernel",
        paper: PAPER,
        title: "friendliness among flows of a real kernel, and Jain's index",
        seeds: 3,
        run: &test_bed::fig_8,
    },
    Experiment {
        id: "mar-fig-10-kernel",
        paper: PAPER,
        title: "goodput on the test bed, independent losses, with a real kernel",
        seeds: 5,
        run: &|context: &Context<'_>| {
            test_bed::fig_10(context, &simulation(context, "mar-fig-10")?)
        },
    },
    Experiment {
        id: "mar-fig-10-kernel-quick",
        paper: PAPER,
        title: "the same at two loss rates",
        seeds: 1,
        run: &|context: &Context<'_>| {
            test_bed::fig_10_quick(context, &simulation(context, "mar-fig-10")?)
        },
    },
    Experiment {
        id: "mar-fig-11-kernel",
        paper: PAPER,
        title: "goodput on the test bed, correlated losses, with a real kernel",
        seeds: 5,
        run: &|context: &Context<'_>| {
            test_bed::fig_11(context, &simulation(context, "mar-fig-11")?)
        },
    },
];

/// Returns the outcome of a simulated figure. Call it before the transfers start: they need an idle
/// machine.
fn simulation(context: &Context<'_>, id: &str) -> Result<Outcome, ExperimentError> {
    whyloss_kernel::may_load().map_err(|error| ExperimentError::Failed(Box::new(error)))?;
    match whyloss_papers::find(id) {
        // The simulation is far longer than a transfer, so one replication suffices.
        Some(experiment) => (experiment.run)(&context.with_seeds(1)),
        None => Ok(Outcome::new(id, id, 0)),
    }
}
