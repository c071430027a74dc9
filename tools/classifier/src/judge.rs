//! Drivers in a loop, scored as the arena does: what models have to be compared by before one of them ships.

use std::error::Error;

use rayon::prelude::*;
use whyloss::{Cause, Confusion};
use whyloss_study::arena::{LEAST, quantile};
use whyloss_study::statistics;

use crate::networks::{Drawn, Drivers};

#[derive(Default)]
struct Tally {
    delivered: f64,
    congestion: f64,
    verdicts: Confusion,
}

fn tally(
    drawn: Drawn,
    drivers: &Drivers,
    (index, driver): (u64, &str),
    noise: Option<u64>,
) -> Result<Tally, Box<dyn Error + Send + Sync>> {
    let scenario = drawn.scenario(index, drivers, driver, noise)?;
    let run = whyloss_sim::run_unwatched(&scenario, 1)?;
    let mut tally = Tally::default();
    let (mut lost, mut all) = (0, 0);
    for flow in run.flows.iter().filter(|flow| !flow.background) {
        tally.delivered += flow.delivered as f64;
        lost += flow.lost.congestion;
        all += flow.received + flow.lost.congestion + flow.lost.wireless;
        tally.verdicts.merge(&flow.packets);
    }
    tally.congestion = 100.0 * lost as f64 / all as f64;
    Ok(tally)
}

/// Prints a line for each driver.
pub(crate) fn run(
    drawn: Drawn,
    drivers: &Drivers,
    noise: Option<u64>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let oracle = |index| tally(drawn, drivers, (index, "oracle"), None);
    let indices = (0..drawn.networks).into_par_iter();
    let oracles: Vec<Tally> = indices.map(oracle).collect::<Result<_, _>>()?;
    println!(
        "driver: received, tenth percentile, Mc %, Mw %, balanced, congestion above the oracle's"
    );
    for driver in &drivers.names {
        let own = |index| tally(drawn, drivers, (index, driver), noise);
        let indices = (0..drawn.networks).into_par_iter();
        let own: Vec<Tally> = indices.map(own).collect::<Result<_, _>>()?;
        let (mut received, mut excess) = (Vec::new(), Vec::new());
        let (mut mcs, mut mws, mut balanced) = (Vec::new(), Vec::new(), Vec::new());
        for (own, oracle) in own.iter().zip(&oracles) {
            received.push(own.delivered / oracle.delivered);
            excess.push(own.congestion - oracle.congestion);
            let share = |of: fn(&Confusion) -> Option<f64>, cause| {
                of(&own.verdicts).filter(|_| own.verdicts.total(cause) >= LEAST)
            };
            let mc = share(Confusion::mc, Cause::Congestion);
            let mw = share(Confusion::mw, Cause::Wireless);
            mcs.extend(mc);
            mws.extend(mw);
            balanced.extend(mc.zip(mw).map(|(mc, mw)| 1.0 - f64::midpoint(mc, mw)));
        }
        let mean = |values: &[f64]| statistics::mean(values).unwrap_or(f64::NAN);
        let tenth = quantile(&received, 0.1).map_or(f64::NAN, |(value, _)| value);
        println!(
            "{driver}: {:.3}, {tenth:.3}, {:.1}, {:.1}, {:.3}, {:.2}",
            mean(&received),
            100.0 * mean(&mcs),
            100.0 * mean(&mws),
            mean(&balanced),
            mean(&excess)
        );
    }
    Ok(())
}
