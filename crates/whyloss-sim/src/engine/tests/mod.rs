//! Tests of the whole engine on small networks.

mod drawn;
mod twins;

use super::ends::Ends;
use super::*;
use crate::host::TfrcSink;
use crate::host::{Sink, Source};

const DUMBBELL: &str = include_str!("../../../../../scenarios/dumbbell.toml");
const PARKING_LOT: &str = include_str!("../../../../../scenarios/parking-lot.toml");
const LAST_HOP: &str = include_str!("../../../../../scenarios/wlh.toml");

/// Every shortcut.
const FUSED: Shortcuts = Shortcuts::ALL;

/// Returns the shortcuts of links alone, which every observer allows.
fn apart() -> Shortcuts {
    FUSED.heard_by::<&mut dyn Watch>()
}

fn scenario(text: &str, end: f64) -> Scenario {
    let mut scenario = Scenario::of(text);
    scenario.measure_from = Time::ZERO;
    scenario.end = Time::from_secs_f64(end);
    scenario
}

/// Gives every link bit errors, and every other flow the least coverage.
fn damage(scenario: &mut Scenario, rate: f64) {
    for connection in &mut scenario.links {
        connection.link.channel = whyloss_link::ChannelSpec::BitErrors { rate };
    }
    for flow in scenario.flows.iter_mut().step_by(2) {
        flow.coverage = Some(40);
    }
}

fn measure(scenario: &Scenario, seed: u64, shortcuts: Shortcuts) -> Measurement {
    let run = Engine::new(scenario, seed, shortcuts, &mut ()).run(&mut |_| true);
    run.expect("room for its packets").0
}

/// Each packet takes one event, at the bottleneck. After a loss, the window's acknowledgements
/// wait.
#[test]
fn a_dumbbell_of_like_branches_takes_one_event_per_packet() {
    let result = measure(&scenario(DUMBBELL, 10.0), 1, FUSED);
    let delivered: u64 = result.flows.iter().map(|flow| flow.received).sum();
    assert!(result.events < delivered * 115 / 100, "{}", result.events);
    // If flows share hosts, it takes two: the acknowledgement needs one to reach the source.
    let mut shared = scenario(DUMBBELL, 10.0);
    for flow in 1..10 {
        (shared.flows[flow].source, shared.flows[flow].sink) =
            (shared.flows[flow % 2].source, shared.flows[flow % 2].sink);
    }
    let result = measure(&shared, 1, FUSED);
    let delivered: u64 = result.flows.iter().map(|flow| flow.received).sum();
    assert!(result.events < delivered * 203 / 100, "{}", result.events);
}

#[test]
fn a_seed_is_a_result() {
    let scenario = scenario(DUMBBELL, 5.0);
    assert_eq!(measure(&scenario, 1, FUSED), measure(&scenario, 1, FUSED));
    assert_ne!(measure(&scenario, 1, FUSED), measure(&scenario, 2, FUSED));
}

/// Each loss event counts once, even if the timer wakes a sender in vain right after the loss.
#[test]
fn every_loss_event_is_counted_once() {
    let mut scenario = scenario(DUMBBELL, 200.0);
    for link in &mut scenario.links {
        link.link.channel = whyloss_link::ChannelSpec::Bernoulli { loss: 0.02 };
    }
    let observer = &mut ();
    let mut engine = Engine::new(&scenario, 1, FUSED, observer);
    engine.advance(&mut |_| true);
    let mut events = 0;
    for ends in &engine.ends {
        let Source::Tcp(sender) = &ends.flow.source else {
            continue;
        };
        let recoveries = ends.flow.count.counts().recoveries;
        let counted = recoveries.congestion + recoveries.wireless;
        assert_eq!(counted, sender.fast_recoveries(), "{}", ends.flow.index);
        events += counted;
    }
    assert!(events > 1000, "{events}");
}

/// Slow start without a threshold drops a window of segments. With any recovery, the link is soon
/// full again: a timeout during the recovery halves the packets in flight, not all packets ever
/// sent.
#[test]
fn an_overshoot_is_overcome() {
    for recovery in ["reno", "newreno", "sack"] {
        let text = format!(
            r#"
                duration = "60 s"
                link = [{{ from = "a", to = "b", rate = "10 Mbit/s", delay = "50 ms", queue = {{ packets = 83 }} }}]
                flow = [{{ from = "a", to = "b", transport = {{ kind = "tcp", recovery = "{recovery}" }} }}]
            "#
        );
        let result = measure(&scenario(&text, 60.0), 1, FUSED);
        let (flow, used) = (&result.flows[0], result.links[0].utilisation(result.window));
        assert!(flow.timeouts <= 1, "{recovery}: {} timeouts", flow.timeouts);
        assert!(used > 0.9, "{recovery}: {used}");
    }
}

/// Every sent packet was received, was lost, or is in flight, even if sinks drop damaged packets.
#[test]
fn packets_are_conserved() {
    let radio = scenario(LAST_HOP, 100.0);
    let mut noisy = radio.clone();
    damage(&mut noisy, 1e-6);
    for scenario in [radio, noisy] {
        let result = measure(&scenario, 3, FUSED);
        for flow in &result.flows {
            let lost = flow.lost.congestion + flow.lost.wireless;
            let under_way = flow.sent - flow.received - lost;
            assert!(
                under_way < 30,
                "{}: {under_way} packets under way at the end",
                flow.name
            );
        }
    }
}

/// The run delivers the number of packets by which `benches/dumbbell_instructions.rs` divides.
#[test]
fn delivers_what_the_budget_assumes() {
    let result = Simulation::new(&scenario(DUMBBELL, 100.0), 1)
        .run()
        .expect("a scenario");
    let delivered: u64 = result.flows.iter().map(|flow| flow.received).sum();
    assert!(delivered >= 808_000, "{delivered}");
}

/// After ten times the simulated time, a run holds at most twice the memory.
#[test]
fn memory_does_not_grow_with_time() {
    let held = |text, end| {
        let scenario = scenario(text, end);
        let observer = &mut ();
        let mut engine = Engine::new(&scenario, 1, FUSED, observer);
        engine.advance(&mut |_| true);
        engine.world.network.in_memory() + engine.ends.iter().map(Ends::held).sum::<usize>()
    };
    for (text, end) in [(DUMBBELL, 10.0), (LAST_HOP, 40.0), (PARKING_LOT, 10.0)] {
        let (short, long) = (held(text, end), held(text, 10.0 * end));
        assert!(
            long <= 2 * short,
            "{short} items held, {long} after ten times as long"
        );
    }
}

impl Ends {
    fn held(&self) -> usize {
        let source = match &self.flow.source {
            Source::Tcp(sender) => sender.held(),
            Source::Iftp(source) => source.held(),
            _ => 0,
        };
        let sink = match &self.flow.sink {
            Sink::Tfrc(sink) => TfrcSink::held(sink),
            Sink::Iftp(_) | Sink::Outside(_) | Sink::Tcp(_) | Sink::Silent => 0,
        };
        source + sink
    }
}

/// 1,000 flows of 1 Mbit/s into 1 Mbit/s with an unlimited queue.
#[test]
fn a_run_that_holds_too_much_ends_and_says_where() {
    let text = r#"
        duration = "10 s"
        most_packets = 20_000
        link = [
            { name = "in", from = "s{i}", to = "r", count = 100, rate = "10 Mbit/s", delay = "1 ms", queue = "unlimited" },
            { name = "narrow", from = "r", to = "m", rate = "1 Mbit/s", delay = "1 ms", queue = "unlimited" },
            { from = "m", to = "d", rate = "1 Mbit/s", delay = "1 ms", queue = "unlimited" },
        ]
        flow = [
            { from = "s{i}", to = "d", count = 100, packet = "1000 B", transport = { kind = "cbr", rate = "1 Mbit/s" } },
            { from = "m", to = "d", packet = "1000 B", transport = { kind = "cbr", rate = "1 kbit/s" } },
        ]
    "#;
    let scenario = Scenario::of(text);
    for run in [
        Simulation::new(&scenario, 1).run(),
        Simulation::new(&scenario, 1).plain().run(),
    ] {
        let error = run.expect_err("more than 20,000 packets").to_string();
        assert!(error.contains("link `narrow` holds too many"), "{error}");
        assert!(error.contains("more than 20000 are"), "{error}");
    }
}
