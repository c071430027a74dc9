//! The registry: every controller by name. Scenarios and the command read [`REGISTRY`].

use super::{
    BacklogRtt, ControllerKind, CopaModes, CubicDialect, Decrease, ScreamTarget, Under,
    VegasDialect, WestwoodOptions,
};
use crate::bandwidth::DuplicateAcks;
use crate::macros::registry;

registry! {
    /// Lists every controller.
    ControllerKind {
        "reno", "Reno", "slow start, one segment per round trip, half at a loss",
        "Jacobson, SIGCOMM 1988; RFC 5681", () => ControllerKind::Reno(Decrease::FlightSize);

        "westwood", "Westwood", "at a loss, what the acknowledgements' rate fills; a fixed filter per acknowledgement",
        "Milenkoski & Stojcevska 2010, section 3.2", () => WestwoodOptions::per_ack();

        "westwood-filter", "Westwood (timed filter)", "Westwood with a filter that knows the time between acknowledgements",
        "Casetti et al., MobiCom 2001; Le & Hong 2006, section 2", () => WestwoodOptions::timed();

        "westwood-ucla", "Westwood (UCLA)", "Westwood of UCLA's module for ns-2, which divides at timeouts; goes with fast retransmit alone",
        "tcp-westwood.cc 1.3, 2002", () => WestwoodOptions::ucla();

        "westwood-plus", "Westwood+", "Westwood with one sample per round trip",
        "Mascolo et al., CCR 34(2), 2004", () => WestwoodOptions::plus();

        "westwood-nr", "Westwood-NR", "Westwood with ABSE's adaptive sampling and filter; goes with NewReno's recovery",
        "Wang et al., GLOBECOM 2002", () => WestwoodOptions::abse();

        "tibet", "TIBET", "Westwood with segment sizes and gaps filtered apart",
        "Capone, Fratta & Martignon, IEEE TMC 3(2), 2004", () => WestwoodOptions::tibet();

        "balde", "BaLDE", "bandwidth by the receiver's stamps, slow start that ends before the queue is full",
        "Le & Hong, IEICE Trans. E89-B(4), 2006", () => ControllerKind::Balde(DuplicateAcks::Wait);

        "veno", "Veno", "Reno at half its pace with three segments queued; with less, a loss takes a fifth",
        "Fu & Liew, IEEE JSAC 21(2), 2003", () => ControllerKind::Veno(BacklogRtt::LastRound);

        "cubic", "CUBIC", "a cubic function of the time since the last loss, seven tenths at a loss",
        "RFC 9438", () => ControllerKind::Cubic(CubicDialect::Rfc9438);

        "cubic-rfc8312", "CUBIC (RFC 8312)", "CUBIC with the older RFC's Reno-friendly region, as quinn and noq have it",
        "RFC 8312, section 4.2", () => ControllerKind::Cubic(CubicDialect::Rfc8312);

        "bbr", "BBR version 3", "paces at the measured bandwidth, with a window of what the path holds; heeds losses above 2 %",
        "draft-ietf-ccwg-bbr-06, 2026", () => ControllerKind::Bbr;

        "copa", "Copa", "the rate that the queueing delay allows, or, beside flows that fill the queue, what losses leave; paces",
        "Arun & Balakrishnan, NSDI 2018", () => ControllerKind::Copa(CopaModes::Both);

        "copa-default", "Copa (default mode)", "Copa that never competes: losses change nothing but by timeouts",
        "Arun & Balakrishnan, NSDI 2018, section 2", () => ControllerKind::Copa(CopaModes::Default);

        "scream", "SCReAM", "a queueing delay of 0.1 to 0.4 s, for media; its window alone, without an encoder's rate; paces",
        "RFC 8298, section 4.1.2", () => ControllerKind::Scream(ScreamTarget::Adapts);

        "scream-fixed", "SCReAM (fixed target)", "SCReAM that aims at 0.1 s, whoever else fills the queue",
        "RFC 8298, section 4.1.2", () => ControllerKind::Scream(ScreamTarget::Fixed);

        "vegas", "Vegas", "one to three segments in the queues, by round-trip time; goes with Vegas's recovery",
        "Brakmo & Peterson, IEEE JSAC 13(8), 1995", () => ControllerKind::Vegas(VegasDialect::Paper);

        "whyloss", "Whyloss", "CUBIC that a loss cuts by the odds of congestion, where the path has shown its queue",
        "this project, docs/reference/scheme.md", () => ControllerKind::Whyloss(Under::Cubic);

        "whyloss-reno", "Whyloss over Reno", "Reno that a loss cuts by the odds of congestion, where the path has shown its queue",
        "this project, docs/reference/scheme.md", () => ControllerKind::Whyloss(Under::Reno);
    }
}
