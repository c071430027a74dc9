//! Fig. 8: cwnd and ssthresh of one flow without errors (BAL-19), and how the three leave slow start (BAL-32).

use whyloss::Duration;
use whyloss_study::{
    Check, Context, ExperimentError, Look, Metric, Outcome, Panel, Plan, Runs, Series,
};

use super::network::Network;
use super::stack::{PACKET, Stack};
use super::trace::{self, Sample, Trace, panel};
use crate::variant::Variant;

/// What is drawn, s: the whole run.
const DRAWN: f64 = 100.0;
/// The beginning of a connection, s.
const BEGINNING: f64 = 10.0;
/// How far ssthresh may lie from the pipe to be close to it.
const CLOSE: f64 = 0.2;

const TIMEOUTS: Metric<Trace> = Metric::new("timeouts in the first 10 s", "", |trace| {
    Some(trace.timeouts.iter().filter(|&&at| at < BEGINNING).count() as f64)
});
const DROPS: Metric<Trace> = Metric::new("drops before slow start is left", "packets", |trace| {
    let left = trace.slow_start_left.map_or(f64::INFINITY, |(at, _)| at);
    Some(trace.drops.iter().filter(|&&at| at < left).count() as f64)
});
const SSTHRESH: Metric<Trace> =
    Metric::new("ssthresh when slow start is left", "packets", |trace| {
        Some(packets(trace.slow_start_left?.1))
    });
const LEFT: Metric<Trace> = Metric::new("slow start is left after", "s", |trace| {
    Some(trace.slow_start_left?.0)
});

/// `bal-fig-8`.
pub(crate) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = Network::hybrid();
    let pipe = network.pipe();
    let mut variants = Stack::default().all().to_vec();
    variants.push(Variant {
        id: "ticking",
        name: "BaLDE, stamps of 1 ms",
        ..Stack::with_stamps(Duration::from_millis(1)).balde()
    });
    let mut plan = Plan::table();
    for variant in &variants {
        let alone = std::slice::from_ref(variant);
        plan = plan.line(variant.id, variant.name, |_| network.scenario(alone));
    }
    let runs = trace::run(context, plan)?;
    let of = |metric, id: &str| {
        runs.line(id, &metric)
            .named(&format!("{}, {id}", metric.name))
    };
    let every = |metric: Metric<Trace>, id: &str, holds: fn(f64) -> bool| {
        Check::of([&of(metric, id)], |_| {
            let values = runs.at(id, f64::NAN).iter().map(|trace| (metric.of)(trace));
            values.flatten().all(holds)
        })
    };
    let title = "Fig. 8: windows without errors";
    let several = |drops| drops >= 2.0;
    let some = |timeouts| timeouts >= 1.0;
    let none = |count| count == 0.0;
    Ok(Outcome::new("bal-fig-8", title, runs.seeds())
        .cells([TIMEOUTS, DROPS, SSTHRESH, LEFT].iter().flat_map(|metric| {
            runs.lines(metric).cells(metric.name)
        }))
        .captioned(
            &format!("{title}: the first replication"),
            variants.iter().map(|variant| windows(&runs, variant, pipe)),
        )
        .claim(
            "BAL-32b",
            "Reno and Westwood overshoot: several drops and a timeout in the first 10 s of every run",
            every(DROPS, "reno", several)
                .and(every(TIMEOUTS, "reno", some))
                .and(every(DROPS, "westwood", several))
                .and(every(TIMEOUTS, "westwood", some)),
        )
        .claim(
            "BAL-32c",
            "BaLDE leaves slow start without a drop or a timeout, in every run",
            every(DROPS, "balde", none).and(every(TIMEOUTS, "balde", none)),
        )
        .claim(
            "BAL-32d",
            "BaLDE's ssthresh is then close to the pipe of 62.5 packets (within 20 %)",
            of(SSTHRESH, "balde").near(pipe, CLOSE * pipe),
        )
        .note("The seeds differ in when the flow starts, within 0.1 s. An ssthresh above four pipes is not drawn."))
}

/// cwnd and ssthresh of the first replication.
fn windows(runs: &Runs<Trace>, variant: &Variant, pipe: f64) -> Panel {
    let series = |name: &str, look, value: fn(&Sample) -> u64| {
        let trace = runs.at(variant.id, f64::NAN).first();
        let points = trace.map(|trace| {
            trace.over_time(DRAWN, |sample| {
                let value = packets(value(sample));
                // An ssthresh that is still the receiver's window would flatten all else.
                if value > 4.0 * pipe { f64::NAN } else { value }
            })
        });
        Series::new(name, look, points.unwrap_or_default())
    };
    let lines = vec![
        series("cwnd", Look::Line, |sample| sample.cwnd),
        series("ssthresh", Look::Dashed, |sample| sample.ssthresh),
    ];
    panel(variant.name, "packets", lines)
}

fn packets(bytes: u64) -> f64 {
    bytes as f64 / f64::from(PACKET)
}
