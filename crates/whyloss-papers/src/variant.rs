//! TCP variants as the papers name them: recovery, controller, classifier and policy put together.
//!
//! | variant | recovery | controller | classifier | a loss called wireless |
//! |---|---|---|---|---|
//! | Reno, NewReno, SACK | each its own | Reno | unaware | – |
//! | NewReno-LP (MAR-3) | NewReno | Reno | Vegas predictor | window = FlightSize |
//! | NewReno-Ideal-LP (MAR-4) | NewReno | Reno | oracle | window = FlightSize |
//! | NewRenoLDA (MIL-2) | NewReno | Reno | oracle, not at timeouts | window kept |

use whyloss::congestion::WirelessPolicy;
use whyloss_sim::decider::{SENDERS, SenderDecider};
use whyloss_sim::host::tcp::{Options, Recovery};
use whyloss_sim::scenario::Transport;

/// A variant of TCP.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// Short and unique; names the variant in findings and its flows in scenarios.
    pub(crate) id: &'static str,
    /// As the papers write it.
    pub(crate) name: &'static str,
    /// Choices of the transport.
    pub(crate) options: Options,
    /// What decides the cause of a loss.
    pub(crate) classifier: SenderDecider,
}

impl Variant {
    /// Reno, NewReno or SACK, upon the choices of `base`.
    pub(crate) fn plain(recovery: Recovery, base: Options) -> Self {
        let (id, name) = match recovery {
            Recovery::Reno => ("reno", "Reno"),
            Recovery::NewReno => ("newreno", "NewReno"),
            Recovery::Sack => ("sack", "SACK"),
            Recovery::FastRetransmit => ("fast-retransmit", "fast retransmit"),
            Recovery::Vegas => ("vegas", "Vegas"),
            Recovery::Rack => ("rack", "RACK-TLP"),
        };
        Self {
            id,
            name,
            options: Options { recovery, ..base },
            classifier: SenderDecider::unaware(),
        }
    }

    /// The same under another name, with a classifier and what a loss that it calls wireless does.
    pub(crate) fn with(
        &self,
        id: &'static str,
        name: &'static str,
        classifier: SenderDecider,
        wireless: WirelessPolicy,
    ) -> Self {
        let mut options = self.options;
        options.controller.wireless = wireless;
        Self {
            id,
            name,
            options,
            classifier,
        }
    }

    /// What a scenario's flow is carried by.
    pub(crate) fn transport(&self) -> Transport {
        Transport::Tcp {
            options: self.options,
            classifier: self.classifier.clone(),
            controller: None,
        }
    }
}

/// The sender classifier of this id.
///
/// # Panics
/// If the registry has no such classifier or parameter: a mistake in this crate.
pub(crate) fn classifier(id: &str, parameters: &[(&str, f64)]) -> SenderDecider {
    let built = SENDERS.build(id, parameters);
    let built = built.expect("a classifier of the registry");
    built.expect("parameters of this classifier")
}
