//! A protocol under a paper's name: a scheme of [`whyloss::schemes`] upon the paper's transport.

use whyloss_sim::decider::SenderDecider;
use whyloss_sim::host::tcp::Options;
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
                controller: None,
            },
        }
    }

    /// Changes TCP's choices, if it is TCP.
    pub(crate) fn with_tcp(mut self, change: impl FnOnce(&mut Options)) -> Self {
        if let Transport::Tcp { options, .. } = &mut self.transport {
            change(options);
        }
        self
    }
}
