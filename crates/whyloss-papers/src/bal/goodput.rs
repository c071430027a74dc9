//! Goodput of one flow: Fig. 7 over wireless loss, Fig. 10 the same among UDP sources, Fig. 11 over the bottleneck's
//! capacity, Fig. 12 over the propagation delay (BAL-18, -20, -21, -22).
//!
//! Goodput counts the bits of new data that arrived in 100 s. A stated number is met if the ratio of goodputs that it
//! implies is met within 5 %.

use whyloss::{Confusion, Duration, Rate};
use whyloss_sim::Measurement;
use whyloss_study::statistics::mean;
use whyloss_study::{
    Axis, Cell, Check, Context, ExperimentError, Line, Metric, Outcome, Plan, Runs,
};

use super::network::{Cross, Network};
use super::stack::{PACKET, Stack};

/// Wireless loss in per cent, from the paper's 0.001 to its 10 (BAL-18).
pub(super) const LOSSES: [f64; 13] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
];
/// Mbit/s; the paper's range is not in print where we could read it.
const CAPACITIES: [f64; 8] = [1.0, 2.0, 5.0, 8.0, 10.0, 12.0, 15.0, 20.0];
/// One-way, ms.
const DELAYS: [f64; 9] = [20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0, 160.0, 180.0];
/// Wireless loss in Figs 11 and 12, per cent.
const LOSS: f64 = 0.1;
/// How far a ratio of goodputs may lie from the paper's.
const TOLERANCE: f64 = 0.05;

pub(super) const BY_LOSS: Axis = Axis::log("wireless loss, %");

pub(super) const GOODPUT: Metric<Measurement> =
    Metric::new("goodput", "Mbit/s", |run| mean(&goodputs(run, "")));
const TIMEOUTS: Metric<Measurement> = Metric::new("timeouts", "", |run| {
    Some(run.flows.first()?.timeouts as f64)
});

/// Bits of new data per second that reached the sinks of the foreground flows whose name begins with `prefix`, in
/// Mbit/s, flow by flow.
pub(super) fn goodputs(run: &Measurement, prefix: &str) -> Vec<f64> {
    let bits_per_packet = f64::from(8 * PACKET);
    run.flows
        .iter()
        .filter(|flow| !flow.background && flow.name.starts_with(prefix))
        .map(|flow| flow.delivered as f64 * bits_per_packet / run.window.as_secs_f64() / 1e6)
        .collect()
}

/// The network of Fig. 7 at this wireless loss in per cent.
pub(super) fn lossy(loss: f64) -> Network {
    Network {
        loss: loss / 100.0,
        ..Network::hybrid()
    }
}

/// Runs all three over `xs`, each of which `network` makes one of.
fn measure(
    context: &Context<'_>,
    axis: &Axis,
    xs: &[f64],
    network: impl Fn(f64) -> Network,
) -> Result<Runs<Measurement>, ExperimentError> {
    let mut plan = Plan::new(axis, xs);
    for variant in Stack::default().all() {
        let alone = std::slice::from_ref(&variant);
        plan = plan.line(variant.id, variant.name, |x| network(x).scenario(alone));
    }
    plan.run(context)
}

/// Goodput over something, how LDEA judged, and how often timers expired.
fn outcome(runs: &Runs<Measurement>, id: &str, title: &str) -> Outcome {
    let goodput = runs.lines(&GOODPUT);
    let timeouts = runs.lines(&TIMEOUTS);
    let judged = |id, name, rate: fn(&Confusion) -> Option<f64>| {
        runs.read_off("balde", (id, name), "%", |run| {
            // Timeouts, which BaLDE does not differentiate, count as called congestion.
            Some(100.0 * rate(&run.flows.first()?.gaps)?)
        })
    };
    let errors = [
        judged("mc", "congestion called wireless (Mc)", Confusion::mc),
        judged("mw", "wireless called congestion (Mw)", Confusion::mw),
    ];
    let errors = runs.gather(("% of loss events", ""), errors);
    Outcome::new(id, title, runs.seeds())
        .cells(goodput.cells("goodput"))
        .cells(errors.cells("LDEA's errors"))
        .cells(timeouts.cells("timeouts"))
        .figure([goodput.panel("goodput"), errors.panel("LDEA's errors")])
}

/// The gain of one over another that the paper states at this loss.
fn stated(line: &Line, over: &Line, loss: f64, paper: f64) -> Cell {
    let row = format!("gain at {loss} % loss");
    let column = format!("{} over {}", line.name, over.name);
    let gain = line.gain(over).at(loss);
    gain.cell(&row, &column, "%")
        .beside(paper, 100.0 * TOLERANCE * (1.0 + paper / 100.0))
}

/// `bal-fig-7`.
pub(crate) fn fig_7(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let runs = measure(context, &BY_LOSS, &LOSSES, lossy)?;
    let [reno, westwood, balde] = lines(&runs);
    let rare = |other: &Line| balde.gain(other).only(|loss| loss < 0.005);
    let title = "Fig. 7: goodput over wireless loss, no cross traffic";
    Ok(outcome(&runs, "bal-fig-7", title)
        .first([
            stated(&balde, &reno, 1.0, 76.6),
            stated(&balde, &westwood, 1.0, 17.9),
            stated(&westwood, &balde, 0.001, -3.33),
        ])
        .claim(
            "BAL-31a",
            "BaLDE's goodput is above Reno's and Westwood's at every loss rate",
            balde.above(&reno).and(balde.above(&westwood)),
        )
        .claim(
            "BAL-31b",
            "Westwood's goodput is above Reno's at every loss rate",
            westwood.above(&reno),
        )
        .claim(
            "BAL-32a",
            "below 0.005 % loss BaLDE outperforms Reno and Westwood (by 1 % at least)",
            rare(&reno).at_least(1.0).and(rare(&westwood).at_least(1.0)),
        )
        .note(
            "Goodput counts new data that arrived within 100 s, slow start included. Gains are means of the gains of the \
             seeds, under which all three meet the same sequence of channel draws; the stated ones are met if the ratio of \
             goodputs is within 5 % of the paper's.",
        )
        .note(
            "All three run on ns-2's TCP, Reno and BaLDE with Reno's recovery, Westwood with that of UCLA's module; every segment is \
             acknowledged, 1000 bytes a packet on the wire and in windows. `bal-sensitivity` varies what the paper does not state.",
        ))
}

/// Goodputs in the order of [`Stack::all`].
fn lines(runs: &Runs<Measurement>) -> [Line; 3] {
    ["reno", "westwood", "balde"].map(|id| runs.line(id, &GOODPUT))
}

/// `bal-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |loss| Network {
        cross: Cross::OnOff,
        ..lossy(loss)
    };
    let runs = measure(context, &BY_LOSS, &LOSSES, network)?;
    let [reno, westwood, balde] = lines(&runs);
    let title = "Fig. 10: goodput over wireless loss, UDP both ways";
    Ok(outcome(&runs, "bal-fig-10", title)
        .first([stated(&westwood, &balde, 0.001, -13.62)])
        .claim(
            "BAL-33",
            "among UDP sources, BaLDE's goodput is above Reno's and Westwood's at every loss rate",
            balde.above(&reno).and(balde.above(&westwood)),
        )
        .note(
            "Twenty on/off sources, ten in each direction, Pareto in bursts and pauses (shape 1.5, means 300 and 200 ms), \
             0.5 Mbit/s in a burst: 3 Mbit/s in the mean, the link's whole 5 Mbit/s when all are on.",
        ))
}

/// `bal-fig-11`.
pub(crate) fn fig_11(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |mbps: f64| Network {
        bottleneck: Rate::from_mbps(mbps as u64),
        ..lossy(LOSS)
    };
    let axis = Axis::linear("capacity, Mbit/s");
    let runs = measure(context, &axis, &CAPACITIES, network)?;
    let [reno, westwood, balde] = lines(&runs);
    let gains = [balde.gain(&reno), westwood.gain(&reno)];
    let grows = |gain: &Line| {
        gain.only(|mbps| [1.0, 5.0, 10.0, 20.0].contains(&mbps))
            .rises()
    };
    let alike = |gain: &Line| gain.only(|mbps| mbps <= 1.0).near(0.0, 10.0);
    let title = "Fig. 11: goodput over the bottleneck's capacity";
    Ok(outcome(&runs, "bal-fig-11", title)
        .claim(
            "BAL-34a",
            "the gain of BaLDE and Westwood over Reno grows with the capacity (from 1 to 5 to 10 to 20 Mbit/s)",
            grows(&gains[0]).and(grows(&gains[1])),
        )
        .claim(
            "BAL-34b",
            "at low capacity (1 Mbit/s) the three are alike (within 10 % of Reno)",
            alike(&gains[0]).and(alike(&gains[1])),
        )
        .note("0.1 % wireless loss, 50 ms one way; buffers follow the pipe. The range of capacities is ours."))
}

/// `bal-fig-12`.
pub(crate) fn fig_12(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let network = |ms: f64| Network {
        one_way: Duration::from_millis(ms as i64),
        ..lossy(LOSS)
    };
    let axis = Axis::linear("one-way delay, ms");
    let runs = measure(context, &axis, &DELAYS, network)?;
    let [reno, westwood, balde] = lines(&runs);
    let (nearest, farthest) = (DELAYS[0], DELAYS[DELAYS.len() - 1]);
    let falls = |line: &Line| {
        line.every_step(|before, after| after <= 1.02 * before)
            && line.at(farthest).value < line.at(nearest).value
    };
    let title = "Fig. 12: goodput over propagation delay";
    Ok(outcome(&runs, "bal-fig-12", title)
        .claim(
            "BAL-35a",
            "the goodput of all three degrades with the delay (no step up by more than 2 %, less at the end)",
            Check::of([&reno, &westwood, &balde], |lines| {
                lines.into_iter().all(falls)
            }),
        )
        .claim(
            "BAL-35b",
            "BaLDE's goodput is above Reno's and Westwood's at every delay",
            balde.above(&reno).and(balde.above(&westwood)),
        )
        .note("0.1 % wireless loss, 5 Mbit/s; buffers follow the pipe."))
}
