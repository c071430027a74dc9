//! Tests that the fast engine and the plain one agree on random networks, in counts and in reports
//! to observers.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use whyloss::{Duration, Rate, Time};
use whyloss_link::{Fate, Opportunities};

use super::drawn::{branches, chain, copying_line, dumbbell, line_of_nodes};
use super::*;
use crate::Delays;
use crate::decider::Decider;
use crate::host::outside::{Host, Hosts, Outside};
use crate::measure::Closed;
use crate::observe::{Event, Observer, Order, Watch};
use crate::packet::{Packet, Payload};

/// One report to an observer: its name, its time, and the numbers that it carries.
type Told = (&'static str, Time, [u64; 6]);

/// All reports to an observer in their order. Those of a flow carry a kind: at the source, at the
/// sink, dropped, or judged.
#[derive(Debug, Default, PartialEq)]
struct Log {
    links: Vec<Vec<Told>>,
    flows: Vec<Vec<(usize, Told)>>,
}

impl Log {
    fn of(scenario: &Scenario) -> Self {
        Self {
            links: vec![Vec::new(); scenario.links.len()],
            flows: vec![Vec::new(); scenario.flows.len()],
        }
    }

    fn note(&mut self, flow: usize, place: usize, told: Told) {
        self.flows[flow].push((place, told));
    }
}

/// Returns a packet as numbers, with two more numbers.
fn of(packet: &Packet, more: [u64; 2]) -> [u64; 6] {
    let carries = match packet.payload {
        Payload::Segment(segment) => segment.sequence << 1 | u64::from(segment.retransmission),
        Payload::Ack(ack) => ack.next << 2 | ack.sack.len() as u64,
        Payload::IftpAck(ack) => ack.sequence,
        Payload::TfrcFeedback(feedback) => feedback.receive_rate.to_bits(),
        payload => payload.sequence().unwrap_or_default(),
    };
    let flags = u64::from(packet.ecn_flag) + 2 * u64::from(packet.copy);
    let size = u64::from(packet.size) << 8 | (packet.ecn as u64) << 2 | flags;
    let damaged = u64::from(packet.first_damaged);
    let sent = packet.sent.as_nanos();
    [size, damaged, sent, carries, more[0], more[1]]
}

/// The weakest order that an observer can request. [`Watch`] requests a stronger one.
impl Observer for Log {
    const STATES: bool = true;
    const ORDER: Order = Order::Place;
    const QUEUE_LENGTH: bool = true;
}

impl Watch for Log {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Offered {
                link,
                at,
                packet,
                waiting,
                fate,
                marked,
            } => {
                let (fate, when) = match fate {
                    Fate::Delivered(when) => (0, when),
                    Fate::Damaged(when, first) => (u64::from(first) + 3, when),
                    Fate::Lost(cause, when) => (cause as u64 + 1, when),
                    Fate::Held => unreachable!("told once it is known"),
                };
                let (fate, waiting) = (fate << 1 | u64::from(marked), waiting as u64);
                let told = of(packet, [waiting, fate ^ when.as_nanos() << 16]);
                self.links[link].push(("offered", at, told));
            }
            Event::Sent { flow, at, packet } => {
                self.note(flow, 0, ("sent", at, of(packet, [0; 2])));
            }
            Event::Acted { flow, at, state } => {
                let whole = |value: Option<u64>| value.map_or(0, |value| value + 1);
                let span =
                    |value: Option<Duration>| value.map_or(0, |value| value.as_nanos() as u64 + 1);
                let rate = state.rate.map_or(0, f64::to_bits);
                let windows = [
                    whole(state.cwnd),
                    whole(state.ssthresh),
                    whole(state.in_flight),
                ];
                let [cwnd, ssthresh, in_flight] = windows;
                let times = span(state.rtt)
                    ^ span(state.srtt).rotate_left(20)
                    ^ span(state.rto).rotate_left(40);
                let state = [cwnd, ssthresh, in_flight, rate, times, state.una];
                self.note(flow, 0, ("acted", at, state));
            }
            Event::Reacted { flow, at, sender } => {
                let state = [sender.acknowledged(), sender.next(), sender.cwnd(), 0, 0, 0];
                self.note(flow, 0, ("reacted", at, state));
            }
            Event::Arrived {
                flow,
                at,
                packet,
                classifier,
            } => {
                let classified = u64::from(classifier.is_some());
                self.note(flow, 1, ("arrived", at, of(packet, [classified, 0])));
            }
            Event::Transfer {
                flow,
                began,
                done,
                size,
            } => {
                let done = done.map_or(0, |done| done.as_nanos() + 1);
                self.note(flow, 1, ("transfer", began, [done, size, 0, 0, 0, 0]));
            }
            Event::Dropped { flow, at, packet } => {
                self.note(flow, 2, ("dropped", at, of(packet, [0; 2])));
            }
            Event::Judged {
                flow,
                at,
                sequence,
                truth,
                verdict,
            } => {
                let said = [sequence, truth as u64, verdict as u64, 0, 0, 0];
                self.note(flow, 3, ("judged", at, said));
            }
        }
    }
}

/// Returns the counts of a run and the number of its events.
fn counts(run: Result<Measurement, RunError>) -> (Measurement, u64) {
    let run = run.expect("room for its packets");
    let events = run.events;
    (Measurement { events: 0, ..run }, events)
}

/// Fails if the engines gave different reports to observers. With `by_flow`, compares the order of
/// all reports of a flow; otherwise only the order of each kind.
fn told_the_same(plain: &Log, fast: &Log, by_flow: bool) -> Result<(), TestCaseError> {
    for (plain, fast) in plain.links.iter().zip(&fast.links) {
        same(plain.iter(), fast.iter())?;
    }
    for (plain, fast) in plain.flows.iter().zip(&fast.flows) {
        if by_flow {
            same(plain.iter(), fast.iter())?;
        } else {
            for kind in 0..4 {
                let of_kind = |told: &&(usize, Told)| told.0 == kind;
                same(plain.iter().filter(of_kind), fast.iter().filter(of_kind))?;
            }
        }
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(
    mut plain: impl Iterator<Item = T>,
    mut fast: impl Iterator<Item = T>,
) -> Result<(), TestCaseError> {
    loop {
        match (plain.next(), fast.next()) {
            (None, None) => return Ok(()),
            (plain, fast) => prop_assert_eq!(plain, fast),
        }
    }
}

/// Fails if the engines differ in anything. Returns the number of events of each, the plain one
/// first.
fn agree(scenario: &Scenario, seed: u64) -> Result<(u64, u64), TestCaseError> {
    let mut told = Log::of(scenario);
    let unwatched = Simulation::new(scenario, seed).plain();
    let (plain, many) = counts(unwatched.watch(&mut told).run());
    // Without an observer, and with the command's, packets cross stretches in one step.
    let (fast, few) = counts(Simulation::new(scenario, seed).run());
    prop_assert_eq!(&fast, &plain);
    let [mut slow, mut quick] = [Delays::new(scenario), Delays::new(scenario)];
    let unwatched = Simulation::new(scenario, seed).plain();
    prop_assert_eq!(&counts(unwatched.watch(&mut slow).run()).0, &plain);
    let watched = counts(Simulation::new(scenario, seed).observe(&mut quick)).0;
    prop_assert_eq!(&watched, &plain);
    prop_assert_eq!(slow.into_flows(), quick.into_flows());
    let [mut by_flow, mut by_place] = [Log::of(scenario), Log::of(scenario)];
    let watched = counts(Simulation::new(scenario, seed).watch(&mut by_flow).run()).0;
    prop_assert_eq!(&watched, &plain);
    told_the_same(&told, &by_flow, true)?;
    let watched = counts(Simulation::new(scenario, seed).observe(&mut by_place)).0;
    prop_assert_eq!(&watched, &plain);
    told_the_same(&told, &by_place, false)?;
    // The result stays the same without one of the shortcuts, and without any.
    let one = Shortcut::ALL[(seed % Shortcut::ALL.len() as u64) as usize];
    let without_one = counts(Simulation::new(scenario, seed).without(one).run()).0;
    prop_assert_eq!(&without_one, &plain, "without {}", one.name());
    let none = Shortcut::ALL
        .into_iter()
        .fold(Simulation::new(scenario, seed), Simulation::without);
    prop_assert_eq!(&counts(none.run()).0, &plain, "without any");
    Ok((many, few))
}

/// Draws the next network of a strategy.
fn draw(network: &impl Strategy<Value = String>, runner: &mut TestRunner) -> Scenario {
    let tree = network.new_tree(runner).expect("a network");
    Scenario::of(&tree.current())
}

/// Returns the number of networks to draw: that in the environment variable `WHYLOSS_TWINS`, if
/// set.
fn drawn_networks() -> u32 {
    let many = std::env::var("WHYLOSS_TWINS").ok();
    many.and_then(|many| many.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(drawn_networks()))]

    /// Both engines agree, with and without observers, on every transport but QUIC and RTP, every
    /// queue and every channel. Flows may share links and hosts, stop, or carry media. Links may
    /// send packets twice.
    #[test]
    fn the_fast_engine_is_the_plain_one(
        text in prop_oneof![line_of_nodes(), copying_line(), dumbbell(), branches(), chain()],
        seed: u64,
    ) {
        agree(&Scenario::of(&text), seed)?;
    }
}

#[test]
fn the_fast_engine_is_the_plain_one_on_the_scenarios() {
    for (text, end) in [(DUMBBELL, 2.0), (PARKING_LOT, 2.0), (LAST_HOP, 30.0)] {
        agree(&scenario(text, end), 1).expect("the same");
    }
}

/// Some links deliver packets in bunches, so that answers wait at a link of the way back.
#[test]
fn answers_of_a_bunch_wait() {
    let aggregation = r#"aggregation = { packets = 8, airtime = "40 ms", access = "1 ms" },"#;
    let jitter = r#"jitter = { kind = "exponential", mean = "30 ms", in_order = true },"#;
    let trace = Opportunities::parse("1\n1\n1\n1\n8\n8\n8\n8\n12\n").expect("a trace");
    let codel = r#"aqm = "codel""#;
    for (bunches, aqm, trace) in [
        (aggregation, "", None),
        (jitter, "", None),
        ("", "", Some(&trace)),
        ("", codel, Some(&trace)),
    ] {
        let text = format!(
            r#"
            duration = "5 s"
            link = [
                {{ {bunches} from = "s", to = "t", both_ways = false, rate = "4 Mbit/s", delay = "5 ms", queue = {{ packets = 30, {aqm} }} }},
                {{ from = "t", to = "s", both_ways = false, rate = "200 kbit/s", delay = "5 ms", queue = {{ packets = 2 }} }},
            ]
            flow = [{{ from = "s", to = "t", transport = {{ kind = "tcp", recovery = "newreno", delayed_ack = "none" }} }}]
            "#
        );
        let mut scenario = scenario(&text, 5.0);
        scenario.links[0].link.trace = trace.cloned();
        agree(&scenario, 1).expect("the same");
    }
}

/// Small packets share the opportunity at which a large one arrives and finds the queue full or not.
#[test]
fn packets_share_an_opportunity() {
    for aqm in ["codel", "fq-codel"] {
        let text = format!(
            r#"
            duration = "10 s"
            link = [
                {{ from = "s1", to = "r", rate = "8 Mbit/s", delay = "1 ms", queue = {{ packets = 100 }} }},
                {{ from = "s2", to = "r", rate = "8 Mbit/s", delay = "1 ms", queue = {{ packets = 100 }} }},
                {{ from = "r", to = "q", rate = "1 Mbit/s", delay = "1 ms", queue = {{ bytes = "1700 B", aqm = "{aqm}" }} }},
                {{ from = "q", to = "d", rate = "20 Mbit/s", delay = "1 ms", queue = {{ packets = 100 }} }},
            ]
            flow = [
                {{ from = "s1", to = "d", packet = "400 B", transport = {{ kind = "cbr", rate = "960 kbit/s" }} }},
                {{ from = "s2", to = "d", packet = "1000 B", start = "8 ms", transport = {{ kind = "cbr", rate = "800 kbit/s" }} }},
            ]
            "#
        );
        let mut scenario = scenario(&text, 10.0);
        let link = scenario
            .links
            .iter_mut()
            .find(|link| link.link.rate == Rate::from_mbps(1));
        let trace = Opportunities::parse("10\n").expect("a trace");
        link.expect("the link").link.trace = Some(trace);
        agree(&scenario, 1).expect("the same");
    }
}

/// A packet overtakes another, which a later link loses. The TFRC sink learns of the loss when the
/// lost packet reaches that link, not earlier, and before it judges the loss.
#[test]
fn truths_of_overtaken_packets_reach_a_sink_in_time() {
    let reordering = [
        r#"jitter = { kind = "exponential", mean = "5 ms", in_order = false }"#,
        r#"channel = { kind = "bernoulli", loss = 0.1 }, arq = { tries = 4, turnaround = "8 ms", parallel = true, in_order = false }"#,
        r#"handovers = [{ at = "2 s", pause = "50 ms", waiting = "copied" }]"#,
    ];
    let ways = [
        ("", "50 ms", 1),
        // Two flows share the way back, so no sink is fused.
        (
            r#"{ from = "r", to = "m", rate = "10 Mbit/s", delay = "20 ms", queue = "unlimited" },"#,
            "10 us",
            2,
        ),
    ];
    for first in reordering {
        for (middle, delay, count) in ways {
            let node = if middle.is_empty() { "r" } else { "m" };
            let text = format!(
                r#"
                duration = "5 s"
                link = [
                    {{ from = "a", to = "r", rate = "10 Mbit/s", delay = "1 ms", queue = "unlimited", {first} }},
                    {middle}
                    {{ from = "{node}", to = "b", rate = "4 Mbit/s", delay = "{delay}", queue = "unlimited", channel = {{ kind = "bernoulli", loss = 0.05 }} }},
                ]
                flow = [{{ from = "a", to = "b", count = {count}, packet = "1000 B", classifier = "oracle", transport = {{ kind = "tfrc" }} }}]
                "#
            );
            agree(&Scenario::of(&text), 1).expect("the same");
        }
    }
}

/// A packet of a paced source is lost before the shared link, where the engine would hold it. The
/// source learns of the loss before it judges at the next acknowledgement.
#[test]
fn truths_reach_a_late_source_in_time() {
    let text = r#"
        duration = "60 s"
        link = [
            { from = "s", to = "m", rate = "100 Mbit/s", delay = "1 ms", queue = "unlimited" },
            { from = "m", to = "r", rate = "200 kbit/s", delay = "200 ms", queue = { packets = 1 } },
            { from = "r", to = "t", rate = "3 Mbit/s", delay = "5 ms", queue = { packets = 20 }, channel = { kind = "bernoulli", loss = 0.03 } },
        ]
        flow = [
            { from = "s", to = "t", packet = "1000 B", classifier = "oracle", transport = { kind = "tcp", recovery = "rack", controller = "bbr" } },
            { from = "r", to = "t", packet = "1000 B", transport = { kind = "cbr", rate = "1 Mbit/s" } },
        ]
    "#;
    for seed in 1..3 {
        agree(&Scenario::of(text), seed).expect("the same");
    }
}

/// The drawn networks mark packets of TCP and TFRC, on links with and without events of their own.
#[test]
fn marks_are_met() {
    let mut runner = TestRunner::deterministic();
    let [mut links, mut flows] = [[0; 2]; 2];
    for seed in 0..200 {
        let scenario = if seed % 2 == 0 {
            draw(&line_of_nodes(), &mut runner)
        } else {
            draw(&dumbbell(), &mut runner)
        };
        let run = Simulation::new(&scenario, seed).run().expect("room");
        for (link, spec) in run.links.iter().zip(&scenario.links) {
            let needs_events = whyloss_link::EventLink::is_needed(&spec.link);
            links[usize::from(needs_events)] += u32::from(link.marked > 0);
        }
        for (flow, spec) in run.flows.iter().zip(&scenario.flows) {
            let tfrc = matches!(spec.transport, Transport::Tfrc { .. });
            flows[usize::from(tfrc)] += u32::from(flow.marked > 0);
            assert!(flow.marked == 0 || spec.transport.is_ecn_capable());
        }
    }
    let few = [links, flows];
    assert!(few.as_flattened().iter().all(|&few| few >= 3), "{few:?}");
}

/// In the drawn networks, copies of all kinds of flows reach their sinks, and other copies are
/// lost. There are no more copies than sent packets.
#[test]
fn copies_are_met() {
    /// For each flow, how many copies and how many other packets its sink received; then the number
    /// of copies lost on links.
    struct Copies(Vec<[u64; 2]>, u64);
    impl Watch for Copies {
        fn on(&mut self, event: &Event<'_>) {
            match *event {
                Event::Arrived { flow, packet, .. } => {
                    self.0[flow][usize::from(!packet.copy)] += 1;
                }
                Event::Offered { packet, fate, .. } => {
                    self.1 += u64::from(packet.copy && matches!(fate, Fate::Lost(..)));
                }
                _ => {}
            }
        }
    }
    let mut runner = TestRunner::deterministic();
    let (mut kinds, mut lost) = ([0; 5], 0);
    for seed in 0..200 {
        let mut scenario = draw(&copying_line(), &mut runner);
        scenario.measure_from = Time::ZERO;
        let mut copies = Copies(vec![[0; 2]; scenario.flows.len()], 0);
        let run = Simulation::new(&scenario, seed)
            .watch(&mut copies)
            .run()
            .expect("room");
        lost += copies.1;
        for ((flow, spec), [again, once]) in run.flows.iter().zip(&scenario.flows).zip(copies.0) {
            let kind = match spec.transport {
                Transport::Datagrams { .. } => 0,
                Transport::Iftp { .. } => 1,
                Transport::Tfrc { .. } => 2,
                Transport::Web { .. } => 3,
                _ => 4,
            };
            kinds[kind] += u32::from(again > 0);
            assert_eq!(flow.received, again + once);
            let ended = once + flow.lost.congestion + flow.lost.wireless;
            assert!(ended <= flow.sent, "{} more", ended - flow.sent);
            assert!(flow.delivered <= flow.sent);
            assert!(kind > 2 || flow.delivered == once);
        }
    }
    assert!(
        kinds.iter().all(|&few| few >= 3) && lost > 100,
        "{kinds:?} {lost}"
    );
}

/// Without an observer, CoDel links forward packets ahead of time, which saves two events per
/// packet.
#[test]
fn prompt_links_are_met() {
    let queue = r#"{ kind = "codel", target = "2 ms", interval = "20 ms" }"#;
    let codel = DUMBBELL.replace(
        "{ packets = 367 }",
        &format!("{{ packets = 367, aqm = {queue} }}"),
    );
    assert_ne!(codel, DUMBBELL);
    let scenario = scenario(&codel, 2.0);
    let (plain, fast) = agree(&scenario, 1).expect("the same");
    let watched = measure(&scenario, 1, apart()).events;
    assert!(fast * 10 < plain * 7, "{fast} {plain}");
    assert!(fast * 10 < watched * 7, "{fast} {watched}");
}

/// The engine wakes a paced source when its packet is at its gate. This takes one event per packet
/// and one per answer.
#[test]
fn paced_sources_are_woken_late() {
    let links = DUMBBELL.split("[[flow]]").next().expect("links");
    for (transport, answers) in [
        (r#"{ kind = "tfrc" }"#, 0),
        (r#"{ kind = "cbr", rate = "9 Mbit/s" }"#, 0),
        (r#"{ kind = "iftp" }"#, 1),
        (
            r#"{ kind = "tcp", controller = "bbr", delayed_ack = "none" }"#,
            1,
        ),
    ] {
        let flow = r#"from = "s{i}", to = "d{i}", count = 10"#;
        let text = format!("flow = [{{ {flow}, transport = {transport} }}]\n{links}");
        let scenario = scenario(&text, 4.0);
        agree(&scenario, 1).expect("the same");
        let per_packet = |fuse| {
            let run = measure(&scenario, 1, fuse);
            let sent: u64 = run.flows.iter().map(|flow| flow.sent).sum();
            run.events as f64 / sent as f64 - f64::from(answers)
        };
        let (fused, apart) = (per_packet(FUSED), per_packet(apart()));
        assert!(
            fused < 1.25 && apart > 2.9,
            "{transport}: {fused} for {apart}"
        );
    }
}

/// The drawn networks have sources and sinks that the engine simulates ahead of time.
#[test]
fn fused_ends_are_met() {
    let mut runner = TestRunner::deterministic();
    let mut few = [0; 2];
    for seed in 0..60 {
        let scenarios = [
            draw(&branches(), &mut runner),
            draw(&dumbbell(), &mut runner),
        ];
        for (few, scenario) in few.iter_mut().zip(scenarios) {
            let events = |shortcuts| measure(&scenario, seed, shortcuts).events;
            *few += u32::from(events(FUSED) * 10 < events(apart()) * 8);
        }
    }
    assert!(
        few.iter().all(|&few| few >= 15),
        "{few:?} of 60 each save events"
    );
}

/// A sink from outside closes at its first datagram, which arrives after the end of the run.
#[test]
fn a_sink_ahead_of_time_does_not_close_after_the_end() {
    /// Sends one datagram if it is a source. Closes at the first datagram that it receives.
    struct End {
        silent: bool,
        closed: Option<Closed>,
    }
    impl Host for End {
        fn receive(&mut self, at: Time, _datagram: &[u8]) {
            let reason = String::new();
            self.closed = Some(Closed { at, reason });
        }
        fn wake(&mut self, _now: Time) {}
        fn next_timeout(&self) -> Time {
            Time::MAX
        }
        fn poll_transmit(&mut self, _now: Time, datagram: &mut Vec<u8>) -> bool {
            datagram.push(0);
            !std::mem::replace(&mut self.silent, true)
        }
        fn closed(&self) -> Option<Closed> {
            self.closed.clone()
        }
    }
    let text = r#"
        duration = "1 s"
        link = [{ from = "a", to = "b", rate = "8 Mbit/s", delay = "20 ms", queue = "unlimited" }]
        flow = [{ from = "a", to = "b", start = "START s", transport = "tcp" }]
    "#;
    for (start, closes) in [("0.97", true), ("0.99", false)] {
        let mut scenario = Scenario::of(&text.replace("START", start));
        let end = |silent| {
            Box::new(End {
                silent,
                closed: None,
            })
        };
        let hosts = Outside::new(move |_| Hosts {
            source: end(false),
            sink: end(true),
        });
        let classifier = Decider::unaware();
        scenario.flows[0].transport = Transport::Outside { hosts, classifier };
        agree(&scenario, 1).expect("the same");
        let run = Simulation::new(&scenario, 1).run().expect("room");
        assert_eq!(run.flows[0].closed.is_some(), closes);
    }
}
