//! Martignon and Fratta, *Loss differentiation schemes for TCP over wireless networks*, 2005.
//!
//! | what | where |
//! |---|---|
//! | the networks of Fig. 1 and Section 5, losses, cross traffic (MAR-7 … -11) | `network` |
//! | NewReno, NewReno-LP and its bound, Westwood and its kin, TIBET (MAR-3 … -6) | `scheme` |
//! | goodput, accuracy, Jain's index (MAR-13 … -16) | `measure` |
//! | Figs 2 and 3, and the scenarios that Section 4 only mentions | `accuracy` |
//! | the predictor's thresholds (MAR-1) | `thresholds` |
//! | Figs 4 to 7 | `goodput` |
//! | Fig. 8 and Jain's index | `sharing` |
//! | Figs 10 and 11, the test bed | `test_bed` |
//! | what the paper leaves open, one at a time; queues seen from outside | `sensitivity`, `probe` |
//!
//! The paper's statements (MAR-30 … -40) are decided beside the figures, with thresholds fixed in advance.

mod accuracy;
mod goodput;
mod measure;
mod network;
mod probe;
mod scheme;
mod sensitivity;
mod sharing;
mod test_bed;
mod thresholds;

use whyloss_study::{Context, Experiment, ExperimentError, Outcome};

/// Replications; the paper says "multiple" (MAR-16).
const SEEDS: u64 = 10;

/// Every figure of the paper, and what its text states without one.
pub(crate) static EXPERIMENTS: &[Experiment] = &[
    experiment(
        "mar-fig-2",
        "accuracy of the Vegas predictor, independent losses",
        accuracy::fig_2,
    ),
    experiment(
        "mar-fig-3",
        "accuracy of the Vegas predictor, correlated losses",
        accuracy::fig_3,
    ),
    experiment(
        "mar-accuracy",
        "accuracy with more connections and more hops",
        accuracy::further,
    ),
    experiment(
        "mar-fig-4",
        "goodput over packet error rate, 2 and 5 Mbit/s",
        goodput::fig_4,
    ),
    experiment(
        "mar-fig-5",
        "goodput over packet error rate, 10 Mbit/s",
        goodput::fig_5,
    ),
    experiment(
        "mar-fig-6",
        "goodput with correlated losses",
        goodput::fig_6,
    ),
    experiment("mar-fig-7", "goodput over round-trip time", goodput::fig_7),
    experiment(
        "mar-fig-8",
        "friendliness: five flows of two kinds",
        sharing::fig_8,
    ),
    experiment(
        "mar-jain",
        "fairness: five flows of one kind",
        sharing::jain_index,
    ),
    experiment(
        "mar-sweep-alpha-beta",
        "accuracy over the predictor's thresholds",
        thresholds::sweep,
    ),
    experiment(
        "mar-fig-10",
        "the test bed, independent losses",
        test_bed::fig_10,
    ),
    experiment(
        "mar-fig-11",
        "the test bed, correlated losses",
        test_bed::fig_11,
    ),
    experiment(
        "mar-sensitivity",
        "accuracy and goodput under other readings of the paper",
        sensitivity::all,
    ),
];

const fn experiment(
    id: &'static str,
    title: &'static str,
    run: fn(&Context<'_>) -> Result<Outcome, ExperimentError>,
) -> Experiment {
    Experiment {
        id,
        paper: "mar",
        title,
        seeds: SEEDS,
        run,
    }
}
