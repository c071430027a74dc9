//! Cen, Cosman and Voelker, *End-to-end differentiation of congestion and wireless losses*, MMCN 2002.
//!
//! | what | where |
//! |---|---|
//! | the networks of Figs 5–7 (CEN-16 … -23) | `network` |
//! | TCP, TFRC, and TFRC with each classifier (CEN-12, -13) | `scheme` |
//! | the radio: Table 1, Fig. 8, and the stand-in for the lost traces (CEN-25 … -27) | `channel`, `radio` |
//! | the four measures (CEN-28 … -31) | `measure` |
//! | Tables 2 and 3, Figs 9, 10, 12, 13 | `tables`, `figures`, `present` |
//! | sweeps over parameters (CEN-14, -38), and over what the paper leaves open | `sweeps`, `sensitivity` |
//! | the paper's statements, with thresholds fixed in advance (CEN-43 … -66) | `claims_*` |

mod channel;
mod claims_base;
mod claims_hybrid;
mod claims_single;
mod figures;
mod measure;
mod network;
#[cfg(test)]
mod ns2;
mod present;
mod probe;
mod radio;
mod scheme;
mod sensitivity;
mod sweeps;
mod tables;

use whyloss_study::{Context, Experiment, ExperimentError, Outcome};

/// Replications behind every average of the paper (CEN-23).
const SEEDS: u64 = 10;
/// Trials behind the error patterns (CEN-25).
const TRIALS: u64 = 100;

/// Every table and figure of the paper with results, and what helps to judge them.
pub(crate) static EXPERIMENTS: &[Experiment] = &[
    experiment(
        "cen-table-1",
        "packet loss and bit errors of the CDMA radio",
        TRIALS,
        radio::table_1,
    ),
    experiment(
        "cen-table-2",
        "one flow over the wireless last hop",
        SEEDS,
        tables::table_2,
    ),
    experiment(
        "cen-table-3",
        "one flow over the wireless backbone",
        SEEDS,
        tables::table_3,
    ),
    experiment(
        "cen-fig-8",
        "lengths of good and error states",
        TRIALS,
        radio::fig_8,
    ),
    experiment(
        "cen-fig-9",
        "base classifiers over the wireless last hop",
        SEEDS,
        figures::fig_9,
    ),
    experiment(
        "cen-fig-10",
        "base classifiers over the wireless backbone",
        SEEDS,
        figures::fig_10,
    ),
    experiment(
        "cen-fig-12",
        "hybrids over the wireless last hop",
        SEEDS,
        figures::fig_12,
    ),
    experiment(
        "cen-fig-13",
        "hybrids over the wireless backbone",
        SEEDS,
        figures::fig_13,
    ),
    experiment(
        "cen-sweep-mbiaz",
        "mBiaz over its upper bound",
        SEEDS,
        sweeps::mbiaz,
    ),
    experiment(
        "cen-sweep-spike",
        "Spike over its thresholds",
        SEEDS,
        sweeps::spike,
    ),
    experiment(
        "cen-sweep-random",
        "a classifier with settable Mc and Mw",
        SEEDS,
        sweeps::random,
    ),
    experiment(
        "cen-sensitivity",
        "Tables 2 and 3 under other readings of the paper",
        SEEDS,
        sensitivity::all,
    ),
];

const fn experiment(
    id: &'static str,
    title: &'static str,
    seeds: u64,
    run: fn(&Context<'_>) -> Result<Outcome, ExperimentError>,
) -> Experiment {
    Experiment {
        id,
        paper: "cen",
        title,
        seeds,
        run,
    }
}
