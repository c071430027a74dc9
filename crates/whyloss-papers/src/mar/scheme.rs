//! The variants of TCP that the paper compares, all upon one TCP.
//!
//! The paper used ns-2 (Section 3), so the TCP is that of [`ns2_of_2004`]. The window never limits: the text speaks of
//! queue overflow, and ns-2's 20 segments would not fill the link. Every acknowledgement measures a round trip: the
//! predictor needs that (MAR-2). `mar-sensitivity` has other choices.

use whyloss::congestion::{ControllerKind, ControllerSpec, WestwoodOptions, WirelessPolicy};
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
        self.lp_with(&[])
    }

    /// NewReno-LP with other parameters of the predictor.
    pub(crate) fn lp_with(&self, parameters: &[(&str, f64)]) -> Variant {
        let vegas = classifier("vegas", parameters);
        let name = "NewReno-LP";
        self.newreno()
            .with("newreno-lp", name, vegas, self.wireless)
    }

    /// NewReno-Ideal-LP (MAR-4): the same, told the truth; a window that lost anything to congestion lost to congestion.
    pub(crate) fn ideal(&self) -> Variant {
        let oracle = classifier("oracle", &[]);
        let name = "NewReno-Ideal-LP";
        self.newreno()
            .with("newreno-ideal-lp", name, oracle, self.wireless)
    }

    /// Westwood-NR, "using the ns modules available at" UCLA: its module, which calls itself TCPW-NR, with a sample per
    /// acknowledgement (its `filter_type_ 1`, the default of its code) (MAR-5).
    pub(crate) fn westwood_nr(&self) -> Variant {
        Variant {
            id: "westwood-nr",
            name: "Westwood-NR",
            options: ns2_of_2004::westwood(self.base, WestwoodOptions::ucla()),
            ..self.newreno()
        }
    }

    /// The same filter on NewReno's recovery, which the module's name promises and its code lacks.
    pub(crate) fn westwood_on_newreno(&self) -> Variant {
        let kind = ControllerKind::westwood();
        self.controlled(
            "westwood-on-newreno",
            "Westwood on NewReno's recovery",
            kind,
        )
    }

    /// Westwood-NR with ABSE, which the paper's friendliness follows in method (MAR-5).
    pub(crate) fn westwood_abse(&self) -> Variant {
        let kind = ControllerKind::westwood_nr();
        self.controlled("westwood-abse", "Westwood-NR with ABSE", kind)
    }

    /// TIBET (MAR-6).
    pub(crate) fn tibet(&self) -> Variant {
        self.controlled("tibet", "TIBET", ControllerKind::tibet())
    }

    /// Westwood as published: samples weigh by the time that passed (MAR-5).
    pub(crate) fn westwood(&self) -> Variant {
        self.controlled("westwood", "Westwood", ControllerKind::westwood_filter())
    }

    fn controlled(&self, id: &'static str, name: &'static str, kind: ControllerKind) -> Variant {
        let mut variant = self.newreno();
        variant.options.controller = ControllerSpec {
            kind,
            ..variant.options.controller
        };
        Variant {
            id,
            name,
            ..variant
        }
    }
}
