//! The schemes that Cen et al. compare: TCP, TFRC, and TFRC with each classifier.

use whyloss::schemes::tfrc;
use whyloss::tfrc::Options;
use whyloss_sim::decider::RECEIVERS;
use whyloss_sim::host::tcp;
use whyloss_sim::scenario::Transport;

use crate::variant::Variant;

/// Bytes of every data packet (CEN-20).
pub(crate) const PACKET: u32 = 762;

/// One column of the paper's tables, one line of its figures.
pub(crate) type Scheme = Variant<String>;

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
    Variant::of_tcp(id.into(), name.into(), options)
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

/// TFRC as ns-2 has it with a classifier and some of its parameters.
///
/// # Panics
/// If the registry has no such classifier or parameter: a mistake in this crate.
pub(crate) fn classified(id: &str, name: &str, parameters: &[(&str, f64)]) -> Scheme {
    with_options(id, name, parameters, &tfrc::OPTIONS)
}

/// The same with other options of TFRC.
///
/// # Panics
/// As [`classified`].
pub(crate) fn with_options(
    id: &str,
    name: &str,
    parameters: &[(&str, f64)],
    options: &Options,
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
        size: PACKET,
        coverage: None,
        transport: Transport::Tfrc {
            options: *options,
            classifier,
        },
    }
}
