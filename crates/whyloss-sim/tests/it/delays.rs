//! Pins the delays of a whole run with every transport, in whole microseconds.

use crate::tiny;
use whyloss_sim::{Needs, Run, Scenario, Simulation};

/// Returns the counts and delays of a run. The observer is that of the command, so that no other
/// engine is compiled.
pub(crate) fn run(scenario: &Scenario) -> Run {
    let needs = Needs {
        delays: true,
        frames: false,
    };
    Simulation::new(scenario, 1)
        .measure(needs)
        .expect("it passes its checks")
}

#[test]
fn delays_of_the_tiny_network() {
    let scenario = tiny::scenario(5_000);
    let delays = run(&scenario).delays;
    let micros = |ms: Option<f64>| ms.map_or(-1, |ms| (ms * 1e3).round() as i64);
    let rows = scenario.flows.iter().zip(&delays).map(|(flow, d)| {
        let quantiles = [0.5, 0.95, 0.99].map(|q| micros(d.quantile_ms(q)));
        let (least, most) = (micros(d.min_ms()), micros(d.max_ms()));
        let jitter = (micros(d.deviation_ms()), micros(d.rfc3550_ms()));
        format!(
            "{}: {} packets, mean {}, {least} to {most}, quantiles {quantiles:?}, jitter {jitter:?}",
            flow.name,
            d.count(),
            micros(d.mean_ms()),
        )
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"), @r"
    tcp: 124 packets, mean 76950, 19230 to 1330177, quantiles [34456, 248709, 1088946], jitter (179864, 259400)
    video 1: 350 packets, mean 36799, 19230 to 57284, quantiles [35865, 54608, 56639], jitter (11891, 3034)
    cross: 93 packets, mean 34186, 19230 to 56460, quantiles [33604, 54346, 56460], jitter (10863, 5697)
    ");
}
