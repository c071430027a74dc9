//! Runs a plan's scenarios and seeds without a sweep, to compare the time of the engine alone with
//! that of a sweep.
//!
//! Compare `time cargo run --release -p whyloss-study --features sweep --example engine_time --
//! docs/plans/wlh.toml [THREADS]` with `time whyloss sweep docs/plans/wlh.toml --out DIR`. The
//! scenarios are read before the clock starts.

use std::error::Error;
use std::time::Instant;

use rayon::prelude::*;
use whyloss_sim::Scenario;
use whyloss_study::sweep::Plan;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args
        .next()
        .ok_or("expected a plan, and perhaps how many threads")?;
    let threads = args.next().map_or(Ok(0), |threads| threads.parse())?;
    let plan = Plan::parse(&std::fs::read_to_string(&file)?, &file)?;
    let scenario = |point| {
        let point = plan.point(point);
        let network = &plan.networks[point.network];
        Scenario::from_toml(&network.text, &network.file, &point.set)
    };
    let scenarios: Vec<Scenario> = (0..plan.points()).map(scenario).collect::<Result<_, _>>()?;
    let (first, seeds) = plan.seeds();
    let runs: Vec<(&Scenario, u64)> = scenarios
        .iter()
        .flat_map(|scenario| (first..first + seeds).map(move |seed| (scenario, seed)))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    #[expect(clippy::disallowed_methods, reason = "the time is what this is about")]
    let begin = Instant::now();
    let events: u64 = pool.install(|| {
        let run = |&(scenario, seed): &(&Scenario, u64)| {
            whyloss_sim::Simulation::new(scenario, seed).run()
        };
        runs.par_iter()
            .map(run)
            .map(|run| run.map_or(0, |run| run.events))
            .sum()
    });
    println!(
        "{} runs, {events} events, {:.2} s",
        runs.len(),
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}
