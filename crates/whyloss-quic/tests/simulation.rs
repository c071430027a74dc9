//! The stacks' engines in the simulator: whole transfers, scored verdicts, the same bytes for the same seed.

use whyloss_sim::{FlowResult, Scenario, run, run_plain};

/// A flow of QUIC over 10 Mbit/s and a round trip of 100 ms, with a queue of the product of both.
fn scenario(transport: &str, rest: &str, loss: f64, seconds: u32) -> Scenario {
    whyloss_quic::sim::install();
    let text = format!(
        r#"
        duration = "{seconds} s"
        measure_from = "5 s"
        link = [{{ name = "link", from = "a", to = "b", rate = "10 Mbit/s", delay = "50 ms", queue = {{ bytes = "125 kB" }}, channel = {{ kind = "bernoulli", loss = {loss} }} }}]
        flow = [{{ name = "flow", from = "a", to = "b", transport = {transport}{rest} }}]
        "#
    );
    Scenario::from_toml(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn flow(scenario: &Scenario, seed: u64) -> FlowResult {
    let run = run(scenario, seed, &mut ()).expect("runs");
    run.flows[0].clone()
}

/// Mbit/s of application data.
fn goodput(flow: &FlowResult, seconds: u32) -> f64 {
    flow.application_bytes as f64 * 8.0 / f64::from(seconds - 5) / 1e6
}

#[test]
fn both_stacks_fill_a_link_without_losses() {
    for stack in ["quinn", "noq"] {
        for controller in ["stack-newreno", "stack-cubic", "reno", "cubic", "vegas"] {
            let transport = format!(
                "{{ kind = \"quic\", stack = \"{stack}\", controller = \"{controller}\" }}"
            );
            let flow = flow(&scenario(&transport, "", 0.0, 20), 1);
            let goodput = goodput(&flow, 20);
            // 1472 of 1500 bytes are QUIC's, and some 40 of them headers and tag.
            assert!(
                (8.5..9.6).contains(&goodput),
                "{stack} {controller}: {goodput} {flow:?}"
            );
        }
    }
}
