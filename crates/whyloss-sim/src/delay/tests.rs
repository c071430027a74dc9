use super::*;
use crate::scenario::ScenarioFile;
use crate::{Measurement, Simulation};

/// Returns a scenario in which packets of 1000 bytes take 8 ms on a link of 1 Mbit/s, and 10 ms to
/// propagate.
fn scenario(flow: &str, channel: &str) -> Scenario {
    let text = format!(
        "duration = \"10 s\"\nmeasure_from = \"1 s\"\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"unlimited\"\n{channel}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\npacket = \"1000 B\"\n{flow}\n"
    );
    let file = ScenarioFile::parse(&text, "test.toml", &[]).expect("a scenario");
    file.scenario
}

fn delay(scenario: &Scenario) -> DelaySummary {
    let mut delays = Delays::new(scenario);
    let measurement = Simulation::new(scenario, 1)
        .observe(&mut delays)
        .expect("it can be run");
    let unwatched = Simulation::new(scenario, 1).run().expect("again");
    let events = measurement.events;
    assert_eq!(
        measurement,
        Measurement {
            events,
            ..unwatched
        }
    );
    let delay = delays.into_flows().remove(0);
    assert_eq!(delay.count(), measurement.flows[0].delivered);
    delay
}

#[test]
fn a_steady_source_takes_the_same_time_always() {
    let flow = r#"transport = { kind = "cbr", rate = "400 kbit/s" }"#;
    let delay = delay(&scenario(flow, ""));
    // A packet leaves every 20 ms. Those of 0.982 s and 9.982 s both arrive in the window.
    assert_eq!(delay.count(), 450);
    assert_eq!((delay.min_ms(), delay.max_ms()), (Some(18.0), Some(18.0)));
    assert_eq!(
        (delay.variance_ms2(), delay.rfc3550_ms()),
        (Some(0.0), Some(0.0))
    );
}

/// At twice the link's rate, the queue grows by 4 ms with each packet. The k-th packet (from 0)
/// takes 18 + 4k ms and arrives at 18 + 8k. In the window are k = 123 (1002 ms) to 1247 (9994 ms).
#[test]
fn a_growing_queue_by_hand() {
    let flow = r#"transport = { kind = "cbr", rate = "2 Mbit/s" }"#;
    let delay = delay(&scenario(flow, ""));
    assert_eq!(delay.count(), 1125);
    assert_eq!(delay.min_ms(), Some(18.0 + 4.0 * 123.0));
    assert_eq!(delay.max_ms(), Some(18.0 + 4.0 * 1247.0));
    let mean = delay.mean_ms().expect("packets");
    assert!((mean - (18.0 + 4.0 * 685.0)).abs() < 1e-9, "{mean}");
    // The variance of a uniform sequence with steps of 4: 4²·(n² − 1)/12.
    let variance = delay.variance_ms2().expect("packets");
    let expected = 16.0 * (1125.0 * 1125.0 - 1.0) / 12.0;
    assert!((variance / expected - 1.0).abs() < 1e-12, "{variance}");
    let jitter = delay.rfc3550_ms().expect("packets");
    assert!((jitter - 4.0).abs() < 1e-9, "{jitter}");
}

/// With a window of one segment, no queue builds: the delay is 18 ms, and longer by the
/// retransmission timer after a loss.
#[test]
fn retransmissions_lengthen_the_delay() {
    let flow = r#"transport = { kind = "tcp", window = 1, delayed_ack = "none" }"#;
    let clean = delay(&scenario(flow, ""));
    assert_eq!((clean.min_ms(), clean.max_ms()), (Some(18.0), Some(18.0)));
    let lossy = r#"channel = { kind = "bernoulli", loss = 0.1 }"#;
    let lossy = delay(&scenario(flow, lossy));
    assert_eq!(lossy.min_ms(), Some(18.0));
    assert_eq!(lossy.quantile_ms(0.5), Some(18.0));
    // The delay includes a timeout of at least 200 ms. Counted from the retransmission, it would be
    // 18 ms.
    assert!(lossy.max_ms() > Some(218.0), "{:?}", lossy.max_ms());
}

/// Lost acknowledgements make the sender repeat arrived segments. These copies have no delay.
#[test]
fn further_copies_are_not_counted() {
    let flow = r#"transport = { kind = "tcp", window = 1, delayed_ack = "none" }"#;
    let lossy = r#"reverse_channel = { kind = "bernoulli", loss = 0.1 }"#;
    let scenario = scenario(flow, lossy);
    let mut delays = Delays::new(&scenario);
    let measurement = Simulation::new(&scenario, 1)
        .observe(&mut delays)
        .expect("it can be run");
    let counts = &measurement.flows[0];
    assert!(counts.received > counts.delivered);
    let delay = delays.into_flows().remove(0);
    assert_eq!(delay.count(), counts.delivered);
    assert_eq!(delay.max_ms(), Some(18.0));
}
