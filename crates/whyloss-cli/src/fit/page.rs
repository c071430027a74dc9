//! Writes a fit as a page that compares the models, and the chosen model with the recording.

use whyloss_diagnose::fit::check::{self, Check, Runs};
use whyloss_diagnose::fit::{Fit, Model, words};
use whyloss_sim::recording::Recording;
use whyloss_study::report::counted;
use whyloss_study::report::page::{Entry, Page, Table};
use whyloss_study::{Figure, Look, Panel, Series};

/// The quantile of the lengths of runs without loss at which the figure's axis ends.
const QUANTILE: f64 = 0.99;
/// The number of lengths of runs without loss that are drawn.
const PLACES: usize = 80;
/// The number of burst lengths that are drawn.
const LENGTHS: u32 = 8;

/// Returns the page, and the pictures on it.
pub(super) fn page(
    name: &str,
    recording: &Recording,
    found: &Fit,
    tested: &Check,
    seed: u64,
) -> (String, Vec<Figure>) {
    let best = found.best();
    let mut page = Page::new(&format!("A channel fitted to {name}"));
    page.section("channel", "Channel");
    let verdict = if tested.rejects() {
        "A test rejects the chosen model. Of those near the best held-out likelihood, the simplest is"
    } else {
        "The simplest model that the data do not reject is"
    };
    page.text(&format!(
        "{} of {} packets were lost, in {}. {verdict} {}.",
        recording.losses(),
        recording.packets(),
        counted(recording.trials.len() as u64, "trial"),
        best.model.name()
    ));
    page.listing(&format!("channel = {}", words::channel(&best.channel)));
    page.section("models", "Models");
    let mut table = Table::new([
        "model",
        "parameters",
        "held-out log-likelihood behind the best",
        "p, runs of losses",
        "p, good runs",
    ]);
    for (index, fitted) in found.models.iter().enumerate() {
        let shown =
            index == found.chosen || matches!(fitted.model, Model::Bernoulli | Model::Gilbert);
        let own = match shown {
            true if index == found.chosen => Some(tested.clone()),
            true => Some(check::check(&fitted.channel, &recording.trials, seed)),
            false => None,
        };
        let p = |of: fn(&Check) -> Option<f64>| -> Entry {
            own.as_ref()
                .map_or(String::new(), |own| super::p(of(own)))
                .into()
        };
        let chosen = if index == found.chosen {
            ", chosen"
        } else {
            ""
        };
        let (behind, error) = fitted.behind;
        table.row([
            format!("{}{chosen}", fitted.model.name()).into(),
            fitted.model.parameters().to_string().into(),
            format!("{:.2} ± {:.2}", behind * 1e3, error * 1e3).into(),
            p(|own| own.bursts),
            p(|own| own.gaps),
        ]);
    }
    page.table(&table);
    let intervals = best.parameters.iter().take(8).map(words::parameter);
    let mut notes: Vec<String> = intervals.collect();
    notes.push(
        "Log-likelihoods are per 1000 packets, ± one standard error over ten held-out parts."
            .into(),
    );
    notes.push("Below p = 0.01 a test rejects its model.".into());
    notes.extend(recording.notes.clone());
    page.notes(&notes);
    page.section("beside", "Recorded beside fitted");
    let figures = [bursts(tested), gaps(tested), correlation(tested)];
    for figure in &figures {
        page.figure_with_file(figure);
    }
    let html = page.finish(&format!(
        "Written by whyloss {}.",
        env!("CARGO_PKG_VERSION")
    ));
    (html, figures.to_vec())
}

fn bursts(tested: &Check) -> Figure {
    let bars = |name: &str, runs: &Runs| {
        let all = runs.values().sum::<f64>().max(1e-9);
        let share = |k: u32| {
            let own = runs
                .iter()
                .filter(|(length, _)| (**length).min(LENGTHS) == k);
            100.0 * own.map(|(_, count)| count).sum::<f64>() / all
        };
        let points = (1..=LENGTHS).map(|k| (f64::from(k), share(k)));
        Series::new(name, Look::Bars, points)
    };
    let [recorded, fitted] = &tested.burst_runs;
    Figure::of(
        "bursts",
        &format!("Runs of losses by length; the last bar has all from {LENGTHS} packets on."),
        Panel::new(
            "",
            ("packets", "share of runs, %"),
            vec![bars("recorded", recorded), bars("fitted", fitted)],
        ),
    )
}

fn gaps(tested: &Check) -> Figure {
    let [recorded, fitted] = &tested.gap_runs;
    let all = |runs: &Runs| runs.values().sum::<f64>().max(1e-9);
    let mut below = 0.0;
    let longest = recorded.iter().find(|(_, count)| {
        below += **count;
        below >= QUANTILE * all(recorded)
    });
    let longest = longest.map_or(1, |(length, _)| *length).max(2);
    let step = (longest as usize / PLACES).max(1);
    let line = |name: &str, look, runs: &Runs| {
        let up_to = |length: u32| {
            let own: f64 = runs.range(..=length).map(|(_, count)| count).sum();
            (f64::from(length), 100.0 * own / all(runs))
        };
        Series::new(name, look, (1..=longest).step_by(step).map(up_to))
    };
    Figure::of(
        "gaps",
        "Share of good runs that are no longer than this.",
        Panel::new(
            "",
            ("packets", "share of good runs, %"),
            vec![
                line("recorded", Look::Line, recorded),
                line("fitted", Look::Dashed, fitted),
            ],
        ),
    )
}

fn correlation(tested: &Check) -> Figure {
    let at = |index: usize| {
        let lags = tested.correlation.iter().zip(1..);
        lags.map(move |(row, lag)| (f64::from(lag), row[index]))
    };
    let band = tested
        .correlation
        .iter()
        .zip(1..)
        .map(|(row, lag)| (f64::from(lag), row[2], row[3]));
    Figure::of(
        "autocorrelation",
        "Autocorrelation of losses, with the band in which 95 % of simulated recordings lie.",
        Panel::new(
            "",
            ("lag, packets", "autocorrelation"),
            vec![
                Series::band("95 % of simulated", band),
                Series::new("fitted", Look::Dashed, at(1)),
                Series::new("recorded", Look::Points, at(0)),
            ],
        ),
    )
}
