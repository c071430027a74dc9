//! ns-2 as it was in 2004, with UCLA's Westwood module: what the papers of that time ran (Martignon & Fratta 2005; Le & Hong
//! 2006, who cite it with that year).
//!
//! | what | in 2004 | in 2.35 | changed |
//! |---|---|---|---|
//! | least retransmission timeout (`minrto_`) | 1 s | 0.2 s | 14 October 2004 |
//! | first one (`rtxcur_init_`) | 6 s | 3 s | 2006 |
//! | clock of round trips and timer (`tcpTick_`) | 10 ms (100 ms until March 2002) | 10 ms | |
//! | whose stamp an acknowledgement echoes (`ts_echo_bugfix_`) | the segment's that arrived last | the earliest one's | |
//! | Westwood | the module (`tcp-westwood.cc` 1.3, June 2002: "TCPW-NR") | none of UCLA's | |
//!
//! Two things are the papers', not the program's: a window that never limits, and a round trip measured by every
//! acknowledgement, which their predictors need. Each paper's `sensitivity` departs from this page, one choice at a time.

use whyloss::Duration;
use whyloss_sim::host::tcp::{Echo, Options, Recovery, RtoOptions, RttSampling};

/// A TCP of ns-2 with segments of `segment` bytes, a window of `window` segments, and a sink that delays acknowledgements.
pub(crate) fn tcp(recovery: Recovery, segment: u32, window: u32) -> Options {
    Options {
        rtt_sampling: RttSampling::EveryAck,
        echo: Echo::Latest,
        rto: RtoOptions {
            initial: Duration::from_secs(6),
            min: Duration::from_secs(1),
            ..RtoOptions::ns2()
        },
        ..Options::ns2(recovery, segment, window)
    }
}

/// The Westwood module's way to repair losses upon the choices of `base`, and no limited transmit.
pub(crate) fn module(base: Options) -> Options {
    Options {
        recovery: Recovery::FastRetransmit,
        limited_transmit: false,
        ..base
    }
}
