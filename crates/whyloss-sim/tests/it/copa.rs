//! Compares Copa in complete TCP flows with the closed forms of its paper. n flows in default mode
//! keep 1.25·n/δ packets waiting on average, at most 2.5·n/δ, and share equally.

use crate::delays;
use whyloss_sim::Scenario;

use crate::aqm::bottleneck;

/// The transmission time of a packet of 1500 bytes at 10 Mbit/s, and the propagation delay, in ms.
const PACKET: f64 = 1.2;
const WAY: f64 = 50.0 + PACKET;

/// Measures the second 30 s, in equilibrium. Returns the packets delivered to each flow, and the
/// mean and the longest wait in packets.
fn flows(text: &str) -> (Vec<f64>, f64, f64) {
    let times = [("duration", "60 s"), ("measure_from", "30 s")];
    let times = times.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::from_toml(text, "test", &times).expect("valid");
    let run = delays::run(&scenario);
    let delivered = run
        .measurement
        .flows
        .iter()
        .map(|flow| flow.delivered as f64)
        .collect();
    let waits = |of: fn(&whyloss_sim::DelaySummary) -> Option<f64>| {
        let waited = |summary| (of(summary).expect("arrivals") - WAY) / PACKET;
        run.delays.iter().map(waited).collect::<Vec<_>>()
    };
    let means = waits(whyloss_sim::DelaySummary::mean_ms);
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let most = waits(|summary| summary.quantile_ms(0.999));
    (delivered, mean, most.into_iter().fold(0.0, f64::max))
}

#[test]
fn the_queue_is_what_delta_says_and_all_share_it() {
    let copa = r#"{ kind = "tcp", controller = "copa-default", delayed_ack = "none" }"#;
    for count in [1, 2, 4, 8] {
        let text = bottleneck("{ packets = 1000 }", copa, (10, 100), count);
        let (delivered, mean, most) = flows(&text);
        let n = f64::from(count);
        let (sum, squares) = (
            delivered.iter().sum::<f64>(),
            delivered.iter().map(|d| d * d).sum::<f64>(),
        );
        // 30 s hold 25,000 packets.
        assert!(sum > 0.98 * 25_000.0, "{count}: {sum}");
        let jain = sum * sum / (n * squares);
        assert!(jain > 0.99, "{count}: {jain}");
        // 1/δ = 2.
        let expected = 1.25 * 2.0 * n;
        assert!((mean / expected - 1.0).abs() < 0.2, "{count}: {mean}");
        assert!(most < 2.5 * 2.0 * n + 2.0, "{count}: {most}");
    }
}

/// A Copa flow alone on the link does not enter competitive mode.
#[test]
fn a_flow_alone_does_not_compete() {
    let copa = r#"{ kind = "tcp", controller = "copa", delayed_ack = "none" }"#;
    let (delivered, mean, _) = flows(&bottleneck("{ packets = 1000 }", copa, (10, 100), 1));
    assert!(delivered[0] > 0.98 * 25_000.0, "{delivered:?}");
    assert!((mean / 2.5 - 1.0).abs() < 0.2, "{mean}");
}

/// Alongside CUBIC in a full queue, default mode starves and competitive mode does not.
#[test]
fn competing_gets_a_share_beside_cubic() {
    let share = |controller: &str| {
        let copa =
            format!(r#"{{ kind = "tcp", controller = "{controller}", delayed_ack = "none" }}"#);
        let text = bottleneck("{ packets = 40 }", &copa, (10, 100), 1)
            + r#"
[[flow]]
name = "cubic"
from = "s"
to = "d"
transport = { kind = "tcp", controller = "cubic" }
"#;
        let (delivered, ..) = flows(&text);
        delivered[0] / (delivered[0] + delivered[1])
    };
    let (both, default) = (share("copa"), share("copa-default"));
    assert!(default < 0.2, "{default}");
    assert!((0.25..0.75).contains(&both), "{both}");
}
