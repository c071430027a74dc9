//! Fig. 8: acknowledgements that reverse traffic has compressed.

use whyloss::Time;
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::scenario::Router;
use whyloss_sim::{Packet, Watch};

use whyloss_study::statistics;
use whyloss_study::{Check, Claim, Context, ExperimentError, Look, Metric, Outcome, Panel, Series};

use super::claims_westwood::below;
use super::findings::{PERS, Study, cells};
use super::network::{Queueing, Setting, Topology, Traffic};
use super::probe::Run;
use super::{findings, variants};

const COMPRESSED: Metric<Run> = Metric::new("compressed acknowledgements", "%", |run| {
    Some(100.0 * run.compressed)
});
const ACKS: Metric<Run> = Metric::new("acknowledgements of a sender", "/s", |run| {
    Some(run.ack_rate)
});

/// The error rate of the series, in percent; the paper does not say.
const PER: u32 = 1;
/// The two seconds that are shown.
const FROM: Time = Time::from_nanos(50_000_000_000);
const TO: Time = Time::from_nanos(52_000_000_000);

/// Notes when the first flow's acknowledgements arrive.
struct Arrivals {
    last_hop: usize,
    times: Vec<Time>,
}

impl Watch for Arrivals {
    fn offered(&mut self, link: usize, _: Time, packet: &Packet, _: usize, fate: Fate) {
        if let (Fate::Delivered(at), Payload::Ack(_)) = (fate, &packet.payload)
            && link == self.last_hop
            && (FROM..=TO).contains(&at)
        {
            self.times.push(at);
        }
    }
}

/// `mil-fig-8`.
pub(crate) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let study = Study::measure(context, variants::westwood(), Traffic::SCENARIO_2, &PERS)?;
    let place = findings::place(Topology::Single, Queueing::Fifo, study.traffic);
    let setting = Setting { per: PER, ..place };
    let scenario = setting.scenario(&study.scheme.lda);
    let runs = context.with_seeds(1).each(
        &[scenario],
        |scenario| format!("mil acknowledgements {scenario:?}"),
        |scenario, seed| {
            let routes = Router::new(scenario).routes_of(&scenario.flows[0]);
            let last_hop = routes.and_then(|(_, back)| back.last().copied());
            let mut arrivals = Arrivals {
                last_hop: last_hop.unwrap_or(usize::MAX),
                times: Vec::new(),
            };
            whyloss_sim::run_watched(scenario, seed, &mut arrivals)
                .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
            Ok(arrivals.times)
        },
    )?;
    let times = &runs[0][0];
    let milliseconds = |pair: &[Time]| 1e3 * (pair[1] - pair[0]).as_secs_f64();
    let intervals: Vec<f64> = times.windows(2).map(milliseconds).collect();
    let seconds = times.iter().skip(1).map(|at| (*at - FROM).as_secs_f64());
    let points = seconds.zip(&intervals).map(|(x, &y)| (x, y));
    let mut of_figure = Vec::new();
    for topology in Topology::ALL {
        let column = format!("{}-bottleneck", topology.name());
        let lines = [COMPRESSED, ACKS].map(|metric| {
            let [_, lda] = study.both(&metric, topology);
            cells(&lda.named(&column), metric.name)
        });
        let [compressed, acks] = lines;
        of_figure.extend(compressed.into_iter().zip(acks).flat_map(|(a, b)| [a, b]));
    }
    let title = "Fig. 8: AckdInterval of a WestwoodLDA sender in 2 s of Scenario 2";
    let series = Series::new("WestwoodLDA", Look::Line, points);
    Ok(Outcome::new("mil-fig-8", title, study.findings.seeds())
        .cells(of_figure)
        .claims(claims(&study, &intervals))
        .captioned(
            "AckdInterval of the first WestwoodLDA sender, single bottleneck, Scenario 2, error rate .01, seed 1",
            [Panel::new("", ("time, s", "AckdInterval, ms"), vec![series])],
        )
        .note(study.findings.precision_note())
        .note("The paper does not say at which error rate, nor of which sender, the series is; any shows the same."))
}

/// MIL-44. The intervals are those of the figure, in ms.
fn claims(study: &Study, intervals: &[f64]) -> Vec<Claim> {
    let mean = statistics::mean(intervals).unwrap_or(f64::NAN);
    let deviation = statistics::standard_deviation(intervals).unwrap_or(f64::NAN);
    let [_, single, _, multiple] = study.all_four(&COMPRESSED);
    let of_figure = Check {
        holds: deviation > mean,
        evidence: format!(
            "{} intervals, mean {mean:.2} ms, deviation {deviation:.2} ms",
            intervals.len()
        ),
    };
    vec![
        single.at_least(10.0).claim(
            "MIL-44a",
            "single: acknowledgements are compressed (at every rate, 10 % or more come closer to the one before than the \
             bottleneck can send data packets)",
        ),
        Check::of([&single, &multiple], |[single, multiple]| below(single, multiple))
            .claim("MIL-44b", "multiple: more so, at every rate"),
        of_figure.claim(
            "MIL-44c",
            "series of short intervals are often followed by a long one (in the figure's 2 s the intervals' deviation exceeds \
             their mean)",
        ),
    ]
}
