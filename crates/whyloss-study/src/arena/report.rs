//! Renders the arena's tables and figures.

use super::replay::Replay;
use super::{Family, Found, LEAST, STARVED, Score, quantile};
use crate::report::page::Page;
use crate::report::{counted, html};
use crate::{Cell, Figure, Look, Mean, Outcome, Panel, Series, statistics};

/// Returns the page that shows these outcomes.
pub fn page(outcomes: &[Outcome]) -> String {
    let mut page = Page::new("Classifiers on networks drawn at random");
    for outcome in outcomes {
        html::push_outcome(&mut page, outcome, |_| None);
    }
    page.finish(&format!(
        "Measured by whyloss {} on simulated networks; `docs/evidence/arena.md` says how they are drawn.",
        env!("CARGO_PKG_VERSION")
    ))
}

/// The minimum number of networks for which a mean over them has an interval.
const ENOUGH: usize = 5;

/// The reason why some means have no interval.
const WITHOUT_INTERVAL: &str = "the same in every network, or fewer than 5 networks";

/// Defines a column of the contenders' table: name, unit, and value in one network.
type Metric = (&'static str, &'static str, fn(&Score) -> Option<f64>);

const RECEIVED: Metric = ("received, share of oracle", "", |score| score.received);
const BALANCED: Metric = ("1 − (Mc + Mw)/2", "", |score| score.balanced);
const EXCESS: Metric = ("excess congestion loss", "points", |score| score.excess);
const MC: Metric = ("Mc", "%", |score| score.mc);
const MW: Metric = ("Mw", "%", |score| score.mw);
const HARM: Metric = ("harm to a plain flow", "%", |score| score.harm);
const CLEAN_HARM: Metric = ("harm with channels off", "%", |score| score.clean_harm);

/// Returns tables over all networks and for each family. If `against` names a contender, adds the
/// differences from it.
pub fn outcomes(found: &Found, against: Option<&str>) -> Vec<Outcome> {
    let id = format!("arena-{}", found.setting.transport.id());
    let mut outcomes = vec![whole(found, &id)];
    for family in Family::ALL {
        let networks = count(found, Some(family));
        if networks > 0 {
            let (id, name) = (format!("{id}-{}", family.id()), family.name());
            let title = format!("{name}: {}", counted(networks as u64, "network"));
            outcomes.push(Outcome::new(&id, &title, found.seeds).cells(cells(found, Some(family))));
        }
    }
    outcomes.extend(starved(found, &format!("{id}-starved")));
    if let Some(against) = against {
        outcomes.extend(pairs(found, &format!("{id}-pairs"), against));
    }
    for outcome in &mut outcomes {
        outcome.without_interval = Some(WITHOUT_INTERVAL);
    }
    outcomes
}

fn whole(found: &Found, id: &str) -> Outcome {
    let setting = &found.setting;
    let title = format!(
        "Classifiers over {} on {} drawn with seed {}",
        setting.transport.id(),
        counted(setting.networks, "network"),
        setting.seed
    );
    let beyond = beyond(found);
    let mut caption = "Received share over excess congestion loss; best is top left.".to_owned();
    if !beyond.is_empty() {
        let names = beyond.join(", ");
        caption = format!("{caption} Not drawn, with more than {EDGE} points: {names}.");
    }
    let mut panels = vec![pareto(found, None)];
    for family in Family::ALL {
        if count(found, Some(family)) > 0 {
            panels.push(pareto(found, Some(family)));
        }
    }
    let figure = Figure {
        name: format!("{id}-pareto"),
        caption,
        panels,
    };
    let mut outcome = Outcome::new(id, &title, found.seeds).cells(cells(found, None));
    outcome.figures.push(figure);
    outcome.notes(notes(found))
}

fn notes(found: &Found) -> Vec<String> {
    let networks = |of: fn(&Score) -> Option<f64>| {
        let known = found
            .contenders
            .iter()
            .map(|(_, scores)| scores.iter().filter_map(of).count())
            // Controllers have no verdicts in any network.
            .filter(|&networks| networks > 0);
        let (least, most) = (known.clone().min(), known.max());
        match (least, most) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
            (_, most) => most.unwrap_or(0).to_string(),
        }
    };
    let mut notes = vec![
        format!(
            "Means over networks, ± half the 95 % interval (Student's t over networks, from {ENOUGH} networks on). A quantile has half the width of its distribution-free 95 % interval, which need not be symmetric. Mc counts in networks with at least {LEAST} congestion losses ({}), Mw with at least {LEAST} wireless ones ({}).",
            networks(MC.2),
            networks(MW.2),
        ),
        format!(
            "Not dominated (no contender receives more at less congestion loss): {}.",
            undominated(found).join(", ")
        ),
    ];
    if found.setting.harm {
        notes.push("Harm: the share of its throughput that a flow without a classifier loses if the judged flows replace as many flows without one. Its own channel losses are the same in both runs.".into());
    }
    notes
}

/// Returns the contenders, except the oracle, that no other beats in both received share and cost.
fn undominated(found: &Found) -> Vec<String> {
    let place = |scores: &[Score]| {
        let mean = |metric: Metric| statistics::mean(&values(scores.iter(), metric));
        mean(RECEIVED).zip(mean(EXCESS))
    };
    let places: Vec<(&str, f64, f64)> = found.contenders[1..]
        .iter()
        .filter_map(|(name, scores)| {
            let (received, excess) = place(scores)?;
            Some((name.0.as_str(), received, excess))
        })
        .collect();
    let free = places.iter().filter(|(_, received, excess)| {
        !places
            .iter()
            .any(|(_, r, e)| r >= received && e <= excess && (r > received || e < excess))
    });
    free.map(|(name, ..)| (*name).to_owned()).collect()
}

fn count(found: &Found, family: Option<Family>) -> usize {
    let of = |network: &&super::Network| family.is_none_or(|family| network.family == family);
    found.networks.iter().filter(of).count()
}

/// Returns a contender's scores in the networks of a family.
fn of_family<'a>(
    found: &'a Found,
    scores: &'a [Score],
    family: Option<Family>,
) -> impl Iterator<Item = &'a Score> {
    let networks = found.networks.iter().zip(scores);
    networks
        .filter(move |(network, _)| family.is_none_or(|family| network.family == family))
        .map(|(_, score)| score)
}

fn values<'a>(scores: impl Iterator<Item = &'a Score>, metric: Metric) -> Vec<f64> {
    scores.filter_map(metric.2).collect()
}

fn cells(found: &Found, family: Option<Family>) -> Vec<Cell> {
    let mut cells = Vec::new();
    let mut rows: Vec<(Metric, Option<f64>)> = vec![
        (RECEIVED, None),
        (RECEIVED, Some(0.1)),
        (MC, None),
        (MW, None),
        (BALANCED, None),
        (EXCESS, None),
        (EXCESS, Some(0.9)),
    ];
    if found.setting.harm {
        rows.extend([(HARM, None), (CLEAN_HARM, None)]);
    }
    for (metric, q) in rows {
        for (name, scores) in &found.contenders {
            let values = values(of_family(found, scores, family), metric);
            let (row, mean) = match q {
                None => (metric.0.to_owned(), over_networks(&values)),
                Some(q) => {
                    let (value, [low, high]) =
                        quantile(&values, q).unwrap_or((f64::NAN, [f64::NAN; 2]));
                    let mean = Mean {
                        value,
                        half_width: (high - low) / 2.0,
                    };
                    (format!("{}, {:.0} % quantile", metric.0, 100.0 * q), mean)
                }
            };
            cells.push(mean.cell(&row, &name.0, metric.1));
        }
    }
    cells
}

/// Returns the mean over networks. With fewer than [`ENOUGH`], it has no interval, because
/// Student's t would make it much wider than the range of possible values.
fn over_networks(values: &[f64]) -> Mean {
    let mean = Mean::of(values);
    if values.len() < ENOUGH {
        return Mean {
            half_width: f64::NAN,
            ..mean
        };
    }
    mean
}

/// Tabulates the networks in which the oracle starves; `None` if there are none.
fn starved(found: &Found, id: &str) -> Option<Outcome> {
    let mut cells = Vec::new();
    let (_, oracle) = found.contenders.first()?;
    let starved = oracle.iter().enumerate();
    let starved: Vec<_> = starved.filter(|(_, score)| score.starves()).collect();
    for &(at, score) in &starved {
        let network = found.networks[at].index;
        let row = format!(
            "{}, network {network} ({:.0} packets)",
            RECEIVED.0, score.oracle
        );
        for (name, scores) in &found.contenders {
            let received = Mean::of(scores[at].received.as_slice());
            cells.push(received.cell(&row, &name.0, RECEIVED.1));
        }
    }
    for metric in [RECEIVED, EXCESS] {
        for (name, scores) in &found.contenders {
            let others = scores.iter().filter(|score| !score.starves());
            let row = format!("{}, other networks", metric.0);
            let mean = over_networks(&values(others, metric));
            cells.push(mean.cell(&row, &name.0, metric.1));
        }
    }
    let title = format!(
        "{} whose oracle delivers fewer than {STARVED} packets a run, and the others",
        counted(starved.len() as u64, "network"),
    );
    (!starved.is_empty()).then(|| Outcome::new(id, &title, found.seeds).cells(cells))
}

/// Tabulates the differences from one contender, network by network; `None` if it did not compete.
fn pairs(found: &Found, id: &str, against: &str) -> Option<Outcome> {
    let (_, reference) = found
        .contenders
        .iter()
        .find(|(name, _)| name.0 == against)?;
    let mut cells = Vec::new();
    for metric in [RECEIVED, BALANCED, MC, MW, EXCESS] {
        for (name, scores) in &found.contenders {
            if name.0 == against {
                continue;
            }
            let pairs = scores.iter().zip(reference);
            let differences: Vec<f64> = pairs
                .filter_map(|(own, other)| Some(metric.2(own)? - metric.2(other)?))
                .collect();
            cells.push(over_networks(&differences).cell(metric.0, &name.0, metric.1));
        }
    }
    let title = format!("Differences from {against} on the same networks");
    Some(Outcome::new(id, &title, found.seeds).cells(cells))
}

/// The cost above which a point is omitted, so that the others stay legible.
const EDGE: f64 = 3.0;

/// Returns the contenders whose mean cost over all networks exceeds [`EDGE`].
fn beyond(found: &Found) -> Vec<&str> {
    let costs = |scores: &[Score]| statistics::mean(&values(scores.iter(), EXCESS));
    let contenders = found.contenders.iter();
    let beyond = contenders.filter(|(_, scores)| costs(scores).is_some_and(|cost| cost > EDGE));
    beyond.map(|(name, _)| name.0.as_str()).collect()
}

/// Plots the received share over the cost; up and left is better.
fn pareto(found: &Found, family: Option<Family>) -> Panel {
    let point = |scores: &[Score]| {
        let mean = |metric| statistics::mean(&values(of_family(found, scores, family), metric));
        mean(EXCESS).zip(mean(RECEIVED))
    };
    let beyond = beyond(found);
    let drawn = found.contenders.iter();
    let drawn = drawn.filter(|(name, _)| !beyond.contains(&name.0.as_str()));
    let series = drawn.map(|(name, scores)| Series::new(&name.0, Look::Points, point(scores)));
    Panel::new(
        family.map_or("all", Family::name),
        (
            "excess congestion loss, points",
            "received, share of oracle",
        ),
        series.collect(),
    )
}

/// Renders the verdicts of all classifiers on the same arrivals, with a curve for each classifier
/// that has a threshold.
pub fn replayed(replays: &[Replay], found: &super::Setting, seeds: u64) -> Outcome {
    let title = format!(
        "The same arrivals for every classifier: {} drawn with seed {}",
        counted(found.networks, "network"),
        found.seed
    );
    let mut outcome = Outcome::new("arena-replay", &title, seeds);
    outcome.without_interval = Some(WITHOUT_INTERVAL);
    let mut panels = Vec::new();
    for replay in replays {
        let driver = &replay.driver.0;
        for (name, unit) in [(MC.0, MC.1), (MW.0, MW.1), (BALANCED.0, BALANCED.1)] {
            let row = format!("{name}, {driver}'s traffic");
            for line in replay.lines.iter().filter(|line| line.threshold.is_none()) {
                let values = match name {
                    "Mc" => &line.mc,
                    "Mw" => &line.mw,
                    _ => &line.balanced,
                };
                outcome
                    .cells
                    .push(Mean::of(values).cell(&row, line.id, unit));
            }
        }
        panels.push(roc(replay));
    }
    let name = "arena-replay-roc".into();
    let caption = "Share of wireless losses recognised over share of congestion losses called wireless, by threshold (lines) and at the defaults (points). Best is top left; random guesses lie on the dashed line.";
    outcome.figures.push(Figure {
        name,
        caption: caption.into(),
        panels,
    });
    outcome.note(
        "One classifier drives the flows, and all classifiers receive their arrivals; the other verdicts have no effect. Thresholds: the upper bound of Biaz and mBiaz, the share of the range at which Spike starts (it ends at two thirds of that), the start of Tobe (it ends at a quarter of that).",
    )
}

fn roc(replay: &Replay) -> Panel {
    let at = |(mc, mw): (f64, f64)| (mc, 100.0 - mw);
    let mut series = vec![Series::new(
        "random guess",
        Look::Dashed,
        [(0.0, 0.0), (100.0, 100.0)],
    )];
    let mut curves: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for line in replay.lines.iter().filter(|line| line.threshold.is_some()) {
        let point = line.point().map(at);
        match curves.iter_mut().find(|(id, _)| *id == line.id) {
            Some((_, points)) => points.extend(point),
            None => curves.push((line.id, point.into_iter().collect())),
        }
    }
    for (id, points) in curves {
        series.push(Series::new(
            &format!("{id}, by threshold"),
            Look::Line,
            points,
        ));
    }
    for line in replay.lines.iter().filter(|line| line.threshold.is_none()) {
        series.push(Series::new(line.id, Look::Points, line.point().map(at)));
    }
    Panel::new(
        &format!("{}'s traffic", replay.driver.0),
        ("Mc, %", "1 − Mw, %"),
        series,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Contender, Setting};
    use crate::report::table;

    /// The oracle receives the same share of itself in every network. Two networks have too few
    /// verdicts for Mc, so the mean over the other four has no interval.
    #[test]
    fn means_without_an_interval_say_why() {
        let setting = Setting {
            networks: 6,
            harm: false,
            ..Setting::default()
        };
        let score = |at: u32| Score {
            oracle: 2_000.0,
            received: Some(1.0),
            mc: (at > 1).then_some(f64::from(at)),
            ..Score::default()
        };
        let found = Found {
            networks: setting.draw(),
            setting,
            seeds: 1,
            contenders: vec![(Contender::oracle(), (0..6).map(score).collect())],
        };
        assert!(WITHOUT_INTERVAL.ends_with(&format!("fewer than {ENOUGH} networks")));
        for outcome in outcomes(&found, None) {
            let text = table::render(&outcome);
            let note = format!("\nwithout ±: {WITHOUT_INTERVAL}\n");
            assert!(text.contains(&note), "{text}");
        }
    }
}
