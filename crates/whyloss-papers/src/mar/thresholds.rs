//! The predictor's thresholds: "we tested several values for the parameters α and β and we found the best performance for
//! α = 1 and β = 3" (Section 4; MAR-1). The values tried are not printed.
//!
//! Accuracy is averaged over the packet error rates of each of the three scenarios of Figs 2 and 3, and over those.
//! Threshold, fixed before the first run: no other pair is better by more than one point.

use super::accuracy::{BAD, RATES, base};
use super::measure::{CONFIDENCE, Estimate, Families, Line, Plan, accuracy, panel};
use super::network::{correlated, independent};
use super::scheme::Schemes;
use crate::experiment::{Context, ExperimentError};
use crate::variant::Variant;
use crate::{Cell, Claim, Figure, Outcome};

const ALPHA: [f64; 3] = [0.0, 1.0, 3.0];
const BETA: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0];
/// The paper's choice.
const STATED: (f64, f64) = (1.0, 3.0);
const SCENARIOS: [&str; 3] = ["independent", "independent, cross traffic", "correlated"];

/// The scenario's family with this flow: every second rate of the figure.
fn plan(scenario: &str, id: String, flow: &Variant) -> Plan {
    let points = if scenario == SCENARIOS[2] {
        let of = |&bad: &f64| (bad, base(correlated(bad / 100.0), flow).scenario());
        BAD.iter().skip(1).step_by(2).map(of).collect()
    } else {
        let of = |&per: &f64| {
            let network = base(independent(per), flow);
            let network = if scenario == SCENARIOS[1] {
                network.with_cross_traffic()
            } else {
                network
            };
            (per, network.scenario())
        };
        RATES.iter().step_by(2).map(of).collect()
    };
    (id, flow.name.to_owned(), points)
}

fn id(scenario: &str, alpha: f64, beta: f64) -> String {
    format!("{scenario} {alpha} {beta}")
}

/// `mar-sweep-alpha-beta`.
pub(crate) fn sweep(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let pairs: Vec<(f64, f64)> = ALPHA
        .iter()
        .flat_map(|&alpha| BETA.iter().map(move |&beta| (alpha, beta)))
        .filter(|(alpha, beta)| alpha <= beta)
        .collect();
    let schemes = Schemes::paper();
    let plans = SCENARIOS.iter().flat_map(|scenario| {
        pairs.iter().map(move |&(alpha, beta)| {
            let flow = schemes.lp_with(&[("alpha", alpha), ("beta", beta)]);
            plan(scenario, id(scenario, alpha, beta), &flow)
        })
    });
    let families = Families::measure(context, plans.collect())?;
    let mean = |scenario: &str, alpha: f64, beta: f64| -> Result<f64, ExperimentError> {
        let line = families.family(&id(scenario, alpha, beta))?.line(accuracy);
        Ok(average(line.points.iter().map(|point| point.mean)))
    };
    let mut panels = Vec::new();
    let mut cells: Vec<Cell> = Vec::new();
    let mut overall: Vec<(f64, f64, f64)> = Vec::new();
    for scenario in SCENARIOS.into_iter().chain(["all three"]) {
        let mut lines = Vec::new();
        for &alpha in &ALPHA {
            let mut points = Vec::new();
            for &beta in BETA.iter().filter(|&&beta| alpha <= beta) {
                let value = if scenario == "all three" {
                    let of_each: Result<Vec<f64>, _> = SCENARIOS
                        .iter()
                        .map(|scenario| mean(scenario, alpha, beta))
                        .collect();
                    let value = average(of_each?.into_iter());
                    overall.push((alpha, beta, value));
                    value
                } else {
                    mean(scenario, alpha, beta)?
                };
                points.push(Estimate {
                    x: beta,
                    mean: value,
                    half_width: None,
                });
            }
            lines.push(Line {
                name: format!("α = {alpha}"),
                points,
            });
        }
        for line in &lines {
            cells.extend(line.cells(&format!("accuracy over β, {scenario}"), "%"));
        }
        panels.push(panel(
            scenario,
            ("β (segments)", "mean accuracy (%)"),
            true,
            &lines,
            0,
        ));
    }
    let stated = overall
        .iter()
        .find(|(alpha, beta, _)| (*alpha, *beta) == STATED);
    let stated = stated.map_or(f64::NAN, |found| found.2);
    let best = overall.iter().copied().max_by(|a, b| a.2.total_cmp(&b.2));
    let (alpha, beta, best) = best.unwrap_or((f64::NAN, f64::NAN, f64::NAN));
    Ok(Outcome {
        id: "mar-sweep-alpha-beta".into(),
        title: "Section 4: accuracy over the predictor's thresholds".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells,
        claims: vec![Claim::new(
            "MAR-1",
            "α = 1 and β = 3 give the best accuracy (no other pair more than a point better on average)",
            best - stated <= 1.0,
            format!("α = 1, β = 3: {stated:.1} %; best: α = {alpha}, β = {beta}: {best:.1} %"),
        )],
        figures: vec![Figure {
            name: "mar-sweep-alpha-beta".into(),
            caption: "Accuracy averaged over the loss rates of Figs 2(a), 2(b) and 3, and over all of them".into(),
            panels,
        }],
        notes: vec![
            "Every second loss rate of the figures, with the same weight whatever the number of loss events; the flow reacts \
             to the verdicts, so the thresholds change the traffic too."
                .into(),
        ],
    })
}

fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
