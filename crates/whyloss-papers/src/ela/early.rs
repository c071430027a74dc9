//! What an early loss costs (Section 8.1, ELA-39): many runs, ordered by which packet was the first to be lost.
//!
//! "An early exit causes a postponed arrival at the maximum window phase." With a threshold of 32, slow start ends with
//! packet 62 if nothing is lost. The network is that of Section 6 at a BER of 1e-7, where a run has a dozen losses, with one
//! flow alone.

use whyloss::Time;
use whyloss_link::Fate;
use whyloss_sim::{Observer, Packet};

use super::network::Network;
use super::protocols::{PACKET, Protocol};
use super::study::short;
use whyloss_study::Mean;
use whyloss_study::Replications;
use whyloss_study::{CONFIDENCE, Cell, Claim, Figure, Outcome, Panel, Series};
use whyloss_study::{Context, ExperimentError};

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

impl Observer for FirstLoss {
    fn offered(&mut self, _: usize, _: Time, packet: &Packet, _: usize, fate: Fate) {
        // Everything is sensitive, so damage costs the packet.
        if self.0.is_none() && !matches!(fate, Fate::Delivered(_)) {
            self.0 = packet.payload.sequence();
        }
    }
}

/// The throughputs of the runs whose first loss lies in a range.
fn throughputs(runs: &Replications<Run>, from: u64, to: u64) -> Vec<f64> {
    let within = runs
        .iter()
        .filter(|run| run.1.is_some_and(|first| from <= first && first < to));
    within.map(|run| run.0).collect()
}

/// `ela-early-loss`.
pub(crate) fn early_loss(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let protocols = [Protocol::tcp(), Protocol::iftp(PACKET)];
    let networks = protocols
        .clone()
        .map(|protocol| Network::one_router(BER, vec![protocol]));
    let runs = context.each(
        &networks,
        |network| format!("ELA first loss {network:?}"),
        |network, seed| {
            let mut first = FirstLoss::default();
            let run = whyloss_sim::run(&network.scenario(), seed, &mut first)
                .map_err(|error| ExperimentError::Failed(Box::new(error)))?;
            let throughput = run.flows[0].throughput_bps(network.sending) / 1e6;
            Ok((throughput, first.0))
        },
    )?;
    let mut cells = Vec::new();
    let mut claims = Vec::new();
    let mut series = Vec::new();
    for (protocol, runs) in protocols.iter().zip(&runs) {
        let mut points = Vec::new();
        let mut from = 0;
        for to in BOUNDS {
            let values = throughputs(runs, from, to);
            let mean = Mean::of(&values);
            from = to;
            cells.push(Cell {
                x: Some(to as f64),
                ..mean.cell(
                    "throughput by the first loss before packet",
                    protocol.name,
                    "Mbit/s",
                )
            });
            if mean.value.is_finite() {
                let half = Some(mean.half_width).filter(|half| half.is_finite());
                points.push((to as f64, mean.value, half));
            }
        }
        series.push(Series {
            name: protocol.name.into(),
            look: whyloss_study::Look::Line,
            points,
        });
        let early = throughputs(runs, 0, BOUNDS[0]);
        let later = throughputs(runs, BOUNDS[0], u64::MAX);
        let (a, b) = (Mean::of(&early), Mean::of(&later));
        claims.push(Claim::new(
            "ELA-39",
            &format!(
                "{}: a loss in slow start has a substantial effect on the throughput of two minutes (2 % at least)",
                protocol.name
            ),
            a.value <= (1.0 - SUBSTANTIAL) * b.value,
            format!(
                "{} ± {} Mbit/s in {} runs with such a loss, {} ± {} in the {} others",
                short(a.value),
                short(a.half_width),
                early.len(),
                short(b.value),
                short(b.half_width),
                later.len()
            ),
        ));
    }
    let title = "what a loss in slow start costs in two minutes";
    Ok(Outcome {
        id: "ela-early-loss".into(),
        title: title.into(),
        seeds: runs.iter().map(Vec::len).min().unwrap_or(0) as u64,
        confidence: CONFIDENCE,
        cells,
        claims,
        figures: vec![Figure {
            name: "ela-early-loss".into(),
            caption: title.into(),
            panels: vec![Panel {
                title: String::new(),
                x_label: "first loss before packet".into(),
                y_label: "throughput, Mbit/s".into(),
                log_x: true,
                log_y: false,
                series,
            }],
        }],
        notes: vec![
            "Runs at a BER of 1e-7, in bins by the first packet that was lost; each bin is drawn at its upper end.".into(),
        ],
    })
}
