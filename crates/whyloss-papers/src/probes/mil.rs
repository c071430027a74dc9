//! Records the senders of Milenkoski and Stojcevska's forward flows: actions upon windows (MIL-15),
//! intervals between acknowledgements (MIL-16), and throughput. Forward flows are those that are
//! not background traffic. They come first in the scenario, and so do the bottlenecks, links named
//! `core`.
//!
//! ```text
//! throughput fairness      bit/s that reached the sinks of all forward flows; their Jain's index
//! utilisation              share of the measured time in which the bottlenecks sent, forward
//! increased decreased kept round trips without a loss that left the window larger, smaller, or
//!                          unchanged (NI, ND, NKU)
//! events detected noc      recoveries without a timeout; those that the LDA called wireless; the
//!                          others
//! cuts early raised        recoveries at whose start the window fell; begun before the third
//!                          duplicate; losses at which Vegas's timeout grew
//! timeout                  mean of Vegas's timeout over acknowledgements, s
//! queueing                 mean round trip of acknowledgements of one new segment, over the
//!                          shortest of the run
//! window ack_rate          mean window, packets; acknowledgements per second of a sender
//!                          (1 / mean AckdInterval)
//! compressed               share of intervals shorter than the bottleneck's transmission time
//! interval.…               of the first sender between 50 and 52 s, seed 1: ms
//! ```
//!
//! A round trip ends when the last packet sent at its start is acknowledged. Actions are counted
//! over the whole run, as in "a simulation time of 100 s". Throughput, windows and intervals are
//! measured after the neglected part (MIL-13).

use whyloss::event::Detection;
use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::scenario::{Router, Transport};
use whyloss_sim::{Event, Measurement, RunError, Scenario, Watch};
use whyloss_study::statistics::{self, jain};

use super::Probed;

/// The two seconds of Fig. 8.
const SHOWN: (Time, Time) = (
    Time::from_nanos(50_000_000_000),
    Time::from_nanos(52_000_000_000),
);

/// The counts of all forward senders together.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    events: f64,
    detected: f64,
    noc: f64,
    cuts: f64,
    early: f64,
    timeouts: f64,
    increased: f64,
    decreased: f64,
    kept: f64,
    raised: f64,
}

/// Runs a scenario and records its forward senders.
pub(super) fn senders(scenario: &Scenario, seed: u64) -> Result<(Measurement, Probed), RunError> {
    let mut probe = Senders::new(scenario);
    let mut measured = whyloss_sim::Simulation::new(scenario, seed)
        .watch(&mut probe)
        .run()?;
    let probed = probe.probed(&measured, seed);
    // There are thousands of runs, and only these values are used.
    measured.flows.clear();
    measured.links.clear();
    Ok((measured, probed))
}

/// Watches the forward senders.
struct Senders {
    from: Time,
    end: Time,
    /// The flow whose acknowledgements arrive over each link; [`usize::MAX`] if the link is not the
    /// last hop of a forward flow's acknowledgements.
    last_hop_of: Vec<usize>,
    watched: Vec<Watched>,
    shortest: Duration,
    /// The size of a segment, in bytes.
    segment: f64,
    counts: Counts,
    /// The arrival times of the first sender's acknowledgements in the two seconds.
    arrivals: Vec<Time>,
}

/// The record of a sender.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    /// The window since `at`, in bytes.
    window: u64,
    at: Time,
    window_seconds: f64,
    /// The segment at which the round ends.
    round_ends: u64,
    /// The window at the start of the round, in bytes.
    round_window: u64,
    /// Whether a loss was found in this round.
    lossy: bool,
    last_ack: Option<Time>,
    intervals: u64,
    compressed: u64,
    interval_sum: f64,
    reactions: u64,
    timeout_sum: f64,
    timeout: Duration,
    next: u64,
    rtts: u64,
    rtt_sum: f64,
    rtt_min: f64,
}

impl Senders {
    fn new(scenario: &Scenario) -> Self {
        let forward = scenario
            .flows
            .iter()
            .take_while(|flow| !flow.background)
            .count();
        let mut last_hop_of = vec![usize::MAX; scenario.links.len()];
        let router = Router::new(scenario);
        for (index, flow) in scenario.flows.iter().enumerate().take(forward) {
            let routes = router.routes_of(flow);
            if let Some(&link) = routes.as_ref().and_then(|(_, back)| back.last()) {
                last_hop_of[link] = index;
            }
        }
        Self {
            from: scenario.measure_from,
            end: scenario.end,
            last_hop_of,
            watched: vec![
                Watched {
                    rtt_min: f64::INFINITY,
                    ..Watched::default()
                };
                forward
            ],
            shortest: scenario.links[0]
                .link
                .rate
                .transmission_time(scenario.flows[0].packet_size),
            segment: match &scenario.flows[0].transport {
                Transport::Tcp { options, .. } => f64::from(options.segment_size),
                _ => f64::NAN,
            },
            counts: Counts::default(),
            arrivals: Vec::new(),
        }
    }

    fn probed(mut self, measured: &Measurement, seed: u64) -> Probed {
        let seconds = (self.end - self.from).as_secs_f64();
        let forward = self.watched.len();
        let mut sums = Watched::default();
        for sender in &mut self.watched {
            sender.settle(self.from, self.end, self.segment);
            sums.window_seconds += sender.window_seconds;
            sums.intervals += sender.intervals;
            sums.compressed += sender.compressed;
            sums.interval_sum += sender.interval_sum;
            sums.reactions += sender.reactions;
            sums.timeout_sum += sender.timeout_sum;
            sums.rtts += sender.rtts;
            if sender.rtts > 0 {
                sums.rtt_sum += sender.rtt_sum / sender.rtt_min;
            }
        }
        let throughputs: Vec<f64> = measured.flows[..forward]
            .iter()
            .map(|flow| flow.throughput_bps(measured.window))
            .collect();
        let core = measured
            .links
            .iter()
            .filter(|link| link.name.starts_with("core") && !link.name.ends_with("-back"));
        let core: Vec<f64> = core.map(|link| link.utilisation(measured.window)).collect();
        let utilisation: f64 = core.iter().sum();
        let ack_rate = if sums.interval_sum > 0.0 {
            sums.intervals as f64 / sums.interval_sum
        } else {
            0.0
        };
        let queueing = if sums.rtts > 0 {
            sums.rtt_sum / sums.rtts as f64
        } else {
            1.0
        };
        let counts = self.counts;
        let mut values = vec![
            ("throughput", throughputs.iter().sum()),
            ("fairness", jain(&throughputs).unwrap_or(f64::NAN)),
            ("utilisation", utilisation / core.len() as f64),
            ("events", counts.events),
            ("detected", counts.detected),
            ("noc", counts.noc),
            ("cuts", counts.cuts),
            ("early", counts.early),
            ("timeouts", counts.timeouts),
            ("increased", counts.increased),
            ("decreased", counts.decreased),
            ("kept", counts.kept),
            ("raised", counts.raised),
            ("timeout", sums.timeout_sum / sums.reactions.max(1) as f64),
            ("queueing", queueing),
            ("window", sums.window_seconds / seconds / forward as f64),
            ("ack_rate", ack_rate),
            (
                "compressed",
                sums.compressed as f64 / sums.intervals.max(1) as f64,
            ),
        ];
        let mut tracks = Vec::new();
        if seed == 1 {
            let milliseconds = |pair: &[Time]| 1e3 * (pair[1] - pair[0]).as_secs_f64();
            let intervals: Vec<f64> = self.arrivals.windows(2).map(milliseconds).collect();
            values.extend([
                ("interval.count", intervals.len() as f64),
                (
                    "interval.mean",
                    statistics::mean(&intervals).unwrap_or(f64::NAN),
                ),
                (
                    "interval.deviation",
                    statistics::standard_deviation(&intervals).unwrap_or(f64::NAN),
                ),
            ]);
            let seconds = self
                .arrivals
                .iter()
                .skip(1)
                .map(|at| (*at - SHOWN.0).as_secs_f64());
            tracks.push(("intervals", seconds.zip(intervals).collect()));
        }
        Probed { values, tracks }
    }
}

impl Watched {
    /// Adds the integral of the window until `now`.
    fn settle(&mut self, from: Time, now: Time, segment: f64) {
        let since = self.at.max(from);
        if now > since {
            let segments = self.window as f64 / segment;
            self.window_seconds += segments * (now - since).as_secs_f64();
        }
        self.at = now;
    }
}

impl Watch for Senders {
    fn on(&mut self, event: &Event<'_>) {
        match *event {
            Event::Offered {
                link, packet, fate, ..
            } => {
                let flow = self.last_hop_of[link];
                let (Fate::Delivered(at), Payload::Ack(ack)) = (fate, &packet.payload) else {
                    return;
                };
                if flow == usize::MAX || at < self.from || at > self.end {
                    return;
                }
                if flow == 0 && (SHOWN.0..=SHOWN.1).contains(&at) {
                    self.arrivals.push(at);
                }
                let sender = &mut self.watched[flow];
                if let Some(last) = sender.last_ack {
                    sender.intervals += 1;
                    sender.interval_sum += (at - last).as_secs_f64();
                    sender.compressed += u64::from(at - last < self.shortest);
                }
                sender.last_ack = Some(at);
                // An acknowledgement that fills a hole echoes a much older segment.
                let in_order = ack.next == sender.next + 1;
                sender.next = sender.next.max(ack.next);
                if in_order {
                    let rtt = (at - ack.echo).as_secs_f64();
                    sender.rtts += 1;
                    sender.rtt_sum += rtt;
                    sender.rtt_min = sender.rtt_min.min(rtt);
                }
            }
            Event::Reacted {
                flow,
                at,
                sender: tcp,
            } => {
                let Some(sender) = self.watched.get_mut(flow) else {
                    return;
                };
                let cwnd = tcp.cwnd();
                let before = sender.window;
                if cwnd != before {
                    sender.settle(self.from, at, self.segment);
                    sender.window = cwnd;
                }
                let timeout = tcp.fine_timeout().unwrap_or(Duration::ZERO);
                sender.reactions += 1;
                sender.timeout_sum += timeout.as_secs_f64();
                if let Some((said, _)) = tcp.judgement() {
                    sender.lossy = true;
                    if said.detection == Detection::Timeout {
                        self.counts.timeouts += 1.0;
                    } else {
                        self.counts.events += 1.0;
                        match said.verdict {
                            Cause::Wireless => self.counts.detected += 1.0,
                            Cause::Congestion => self.counts.noc += 1.0,
                        }
                        if said.detection == Detection::TimeThreshold {
                            self.counts.early += 1.0;
                        }
                        if cwnd < before {
                            self.counts.cuts += 1.0;
                        }
                        if timeout > sender.timeout {
                            self.counts.raised += 1.0;
                        }
                    }
                }
                sender.timeout = timeout;
                if tcp.acknowledged() >= sender.round_ends {
                    if !sender.lossy && sender.round_ends > 0 {
                        let count = match cwnd.cmp(&sender.round_window) {
                            core::cmp::Ordering::Greater => &mut self.counts.increased,
                            core::cmp::Ordering::Less => &mut self.counts.decreased,
                            core::cmp::Ordering::Equal => &mut self.counts.kept,
                        };
                        *count += 1.0;
                    }
                    sender.lossy = tcp.in_recovery();
                    // The round ends with everything sent so far. Packets that this event releases
                    // belong to the next round.
                    sender.round_ends = tcp.next().max(tcp.acknowledged() + 1);
                    sender.round_window = cwnd;
                }
            }
            _ => {}
        }
    }
}
