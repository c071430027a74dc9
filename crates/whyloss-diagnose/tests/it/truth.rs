//! Compares the diagnosis of a capture with the network's own log.

use std::fs::File;
use std::net::SocketAddr;

use whyloss::Cause;
use whyloss_diagnose::loss::Side;
use whyloss_diagnose::truth::{Fate, Passage, Truth};
use whyloss_diagnose::{Diagnosis, Options, diagnose, report};
use whyloss_sim::packet::Payload;
use whyloss_sim::{Event, NodeCapture, Scenario, Simulation, Watch};

const SEGMENT: u64 = 1448;
/// The time in ns by which the clock of the log is behind that of the capture.
const BEHIND: u64 = 77_000_000_000;

/// A log: each data packet at each link.
#[derive(Default)]
struct Log(Vec<(u64, u64, u64, Fate)>);

impl Watch for Log {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
            at, packet, fate, ..
        } = *event
            && let Payload::Segment(segment) = packet.payload
        {
            let fate = match fate {
                whyloss_link::Fate::Lost(cause, _) => Fate::Lost(cause),
                _ => Fate::Arrived,
            };
            self.0.push((
                segment.sequence,
                packet.sent.as_nanos(),
                at.as_nanos(),
                fate,
            ));
        }
    }
}

/// Returns the diagnosis of a capture at this node, and the log of the same run.
fn captured(node: usize) -> (Diagnosis, Log) {
    let longer = [("duration".to_owned(), "30 s".to_owned())];
    let scenario =
        Scenario::from_toml(crate::network::NETWORK, "test", &longer).expect("a scenario");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("capture.pcapng");
    let mut both = (Log::default(), NodeCapture::new(&scenario, node, &path));
    Simulation::new(&scenario, 1)
        .watch(&mut both)
        .run()
        .expect("a run");
    both.1.finish().expect("a capture");
    let file = File::open(&path).expect("a capture");
    let diagnosis = diagnose(Box::new(file), Options::default()).expect("a diagnosis");
    (diagnosis, both.0)
}

/// Returns the truth of the log about flows between these ends.
fn truth([source, destination]: [SocketAddr; 2], log: &Log) -> Truth {
    let mut truth = Truth::default();
    for &(sequence, sent, at, fate) in &log.0 {
        truth.add(&Passage {
            source,
            destination,
            sequence: (sequence * SEGMENT + 1) as u32,
            // Each transmission has a different time.
            packet: sent,
            bytes: 1500,
            time: at + BEHIND,
            fate,
        });
    }
    truth
}

#[test]
fn every_loss_stands_beside_its_cause() {
    for node in 0..3 {
        let (mut diagnosis, log) = captured(node);
        let flow = &diagnosis.flows[0];
        let mut truth = truth([flow.source, flow.destination], &log);
        diagnosis.compare(&mut truth);
        let first = diagnosis.clone();
        diagnosis.flows.iter_mut().for_each(|flow| {
            flow.losses.iter_mut().for_each(|loss| loss.truth = None);
        });
        diagnosis.compare(&mut truth);
        assert_eq!(diagnosis, first, "a truth serves again");
        let score = diagnosis.score.as_ref().expect("a score");
        let lost = score.lost[0];
        assert!(lost > 40, "{lost}");
        assert!(score.found[0] * 100 >= lost * 97, "{node}: {score:?}");
        assert!(score.unfounded * 50 <= lost, "{node}: {score:?}");
        assert!(
            score.combined.accuracy().is_some_and(|share| share > 0.7),
            "{node}: {score:?}"
        );
        let both = [Cause::Congestion, Cause::Wireless];
        assert!(both.iter().all(|&cause| score.combined.total(cause) > 5));
        // The truth comes from the network, not from the verdicts: a classifier disagrees with it.
        assert!(
            score
                .classifiers
                .iter()
                .any(|(_, c)| c.accuracy() < Some(1.0))
        );
        // A loss beyond the first link is the radio's, because the radio's queue never fills.
        if node == 1 {
            let beyond = diagnosis.flows[0].losses.iter();
            let mut beyond = beyond.filter(|loss| loss.side == Side::Beyond).peekable();
            assert!(beyond.peek().is_some());
            assert!(beyond.all(|loss| loss.truth == Some(Fate::Lost(Cause::Wireless))));
        }
        let text = report::text::render(&diagnosis, Some(1));
        assert!(text.contains("beside the network's log: found "), "{text}");
        let csv = report::csv::render(&diagnosis, None);
        let column = csv
            .lines()
            .next()
            .and_then(|names| names.split(',').position(|name| name == "truth"));
        let column = column.expect("a column");
        assert!(csv.lines().skip(1).all(|line| {
            let cell = line.split(',').nth(column);
            cell.is_some_and(|cell| !cell.is_empty())
        }));
    }
}

#[test]
fn a_log_of_other_connections_founds_nothing() {
    let (mut diagnosis, log) = captured(0);
    let flow = &diagnosis.flows[0];
    let mut truth = truth([flow.destination, flow.source], &log);
    diagnosis.compare(&mut truth);
    let score = diagnosis.score.expect("a score");
    assert_eq!((score.found, score.combined.accuracy()), ([0; 2], None));
    // The log has no acknowledgements that could confirm these losses.
    assert!(
        diagnosis.flows[0]
            .losses
            .iter()
            .all(|loss| loss.truth.is_none())
    );
}

#[test]
fn what_the_emulator_lost_counts_for_nothing() {
    let (mut diagnosis, mut log) = captured(0);
    for (.., fate) in &mut log.0 {
        if *fate != Fate::Arrived {
            *fate = Fate::Fault;
        }
    }
    let flow = &diagnosis.flows[0];
    let mut truth = truth([flow.source, flow.destination], &log);
    diagnosis.compare(&mut truth);
    let score = diagnosis.score.expect("a score");
    assert_eq!((score.lost, score.combined.accuracy()), ([0; 2], None));
    assert!(score.faults > 40);
}
