//! A protocol under a paper's name: a scheme of [`whyloss::schemes`] upon the paper's transport.

use whyloss::congestion::ControllerKind;
use whyloss::schemes::{self, Lookup, Scheme};
use whyloss_sim::decider::{Decider, SENDERS, SenderDecider};
use whyloss_sim::host::tcp::{Options, Recovery};
use whyloss_sim::scenario::Transport;

/// Bytes of TCP's and IP's headers.
const HEADERS: u32 = 40;

/// A protocol with its packets. `N` is a name: known here, or made of parameters.
#[derive(Clone, Debug)]
pub(crate) struct Variant<N = &'static str> {
    /// Short and unique; names the variant in findings and its flows in scenarios.
    pub(crate) id: N,
    /// As the papers write it.
    pub(crate) name: N,
    /// Bytes of a packet on the wire.
    pub(crate) size: u32,
    /// Bytes of it in which an error costs the packet; `None`: all.
    pub(crate) coverage: Option<u32>,
    /// What carries its flows.
    pub(crate) transport: Transport,
}

impl<N> Variant<N> {
    /// A TCP under no scheme.
    pub(crate) fn of_tcp(id: N, name: N, options: Options) -> Self {
        Self {
            id,
            name,
            size: options.segment_size + HEADERS,
            coverage: None,
            transport: Transport::Tcp {
                options,
                classifier: SenderDecider::unaware(),
            },
        }
    }

    /// The same with other choices of TCP's, if it is TCP.
    pub(crate) fn with_tcp(mut self, change: impl FnOnce(&mut Options)) -> Self {
        if let Transport::Tcp { options, .. } = &mut self.transport {
            change(options);
        }
        self
    }

    /// The same with another classifier, if one at a sender.
    pub(crate) fn classified(mut self, decider: SenderDecider) -> Self {
        if let Transport::Tcp { classifier, .. } | Transport::Iftp { classifier, .. } =
            &mut self.transport
        {
            *classifier = decider;
        }
        self
    }
}

impl Variant {
    /// Reno, NewReno, SACK or Vegas, upon the choices of `base`.
    pub(crate) fn plain(recovery: Recovery, base: Options) -> Self {
        let (id, name) = match recovery {
            Recovery::Reno => ("reno", "Reno"),
            Recovery::NewReno => ("newreno", "NewReno"),
            Recovery::Sack => ("sack", "SACK"),
            Recovery::FastRetransmit => ("fast-retransmit", "fast retransmit"),
            Recovery::Vegas => ("vegas", "Vegas"),
            Recovery::Rack => ("rack", "RACK-TLP"),
        };
        Self::of_tcp(id, name, Options { recovery, ..base })
    }

    /// A scheme upon the choices of `base`.
    pub(crate) fn under(
        id: &'static str,
        name: &'static str,
        scheme: Scheme<SenderDecider>,
        base: Options,
    ) -> Self {
        let Scheme {
            controller,
            classifier,
        } = scheme;
        Self::of_tcp(id, name, base.controlled(controller)).classified(classifier)
    }

    /// The scheme that the registry calls so.
    ///
    /// # Panics
    /// If it has no such scheme: a mistake in this crate.
    pub(crate) fn named(id: &str, base: Options) -> Self {
        if let Some(entry) = schemes::find(id) {
            let scheme = entry.build(&[]).expect("defaults").map(Decider::of);
            return Self::under(entry.id, entry.name, scheme, base);
        }
        let mut ideal = schemes::IDEAL.iter();
        let entry = ideal.find(|entry| entry.id == id).expect("a scheme");
        let scheme: Scheme<Lookup> = entry.build(&[]).expect("defaults");
        Self::under(entry.id, entry.name, scheme.map(Decider::Oracle), base)
    }

    /// The same under another name.
    pub(crate) fn called(self, id: &'static str, name: &'static str) -> Self {
        Self { id, name, ..self }
    }

    /// The same under another name with another controller.
    pub(crate) fn controlled(
        self,
        id: &'static str,
        name: &'static str,
        kind: impl Into<ControllerKind>,
    ) -> Self {
        let kind = kind.into();
        self.called(id, name)
            .with_tcp(|options| options.controller.kind = kind)
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
