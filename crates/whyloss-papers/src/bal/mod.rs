//! Le and Hong, *TCP BaLDE for improving TCP performance over heterogeneous networks*, IEICE Transactions on
//! Communications E89-B(4), 2006.
//!
//! | what | where |
//! |---|---|
//! | Reno, Westwood, BaLDE (BAL-1 … -9), and the stack they share | `stack` |
//! | the networks of Figs 3, 6, 9 (BAL-10 … -15) | `network` |
//! | the estimators over time: Figs 4, 5 (BAL-16, -17) | `estimates` |
//! | windows over time: Fig. 8 (BAL-19) | `slow_start` |
//! | goodput of one flow: Figs 7, 10, 11, 12 (BAL-18, -20 … -22) | `goodput` |
//! | ten flows: Figs 13 … 17 (BAL-23 … -25) | `sharing` |
//! | a path that gets longer (BAL-A8) | `path_change` |
//! | what the paper leaves open | `sensitivity` |
//!
//! The thresholds of claims were fixed before the first run, and stand with them.

mod estimates;
mod goodput;
mod network;
mod path_change;
mod sensitivity;
mod sharing;
mod slow_start;
mod stack;
mod trace;

use whyloss_study::{Context, Experiment, ExperimentError, Outcome};

/// Replications; the paper states no number.
const SEEDS: u64 = 10;

/// Every figure of the paper with results, and what helps to judge them.
pub(crate) static EXPERIMENTS: &[Experiment] = &[
    experiment(
        "bal-fig-4",
        "estimates while the available bandwidth changes",
        estimates::fig_4,
    ),
    experiment(
        "bal-fig-5",
        "estimates under ACK compression",
        estimates::fig_5,
    ),
    experiment(
        "bal-fig-7",
        "goodput over wireless loss, no cross traffic",
        goodput::fig_7,
    ),
    experiment("bal-fig-8", "windows without errors", slow_start::fig_8),
    experiment(
        "bal-fig-10",
        "goodput over wireless loss, UDP both ways",
        goodput::fig_10,
    ),
    experiment(
        "bal-fig-11",
        "goodput over the bottleneck's capacity",
        goodput::fig_11,
    ),
    experiment(
        "bal-fig-12",
        "goodput over propagation delay",
        goodput::fig_12,
    ),
    experiment(
        "bal-fig-13",
        "fairness among ten flows of one version",
        sharing::fig_13,
    ),
    experiment(
        "bal-fig-14",
        "BaLDE and Reno share a link, no errors",
        sharing::fig_14,
    ),
    experiment(
        "bal-fig-15",
        "BaLDE and Reno share a link, 0.1 % loss",
        sharing::fig_15,
    ),
    experiment(
        "bal-fig-16",
        "BaLDE and Westwood share a link, no errors",
        sharing::fig_16,
    ),
    experiment(
        "bal-fig-17",
        "BaLDE and Westwood share a link, 0.1 % loss",
        sharing::fig_17,
    ),
    experiment(
        "bal-path-change",
        "the path gets longer on the way",
        path_change::all,
    ),
    experiment(
        "bal-sensitivity",
        "the stated numbers under other readings of the paper",
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
        paper: "bal",
        title,
        seeds: SEEDS,
        run,
    }
}
