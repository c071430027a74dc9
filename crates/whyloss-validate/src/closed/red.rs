//! Compares RED's drop rate at a steady mean queue with the closed form (Floyd and Jacobson 1993,
//! section 7), with the counting of ns-2.
//!
//! ```text
//! p_b       max_p·(avg − min)/(max − min)
//! no wait   gaps between drops are uniform over 1 … 1/p_b − 1:
//!           mean 1/(2·p_b), drop rate 2·p_b
//! wait      nothing is dropped before 1/p_b, then gaps are uniform over 1/p_b … 2/p_b − 1:
//!           mean (3/p_b − 1)/2, drop rate 2·p_b/(3 − p_b)
//! ```
//!
//! A Poisson process offers ρ times the capacity of a link. The mean queue settles at the length at
//! which RED drops the share 1 − 1/ρ, far from both thresholds. The formula uses the mean queue
//! that arrivals find, which is the mean of avg.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::{Discipline, Limit, RedSpec};
use whyloss_link::{Fate, Link, LinkSpec, QueueSpec, Streams};

use super::Law;
use crate::case::Metric;
use crate::margin::Margin;

const RATE: Rate = Rate::from_mbps(10);
/// The size of a packet, in bytes.
const PACKET: u32 = 1000;
/// The thresholds of the average queue, in packets, and the drop probability at the upper one.
const MIN: f64 = 100.0;
const MAX: f64 = 1100.0;
const MAX_P: f64 = 0.1;
/// The gain of the average. The average follows within 2,000 packets. The queue falls over (MAX −
/// MIN)/(2·MAX_P) = 5,000 packets; if it fell faster, queue and average would oscillate.
const WEIGHT: f64 = 0.0005;

pub(super) fn laws(quick: bool) -> Vec<Law> {
    let packets = if quick { 2_000_000 } else { 4_000_000 };
    let points = [(false, 1.05), (false, 1.1), (true, 1.02), (true, 1.05)];
    let law = |(wait, load)| Law {
        kind: "RED",
        case: format!("{}load {load}", if wait { "wait, " } else { "" }),
        metric: Metric {
            name: "drop rate",
            unit: "%",
            margin: Margin::AVERAGED,
        },
        measure: Box::new(move |seed| Ok(measure(wait, load, packets, seed))),
    };
    points.into_iter().map(law).collect()
}

/// Returns the measured drop rate and the one predicted from the mean queue, in percent.
fn measure(wait: bool, load: f64, packets: u64, seed: u64) -> (f64, f64) {
    let red = RedSpec {
        min: Some(MIN),
        max: Some(MAX),
        max_p: MAX_P,
        weight: Some(WEIGHT),
        wait,
        mean_packet: PACKET,
        ..RedSpec::default()
    };
    let spec = LinkSpec {
        rate: RATE,
        queue: QueueSpec {
            limit: Limit::Unlimited,
            discipline: Discipline::Red(red),
        },
        ..LinkSpec::default()
    };
    let streams = Streams::new(seed);
    let mut link = Link::new(&spec, streams, 0);
    let mut arrivals = streams.stream("arrivals", 0);
    let spacing = RATE.transmission_time(PACKET).as_secs_f64() / load;
    // Forty times the time constant of avg.
    let skipped = 200_000;
    let (mut now, mut dropped, mut waiting) = (Time::ZERO, 0u64, 0u64);
    for index in 0..packets + skipped {
        now += Duration::from_secs_f64(arrivals.exponential(spacing));
        let queue = link.queue_len(now) as u64;
        let fate = link.offer(now, PACKET);
        if index >= skipped {
            waiting += queue;
            dropped += u64::from(matches!(fate, Fate::Lost(..)));
        }
    }
    let mean = waiting as f64 / packets as f64;
    let p = MAX_P * (mean - MIN) / (MAX - MIN);
    let law = if wait { 2.0 * p / (3.0 - p) } else { 2.0 * p };
    (100.0 * dropped as f64 / packets as f64, 100.0 * law)
}
