//! Compares the duration of transfers of a finite size with values computed by hand.

use whyloss_sim::{Scenario, Simulation, TransferResult};

/// Runs a flow over 1 Mbit/s and 20 ms each way: a segment of 1460 B in a packet of 1500 B takes 12
/// ms on the link.
fn transfers(application: &str, rest: &str, seconds: u32) -> TransferResult {
    let text = format!(
        r#"
        duration = "{seconds} s"
        link = [{{ from = "a", to = "b", rate = "1 Mbit/s", delay = "20 ms", queue = "unlimited" }}]
        flow = [{{ from = "a", to = "b", {application}{rest} }}]
        "#
    );
    let scenario =
        Scenario::from_toml(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let fast = Simulation::new(&scenario, 1).run().expect("runs");
    let plain = Simulation::new(&scenario, 1).plain().run().expect("runs");
    assert_eq!(fast.flows, plain.flows);
    *fast.flows[0].transfers.clone().expect("has transfers")
}

fn tcp(application: &str) -> String {
    let tcp = r#"transport = { kind = "tcp", initial_window = 10, delayed_ack = "none" }"#;
    format!("{tcp}, application = {application}")
}

/// A window of ten packets covers the round trip of 52 ms, so the link is never idle: 100 · 12 ms +
/// 20 ms.
#[test]
fn a_transfer_takes_its_time_on_the_link() {
    let once = transfers(&tcp(r#"{ kind = "transfers", size = "146 kB" }"#), "", 10);
    assert_eq!((once.times.count(), once.unfinished), (1, 0));
    let mean = once.times.mean_ms().expect("one");
    assert!((mean - 1220.0).abs() < 0.01, "{mean}");
}

/// A packet carries 1460 B, whatever its segment counts for in the window.
#[test]
fn packets_carry_their_payload() {
    let tcp = r#"transport = { kind = "tcp", segment = "500 B", initial_window = 10, delayed_ack = "none" }, application = { kind = "transfers", size = "146 kB" }"#;
    let web = r#"transport = { kind = "web", segment = "500 B", transfers = 0.1, size = "1 kB", shape = 50, initial_window = 10 }"#;
    for (flow, seconds, expected) in [(tcp, 10, 1220.0), (web, 1_000, 32.0)] {
        let of = transfers(flow, "", seconds);
        let mean = of.times.mean_ms().expect("some");
        assert!((mean - expected).abs() < 0.1, "{mean}");
    }
}

/// A handshake takes a packet of its own, 12 ms and 20 ms, and its acknowledgement 0.32 ms and 20
/// ms. Later transfers have none.
#[test]
fn a_handshake_is_no_part_of_a_transfer() {
    let turns = transfers(
        r#"transport = { kind = "tcp", handshake = true, delayed_ack = "none" }, application = { kind = "transfers", size = "1460 B", arrivals = "in-turn" }"#,
        "",
        10,
    );
    let (least, most) = (turns.times.min_ms(), turns.times.max_ms());
    assert!((least.expect("a time") - 32.0).abs() < 0.1, "{turns:?}");
    assert!((most.expect("a time") - 84.32).abs() < 0.1, "{turns:?}");
    // The others follow each other every 52.32 ms, from 104.64 ms on.
    assert_eq!((turns.times.count(), turns.unfinished), (190, 1));
}

/// The next transfer begins 20 ms after the one before arrived, when its last acknowledgement is
/// back: every 1.24 s, and the ninth, which began at 9.92 s, still runs at the end.
#[test]
fn transfers_follow_one_another() {
    let turns = transfers(
        &tcp(r#"{ kind = "transfers", size = "146 kB", arrivals = "in-turn" }"#),
        "",
        10,
    );
    assert_eq!((turns.times.count(), turns.unfinished), (8, 1));
    let (least, most) = (turns.times.min_ms(), turns.times.max_ms());
    assert!((least.expect("a time") - 1220.0).abs() < 0.1, "{turns:?}");
    assert!((most.expect("a time") - 1220.0).abs() < 0.1, "{turns:?}");
}

/// An M/D/1 queue: at half the load, the mean time is 1.5 times that of a transfer alone, plus the
/// delay.
#[test]
fn transfers_at_random_wait_for_those_before() {
    let random = transfers(
        &tcp(
            r#"{ kind = "transfers", size = "14600 B", arrivals = "poisson", per_second = 4.1666667 }"#,
        ),
        "",
        4000,
    );
    assert!(
        random.times.count() > 16_000 && random.unfinished <= 10,
        "{random:?}"
    );
    let mean = random.times.mean_ms().expect("some");
    // Ten packets take 120 ms; 120 · 1.5 + 20 ms = 200 ms.
    assert!((195.0..207.0).contains(&mean), "{mean}");
}

/// Each transfer of one segment has a new connection: 12 ms and 20 ms. A transfer waits only if it
/// overlaps another.
#[test]
fn web_connections_are_timed_from_their_opening() {
    let web = r#"transport = { kind = "web", transfers = 0.01, size = "100 B", shape = 50, initial_window = 10 }"#;
    let web = transfers(web, "", 20_000);
    assert!(web.times.count() > 150, "{web:?}");
    let mean = web.times.mean_ms().expect("some");
    assert!((mean - 32.0).abs() < 0.1, "{mean}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |flow: &str| {
        let text = format!(
            r#"
            duration = "1 s"
            link = [{{ from = "a", to = "b", rate = "1 Mbit/s", delay = "1 ms", queue = "unlimited" }}]
            flow = [{{ from = "a", to = "b", {flow} }}]
            "#
        );
        Scenario::from_toml(&text, "test.toml", &[])
            .expect_err("refused")
            .to_string()
    };
    for (flow, said) in [
        (
            r#"transport = "tfrc", application = { kind = "transfers", size = "1 MB" }"#,
            "transfers need a transport that delivers everything: tcp or quic",
        ),
        (
            r#"transport = "tcp", application = { kind = "transfers" }"#,
            "size",
        ),
        (
            r#"transport = "tcp", application = { kind = "transfers", size = "0 B" }"#,
            "1 B to",
        ),
        (
            r#"transport = "tcp", application = { kind = "transfers", size = "1 MB", arrivals = "poisson" }"#,
            "per_second",
        ),
        (
            r#"transport = "tcp", application = { kind = "transfers", size = "1 MB", per_second = 1 }"#,
            "only `arrivals = \"poisson\"` has a rate",
        ),
        (
            r#"transport = "tcp", application = { kind = "transfers", size = "1 MB", arrivals = "poisson", per_second = 0 }"#,
            "more than 0",
        ),
    ] {
        let message = refused(flow);
        assert!(message.contains(said), "{message}");
    }
}
