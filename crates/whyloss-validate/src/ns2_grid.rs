//! Lists the cases against ns-2: its own TFRC, Reno, NewReno, SACK and Vegas, and Linux's Westwood+
//! and Veno in ns-2.
//!
//! Both sides use the same windows, header sizes, timers and queue limits; start times and losses
//! are drawn separately. Linux 2.6.22, which ns-2 runs, counts bytes ([`Growth::PerByte`]), but its
//! Veno counts acknowledgements. Its segments have ten bytes of options.

use whyloss::congestion::{BacklogRtt, ControllerKind, ControllerSpec, Growth, WestwoodOptions};
use whyloss::{Duration, Rate, tfrc};
use whyloss_link::ChannelSpec;
use whyloss_link::channel::GilbertElliott;
use whyloss_sim::decider::{ReceiverDecider, SenderDecider};
use whyloss_sim::host::tcp::{self, Recovery};
use whyloss_sim::scenario::Transport;

use crate::case::{Also, Case};
use crate::margin::Margin;
use crate::networks::{Bottleneck, Topology};

/// The receiver's window and initial threshold in packets (`window_` in ns-2).
const WINDOW: u32 = 1000;
/// The number of replications.
const SEEDS: u64 = 20;
const QUICK_SEEDS: u64 = 10;
/// The lowest loss rate at which ns-2's Linux Westwood+ is omitted on the path of 2 Mbit/s. Its
/// window grows there without bound, and some runs do not end.
const WESTWOOD_RUNS_AWAY: f64 = 0.03;

/// A stack, with its name in Whyloss and in ns-2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(crate) name: &'static str,
    pub(crate) theirs: &'static str,
}

/// Every stack that is compared.
pub(crate) const STACKS: [Stack; 7] = [
    stack("TFRC", "TFRC"),
    stack("Reno", "Reno"),
    stack("NewReno", "Newreno"),
    stack("SACK", "Sack1"),
    stack("Vegas", "Vegas"),
    stack("Westwood+", "linux-westwood"),
    stack("Veno", "linux-veno"),
];

const fn stack(name: &'static str, theirs: &'static str) -> Stack {
    Stack { name, theirs }
}

impl Stack {
    /// Returns whether ns-2 runs this stack as a Linux module in `Agent/TCP/Linux`.
    pub(crate) fn is_linux(self) -> bool {
        self.theirs.starts_with("linux")
    }

    /// Returns the stack in Whyloss, with full packets of `packet` bytes on the wire.
    pub(crate) fn transport(self, packet: u32, delayed_ack: bool) -> Transport {
        let ns2 = |recovery| tcp::Options::ns2(recovery, packet - 40, WINDOW);
        let options = match self.theirs {
            "Reno" => ns2(Recovery::Reno),
            "Newreno" => ns2(Recovery::NewReno),
            "Sack1" => ns2(Recovery::Sack),
            "Vegas" => ns2(Recovery::Vegas),
            "linux-westwood" => linux(
                packet,
                ControllerKind::Westwood(WestwoodOptions::linux()),
                Growth::PerByte,
            ),
            "linux-veno" => linux(
                packet,
                ControllerKind::Veno(BacklogRtt::Latest),
                Growth::PerAck,
            ),
            _ => {
                return Transport::Tfrc {
                    options: tfrc::Options::ns2(),
                    classifier: ReceiverDecider::unaware(),
                };
            }
        };
        Transport::Tcp {
            options: tcp::Options {
                delayed_ack: options.delayed_ack.filter(|_| delayed_ack),
                ..options
            },
            classifier: SenderDecider::unaware(),
            controller: None,
        }
    }

    fn margin(self) -> Margin {
        if self.is_linux() {
            Margin::OTHER
        } else {
            Margin::SAME
        }
    }
}

/// Returns the options of `Agent/TCP/Linux`, which sends no SYN.
fn linux(packet: u32, kind: ControllerKind, growth: Growth) -> tcp::Options {
    tcp::Options {
        initial_window: 2,
        initial_ssthresh: Some(WINDOW),
        receive_window: WINDOW,
        growth,
        controller: ControllerSpec {
            kind,
            ..ControllerSpec::default()
        },
        rto: tcp::RtoOptions {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(120),
            tick: Duration::from_millis(1),
        },
        ..tcp::Options::rfc(packet - 50)
    }
}

/// The losses on the wireless links.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    /// Losses are independent, with this rate.
    Rate(f64),
    /// 7.8 % in bursts: after a lost packet the next is lost with probability 0.25.
    Bursts,
}

impl Loss {
    fn name(self) -> String {
        match self {
            Self::Rate(rate) => format!("loss {} %", 100.0 * rate),
            Self::Bursts => "bursts, 7.8 %".into(),
        }
    }

    fn rate(self) -> f64 {
        match self {
            Self::Rate(rate) => rate,
            Self::Bursts => 0.078,
        }
    }

    fn channel(self) -> ChannelSpec {
        match self {
            Self::Rate(0.0) => ChannelSpec::None,
            Self::Rate(loss) => ChannelSpec::Bernoulli { loss },
            Self::Bursts => ChannelSpec::GilbertElliott(GilbertElliott {
                p_good_to_bad: 0.078 * 0.75 / 0.922,
                p_bad_to_good: 0.75,
                loss_good: 0.0,
                loss_bad: 1.0,
            }),
        }
    }
}

/// The stacks that are compared under a queue that marks.
const MARKED: [&str; 2] = ["NewReno", "SACK"];

/// One point of the grid.
#[derive(Clone, Copy, Debug)]
struct Point {
    topology: Topology,
    loss: Loss,
    bottleneck: Bottleneck,
    delayed_ack: bool,
}

/// Returns every case, or with `quick` a few that take seconds.
pub(crate) fn cases(quick: bool) -> Vec<Case> {
    let points = if quick { few() } else { all() };
    let seeds = if quick { QUICK_SEEDS } else { SEEDS };
    let cases = STACKS.iter().flat_map(|&stack| {
        let applies = move |point: &&Point| {
            // TFRC has no acknowledgements to delay. To compare marks, two stacks suffice whose
            // window a mark halves.
            (point.delayed_ack || stack.name != "TFRC")
                && (point.bottleneck != Bottleneck::Marks || MARKED.contains(&stack.name))
                && !(stack.name == "Westwood+"
                    && matches!(point.topology, Topology::Path(_))
                    && point.loss.rate() >= WESTWOOD_RUNS_AWAY)
        };
        let points = points.iter().filter(applies);
        points.map(move |point| case(stack, point, seeds))
    });
    cases.collect()
}

fn few() -> Vec<Point> {
    use Bottleneck::{DropTail, Red};
    let point = |topology, loss, bottleneck| Point {
        topology,
        loss,
        bottleneck,
        delayed_ack: true,
    };
    vec![
        point(Topology::Wlh, Loss::Bursts, DropTail),
        point(Topology::Wb, Loss::Rate(0.01), DropTail),
        point(
            Topology::Path(Rate::from_mbps(2)),
            Loss::Rate(0.01),
            DropTail,
        ),
        point(Topology::Dumbbell, Loss::Rate(0.0), Red),
    ]
}

fn all() -> Vec<Point> {
    use Bottleneck::{DropTail, Marks, Red};
    let mut points = Vec::new();
    let mut add = |topology, losses: &[Loss], bottleneck, delayed_ack| {
        points.extend(losses.iter().map(|&loss| Point {
            topology,
            loss,
            bottleneck,
            delayed_ack,
        }));
    };
    let rates = [0.0, 0.001, 0.01, 0.03, 0.1].map(Loss::Rate);
    let two = [Loss::Rate(0.0), Loss::Rate(0.01)];
    for topology in [Topology::Wlh, Topology::Wb] {
        add(topology, &rates, DropTail, true);
        add(topology, &[Loss::Bursts], DropTail, true);
        add(topology, &[Loss::Rate(0.01), Loss::Bursts], DropTail, false);
    }
    let path = Topology::Path(Rate::from_mbps(2));
    add(path, &rates, DropTail, true);
    add(path, &two, DropTail, false);
    add(path, &two, Red, true);
    let fast = Topology::Path(Rate::from_mbps(10));
    add(fast, &[Loss::Rate(0.001), Loss::Rate(0.01)], DropTail, true);
    for topology in [Topology::Dumbbell, Topology::ParkingLot] {
        add(topology, &two, DropTail, true);
        add(topology, &two[..1], DropTail, false);
        add(topology, &two, Red, true);
    }
    add(path, &two[..1], Marks, true);
    add(Topology::Dumbbell, &two[..1], Marks, true);
    points
}

fn case(stack: Stack, point: &Point, seeds: u64) -> Case {
    let mut transport = stack.transport(point.topology.packet(), point.delayed_ack);
    if let Transport::Tcp { options, .. } = &mut transport {
        options.ecn = point.bottleneck == Bottleneck::Marks;
    }
    let network = point
        .topology
        .network(&transport, &point.loss.channel(), point.bottleneck);
    let mut name = format!("{}, {}", point.topology.name(), point.loss.name());
    name.push_str(point.bottleneck.name());
    if !point.delayed_ack {
        name.push_str(", acks not delayed");
    }
    let mut also = Vec::new();
    if point.bottleneck == Bottleneck::Marks {
        also.push(Also::Marks);
    }
    // With more losses, the queue hardly ever drops packets.
    if point.loss.rate() <= 0.01 {
        also.push(Also::Drops);
    }
    match point.topology {
        Topology::Dumbbell => also.push(Also::Jain),
        Topology::ParkingLot => also.push(Also::FirstFlow),
        _ => {}
    }
    Case {
        name,
        kind: stack.name,
        scenario: network.scenario,
        stack: stack.theirs.into(),
        window: WINDOW,
        delayed_ack: point.delayed_ack,
        bottlenecks: network.bottlenecks,
        goodput: stack.margin(),
        also,
        seeds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_one_of_its_kind_and_runs() {
        let cases = cases(false);
        let mut names: Vec<_> = cases.iter().map(|case| (case.kind, &case.name)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cases.len());
        for case in &cases {
            assert_eq!(case.scenario.check(), Ok(()), "{} {}", case.kind, case.name);
        }
    }

    /// The grid has every stack on every network, both queues, both kinds of acknowledgement, and
    /// loss from none to 10 %.
    #[test]
    fn nothing_is_left_out() {
        let cases = cases(false);
        for stack in STACKS {
            let names: Vec<_> = cases
                .iter()
                .filter(|case| case.kind == stack.name)
                .collect();
            let has = |part: &str| names.iter().any(|case| case.name.contains(part));
            for network in ["WLH", "WB", "path", "dumbbell", "parking lot", "RED"] {
                assert!(has(network), "{} {network}", stack.name);
            }
            assert!(has("loss 0 %"), "{}", stack.name);
            assert!(has("loss 10 %"), "{}", stack.name);
            assert_eq!(has("not delayed"), stack.name != "TFRC");
        }
    }
}
