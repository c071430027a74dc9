//! Compares RED under a Poisson load with measurements of ns-2.35.
//!
//! A link of 10 Mbit/s and 10 ms with room for 100 packets is offered packets of 1000 bytes, as a
//! Poisson process of 0.95, 1.05 or 1.2 times its rate. The drop rate and the mean number of
//! waiting packets (without the one in transmission) are measured between 20 s and 220 s. ns-2's
//! figures are means over ten seeds of `Queue/RED` with `mean_pktsize_` 1000 and thresholds of 5
//! and 15 packets. Adaptive RED chooses the same thresholds.

use whyloss::{Duration, Rate, Time};
use whyloss_link::queue::{Discipline, Limit, RedSpec};
use whyloss_link::{Fate, Link, LinkSpec, QueueSpec, Streams};

const SEEDS: u64 = 10;

/// Returns the drop rate and the mean queue of one seed.
fn measure(red: RedSpec, load: f64, seed: u64) -> (f64, f64) {
    let spec = LinkSpec {
        rate: Rate::from_mbps(10),
        delay: Duration::from_millis(10),
        queue: QueueSpec {
            limit: Limit::Packets(100),
            discipline: Discipline::Red(red),
        },
        ..LinkSpec::default()
    };
    let streams = Streams::new(seed);
    let mut link = Link::new(&spec, streams, 0);
    let mut random = streams.stream("load", 0);
    let (from, to) = (Time::from_secs_f64(20.0), Time::from_secs_f64(220.0));
    let mut now = Time::ZERO;
    let (mut offered, mut dropped, mut waiting) = (0u64, 0u64, 0usize);
    while now < to {
        now += Duration::from_secs_f64(random.exponential(0.0008 / load));
        // Poisson arrivals see what an outside observer sees: their mean is the mean over time.
        let queue = link.queue_len(now);
        let fate = link.offer(now, 1_000);
        if now >= from {
            offered += 1;
            dropped += u64::from(matches!(fate, Fate::Lost(..)));
            waiting += queue;
        }
    }
    (
        dropped as f64 / offered as f64,
        waiting as f64 / offered as f64,
    )
}

/// The mean over the seeds equals ns-2's within four standard errors of the difference.
fn agrees(name: &str, red: RedSpec, load: f64, ns2: [(f64, f64); 2]) {
    let runs: Vec<(f64, f64)> = (1..=SEEDS).map(|seed| measure(red, load, seed)).collect();
    let n = SEEDS as f64;
    let statistics = |values: &dyn Fn(&(f64, f64)) -> f64| {
        let mean = runs.iter().map(values).sum::<f64>() / n;
        let squares: f64 = runs.iter().map(|run| (values(run) - mean).powi(2)).sum();
        (mean, (squares / (n - 1.0)).sqrt())
    };
    let ours = [statistics(&|run| run.0), statistics(&|run| run.1)];
    for (what, ours, theirs) in [
        ("drop rate", ours[0], ns2[0]),
        ("mean queue", ours[1], ns2[1]),
    ] {
        let error = ((ours.1.powi(2) + theirs.1.powi(2)) / n).sqrt();
        assert!(
            (ours.0 - theirs.0).abs() < 4.0 * error,
            "{name}: {what} {ours:?}, ns-2 {theirs:?}"
        );
    }
}

/// Returns RED with fixed thresholds, gain and max_p.
fn fixed(gentle: bool, wait: bool, bytes: bool) -> RedSpec {
    RedSpec {
        min: Some(5.0),
        max: Some(15.0),
        weight: Some(0.002),
        gentle,
        wait,
        bytes,
        ..RedSpec::default()
    }
}

#[test]
fn classic() {
    let eager = fixed(false, false, false);
    agrees(
        "eager 0.95",
        eager,
        0.95,
        [(0.014_284, 0.000_702), (5.7829, 0.0776)],
    );
    agrees(
        "eager 1.05",
        eager,
        1.05,
        [(0.071_415, 0.001_946), (9.2357, 0.0772)],
    );
    let waits = fixed(false, true, false);
    agrees(
        "wait 0.95",
        waits,
        0.95,
        [(0.008_900, 0.000_737), (6.6317, 0.1009)],
    );
    agrees(
        "wait 1.2",
        waits,
        1.2,
        [(0.170_804, 0.001_520), (14.1693, 0.0271)],
    );
}

#[test]
fn gentle() {
    let waits = fixed(true, true, false);
    agrees(
        "wait 1.05",
        waits,
        1.05,
        [(0.061_869, 0.001_699), (12.9865, 0.1519)],
    );
    agrees(
        "wait 1.2",
        waits,
        1.2,
        [(0.169_530, 0.000_848), (17.4541, 0.0320)],
    );
    let eager = fixed(true, false, false);
    agrees(
        "eager 1.2",
        eager,
        1.2,
        [(0.172_732, 0.000_864), (13.2922, 0.0277)],
    );
    let bytes = fixed(true, true, true);
    agrees(
        "bytes 1.05",
        bytes,
        1.05,
        [(0.063_748, 0.001_228), (12.9614, 0.1005)],
    );
}

#[test]
fn adaptive() {
    let strict = RedSpec {
        adaptive: true,
        gentle: false,
        ..RedSpec::default()
    };
    agrees(
        "strict 0.95",
        strict,
        0.95,
        [(0.003_246, 0.000_844), (7.9582, 0.3428)],
    );
    agrees(
        "strict 1.05",
        strict,
        1.05,
        [(0.068_557, 0.001_940), (10.9441, 0.0555)],
    );
    agrees(
        "strict 1.2",
        strict,
        1.2,
        [(0.174_943, 0.000_918), (11.0541, 0.0377)],
    );
    // ns-2 keeps the slope that the gentle branch has for the first max_p, so this starts near the
    // settled max_p. From 0.1, ns-2 has a mean queue of 11.34 at 1.05, 1.4 % above ours.
    let gentle = RedSpec {
        gentle: true,
        max_p: 0.2,
        ..strict
    };
    agrees(
        "gentle 1.05",
        gentle,
        1.05,
        [(0.069_057, 0.001_254), (11.1479, 0.0402)],
    );
}
