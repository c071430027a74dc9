//! Compares throughput with formulas: Mathis, Semke, Mahdavi and Ott (1997), Padhye, Firoiu,
//! Towsley and Kurose (1998), RFC 5348.
//!
//! ```text
//! Mathis   packets/s = √(3/(2·b)) / (R·√p)     periodic losses, b packets per acknowledgement
//! PFTK     packets/s = 1 / (R·√(2bp/3) + T0·min(1, 3·√(3bp/8))·p·(1 + 32p²))
//! TFRC     the equation of RFC 5348, 3.1, with t_RTO = 4·R
//! ```
//!
//! One flow uses a link of 1 Gbit/s that is never full, so that R is the propagation delay of both
//! directions, 100 ms. As in the models, all packets sent after the first 50 s count,
//! retransmissions included.
//!
//! Mathis holds if the window is much larger than one and losses are single: 1/p packets apart, up
//! to 1 %. PFTK with independent losses holds if rounds are so long that its bursts of losses
//! matter little. It is compared from a loss rate of 0.3 % (a window of 20) to 3 %. At 3 %, the
//! window is 6, and half of the losses end in a timeout.

use whyloss::congestion::{ControllerKind, Decrease, Growth};
use whyloss::tfrc::equation::Equation;
use whyloss::{Duration, Rate, Time, tfrc};
use whyloss_link::channel::{ErrorPattern, NextTrial};
use whyloss_link::{ChannelSpec, LinkSpec};
use whyloss_sim::decider::{ReceiverDecider, SenderDecider};
use whyloss_sim::host::tcp::{self, Recovery};
use whyloss_sim::scenario::{Connection, Flow, Scenario, Transport};

use super::Law;
use crate::case::Metric;
use crate::margin::Margin;

const PACKET: u32 = 1500;
/// The round-trip time R, in seconds.
const RTT: f64 = 0.1;
/// The retransmission timeout in seconds, which is at its minimum because the round trip is steady.
const TIMEOUT: f64 = 1.0;
const FROM: i64 = 50;

pub(super) fn laws(quick: bool) -> Vec<Law> {
    let until = if quick { 250 } else { 1050 };
    let mut laws = Vec::new();
    let mut add = |kind, case: String, margin, law: f64, channel: ChannelSpec, transport| {
        let metric = Metric {
            name: "sent",
            unit: "packets/s",
            margin,
        };
        laws.push(Law {
            kind,
            case,
            metric,
            measure: Box::new(move |seed| {
                sent(&channel, &transport, until, seed).map(|packets| (packets, law))
            }),
        });
    };
    for (every, delayed) in [
        (1000, false),
        (1000, true),
        (300, false),
        (100, false),
        (100, true),
    ] {
        let p = 1.0 / every as f64;
        let b = 1.0 + f64::from(u8::from(delayed));
        let name = if delayed { ", acks delayed" } else { "" };
        add(
            "Mathis",
            format!("periodic loss 1/{every}{name}"),
            Margin::MATHIS,
            libm::sqrt(1.5 / b) / (RTT * libm::sqrt(p)),
            periodic(every),
            reno(Recovery::Sack, delayed),
        );
    }
    for loss in [0.003, 0.01, 0.03] {
        let timeouts = (3.0 * libm::sqrt(3.0 * loss / 8.0)).min(1.0);
        let seconds = RTT * libm::sqrt(2.0 * loss / 3.0)
            + TIMEOUT * timeouts * loss * (1.0 + 32.0 * loss * loss);
        add(
            "PFTK",
            format!("independent loss {} %", 100.0 * loss),
            Margin::PFTK,
            1.0 / seconds,
            ChannelSpec::Bernoulli { loss },
            reno(Recovery::Reno, false),
        );
    }
    for every in [1000, 100, 30, 10] {
        let equation = Equation {
            packet_size: 1.0,
            rtt: RTT,
            t_rto: 4.0 * RTT,
            packets_per_ack: 1.0,
            cap_timeouts: false,
        };
        add(
            "RFC 5348",
            format!("periodic loss 1/{every}"),
            Margin::AVERAGED,
            equation.throughput(1.0 / every as f64),
            periodic(every),
            Transport::Tfrc {
                options: tfrc::Options::rfc5348(),
                classifier: ReceiverDecider::unaware(),
            },
        );
    }
    laws
}

/// Returns a channel that loses one packet in every `every`.
fn periodic(every: usize) -> ChannelSpec {
    let mut period = vec![false; every];
    period[every - 1] = true;
    ErrorPattern::new([period]).map_or(ChannelSpec::None, |pattern| ChannelSpec::Pattern {
        pattern,
        next: NextTrial::Same,
    })
}

/// Returns Reno, whose window grows by acknowledgements, as in the formulas.
fn reno(recovery: Recovery, delayed: bool) -> Transport {
    let mut options = tcp::Options {
        recovery,
        growth: Growth::PerAck,
        ..tcp::Options::rfc(PACKET - 40)
    };
    options.controller.kind = ControllerKind::Reno(Decrease::FlightSize);
    if !delayed {
        options.delayed_ack = None;
    }
    Transport::Tcp {
        options,
        classifier: SenderDecider::unaware(),
        controller: None,
    }
}

/// Returns the number of packets sent per second.
fn sent(
    channel: &ChannelSpec,
    transport: &Transport,
    until: i64,
    seed: u64,
) -> Result<f64, String> {
    let link = LinkSpec {
        rate: Rate::from_mbps(1000),
        delay: Duration::from_secs_f64(RTT / 2.0),
        ..LinkSpec::default()
    };
    let lossy = LinkSpec {
        channel: channel.clone(),
        ..link.clone()
    };
    let connection = |name: &str, from, to, link| Connection {
        name: name.into(),
        from,
        to,
        link,
    };
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let mut flow = Flow::new("flow", (0, 1), PACKET, transport.clone());
    flow.start.1 = at(1);
    let scenario = Scenario {
        title: "a law of throughput".into(),
        nodes: vec!["s".into(), "d".into()],
        links: vec![
            connection("there", 0, 1, lossy),
            connection("back", 1, 0, link),
        ],
        flows: vec![flow],
        measure_from: at(FROM),
        end: at(until),
        ..Scenario::default()
    };
    let run = whyloss_sim::Simulation::new(&scenario, seed)
        .run()
        .map_err(|error| error.to_string())?;
    let packets = run.flows.iter().map(|flow| flow.sent).sum::<u64>();
    Ok(packets as f64 / run.window.as_secs_f64())
}
