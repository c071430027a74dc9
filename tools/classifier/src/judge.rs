//! Scores drivers in closed loop, as the arena does. A model ships only if it wins this comparison.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use rayon::prelude::*;
use whyloss::{Cause, Confusion};
use whyloss_study::arena::{LEAST, Variant, quantile};
use whyloss_study::statistics;

use crate::networks::{Drawn, Drivers};

#[derive(Default)]
struct Tally {
    delivered: f64,
    congestion: f64,
    /// The verdicts per lost packet, and per gap. A gap with a congestion loss counts as
    /// congestion.
    verdicts: [Confusion; 2],
    /// The packets delivered to a flow without a classifier.
    plain: f64,
}

/// The scores of the networks that have at least [`LEAST`] losses of the cause.
#[derive(Default)]
struct Scores {
    mc: Vec<f64>,
    mw: Vec<f64>,
    balanced: Vec<f64>,
}

impl Scores {
    /// Adds the verdicts of a network, and returns its Mc and Mw.
    fn add(&mut self, verdicts: &Confusion) -> (Option<f64>, Option<f64>) {
        let share = |of: fn(&Confusion) -> Option<f64>, cause| {
            of(verdicts).filter(|_| verdicts.total(cause) >= LEAST)
        };
        let mc = share(Confusion::mc, Cause::Congestion);
        let mw = share(Confusion::mw, Cause::Wireless);
        self.mc.extend(mc);
        self.mw.extend(mw);
        self.balanced
            .extend(mc.zip(mw).map(|(mc, mw)| 1.0 - f64::midpoint(mc, mw)));
        (mc, mw)
    }

    /// Formats the means of Mc and Mw, 1 − (Mc + Mw)/2 from these means, and the mean of this
    /// quantity over the networks that have both.
    fn line(&self) -> String {
        let mean = |values: &[f64]| statistics::mean(values).unwrap_or(f64::NAN);
        let (mc, mw) = (mean(&self.mc), mean(&self.mw));
        let of_means = 1.0 - f64::midpoint(mc, mw);
        format!(
            "{:.1}, {:.1}, {of_means:.3} ({:.3})",
            100.0 * mc,
            100.0 * mw,
            mean(&self.balanced)
        )
    }
}

fn tally(
    drawn: Drawn,
    drivers: &Drivers,
    (index, driver): (u64, &str),
    noise: Option<u64>,
    variant: Variant,
) -> Result<Tally, Box<dyn Error + Send + Sync>> {
    let scenario = drawn.variant(variant, index, drivers, driver, noise)?;
    let run = whyloss_sim::Simulation::new(&scenario, 1).run()?;
    let mut tally = Tally::default();
    let (mut lost, mut all) = (0, 0);
    for (flow, spec) in run.flows.iter().zip(&scenario.flows) {
        if spec.name == "plain" {
            tally.plain += flow.delivered as f64;
        }
        if flow.background {
            continue;
        }
        tally.delivered += flow.delivered as f64;
        lost += flow.lost.congestion;
        all += flow.received + flow.lost.congestion + flow.lost.wireless;
        tally.verdicts[0].merge(&flow.packets);
        tally.verdicts[1].merge(&flow.gaps);
    }
    tally.congestion = 100.0 * lost as f64 / all as f64;
    Ok(tally)
}

/// Prints a line for each driver.
pub(crate) fn run(
    drawn: Drawn,
    drivers: &Drivers,
    noise: Option<u64>,
    harm: bool,
    csv: Option<&Path>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut each = String::from(
        "driver,network,family,flows,rate,round_trip,buffer,loss,received,mc,mw,excess\n",
    );
    let all = |driver: &str, noise, variant| {
        let own = |index| tally(drawn, drivers, (index, driver), noise, variant);
        let indices = (0..drawn.networks).into_par_iter();
        indices.map(own).collect::<Result<Vec<Tally>, _>>()
    };
    let oracles = all("oracle", None, Variant::Drawn)?;
    let beside: &[Variant] = if harm {
        &[Variant::Beside, Variant::BesideClean]
    } else {
        &[]
    };
    let plain = beside.iter().map(|&variant| all("unaware", noise, variant));
    let plain: Vec<Vec<Tally>> = plain.collect::<Result<_, _>>()?;
    println!(
        "driver: received, tenth percentile, Mc %, Mw %, balanced (of networks with both), congestion above the oracle's; of gaps: Mc %, \
         Mw %, balanced{}",
        if harm {
            "; harm to a plain flow %, where no channel loses %, 90 % quantile of that"
        } else {
            ""
        }
    );
    for driver in &drivers.names {
        let own = all(driver, noise, Variant::Drawn)?;
        // Quote the driver, since a table of parameters has commas and quotes.
        let quoted = format!("\"{}\"", driver.replace('"', "\"\""));
        let (mut received, mut excess) = (Vec::new(), Vec::new());
        let mut scores = [Scores::default(), Scores::default()];
        for (index, (own, oracle)) in (0..).zip(own.iter().zip(&oracles)) {
            received.push(own.delivered / oracle.delivered);
            excess.push(own.congestion - oracle.congestion);
            let [(mc, mw), _] = [0, 1].map(|unit| scores[unit].add(&own.verdicts[unit]));
            let n = drawn.network(index);
            let _ = writeln!(
                each,
                "{quoted},{index},{},{},{:.0},{:.3},{},{:.4},{:.4},{},{},{:.3}",
                n.family.id(),
                n.flows,
                n.rate,
                n.round_trip,
                n.buffer,
                n.loss,
                own.delivered / oracle.delivered,
                mc.map_or(String::new(), |share| format!("{share:.4}")),
                mw.map_or(String::new(), |share| format!("{share:.4}")),
                own.congestion - oracle.congestion
            );
        }
        let mean = |values: &[f64]| statistics::mean(values).unwrap_or(f64::NAN);
        let tenth = quantile(&received, 0.1).map_or(f64::NAN, |(value, _)| value);
        let mut harms = String::new();
        for (&variant, plain) in beside.iter().zip(&plain) {
            let own = all(driver, noise, variant)?;
            let pairs = own.iter().zip(plain);
            let pairs = pairs.filter(|(_, plain)| plain.plain >= LEAST as f64);
            let harm: Vec<f64> = pairs
                .map(|(own, plain)| 100.0 * (1.0 - own.plain / plain.plain))
                .collect();
            let _ = write!(harms, "; {:.1}", mean(&harm));
            if variant == Variant::BesideClean {
                let ninetieth = quantile(&harm, 0.9).map_or(f64::NAN, |(value, _)| value);
                let _ = write!(harms, "; {ninetieth:.1}");
            }
        }
        println!(
            "{driver}: {:.3}, {tenth:.3}, {}, {:.2}; {}{harms}",
            mean(&received),
            scores[0].line(),
            mean(&excess),
            scores[1].line(),
        );
    }
    if let Some(path) = csv {
        std::fs::write(path, each)?;
    }
    Ok(())
}
