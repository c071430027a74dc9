//! Tests links whose rate follows a recorded trace.

use std::path::Path;

use whyloss_sim::Scenario;

use crate::delays;

const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traces");

/// Returns a scenario file with a flow over a link with this rate and these other settings. It is
/// read as a file next to the traces.
fn path(rate: &str, link: &str, transport: &str) -> String {
    format!(
        r#"
duration = "60 s"
[[link]]
name = "radio"
from = "a"
to = "b"
rate = "{rate}"
delay = "10 ms"
both_ways = false
{link}
[[link]]
from = "b"
to = "a"
rate = "100 Mbit/s"
delay = "10 ms"
both_ways = false
queue = "unlimited"
[[flow]]
from = "a"
to = "b"
packet = "1500 B"
transport = {transport}
"#
    )
}

fn scenario(text: &str) -> Result<Scenario, String> {
    let file = Path::new(TRACES).join("test.toml");
    Scenario::from_toml(text, &file.to_string_lossy(), &[]).map_err(|error| error.to_string())
}

const DROP_TAIL: &str = "queue = { packets = 50 }";

/// A flow that sends more than a trace carries uses every opportunity of two rounds in 60 s.
/// Packets arrive 10 ms after they are sent.
#[test]
fn every_opportunity_is_used() {
    for name in ["lte-still", "lte-driving", "hspa", "wifi-busy", "leo"] {
        let file = Path::new(TRACES).join(format!("{name}.trace"));
        let trace = std::fs::read_to_string(file).expect("a trace");
        let times: Vec<u64> = trace
            .lines()
            .map(|time| time.parse().expect("ms"))
            .collect();
        assert_eq!(times.last(), Some(&30_000), "{name}");
        let text = path(
            &format!("trace:{name}.trace"),
            DROP_TAIL,
            r#"{ kind = "cbr", rate = "20 Mbit/s" }"#,
        );
        let scenario = scenario(&text).expect("valid");
        let run = whyloss_sim::Simulation::new(&scenario, 1)
            .run()
            .expect("runs");
        let counted = times.iter().chain(&times).count() as u64;
        let late = times.iter().filter(|&&time| time > 29_990).count() as u64;
        // The queue is still empty at the very beginning, and the first packets share no
        // opportunity.
        let delivered = run.links[0].delivered;
        assert!(
            (counted - late - delivered) <= 2,
            "{name}: {delivered} of {counted}"
        );
        let used = run.links[0].utilisation(run.window);
        assert!((used - 1.0).abs() < 0.002, "{name}: {used}");
    }
}

/// Over a trace, the fast engine equals the plain one.
#[test]
fn engines_agree() {
    for transport in [
        r#""tfrc""#,
        r#""tcp""#,
        r#"{ kind = "tcp", controller = "bbr" }"#,
        r#"{ kind = "cbr", rate = "3 Mbit/s" }"#,
    ] {
        let lossy = "queue = { packets = 30 }\nchannel = { kind = \"bernoulli\", loss = 0.01 }";
        let links = [
            DROP_TAIL,
            lossy,
            "queue = { packets = 50, aqm = \"pie\" }",
            "queue = { packets = 200, aqm = \"codel\" }",
            "queue = { packets = 200, aqm = \"fq-codel\" }",
            "queue = { packets = 50 }\nchannel = { kind = \"bernoulli\", loss = 0.2 }\n\
             arq = { tries = 3, turnaround = \"8 ms\", parallel = true }",
            "queue = { packets = 50 }\njitter = { kind = \"exponential\", mean = \"3 ms\", in_order = false }",
            "queue = { packets = 50 }\naggregation = { packets = 8, airtime = \"4 ms\", access = \"300 us\" }",
            "queue = { packets = 50 }\ndelay_changes = [[\"9 s\", \"40 ms\"], [\"20 s\", \"5 ms\"]]",
            "queue = { packets = 50 }\nhandovers = [{ at = \"9 s\", pause = \"90 ms\", waiting = \"copied\" }]",
        ];
        for link in links {
            let scenario = scenario(&path("trace:lte-driving.trace", link, transport));
            let scenario = scenario.expect("valid");
            let fast = whyloss_sim::Simulation::new(&scenario, 3)
                .run()
                .expect("runs");
            let plain = whyloss_sim::Simulation::new(&scenario, 3)
                .plain()
                .run()
                .expect("runs");
            assert_eq!((&fast.flows, &fast.links), (&plain.flows, &plain.links));
            assert!(fast.flows[0].received > 1_000, "{transport}");
        }
    }
}

/// Over a trace, CoDel keeps the queue of a TCP flow far shorter than DropTail with deep buffers.
#[test]
fn codel_shortens_the_queue_of_a_trace() {
    let delays = [
        "queue = { packets = 500 }",
        "queue = { packets = 500, aqm = \"codel\" }",
    ];
    let [deep, codel] = delays.map(|queue| {
        let scenario = scenario(&path("trace:lte-still.trace", queue, r#""tcp""#)).expect("valid");
        let run = delays::run(&scenario);
        run.delays[0].quantile_ms(0.95).expect("delays")
    });
    assert!(codel < deep / 3.0, "{codel} {deep}");
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |rate: &str, link: &str| {
        let text = path(rate, link, r#""tcp""#);
        scenario(&text).expect_err("refused")
    };
    for (rate, link, said) in [
        ("trace:none.trace", DROP_TAIL, "cannot read the trace"),
        ("trace:.", DROP_TAIL, "is not a file"),
        ("trace:../wlh.toml", DROP_TAIL, "line 1 is no time"),
        ("lte.trace", DROP_TAIL, "Mbit/s"),
        (
            "trace:hspa.trace",
            "queue = { packets = 50 }\nhandovers = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]",
            "cannot be changed by a handover",
        ),
    ] {
        let found = error(rate, link);
        assert!(found.contains(said), "{found}");
    }
}
