//! Tests of retransmission, by closed forms.

use super::*;

/// Returns a link with ARQ over independent losses of 10 %.
fn retransmitting(arq: ArqSpec) -> EventLink {
    let spec = LinkSpec {
        channel: ChannelSpec::Bernoulli { loss: 0.1 },
        arq: Some(arq),
        ..plain()
    };
    EventLink::new(&spec, Streams::new(7), 0)
}

/// Sends packets 100 ms apart. Returns the number of losses, and the delays of the others beyond
/// one transmission and the propagation, in seconds.
fn apart(arq: ArqSpec, packets: u64) -> (f64, Vec<f64>) {
    let offers: Vec<_> = (0..packets).map(|i| (i * 100_000, 1_000)).collect();
    let fates = fates(&mut retransmitting(arq), &offers);
    let mut extra = Vec::new();
    for (fate, &(at, _)) in fates.iter().zip(&offers) {
        if let Fate::Delivered(when) = fate {
            extra.push((*when - micros(at)).as_secs_f64() - 0.011);
        }
    }
    (1.0 - extra.len() as f64 / packets as f64, extra)
}

/// The loss rate is p^n, and delays have the mean and deviation of (K − 1)·(s + t) over delivered
/// packets.
#[test]
fn arq_by_the_closed_form() {
    for (tries, turnaround, parallel) in [(2, 4, false), (3, 0, false), (3, 8, true)] {
        let arq = ArqSpec {
            tries,
            turnaround: Duration::from_millis(turnaround),
            parallel,
            ..ArqSpec::default()
        };
        let packets = 200_000;
        let (loss, extra) = apart(arq, packets);
        let expected = libm::pow(0.1, f64::from(tries));
        let sigma = libm::sqrt(expected / packets as f64);
        assert!((loss - expected).abs() < 4.0 * sigma, "{loss} {expected}");
        // Each retry also takes a transmission of 1 ms.
        let per_try = (turnaround + 1) as f64 / 1_000.0;
        let sum = |power: f64| -> f64 {
            let term = |again| libm::pow(0.1, again) * libm::pow(again * per_try, power);
            (0..tries).map(f64::from).map(term).sum()
        };
        let (mean, square) = (sum(1.0) / sum(0.0), sum(2.0) / sum(0.0));
        let deviation = libm::sqrt(square - mean * mean);
        let n = extra.len() as f64;
        let found = extra.iter().sum::<f64>() / n;
        assert!(
            (found - mean).abs() < 4.0 * deviation / libm::sqrt(n),
            "{found} {mean}"
        );
        let square = extra.iter().map(|x| (x - found) * (x - found)).sum::<f64>() / n;
        assert!((libm::sqrt(square) / deviation - 1.0).abs() < 0.02);
    }
}

/// A saturated link carries one packet per E[K]·s + (E[K] − 1)·t; in parallel, per E[K]·s.
#[test]
fn a_saturated_arq_link_by_the_closed_form() {
    for parallel in [false, true] {
        let arq = ArqSpec {
            tries: 7,
            turnaround: Duration::from_millis(4),
            parallel,
            in_order: true,
        };
        let offers = vec![(0, 1_000); 40_000];
        let fates = fates(&mut retransmitting(arq), &offers);
        let last = fates.iter().map(|fate| fate.when()).max().expect("some");
        let tries = (1.0 - libm::pow(0.1, 7.0)) / 0.9;
        let wait = if parallel { 0.0 } else { (tries - 1.0) * 4.0 };
        let expected = 40.0 * (tries + wait);
        let found = last.as_secs_f64();
        // Geometric: all retries together have the variance n·p/(1 − p)². Each costs 5 ms or 1 ms.
        let sigma = libm::sqrt(40_000.0 * 0.1) / 0.9 * if parallel { 0.001 } else { 0.005 };
        assert!(
            (found - expected - 0.01).abs() < 4.0 * sigma,
            "{found} {expected}"
        );
        let whens = fates.iter().filter_map(|fate| match fate {
            Fate::Delivered(when) => Some(*when),
            _ => None,
        });
        assert!(whens.is_sorted(), "in order");
    }
}

/// Without order, a retransmitted packet arrives behind later packets.
#[test]
fn without_order_packets_do_not_wait() {
    let arq = ArqSpec {
        turnaround: Duration::from_millis(20),
        parallel: true,
        in_order: false,
        ..ArqSpec::default()
    };
    let offers: Vec<_> = (0..2_000).map(|i| (i * 2_000, 1_000)).collect();
    let fates = fates(&mut retransmitting(arq), &offers);
    let overtaken = fates
        .windows(2)
        .filter(|pair| pair[0].when() > pair[1].when());
    // One packet in ten is overtaken, unless the next one is retransmitted as well.
    let overtaken = overtaken.count();
    assert!((140..220).contains(&overtaken), "{overtaken}");
}
