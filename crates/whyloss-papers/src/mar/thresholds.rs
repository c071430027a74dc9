//! The predictor's thresholds: "we tested several values for the parameters α and β and we found the best performance for
//! α = 1 and β = 3" (Section 4; MAR-1). The values tried are not printed.
//!
//! Accuracy is averaged over the packet error rates of each of the three scenarios of Figs 2 and 3, and over those.
//! Threshold, fixed before the first run: no other pair is better by more than one point.

use whyloss_study::{Axis, Check, Context, ExperimentError, Line, Lines, Outcome, Plan};

use super::accuracy::{BAD, PER, RATES, base};
use super::measure::{ACCURACY, outcome, run};
use super::network::{correlated, independent};
use super::scheme::Schemes;

const ALPHA: [f64; 3] = [0.0, 1.0, 3.0];
const BETA: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0];
/// The paper's choice.
const STATED: (f64, f64) = (1.0, 3.0);
const SCENARIOS: [&str; 3] = ["independent", "independent, cross traffic", "correlated"];

/// `mar-sweep-alpha-beta`.
pub(crate) fn sweep(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let pairs = ALPHA.iter().flat_map(|&alpha| {
        let betas = BETA.into_iter().filter(move |&beta| alpha <= beta);
        betas.map(move |beta| (alpha, beta))
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let id = |(alpha, beta): (f64, f64)| format!("{alpha} {beta}");
    let every_second: Vec<f64> = RATES.iter().copied().step_by(2).collect();
    let bad: Vec<f64> = BAD.iter().copied().skip(1).step_by(2).collect();
    // Every second rate of the figures.
    let mut plans = [
        Plan::new(&PER, &every_second),
        Plan::new(&PER, &every_second),
        Plan::new(&Axis::linear(""), &bad),
    ];
    for &(alpha, beta) in &pairs {
        let flow = Schemes::paper().lp_with(&[("alpha", alpha), ("beta", beta)]);
        let alone = |per| base(independent(per), &flow);
        let [independent, cross, correlated_] = plans;
        let id = id((alpha, beta));
        plans = [
            independent.line(&id, flow.name, |per| alone(per).scenario()),
            cross.line(&id, flow.name, |per| {
                alone(per).with_cross_traffic().scenario()
            }),
            correlated_.line(&id, flow.name, |bad| {
                base(correlated(bad / 100.0), &flow).scenario()
            }),
        ];
    }
    let runs = run(context, &plans)?;
    let accuracies: Vec<Lines> = runs.iter().map(|runs| runs.lines(&ACCURACY)).collect();
    let of_scenario = |index: usize, pair| accuracies[index].line(&id(pair)).average();
    let of_all = |pair| {
        (0..SCENARIOS.len())
            .map(|index| of_scenario(index, pair))
            .sum::<f64>()
            / 3.0
    };
    let over_beta = |alpha: f64, mean: &dyn Fn((f64, f64)) -> f64| {
        let betas = BETA.into_iter().filter(|&beta| alpha <= beta);
        let name = format!("α = {alpha}");
        Line::of(
            &name,
            &name,
            "%",
            betas.map(|beta| (beta, vec![Some(mean((alpha, beta)))])),
        )
    };
    let axis = Axis::log("β (segments)");
    let lines = |mean: &dyn Fn((f64, f64)) -> f64| {
        let lines = ALPHA.map(|alpha| over_beta(alpha, mean));
        Lines::new("mean accuracy (%)", "", &axis, lines)
    };
    let mut drawn: Vec<(&str, Lines)> = Vec::new();
    for (index, scenario) in SCENARIOS.into_iter().enumerate() {
        drawn.push((scenario, lines(&|pair| of_scenario(index, pair))));
    }
    drawn.push(("all three", lines(&of_all)));
    let overall = &drawn[SCENARIOS.len()].1;
    let stated = overall
        .line("α = 1")
        .only(|beta| (beta - STATED.1).abs() < 1e-9);
    let all: Vec<Line> = overall.iter().cloned().collect();
    let best = all
        .iter()
        .filter_map(Line::highest)
        .map(|(_, mean)| mean.value)
        .fold(f64::NAN, f64::max);
    let title = "Section 4: accuracy over the predictor's thresholds";
    Ok(outcome("mar-sweep-alpha-beta", title, &runs)
        .cells(drawn.iter().flat_map(|(scenario, lines)| lines.cells(&format!("accuracy over β, {scenario}"))))
        .claim(
            "MAR-1",
            "α = 1 and β = 3 give the best accuracy (no other pair more than a point better on average)",
            Check::all(&all.iter().collect::<Vec<_>>(), |_| best - stated.average() <= 1.0),
        )
        .captioned(
            "Accuracy averaged over the loss rates of Figs 2(a), 2(b) and 3, and over all of them",
            drawn.iter().map(|(scenario, lines)| lines.panel(scenario)),
        )
        .note(
            "Every second loss rate of the figures, with the same weight whatever the number of loss events; the flow reacts \
             to the verdicts, so the thresholds change the traffic too.",
        ))
}
