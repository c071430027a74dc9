//! Runs CUBIC, Veno and BBR in complete TCP flows: one flow over 10 Mbit/s and 100 ms, then a link
//! that loses packets independently. The queue holds a bandwidth-delay product. Only the time after
//! the first ten seconds counts.

use whyloss::congestion::{BacklogRtt, ControllerKind, ControllerSpec, CubicDialect, Decrease};
use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec};
use whyloss_sim::decider::SENDERS;
use whyloss_sim::host::tcp::Options;
use whyloss_sim::scenario::{Connection, Flow, Transport};
use whyloss_sim::{FlowResult, Scenario, Simulation};

/// The measured time, in seconds.
const SECONDS: i64 = 120;
const SEGMENT: u32 = 1460;

/// The results of the flow.
struct Outcome {
    /// The share of the link's time that packets took, lost ones included.
    used: f64,
    /// The segments delivered per 100 ms.
    per_rtt: f64,
    flow: FlowResult,
}

fn over(kind: ControllerKind, loss: f64, classifier: &str) -> Outcome {
    let link = |name: &str, from, to, delay, channel| Connection {
        name: name.to_owned(),
        from,
        to,
        link: LinkSpec {
            rate: Rate::from_mbps(10),
            delay,
            queue: QueueSpec {
                limit: Limit::Packets(83),
                ..QueueSpec::default()
            },
            channel,
            ..LinkSpec::default()
        },
    };
    let (wired, radio) = (Duration::from_millis(50), Duration::from_micros(10));
    // The oracle remembers corrupted segments: if their retransmission is also lost, the cause is
    // still the radio.
    let remembers = [("remembers", 1.0)];
    let parameters = &remembers[..usize::from(classifier == "oracle")];
    let classifier = SENDERS.build(classifier, parameters).expect("registered");
    let classifier = classifier.expect("in range");
    let transport = Transport::Tcp {
        classifier,
        controller: None,
        options: Options {
            controller: ControllerSpec {
                kind,
                ..ControllerSpec::default()
            },
            ..Options::rfc(SEGMENT)
        },
    };
    let scenario = Scenario {
        title: String::new(),
        nodes: ["s", "n", "d"].map(str::to_owned).to_vec(),
        links: vec![
            link("wired", 0, 1, wired, ChannelSpec::None),
            link("radio", 1, 2, radio, ChannelSpec::Bernoulli { loss }),
            link("back 1", 2, 1, radio, ChannelSpec::None),
            link("back 2", 1, 0, wired, ChannelSpec::None),
        ],
        flows: vec![Flow::new("f", (0, 2), SEGMENT + 40, transport)],
        measure_from: Time::ZERO + Duration::from_secs(10),
        end: Time::ZERO + Duration::from_secs(10 + SECONDS),
        ..Scenario::default()
    };
    let measured = Simulation::new(&scenario, 1)
        .run()
        .expect("nothing is wrong with it");
    let flow = measured.flows[0].clone();
    let packets = f64::from(SEGMENT + 40) * 8.0 / 10e6;
    Outcome {
        used: flow.sent as f64 * packets / SECONDS as f64,
        per_rtt: flow.delivered as f64 / (SECONDS as f64 * 10.0),
        flow,
    }
}

#[test]
fn bbr_fills_the_path_without_filling_the_queue() {
    let bbr = over(ControllerKind::Bbr, 0.0, "unaware");
    assert!(bbr.used > 0.95, "{}", bbr.used);
    assert_eq!((bbr.flow.lost.congestion, bbr.flow.timeouts), (0, 0));
    let reno = over(ControllerKind::Reno(Decrease::FlightSize), 0.0, "unaware");
    assert!(reno.flow.lost.congestion > 0);
}

#[test]
fn bbr_shrugs_off_losses_that_are_called_wireless() {
    for loss in [0.01, 0.05] {
        let aware = over(ControllerKind::Bbr, loss, "oracle");
        assert!(aware.used > 0.9, "{loss}: {}", aware.used);
    }
    // Without a classifier, 5 % is above BBR's threshold of 2 %, …
    let unaware = over(ControllerKind::Bbr, 0.05, "unaware");
    assert!(unaware.used < 0.3, "{}", unaware.used);
    // … and 0.1 % is not.
    let unaware = over(ControllerKind::Bbr, 0.001, "unaware");
    assert!(unaware.used > 0.9, "{}", unaware.used);
}

#[test]
fn cubic_has_the_windows_of_its_rfc() {
    assert!(over(ControllerKind::Cubic(CubicDialect::Rfc9438), 0.0, "unaware").used > 0.95);
    // RFC 9438 table 1 has 12 segments at 1 %, for losses at equal distances. A delayed
    // acknowledgement grows by two.
    let lossy = over(
        ControllerKind::Cubic(CubicDialect::Rfc9438),
        0.01,
        "unaware",
    )
    .per_rtt;
    assert!((lossy - 12.0).abs() < 1.8, "{lossy}");
}

#[test]
fn veno_gains_what_its_decrease_says() {
    let at = |kind| over(kind, 0.01, "unaware").per_rtt;
    let veno = at(ControllerKind::Veno(BacklogRtt::LastRound));
    let reno = at(ControllerKind::Reno(Decrease::FlightSize));
    // Nothing is queued, so the decrease is by b = 1/5 instead of 1/2. The mean window √(a·(2 −
    // b)/(2·b·p)) is then √3 times as large.
    let gain = veno / reno;
    assert!((gain / libm::sqrt(3.0) - 1.0).abs() < 0.1, "{gain}");
}
