//! Waiting times in queues fed by a Poisson process (Pollaczek 1930, Khinchin 1932).
//!
//! ```text
//! W = ρ·s/(2·(1 − ρ))·(1 + c²)      s: mean service time, c: its coefficient of variation
//! M/D/1     c = 0:  W = ρ·s/(2·(1 − ρ))
//! M/M/1     c = 1:  W = ρ·s/(1 − ρ)
//! ```
//!
//! Packets are offered to a link without a queue limit. A packet waits from its offer until its
//! transmission begins. Exponential sizes with a mean of 10,000 bytes are rounded up to whole
//! bytes, which adds half a byte to the mean; s includes it.

use whyloss::{Duration, Rate, Time};
use whyloss_link::{Fate, Link, LinkSpec, Streams};
use whyloss_sim::host::datagrams::{Pattern, Spacing};
use whyloss_sim::scenario::{Connection, Flow, Scenario, Transport};
use whyloss_sim::{Event, Watch};

use super::Law;
use crate::case::Metric;
use crate::margin::Margin;

const RATE: Rate = Rate::from_mbps(10);
/// The mean size of a packet, in bytes.
const SIZE: f64 = 10_000.0;

/// The distribution of packet sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sizes {
    Constant,
    Exponential,
}

pub(super) fn laws(quick: bool) -> Vec<Law> {
    let packets = if quick { 1_000_000 } else { 3_000_000 };
    let mut laws = Vec::new();
    for (kind, sizes) in [("M/D/1", Sizes::Constant), ("M/M/1", Sizes::Exponential)] {
        for load in [0.3, 0.5, 0.8] {
            laws.push(Law {
                kind,
                case: format!("load {load}"),
                metric: Metric {
                    name: "mean wait",
                    unit: "ms",
                    margin: Margin::EXACT,
                },
                measure: Box::new(move |seed| Ok(wait(sizes, load, packets, seed))),
            });
        }
    }
    let seconds = if quick { 10_000 } else { 40_000 };
    for load in [0.5, 0.8] {
        laws.push(Law {
            kind: "M/D/1",
            case: format!("Poisson source in a network, load {load}"),
            metric: Metric {
                name: "mean wait",
                unit: "ms",
                margin: Margin::EXACT,
            },
            measure: Box::new(move |seed| simulated(load, seconds, seed)),
        });
    }
    laws
}

/// Returns the mean waiting time in the simulator and by the formula, in ms. The time of a packet
/// runs from sending to arrival, less the time that it takes without waiting.
fn simulated(load: f64, seconds: i64, seed: u64) -> Result<(f64, f64), String> {
    let from = Time::ZERO + Duration::from_secs(seconds / 10);
    let rate = Rate::from_bps(libm::round(load * RATE.as_bps() as f64) as u64);
    let link = |from, to| Connection {
        name: format!("{from}->{to}"),
        from,
        to,
        link: LinkSpec {
            rate: RATE,
            ..LinkSpec::default()
        },
    };
    let transport = Transport::Datagrams {
        rate,
        pattern: Pattern::Steady {
            spacing: Spacing::Exponential {
                least: Duration::ZERO,
            },
            changes: Vec::new(),
        },
    };
    let scenario = Scenario {
        title: "a Poisson source".into(),
        nodes: vec!["s".into(), "d".into()],
        links: vec![link(0, 1), link(1, 0)],
        flows: vec![Flow::new("poisson", (0, 1), SIZE as u32, transport)],
        measure_from: from,
        end: Time::ZERO + Duration::from_secs(seconds),
        ..Scenario::default()
    };
    let mut waits = Waits {
        from,
        sum: 0.0,
        count: 0,
    };
    whyloss_sim::Simulation::new(&scenario, seed)
        .watch(&mut waits)
        .run()
        .map_err(|error| error.to_string())?;
    let service = SIZE * 8.0 / RATE.as_bps() as f64;
    let law = load * service / (2.0 * (1.0 - load));
    Ok((1e3 * waits.sum / waits.count as f64, 1e3 * law))
}

/// Sums the time that packets wait.
struct Waits {
    from: Time,
    sum: f64,
    count: u64,
}

impl Watch for Waits {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Arrived { at, packet, .. } = *event
            && at >= self.from
        {
            self.sum += (at - packet.sent - RATE.transmission_time(packet.size)).as_secs_f64();
            self.count += 1;
        }
    }
}

/// Returns the measured and the predicted mean waiting time, in ms.
fn wait(sizes: Sizes, load: f64, packets: u64, seed: u64) -> (f64, f64) {
    let spec = LinkSpec {
        rate: RATE,
        ..LinkSpec::default()
    };
    let streams = Streams::new(seed);
    let mut link = Link::new(&spec, streams, 0);
    let (mut arrivals, mut lengths) = (streams.stream("arrivals", 0), streams.stream("sizes", 0));
    // The mean of ⌈X⌉ with X exponential is 1/(1 − e^(−1/mean)), which is mean + 1/2 to within
    // 1/(12·mean).
    let mean = match sizes {
        Sizes::Constant => SIZE,
        Sizes::Exponential => 1.0 / (1.0 - libm::exp(-1.0 / SIZE)),
    };
    let service = mean * 8.0 / RATE.as_bps() as f64;
    // The queue is empty at first, so the first tenth of the packets does not count.
    let skipped = packets / 10;
    let (mut now, mut sum) = (Time::ZERO, 0.0);
    for index in 0..packets + skipped {
        now += Duration::from_secs_f64(arrivals.exponential(service / load));
        let size = match sizes {
            Sizes::Constant => SIZE as u32,
            Sizes::Exponential => (libm::ceil(lengths.exponential(SIZE)) as u32).max(1),
        };
        if let Fate::Delivered(at) = link.offer(now, size)
            && index >= skipped
        {
            sum += (at - now - RATE.transmission_time(size)).as_secs_f64();
        }
    }
    let variation = f64::from(u8::from(sizes == Sizes::Exponential));
    let law = load * service / (2.0 * (1.0 - load)) * (1.0 + variation);
    (1e3 * sum / packets as f64, 1e3 * law)
}
