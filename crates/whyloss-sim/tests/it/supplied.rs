//! Checks that every transport sends exactly the data that its application produces, when allowed.

use crate::delays;
use whyloss_sim::{CsvFiles, DelaySummary, Measurement, Scenario, Simulation, Trace, TraceOptions};

/// Returns a scenario with a frame of two 1000-byte packets every 40 ms: 400 kbit/s over a link
/// that may be slower.
fn scenario(transport: &str, link: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "20.01 s"
        [[link]]
        from = "a"
        to = "b"
        rate = "{link}"
        delay = "100 ms"
        queue = "unlimited"
        [[flow]]
        name = "media"
        from = "a"
        to = "b"
        packet = "1000 B"
        transport = {transport}
        application = {{ kind = "video", rate = "400 kbit/s" }}
        "#
    );
    Scenario::from_toml(&text, "test.toml", &[]).unwrap()
}

const TRANSPORTS: [&str; 9] = [
    r#"{ kind = "cbr", rate = "10 Mbit/s" }"#,
    r#"{ kind = "tcp", controller = "reno", recovery = "newreno" }"#,
    r#"{ kind = "tcp", controller = "bbr" }"#,
    r#"{ kind = "tcp", controller = "vegas" }"#,
    r#"{ kind = "tcp", base = "ns2" }"#,
    r#""iftp""#,
    r#"{ kind = "iftp", window = "blocking" }"#,
    r#""tfrc""#,
    r#"{ kind = "tfrc", base = "ns2" }"#,
];

fn measure(transport: &str, link: &str) -> (Measurement, Vec<DelaySummary>) {
    let run = delays::run(&scenario(transport, link));
    (run.measurement, run.delays)
}

/// 501 frames are captured from 0 to 20 s, and all but those of the last round trip have left. A
/// handshake takes one segment more.
#[test]
fn nothing_is_sent_that_was_not_produced() {
    for transport in TRANSPORTS {
        let (measurement, _) = measure(transport, "10 Mbit/s");
        let sent = measurement.flows[0].sent;
        let handshake = u64::from(transport == TRANSPORTS[4]);
        assert!(
            (980..=1002 + handshake).contains(&sent),
            "{transport}: {sent}"
        );
        // There is an event per packet and link, acknowledgement and capture, and some timers: the
        // source does not spin.
        assert!(measurement.events < 8_000, "{transport}: {measurement:?}");
    }
}

/// On a link of 200 kbit/s, a transport sends half of the produced data and never stops.
#[test]
fn a_slow_link_is_filled() {
    for transport in TRANSPORTS {
        let (measurement, _) = measure(transport, "200 kbit/s");
        let used = measurement.links[0].utilisation(measurement.window);
        assert!(used > 0.7, "{transport}: {used}");
        assert!(measurement.events < 8_000, "{transport}: {measurement:?}");
    }
}

/// Datagrams leave as they are produced: back to back at the source's rate, 0.8 ms each at 10
/// Mbit/s.
#[test]
fn datagrams_leave_at_once() {
    let (measurement, delays) = measure(TRANSPORTS[0], "10 Mbit/s");
    assert_eq!(measurement.flows[0].sent, 1002);
    // 20 s of frames; the last has 10 ms to arrive, so it does not.
    assert_eq!(measurement.flows[0].received, 996);
    assert_eq!(delays[0].max_ms(), Some(100.8));
}

/// With a window of one segment, each segment takes a round trip. The application does not limit
/// the window then, so it grows until it is large enough.
#[test]
fn the_window_grows_with_what_the_application_needs() {
    let directory = tempfile::tempdir().unwrap();
    let transport = r#"{ kind = "tcp", initial_window = 1 }"#;
    let scenario = scenario(transport, "10 Mbit/s");
    let files = CsvFiles::create(directory.path()).unwrap();
    let mut trace = Trace::new(&scenario, TraceOptions::default(), files);
    Simulation::new(&scenario, 1)
        .watch(&mut trace)
        .run()
        .unwrap();
    trace.finish().unwrap();
    let text = std::fs::read_to_string(directory.path().join("sources.csv")).unwrap();
    let windows: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(2).unwrap().parse().unwrap())
        .collect();
    let most = windows.iter().copied().fold(0.0, f64::max) / 960.0;
    // 400 kbit/s over a round trip of 0.2 s are 10 segments; the data that waited while the window
    // was small add about as many.
    assert!((8.0..=40.0).contains(&most), "{most} segments");
}
