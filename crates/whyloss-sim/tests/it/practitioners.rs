//! Runs the loss rules of QUIC implementations over a lossy link, and over a lossless bottleneck.

use whyloss_sim::Scenario;

/// Returns the throughput in Mbit/s, Mc and Mw of a flow with this classifier. The path has 10
/// Mbit/s, 40 ms, a queue of three times their product, and this loss rate.
fn run(classifier: &str, loss: f64) -> (f64, Option<f64>, Option<f64>) {
    let text = format!(
        r#"
duration = "65 s"
measure_from = "5 s"
[[link]]
name = "radio"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "20 ms"
queue = {{ packets = 100 }}
channel = {{ kind = "bernoulli", loss = {loss} }}
[[flow]]
name = "flow"
from = "a"
to = "b"
transport = "tcp"
classifier = "{classifier}"
"#
    );
    let scenario = Scenario::from_toml(&text, "test", &[]).expect("valid");
    let run = whyloss_sim::Simulation::new(&scenario, 1)
        .run()
        .expect("runs");
    let flow = &run.flows[0];
    let rate = flow.throughput_bps(run.window) / 1e6;
    (rate, flow.packets.mc(), flow.packets.mw())
}

/// At 1 % loss the queue is empty: a repair takes one round trip, and losses are far apart.
#[test]
fn both_spare_losses_by_the_channel() {
    let (plain, _, mistaken) = run("unaware", 0.01);
    assert_eq!(mistaken, Some(1.0));
    for rule in ["isolated", "episode"] {
        let (rate, _, mistaken) = run(rule, 0.01);
        assert!(rate > 1.3 * plain, "{rule}: {rate}, {plain}");
        assert!(mistaken.expect("losses") < 0.5, "{rule}: {mistaken:?}");
    }
}

/// Without losses by the channel, a full queue takes three times the path's round trip: episodes
/// are long, and the rule costs nothing.
#[test]
fn a_long_episode_is_congestion() {
    let (_, mistaken, _) = run("episode", 0.0);
    assert!(mistaken.expect("losses") < 0.2, "{mistaken:?}");
}
