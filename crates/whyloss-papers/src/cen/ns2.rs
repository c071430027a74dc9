//! The same networks in ns-2 2.35: our throughput against the figures kept in `tests/data/ns2-wireless.csv`.
//!
//! Limits: within 4 points for TFRC, 6 for TCP, in every row.

use whyloss::tfrc;
use whyloss_link::ChannelSpec;
use whyloss_link::channel::GilbertElliott;
use whyloss_sim::host::tcp::{self, Recovery};

use super::network::{Network, Topology};
use super::scheme::{PACKET, Scheme, with_options};

const FIGURES: &str = include_str!("../../tests/data/ns2-wireless.csv");
/// Four times as many as behind ns-2's means, so that most of the noise left is theirs.
const SEEDS: u64 = 20;

/// One row of ns-2's figures.
struct Row {
    topology: Topology,
    flows: usize,
    agent: String,
    delayed_ack: bool,
    loss: f64,
    stay: f64,
    throughput: f64,
    congestion: f64,
}

fn rows() -> Vec<Row> {
    let parse = |line: &str| {
        let field: Vec<&str> = line.split(',').collect();
        let number = |index: usize| field[index].parse::<f64>().expect("a number");
        Row {
            topology: if field[0] == "wlh" {
                Topology::Wlh
            } else {
                Topology::Wb
            },
            flows: number(1) as usize,
            agent: field[2].into(),
            delayed_ack: field[3] == "1",
            loss: number(4),
            stay: number(5),
            throughput: 100.0 * number(7),
            congestion: 100.0 * number(15),
        }
    };
    FIGURES.lines().skip(1).map(parse).collect()
}

fn scheme(row: &Row) -> Scheme {
    let recovery = match row.agent.as_str() {
        "TFRC" => return with_options("unaware", "TFRC", &[], &tfrc::Options::ns2()),
        "TCP/Reno" => Recovery::Reno,
        "TCP/Newreno" => Recovery::NewReno,
        _ => Recovery::Sack,
    };
    let mut options = tcp::Options::ns2(recovery, PACKET - 40, 1000);
    if !row.delayed_ack {
        options.delayed_ack = None;
    }
    Scheme::of_tcp(row.agent.clone(), row.agent.clone(), options)
}

/// Throughput and congestion loss in ns-2's terms: packets of 762 bytes, whatever headers they have on the wire.
fn measure(row: &Row) -> (f64, f64) {
    let channel = match row.loss {
        0.0 => ChannelSpec::None,
        loss => ChannelSpec::GilbertElliott(
            GilbertElliott::from_loss_and_stay(loss, row.stay).expect("a channel"),
        ),
    };
    let schemes = [scheme(row)];
    let network = Network {
        warm_up: false,
        ..Network::new(row.topology, row.flows, &schemes, &channel)
    };
    let scenario = network.scenario();
    let (mut throughput, mut congestion) = (0.0, 0.0);
    for seed in 1..=SEEDS {
        let run = whyloss_sim::Simulation::new(&scenario, seed)
            .run()
            .expect("a valid scenario");
        let received: u64 = run.flows.iter().map(|flow| flow.received).sum();
        let dropped: u64 = run.flows.iter().map(|flow| flow.lost.congestion).sum();
        let bits = received as f64 * f64::from(8 * PACKET) / run.window.as_secs_f64();
        throughput +=
            100.0 * bits / row.topology.bottleneck(row.flows).as_bps() as f64 / SEEDS as f64;
        congestion += 100.0 * dropped as f64 / received as f64 / SEEDS as f64;
    }
    (throughput, congestion)
}

#[test]
fn throughput_is_that_of_ns2() {
    let mut wrong = Vec::new();
    println!(
        "{:46} {:>7} {:>7} {:>6}   congestion loss",
        "", "ns-2", "ours", "off"
    );
    for row in rows() {
        let (throughput, congestion) = measure(&row);
        let off = throughput - row.throughput;
        let limit = if row.agent == "TFRC" { 4.0 } else { 6.0 };
        let line = format!(
            "{:4} N={:<2} {:12} delack {} loss {:5.3} {:>9.2} {throughput:>7.2} {off:>+6.2}   {:.2} {congestion:.2}",
            row.topology.name(),
            row.flows,
            row.agent,
            u8::from(row.delayed_ack),
            row.loss,
            row.throughput,
            row.congestion,
        );
        println!("{line}");
        if off.abs() > limit {
            wrong.push(line);
        }
    }
    assert!(
        wrong.is_empty(),
        "outside the limits:\n{}",
        wrong.join("\n")
    );
}
