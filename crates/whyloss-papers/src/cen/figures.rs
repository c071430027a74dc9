//! Figs 9, 10, 12 and 13: one to sixteen flows of one scheme.

use whyloss_study::{Context, ExperimentError, Outcome, Runs};

use super::channel::Level;
use super::claims_base::lan_is_backbone;
use super::measure::{ALL, FLOWS, Run, measure};
use super::network::Topology;
use super::present::{self, Stated, drawn};
use super::scheme::{self, Scheme};
use super::{claims_base, claims_hybrid, claims_single, probe};

/// Figs 9 and 10: TCP, TFRC, Omni and the base classifiers.
fn base() -> Vec<Scheme> {
    let mut schemes = vec![scheme::tcp(), scheme::unaware(), scheme::omniscient()];
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

/// The runs of every level.
type Levels = [Runs<Run>; 3];

/// Every level of a topology, and these topologies at high loss.
fn measured<const N: usize>(
    context: &Context<'_>,
    topology: Topology,
    others: [Topology; N],
    schemes: &[Scheme],
) -> Result<(Levels, [Runs<Run>; N]), ExperimentError> {
    let levels = Level::ALL.map(|level| (topology, level));
    let levels = measure(context, levels, &FLOWS, schemes)?;
    let others = others.map(|topology| (topology, Level::High));
    Ok((levels, measure(context, others, &FLOWS, schemes)?))
}

fn outcome(
    id: &str,
    title: &str,
    (levels, topology): (&Levels, Topology),
    stated: Stated,
) -> Outcome {
    let levels = || Level::ALL.into_iter().zip(levels);
    let cells = levels().flat_map(|(level, runs)| {
        ALL.iter().flat_map(move |metric| {
            let row = format!("{}, {}", topology.name(), metric.name);
            present::cells(&drawn(runs, metric), level, metric, &row, stated)
        })
    });
    let seeds = levels().map(|(_, runs)| runs.seeds()).min();
    let mut outcome = Outcome::new(id, title, seeds.unwrap_or(0)).cells(cells).notes([
        "Throughput is what was received by TCP and what crossed the bottleneck of the others; both stand beside it for all \
         (see `cen-table-2` for the reason). Mc and Mw are averages over the flows that had such \
         losses; pooled, they are those of all flows' losses together.",
        "The paper prints no data for this figure, so only the numbers in its text are compared; everything else is \
         in the claims.",
    ]);
    let figures = levels().map(|(level, runs)| present::figure(runs, id, topology, level));
    outcome.figures.extend(figures);
    outcome
}

/// `cen-fig-9`.
pub(crate) fn fig_9(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let (wlh, []) = measured(context, Topology::Wlh, [], &base())?;
    let title = "Fig. 9: competition over the wireless last hop";
    let nothing: Stated = |_, _, _| None;
    Ok(outcome("cen-fig-9", title, (&wlh, Topology::Wlh), nothing)
        .claims(claims_base::last_hop(&wlh[0]))
        .claims(claims_single::levels(&wlh)))
}

/// `cen-fig-10`.
pub(crate) fn fig_10(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = base();
    let others = [Topology::Wlh, Topology::Wlan];
    let (wb, [wlh, wlan]) = measured(context, Topology::Wb, others, &schemes)?;
    let ids: Vec<&str> = schemes.iter().map(|scheme| scheme.id.as_str()).collect();
    // Section 6.4: with ten flows TCP uses 90 %, TFRC 97 % (CEN-42).
    let stated: Stated = |metric, scheme, flows| match (metric, scheme) {
        ("throughput", "tcp") if flows as usize == 10 => Some(90.0),
        ("throughput", "unaware") if flows as usize == 10 => Some(97.0),
        _ => None,
    };
    let title = "Fig. 10: competition over the wireless backbone";
    Ok(outcome("cen-fig-10", title, (&wb, Topology::Wb), stated)
        .claims(claims_base::backbone(&wb[0], &wlh))
        .claims(claims_single::levels(&wb))
        .claims([lan_is_backbone(&wb[0], &wlan, &ids)]))
}

/// `cen-fig-12`.
pub(crate) fn fig_12(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let (wlh, []) = measured(context, Topology::Wlh, [], &hybrids())?;
    let title = "Fig. 12: hybrids over the wireless last hop";
    let nothing: Stated = |_, _, _| None;
    Ok(outcome("cen-fig-12", title, (&wlh, Topology::Wlh), nothing)
        .claims(claims_hybrid::last_hop(&wlh[0]))
        .claims(probe::topology(context, Topology::Wlh)?))
}

/// `cen-fig-13`.
pub(crate) fn fig_13(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = hybrids();
    let (wb, [wlan]) = measured(context, Topology::Wb, [Topology::Wlan], &schemes)?;
    let ids: Vec<&str> = schemes.iter().map(|scheme| scheme.id.as_str()).collect();
    let title = "Fig. 13: hybrids over the wireless backbone";
    let nothing: Stated = |_, _, _| None;
    Ok(outcome("cen-fig-13", title, (&wb, Topology::Wb), nothing)
        .claims(claims_hybrid::backbone(&wb[0]))
        .claims(probe::topology(context, Topology::Wb)?)
        .claims([lan_is_backbone(&wb[0], &wlan, &ids)]))
}
