//! The schemes that Cen et al. compare: TCP, TFRC, and TFRC with each classifier.

use whyloss::tfrc;
use whyloss_sim::decider::{RECEIVERS, SenderDecider};
use whyloss_sim::host::tcp;
use whyloss_sim::scenario::Transport;

/// Bytes of every data packet (CEN-20).
pub(crate) const PACKET: u32 = 762;

/// One column of the paper's tables, one line of its figures.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    /// Short and unique; names the scheme in findings and its flows in scenarios.
    pub(crate) id: String,
    /// As the paper writes it.
    pub(crate) name: String,
    /// What carries its flows.
    pub(crate) transport: Transport,
}

/// TCP with delayed acknowledgements (CEN-13): SACK stands for the paper's unnamed flavour.
pub(crate) fn tcp() -> Scheme {
    tcp_with("tcp", "TCP", tcp::Recovery::Sack)
}

/// The other flavours of TCP, for comparison.
pub(crate) fn other_tcps() -> Vec<Scheme> {
    vec![
        tcp_with("tcp-newreno", "TCP NewReno", tcp::Recovery::NewReno),
        tcp_with("tcp-reno", "TCP Reno", tcp::Recovery::Reno),
    ]
}

fn tcp_with(id: &str, name: &str, recovery: tcp::Recovery) -> Scheme {
    let options = tcp::Options::ns2(recovery, PACKET - 40, 1000);
    Scheme {
        id: id.into(),
        name: name.into(),
        transport: Transport::Tcp {
            options,
            classifier: SenderDecider::unaware(),
            controller: None,
        },
    }
}

/// Whether a scheme, or a flow by its name, is TCP.
pub(crate) fn is_tcp(name: &str) -> bool {
    name.starts_with("tcp")
}

/// TFRC as ns-2 has it, told of every loss.
pub(crate) fn unaware() -> Scheme {
    classified("unaware", "TFRC", &[])
}

/// TFRC that is told every loss's true cause.
pub(crate) fn omniscient() -> Scheme {
    classified("oracle", "Omni", &[])
}

/// The base classifiers, in the order of Table 2.
pub(crate) fn base() -> Vec<Scheme> {
    ["biaz", "mbiaz", "spike", "zigzag"].map(by_id).into()
}

/// The hybrids of Section 7.
pub(crate) fn hybrids() -> Vec<Scheme> {
    ["zbs", "zbs2", "zbs3"].map(by_id).into()
}

/// TFRC with the classifier of this id.
pub(crate) fn by_id(id: &str) -> Scheme {
    let name = RECEIVERS.find(id).map_or(id, |line| line.name);
    classified(id, name, &[])
}

/// TFRC as ns-2 has it, but without its 32 bytes of header: with them no scheme could use more than 96 % of a link in
/// packets of 762 bytes, and the paper's do.
pub(crate) fn tfrc_options() -> tfrc::Options {
    tfrc::Options {
        header: 0,
        ..tfrc::Options::ns2()
    }
}

/// TFRC as ns-2 has it with a classifier and some of its parameters.
///
/// # Panics
/// If the registry has no such classifier or parameter: a mistake in this crate.
pub(crate) fn classified(id: &str, name: &str, parameters: &[(&str, f64)]) -> Scheme {
    with_options(id, name, parameters, &tfrc_options())
}

/// The same with other options of TFRC.
///
/// # Panics
/// As [`classified`].
pub(crate) fn with_options(
    id: &str,
    name: &str,
    parameters: &[(&str, f64)],
    options: &tfrc::Options,
) -> Scheme {
    let built = RECEIVERS.build(id, parameters);
    let built = built.expect("a classifier of the registry");
    let classifier = built.expect("parameters of this classifier");
    let values: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("-{name}-{value}"))
        .collect();
    Scheme {
        id: format!("{id}{}", values.concat()),
        name: name.into(),
        transport: Transport::Tfrc {
            options: *options,
            classifier,
        },
    }
}
