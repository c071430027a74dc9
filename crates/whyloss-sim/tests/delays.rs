//! Delays of a whole run with every transport, in whole microseconds.

mod tiny;

use whyloss_sim::{Delays, run};

#[test]
fn delays_of_the_tiny_network() {
    let scenario = tiny::scenario(5_000);
    let mut delays = Delays::new(&scenario);
    run(&scenario, 1, &mut delays).unwrap();
    let micros = |ms: Option<f64>| ms.map_or(-1, |ms| (ms * 1e3).round() as i64);
    let rows = scenario.flows.iter().zip(&delays.flows).map(|(flow, d)| {
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
    tcp: 134 packets, mean 82842, 19230 to 2041289, quantiles [34456, 256442, 1330119], jitter (229569, 126433)
    video 1: 332 packets, mean 35937, 19230 to 58338, quantiles [36717, 53723, 56738], jitter (10795, 4378)
    cross: 100 packets, mean 34823, 19230 to 55141, quantiles [34456, 53002, 55132], jitter (10785, 5572)
    ");
}
