//! Checks CoDel and FQ-CoDel against the statements of RFC 8289 and RFC 8290.

use crate::delays;
use whyloss_sim::Scenario;

/// Returns a scenario of bulk flows of this transport over a bottleneck with this queue, rate in
/// Mbit/s and round trip in ms. It runs for 30 s; the last 20 s count.
pub(crate) fn bottleneck(
    queue: &str,
    transport: &str,
    (mbps, rtt_ms): (u32, u32),
    flows: u32,
) -> String {
    format!(
        r#"
duration = "30 s"
measure_from = "10 s"
[[link]]
name = "access"
from = "s"
to = "r"
rate = "1 Gbit/s"
delay = "0.1 ms"
queue = "unlimited"
[[link]]
name = "narrow"
from = "r"
to = "d"
rate = "{mbps} Mbit/s"
delay = "{} ms"
queue = {queue}
[[flow]]
name = "bulk-{{i}}"
from = "s"
to = "d"
count = {flows}
transport = {transport}
start = ["0 s", "1 s"]
"#,
        f64::from(rtt_ms) / 2.0 - 0.1
    )
}

/// Returns the utilisation of the bottleneck and the 95th percentile of this flow's delays beyond
/// the propagation, in ms.
fn measured(text: &str, flow: &str, way_ms: f64) -> (f64, f64) {
    let scenario = Scenario::from_toml(text, "test", &[]).expect("valid");
    let run = delays::run(&scenario);
    let narrow = run
        .measurement
        .links
        .iter()
        .find(|link| link.name == "narrow");
    let utilisation = narrow
        .expect("the link")
        .utilisation(run.measurement.window);
    let at = scenario.flows.iter().position(|f| f.name == flow);
    let p95 = run.delays[at.expect("the flow")].quantile_ms(0.95);
    (utilisation, p95.expect("arrivals") - way_ms)
}

const CUBIC: &str = r#"{ kind = "tcp", controller = "cubic" }"#;
const NEWRENO: &str = r#"{ kind = "tcp", recovery = "newreno" }"#;

/// With CoDel, the delay is at most a few tens of milliseconds and the link stays in use. DropTail
/// keeps the same memory full.
#[test]
fn codel_keeps_the_queue_short() {
    for transport in [CUBIC, NEWRENO] {
        for aqm in ["codel", "fq-codel"] {
            let queue = format!("{{ packets = 1000, aqm = \"{aqm}\" }}");
            let text = bottleneck(&queue, transport, (10, 20), 2);
            // 1500 bytes take 1.2 ms.
            let (utilisation, waited) = measured(&text, "bulk-1", 10.0 + 1.2);
            assert!(utilisation > 0.9, "{aqm}: {utilisation}");
            assert!(waited < 30.0, "{aqm}: {waited} ms");
        }
    }
    let text = bottleneck("{ packets = 1000 }", CUBIC, (10, 20), 2);
    let (utilisation, waited) = measured(&text, "bulk-1", 11.2);
    assert!(utilisation > 0.99 && waited > 500.0, "{waited}");
}

/// At 100 Mbit/s and 100 ms, one flow needs 833 packets in flight. CoDel's queue of 5 ms is a
/// twentieth of that, so NewReno's halving leaves the link idle at times. RFC 8289 expects this of
/// few flows over long paths.
#[test]
fn codel_keeps_the_queue_short_on_a_long_way() {
    for (transport, least) in [(CUBIC, 0.85), (NEWRENO, 0.7)] {
        for aqm in ["codel", "fq-codel"] {
            let queue = format!("{{ packets = 1000, aqm = \"{aqm}\" }}");
            let text = bottleneck(&queue, transport, (100, 100), 4);
            let (utilisation, waited) = measured(&text, "bulk-1", 50.0 + 0.12);
            assert!(utilisation > least, "{aqm}, {transport}: {utilisation}");
            assert!(waited < 30.0, "{aqm}, {transport}: {waited} ms");
        }
    }
}

/// A packet of a sparse flow alongside ten bulk flows waits little more than one transmission.
#[test]
fn a_sparse_flow_passes_the_bulk() {
    let queue = r#"{ packets = 1000, aqm = "fq-codel" }"#;
    let text = bottleneck(queue, CUBIC, (10, 20), 10)
        + r#"
[[flow]]
name = "sparse"
from = "s"
to = "d"
packet = "200 B"
transport = { kind = "cbr", rate = "64 kbit/s", dither = true }
"#;
    let (_, waited) = measured(&text, "sparse", 10.0 + 0.16);
    assert!(waited < 2.0, "{waited} ms");
}
