//! ElAarag, Moedinger and Hogg, *TCP friendly protocols for media streams over heterogeneous wired–wireless networks*,
//! Computer Communications 31(10), 2008.
//!
//! | what | where |
//! |---|---|
//! | the networks of Fig. 1 and Section 10, and how the error rate and the medium are read (ELA-10 … -13, -32, -33) | `network` |
//! | UDP, TCP, IFTP, IFTP-W, IFTPV (ELA-1 … -9) | `protocols` |
//! | the metrics (ELA-14 … -17), readings | `measure` |
//! | how the paper's words become comparisons | `decide`, `probability` |
//! | Sections 6 and 8: Figs 2 to 5, 9 to 12 (ELA-18, -20) | `lossy` |
//! | Section 7: Fig. 8 (ELA-19) | `friendliness` |
//! | Section 9: Figs 13 to 20 (ELA-21, -22) | `coverage` |
//! | Section 10: Figs 21 to 38 (ELA-23 … -28) | `settings`, `scenarios` |
//! | Tables 1 and 2, and the two rows that fit nothing (ELA-29, -30, -32) | `tables`, `anomaly` |
//! | an early loss (ELA-39) | `early` |
//! | what a viewer and a listener get (an extension) | `media` |
//! | what the paper leaves open | `sensitivity` |
//!
//! The thresholds of claims were fixed before the first run, and stand with them.

mod anomaly;
mod coverage;
mod decide;
mod early;
mod friendliness;
mod lossy;
mod measure;
mod media;
mod network;
mod probability;
mod protocols;
mod scenarios;
mod sensitivity;
mod settings;
mod tables;

use crate::probes::Program;

/// The experiments that are programs.
pub(crate) static PROGRAMS: &[(&str, Program)] = &[
    ("ela-fig-2", lossy::fig_2),
    ("ela-fig-3", lossy::fig_3),
    ("ela-fig-4", lossy::fig_4),
    ("ela-fig-5", lossy::fig_5),
    ("ela-fig-8", friendliness::fig_8),
    ("ela-fig-9", lossy::fig_9),
    ("ela-fig-10", lossy::fig_10),
    ("ela-fig-11", lossy::fig_11),
    ("ela-fig-12", lossy::fig_12),
    ("ela-fig-13", coverage::fig_13),
    ("ela-fig-14", coverage::fig_14),
    ("ela-fig-15", coverage::fig_15),
    ("ela-fig-16", coverage::fig_16),
    ("ela-fig-17", coverage::fig_17),
    ("ela-fig-18", coverage::fig_18),
    ("ela-fig-19", coverage::fig_19),
    ("ela-fig-20", coverage::fig_20),
    ("ela-fig-21", scenarios::fig_21),
    ("ela-fig-22", scenarios::fig_22),
    ("ela-fig-23", scenarios::fig_23),
    ("ela-table-1", tables::table_1),
    ("ela-table-1-rows", anomaly::rows),
    ("ela-fig-24", scenarios::fig_24),
    ("ela-fig-25", scenarios::fig_25),
    ("ela-fig-26", scenarios::fig_26),
    ("ela-table-2", tables::table_2),
    ("ela-fig-27", scenarios::fig_27),
    ("ela-fig-28", scenarios::fig_28),
    ("ela-fig-29", scenarios::fig_29),
    ("ela-fig-30", scenarios::fig_30),
    ("ela-fig-31", scenarios::fig_31),
    ("ela-fig-32", scenarios::fig_32),
    ("ela-fig-33", scenarios::fig_33),
    ("ela-fig-34", scenarios::fig_34),
    ("ela-fig-35", scenarios::fig_35),
    ("ela-fig-36", scenarios::fig_36),
    ("ela-fig-37", scenarios::fig_37),
    ("ela-fig-38", scenarios::fig_38),
    ("ela-early-loss", early::early_loss),
    ("ela-media-video", media::video),
    ("ela-media-voice", media::voice),
    ("ela-sensitivity", sensitivity::all),
];
