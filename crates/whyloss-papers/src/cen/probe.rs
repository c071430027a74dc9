//! Looks inside runs: what classifiers and queues see, for the statements that the four measures cannot decide.

use whyloss::Time;
use whyloss::receiver::Classifier;
use whyloss_link::Fate;
use whyloss_sim::{Observer, Packet, Scenario};

use super::channel::Level;
use super::findings::list;
use super::network::{Network, Topology};
use super::scheme::by_id;
use super::series::FLOWS;
use crate::experiment::{Context, ExperimentError};
use crate::{Claim, statistics};

/// Sums over the arrivals of the measured window.
#[derive(Debug, Default)]
struct Probe {
    from: Time,
    /// The link whose queue is watched.
    link: usize,
    /// Arrivals at flows with a hybrid, and sums over them.
    arrivals: u64,
    t_narr: f64,
    rott_dev_over_t_min: f64,
    /// Arrivals at the watched link, and those that found at least one packet waiting, and at least two.
    offered: u64,
    found_one: u64,
    found_two: u64,
}

impl Observer for Probe {
    const QUEUE_LENGTH: bool = true;

    fn offered(&mut self, link: usize, at: Time, _: &Packet, waiting: usize, _: Fate) {
        if link == self.link && at >= self.from {
            self.offered += 1;
            self.found_one += u64::from(waiting >= 1);
            self.found_two += u64::from(waiting >= 2);
        }
    }

    fn arrived(&mut self, _: usize, at: Time, _: &Packet, classifier: Option<&Classifier>) {
        let Some(Classifier::Zbs(hybrid)) = classifier else {
            return;
        };
        let (Some(t_narr), Some(t_min)) = (hybrid.t_narr(), hybrid.biaz().t_min()) else {
            return;
        };
        if at >= self.from && t_min.as_nanos() > 0 {
            self.arrivals += 1;
            self.t_narr += t_narr;
            self.rott_dev_over_t_min +=
                hybrid.zigzag().rott_dev().as_secs_f64() / t_min.as_secs_f64();
        }
    }
}

fn scenario(topology: Topology, flows: usize, scheme: &str) -> Scenario {
    let schemes = [by_id(scheme)];
    let channel = Level::High.channel();
    Network {
        topology,
        flows,
        schemes: &schemes,
        channel: &channel,
        warm_up: true,
        before_queue: false,
    }
    .scenario()
}

/// Runs a probe on the queue of link `link` over each scenario; one list of values per scenario.
fn look(
    context: &Context<'_>,
    scenarios: &[Scenario],
    link: usize,
    values: impl Fn(&Probe) -> [f64; 2] + Sync,
) -> Result<Vec<[f64; 2]>, ExperimentError> {
    let runs = context.each(
        scenarios,
        |scenario| format!("probe {link} {scenario:?}"),
        |scenario, seed| {
            let mut probe = Probe {
                from: scenario.measure_from,
                link,
                ..Probe::default()
            };
            whyloss_sim::run(scenario, seed, &mut probe)
                .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
            Ok(probe)
        },
    )?;
    let mean = |runs: &[std::sync::Arc<Probe>], which: usize| {
        let all: Vec<f64> = runs.iter().map(|probe| values(probe)[which]).collect();
        statistics::mean(&all).unwrap_or(f64::NAN)
    };
    Ok(runs
        .iter()
        .map(|runs| [mean(runs, 0), mean(runs, 1)])
        .collect())
}

/// CEN-A11: with Spike in WLH, the wireless link's buffer is at least a third full about half of the time, which is what
/// its Mw shows. The limit of six packets counts the one in transmission, so a third is one waiting.
pub(crate) fn spike_buffer(context: &Context<'_>, mw: f64) -> Result<Claim, ExperimentError> {
    let scenario = scenario(Topology::Wlh, 1, "spike");
    let last = scenario
        .links
        .iter()
        .position(|link| link.name == "r2->d1")
        .unwrap_or_default();
    let share = |part: u64, probe: &Probe| 100.0 * part as f64 / probe.offered as f64;
    let shares = look(context, &[scenario], last, |p| {
        [share(p.found_one, p), share(p.found_two, p)]
    })?;
    let [third, more] = shares[0];
    Ok(Claim::new(
        "CEN-A11",
        "Spike, WLH: about half of the arriving packets (40 to 70 %) find the wireless link's buffer at least a third full",
        (40.0..=70.0).contains(&third),
        format!(
            "{third:.1} % of arriving packets found two or more packets in the buffer (the one in transmission among them), \
             {more:.1} % three or more; Mw {mw:.1} %"
        ),
    ))
}

/// CEN-65: what the hybrids see of the topology.
pub(crate) fn topology(
    context: &Context<'_>,
    topology: Topology,
) -> Result<Vec<Claim>, ExperimentError> {
    let scenarios = FLOWS.map(|n| scenario(topology, n, "zbs2"));
    let per_arrival = |probe: &Probe| {
        let arrivals = probe.arrivals as f64;
        [
            probe.t_narr / arrivals,
            probe.rott_dev_over_t_min / arrivals,
        ]
    };
    let seen = look(context, &scenarios, 0, per_arrival)?;
    let at = |which: usize| {
        list(
            FLOWS
                .iter()
                .zip(&seen)
                .map(|(n, seen)| (format!("N={n}"), seen[which])),
        )
    };
    let several = || FLOWS.into_iter().zip(&seen).filter(|(n, _)| *n > 1);
    let claims = match topology {
        Topology::Wlh => [
            Claim::new(
                "CEN-65a",
                "WLH: T_narr is about 1 (within a quarter) for every number of flows",
                seen.iter().all(|seen| (seen[0] - 1.0).abs() <= 0.25),
                at(0),
            ),
            Claim::new(
                "CEN-65b",
                "WLH, several flows: rott_dev is small against T_min (below half)",
                several().all(|(_, seen)| seen[1] < 0.5),
                at(1),
            ),
        ],
        Topology::Wb | Topology::Wlan => [
            Claim::new(
                "CEN-65a",
                "WB: T_narr is about N (within a quarter)",
                FLOWS
                    .iter()
                    .zip(&seen)
                    .all(|(&n, seen)| (seen[0] / n as f64 - 1.0).abs() <= 0.25),
                at(0),
            ),
            Claim::new(
                "CEN-65b",
                "WB, several flows: rott_dev is comparable to T_min (between a third and three times it)",
                several().all(|(_, seen)| (1.0 / 3.0..=3.0).contains(&seen[1])),
                at(1),
            ),
        ],
    };
    Ok(claims.into())
}
