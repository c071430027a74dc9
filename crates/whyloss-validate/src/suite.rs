//! Peers and laws to compare with.

/// A peer or a set of laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// Formulas.
    ClosedForms,
    /// ns-2.
    Ns2,
    /// The send times of single packets in ns-2.
    Traces,
    /// ns-3 as Debian packages it.
    Ns3,
    /// ns-3 as a Python package.
    Ns3Wheel,
}

impl Suite {
    /// All of them, in the order of presentation.
    pub const ALL: [Self; 5] = [
        Self::ClosedForms,
        Self::Ns2,
        Self::Traces,
        Self::Ns3,
        Self::Ns3Wheel,
    ];

    /// Returns its name in the command.
    pub fn id(self) -> &'static str {
        match self {
            Self::ClosedForms => "closed-forms",
            Self::Ns2 => "ns-2",
            Self::Traces => "traces",
            Self::Ns3 => "ns-3",
            Self::Ns3Wheel => "ns-3-wheel",
        }
    }

    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClosedForms => "Closed forms",
            Self::Ns2 => "ns-2 2.35",
            Self::Traces => "Packet by packet beside ns-2 2.35",
            Self::Ns3 => "ns-3, Debian’s package",
            Self::Ns3Wheel => "ns-3, PyPI’s package",
        }
    }
}
