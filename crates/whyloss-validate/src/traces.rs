//! Compares the send times of single packets: one flow of each kind loses the same packets in ns-2
//! and here.
//!
//! ```text
//! s ─100 Mbit/s, 1 ms, room for 199─ n ~2 Mbit/s, 25 ms, room for 199~ d     1500-byte packets,
//! d ─100 Gbit/s, 25 ms─ n ─100 Gbit/s, 1 ms─ s                               delayed acks
//! ```
//!
//! The last link loses the packets in `LOST`, by their number in the order of departure: alone, in
//! pairs, in bursts, and a retransmission. TCP's timers tick in microseconds on both sides, which
//! removes the random phase of ns-2's clock. TFRC's last link has 256 kbit/s. The return path is
//! fast, because ns-2's acknowledgements with SACK blocks are longer than ours.
//!
//! Times count from the first packet that answers an acknowledgement. Packets before it differ. The
//! SYN has 40 bytes in ns-2 and the size of a full packet here, and the first packets lack headers
//! that later ones have. Acknowledgements for Linux's modules are not delayed: in ns-2 the first
//! one always leaves immediately, which would shift all later pairs.

use core::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use whyloss::{Duration, Rate, Time};
use whyloss_link::channel::{ErrorPattern, NextTrial};
use whyloss_link::queue::Limit;
use whyloss_link::{ChannelSpec, LinkSpec, QueueSpec, Streams};
use whyloss_sim::scenario::{Connection, Flow, Scenario, Transport};
use whyloss_sim::{Event, Watch};
use whyloss_study::Progress;

use crate::case::Case;
use crate::margin::Margin;
use crate::ns2_grid::{STACKS, Stack};
use crate::peers::description::Asked;
use crate::peers::ns2::Ns2;
use crate::reasons::reason;
use crate::row::Failure;
use crate::suite::Suite;

/// The number of packets to compare.
pub const PACKETS: usize = 1000;
/// The allowed difference between the times of the same packet, in seconds; ns-2's times are
/// floating point.
pub const TOLERANCE: f64 = 1e-6;
const LOST: [u64; 14] = [
    30, 90, 160, 161, 240, 241, 242, 330, 345, 480, 600, 601, 605, 800,
];
const PACKET: u32 = 1500;
const WINDOW: u32 = 1000;
/// The rate of the return link, in Mbit/s.
const BACK: u64 = 100_000;
const SEED: u64 = 1;
/// The link that loses packets, by index.
const LOSSY: u64 = 1;
/// The tick of TCP's retransmission timers, in seconds.
const TICK: f64 = 1e-6;

/// The time in seconds after the first packet before which no packet can react to an
/// acknowledgement.
const BEGINNING: f64 = 0.01;

/// A packet that left, with its number and its time since the first packet that answers an
/// acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// The departure time of the packet, in seconds.
    pub at: f64,
    /// The packet's sequence number.
    pub sequence: u64,
}

/// The agreement of two senders.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The protocol whose packets are compared.
    pub kind: &'static str,
    /// The number of packets compared.
    pub compared: usize,
    /// The number of packets before the first that differs.
    pub agree: usize,
    /// The number of positions at which both senders' packets agree.
    pub alike: usize,
    /// The largest difference between the times of agreeing packets, in seconds.
    pub largest: f64,
    /// The first packets that differ, ours and theirs; `None` if all agree.
    pub first: Option<(Option<Sent>, Option<Sent>)>,
    /// The known reason for the difference; `None` if there is none.
    pub reason: Option<&'static str>,
}

/// Compares the packets of every stack with those of ns-2.
pub(crate) fn compare(
    ns2: &Ns2,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> (Vec<Trace>, Vec<Failure>) {
    progress.expect(STACKS.len() as u64);
    let results: Vec<_> = STACKS
        .par_iter()
        .map(|&stack| {
            let trace = (!stop.load(Ordering::Relaxed)).then(|| trace(ns2, stack));
            progress.finish();
            trace
        })
        .collect();
    let (mut traces, mut failures) = (Vec::new(), Vec::new());
    for result in results.into_iter().flatten() {
        match result {
            Ok(trace) => traces.push(trace),
            Err(failure) => failures.push(failure),
        }
    }
    (traces, failures)
}

fn trace(ns2: &Ns2, stack: Stack) -> Result<Trace, Failure> {
    let failed = |why: String| Failure {
        suite: Suite::Traces,
        case: stack.name.to_owned(),
        why,
    };
    let case = case(stack);
    let asked = Asked {
        case: &case,
        seeds: &[SEED],
        tick: Some(TICK),
        lost: &LOST,
        traced: Some(0),
    };
    let theirs = ns2
        .trace(&asked)
        .map_err(|error| failed(error.to_string()))?;
    let mut ours = Packets(Vec::new());
    whyloss_sim::Simulation::new(&case.scenario, SEED)
        .watch(&mut ours)
        .run()
        .map_err(|error| failed(error.to_string()))?;
    Ok(first_divergence(stack.name, &ours.0, &theirs))
}

/// Finds the first difference between two lists of times and packet numbers.
fn first_divergence(kind: &'static str, ours: &[(f64, u64)], theirs: &[(f64, u64)]) -> Trace {
    let relative = |sent: &[(f64, u64)]| {
        let begun = sent.first().map_or(0.0, |first| first.0) + BEGINNING;
        let packets = || sent.iter().skip_while(|packet| packet.0 < begun);
        let start = packets().next().map_or(0.0, |first| first.0);
        let packets = packets().take(PACKETS).map(|&(at, sequence)| Sent {
            at: at - start,
            sequence,
        });
        packets.collect::<Vec<_>>()
    };
    let (ours, theirs) = (relative(ours), relative(theirs));
    let alike =
        |(a, b): &(&Sent, &Sent)| a.sequence == b.sequence && (a.at - b.at).abs() <= TOLERANCE;
    let agree = ours.iter().zip(&theirs).take_while(alike).count();
    let alike = ours.iter().zip(&theirs).filter(alike).count();
    let pairs = ours.iter().zip(&theirs).take(agree);
    let largest = pairs.fold(0.0, |largest: f64, (a, b)| largest.max((a.at - b.at).abs()));
    let compared = ours.len().max(theirs.len());
    let first = (agree < compared).then(|| (ours.get(agree).copied(), theirs.get(agree).copied()));
    Trace {
        kind,
        compared,
        agree,
        alike,
        largest,
        first,
        reason: first.and_then(|_| reason(Suite::Traces, kind, "", "")),
    }
}

/// The time in seconds and the number of each packet that the source offers to the first link.
struct Packets(Vec<(f64, u64)>);

impl Watch for Packets {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
            link, at, packet, ..
        } = *event
            && let (0, Some(sequence)) = (link, packet.payload.sequence())
        {
            self.0.push((at.as_secs_f64(), sequence));
        }
    }
}

fn case(stack: Stack) -> Case {
    let delayed_ack = !stack.is_linux();
    let mut transport = stack.transport(PACKET, delayed_ack);
    if let Transport::Tcp { options, .. } = &mut transport {
        options.rto.tick = Duration::from_secs_f64(TICK);
    }
    let link = |rate, millis, channel| LinkSpec {
        rate,
        delay: Duration::from_millis(millis),
        queue: QueueSpec::drop_tail(Limit::Packets(199)),
        channel,
        ..LinkSpec::default()
    };
    let connection = |from: usize, to: usize, link| Connection {
        name: format!("{from}->{to}"),
        from,
        to,
        link,
    };
    // A pattern starts at a random place, so it is rotated to start at its first packet.
    let mut lost = vec![false; 100_000];
    let begin = Streams::new(SEED)
        .stream("channel", LOSSY)
        .below(lost.len() as u64);
    for number in LOST {
        let place = (begin + number) as usize % lost.len();
        lost[place] = true;
    }
    let channel =
        ErrorPattern::new([lost]).map_or(ChannelSpec::None, |pattern| ChannelSpec::Pattern {
            pattern,
            next: NextTrial::Same,
        });
    // TFRC begins with three packets in R. Without a queue, each is due at the time of a report,
    // and the order of these two events would decide the result.
    let slow = if stack.name == "TFRC" {
        Rate::from_kbps(256)
    } else {
        Rate::from_mbps(2)
    };
    let scenario = Scenario {
        title: format!("{} and the same losses", stack.name),
        nodes: ["s", "n", "d"].map(String::from).to_vec(),
        links: vec![
            connection(0, 1, link(Rate::from_mbps(100), 1, ChannelSpec::None)),
            connection(1, 2, link(slow, 25, channel)),
            connection(2, 1, link(Rate::from_mbps(BACK), 25, ChannelSpec::None)),
            connection(1, 0, link(Rate::from_mbps(BACK), 1, ChannelSpec::None)),
        ],
        flows: vec![Flow::new(stack.name, (0, 2), PACKET, transport)],
        measure_from: Time::ZERO,
        end: Time::ZERO + Duration::from_secs(200),
        ..Scenario::default()
    };
    Case {
        name: String::new(),
        kind: stack.name,
        scenario,
        stack: stack.theirs.into(),
        window: WINDOW,
        delayed_ack,
        bottlenecks: vec![1],
        goodput: Margin::SAME,
        also: Vec::new(),
        seeds: 1,
    }
}

#[cfg(test)]
mod tests {
    use whyloss::Cause;

    use super::*;
    use whyloss_link::Fate;

    /// The packets that the last link loses, by their number in the order of departure.
    struct Losses(u64, Vec<u64>);

    impl Watch for Losses {
        fn on(&mut self, event: &Event<'_>) {
            if let Event::Offered { link, fate, .. } = *event
                && link as u64 == LOSSY
            {
                match fate {
                    // A packet that finds no room does not depart.
                    Fate::Lost(Cause::Congestion, _) => return,
                    Fate::Lost(Cause::Wireless, _) => self.1.push(self.0),
                    _ => {}
                }
                self.0 += 1;
            }
        }
    }

    #[test]
    fn the_same_packets_are_lost_here() {
        for stack in STACKS {
            let mut losses = Losses(0, Vec::new());
            let scenario = case(stack).scenario;
            whyloss_sim::Simulation::new(&scenario, SEED)
                .watch(&mut losses)
                .run()
                .expect("a valid scenario");
            assert_eq!(losses.1, LOST, "{}", stack.name);
        }
    }

    #[test]
    fn the_first_difference_is_found() {
        let theirs = [(1.0, 0), (2.0, 1), (3.0, 2), (4.0, 3)];
        let later = theirs.map(|(at, sequence)| (at + 0.5, sequence));
        let same = first_divergence("", &later, &theirs);
        assert_eq!((same.compared, same.agree, same.first), (3, 3, None));
        let mut other = theirs;
        other[3].0 += 0.1;
        let late = first_divergence("", &other, &theirs);
        assert_eq!(late.agree, 2);
        let (ours, theirs) = late.first.expect("a difference");
        assert_eq!(theirs.map(|sent| sent.sequence), Some(3));
        assert!(ours.is_some_and(|sent| (sent.at - 2.1).abs() < 1e-9));
    }

    #[test]
    fn a_packet_more_is_a_difference() {
        let three = [(0.0, 0), (1.0, 1), (2.0, 2)];
        let trace = first_divergence("", &three, &three[..2]);
        assert_eq!((trace.compared, trace.agree), (2, 1));
        assert_eq!(trace.first.map(|first| first.1), Some(None));
    }
}
