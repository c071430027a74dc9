//! Looks inside runs: what classifiers and queues see, for the statements that the four measures cannot decide.

use whyloss::Time;
use whyloss::receiver::Classifier;
use whyloss_sim::{Event, Scenario, Watch};

use whyloss_study::{Check, Claim, Context, ExperimentError, Metric, Plan};

use super::channel::Level;
use super::measure::{BY_FLOWS, FLOWS, several};
use super::network::{Network, Topology};
use super::scheme::by_id;

/// Sums over the arrivals of the measured window.
#[derive(Debug, Default)]
struct Probe {
    from: Time,
    /// Arrivals at flows with a hybrid, and sums over them.
    all: Sums,
    /// Arrivals at which T_narr shows the link underutilised: T_narr ≥ 1.5, where ZBS uses Spike.
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

impl Watch for Probe {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Arrived { at, classifier, .. } = *event {
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
}

/// The mean of something over arrivals; none if there are none.
fn per_arrival(sums: &Sums, sum: f64) -> Option<f64> {
    Some(sum / sums.arrivals as f64).filter(|mean| mean.is_finite())
}

const T_NARR: Metric<Probe> =
    Metric::new("", "", |probe| per_arrival(&probe.all, probe.all.t_narr));
const DEVIATION: Metric<Probe> = Metric::new("", "", |probe| {
    per_arrival(&probe.all, probe.all.rott_dev_over_t_min)
});
const DEVIATION_UNDERUTILISED: Metric<Probe> = Metric::new("", "", |probe| {
    let sums = &probe.underutilised;
    per_arrival(sums, sums.rott_dev_over_t_min)
});

/// CEN-65: what the hybrids see of the topology.
pub(crate) fn topology(
    context: &Context<'_>,
    topology: Topology,
) -> Result<[Claim; 2], ExperimentError> {
    let channel = Level::High.channel();
    let plan = Plan::new(&BY_FLOWS, &FLOWS).line("zbs2", "", |flows| {
        Network::new(topology, flows as usize, &[by_id("zbs2")], &channel).scenario()
    });
    let key = |scenario: &Scenario| format!("probe {scenario:?}");
    let runs = Plan::run_all_with(context, &[plan], key, |scenario, seed| {
        let mut probe = Probe {
            from: scenario.measure_from,
            ..Probe::default()
        };
        whyloss_sim::Simulation::new(scenario, seed)
            .watch(&mut probe)
            .run()
            .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
        Ok(probe)
    })?;
    let lines = [T_NARR, DEVIATION, DEVIATION_UNDERUTILISED];
    let [t_narr, deviation, underutilised] = lines.map(|metric| runs[0].line("zbs2", &metric));
    Ok(match topology {
        Topology::Wlh => {
            let always = deviation.named("at all times");
            [
                t_narr.near(1.0, 0.25).claim(
                    "CEN-65a",
                    "WLH: T_narr is about 1 (within a quarter) for every number of flows",
                ),
                Check::of([&underutilised, &always], |[underutilised, _]| {
                    // Where it never is, there is nothing to see.
                    several(underutilised).measured().every(|deviation| deviation < 0.5)
                })
                .claim(
                    "CEN-65b",
                    "WLH, several flows: while the wireless link is underutilised (T_narr from 1.5 on), rott_dev is small against \
                     T_min (below half)",
                ),
            ]
        }
        Topology::Wb | Topology::Wlan => [
            Check::of([&t_narr], |[t_narr]| {
                let share = t_narr.by_mean("", |n, t_narr| t_narr / n);
                share.every(|share| (share - 1.0).abs() <= 0.25)
            })
            .claim("CEN-65a", "WB: T_narr is about N (within a quarter)"),
            Check::of([&deviation], |[deviation]| {
                several(deviation).every(|deviation| (1.0 / 3.0..=3.0).contains(&deviation))
            })
            .claim(
                "CEN-65b",
                "WB, several flows: rott_dev is comparable to T_min (between a third and three times it)",
            ),
        ],
    })
}
