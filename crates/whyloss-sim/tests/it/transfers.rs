//! Compares the duration of transfers of a finite size with values computed by hand.

use whyloss::{Duration, Time};
use whyloss_sim::trace::tables::TRANSFERS;
use whyloss_sim::trace::{Batch, Cell};
use whyloss_sim::{DelaySummary, Scenario, Simulation, Trace, TraceOptions, TransferResult};

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

/// Returns the rows of the table of transfers, flow by flow: beginning, size, and completion.
fn rows(scenario: &Scenario, batches: &[Batch]) -> Vec<Vec<(Time, u64, Option<Time>)>> {
    let mut flows = vec![Vec::new(); scenario.flows.len()];
    let time = |nanos: i64| Time::from_nanos(nanos.unsigned_abs());
    let of_table = batches.iter().filter(|batch| *batch.table() == TRANSFERS);
    for row in of_table.flat_map(Batch::rows) {
        let &[
            Cell::Nanos(began),
            Cell::Word(flow),
            Cell::Whole(size),
            done,
        ] = row
        else {
            panic!("{row:?}");
        };
        let done = match done {
            Cell::Nanos(done) => Some(time(done)),
            _ => None,
        };
        flows[flow as usize].push((time(began), size, done));
    }
    flows
}

/// Both engines write the same rows of a trace. From these follow the results: the completion times
/// of transfers that began in the window, and the number of incomplete ones.
#[test]
fn traces_have_every_transfer() {
    let text = r#"
        duration = "120 s"
        measure_from = "20 s"
        link = [{ from = "a", to = "b", rate = "4 Mbit/s", delay = "20 ms", queue = { packets = 20 }, channel = { kind = "bernoulli", loss = 0.01 } }]
        flow = [
            { name = "poisson", from = "a", to = "b", transport = "tcp", application = { kind = "transfers", size = "50 kB", arrivals = "poisson", per_second = 3 } },
            { name = "in-turn", from = "a", to = "b", transport = { kind = "tcp", handshake = true }, application = { kind = "transfers", size = "100 kB", arrivals = "in-turn" } },
            { name = "web", from = "a", to = "b", transport = { kind = "web", transfers = 1 } },
            { name = "late", from = "a", to = "b", start = "119 s", transport = "tcp", application = { kind = "transfers", size = "20 MB" } },
            { name = "greedy", from = "a", to = "b", transport = "tcp" },
        ]
    "#;
    let scenario = Scenario::from_toml(text, "test.toml", &[]).expect("valid");
    let traced = |plain: bool, from: Time| {
        let options = TraceOptions {
            from,
            ..TraceOptions::default()
        };
        let mut trace = Trace::new(&scenario, options, Vec::new());
        let simulation = Simulation::new(&scenario, 1).watch(&mut trace);
        let run = if plain {
            simulation.plain().run()
        } else {
            simulation.run()
        };
        let batches = trace.finish().expect("in memory");
        (run.expect("runs"), rows(&scenario, &batches))
    };
    let (run, fast) = traced(false, Time::ZERO);
    let (_, plain) = traced(true, Time::ZERO);
    assert_eq!(fast, plain);
    let in_window = |row: &&(Time, u64, Option<Time>)| row.0 >= scenario.measure_from;
    let (_, part) = traced(false, scenario.measure_from);
    for ((flow, rows), part) in run.flows.iter().zip(&fast).zip(part) {
        assert!(rows.is_sorted_by_key(|row| row.0), "{}", flow.name);
        let rows: Vec<_> = rows.iter().filter(in_window).copied().collect();
        assert_eq!(rows, part);
        let Some(result) = flow.transfers.as_deref() else {
            assert_eq!((flow.name.as_str(), rows.len()), ("greedy", 0));
            continue;
        };
        let mut times = DelaySummary::default();
        for (began, _, done) in &rows {
            if let Some(done) = done {
                times.record(*done - *began);
            }
        }
        assert_eq!(times, result.times, "{}", flow.name);
        let unfinished = rows.iter().filter(|row| row.2.is_none()).count();
        assert_eq!(unfinished as u64, result.unfinished, "{}", flow.name);
    }
    let finished = |index: usize| fast[index].iter().filter(|row| row.2.is_some()).count();
    assert!([0, 1, 2].iter().all(|&index| finished(index) > 50));
    // A packet carries 1460 B: 35 and 69 of them hold 50 and 100 kB, and 13,699 hold 20 MB.
    let sizes = |index: usize, size| fast[index].iter().all(|row| row.1 == size);
    assert!(sizes(0, 51_100) && sizes(1, 100_740));
    assert!(fast[2].iter().all(|row| row.1 > 0 && row.1 % 1_460 == 0));
    let start = Time::ZERO + Duration::from_secs(119);
    assert_eq!(fast[3], [(start, 13_699 * 1_460, None)]);
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
