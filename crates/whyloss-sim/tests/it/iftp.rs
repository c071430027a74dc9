//! Checks IFTP in the simulator: as friendly as Reno, and faster with a classifier if the radio
//! causes the losses.

use whyloss::{Duration, Rate, Time};
use whyloss_sim::scenario::Transport;
use whyloss_sim::{CsvFiles, FlowResult, Scenario, Simulation, Trace, TraceOptions};

/// Returns a scenario with a flow over 10 Mbit/s, a round trip of 100 ms and an unlimited queue. A
/// radio loses packets of 1024 bytes with probability `loss`.
fn scenario(transport: &str, classifier: &str, loss: f64) -> Scenario {
    let text = format!(
        r#"
        duration = "1010 s"
        measure_from = "10 s"
        [[link]]
        from = "a"
        to = "b"
        rate = "10 Mbit/s"
        delay = "50 ms"
        queue = "unlimited"
        channel = {{ kind = "bernoulli", loss = {loss} }}
        [[flow]]
        name = "media"
        from = "a"
        to = "b"
        packet = "1024 B"
        transport = {transport}
        classifier = "{classifier}"
        "#
    );
    Scenario::from_toml(&text, "test.toml", &[]).unwrap()
}

const IFTP: &str = r#""iftp""#;
const BLOCKING: &str = r#"{ kind = "iftp", window = "blocking" }"#;
/// The paper's constants (ELA-2): threshold 32, at most 50 segments, an acknowledgement for each.
const RENO: &str = r#"{ kind = "tcp", recovery = "reno", delayed_ack = "none", window = 50, initial_window = 1, initial_ssthresh = 32, limited_transmit = false }"#;

fn measure(transport: &str, classifier: &str, loss: f64, seed: u64) -> FlowResult {
    let scenario = scenario(transport, classifier, loss);
    let run = Simulation::new(&scenario, seed)
        .run()
        .expect("it passes its checks");
    run.flows.into_iter().next().expect("a flow")
}

/// Returns the mean number of packets that arrive in 1000 s, over four seeds.
fn packets(transport: &str, classifier: &str, loss: f64) -> f64 {
    let received = (1..=4).map(|seed| measure(transport, classifier, loss, seed).delivered);
    received.sum::<u64>() as f64 / 4.0
}

/// Both halve at a loss and add one in each round trip, so both send about 1.22/(R√p), at most
/// 50/R. The allowed difference was fixed before the first run. IFTP finds a loss by three
/// acknowledgements a gap apart, which takes 3/n of a round trip. In a cycle of n/2 round trips,
/// this costs 6/n², up to a tenth at n = 8. Reno's acknowledgements come close together, because
/// its window leaves in bursts. In return, IFTP repairs nothing: no retransmission is lost, and two
/// losses in a window are one reduction. Reno halves again or waits a second for its timer, at 1 %
/// loss up to a fifth of its time.
#[test]
fn as_friendly_as_reno() {
    for (loss, band) in [
        (0.001, 0.85..1.15),
        (0.002, 0.85..1.2),
        (0.005, 0.85..1.25),
        (0.01, 0.85..1.4),
    ] {
        let (iftp, reno) = (
            packets(IFTP, "unaware", loss),
            packets(RENO, "unaware", loss),
        );
        let ratio = iftp / reno;
        println!("loss {loss}: IFTP {iftp}, Reno {reno}, ratio {ratio:.3}");
        assert!(
            band.contains(&ratio),
            "loss {loss}: {iftp} to {reno} is {ratio}"
        );
    }
}

/// Without losses, n is 50, and 50 packets arrive per round trip of 100 ms plus the 0.8192 ms that
/// a packet takes. The older version's windows take 49/50 of a round trip for their packets to
/// leave, and then one more to be acknowledged.
#[test]
fn the_largest_window_by_hand() {
    let round_trip = 0.100_851_2;
    let expected = 1000.0 * 50.0 / round_trip;
    let sliding = measure(IFTP, "unaware", 0.0, 1);
    assert!(
        (sliding.delivered as f64 - expected).abs() < 2.0,
        "{sliding:?}"
    );
    let expected = expected / 1.98;
    let blocking = measure(BLOCKING, "unaware", 0.0, 1);
    assert!(
        (blocking.delivered as f64 - expected).abs() < 51.0,
        "{blocking:?}"
    );
}

/// With an oracle, which finds no congestion, IFTP keeps its rate. Enhanced Veno gives the same
/// verdicts, because no packet ever waits here.
#[test]
fn classifiers_spare_the_radio() {
    for transport in [IFTP, BLOCKING] {
        let unaware = measure(transport, "unaware", 0.01, 1);
        assert_eq!(unaware.packets.mw(), Some(1.0));
        let oracle = measure(transport, "oracle", 0.01, 1);
        assert!(oracle.delivered > unaware.delivered, "{oracle:?}");
        assert_eq!(
            (oracle.packets.mc(), oracle.packets.mw()),
            (None, Some(0.0))
        );
        assert_eq!(oracle.gaps.mw(), Some(0.0));
        // Every packet of a loss is scored once, except those in flight at the ends of the window.
        let scored = oracle.packets.total(whyloss::Cause::Wireless);
        assert!(scored.abs_diff(oracle.lost.wireless) < 10, "{oracle:?}");
    }
    let unaware = measure(IFTP, "unaware", 0.01, 1);
    let iftpv = measure(IFTP, "veno-enhanced", 0.01, 1);
    // Only timeouts are misjudged: enhanced Veno calls them congestion.
    assert!(iftpv.packets.mw() < Some(0.05), "{iftpv:?}");
    assert!(iftpv.delivered as f64 > 1.5 * unaware.delivered as f64);
}

/// On a queue of 20 packets, every loss is congestion, and the oracle's flow acts like the unaware
/// one. The sender does not get the transmission time of its link; otherwise, its packets would
/// never wait.
#[test]
fn an_oracle_sees_congestion() {
    let flow = |classifier: &str| {
        let unknown = r#"{ kind = "iftp", transmission_time = "0 s" }"#;
        let mut scenario = scenario(unknown, classifier, 0.0);
        scenario.links[0].link.rate = Rate::from_mbps(1);
        scenario.links[0].link.queue.limit = whyloss_link::queue::Limit::Packets(20);
        let run = Simulation::new(&scenario, 1)
            .run()
            .expect("it passes its checks");
        run.flows.into_iter().next().expect("a flow")
    };
    let (oracle, unaware) = (flow("oracle"), flow("unaware"));
    assert!(oracle.lost.congestion > 0 && oracle.lost.wireless == 0);
    assert_eq!(oracle, unaware);
    assert_eq!(oracle.packets.mc(), Some(0.0));
}

/// τ is that of the flow's first link: 0.8192 ms for 1024 bytes at 10 Mbit/s.
#[test]
fn the_first_link_says_how_long_a_packet_takes() {
    let scenario = scenario(IFTP, "unaware", 0.0);
    let flow = &scenario.flows[0];
    let Transport::Iftp { options, .. } = &flow.transport else {
        panic!("{:?}", flow.transport);
    };
    assert_eq!(options.transmission_time, None);
    assert_eq!(
        scenario.transmission_time(flow),
        Some(Duration::from_nanos(819_200))
    );
}

/// The trace shows the sender's window: 1 packet, then 2 when the first is acknowledged, a round
/// trip after time 0.
#[test]
fn the_window_is_traced() {
    let scenario = scenario(IFTP, "unaware", 0.0);
    let directory = tempfile::tempdir().unwrap();
    let options = TraceOptions {
        to: Time::from_nanos(1_000_000_000),
        ..TraceOptions::default()
    };
    let files = CsvFiles::create(directory.path()).unwrap();
    let mut trace = Trace::new(&scenario, options, files);
    Simulation::new(&scenario, 1)
        .watch(&mut trace)
        .run()
        .unwrap();
    trace.finish().unwrap();
    let text = std::fs::read_to_string(directory.path().join("sources.csv")).unwrap();
    let mut rows = text
        .lines()
        .map(|row| row.split(',').take(3).collect::<Vec<_>>());
    assert_eq!(rows.next(), Some(vec!["time_s", "flow", "cwnd_bytes"]));
    assert_eq!(rows.next(), Some(vec!["0.000000000", "media", "1024"]));
    assert_eq!(rows.next(), Some(vec!["0.100851200", "media", "2048"]));
}
