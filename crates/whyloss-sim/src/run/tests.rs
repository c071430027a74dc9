//! The engine on small networks.

use std::fmt::Write;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use whyloss_link::queue::{Discipline, Limit, RedSpec};

use super::*;
use crate::host::TfrcSink;
use crate::host::{Sink, Source};
use crate::scenario::Transport;
use whyloss::Rate;

const DUMBBELL: &str = include_str!("../../../../scenarios/dumbbell.toml");
const PARKING_LOT: &str = include_str!("../../../../scenarios/parking-lot.toml");
const LAST_HOP: &str = include_str!("../../../../scenarios/wlh.toml");

fn scenario(text: &str, end: f64) -> Scenario {
    let mut scenario = Scenario::from_toml(text, "a scenario", &[]).expect("a valid scenario");
    scenario.measure_from = Time::ZERO;
    scenario.end = Time::from_secs_f64(end);
    scenario
}

fn measure(scenario: &Scenario, seed: u64, fuse: Fuse) -> Measurement {
    Engine::new(scenario, seed, fuse).run(&mut ())
}

/// Gives every link RED if it has a limit, and these delays from these seconds on.
fn unsettle(scenario: &mut Scenario, changes: &[(f64, f64)]) {
    let mut changes: Vec<_> = changes
        .iter()
        .map(|&(at, delay)| (Time::from_secs_f64(at), Duration::from_secs_f64(delay)))
        .collect();
    changes.sort();
    for connection in &mut scenario.links {
        let link = &mut connection.link;
        link.delay_changes.clone_from(&changes);
        if link.queue.limit != Limit::Unlimited {
            link.queue.discipline = Discipline::Red(RedSpec::default());
        }
    }
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Working a link out ahead of time gives what an event at each arrival gives, but for the number of events.
    #[test]
    fn fused_links_change_nothing(seed: u64, (text, end) in prop_oneof![
        (Just(DUMBBELL), 1.0..5.0),
        (Just(PARKING_LOT), 1.0..10.0),
        (Just(LAST_HOP), 25.0..80.0),
    ], unsettled: bool, changes in prop::collection::vec((0.0..1.0, 0.0..0.1), 0..5),
        errors in prop::option::of(1e-8..1e-4),
    ) {
        let mut scenario = scenario(text, end);
        if let Some(rate) = errors {
            damage(&mut scenario, rate);
        }
        if unsettled {
            let changes: Vec<_> = changes.iter().map(|&(at, delay)| (at * end, delay)).collect();
            unsettle(&mut scenario, &changes);
        }
        let (fused, plain) = (measure(&scenario, seed, Fuse::Ends), measure(&scenario, seed, Fuse::Nothing));
        prop_assert!(fused.events < plain.events);
        prop_assert_eq!(Measurement { events: 0, ..fused }, Measurement { events: 0, ..plain });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same where the branches of a dumbbell are alike, or not quite, and so are its packets; and whoever watches
    /// sees the same, for whom sinks are not fused.
    #[test]
    fn merges_change_nothing(
        seed: u64,
        rates in prop::collection::vec(prop_oneof![8 => Just(1_000u64), 1 => Just(100), 1 => 50u64..2_000], 3),
        delays in prop::collection::vec(prop_oneof![8 => Just(1_000_000i64), 1 => 0i64..2_000_000], 3),
        sizes in prop::collection::vec(prop_oneof![8 => Just(1_500u32), 1 => 40u32..1_500], 3),
        delayed_ack: bool,
        lossy: bool,
        shared: bool,
    ) {
        let mut scenario = scenario(DUMBBELL, 2.0);
        if shared {
            // Two flows at each pair of hosts.
            for flow in 0..5 {
                let (source, sink) = (scenario.flows[flow].source, scenario.flows[flow].sink);
                (scenario.flows[flow + 5].source, scenario.flows[flow + 5].sink) = (source, sink);
            }
        }
        for (flow, size) in scenario.flows.iter_mut().zip(sizes.into_iter().cycle()) {
            flow.packet_size = size;
        }
        if delayed_ack && let Transport::Tcp { options, .. } = &mut scenario.flows[0].transport {
            options.delayed_ack = Some(Duration::from_millis(1));
        }
        let links = scenario.links.iter_mut().filter(|link| !link.name.contains("bottleneck"));
        for (index, link) in links.enumerate() {
            link.link.rate = Rate::from_mbps(rates[index % 3]);
            link.link.delay = Duration::from_nanos(delays[index / 2 % 3]);
            if lossy {
                link.link.channel = whyloss_link::ChannelSpec::Bernoulli { loss: 0.01 };
            }
        }
        let fused = measure(&scenario, seed, Fuse::Ends);
        // A loss on a branch is told to the judge when the packet enters the fused link, early. Not so without fusing.
        let plain = if lossy { Fuse::Links } else { Fuse::Nothing };
        let plain = measure(&scenario, seed, plain);
        prop_assert_eq!(Measurement { events: 0, ..fused }, Measurement { events: 0, ..plain });
    }
}

/// A line of nodes, and flows between any two of them.
fn line_of_nodes() -> impl Strategy<Value = String> {
    let link = (
        prop::sample::select(vec!["200 kbit/s", "1 Mbit/s", "10 Mbit/s", "1 Gbit/s"]),
        prop::sample::select(vec!["0 ms", "1 ms", "20 ms", "200 ms"]),
        prop::sample::select(vec!["\"unlimited\"", "{ packets = 3 }", "{ packets = 20 }"]),
        prop::option::weighted(0.2, prop::sample::select(vec!["0.001", "0.02"])),
    );
    let flow = (
        0usize..8,
        0usize..8,
        prop::sample::select(vec![
            r#"{ kind = "tcp", recovery = "newreno", delayed_ack = "none" }"#,
            r#"{ kind = "tcp", recovery = "newreno", delayed_ack = "none", window = 1 }"#,
            r#"{ kind = "tcp", recovery = "sack", delayed_ack = "none", window = 10 }"#,
            r#"{ kind = "tcp", recovery = "sack", delayed_ack = "none" }
classifier = "oracle""#,
            r#"{ kind = "tcp", recovery = "reno", delayed_ack = "none", base = "ns2" }"#,
            r#"{ kind = "tcp", recovery = "sack" }"#,
            r#"{ kind = "tcp", recovery = "vegas", delayed_ack = "none" }"#,
            r#"{ kind = "cbr", rate = "100 kbit/s" }"#,
        ]),
        0.0..2.0,
        prop::option::of(3.0..6.0),
    );
    let links = prop::collection::vec(link, 1..5);
    (links, prop::collection::vec(flow, 1..5)).prop_map(|(links, flows)| {
        let mut text = String::from("duration = \"8 s\"\n");
        let nodes = links.len() + 1;
        for (node, (rate, delay, queue, loss)) in links.into_iter().enumerate() {
            let _ = writeln!(
                text,
                r#"[[link]]
                from = "n{node}"
                to = "n{}"
                rate = "{rate}"
                delay = "{delay}"
                queue = {queue}"#,
                node + 1
            );
            if let Some(loss) = loss {
                let _ = writeln!(text, r#"channel = {{ kind = "bernoulli", loss = {loss} }}"#);
            }
        }
        for (index, (source, steps, transport, start, stop)) in flows.into_iter().enumerate() {
            let source = source % nodes;
            let sink = (source + 1 + steps % (nodes - 1)) % nodes;
            let _ = writeln!(
                text,
                r#"[[flow]]
                name = "f{index}"
                from = "n{source}"
                to = "n{sink}"
                start = "{start} s"
                transport = {transport}"#
            );
            if let Some(stop) = stop {
                let _ = writeln!(text, r#"stop = "{stop} s""#);
            }
        }
        text
    })
}

/// Flows that share a link, each with a first link and a way back of its own: most of their sources are fused.
fn branches() -> impl Strategy<Value = String> {
    let pick = |list: &'static [&'static str]| prop::sample::select(list);
    let queue = pick(&[
        r#""unlimited""#,
        "{ packets = 2 }",
        "{ packets = 15 }",
        r#"{ packets = 30, red = "adaptive" }"#,
    ]);
    let channel = pick(&[
        r#""none""#,
        r#""none""#,
        r#"{ kind = "bernoulli", loss = 0.01 }"#,
        r#"{ kind = "timed-gilbert-elliott", mean_good = "500 ms", mean_bad = "20 ms" }"#,
    ]);
    let tcp = (
        pick(&["", r#"base = "ns2", "#]),
        pick(&[
            r#"recovery = "newreno", "#,
            r#"recovery = "sack", "#,
            r#"recovery = "reno", "#,
            r#"recovery = "sack", controller = "bbr", "#,
            r#"recovery = "vegas", "#,
        ]),
        pick(&["", "", "window = 1, ", "window = 12, ", "segments = 30, "]),
        // Shorter than some round trips: timeouts are spurious then.
        pick(&["", "", "25", "60"]),
    );
    let flow = (
        tcp,
        pick(&["8 Mbit/s", "80 Mbit/s", "1000 Gbit/s"]),
        pick(&["0 ms", "10 ms", "30 ms"]),
        pick(&["800 kbit/s", "1000 Gbit/s"]),
        pick(&[
            r#""unaware""#,
            r#""oracle""#,
            r#""vegas""#,
            r#"{ name = "oracle", of = 1, remembers = true }"#,
        ]),
        0.0..1.0,
    );
    let flows = prop::collection::vec(flow, 1..5);
    (queue, channel, flows).prop_map(|(queue, channel, flows)| {
        let mut text = format!(
            r#"
            duration = "5 s"
            [[link]]
            from = "r"
            to = "t"
            rate = "2 Mbit/s"
            delay = "10 ms"
            queue = {queue}
            channel = {channel}
            "#
        );
        for (index, flow) in flows.into_iter().enumerate() {
            let ((base, recovery, limits, rto), rate, delay, back, classifier, start) = flow;
            let rto = if rto.is_empty() {
                String::new()
            } else {
                format!(
                    r#"rto_min = "{rto} ms", rto_initial = "{rto} ms", rto_max = "{rto} ms", rto_tick = "1 ns", "#
                )
            };
            let _ = writeln!(
                text,
                r#"
                [[link]]
                from = "s{index}"
                to = "r"
                both_ways = false
                rate = "{rate}"
                delay = "{delay}"
                queue = "unlimited"
                [[link]]
                name = "b{index}"
                from = "t"
                to = "s{index}"
                both_ways = false
                rate = "{back}"
                delay = "{delay}"
                queue = "unlimited"
                [[flow]]
                from = "s{index}"
                to = "t"
                packet = "1000 B"
                start = "{start} s"
                return_route = ["b{index}"]
                classifier = {classifier}
                transport = {{ kind = "tcp", {base}{limits}{rto}{recovery}delayed_ack = "none" }}"#
            );
        }
        text
    })
}

/// Fails if fusing ends changes anything; answers whether it saves a tenth of the events.
fn fused_ends_agree(text: &str, seed: u64) -> Result<bool, TestCaseError> {
    let scenario = scenario(text, 5.0);
    let [ends, sinks, links] =
        [Fuse::Ends, Fuse::LinksAndSinks, Fuse::Links].map(|fuse| measure(&scenario, seed, fuse));
    let saves = ends.events * 10 < sinks.events * 9;
    let [ends, sinks, links] = [ends, sinks, links].map(|m| Measurement { events: 0, ..m });
    prop_assert_eq!(&ends, &sinks);
    prop_assert_eq!(sinks, links);
    Ok(saves)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Neither do sinks and sources that are worked out ahead of time, on any small network.
    #[test]
    fn fused_ends_change_nothing(text in prop_oneof![line_of_nodes(), branches()], seed: u64) {
        fused_ends_agree(&text, seed)?;
    }
}

/// And there are such sources in what is drawn.
#[test]
fn fused_ends_are_met() {
    let mut runner = TestRunner::deterministic();
    let mut saving = 0;
    for seed in 0..100 {
        let text = branches()
            .new_tree(&mut runner)
            .expect("a network")
            .current();
        saving += u32::from(fused_ends_agree(&text, seed).expect("the same"));
    }
    assert!(saving >= 25, "{saving} of 100 networks save events");
}

/// One event per packet: it reaches the bottleneck. A lost one makes its window's acknowledgements wait.
#[test]
fn a_dumbbell_of_like_branches_takes_one_event_per_packet() {
    let result = measure(&scenario(DUMBBELL, 10.0), 1, Fuse::Ends);
    let delivered: u64 = result.flows.iter().map(|flow| flow.received).sum();
    assert!(result.events < delivered * 115 / 100, "{}", result.events);
    // Two where several flows share hosts: the acknowledgement reaches the source as well.
    let mut shared = scenario(DUMBBELL, 10.0);
    for flow in 1..10 {
        (shared.flows[flow].source, shared.flows[flow].sink) =
            (shared.flows[flow % 2].source, shared.flows[flow % 2].sink);
    }
    let result = measure(&shared, 1, Fuse::Ends);
    let delivered: u64 = result.flows.iter().map(|flow| flow.received).sum();
    assert!(result.events < delivered * 203 / 100, "{}", result.events);
}

#[test]
fn a_seed_is_a_result() {
    let scenario = scenario(DUMBBELL, 5.0);
    assert_eq!(
        measure(&scenario, 1, Fuse::Ends),
        measure(&scenario, 1, Fuse::Ends)
    );
    assert_ne!(
        measure(&scenario, 1, Fuse::Ends),
        measure(&scenario, 2, Fuse::Ends)
    );
}

/// Also when the timer wakes a sender in vain right after the loss.
#[test]
fn every_loss_event_is_counted_once() {
    let mut scenario = scenario(DUMBBELL, 200.0);
    for link in &mut scenario.links {
        link.link.channel = whyloss_link::ChannelSpec::Bernoulli { loss: 0.02 };
    }
    let mut engine = Engine::new(&scenario, 1, Fuse::Ends);
    engine.advance(&mut ());
    let mut events = 0;
    for hosts in &engine.hosts {
        let Source::Tcp(sender) = &hosts.source else {
            continue;
        };
        let counted = hosts.count.recoveries.congestion + hosts.count.recoveries.wireless;
        assert_eq!(counted, sender.fast_recoveries(), "{}", hosts.count.name);
        events += counted;
    }
    assert!(events > 1000, "{events}");
}

/// Slow start without a threshold drops a window's worth of segments; whatever repairs them, the link is full again
/// soon, since a timeout in the middle halves what is in the network, not what was ever sent.
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
        let result = measure(&scenario(&text, 60.0), 1, Fuse::Ends);
        let (flow, used) = (&result.flows[0], result.links[0].utilisation(result.window));
        assert!(flow.timeouts <= 1, "{recovery}: {} timeouts", flow.timeouts);
        assert!(used > 0.9, "{recovery}: {used}");
    }
}

/// What was sent was received, lost, or is under way; also where sinks drop what is damaged.
#[test]
fn packets_are_conserved() {
    let radio = scenario(LAST_HOP, 100.0);
    let mut noisy = radio.clone();
    damage(&mut noisy, 1e-6);
    for scenario in [radio, noisy] {
        let result = measure(&scenario, 3, Fuse::Ends);
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

/// What `benches/dumbbell_instructions.rs` divides by.
#[test]
fn delivers_what_the_budget_assumes() {
    let result = run(&scenario(DUMBBELL, 100.0), 1, &mut ()).expect("a scenario");
    let delivered: u64 = result.flows.iter().map(|flow| flow.received).sum();
    assert!(delivered >= 808_000, "{delivered}");
}

/// Ten times the time holds no more at the end than twice what a tenth of it does.
#[test]
fn memory_does_not_grow_with_time() {
    let held = |text, end| {
        let scenario = scenario(text, end);
        let mut engine = Engine::new(&scenario, 1, Fuse::Ends);
        engine.advance(&mut ());
        engine.path.network.held() + engine.hosts.iter().map(Hosts::held).sum::<usize>()
    };
    for (text, end) in [(DUMBBELL, 10.0), (LAST_HOP, 40.0), (PARKING_LOT, 10.0)] {
        let (short, long) = (held(text, end), held(text, 10.0 * end));
        assert!(
            long <= 2 * short,
            "{short} items held, {long} after ten times as long"
        );
    }
}

impl Hosts {
    fn held(&self) -> usize {
        let source = match &self.source {
            Source::Tcp(sender) => sender.held(),
            Source::Iftp(source) => source.held(),
            _ => 0,
        };
        let sink = match &self.sink {
            Sink::Tfrc(sink) => TfrcSink::held(sink),
            Sink::Iftp(_) | Sink::Tcp(_) | Sink::Silent => 0,
        };
        source + sink
    }
}
