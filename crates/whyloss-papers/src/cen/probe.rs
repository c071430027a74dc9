//! Looks inside runs: what classifiers and queues see, for the statements that the four measures cannot decide.

use whyloss::Time;
use whyloss::receiver::Classifier;
use whyloss_sim::{Observer, Packet, Scenario};

use super::channel::Level;
use super::findings::list;
use super::network::{Network, Topology};
use super::scheme::by_id;
use super::series::FLOWS;
use whyloss_study::{Claim, statistics};
use whyloss_study::{Context, ExperimentError};

/// Sums over the arrivals of the measured window.
#[derive(Debug, Default)]
struct Probe {
    from: Time,
    /// Arrivals at flows with a hybrid, and sums over them.
    all: Sums,
    /// Those at which T_narr shows the link underutilised: T_narr ≥ 1.5, where ZBS uses Spike.
    underutilised: Sums,
}

#[derive(Debug, Default)]
struct Sums {
    arrivals: u64,
    t_narr: f64,
    rott_dev_over_t_min: f64,
}

impl Sums {
    fn add(&mut self, t_narr: f64, rott_dev_over_t_min: f64) {
        self.arrivals += 1;
        self.t_narr += t_narr;
        self.rott_dev_over_t_min += rott_dev_over_t_min;
    }
}

impl Observer for Probe {
    fn arrived(&mut self, _: usize, at: Time, _: &Packet, classifier: Option<&Classifier>) {
        let Some(Classifier::Zbs(hybrid)) = classifier else {
            return;
        };
        let (Some(t_narr), Some(t_min)) = (hybrid.t_narr(), hybrid.biaz().t_min()) else {
            return;
        };
        if at >= self.from && t_min.as_nanos() > 0 {
            let deviation = hybrid.zigzag().rott_dev().as_secs_f64() / t_min.as_secs_f64();
            self.all.add(t_narr, deviation);
            if t_narr >= 1.5 {
                self.underutilised.add(t_narr, deviation);
            }
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

/// Runs a probe over each scenario; one list of values per scenario.
fn look(
    context: &Context<'_>,
    scenarios: &[Scenario],
    values: impl Fn(&Probe) -> [f64; 3] + Sync,
) -> Result<Vec<[f64; 3]>, ExperimentError> {
    let runs = context.each(
        scenarios,
        |scenario| format!("probe {scenario:?}"),
        |scenario, seed| {
            let mut probe = Probe {
                from: scenario.measure_from,
                ..Probe::default()
            };
            whyloss_sim::run(scenario, seed, &mut probe)
                .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
            Ok(probe)
        },
    )?;
    let mean = |runs: &[std::sync::Arc<Probe>], which: usize| {
        let all: Vec<f64> = runs
            .iter()
            .map(|probe| values(probe)[which])
            .filter(|value| value.is_finite())
            .collect();
        statistics::mean(&all).unwrap_or(f64::NAN)
    };
    Ok(runs
        .iter()
        .map(|runs| [0, 1, 2].map(|which| mean(runs, which)))
        .collect())
}

/// CEN-65: what the hybrids see of the topology.
pub(crate) fn topology(
    context: &Context<'_>,
    topology: Topology,
) -> Result<Vec<Claim>, ExperimentError> {
    let scenarios = FLOWS.map(|n| scenario(topology, n, "zbs2"));
    let per_arrival = |probe: &Probe| {
        let Probe {
            all, underutilised, ..
        } = probe;
        [
            all.t_narr / all.arrivals as f64,
            all.rott_dev_over_t_min / all.arrivals as f64,
            underutilised.rott_dev_over_t_min / underutilised.arrivals as f64,
        ]
    };
    let seen = look(context, &scenarios, per_arrival)?;
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
                "WLH, several flows: while the wireless link is underutilised (T_narr from 1.5 on), rott_dev is small against \
                 T_min (below half)",
                several().any(|(_, seen)| seen[2] < 0.5)
                    && !several().any(|(_, seen)| seen[2] >= 0.5),
                format!("{}; at all times {}", at(2), at(1)),
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
