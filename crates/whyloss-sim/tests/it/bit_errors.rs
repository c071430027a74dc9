//! Checks bit errors and partial coverage with every transport: which ends drop which packets, and
//! which are notified.

use std::fs;

use crate::tiny;
use whyloss::{Cause, Rate, iftp};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, QueueSpec};
use whyloss_sim::decider::{ReceiverDecider, SENDERS, SenderDecider};
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::scenario::Transport;
use whyloss_sim::{CsvFiles, Measurement, Scenario, Simulation, Trace, TraceOptions};

/// Returns the tiny network and a flow of IFTP, with this bit error rate on the radio, for
/// `seconds` s.
fn scenario(rate: f64, seconds: i64) -> Scenario {
    let mut scenario = tiny::scenario(1_000 * seconds);
    let mut flow = scenario.flows[0].clone();
    flow.name = "iftp".into();
    flow.transport = Transport::Iftp {
        options: iftp::Options::default(),
        classifier: SenderDecider::unaware(),
    };
    scenario.flows.push(flow);
    let radio = &mut scenario.links[1].link;
    radio.channel = ChannelSpec::BitErrors { rate };
    scenario
}

fn measure(scenario: &Scenario) -> Measurement {
    Simulation::new(scenario, 1)
        .run()
        .expect("it passes its checks")
}

/// IFTP-W with a coverage of the whole packet equals IFTP (ELA-7): traces are equal to the byte.
/// The same holds for every transport.
#[test]
fn coverage_of_the_packet_is_no_coverage() {
    let plain = scenario(2e-5, 20);
    let mut covered = plain.clone();
    for flow in &mut covered.flows {
        flow.coverage = Some(flow.wire_size());
    }
    assert_eq!(measure(&plain), measure(&covered));
    let traces = [&plain, &covered].map(|scenario| {
        let directory = tempfile::tempdir().expect("a directory");
        let options = TraceOptions::default();
        let files = CsvFiles::create(directory.path()).expect("files");
        let mut trace = Trace::new(scenario, options, files);
        Simulation::new(scenario, 1)
            .watch(&mut trace)
            .run()
            .expect("it passes its checks");
        trace.finish().expect("written");
        let entries = fs::read_dir(directory.path()).expect("there");
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("readable").path())
            .filter(|path| path.extension().is_some_and(|end| end == "csv"))
            .map(|path| {
                (
                    path.file_name().map(ToOwned::to_owned),
                    fs::read(&path).ok(),
                )
            })
            .collect();
        files.sort();
        files
    });
    assert_eq!(traces[0].len(), 5);
    assert!(traces[0] == traces[1]);
}

/// A sink drops 1 − e^(−8·rate·coverage) of the packets that reach it, within 4 σ, at every rate of
/// ELA-12.
#[test]
fn a_sink_drops_by_the_closed_form() {
    for (rate, coverage) in [
        (1e-3, None),
        (1e-3, Some(40)),
        (1e-4, None),
        (1e-4, Some(512)),
        (1e-5, None),
        (1e-5, Some(40)),
        (1e-6, None),
        (1e-7, None),
    ] {
        let mut scenario = scenario(rate, 2_000);
        scenario.flows.truncate(1);
        let flow = &mut scenario.flows[0];
        flow.packet_size = 1_024;
        flow.coverage = coverage;
        flow.transport = Transport::Datagrams {
            rate: Rate::from_mbps(1),
            pattern: Pattern::Steady {
                spacing: Spacing::Regular,
                changes: Vec::new(),
            },
        };
        let radio = &mut scenario.links[1].link;
        radio.rate = Rate::from_mbps(10);
        radio.queue = QueueSpec::drop_tail(Limit::Unlimited);
        let measured = measure(&scenario);
        let flow = &measured.flows[0];
        let reached = (flow.received + flow.lost.wireless) as f64;
        assert!(reached > 240_000.0);
        assert_eq!(flow.lost.congestion, 0);
        let share = |bytes: u32| -libm::expm1(-rate * f64::from(8 * bytes));
        let within = |counted: u64, expected: f64, of: f64| {
            let sigma = libm::sqrt(expected * (1.0 - expected) * of);
            let off = (counted as f64 - expected * of).abs();
            assert!(
                off <= 4.0 * sigma,
                "{rate} {coverage:?}: {off} off, σ {sigma}"
            );
        };
        let dropped = share(coverage.unwrap_or(1_024));
        within(flow.lost.wireless, dropped, reached);
        // Bit errors are independent, so accepted packets have damage beyond the coverage as often
        // as other packets.
        let beyond = coverage.map_or(0.0, |covered| share(1_024 - covered));
        within(flow.damaged, beyond, flow.received as f64);
        within(measured.links[1].damaged, share(1_024), reached);
        assert_eq!(measured.links[1].lost.wireless, 0);
    }
}

/// The oracle gets the cause of packets that a sink drops, so it is never wrong.
#[test]
fn the_oracle_knows_what_a_sink_drops() {
    let mut scenario = scenario(5e-6, 200);
    scenario.links[1].link.rate = Rate::from_mbps(2);
    for flow in &mut scenario.flows {
        match &mut flow.transport {
            Transport::Tcp { classifier, .. } | Transport::Iftp { classifier, .. } => {
                let oracle = SENDERS.build("oracle", &[]).expect("registered");
                *classifier = oracle.expect("its defaults");
            }
            Transport::Tfrc { classifier, .. } => {
                *classifier = ReceiverDecider::Oracle(());
            }
            _ => {}
        }
    }
    let measured = measure(&scenario);
    // A TCP loss event counts as congestion if any of its losses was, so only the verdicts on
    // events can be exact.
    for flow in [0, 1, 3].map(|index| &measured.flows[index]) {
        assert!(
            flow.gaps.count(Cause::Wireless, Cause::Wireless) > 20,
            "{flow:?}"
        );
        assert!(
            flow.gaps.count(Cause::Congestion, Cause::Congestion) > 5,
            "{flow:?}"
        );
        assert_eq!(flow.gaps.mc(), Some(0.0), "{flow:?}");
        assert_eq!(flow.gaps.mw(), Some(0.0), "{flow:?}");
    }
}

/// Checksums cover acknowledgements completely, so bit errors on the return path drop them,
/// independent of the flow's coverage.
#[test]
fn damaged_answers_are_dropped() {
    let mut scenario = scenario(0.0, 20);
    // Bit errors damage one in three acknowledgements of 40 bytes: 1 − e^−0.4.
    scenario.links[2].link.channel = ChannelSpec::BitErrors { rate: 1.25e-3 };
    scenario.flows.truncate(1);
    scenario.flows[0].coverage = Some(40);
    let measured = measure(&scenario);
    let back = &measured.links[2];
    let share = back.damaged as f64 / back.delivered as f64;
    assert!((share - 0.33).abs() < 0.05, "{share}");
    let tcp = &measured.flows[0];
    assert_eq!(tcp.lost.wireless, 0);
    assert!(tcp.received > 100, "{tcp:?}");
    // Segments that had arrived are sent again, because their acknowledgements were dropped.
    assert!(tcp.received > tcp.delivered);
}

/// Damage from one link remains on the next and counts once.
#[test]
fn damage_adds_up_over_links() {
    let mut scenario = scenario(1e-5, 200);
    scenario.links[0].link.channel = ChannelSpec::BitErrors { rate: 1e-5 };
    scenario.flows = vec![scenario.flows.swap_remove(2)];
    let measured = measure(&scenario);
    let flow = &measured.flows[0];
    let expected = -libm::expm1(-2e-5 * 8.0 * 762.0);
    let reached = (flow.received + flow.lost.wireless) as f64;
    let share = flow.lost.wireless as f64 / reached;
    let sigma = libm::sqrt(expected * (1.0 - expected) / reached);
    assert!(
        (share - expected).abs() < 4.0 * sigma,
        "{share} {expected} {sigma}"
    );
}

#[test]
fn coverage_has_bounds() {
    for (coverage, right) in [
        (27, false),
        (28, true),
        (762, true),
        (763, false),
        (0, false),
    ] {
        let mut scenario = scenario(0.0, 1);
        scenario.flows[2].coverage = Some(coverage);
        assert_eq!(scenario.check().is_ok(), right, "{coverage}");
    }
    let mut scenario = scenario(0.0, 1);
    scenario.flows[2].coverage = Some(1_000);
    let message = scenario
        .check()
        .expect_err("more than the packet")
        .to_string();
    assert_eq!(
        message,
        "flow[2].coverage: found 1000 B, expected 28 B (IP's and UDP's headers) to 762 B (the packet)"
    );
}
