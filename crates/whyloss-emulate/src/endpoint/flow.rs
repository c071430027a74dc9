//! The parts of a session, in scenario syntax: transport, classifier, application, packet size,
//! coverage.

use whyloss::{iftp, receiver, sender, tfrc};
use whyloss_sim::Scenario;
use whyloss_sim::decider::{Decider, Unaware};
use whyloss_sim::scenario::{Application, ScenarioError, Transport};

use super::EndpointError;
use super::wire::{BELOW, DATA_HEADER, iftp_format};

/// The transport of a session, with its classifier.
#[derive(Clone, Debug)]
pub enum Carriage {
    /// The transport is TFRC, with a classifier at the receiver.
    Tfrc(tfrc::Options, Box<receiver::Classifier>),
    /// The transport is IFTP, with a classifier at the sender.
    Iftp(iftp::Options, Box<sender::Classifier>),
}

/// The transport of a session.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The transport protocol and its options.
    pub carriage: Carriage,
    /// The application, which determines when there is data to send.
    pub application: Application,
    /// The size of a data packet in bytes, with the headers of IPv4 and UDP.
    pub packet: u32,
    /// The number of bytes from the packet's start that a checksum covers; `None` for the whole
    /// packet.
    pub coverage: Option<u32>,
}

/// Explains why a flow is invalid.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A key or value is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The transport or application has no endpoint.
    #[error("only `tfrc` and `iftp` run on sockets here")]
    NoEndpoint,
    /// The endpoint cannot carry the flow.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

impl Flow {
    /// Reads a flow; each of `words` is a key of a scenario's `[[flow]]` and its value.
    ///
    /// # Errors
    /// Returns an error that names the first invalid key or value.
    pub fn parse(words: &[(&str, &str)]) -> Result<Self, FlowError> {
        let text = "duration = \"1 s\"\n[[link]]\nname = \"link\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\
                    queue = \"unlimited\"\n[[flow]]\nname = \"session\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tfrc\"\n";
        let sets: Vec<(String, String)> = words
            .iter()
            .map(|(key, value)| (format!("flow.session.{key}"), (*value).to_owned()))
            .collect();
        let scenario = Scenario::from_toml(text, "the options", &sets)?;
        let Some(flow) = scenario.flows.into_iter().next() else {
            return Err(FlowError::NoEndpoint);
        };
        let carriage = match flow.transport.clone() {
            Transport::Tfrc {
                options,
                classifier,
            } => Carriage::Tfrc(options, Box::new(real(classifier)?)),
            Transport::Iftp {
                options,
                classifier,
            } => Carriage::Iftp(options, Box::new(real(classifier)?)),
            _ => return Err(FlowError::NoEndpoint),
        };
        let flow = Self {
            carriage,
            application: flow.application.clone(),
            packet: flow.packet_size,
            coverage: flow.coverage,
        };
        if flow.headers() >= flow.packet {
            return Err(EndpointError::Small {
                packet: flow.packet,
                headers: flow.headers(),
            }
            .into());
        }
        Ok(flow)
    }

    /// Returns the number of bytes of a data packet before its payload.
    pub fn headers(&self) -> u32 {
        BELOW
            + match self.carriage {
                Carriage::Tfrc(..) => DATA_HEADER,
                Carriage::Iftp(..) => iftp_format(false).data_header(),
            } as u32
    }

    /// Returns the number of payload bytes in a whole packet.
    pub fn payload(&self) -> usize {
        (self.packet - self.headers()) as usize
    }
}

/// Returns the decider's classifier. A reference, such as the oracle, is an error, because an
/// endpoint does not know the truth.
fn real<C: Unaware, O, X>(decider: Decider<C, O, X>) -> Result<C, EndpointError> {
    match decider {
        Decider::Unaware => Ok(C::unaware()),
        Decider::Classifier(classifier) => Ok(*classifier),
        Decider::Oracle(_) | Decider::Erring { .. } | Decider::Outside(_) => {
            Err(EndpointError::NeedsTruth)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_scenarios() {
        let flow = Flow::parse(&[
            (
                "transport",
                "{ kind = \"tfrc\", base = \"ns2\", header = \"0 B\" }",
            ),
            ("classifier", "zigzag"),
            ("packet", "762 B"),
        ])
        .unwrap();
        assert!(matches!(&flow.carriage, Carriage::Tfrc(options, classifier)
                if options.loss_threshold == 1 && matches!(**classifier, receiver::Classifier::ZigZag(_))));
        assert_eq!(flow.payload(), 762 - 28 - 52);
        let error = |words: &[(&str, &str)]| Flow::parse(words).unwrap_err().to_string();
        assert!(error(&[("classifier", "zagzig")]).contains("zigzag"));
        assert!(error(&[("classifier", "oracle")]).contains("need the truth"));
        assert!(error(&[("transport", "tcp")]).contains("only `tfrc` and `iftp`"));
        assert!(error(&[("packet", "80 B")]).contains("no room"));
    }
}
