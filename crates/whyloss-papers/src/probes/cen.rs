//! Measures what hybrids detect of the topology (CEN-65).

use whyloss::Time;
use whyloss::receiver::Classifier;
use whyloss_sim::{Event, Measurement, RunError, Scenario, Simulation, Watch};

use super::Probed;

/// Sums over the arrivals of the measured window.
#[derive(Debug, Default)]
struct Probe {
    from: Time,
    /// The sums over all arrivals at flows with a hybrid.
    all: Sums,
    /// The sums over arrivals at which T_narr shows the link underutilised: T_narr ≥ 1.5, where ZBS
    /// uses Spike.
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
        let Event::Arrived {
            at,
            classifier: Some(Classifier::Zbs(hybrid)),
            ..
        } = *event
        else {
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

/// Returns the mean over arrivals; NaN if there are none.
fn per_arrival(sums: &Sums, sum: f64) -> f64 {
    sum / sums.arrivals as f64
}

/// Runs a scenario, and sums over the arrivals at its flows.
pub(super) fn hybrids(scenario: &Scenario, seed: u64) -> Result<(Measurement, Probed), RunError> {
    let mut probe = Probe {
        from: scenario.measure_from,
        ..Probe::default()
    };
    let measurement = Simulation::new(scenario, seed).watch(&mut probe).run()?;
    let Probe {
        all, underutilised, ..
    } = probe;
    let values = vec![
        ("t_narr", per_arrival(&all, all.t_narr)),
        ("deviation", per_arrival(&all, all.rott_dev_over_t_min)),
        (
            "underutilised",
            per_arrival(&underutilised, underutilised.rott_dev_over_t_min),
        ),
    ];
    let tracks = Vec::new();
    Ok((measurement, Probed { values, tracks }))
}
