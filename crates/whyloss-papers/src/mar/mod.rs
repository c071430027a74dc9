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

use crate::probes::Program;

/// The experiments that are programs.
pub(crate) static PROGRAMS: &[(&str, Program)] = &[
    ("mar-fig-2", accuracy::fig_2),
    ("mar-fig-3", accuracy::fig_3),
    ("mar-accuracy", accuracy::further),
    ("mar-fig-4", goodput::fig_4),
    ("mar-fig-5", goodput::fig_5),
    ("mar-fig-6", goodput::fig_6),
    ("mar-fig-7", goodput::fig_7),
    ("mar-fig-8", sharing::fig_8),
    ("mar-jain", sharing::jain_index),
    ("mar-sweep-alpha-beta", thresholds::sweep),
    ("mar-fig-10", test_bed::fig_10),
    ("mar-fig-11", test_bed::fig_11),
    ("mar-sensitivity", sensitivity::all),
];
