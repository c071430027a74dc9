//! Compares our throughput with that of ns-2 2.35 on the same networks, from
//! `tests/data/ns2-wireless.csv`.
//!
//! The limits in every row are 4 points for TFRC and 6 for TCP.

use whyloss_sim::Scenario;

const FIGURES: &str = include_str!("../tests/data/ns2-wireless.csv");
const LAST_HOP: &str = include_str!("../papers/cen/networks/wlh.toml");
const BACKBONE: &str = include_str!("../papers/cen/networks/wb.toml");
/// The number of seeds: four times that of ns-2's means, so that most of the remaining noise is
/// ns-2's.
const SEEDS: u64 = 20;

/// One row of ns-2's results.
struct Row {
    last_hop: bool,
    flows: u64,
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
            last_hop: field[0] == "wlh",
            flows: number(1) as u64,
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

/// Returns the scenario without warm-up, and the rate of its bottleneck in kbit/s.
fn scenario(row: &Row) -> (Scenario, u64) {
    let n = row.flows;
    let (text, shared, own, rate, bottleneck) = if row.last_hop {
        let rate = 130 * n.max(2);
        let bottleneck = if n == 1 { 150 } else { rate };
        (LAST_HOP, "shared", "own-radio", rate, bottleneck)
    } else {
        let rate = if n <= 8 { 800 } else { 1600 };
        (BACKBONE, "shared-radio", "own", rate, rate)
    };
    let radio = if row.last_hop { own } else { shared };
    let channel = match row.loss {
        0.0 => "\"none\"".to_owned(),
        loss => format!(
            "{{ kind = \"gilbert-elliott\", loss = {loss}, stay = {} }}",
            row.stay
        ),
    };
    let delayed = if row.delayed_ack {
        ""
    } else {
        ", delayed_ack = \"none\""
    };
    let tcp = |recovery: &str| {
        format!("{{ kind = \"tcp\", base = \"ns2\", recovery = \"{recovery}\"{delayed} }}")
    };
    let transport = match row.agent.as_str() {
        "TFRC" => "{ kind = \"tfrc\", base = \"ns2\" }".to_owned(),
        "TCP/Reno" => tcp("reno"),
        "TCP/Newreno" => tcp("newreno"),
        _ => tcp("sack"),
    };
    let set = [
        ("link.lan.count".to_owned(), n.to_string()),
        (format!("link.{own}.count"), n.to_string()),
        ("flow.flow.count".to_owned(), n.to_string()),
        ("flow.flow.start".to_owned(), "\"20 s\"".to_owned()),
        ("flow.flow.transport".to_owned(), transport),
        ("flow.warm-up.count".to_owned(), "0".to_owned()),
        (format!("link.{shared}.rate"), format!("\"{rate} kbit/s\"")),
        (
            format!("link.{shared}.queue.packets"),
            ((rate / 60).max(6) - 1).to_string(),
        ),
        (format!("link.{radio}.channel"), channel),
    ];
    let scenario = Scenario::from_toml(text, "cen", &set).expect("a scenario");
    (scenario, bottleneck)
}

/// Returns throughput in percent of the bottleneck's rate, and congestion losses in percent of
/// received packets. Like ns-2, it counts 762 bytes per packet, whatever the size of our headers.
fn measure(row: &Row) -> (f64, f64) {
    let (scenario, bottleneck) = scenario(row);
    let (mut throughput, mut congestion) = (0.0, 0.0);
    for seed in 1..=SEEDS {
        let run = whyloss_sim::Simulation::new(&scenario, seed)
            .run()
            .expect("a valid scenario");
        let received: u64 = run.flows.iter().map(|flow| flow.received).sum();
        let dropped: u64 = run.flows.iter().map(|flow| flow.lost.congestion).sum();
        let bits = received as f64 * (8.0 * 762.0) / run.window.as_secs_f64();
        throughput += 100.0 * bits / (1000 * bottleneck) as f64 / SEEDS as f64;
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
            if row.last_hop { "WLH" } else { "WB" },
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
