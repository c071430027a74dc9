//! The evaluation's tables and pictures, as outcomes, a page, and Markdown.

use core::fmt::Write as _;

use super::criterion::{Column, Measure};
use super::{Carrier, Contender, Finding, Setting, Uncovered};
use crate::arena::quantile;
use crate::report::page::{Entry, Page, Table};
use crate::report::{html, markdown};
use crate::{Cell, Figure, Look, Mean, Outcome, Panel, Series, Sign, statistics};

/// Returns the findings of a criterion as tables and pictures.
pub fn outcome(finding: &Finding) -> Outcome {
    let criterion = &finding.criterion;
    let title = format!("§{}. {}", criterion.section, criterion.title);
    let mut outcome = Outcome::new(&criterion.id, &title, finding.seeds);
    for (index, measure) in criterion.measures.iter().enumerate() {
        outcome.cells.extend(cells(finding, index, measure));
    }
    if !criterion.axis.is_empty() {
        let panels = criterion.measures.iter().enumerate();
        let panels = panels.map(|(index, measure)| panel(finding, index, measure));
        outcome = outcome.figure(panels.collect::<Vec<_>>());
    }
    outcome.notes.clone_from(&criterion.notes);
    if let Some((runs, first)) = &finding.failed {
        outcome.notes.push(format!(
            "{runs} runs of {} failed; the first: {first}.",
            criterion.id
        ));
    }
    outcome
}

fn cells(finding: &Finding, index: usize, measure: &Measure) -> Vec<Cell> {
    let criterion = &finding.criterion;
    let unit = measure.unit();
    let mut cells = Vec::new();
    if criterion.many {
        for (contender, values) in finding.contenders.iter().zip(&finding.values) {
            let values = known(values.iter().map(|measures| measures[index]));
            let name = &contender.name;
            let row = |what: &str| format!("{}, {what}", measure.name);
            cells.push(Mean::of(&values).cell(&row("mean"), name, unit));
            let (q, what, worst) = match measure.column {
                Some(Column::Harm) => (0.9, "90 % quantile", Some(f64::max as fn(f64, f64) -> f64)),
                _ => (0.1, "10 % quantile", None),
            };
            let certain = |value: Option<f64>| Mean {
                value: value.unwrap_or(f64::NAN),
                half_width: f64::NAN,
            };
            let at = quantile(&values, q).map(|found| found.0);
            cells.push(certain(at).cell(&row(what), name, unit));
            if let Some(worst) = worst {
                let worst = values.iter().copied().reduce(worst);
                cells.push(certain(worst).cell(&row("worst network"), name, unit));
            }
        }
        return cells;
    }
    for (at, case) in criterion.cases.iter().enumerate() {
        for (contender, values) in finding.contenders.iter().zip(&finding.values) {
            let mean = values[at][index];
            let numbered = !criterion.axis.is_empty();
            let row = if numbered || criterion.measures.len() == 1 {
                String::new()
            } else {
                format!("{}: ", measure.name)
            };
            let row = if numbered {
                format!("{}, by {}", measure.name, criterion.axis)
            } else {
                format!("{row}{}", case.name)
            };
            let cell = mean.cell(&row, &contender.name, unit);
            let x = case.x.filter(|_| numbered);
            cells.push(Cell { x, ..cell });
        }
    }
    cells
}

fn panel(finding: &Finding, index: usize, measure: &Measure) -> Panel {
    let criterion = &finding.criterion;
    let xs: Vec<f64> = criterion.cases.iter().filter_map(|case| case.x).collect();
    // Eight colours distinguish eight lines. The line of fqRTT is omitted, because it nearly
    // coincides with CUBIC's.
    let series = finding.contenders.iter().zip(&finding.values);
    let series = series.filter(|(contender, _)| contender.name != "CUBIC+fqRTT");
    let series = series.enumerate().map(|(number, (contender, values))| {
        let look = if number < 8 { Look::Line } else { Look::Dashed };
        let points = xs.iter().zip(values);
        let points = points.map(|(&x, measures)| (x, measures[index].value));
        Series::new(&contender.name, look, points)
    });
    let unit = measure.unit();
    let y = if unit.is_empty() {
        measure.name.clone()
    } else {
        format!("{}, {unit}", measure.name)
    };
    let mut panel = Panel::new("", (&criterion.axis, &y), series.collect());
    panel.log_x = xs.iter().all(|&x| x > 0.0);
    panel
}

fn known(values: impl Iterator<Item = Mean>) -> Vec<f64> {
    let values = values.map(|mean| mean.value);
    values.filter(|value| value.is_finite()).collect()
}

/// The totals of a contender over all criteria.
struct Overview {
    name: String,
    received: Vec<f64>,
    harm: Vec<f64>,
    jain: Vec<f64>,
}

fn overview<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Overview> {
    let mut all: Vec<Overview> = Vec::new();
    for finding in findings {
        for (contender, values) in finding.contenders.iter().zip(&finding.values) {
            let at = all.iter().position(|one| one.name == contender.name);
            let at = at.unwrap_or_else(|| {
                all.push(Overview {
                    name: contender.name.clone(),
                    received: Vec::new(),
                    harm: Vec::new(),
                    jain: Vec::new(),
                });
                all.len() - 1
            });
            for (index, measure) in finding.criterion.measures.iter().enumerate() {
                let into = match measure.column {
                    Some(Column::Received) => &mut all[at].received,
                    Some(Column::Harm) => &mut all[at].harm,
                    Some(Column::Jain) => &mut all[at].jain,
                    None => continue,
                };
                let values = known(values.iter().map(|measures| measures[index]));
                // A gain in one network does not compensate for harm in another.
                let harm = measure.column == Some(Column::Harm);
                into.extend(
                    values
                        .into_iter()
                        .map(|value| if harm { value.max(0.0) } else { value }),
                );
            }
        }
    }
    all.retain(|one| !one.received.is_empty() || !one.harm.is_empty() || !one.jain.is_empty());
    all
}

/// Returns one table and one picture over all criteria: the share that the scheme receives, and the
/// harm that it does to others.
pub fn summary(findings: &[Finding], carrier: Carrier) -> Outcome {
    let all = overview(findings.iter().filter(|finding| finding.carrier == carrier));
    let seeds = findings
        .iter()
        .map(|finding| finding.seeds)
        .max()
        .unwrap_or(1);
    let title = format!("All criteria together, over {}", name_of(carrier));
    let mut cells = Vec::new();
    let mut frontier = Vec::new();
    for one in &all {
        let worst = |values: &[f64], of: fn(f64, f64) -> f64| {
            values.iter().copied().reduce(of).unwrap_or(f64::NAN)
        };
        let mean = |values: &[f64]| statistics::mean(values).unwrap_or(f64::NAN);
        let p10 = quantile(&one.received, 0.1).map_or(f64::NAN, |found| found.0);
        for (column, unit, value) in [
            ("received, share of told", "", mean(&one.received)),
            ("received, 10 % quantile", "", p10),
            ("harm, mean", "%", mean(&one.harm)),
            ("harm, worst", "%", worst(&one.harm, f64::max)),
            ("Jain's index, mean", "", mean(&one.jain)),
            ("Jain's index, lowest", "", worst(&one.jain, f64::min)),
        ] {
            let certain = Mean {
                value,
                half_width: f64::NAN,
            };
            cells.push(certain.cell(column, &one.name, unit));
        }
        let place = (mean(&one.harm), mean(&one.received));
        if place.0.is_finite() && place.1.is_finite() {
            // Eight colours distinguish eight points; the others differ in shape.
            let look = match frontier.len().checked_sub(8) {
                None => Look::Points,
                Some(more) => Look::Signs(Sign {
                    colour: Sign::INK,
                    shape: [Sign::STAR, Sign::CROSS][more % 2],
                }),
            };
            frontier.push(Series::new(&one.name, look, [place]));
        }
    }
    let mut outcome =
        Outcome::new(&format!("overview-{}", carrier.id()), &title, seeds).cells(cells);
    if !frontier.is_empty() {
        outcome.figures.push(Figure::of(
            &format!("frontier-{}", carrier.id()),
            "Share received over harm; best is top left.",
            Panel::new("", ("harm, mean, %", "received, share of told"), frontier),
        ));
    }
    outcome
        .note("Received covers the drawn networks of §6.4, harm all cases of §5.2.1 and §7.1 without channel losses. A gain counts as no harm.")
}

/// The mean harm up to which a peer counts as harmless, in %.
const HARMLESS: f64 = 10.0;
/// The row of [`best`] that compares the scheme with the best peer.
const OF_BEST: &str = "received, share of the best peer";

/// Compares the scheme with the best harmless peer on the drawn networks: of those that harm by at
/// most 10 % on average, the one that receives most. Returns `None` if the drawn networks
/// did not run.
///
/// All shares are of the same controller, the scheme's own when told. A share of a peer's own told
/// controller would flatter a peer whose controller receives little.
pub fn best(findings: &[Finding], carrier: Carrier) -> Option<Outcome> {
    let drawn = |column| {
        let mut findings = findings.iter();
        findings.find_map(|finding| {
            let criterion = &finding.criterion;
            let mut measures = criterion.measures.iter();
            let at = measures.position(|measure| measure.column == Some(column))?;
            (finding.carrier == carrier && criterion.many).then_some((finding, at))
        })
    };
    let (receiving, _) = drawn(Column::Received)?;
    let (harming, at) = drawn(Column::Harm)?;
    let packets = receiving.received.as_ref()?;
    let contenders = &receiving.contenders;
    let told = packets.get(contenders.iter().position(Contender::is_told)?)?;
    let share = |packets: &[f64]| {
        let shares = packets.iter().zip(told).map(|(own, told)| own / told);
        let shares: Vec<f64> = shares.filter(|share| share.is_finite()).collect();
        statistics::mean(&shares)
    };
    let harm = |name: &str| {
        let index = harming.contenders.iter().position(|one| one.name == name)?;
        let harms = known(harming.values[index].iter().map(|measures| measures[at]));
        // A gain in one network does not compensate for harm in another.
        let harms: Vec<f64> = harms.into_iter().map(|harm| harm.max(0.0)).collect();
        statistics::mean(&harms)
    };
    let all = contenders.iter().zip(packets);
    let all = all.filter(|(contender, _)| !contender.is_told());
    let all = all.filter_map(|(one, packets)| Some((&one.name, share(packets)?, harm(&one.name)?)));
    let all: Vec<(&String, f64, f64)> = all.collect();
    let (scheme, peers) = all.split_first()?;
    if *scheme.0 != contenders[0].name {
        return None;
    }
    let harmless = peers.iter().filter(|peer| peer.2 <= HARMLESS);
    let best = harmless.reduce(|best, peer| if peer.1 > best.1 { peer } else { best })?;
    let certain = |value| Mean {
        value,
        half_width: f64::NAN,
    };
    let cells = [scheme, best].into_iter().flat_map(|&(name, share, harm)| {
        [
            (format!("received, share of {}, told", scheme.0), "", share),
            ("harm, mean".to_owned(), "%", harm),
            (OF_BEST.to_owned(), "", share / best.1),
        ]
        .map(|(row, unit, value)| certain(value).cell(&row, name, unit))
    });
    let title = format!(
        "Best peer that harms by at most {HARMLESS} %, over {}",
        name_of(carrier)
    );
    let outcome = Outcome::new(&format!("best-{}", carrier.id()), &title, receiving.seeds);
    Some(
        outcome
            .cells(cells)
            .note("Received and harm cover the drawn networks. Packets of both are relative to the same told controller."),
    )
}

fn name_of(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Tcp => "TCP",
        Carrier::Quic => "QUIC",
    }
}

/// Returns the page of all criteria.
pub fn page(
    outcomes: &[Outcome],
    setting: &Setting,
    left_out: &[Uncovered],
    command: &str,
) -> String {
    let name = &setting.scheme.name;
    let mut page = Page::new(&format!("{name}, by RFC 9743"));
    page.text(&format!(
        "Made by `{command}`. {}",
        terms(setting).join(" ")
    ));
    for outcome in outcomes {
        html::push_outcome(&mut page, outcome, |_| None);
    }
    page.section("not-covered", "Criteria not covered");
    let mut table = Table::overview(["section", "criterion", "reason"]);
    for one in left_out {
        let texts = [&one.section, &one.what, &one.why];
        table.row(texts.map(|text| Entry::from(text.as_str())));
    }
    page.table(&table);
    page.finish(&format!(
        "Measured by whyloss {} on simulated networks. A mean comes with half the width of its 95 % interval (Student’s t over the seeds).",
        env!("CARGO_PKG_VERSION")
    ))
}

/// Explains the setting and the terms of the tables, with a text for each bullet of a list.
fn terms(setting: &Setting) -> [String; 4] {
    let carrier = match setting.carrier {
        Carrier::Tcp => "TCP with RACK-TLP (Vegas: with its own recovery)",
        Carrier::Quic => "QUIC (quinn). Criteria that need ECN or clocks run over TCP",
    };
    let seeds = setting.seeds;
    [
        format!("Judged flows run over {carrier}. Values are means over seeds 1 to {seeds}. Unless stated, the path has 10 Mbit/s and a round trip of 100 ms. A dash: no value, such as for an unfinished transfer."),
        "Told: a controller that knows every cause. A share of told is relative to it, and may exceed 1.".to_owned(),
        "Harm: the share of throughput that a CUBIC or NewReno flow loses if judged flows replace CUBIC flows; negative if it gains.".to_owned(),
        "fqRTT is the classifier of quicly, isolated that of picoquic. BDP: bandwidth × round trip.".to_owned(),
    ]
}

/// Returns a paragraph per carrier on the share that the scheme receives, and on its harm.
fn results(outcomes: &[Outcome], scheme: &Contender) -> String {
    let (name, base) = (&scheme.name, scheme.base());
    let mut text = String::new();
    for carrier in [Carrier::Tcp, Carrier::Quic] {
        let title = name_of(carrier);
        let find = |what: &str| {
            let id = format!("{what}-{}", carrier.id());
            outcomes.iter().find(|outcome| outcome.id == id)
        };
        let Some(outcome) = find("overview") else {
            continue;
        };
        let mean = |row: &str, column: &str| {
            let mut cells = outcome.cells.iter();
            let cell = cells.find(|cell| cell.row == row && cell.column == column)?;
            cell.mean
        };
        let share = mean("received, share of told", name);
        let cubic = mean("received, share of told", "CUBIC");
        let harm = mean("harm, mean", name);
        let worst = mean("harm, worst", name);
        if let (Some(share), Some(cubic), Some(harm), Some(worst)) = (share, cubic, harm, worst) {
            let _ = writeln!(
                text,
                "Over {title}, `{name}` receives {share:.2} times the packets of a `{base}` that knows every cause (*told*; plain CUBIC: {cubic:.2}). Without channel losses, it takes {harm:.1} % from a plain flow on average, {worst:.1} % at worst."
            );
            let cells = find("best").map_or(&[][..], |best| &best.cells);
            let shares: Vec<_> = cells.iter().filter(|cell| cell.row == OF_BEST).collect();
            if let [
                Cell {
                    mean: Some(share), ..
                },
                best,
            ] = shares[..]
            {
                let _ = writeln!(
                    text,
                    "In the drawn networks, its mean share is {share:.2} times that of {}, the best of all peers that harm by at most {HARMLESS} %.",
                    best.column
                );
            }
            text.push('\n');
        }
    }
    text
}

/// Returns the Markdown page with the results over all criteria.
pub fn document(overviews: &[Outcome], setting: &Setting, command: &str) -> String {
    let name = &setting.scheme.name;
    let mut text = format!(
        "# `{name}`, by RFC 9743\n\n[RFC 9743](https://www.rfc-editor.org/rfc/rfc9743) has criteria for new congestion controls. This command evaluates `{name}` by them, and writes this page and that of [each criterion](criteria.md), which explains the terms:\n\n```sh\n{command}\n```\n\n{}",
        results(overviews, &setting.scheme)
    );
    push(&mut text, overviews, true);
    text
}

/// Returns the Markdown page with the tables of each criterion.
pub fn criteria(outcomes: &[Outcome], setting: &Setting, left_out: &[Uncovered]) -> String {
    let name = &setting.scheme.name;
    let mut text = format!(
        "# `{name}` by each criterion of RFC 9743\n\n`whyloss evaluate {name}` writes this page and [its summary](evaluation.md).\n\n"
    );
    for term in terms(setting) {
        let _ = writeln!(text, "- {term}");
    }
    text.push('\n');
    push(&mut text, outcomes, false);
    text.push_str("## Criteria not covered\n\n| section | criterion | reason |\n|---|---|---|\n");
    for Uncovered { section, what, why } in left_out {
        let _ = writeln!(text, "| {section} | {what} | {why} |");
    }
    text
}

/// Appends a section with the tables of each outcome, and with its pictures if `drawn`. A note
/// appears once, where it first applies.
fn push(text: &mut String, outcomes: &[Outcome], drawn: bool) {
    let mut told: Vec<&str> = Vec::new();
    for outcome in outcomes {
        let _ = write!(text, "## {}\n\n", outcome.title);
        text.push_str(&markdown::tables(outcome, false));
        for note in &outcome.notes {
            if !told.contains(&note.as_str()) {
                told.push(note);
                let _ = writeln!(text, "{note}\n");
            }
        }
        for figure in outcome.figures.iter().filter(|_| drawn) {
            let Figure { name, caption, .. } = figure;
            let _ = writeln!(text, "![{}]({name}.svg)\n", caption.trim_end_matches('.'));
        }
    }
}
