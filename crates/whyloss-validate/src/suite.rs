//! Lists the peers and sets of formulas to compare with.

/// Names a peer or a set of formulas to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// Closed-form results.
    ClosedForms,
    /// ns-2's TFRC and TCP.
    Ns2,
    /// The send times of single packets in ns-2.
    Traces,
    /// ns-3 from Debian's package.
    Ns3,
    /// ns-3 from the Python package `ns3`.
    Ns3Wheel,
}

impl Suite {
    /// Lists every suite, in the order of presentation.
    pub const ALL: [Self; 5] = [
        Self::ClosedForms,
        Self::Ns2,
        Self::Traces,
        Self::Ns3,
        Self::Ns3Wheel,
    ];

    /// Returns the suite's name in the command.
    pub fn id(self) -> &'static str {
        match self {
            Self::ClosedForms => "closed-forms",
            Self::Ns2 => "ns-2",
            Self::Traces => "traces",
            Self::Ns3 => "ns-3",
            Self::Ns3Wheel => "ns-3-wheel",
        }
    }

    /// Returns the suite's heading in reports.
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
