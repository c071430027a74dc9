//! Figs 9, 10, 12 and 13: one to sixteen flows of one scheme.

use super::channel::Level;
use super::claims_base::lan_is_backbone;
use super::findings::{Findings, Grid, Metric};
use super::network::Topology;
use super::scheme::{self, Scheme};
use super::series::FLOWS;
use super::{claims_base, claims_hybrid, claims_single, present, probe};
use whyloss_study::{CONFIDENCE, Claim, Outcome};
use whyloss_study::{Context, ExperimentError};

fn references() -> Vec<Scheme> {
    vec![scheme::tcp(), scheme::unaware(), scheme::omniscient()]
}

/// Figs 9 and 10: TCP, TFRC, Omni and the base classifiers.
fn base() -> Vec<Scheme> {
    let mut schemes = references();
    schemes.extend(scheme::base());
    schemes
}

/// Figs 12 and 13: the hybrids, with Omni and their base classifiers for comparison (CEN-36).
fn hybrids() -> Vec<Scheme> {
    let mut schemes = vec![scheme::omniscient()];
    schemes.extend(["mbiaz", "spike", "zigzag"].map(scheme::by_id));
    schemes.extend(scheme::hybrids());
    schemes
}

fn measure(
    context: &Context<'_>,
    topologies: &[Topology],
    levels: &[Level],
    schemes: &[Scheme],
) -> Result<Findings, ExperimentError> {
    Findings::measure(
        context,
        &Grid {
            topologies,
            levels,
            flows: &FLOWS,
            schemes,
        },
    )
}

/// CEN-39 for the figures: what changes with less wireless loss.
fn levels(findings: &Findings, topology: Topology) -> impl Iterator<Item = Claim> + '_ {
    let high = findings.view(topology, Level::High);
    [Level::Medium, Level::Low]
        .into_iter()
        .flat_map(move |level| {
            claims_single::level(high, findings.view(topology, level), level.name(), &FLOWS)
        })
}

fn outcome(
    id: &str,
    title: &str,
    (findings, topology): (&Findings, Topology),
    schemes: &[Scheme],
    paper: impl Fn(Metric, &str, usize) -> Option<f64>,
    claims: Vec<Claim>,
) -> Outcome {
    let cells = |level| present::curve(findings, (topology, level), &FLOWS, schemes, &paper);
    let figure = |level| present::figure(findings, id, (topology, level), &FLOWS, schemes);
    Outcome {
        id: id.into(),
        title: title.into(),
        seeds: findings.seeds,
        confidence: CONFIDENCE,
        cells: Level::ALL.into_iter().flat_map(cells).collect(),
        claims,
        figures: Level::ALL.map(figure).into(),
        notes: vec![
            "Throughput is what was received by TCP and what crossed the bottleneck of the others; both stand beside it for all \
             (see `cen-table-2` for the reason). Mc and Mw are averages over the flows that had such \
             losses; pooled, they are those of all flows' losses together."
                .into(),
            "The paper prints no data for this figure, so only the numbers in its text are compared; everything else is \
             in the claims."
                .into(),
        ],
    }
}

/// `cen-fig-9`.
pub(crate) fn fig_9(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = base();
    let findings = measure(context, &[Topology::Wlh], &Level::ALL, &schemes)?;
    let mut claims = claims_base::last_hop(findings.view(Topology::Wlh, Level::High));
    claims.extend(levels(&findings, Topology::Wlh));
    let title = "Fig. 9: competition over the wireless last hop";
    Ok(outcome(
        "cen-fig-9",
        title,
        (&findings, Topology::Wlh),
        &schemes,
        |_, _, _| None,
        claims,
    ))
}

/// `cen-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = base();
    let findings = measure(context, &[Topology::Wb], &Level::ALL, &schemes)?;
    let others = measure(
        context,
        &[Topology::Wlh, Topology::Wlan],
        &[Level::High],
        &schemes,
    )?;
    let wb = findings.view(Topology::Wb, Level::High);
    let mut claims = claims_base::backbone(wb, others.view(Topology::Wlh, Level::High));
    claims.extend(levels(&findings, Topology::Wb));
    let ids: Vec<&str> = schemes.iter().map(|scheme| scheme.id.as_str()).collect();
    claims.push(lan_is_backbone(
        wb,
        others.view(Topology::Wlan, Level::High),
        &ids,
        &FLOWS,
    ));
    // Section 6.4: with ten flows TCP uses 90 %, TFRC 97 % (CEN-42).
    let paper = |metric, scheme: &str, n| match (metric, scheme, n) {
        (Metric::Throughput, "tcp", 10) => Some(90.0),
        (Metric::Throughput, "unaware", 10) => Some(97.0),
        _ => None,
    };
    let title = "Fig. 10: competition over the wireless backbone";
    Ok(outcome(
        "cen-fig-10",
        title,
        (&findings, Topology::Wb),
        &schemes,
        paper,
        claims,
    ))
}

/// `cen-fig-12`.
pub(crate) fn fig_12(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = hybrids();
    let findings = measure(context, &[Topology::Wlh], &Level::ALL, &schemes)?;
    let mut claims = claims_hybrid::last_hop(findings.view(Topology::Wlh, Level::High));
    claims.extend(probe::topology(context, Topology::Wlh)?);
    let title = "Fig. 12: hybrids over the wireless last hop";
    Ok(outcome(
        "cen-fig-12",
        title,
        (&findings, Topology::Wlh),
        &schemes,
        |_, _, _| None,
        claims,
    ))
}

/// `cen-fig-13`.
pub(crate) fn fig_13(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = hybrids();
    let findings = measure(context, &[Topology::Wb], &Level::ALL, &schemes)?;
    let wlan = measure(context, &[Topology::Wlan], &[Level::High], &schemes)?;
    let wb = findings.view(Topology::Wb, Level::High);
    let mut claims = claims_hybrid::backbone(wb);
    claims.extend(probe::topology(context, Topology::Wb)?);
    let ids: Vec<&str> = schemes.iter().map(|scheme| scheme.id.as_str()).collect();
    claims.push(lan_is_backbone(
        wb,
        wlan.view(Topology::Wlan, Level::High),
        &ids,
        &FLOWS,
    ));
    let title = "Fig. 13: hybrids over the wireless backbone";
    Ok(outcome(
        "cen-fig-13",
        title,
        (&findings, Topology::Wb),
        &schemes,
        |_, _, _| None,
        claims,
    ))
}
