//! Loss recovery in the manner of packetdrill: given these acknowledgements at these times, these
//! segments leave. Each script names the rule that it pins.
//! `crates/whyloss-sim/tests/it/recovery/README.md` lists the rules, their scripts and where we
//! depart.
//!
//! Segments have 1000 bytes, and times are in milliseconds. Windows in comments are in segments
//! unless they say bytes. Every expected number is derived in the comment above it from the text of
//! the RFC.

mod exchanges;
mod newreno;
mod rack;
mod receiver;
mod reno;
mod sack;
mod spurious;
mod timer;

use whyloss_sim::host::tcp::{Ack, SackBlocks};

use crate::script::{Script, ms};

/// Returns the departures on an acknowledgement at `at` that echoes the stamp of a segment sent at
/// `sent`.
fn echoing(script: &mut Script, at: u64, next: u64, sent: u64) -> Vec<u64> {
    let ack = Ack {
        next,
        echo: ms(sent),
        sack: SackBlocks::NONE,
    };
    script.sender.on_ack(ms(at), &ack, ms(at));
    script.leave(at)
}
