//! The variants of TCP that the paper compares, all upon one TCP.
//!
//! The paper used ns-2 (Section 3), so the TCP is that of [`ns2_of_2004`]. The window never limits: the text speaks of
//! queue overflow, and ns-2's 20 segments would not fill the link. Every acknowledgement measures a round trip: the
//! predictor needs that (MAR-2). `mar-sensitivity` has other choices.

use whyloss::congestion::{ControllerSpec, WestwoodOptions, WirelessPolicy};
use whyloss_sim::host::tcp::{Options, Recovery};

use super::network::SEGMENT;
use crate::ns2_of_2004;
use crate::variant::{Variant, classifier};

/// A window that never limits, in segments.
const NO_LIMIT: u32 = 1 << 20;

/// The TCP of all variants: NewReno recovery, delayed acknowledgements (MAR-7).
pub(crate) fn base() -> Options {
    ns2_of_2004::tcp(Recovery::NewReno, SEGMENT, NO_LIMIT)
}

/// A TCP with every variant of the paper upon it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schemes {
    pub(crate) base: Options,
    /// What a loss called wireless does in NewReno-LP and its bound.
    pub(crate) wireless: WirelessPolicy,
}

impl Schemes {
    /// As taken.
    pub(crate) fn paper() -> Self {
        Self::on(base())
    }

    /// On another TCP.
    pub(crate) fn on(base: Options) -> Self {
        Self {
            base,
            wireless: WirelessPolicy::FlightSize,
        }
    }

    /// NewReno.
    pub(crate) fn newreno(&self) -> Variant {
        Variant::plain(Recovery::NewReno, self.base)
    }

    /// NewReno-LP (MAR-3).
    pub(crate) fn lp(&self) -> Variant {
        self.reading("newreno-lp")
    }

    /// NewReno-LP with other parameters of the predictor.
    pub(crate) fn lp_with(&self, parameters: &[(&str, f64)]) -> Variant {
        self.lp().classified(classifier("vegas", parameters))
    }

    /// NewReno-Ideal-LP (MAR-4): the same, told the truth; a window that lost anything to congestion lost to congestion.
    pub(crate) fn ideal(&self) -> Variant {
        self.reading("newreno-ideal-lp")
    }

    /// NewReno-LP or its bound upon this TCP's Reno, with this reaction.
    fn reading(&self, id: &str) -> Variant {
        Variant::named(id, self.base).with_tcp(|options| {
            options.controller = ControllerSpec {
                kind: self.base.controller.kind,
                wireless: self.wireless,
            };
        })
    }

    /// Westwood-NR, "using the ns modules available at" UCLA: its module, which calls itself TCPW-NR, with a sample per
    /// acknowledgement (its `filter_type_ 1`, the default of its code) (MAR-5).
    pub(crate) fn westwood_nr(&self) -> Variant {
        Variant {
            id: "westwood-nr",
            name: "Westwood-NR",
            ..Variant::named("westwood-ucla", ns2_of_2004::module(self.base))
        }
    }

    /// The same filter on NewReno's recovery, which the module's name promises and its code lacks.
    pub(crate) fn westwood_on_newreno(&self) -> Variant {
        let name = "Westwood on NewReno's recovery";
        Variant::named("westwood", self.base).called("westwood-on-newreno", name)
    }

    /// Westwood-NR with ABSE, which the paper's friendliness follows in method (MAR-5).
    pub(crate) fn westwood_abse(&self) -> Variant {
        Variant::named("westwood-nr", self.base).called("westwood-abse", "Westwood-NR with ABSE")
    }

    /// TIBET (MAR-6).
    pub(crate) fn tibet(&self) -> Variant {
        Variant::named("tibet", self.base)
    }

    /// Westwood as published: samples weigh by the time that passed (MAR-5).
    pub(crate) fn westwood(&self) -> Variant {
        let options = WestwoodOptions::timed();
        self.newreno().controlled("westwood", "Westwood", options)
    }
}
