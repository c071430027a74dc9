//! The congestion controls, with names, sources and algorithms.

use whyloss::bandwidth::{DuplicateAcks, EstimatorSpec, TibetFilter, WestwoodSpec};
use whyloss::schemes;
use whyloss::sender::Classifier;
use whyloss::sender::trees::Trees;

/// A congestion control that can be loaded into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The control's name in the command.
    pub id: &'static str,
    /// The control's name in the kernel, for sockets and `tcp_congestion_control`.
    pub name: &'static str,
    /// The effect of the control, in a few words.
    pub summary: &'static str,
    /// The source of the algorithm.
    pub source: &'static str,
    /// The algorithm; events identify the control by it.
    pub algorithm: Algorithm,
}

/// The algorithm of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Reno with the Vegas predictor.
    NewRenoLp,
    /// The kernel's CUBIC with the Vegas predictor.
    CubicLp,
    /// Westwood with a filter by time (Le & Hong 2006).
    Westwood,
    /// Westwood with the Vegas predictor.
    WestwoodLp,
    /// Westwood with TIBET's bandwidth estimate.
    Tibet,
    /// TCP BaLDE, with SARBE's bandwidth estimate.
    Balde,
    /// TCP Veno, with a backlog estimate.
    Veno,
    /// Veno with the rule of enhanced Veno.
    VenoEnhanced,
    /// The kernel's CUBIC with [`Trees`].
    Whyloss,
}

/// Every control that the kernel can load.
pub const CONTROLS: &[Control] = &[
    Control {
        id: "whyloss",
        name: "wl_whyloss",
        summary: "CUBIC that cuts its window less, or not at all, if a radio probably lost the packet",
        source: "this project's own",
        algorithm: Algorithm::Whyloss,
    },
    Control {
        id: "newreno-lp",
        name: "wl_newreno_lp",
        summary: "Reno that keeps its window at a loss while the Vegas predictor sees no queue",
        source: "Martignon & Fratta 2005",
        algorithm: Algorithm::NewRenoLp,
    },
    Control {
        id: "cubic-lp",
        name: "wl_cubic_lp",
        summary: "CUBIC that keeps its window at a loss while the Vegas predictor sees no queue",
        source: "the predictor of Martignon & Fratta 2005 with Linux's CUBIC",
        algorithm: Algorithm::CubicLp,
    },
    Control {
        id: "westwood",
        name: "wl_westwood",
        summary: "sets the window to the estimated bandwidth-delay product at a loss",
        source: "Casetti et al. 2001; filter as in Le & Hong 2006",
        algorithm: Algorithm::Westwood,
    },
    Control {
        id: "westwood-lp",
        name: "wl_westwood_lp",
        summary: "Westwood that keeps its window at a loss while the Vegas predictor sees no queue",
        source: "Milenkoski & Stojcevska 2010, section 8",
        algorithm: Algorithm::WestwoodLp,
    },
    Control {
        id: "tibet",
        name: "wl_tibet",
        summary: "Westwood that filters segment sizes and intervals separately",
        source: "Capone, Fratta & Martignon 2004",
        algorithm: Algorithm::Tibet,
    },
    Control {
        id: "balde",
        name: "wl_balde",
        summary: "estimates bandwidth from the receiver's timestamps; keeps its window while no congestion begins",
        source: "Le & Hong 2006",
        algorithm: Algorithm::Balde,
    },
    Control {
        id: "veno",
        name: "wl_veno",
        summary: "halves at a loss with three segments queued, and keeps four fifths with fewer",
        source: "Fu & Liew 2003",
        algorithm: Algorithm::Veno,
    },
    Control {
        id: "veno-enhanced",
        name: "wl_veno_enh",
        summary: "Veno that keeps its window at a random loss, unless congestion losses get more frequent",
        source: "Zhou & Fu 2006",
        algorithm: Algorithm::VenoEnhanced,
    },
];

/// Finds a control by either of its names.
pub fn find(name: &str) -> Option<&'static Control> {
    CONTROLS
        .iter()
        .find(|control| control.id == name || control.name == name)
}

impl Algorithm {
    /// Returns the number of the algorithm in bytes exchanged with the programs.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Returns the algorithm with this number.
    pub fn of_number(number: u32) -> Option<Self> {
        let known = CONTROLS.iter().map(|control| control.algorithm);
        known.into_iter().find(|known| known.number() == number)
    }

    /// Returns the core's classifier that matches the program's.
    pub fn classifier(self) -> Classifier {
        match self {
            Self::NewRenoLp | Self::CubicLp | Self::WestwoodLp => {
                schemes::newreno_lp::scheme().classifier
            }
            Self::Westwood | Self::Tibet => Classifier::unaware(),
            Self::Balde => schemes::balde::scheme().classifier,
            Self::Veno => schemes::veno::scheme().classifier,
            Self::VenoEnhanced => schemes::iftpv::scheme().classifier,
            Self::Whyloss => Trees::default().into(),
        }
    }

    /// Returns the core's estimator that matches the program's; `None` if the program has none.
    pub fn estimator(self) -> Option<EstimatorSpec> {
        match self {
            Self::NewRenoLp | Self::CubicLp | Self::Veno | Self::VenoEnhanced | Self::Whyloss => {
                None
            }
            Self::Westwood | Self::WestwoodLp => Some(EstimatorSpec::Westwood(WestwoodSpec::TIMED)),
            Self::Tibet => Some(EstimatorSpec::Tibet(TibetFilter::DEFAULT)),
            Self::Balde => Some(EstimatorSpec::Sarbe(DuplicateAcks::Wait)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit() {
        for (index, control) in CONTROLS.iter().enumerate() {
            assert_eq!(find(control.id), Some(control));
            assert_eq!(find(control.name), Some(control));
            assert_eq!(
                Algorithm::of_number(control.algorithm.number()),
                Some(control.algorithm)
            );
            // The kernel's limit is 16 bytes, including the final zero.
            assert!(control.name.len() < 16 && control.name.starts_with("wl_"));
            let others = &CONTROLS[..index];
            assert!(
                others
                    .iter()
                    .all(|other| other.id != control.id && other.algorithm != control.algorithm)
            );
        }
    }
}
