//! Compares loss rates and burst lengths of channels with closed forms.
//!
//! ```text
//! Bernoulli           p;  bursts of 1/(1 − p)
//! Gilbert–Elliott     π = g/(g + b), loss (1 − π)·l_good + π·l_bad
//!                     g, b: good → bad, bad → good per packet
//!                     bursts of 1/b if only the bad state loses packets, and loses all
//! in continuous time  π = T_bad/(T_good + T_bad) for packets that come at regular times
//! bit errors          1 − e^(−8·c·r)   a bit among the first c bytes is damaged; r: errors per bit
//! ```

use whyloss::{Duration, Time};
use whyloss_link::channel::{GilbertElliott, Harm, TimedGilbertElliott};
use whyloss_link::{ChannelSpec, Streams};

use super::Law;
use crate::case::Metric;
use crate::margin::Margin;

const PACKET: u32 = 1000;
/// The time between packets.
const SPACING: Duration = Duration::from_millis(1);

pub(super) fn laws(quick: bool) -> Vec<Law> {
    let packets = if quick { 2_000_000 } else { 8_000_000 };
    let chain = |g, b, loss_good, loss_bad| GilbertElliott {
        p_good_to_bad: g,
        p_bad_to_good: b,
        loss_good,
        loss_bad,
    };
    let simple = chain(0.02, 0.25, 0.0, 1.0);
    let full = chain(0.02, 0.25, 0.01, 0.5);
    let timed = TimedGilbertElliott {
        mean_good: Duration::from_millis(900),
        mean_bad: Duration::from_millis(100),
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    let mut laws = Vec::new();
    let mut add = |kind, case: &str, channel: ChannelSpec, bursts, law| {
        let (name, unit) = if bursts {
            ("mean burst", "packets")
        } else {
            ("loss", "%")
        };
        laws.push(Law {
            kind,
            case: case.to_owned(),
            metric: Metric {
                name,
                unit,
                margin: Margin::EXACT,
            },
            measure: Box::new(move |seed| {
                let (loss, burst) = measure(&channel, packets, seed);
                Ok((if bursts { burst } else { 100.0 * loss }, law))
            }),
        });
    };
    for loss in [0.01, 0.1] {
        let channel = ChannelSpec::Bernoulli { loss };
        add(
            "Bernoulli",
            &format!("loss {} %", 100.0 * loss),
            channel.clone(),
            false,
            100.0 * loss,
        );
        add(
            "Bernoulli",
            &format!("loss {} %", 100.0 * loss),
            channel,
            true,
            1.0 / (1.0 - loss),
        );
    }
    let bad = 0.02 / 0.27;
    let kind = "Gilbert–Elliott";
    let channel = ChannelSpec::GilbertElliott(simple);
    add(
        kind,
        "2 % in, 25 % out",
        channel.clone(),
        false,
        100.0 * bad,
    );
    add(kind, "2 % in, 25 % out", channel, true, 1.0 / 0.25);
    add(
        kind,
        "2 % in, 25 % out, lossy 1 % and 50 %",
        ChannelSpec::GilbertElliott(full),
        false,
        100.0 * ((1.0 - bad) * 0.01 + bad * 0.5),
    );
    add(
        kind,
        "900 ms good, 100 ms bad",
        ChannelSpec::TimedGilbertElliott(timed),
        false,
        10.0,
    );
    for (rate, covered) in [(1e-6, PACKET), (1e-5, PACKET), (1e-5, 100), (1e-4, PACKET)] {
        let bits = f64::from(8 * covered);
        laws.push(Law {
            kind: "bit errors",
            case: format!("rate {rate:e}, {covered} of {PACKET} bytes covered"),
            metric: Metric {
                name: "dropped",
                unit: "%",
                margin: Margin::EXACT,
            },
            measure: Box::new(move |seed| {
                let dropped = damaged(rate, covered, packets, seed);
                Ok((100.0 * dropped, 100.0 * (1.0 - libm::exp(-rate * bits))))
            }),
        });
    }
    laws
}

/// Returns the share of packets, in [0, 1], with a damaged bit among their first `covered` bytes.
fn damaged(rate: f64, covered: u32, packets: u64, seed: u64) -> f64 {
    let spec = ChannelSpec::BitErrors { rate };
    let mut channel = spec.build(Streams::new(seed).stream("channel", 0));
    let dropped = (0..packets).filter(|_| match channel.harms(Time::ZERO, PACKET) {
        Harm::Damaged(first) => first < 8 * covered,
        _ => false,
    });
    dropped.count() as f64 / packets as f64
}

/// Returns the share of lost packets and the mean length of a run of losses.
fn measure(spec: &ChannelSpec, packets: u64, seed: u64) -> (f64, f64) {
    let mut channel = spec.build(Streams::new(seed).stream("channel", 0));
    let (mut lost, mut bursts, mut before) = (0u64, 0u64, false);
    let mut now = Time::ZERO;
    for _ in 0..packets {
        now += SPACING;
        let corrupted = channel.harms(now, PACKET) == Harm::Lost;
        lost += u64::from(corrupted);
        bursts += u64::from(corrupted && !before);
        before = corrupted;
    }
    (lost as f64 / packets as f64, lost as f64 / bursts as f64)
}
