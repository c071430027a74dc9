//! Runs calls in the simulator: the engines agree, the feedback formats agree, and repairs keep the
//! picture moving.

use whyloss_sim::{FlowResult, Scenario, Simulation};

/// Builds a call over `link`, with its feedback over the return link.
fn scenario(transport: &str, link: &str, seconds: u32) -> Scenario {
    whyloss_rtc::sim::install();
    let text = format!(
        r#"
        duration = "{seconds} s"
        measure_from = "10 s"
        link = [{{ name = "link", from = "a", to = "b", {link} }}]
        flow = [{{ name = "call", from = "a", to = "b", packet = "1200 B", transport = {{ kind = "rtp", {transport} }} }}]
        "#
    );
    Scenario::from_toml(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

const CLEAN: &str = r#"rate = "1 Mbit/s", delay = "50 ms", queue = { bytes = "37500 B" }"#;
const LOSSY: &str = r#"rate = "2 Mbit/s", delay = "50 ms", queue = { bytes = "75 kB" }, channel = { kind = "bernoulli", loss = 0.05 }"#;

fn call(scenario: &Scenario, seed: u64) -> FlowResult {
    let run = Simulation::new(scenario, seed).run().expect("runs");
    run.flows[0].clone()
}

/// Returns the rate on the wire, in Mbit/s.
fn rate(flow: &FlowResult, seconds: u32) -> f64 {
    flow.received_bytes as f64 * 8.0 / f64::from(seconds - 10) / 1e6
}

#[test]
fn a_call_fills_a_clean_link_without_freezing() {
    for feedback in ["twcc", "rfc8888"] {
        let transport = format!(r#"feedback = "{feedback}""#);
        let flow = call(&scenario(&transport, CLEAN, 60), 1);
        let call = flow.call.as_deref().expect("a call");
        assert!(
            (0.75..1.0).contains(&rate(&flow, 60)),
            "{feedback} {flow:?}"
        );
        // 30 frames per second from 10 to 59.7 s.
        assert!((1_480..1_500).contains(&call.expected), "{call:?}");
        assert_eq!((call.freezes, call.never()), (0, 0), "{feedback} {call:?}");
        let p95 = call.delays.quantile_ms(0.95).expect("frames");
        assert!((50.0..150.0).contains(&p95), "{p95}");
        assert!(call.ramp.expect("full").as_secs_f64() < 20.0, "{call:?}");
    }
}

/// The fast and the plain engine agree to the byte for every estimator, with losses in both
/// directions.
#[test]
fn engines_agree_and_the_seed_fixes_the_run() {
    let both = format!(
        r#"{LOSSY} }}, {{ name = "back", from = "b", to = "a", rate = "2 Mbit/s", delay = "50 ms", queue = {{ packets = 50 }}, channel = {{ kind = "bernoulli", loss = 0.05 }}"#
    );
    for estimator in ["whyloss", "oracle", "nada", "scream", "gcc"] {
        if estimator == "gcc" && cfg!(not(feature = "rtc-interceptor")) {
            continue;
        }
        for feedback in ["twcc", "rfc8888"] {
            let transport = format!(
                r#"feedback = "{feedback}", estimator = "{estimator}", key_interval = "3 s", pause = ["12 s", "14 s"]"#
            );
            let scenario = scenario(&transport, &both, 20);
            let first = Simulation::new(&scenario, 7).run().expect("runs");
            let again = Simulation::new(&scenario, 7).run().expect("runs");
            let plain = Simulation::new(&scenario, 7).plain().run().expect("runs");
            assert_eq!(first, again, "{transport}");
            assert_eq!((&first.flows, &first.links), (&plain.flows, &plain.links));
            assert_ne!(first, Simulation::new(&scenario, 8).run().expect("runs"));
            let call = first.flows[0].call.as_deref().expect("a call");
            // The measured eight of ten seconds have about 240 frames. Those of the last quarter
            // second do not count.
            assert!((230..=235).contains(&call.expected), "{call:?}");
            assert!(call.shown > 180, "{transport}: {call:?}");
        }
    }
}

/// The host receives the oracle's causes, so radio losses no longer lower the rate.
#[test]
fn an_oracle_is_told_causes() {
    let [told, judged] = ["oracle", "whyloss"].map(|estimator| {
        let transport = format!(r#"estimator = "{estimator}", most = "4 Mbit/s""#);
        let lossy = LOSSY.replace("0.05", "0.2");
        call(&scenario(&transport, &lossy, 40), 1)
    });
    assert_ne!(told.received_bytes, judged.received_bytes);
    assert!(rate(&told, 40) > 1.3, "{:?}", told.lost);
}

/// Without repairs, each loss freezes the picture until the next key frame.
#[test]
fn repairs_keep_the_picture_moving() {
    let [with, without] = ["true", "false"].map(|nack| {
        let flow = call(&scenario(&format!("nack = {nack}"), LOSSY, 40), 1);
        *flow.call.expect("a call")
    });
    assert!(with.share(with.never()) < Some(0.02), "{with:?}");
    assert!(without.share(without.never()) > Some(0.3), "{without:?}");
    assert!(without.freezes > with.freezes, "{without:?}");
}

#[test]
fn options_are_checked() {
    let refused = |transport: &str| {
        whyloss_rtc::sim::install();
        let text = format!(
            "duration = \"1 s\"\nlink = [{{ from = \"a\", to = \"b\", rate = \"1 Mbit/s\", delay = \"1 ms\", queue = \"unlimited\" }}]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"rtp\", {transport} }}"
        );
        let error = Scenario::from_toml(&text, "test.toml", &[]).expect_err("wrong");
        error.to_string()
    };
    assert!(refused(r#"start = "10 kbit/s""#).contains("150 kbit/s to 1500 kbit/s"));
    assert!(refused(r#"most = "10 kbit/s""#).contains("at least 150 kbit/s"));
    assert!(refused(r#"estimator = "gc""#).contains("gcc"));
    assert!(refused(r#"interval = "1 us""#).contains("1 ms"));
    assert!(refused(r#"pause = ["2 s", "1 s"]"#).contains("its end second"));
}
