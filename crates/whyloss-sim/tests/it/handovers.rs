//! Runs flows over handovers that copy the waiting packets.

use crate::delays;

use whyloss::Duration;
use whyloss_link::Backlog;
use whyloss_sim::{Event, FlowResult, Needs, Scenario, Simulation, Watch};

/// Counts the copies that the first flow's sink received.
#[derive(Default)]
struct Copies(u64);

impl Watch for Copies {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Arrived { flow, packet, .. } = *event {
            self.0 += u64::from(packet.copy && flow == 0);
        }
    }
}

/// Returns a scenario with a flow over a radio and a second link. The radio may copy its backlog at
/// 2 s; the second link loses a share `loss` of the packets.
fn scenario(flow: &str, copies: bool, loss: f64) -> Scenario {
    let text = format!(
        r#"
        duration = "30 s"
        link = [
            {{ from = "a", to = "m", rate = "4 Mbit/s", delay = "20 ms", queue = {{ packets = 100 }}, handovers = [{{ at = "2 s", pause = "50 ms", waiting = "copied" }}] }},
            {{ from = "m", to = "b", rate = "100 Mbit/s", delay = "0 s", queue = "unlimited", channel = {{ kind = "bernoulli", loss = {loss} }}, reverse_channel = "none" }},
        ]
        flow = [{{ from = "a", to = "b", packet = "1000 B", {flow} }}]"#
    );
    let mut scenario = Scenario::from_toml(&text, "test", &[]).expect("valid");
    for link in &mut scenario.links {
        for handover in &mut link.link.handovers {
            if !copies {
                handover.waiting = Backlog::Kept;
            }
        }
    }
    scenario
}

/// Returns the counts of the flow, and the number of copies that its sink received.
fn of(scenario: &Scenario) -> (FlowResult, u64) {
    let mut copies = Copies::default();
    let run = Simulation::new(scenario, 1)
        .watch(&mut copies)
        .run()
        .expect("room");
    (run.flows[0].clone(), copies.0)
}

/// Of a window of 40 packets, 20 are propagating in either direction (40 ms at 2 ms each), one is
/// in transmission, and 18 or 19 wait. Waiting packets arrive twice. 2000 segments are delivered
/// once each; the sink counts repeated ones as copies.
#[test]
fn tcp_has_the_bunch_twice_and_delivers_it_once() {
    for recovery in ["newreno", "sack", "rack"] {
        let transport = format!(
            r#"transport = {{ kind = "tcp", recovery = "{recovery}", delayed_ack = "none", window = 40, segments = 2000 }}"#
        );
        let (kept, none) = of(&scenario(&transport, false, 0.0));
        assert_eq!(
            (kept.sent, kept.received, kept.delivered, none),
            (2000, 2000, 2000, 0)
        );
        let (flow, copies) = of(&scenario(&transport, true, 0.0));
        assert!((18..=19).contains(&copies), "{recovery}: {copies}");
        assert_eq!(flow.delivered, 2000);
        assert_eq!(flow.received, flow.sent + copies);
        assert_eq!((flow.lost.congestion, flow.lost.wireless), (0, 0));
        // Only NewReno takes duplicate acknowledgements without SACK blocks for losses.
        assert_eq!(flow.sent > 2000, recovery == "newreno", "{recovery}");
    }
}

/// Sinks do not distinguish a packet from its copy, and another flow keeps the queue busy. Each
/// sent packet is delivered or lost, whether or not the next link loses packets. Copies count as
/// neither and have no delay.
#[test]
fn what_was_sent_was_delivered_or_lost_once() {
    let transports = [
        r#"transport = { kind = "cbr", rate = "1 Mbit/s" }"#,
        r#"transport = "tfrc""#,
        r#"transport = "iftp""#,
    ];
    for (transport, loss) in transports.iter().flat_map(|t| [(t, 0.0), (t, 0.02)]) {
        let beside = r#"{ name = "rival", from = "a", to = "b", packet = "1000 B", transport = { kind = "cbr", rate = "3.9 Mbit/s" }"#;
        let flows = format!(r#"stop = "4 s", {transport} }}, {beside}"#);
        let scenario = scenario(&flows, true, loss);
        let (flow, copies) = of(&scenario);
        assert!(copies > 0, "{transport}");
        assert_eq!(flow.received, flow.delivered + copies, "{transport}");
        let lost = flow.lost.congestion + flow.lost.wireless;
        assert_eq!(flow.sent, flow.delivered + lost, "{transport}");
        assert!(lost > 0 || loss == 0.0, "{transport}");
        let delays = delays::run(&scenario).delays;
        assert_eq!(delays[0].count(), flow.delivered, "{transport}");
    }
}

/// A receiver plays every frame once, at its first arrival.
#[test]
fn frames_are_played_once() {
    for transport in [
        r#"stop = "4 s", transport = { kind = "cbr", rate = "5 Mbit/s" }, application = { kind = "voice", interval = "1980 us", playout = ["500 ms"] }"#,
        r#"start = "990 ms", stop = "4 s", transport = "tcp", application = { kind = "video", fps = 25, rate = "3.6 Mbit/s", playout = ["500 ms"] }"#,
    ] {
        let frames = |copies| {
            let scenario = scenario(transport, copies, 0.0);
            let run = Simulation::new(&scenario, 1).measure(Needs::all(&scenario));
            assert_eq!(of(&scenario).1 > 0, copies);
            run.expect("room").frames[0][0]
        };
        let (kept, copied) = (frames(false), frames(true));
        assert_eq!(copied.playout, Duration::from_millis(500));
        assert_eq!((kept.whole, kept.frames), (copied.whole, copied.frames));
        assert_eq!(copied.never(), 0);
    }
}
