//! The stacks' protocol engines as hosts of `whyloss-sim`: real handshakes, real recovery, real
//! pacing, in virtual time.
//!
//! [`install`] lets scenarios contain QUIC flows. The source is the client, which writes to one
//! endless stream; the sink reads it. Datagrams leave one by one (no segmentation offload) and are
//! as large as the flow's `packet` allows. MTU discovery is off, so packets have the sizes in the
//! scenario.
//!
//! Equal seeds give equal runs, because endpoints are seeded. The handshake has messages with TLS's
//! sizes, but without secrets, because TLS draws from the system. The stacks' own BBR also draws
//! from the system when it probes for bandwidth, and no seed changes that.

mod engine;
mod handshake;
mod noq;
mod quinn;

use whyloss_sim::host::outside::{Beginning, Hosts};
use whyloss_sim::host::quic::{self, Options, Stack};

/// Installs the QUIC engines for all runs of this process. Call it before scenarios with QUIC flows
/// are read. Only the first call counts.
pub fn install() {
    quic::install(hosts);
}

/// Creates the two ends of a QUIC flow with the engine that `options` names.
pub fn hosts(options: &Options, beginning: Beginning) -> Hosts {
    match options.stack {
        Stack::Quinn => quinn::hosts(&options.controller, beginning),
        Stack::Noq => noq::hosts(&options.controller, beginning),
    }
}
