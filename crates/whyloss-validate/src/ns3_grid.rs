//! Lists the cases against ns-3: NewReno, LinuxReno, CUBIC, Westwood+, Vegas, Veno and BBR, with
//! selective acknowledgements. Timestamps are off in ns-3: see `peers/ns3.cc`.
//!
//! Both sides have an initial window of ten, a minimum timeout of 1 s, and acknowledgements delayed
//! by up to 200 ms. Both use the same unit of congestion avoidance: ns-3's NewReno and controllers
//! with its growth count acknowledgements, and its LinuxReno counts bytes. ns-3's RED is above the
//! device, where one more packet waits; `peers/ns3.cc` subtracts that packet from its thresholds
//! and its limit. Under its CoDel, FQ-CoDel and PIE, no packet waits in the device.

use whyloss::congestion::VegasDialect;
use whyloss::congestion::{
    BacklogRtt, ControllerKind, ControllerSpec, CubicDialect, Decrease, Growth, WestwoodOptions,
};
use whyloss::{Duration, Rate, Time};
use whyloss_link::ChannelSpec;
use whyloss_sim::decider::SenderDecider;
use whyloss_sim::host::tcp;
use whyloss_sim::scenario::Transport;

use crate::case::{Also, Case};
use crate::margin::Margin;
use crate::networks::{Bottleneck, Topology};

/// The receiver's window, in packets.
const WINDOW: u32 = 1000;
/// The number of replications. A run of ns-3 takes about a second.
const SEEDS: u64 = 12;
const QUICK_SEEDS: u64 = 6;
/// The size of the headers of a full packet in bytes: PPP, IP, TCP. The payload is that of ns-2's
/// full packets.
const HEADERS: u32 = 2 + 20 + 20;

/// A stack: its name in Whyloss and in ns-3, our controller, and the unit in which the window grows
/// in congestion avoidance.
type Stack = (&'static str, &'static str, ControllerKind, Growth);

const STACKS: [Stack; 8] = [
    ("NewReno", "NewReno", RENO, Growth::PerAck),
    (RFC6675, "Rfc6675", RENO, Growth::PerAck),
    ("Reno by bytes", "LinuxReno", RENO, Growth::PerByte),
    (
        "CUBIC",
        "Cubic",
        ControllerKind::Cubic(CubicDialect::Rfc9438),
        Growth::PerByte,
    ),
    (
        "Westwood+",
        "WestwoodPlus",
        ControllerKind::Westwood(WestwoodOptions::plus()),
        Growth::PerAck,
    ),
    (
        "Vegas",
        "Vegas",
        ControllerKind::Vegas(VegasDialect::Paper),
        Growth::PerAck,
    ),
    (
        "Veno",
        "Veno",
        ControllerKind::Veno(BacklogRtt::LastRound),
        Growth::PerAck,
    ),
    ("BBR", "Bbr", ControllerKind::Bbr, Growth::PerByte),
];

/// The stacks that are compared under RED that marks.
const MARKED: [&str; 2] = ["NewReno", "CUBIC"];

/// The stack for queues that control their delay: ns-3's NewReno, changed to cut its window as RFC
/// 6675 says, so that only the queues differ.
const RFC6675: &str = "NewReno, RFC 6675";
/// The time at which measurement of such queues begins: after the first slow start, which differs
/// (`docs/evidence/validation.md`).
const SETTLED: Time = Time::from_nanos(10_000_000_000);

const RENO: ControllerKind = ControllerKind::Reno(Decrease::FlightSize);

/// Returns every case, or with `quick` a few that take seconds.
pub(crate) fn cases(quick: bool) -> Vec<Case> {
    use Bottleneck::{Codel, CodelMarks, DropTail, FqCodel, Marks, Pie, Red};
    let slow = Topology::Path(Rate::from_mbps(2));
    let grid: &[(Topology, &[f64], Bottleneck, bool)] = if quick {
        &[
            (slow, &[0.01], DropTail, true),
            (slow, &[0.01], DropTail, false),
            (slow, &[0.0], Codel, true),
        ]
    } else {
        &[
            (slow, &[0.0, 0.001, 0.01, 0.03], DropTail, true),
            (slow, &[0.01], DropTail, false),
            (slow, &[0.0], Red, true),
            (Topology::Wb, &[0.01], DropTail, true),
            (Topology::Dumbbell, &[0.0], DropTail, true),
            (Topology::Dumbbell, &[0.0], Red, true),
            (slow, &[0.0], Marks, true),
            (Topology::Dumbbell, &[0.0], Marks, true),
            (slow, &[0.0], Codel, true),
            (Topology::Dumbbell, &[0.0], Codel, true),
            (slow, &[0.0], CodelMarks, true),
            (Topology::Dumbbell, &[0.0], CodelMarks, true),
            (Topology::Dumbbell, &[0.0], FqCodel, true),
            (slow, &[0.0], Pie, true),
            (Topology::Dumbbell, &[0.0], Pie, true),
        ]
    };
    let seeds = if quick { QUICK_SEEDS } else { SEEDS };
    let cases = STACKS.iter().flat_map(|stack| {
        let compared = move |point: &&(Topology, &[f64], Bottleneck, bool)| match point.2 {
            DropTail | Red => stack.0 != RFC6675,
            Marks => MARKED.contains(&stack.0),
            Codel | CodelMarks | FqCodel | Pie => stack.0 == RFC6675,
        };
        grid.iter().filter(compared).flat_map(
            move |&(topology, losses, bottleneck, delayed_ack)| {
                losses
                    .iter()
                    .map(move |&loss| case(stack, topology, loss, bottleneck, delayed_ack, seeds))
            },
        )
    });
    cases.collect()
}

fn case(
    stack: &Stack,
    topology: Topology,
    loss: f64,
    bottleneck: Bottleneck,
    delayed_ack: bool,
    seeds: u64,
) -> Case {
    let &(kind, theirs, controller, growth) = stack;
    let packet = topology.packet() - 40 + HEADERS;
    let transport = Transport::Tcp {
        options: tcp::Options {
            controller: ControllerSpec {
                kind: controller,
                ..ControllerSpec::default()
            },
            growth,
            ecn: bottleneck.marks(),
            initial_window: 10,
            receive_window: WINDOW,
            delayed_ack: delayed_ack.then(|| Duration::from_millis(200)),
            ..tcp::Options::rfc(packet - HEADERS)
        },
        classifier: SenderDecider::unaware(),
        controller: None,
    };
    let channel = match loss {
        0.0 => ChannelSpec::None,
        loss => ChannelSpec::Bernoulli { loss },
    };
    let mut network = topology.network(&transport, &channel, bottleneck);
    for flow in &mut network.scenario.flows {
        flow.packet_size = packet;
    }
    network.scenario.end = Time::ZERO + Duration::from_secs(100);
    if bottleneck.controls_delay() {
        network.scenario.measure_from = SETTLED;
    }
    let mut name = format!("{}, loss {} %", topology.name(), 100.0 * loss);
    name.push_str(bottleneck.name());
    if !delayed_ack {
        name.push_str(", acks not delayed");
    }
    let mut also = Vec::new();
    if bottleneck.marks() {
        also.push(Also::Marks);
    }
    if loss <= 0.001 {
        also.push(Also::Drops);
    }
    if bottleneck.controls_delay() {
        also.push(Also::Wait);
    }
    if topology == Topology::Dumbbell {
        also.push(Also::Jain);
    }
    Case {
        name,
        kind,
        scenario: network.scenario,
        stack: theirs.into(),
        window: WINDOW,
        delayed_ack,
        bottlenecks: network.bottlenecks,
        goodput: Margin::OTHER,
        also,
        seeds,
    }
}
