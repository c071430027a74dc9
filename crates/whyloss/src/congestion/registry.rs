//! The registry: every controller by name. Scenarios and the command read [`REGISTRY`].

use super::{
    BacklogRtt, ControllerKind, CopaModes, CubicDialect, Decrease, ScreamTarget, Under,
    VegasDialect, WestwoodOptions,
};
use crate::bandwidth::DuplicateAcks;
use crate::macros::registry;

registry! {
    /// Every controller.
    ControllerKind {
        "reno", "Reno", "grows by one segment per round trip after slow start, and halves at a loss",
        "Jacobson, SIGCOMM 1988; RFC 5681", () => ControllerKind::Reno(Decrease::FlightSize);

        "westwood", "Westwood", "sets the window to the estimated bandwidth-delay product at a loss; fixed filter",
        "Milenkoski & Stojcevska 2010, section 3.2", () => WestwoodOptions::per_ack();

        "westwood-filter", "Westwood (timed filter)", "Westwood with a filter that depends on the time between acknowledgements",
        "Casetti et al., MobiCom 2001; Le & Hong 2006, section 2", () => WestwoodOptions::timed();

        "westwood-ucla", "Westwood (UCLA)", "Westwood as in UCLA's ns-2 module, which divides its estimate at timeouts; for use with fast retransmit alone",
        "tcp-westwood.cc 1.3, 2002", () => WestwoodOptions::ucla();

        "westwood-plus", "Westwood+", "Westwood with one sample per round trip",
        "Mascolo et al., CCR 34(2), 2004", () => WestwoodOptions::plus();

        "westwood-nr", "Westwood-NR", "Westwood with ABSE's adaptive sampling and filter; for use with NewReno's recovery",
        "Wang et al., GLOBECOM 2002", () => WestwoodOptions::abse();

        "tibet", "TIBET", "Westwood that filters segment sizes and gaps separately",
        "Capone, Fratta & Martignon, IEEE TMC 3(2), 2004", () => WestwoodOptions::tibet();

        "balde", "BaLDE", "estimates bandwidth from the receiver's timestamps, and ends slow start before the queue is full",
        "Le & Hong, IEICE Trans. E89-B(4), 2006", () => ControllerKind::Balde(DuplicateAcks::Wait);

        "veno", "Veno", "Reno that grows half as fast with three segments queued; with fewer, a loss cuts the window by a fifth",
        "Fu & Liew, IEEE JSAC 21(2), 2003", () => ControllerKind::Veno(BacklogRtt::LastRound);

        "cubic", "CUBIC", "grows by a cubic function of the time since the last loss, and keeps seven tenths at a loss",
        "RFC 9438", () => ControllerKind::Cubic(CubicDialect::Rfc9438);

        "cubic-rfc8312", "CUBIC (RFC 8312)", "CUBIC with the older RFC's Reno-friendly region, as in quinn and noq",
        "RFC 8312, section 4.2", () => ControllerKind::Cubic(CubicDialect::Rfc8312);

        "bbr", "BBR version 3", "paces at the measured bandwidth, with a window by the bandwidth-delay product; reacts to losses above 2 %",
        "draft-ietf-ccwg-bbr-06, 2026", () => ControllerKind::Bbr;

        "copa", "Copa", "sets its rate by the queueing delay, or by losses beside flows that fill the queue; paces",
        "Arun & Balakrishnan, NSDI 2018", () => ControllerKind::Copa(CopaModes::Both);

        "copa-default", "Copa (default mode)", "Copa that never competes: ignores losses except timeouts",
        "Arun & Balakrishnan, NSDI 2018, section 2", () => ControllerKind::Copa(CopaModes::Default);

        "scream", "SCReAM", "keeps a queueing delay of 0.1 to 0.4 s, for media; only the window, without an encoder's rate; paces",
        "RFC 8298, section 4.1.2", () => ControllerKind::Scream(ScreamTarget::Adapts);

        "scream-fixed", "SCReAM (fixed target)", "SCReAM with a fixed target of 0.1 s, also beside flows that fill the queue",
        "RFC 8298, section 4.1.2", () => ControllerKind::Scream(ScreamTarget::Fixed);

        "vegas", "Vegas", "keeps one to three segments in the queue, judged by round-trip time; for use with Vegas's recovery",
        "Brakmo & Peterson, IEEE JSAC 13(8), 1995", () => ControllerKind::Vegas(VegasDialect::Paper);

        "whyloss", "Whyloss", "CUBIC that cuts its window less, or not at all, if a radio probably lost the packet",
        "this project, docs/reference/scheme.md", () => ControllerKind::Whyloss(Under::Cubic);

        "whyloss-reno", "Whyloss over Reno", "Reno that cuts its window less, or not at all, if a radio probably lost the packet",
        "this project, docs/reference/scheme.md", () => ControllerKind::Whyloss(Under::Reno);
    }
}
