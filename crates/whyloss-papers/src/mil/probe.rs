//! What the forward flows' senders do and see in a run: actions upon their windows (MIL-15), intervals between
//! acknowledgements (MIL-16), and what they achieve.
//!
//! ```text
//! per round trip without a loss    NI, ND, NKU: the window at its end is larger, smaller, the same as at its start
//! per recovery                     detected: the LDA called the loss wireless; NOC: the original congestion action
//! per acknowledgement              AckdInterval: since the one before it
//! ```
//!
//! A round trip ends when what was sent last at its start is acknowledged. Actions are counted over the whole run, as in
//! "a simulation time of 100 s"; throughput, windows and intervals after the neglected part (MIL-13).

use whyloss::event::Detection;
use whyloss::{Cause, Duration, Time};
use whyloss_link::Fate;
use whyloss_sim::host::tcp::Sender;
use whyloss_sim::packet::Payload;
use whyloss_sim::scenario::Router;
use whyloss_sim::{Measurement, Packet, Scenario, Watch};
use whyloss_study::ExperimentError;
use whyloss_study::statistics::jain;

use super::network::{BOTTLENECK, Setting};
use super::variants::{PACKET, SEGMENT};

/// What is kept of a run. Counts are of all forward senders together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Run {
    /// Bits per second that reached the sinks of all forward flows.
    pub(crate) throughput: f64,
    /// Jain's index of the forward flows.
    pub(crate) fairness: f64,
    /// The share of the measured time that the bottlenecks were sending, forward; their mean.
    pub(crate) utilisation: f64,
    /// Recoveries that began without a timeout: "congestion events".
    pub(crate) events: f64,
    /// Congestion events whose loss the LDA called wireless.
    pub(crate) detected: f64,
    /// Congestion events without such a loss: original congestion actions.
    pub(crate) noc: f64,
    /// Recoveries at whose start the window fell.
    pub(crate) cuts: f64,
    /// Recoveries begun before the third duplicate, by a timeout on the packet.
    pub(crate) early: f64,
    /// Retransmission timeouts.
    pub(crate) timeouts: f64,
    /// Round trips that left the window larger.
    pub(crate) increased: f64,
    /// Round trips that left it smaller.
    pub(crate) decreased: f64,
    /// Round trips that left it as it was.
    pub(crate) kept: f64,
    /// Losses at which Vegas's timeout grew.
    pub(crate) raised: f64,
    /// The mean of Vegas's timeout over acknowledgements, in seconds.
    pub(crate) fine_timeout: f64,
    /// The mean round-trip time of acknowledgements of one new segment, over the least one of the run.
    pub(crate) queueing: f64,
    /// The mean window in packets, over time and senders.
    pub(crate) window: f64,
    /// Acknowledgements per second of a sender: the reciprocal of the mean AckdInterval.
    pub(crate) ack_rate: f64,
    /// The share of intervals shorter than the bottleneck takes to send a data packet: since data cannot have arrived
    /// so fast, its acknowledgements have been compressed.
    pub(crate) compressed: f64,
}

/// Runs a setting with everything that is to be known of it.
pub(crate) fn run(
    setting: &Setting,
    scenario: &Scenario,
    seed: u64,
) -> Result<Run, ExperimentError> {
    let mut probe = Probe::new(setting, scenario);
    let measured = whyloss_sim::run_watched(scenario, seed, &mut probe)
        .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
    Ok(probe.run(setting, &measured))
}

/// Watches the forward senders.
pub(crate) struct Probe {
    from: Time,
    end: Time,
    /// Whose acknowledgements arrive over each link; [`usize::MAX`] if it is not the last hop of a forward flow's.
    last_hop_of: Vec<usize>,
    senders: Vec<Watched>,
    shortest: Duration,
    counts: Run,
}

/// What is remembered of a sender.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    /// The window since `at`, in bytes.
    window: u64,
    at: Time,
    window_seconds: f64,
    /// Where the round ends, and the window at its start in bytes.
    round_ends: u64,
    round_window: u64,
    /// A loss was found in this round.
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

impl Probe {
    pub(crate) fn new(setting: &Setting, scenario: &Scenario) -> Self {
        let forward = setting.traffic.forward();
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
            senders: vec![
                Watched {
                    rtt_min: f64::INFINITY,
                    ..Watched::default()
                };
                forward
            ],
            shortest: BOTTLENECK.transmission_time(PACKET),
            counts: Run::default(),
        }
    }

    fn run(mut self, setting: &Setting, measured: &Measurement) -> Run {
        let seconds = (self.end - self.from).as_secs_f64();
        let forward = self.senders.len();
        let mut sums = Watched::default();
        for sender in &mut self.senders {
            sender.settle(self.from, self.end);
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
        // The bottlenecks come first, each followed by its reverse.
        let bottlenecks = setting.topology.bottlenecks();
        let utilisation: f64 = (0..bottlenecks)
            .map(|index| measured.links[2 * index].utilisation(measured.window))
            .sum();
        Run {
            throughput: throughputs.iter().sum(),
            fairness: jain(&throughputs).unwrap_or(f64::NAN),
            utilisation: utilisation / bottlenecks as f64,
            window: sums.window_seconds / seconds / forward as f64,
            ack_rate: if sums.interval_sum > 0.0 {
                sums.intervals as f64 / sums.interval_sum
            } else {
                0.0
            },
            compressed: sums.compressed as f64 / sums.intervals.max(1) as f64,
            fine_timeout: sums.timeout_sum / sums.reactions.max(1) as f64,
            queueing: if sums.rtts > 0 {
                sums.rtt_sum / sums.rtts as f64
            } else {
                1.0
            },
            ..self.counts
        }
    }
}

impl Watched {
    /// Adds up the window until `now`.
    fn settle(&mut self, from: Time, now: Time) {
        let since = self.at.max(from);
        if now > since {
            let segments = self.window as f64 / f64::from(SEGMENT);
            self.window_seconds += segments * (now - since).as_secs_f64();
        }
        self.at = now;
    }
}

impl Watch for Probe {
    #[inline]
    fn offered(&mut self, link: usize, _: Time, packet: &Packet, _: usize, fate: Fate) {
        let flow = self.last_hop_of[link];
        let (Fate::Delivered(at), Payload::Ack(ack)) = (fate, &packet.payload) else {
            return;
        };
        if flow == usize::MAX || at < self.from || at > self.end {
            return;
        }
        let sender = &mut self.senders[flow];
        if let Some(last) = sender.last_ack {
            sender.intervals += 1;
            sender.interval_sum += (at - last).as_secs_f64();
            sender.compressed += u64::from(at - last < self.shortest);
        }
        sender.last_ack = Some(at);
        // One that fills a hole echoes what left long before it.
        let in_order = ack.next == sender.next + 1;
        sender.next = sender.next.max(ack.next);
        if in_order {
            let rtt = (at - ack.echo).as_secs_f64();
            sender.rtts += 1;
            sender.rtt_sum += rtt;
            sender.rtt_min = sender.rtt_min.min(rtt);
        }
    }

    #[inline]
    fn reacted(&mut self, flow: usize, at: Time, tcp: &Sender) {
        let Some(sender) = self.senders.get_mut(flow) else {
            return;
        };
        let cwnd = tcp.cwnd();
        let before = sender.window;
        if cwnd != before {
            sender.settle(self.from, at);
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
            // Everything sent so far; what this event lets leave belongs to the next round.
            sender.round_ends = tcp.next().max(tcp.acknowledged() + 1);
            sender.round_window = cwnd;
        }
    }
}
