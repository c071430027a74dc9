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

use whyloss_study::{Context, Experiment, ExperimentError, Outcome};

/// Section 8's runs of two minutes; Sections 6, 7 and 9 state no number.
const LONG: u64 = 10;
/// Section 10's runs of 10 s.
const SHORT: u64 = 60;
/// Enough that some twenty runs lose one of their first packets.
const MANY: u64 = 400;

/// Every table and figure of the paper with results, and what helps to judge them.
pub(crate) static EXPERIMENTS: &[Experiment] = &[
    experiment(
        "ela-fig-2",
        LONG,
        "throughput over the bit error rate",
        lossy::fig_2,
    ),
    experiment(
        "ela-fig-3",
        LONG,
        "goodput over the bit error rate",
        lossy::fig_3,
    ),
    experiment(
        "ela-fig-4",
        LONG,
        "delay over the bit error rate",
        lossy::fig_4,
    ),
    experiment(
        "ela-fig-5",
        LONG,
        "jitter over the bit error rate",
        lossy::fig_5,
    ),
    experiment(
        "ela-fig-8",
        LONG,
        "TCP, IFTP-W and UDP over UDP's rate",
        friendliness::fig_8,
    ),
    experiment(
        "ela-fig-9",
        LONG,
        "throughput over the bit error rate, with IFTP-W",
        lossy::fig_9,
    ),
    experiment(
        "ela-fig-10",
        LONG,
        "goodput over the bit error rate, with IFTP-W",
        lossy::fig_10,
    ),
    experiment(
        "ela-fig-11",
        LONG,
        "delay over the bit error rate, with IFTP-W",
        lossy::fig_11,
    ),
    experiment(
        "ela-fig-12",
        LONG,
        "jitter over the bit error rate, with IFTP-W",
        lossy::fig_12,
    ),
    experiment(
        "ela-fig-13",
        LONG,
        "throughput of video over BER and coverage",
        coverage::fig_13,
    ),
    experiment(
        "ela-fig-14",
        LONG,
        "goodput of video over BER and coverage",
        coverage::fig_14,
    ),
    experiment(
        "ela-fig-15",
        LONG,
        "delay of video over BER and coverage",
        coverage::fig_15,
    ),
    experiment(
        "ela-fig-16",
        LONG,
        "jitter of video over BER and coverage",
        coverage::fig_16,
    ),
    experiment(
        "ela-fig-17",
        LONG,
        "throughput of audio over BER and coverage",
        coverage::fig_17,
    ),
    experiment(
        "ela-fig-18",
        LONG,
        "goodput of audio over BER and coverage",
        coverage::fig_18,
    ),
    experiment(
        "ela-fig-19",
        LONG,
        "delay of audio over BER and coverage",
        coverage::fig_19,
    ),
    experiment(
        "ela-fig-20",
        LONG,
        "jitter of audio over BER and coverage",
        coverage::fig_20,
    ),
    experiment(
        "ela-fig-21",
        SHORT,
        "throughput of each protocol alone",
        scenarios::fig_21,
    ),
    experiment(
        "ela-fig-22",
        SHORT,
        "goodput of each protocol alone",
        scenarios::fig_22,
    ),
    experiment(
        "ela-fig-23",
        SHORT,
        "jitter of each protocol alone",
        scenarios::fig_23,
    ),
    experiment("ela-table-1", SHORT, "UDP alone", tables::table_1),
    experiment(
        "ela-table-1-rows",
        SHORT,
        "what could have produced two rows of Table 1",
        anomaly::rows,
    ),
    experiment(
        "ela-fig-24",
        SHORT,
        "throughput of four protocols that compete",
        scenarios::fig_24,
    ),
    experiment(
        "ela-fig-25",
        SHORT,
        "goodput of four protocols that compete",
        scenarios::fig_25,
    ),
    experiment(
        "ela-fig-26",
        SHORT,
        "jitter of four protocols that compete",
        scenarios::fig_26,
    ),
    experiment(
        "ela-table-2",
        SHORT,
        "UDP among TCP, IFTP and IFTPV",
        tables::table_2,
    ),
    experiment(
        "ela-fig-27",
        SHORT,
        "throughput of TCP and IFTPV over UDP's rate",
        scenarios::fig_27,
    ),
    experiment(
        "ela-fig-28",
        SHORT,
        "goodput of TCP and IFTPV over UDP's rate",
        scenarios::fig_28,
    ),
    experiment(
        "ela-fig-29",
        SHORT,
        "jitter of TCP and IFTPV over UDP's rate",
        scenarios::fig_29,
    ),
    experiment(
        "ela-fig-30",
        SHORT,
        "throughput of TCP, IFTP and IFTPV without UDP",
        scenarios::fig_30,
    ),
    experiment(
        "ela-fig-31",
        SHORT,
        "goodput of TCP, IFTP and IFTPV without UDP",
        scenarios::fig_31,
    ),
    experiment(
        "ela-fig-32",
        SHORT,
        "jitter of TCP, IFTP and IFTPV without UDP",
        scenarios::fig_32,
    ),
    experiment(
        "ela-fig-33",
        SHORT,
        "throughput of IFTP-W and IFTPV",
        scenarios::fig_33,
    ),
    experiment(
        "ela-fig-34",
        SHORT,
        "goodput of IFTP-W and IFTPV",
        scenarios::fig_34,
    ),
    experiment(
        "ela-fig-35",
        SHORT,
        "jitter of IFTP-W and IFTPV",
        scenarios::fig_35,
    ),
    experiment(
        "ela-fig-36",
        SHORT,
        "throughput of IFTPV and IFTP-W over coverage",
        scenarios::fig_36,
    ),
    experiment(
        "ela-fig-37",
        SHORT,
        "goodput of IFTPV and IFTP-W over coverage",
        scenarios::fig_37,
    ),
    experiment(
        "ela-fig-38",
        SHORT,
        "jitter of IFTPV and IFTP-W over coverage",
        scenarios::fig_38,
    ),
    experiment(
        "ela-early-loss",
        MANY,
        "what a loss in slow start costs",
        early::early_loss,
    ),
    experiment(
        "ela-media-video",
        LONG,
        "video frames in time (extension)",
        media::video,
    ),
    experiment(
        "ela-media-voice",
        LONG,
        "voice frames in time (extension)",
        media::voice,
    ),
    experiment(
        "ela-sensitivity",
        SHORT,
        "the stated numbers under other readings of the paper",
        sensitivity::all,
    ),
];

const fn experiment(
    id: &'static str,
    seeds: u64,
    title: &'static str,
    run: fn(&Context<'_>) -> Result<Outcome, ExperimentError>,
) -> Experiment {
    Experiment {
        id,
        paper: "ela",
        title,
        seeds,
        run,
    }
}
