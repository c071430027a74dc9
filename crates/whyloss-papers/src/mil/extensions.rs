//! MIL-8: what the paper's conclusion asks for, and the reactions of related work that it names.

use whyloss::congestion::WirelessPolicy;

use super::findings::{Findings, cell, short};
use super::network::{Queueing, Reading, Setting, Topology, Traffic};
use super::variants::{self, Scheme, ideal};
use crate::experiment::{Context, ExperimentError};
use crate::variant::Variant;
use crate::{CONFIDENCE, Claim, Outcome};

/// Low, middle, high.
const PERS: [u32; 3] = [1, 5, 9];
const WHERE: [(Topology, Traffic); 3] = [
    (Topology::Single, Traffic::Alone),
    (Topology::Multiple, Traffic::Alone),
    (Topology::Single, Traffic::SCENARIO_2),
];

/// A scheme and other things that its LDA variant could do.
fn families() -> Vec<(Scheme, Vec<Variant>)> {
    let with = |scheme: &Scheme, id, name, policy| scheme.plain.with(id, name, ideal(), policy);
    let (newreno, westwood, vegas) = (variants::newreno(), variants::westwood(), variants::vegas());
    let others = vec![
        with(
            &newreno,
            "newreno-80",
            "NewRenoLDA, four fifths",
            WirelessPolicy::Percent(80),
        ),
        with(
            &newreno,
            "newreno-queued",
            "NewRenoLDA, keep unless queued",
            WirelessPolicy::KeepUnlessQueued(50),
        ),
    ];
    let estimating = vec![with(
        &westwood,
        "westwood-estimating",
        "WestwoodLDA, estimate first",
        WirelessPolicy::KeepWindow,
    )];
    let raising = vec![with(
        &vegas,
        "vegas-raising",
        "VegasLDA, timeout raised",
        WirelessPolicy::KeepWindow,
    )];
    vec![(newreno, others), (westwood, estimating), (vegas, raising)]
}

/// `mil-extensions`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let settings: Vec<Setting> = WHERE
        .into_iter()
        .flat_map(|(topology, traffic)| {
            PERS.map(|per| Setting {
                topology,
                queueing: Queueing::Fifo,
                traffic,
                per,
                reading: Reading::Taken,
            })
        })
        .collect();
    let mut cells = Vec::new();
    let mut claims = Vec::new();
    let mut seeds = u64::MAX;
    for (scheme, others) in families() {
        let (plain, lda) = (scheme.plain.id, scheme.lda.id);
        let mut variants = vec![scheme.plain, scheme.lda];
        variants.extend(others);
        let findings = Findings::measure(context, &settings, &variants)?;
        seeds = seeds.min(findings.seeds());
        for variant in &variants[1..] {
            for &setting in &settings {
                let label = (
                    format!("{}, {}", setting.topology.name(), setting.traffic.name()),
                    variant.name.to_owned(),
                );
                let change = findings.change(|run| run.throughput, setting, (plain, variant.id));
                cells.push(cell(label, Some(setting.per), "%", change, None));
            }
        }
        let mean = |setting, variant| {
            let summary = findings.summary(|run| run.throughput, setting, variant);
            summary.mean.unwrap_or(f64::NAN)
        };
        let (id, text) = match variants[2].id {
            "westwood-estimating" => (
                "MIL-8a",
                "Westwood should estimate first and then decide: WestwoodLDA that does so is nowhere worse than WestwoodLDA (by \
                 more than 2 %)",
            ),
            "vegas-raising" => (
                "MIL-8b",
                "Vegas should increase its timeout whatever the type of the loss: VegasLDA that does so is better than VegasLDA \
                 everywhere",
            ),
            _ => continue,
        };
        let least = if id == "MIL-8a" { 0.98 } else { 1.0 };
        let other = variants[2].id;
        let ratios: Vec<f64> = settings
            .iter()
            .map(|&setting| mean(setting, other) / mean(setting, lda))
            .collect();
        let listed: Vec<String> = settings
            .iter()
            .zip(&ratios)
            .map(|(setting, &ratio)| {
                format!(
                    "{}, {}, .0{} {}",
                    setting.topology.name(),
                    setting.traffic.name(),
                    setting.per,
                    short(ratio)
                )
            })
            .collect();
        claims.push(Claim::new(
            id,
            text,
            ratios.iter().all(|&ratio| ratio > least),
            format!(
                "its throughput over that of the LDA variant: {}",
                listed.join("; ")
            ),
        ));
    }
    Ok(Outcome {
        id: "mil-extensions".into(),
        title: "Other reactions to a loss called wireless: improvement over the original".into(),
        seeds,
        confidence: CONFIDENCE,
        cells,
        claims,
        figures: Vec::new(),
        notes: vec![
            "With FIFO queues, against the original scheme. Four fifths is TCP Feno's reaction; keep unless queued, after \
             Papadimitriou et al. (2010), which switches by the queueing delay: above half of the least round trip the loss \
             counts as congestion (their threshold is not printed where we could read it)."
                .into(),
        ],
    })
}
