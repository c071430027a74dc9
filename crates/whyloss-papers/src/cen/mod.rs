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

use crate::probes::Program;

/// Trials behind the error patterns (CEN-25).
const TRIALS: u64 = 100;

/// The experiments that are programs.
pub(crate) static PROGRAMS: &[(&str, Program)] = &[
    ("cen-table-1", radio::table_1),
    ("cen-table-2", tables::table_2),
    ("cen-table-3", tables::table_3),
    ("cen-fig-8", radio::fig_8),
    ("cen-fig-9", figures::fig_9),
    ("cen-fig-10", figures::fig_10),
    ("cen-fig-12", figures::fig_12),
    ("cen-fig-13", figures::fig_13),
    ("cen-sweep-mbiaz", sweeps::mbiaz),
    ("cen-sweep-spike", sweeps::spike),
    ("cen-sweep-random", sweeps::random),
    ("cen-sensitivity", sensitivity::all),
];
