//! MIL-8: what the paper's conclusion asks for, and the reactions of related work that it names.

use whyloss::congestion::WirelessPolicy;

use whyloss_study::{Check, Context, ExperimentError, Line, Outcome};

use super::findings::{Findings, RATE, cells, place};
use super::network::{Queueing, Setting, Topology, Traffic};
use super::variants::{self, Pair};
use crate::variant::Variant;

/// Low, middle, high.
const PERS: [u32; 3] = [1, 5, 9];
const WHERE: [(Topology, Traffic); 3] = [
    (Topology::Single, Traffic::Alone),
    (Topology::Multiple, Traffic::Alone),
    (Topology::Single, Traffic::SCENARIO_2),
];

/// A scheme and other things that its LDA variant could do.
fn families() -> Vec<(Pair, Vec<Variant>)> {
    let (newreno, westwood, vegas) = (variants::newreno(), variants::westwood(), variants::vegas());
    let others = vec![
        newreno.reacting(
            "newreno-80",
            "NewRenoLDA, four fifths",
            WirelessPolicy::Percent(80),
        ),
        newreno.reacting(
            "newreno-queued",
            "NewRenoLDA, keep unless queued",
            WirelessPolicy::KeepUnlessQueued(50),
        ),
    ];
    let estimating = vec![westwood.reacting(
        "westwood-estimating",
        "WestwoodLDA, estimate first",
        WirelessPolicy::KeepWindow,
    )];
    let raising = vec![vegas.reacting(
        "vegas-raising",
        "VegasLDA, timeout raised",
        WirelessPolicy::KeepWindow,
    )];
    vec![(newreno, others), (westwood, estimating), (vegas, raising)]
}

/// `mil-extensions`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let places = WHERE.map(|(topology, traffic)| place(topology, Queueing::Fifo, traffic));
    let name = |place: &Setting| format!("{}, {}", place.topology.name(), place.traffic.name());
    let (mut of_all, mut claims) = (Vec::new(), Vec::new());
    let mut seeds = u64::MAX;
    for (scheme, others) in families() {
        let mut variants = vec![&scheme.plain, &scheme.lda];
        variants.extend(&others);
        let findings = Findings::measure(context, &places, &PERS, &variants)?;
        seeds = seeds.min(findings.seeds());
        for variant in &variants[1..] {
            for place in &places {
                let line = findings.improvement(*place, (&scheme.plain, variant));
                of_all.extend(cells(&line.named(variant.name), &name(place)));
            }
        }
        let (id, text, least) = match others[0].id {
            "westwood-estimating" => (
                "MIL-8a",
                "Westwood should estimate first and then decide: WestwoodLDA that does so is nowhere worse than WestwoodLDA (by \
                 more than 2 %)",
                0.98,
            ),
            "vegas-raising" => (
                "MIL-8b",
                "Vegas should increase its timeout whatever the type of the loss: VegasLDA that does so is better than VegasLDA \
                 everywhere",
                1.0,
            ),
            _ => continue,
        };
        // Throughput over that of the LDA variant.
        let ratios = places.map(|place| {
            let lda = findings.line(place, &scheme.lda, &RATE);
            let other = findings.line(place, &others[0], &RATE);
            let mut ratio = other.by_mean(&name(&place), |per, rate| rate / lda.at(per).value);
            ratio.unit = "";
            ratio
        });
        let better = |line: &Line| line.every(|ratio| ratio > least);
        claims.push(
            Check::of(ratios.each_ref(), |lines| lines.into_iter().all(better)).claim(id, text),
        );
    }
    let title = "Other reactions to a loss called wireless: improvement over the original";
    Ok(Outcome::new("mil-extensions", title, seeds).cells(of_all).claims(claims).note(
            "With FIFO queues, against the original scheme. Four fifths is TCP Feno's reaction; keep unless queued, after \
             Papadimitriou et al. (2010), which switches by the queueing delay: above half of the least round trip the loss \
             counts as congestion (their threshold is not printed where we could read it).",
    ))
}
