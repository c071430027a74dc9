//! The stacks' protocol engines as hosts of `whyloss-sim`: real handshakes, real recovery, real
//! pacing, in virtual time.
//!
//! [`install`] lets every scenario of the process have QUIC flows. The source is the client, which
//! writes to one stream without end; the sink reads it. Datagrams leave one by one (no segmentation
//! offload), as large as the flow's `packet` allows, and MTU discovery is off, so that packets are
//! of the sizes that the scenario says.
//!
//! The same seed gives the same run: endpoints are seeded, and instead of TLS the handshake has
//! messages of TLS's sizes without secrets, since TLS draws from the system. No seed reaches the
//! stacks' own BBR: both versions draw from the system when they probe for bandwidth.

mod engine;
mod handshake;
mod noq;
mod quinn;

use whyloss_sim::host::outside::{Beginning, Hosts};
use whyloss_sim::host::quic::{self, Options, Stack};

/// Lets all runs of this process have flows of QUIC.
pub fn install() {
    quic::install(hosts);
}

/// The two ends of a QUIC flow.
pub fn hosts(options: &Options, beginning: Beginning) -> Hosts {
    match options.stack {
        Stack::Quinn => quinn::hosts(&options.controller, beginning),
        Stack::Noq => noq::hosts(&options.controller, beginning),
    }
}
