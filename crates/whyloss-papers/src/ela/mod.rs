//! ElAarag, Moedinger and Hogg, *TCP friendly protocols for media streams over heterogeneous wired–wireless networks*,
//! Computer Communications 31(10), 2008.
//!
//! What neither a scenario file nor an expression says; the rest stands in `papers/ela`.
//!
//! | what | where |
//! |---|---|
//! | the networks of Fig. 1 and Section 10 (ELA-10 … -13, -32, -33) | `network` |
//! | UDP, TCP, IFTP, IFTP-W, IFTPV (ELA-1 … -9) | `protocols` |
//! | the two rows of Table 1 that fit nothing (ELA-32) | `anomaly` |
//! | an early loss (ELA-39) | `early` |
//! | what a viewer and a listener get (an extension) | `media` |

mod anomaly;
mod early;
mod measure;
mod media;
mod network;
mod protocols;

use crate::probes::Program;

/// The experiments that are programs.
pub(crate) static PROGRAMS: &[(&str, Program)] = &[
    ("ela-table-1-rows", anomaly::rows),
    ("ela-early-loss", early::early_loss),
    ("ela-media-video", media::video),
    ("ela-media-voice", media::voice),
];
