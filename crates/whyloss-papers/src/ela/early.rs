//! What an early loss costs (Section 8.1, ELA-39): many runs, ordered by which packet was the first to be lost.
//!
//! "An early exit causes a postponed arrival at the maximum window phase." With a threshold of 32, slow start ends with
//! packet 62 if nothing is lost. The network is that of Section 6 at a BER of 1e-7, where a run has a dozen losses, with one
//! flow alone.

use std::sync::Arc;

use whyloss_link::Fate;
use whyloss_sim::{Event, Watch};

use whyloss_study::{Axis, Check, Context, ExperimentError, Line, Lines, Mean, Outcome, Plan};

use super::network::Network;
use super::protocols::{PACKET, Protocol};
use crate::form::short;

const BER: f64 = 1e-7;
/// The first packets that are not in slow start any more, and later bounds; each bin is drawn at its upper end.
const BOUNDS: [u64; 5] = [62, 250, 1000, 4000, 16_000];
/// What the paper calls a substantial effect on two minutes.
const SUBSTANTIAL: f64 = 0.02;

/// A run: Mbit/s, and the number of the first packet that was lost.
type Run = (f64, Option<u64>);

/// Notes the first loss.
#[derive(Default)]
struct FirstLoss(Option<u64>);

impl Watch for FirstLoss {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered { packet, fate, .. } = *event {
            // Everything is sensitive, so damage costs the packet.
            if self.0.is_none() && !matches!(fate, Fate::Delivered(_)) {
                self.0 = packet.payload.sequence();
            }
        }
    }
}

/// The throughputs of the runs whose first loss lies in a range.
fn throughputs(runs: &[Arc<Run>], from: u64, to: u64) -> Vec<f64> {
    let within = runs
        .iter()
        .filter(|run| run.1.is_some_and(|first| from <= first && first < to));
    within.map(|run| run.0).collect()
}

/// The throughputs of each bin at its upper end.
fn binned(runs: &[Arc<Run>], protocol: &Protocol) -> Line {
    let from = [0].into_iter().chain(BOUNDS);
    let bins = from.zip(BOUNDS).map(|(from, to)| {
        let values = throughputs(runs, from, to);
        (to as f64, values.into_iter().map(Some).collect())
    });
    Line::of(protocol.id, protocol.name, "Mbit/s", bins)
}

/// `ela-early-loss`.
pub(crate) fn early_loss(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let protocols = [Protocol::tcp(), Protocol::iftp(PACKET)];
    let plan = protocols.iter().fold(Plan::table(), |plan, protocol| {
        plan.line(protocol.id, protocol.name, |_| {
            Network::one_router(BER, vec![protocol.clone()])
        })
    });
    let key = |network: &Network| format!("ELA first loss {network:?}");
    let runs = Plan::run_all_with(context, &[plan], key, |network, seed| {
        let mut first = FirstLoss::default();
        let run = whyloss_sim::Simulation::new(&network.scenario(), seed)
            .watch(&mut first)
            .run()
            .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
        let throughput = run.flows[0].throughput_bps(network.sending) / 1e6;
        Ok::<Run, _>((throughput, first.0))
    })?;
    let runs = &runs[0];
    let of = |protocol: &Protocol| runs.at(protocol.id, f64::NAN);
    let lines = protocols
        .each_ref()
        .map(|protocol| binned(of(protocol), protocol));
    let costs = protocols.each_ref().map(|protocol| {
        let early = throughputs(of(protocol), 0, BOUNDS[0]);
        let later = throughputs(of(protocol), BOUNDS[0], u64::MAX);
        let (a, b) = (Mean::of(&early), Mean::of(&later));
        Check {
            holds: a.value <= (1.0 - SUBSTANTIAL) * b.value,
            evidence: format!(
                "{}: {} ± {} Mbit/s in {} runs with such a loss, {} ± {} in the {} others",
                protocol.name,
                short(a.value),
                short(a.half_width),
                early.len(),
                short(b.value),
                short(b.half_width),
                later.len()
            ),
        }
    });
    let [tcp, iftp] = costs;
    let cells = lines
        .iter()
        .flat_map(|line| line.cells("throughput by the first loss before packet"));
    let axis = Axis::log("first loss before packet");
    let drawn = Lines::new(
        "throughput",
        "Mbit/s",
        &axis,
        lines.each_ref().map(Line::measured),
    );
    let title = "what a loss in slow start costs in two minutes";
    Ok(Outcome::new("ela-early-loss", title, runs.seeds())
        .cells(cells)
        .claim(
            "ELA-39",
            "a loss in slow start has a substantial effect on the throughput of two minutes (2 % at least), of TCP and of IFTP",
            tcp.and(iftp),
        )
        .figure([drawn.panel("")])
        .note("Runs at a BER of 1e-7, in bins by the first packet that was lost; each bin is drawn at its upper end."))
}
