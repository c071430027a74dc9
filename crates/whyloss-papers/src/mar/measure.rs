//! What runs say in the paper's terms (Section 4).
//!
//! ```text
//! goodput    payload that the receiver has for the first time / length of the window                [Mbit/s]
//! accuracy   loss events (third duplicate, timeout) given their true cause / loss events (MAR-14)   [%]
//! Jain       index of the goodputs of a run's flows (MAR-16)
//! ```
//!
//! A loss event is a congestion loss if its window lost anything to congestion (MAR-4).

use whyloss::Confusion;
use whyloss_sim::Measurement;
use whyloss_sim::measure::FlowResult;
use whyloss_study::statistics::{jain, mean};
use whyloss_study::{Context, ExperimentError, Lines, Metric, Outcome, Plan, Runs};

use super::network::SEGMENT;

/// The confidence of every interval of the paper (Section 4).
pub(super) const CONFIDENCE: f64 = 0.975;

/// Mean goodput of all flows.
pub(crate) const GOODPUT: Metric<Measurement> =
    Metric::new("goodput", "Mbit/s", |run| mean(&goodputs(run)));
/// Accuracy; none without a loss event.
pub(crate) const ACCURACY: Metric<Measurement> = Metric::new("accuracy", "%", |run| {
    loss_events(run).accuracy().map(|share| 100.0 * share)
});
/// Jain's index of a run.
pub(crate) const JAIN: Metric<Measurement> =
    Metric::new("Jain's index", "", |run| jain(&goodputs(run)));

/// Runs these together.
pub(crate) fn run(
    context: &Context<'_>,
    plans: &[Plan],
) -> Result<Vec<Runs<Measurement>>, ExperimentError> {
    let runs = Plan::run_all(context, plans)?.into_iter();
    Ok(runs.map(|runs| runs.with_confidence(CONFIDENCE)).collect())
}

/// Runs one of them.
pub(crate) fn run_one(
    context: &Context<'_>,
    plan: Plan,
) -> Result<Runs<Measurement>, ExperimentError> {
    Ok(plan.run(context)?.with_confidence(CONFIDENCE))
}

/// Nothing yet.
pub(crate) fn outcome(id: &str, title: &str, runs: &[Runs<Measurement>]) -> Outcome {
    let seeds = runs.iter().map(Runs::seeds).min().unwrap_or(0);
    Outcome::new(id, title, seeds).with_confidence(CONFIDENCE)
}

/// Goodputs as the paper's figures label them.
pub(crate) fn labelled(goodputs: Lines) -> Lines {
    goodputs.labelled("goodput (Mbit/s)")
}

fn foreground(run: &Measurement) -> impl Iterator<Item = &FlowResult> {
    run.flows.iter().filter(|flow| !flow.background)
}

fn rate(run: &Measurement, flow: &FlowResult) -> f64 {
    let bits = flow.delivered as f64 * f64::from(8 * SEGMENT);
    bits / run.window.as_secs_f64() / 1e6
}

/// Goodputs, flow by flow.
pub(crate) fn goodputs(run: &Measurement) -> Vec<f64> {
    foreground(run).map(|flow| rate(run, flow)).collect()
}

/// Mean goodput of the flows of one variant.
pub(crate) fn goodput_of(run: &Measurement, id: &str) -> Option<f64> {
    let of_kind = |flow: &&FlowResult| {
        let kind = flow.name.rsplit_once('-');
        kind.is_some_and(|(kind, _)| kind == id)
    };
    let rates = foreground(run).filter(of_kind).map(|flow| rate(run, flow));
    mean(&rates.collect::<Vec<_>>())
}

/// The loss events of all flows together.
pub(crate) fn loss_events(run: &Measurement) -> Confusion {
    foreground(run).fold(Confusion::default(), |mut all, flow| {
        all.merge(&flow.gaps);
        all
    })
}
