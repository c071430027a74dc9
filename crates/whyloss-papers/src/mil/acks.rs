//! Fig. 8: acknowledgements that reverse traffic has compressed.

use whyloss::Time;
use whyloss_link::Fate;
use whyloss_sim::packet::Payload;
use whyloss_sim::scenario::Router;
use whyloss_sim::{Observer, Packet};

use super::findings::{Metric, PERS, Study, cell};
use super::network::{Queueing, Topology, Traffic};
use super::variants;
use crate::experiment::{Context, ExperimentError};
use crate::statistics::{self, Summary};
use crate::{CONFIDENCE, Claim, Figure, Outcome, Panel, Series};

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

impl Observer for Arrivals {
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
    let setting = study.setting(Topology::Single, Queueing::Fifo, PER);
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
            whyloss_sim::run(scenario, seed, &mut arrivals)
                .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
            Ok(arrivals.times)
        },
    )?;
    let times = &runs[0][0];
    let milliseconds = |pair: &[Time]| 1e3 * (pair[1] - pair[0]).as_secs_f64();
    let intervals: Vec<f64> = times.windows(2).map(milliseconds).collect();
    let seconds = times.iter().skip(1).map(|at| (*at - FROM).as_secs_f64());
    let points = seconds.zip(&intervals).map(|(x, &y)| (x, y, None));
    let mut cells = Vec::new();
    for topology in Topology::ALL {
        for per in PERS {
            let setting = study.setting(topology, Queueing::Fifo, per);
            let metrics: [(&str, &'static str, Metric); 2] = [
                ("compressed acknowledgements", "%", |run| {
                    100.0 * run.compressed
                }),
                ("acknowledgements of a sender", "/s", |run| run.ack_rate),
            ];
            for (what, unit, metric) in metrics {
                let label = (what.to_owned(), format!("{}-bottleneck", topology.name()));
                let summary: Summary = study.findings.summary(metric, setting, study.scheme.lda.id);
                cells.push(cell(label, Some(per), unit, summary, None));
            }
        }
    }
    Ok(Outcome {
        id: "mil-fig-8".into(),
        title: "Fig. 8: AckdInterval of a WestwoodLDA sender in 2 s of Scenario 2".into(),
        seeds: study.findings.seeds(),
        confidence: CONFIDENCE,
        cells,
        claims: claims(&study, &intervals),
        figures: vec![Figure {
            name: "mil-fig-8".into(),
            caption: "AckdInterval of the first WestwoodLDA sender, single bottleneck, Scenario 2, error rate .01, seed 1"
                .into(),
            panels: vec![Panel {
                title: String::new(),
                x_label: "time, s".into(),
                y_label: "AckdInterval, ms".into(),
                log_x: false,
                log_y: false,
                series: vec![Series {
                    name: "WestwoodLDA".into(),
                    look: crate::Look::Line,
                    points: points.collect(),
                }],
            }],
        }],
        notes: vec![
            study.findings.precision_note(),
            "The paper does not say at which error rate, nor of which sender, the series is; any shows the same.".into(),
        ],
    })
}

/// MIL-44. The intervals are those of the figure, in ms.
fn claims(study: &Study, intervals: &[f64]) -> Vec<Claim> {
    let mean = statistics::mean(intervals).unwrap_or(f64::NAN);
    let deviation = statistics::standard_deviation(intervals).unwrap_or(f64::NAN);
    let share = |topology, per| study.lda(|run| 100.0 * run.compressed, topology, per);
    let [single, multiple] = Topology::ALL.map(|topology| PERS.map(|per| share(topology, per)));
    let list = |shares: &[f64]| {
        let parts: Vec<String> = shares.iter().map(|share| format!("{share:.1}")).collect();
        parts.join(" ")
    };
    vec![
        Claim::new(
            "MIL-44a",
            "single: acknowledgements are compressed (at every rate, 10 % or more come closer to the one before than the \
             bottleneck can send data packets)",
            single.iter().all(|&share| share >= 10.0),
            format!("{} %", list(&single)),
        ),
        Claim::new(
            "MIL-44b",
            "multiple: more so, at every rate",
            single.iter().zip(&multiple).all(|(one, three)| three > one),
            format!("single {}; multiple {} %", list(&single), list(&multiple)),
        ),
        Claim::new(
            "MIL-44c",
            "series of short intervals are often followed by a long one (in the figure's 2 s the intervals' deviation exceeds \
             their mean)",
            deviation > mean,
            format!(
                "{} intervals, mean {mean:.2} ms, deviation {deviation:.2} ms",
                intervals.len()
            ),
        ),
    ]
}
