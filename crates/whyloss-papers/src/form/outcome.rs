//! Turns runs into an outcome: cells, figures, claims and notes.

use core::fmt::Write as _;

use whyloss_sim::scenario::suggest;
use whyloss_study::replicate::Precision;
use whyloss_study::{
    Cell, Check, Claim, Context, ExperimentError, Figure as Drawn, Line, Look, Outcome, Panel,
    Series, Weight, statistics,
};

use super::document::{self, Figure, Row, Stated, Text};
use super::error::{Fault, fault};
use super::plan::Part;
use super::scope::{Scope, short};
use super::{Paper, find};
use crate::probes;

impl Paper {
    /// Runs a figure and returns its results.
    pub(crate) fn outcome(
        &'static self,
        figure: &'static Figure,
        context: &Context<'_>,
    ) -> Result<Outcome, ExperimentError> {
        let failed = |fault: Fault| ExperimentError::Failed(Box::new(self.show(fault)));
        if let Some(program) = &figure.program {
            return probes::program(program).map_err(failed)?(context);
        }
        let parts = self.measured(figure, context)?;
        self.told(figure, &parts).map_err(failed)
    }

    /// Returns the outcome of a figure's runs: cells, pictures, claims and notes.
    pub(crate) fn told(
        &'static self,
        figure: &'static Figure,
        parts: &[Part],
    ) -> Result<Outcome, Fault> {
        let id = figure.id.as_ref().map_or("", |id| id.get_ref());
        let title = figure
            .heading
            .as_deref()
            .or(figure.title.as_deref())
            .unwrap_or(id);
        let seeds = parts.iter().map(|part| part.runs.seeds()).min();
        let mut outcome =
            Outcome::new(id, title, seeds.unwrap_or(0)).with_confidence(self.confidence());
        let scope = Scope::new(self, figure, parts);
        for row in figure.rows.iter().flatten() {
            self.row(row, &scope, None, &mut outcome.cells)?;
        }
        for stated in figure.stated.iter().flatten() {
            beside(stated, &mut outcome.cells)?;
        }
        let pictures = figure
            .panels
            .iter()
            .map(|panels| ("", figure.caption.as_deref(), panels, None));
        let more = figure.picture.iter().flatten();
        let more = more.map(|more| {
            (
                more.suffix.as_str(),
                Some(more.caption.as_str()),
                &more.panels,
                more.each.as_ref(),
            )
        });
        for (suffix, caption, panels, each) in pictures.chain(more) {
            for scope in scope.each(each)? {
                let mut all = Vec::new();
                for panel in panels {
                    for scope in scope.each(panel.each.as_ref())? {
                        all.push(self.panel(panel, &scope)?);
                    }
                }
                let caption = caption.unwrap_or(title).replace("{heading}", title);
                outcome.figures.push(Drawn {
                    name: format!("{id}{}", scope.filled(suffix)),
                    caption: scope.filled(&caption),
                    panels: all,
                });
            }
        }
        let claims = figure.claim.as_deref().unwrap_or_default();
        let notes = Scope::new(self, figure, parts);
        for scope in scope.claiming().each(figure.each_claim.as_ref())? {
            // Claims that are repeated over the same dimensions are adjacent.
            for group in claims.chunk_by(|a, b| {
                names(a.each.as_ref()) == names(b.each.as_ref()) && a.each.is_some()
            }) {
                for scope in scope.each(group[0].each.as_ref())? {
                    for claim in group {
                        if !scope.is_at(claim.only.as_ref())? {
                            continue;
                        }
                        outcome.claims.push(decided(claim, &scope)?);
                    }
                }
            }
        }
        for note in figure.notes.iter().flatten() {
            let note = if note == "{precision}" {
                self.precision(figure, &notes)?
            } else {
                note.clone()
            };
            outcome.notes.push(note);
        }
        Ok(outcome)
    }

    /// Adds the cells of a row; `place` is given if its group is repeated over places.
    fn row(
        &'static self,
        row: &'static Row,
        scope: &Scope<'_>,
        place: Option<f64>,
        cells: &mut Vec<Cell>,
    ) -> Result<(), Fault> {
        let at = row.at.clone().or_else(|| place.map(|x| vec![x]));
        let metrics = row.metrics.iter().flatten().map(Some);
        let metrics: Vec<_> = match &row.metrics {
            Some(_) => metrics.collect(),
            None => vec![row.metric.as_ref()],
        };
        let each = scope.each(row.each.as_ref())?;
        let each = each
            .iter()
            .flat_map(|scope| metrics.iter().map(move |metric| (scope, *metric)));
        for (scope, metric) in each {
            if let Some(rows) = &row.rows {
                let places = at
                    .as_ref()
                    .map_or(vec![None], |at| at.iter().copied().map(Some).collect());
                for place in places {
                    for row in rows {
                        self.row(row, scope, place, cells)?;
                    }
                }
                continue;
            }
            let some = row.lines.as_deref();
            let (scope, lines) =
                Self::lines(row.plan.as_ref(), row.of.as_ref(), metric, some, scope)?;
            let name = metric.map(|metric| find(&self.metrics, metric, "metric"));
            let name = name.transpose()?.map_or("", |metric| &metric.name);
            let label = scope.filled(&row.row).replace("{metric}", name);
            let column = |line: &Line, x: Option<f64>| {
                let column = row
                    .column
                    .as_deref()
                    .map_or_else(|| line.name.clone(), |column| scope.filled(column));
                let x = x.map_or_else(String::new, |x| self.notation.place(x));
                column.replace("{line}", &line.name).replace("{x}", &x)
            };
            let from = cells.len();
            match &at {
                None => {
                    for line in &lines {
                        let named = line.clone().named(&column(line, None));
                        cells.extend(named.cells(&label));
                    }
                }
                Some(at) => {
                    for &x in at {
                        let label = label.replace("{x}", &self.notation.place(x));
                        cells.extend(lines.iter().map(|line| Cell {
                            x: row.placed.then_some(x),
                            ..line.at(x).cell(&label, &column(line, Some(x)), line.unit)
                        }));
                    }
                }
            }
            let nulls = [&row.unaware, &row.oracle].map(|of| of.as_ref());
            let [unaware, oracle] = nulls.map(|of| of.map(|of| scope.null(of, metric)));
            let (unaware, oracle) = (unaware.transpose()?, oracle.transpose()?);
            for (index, cell) in cells[from..].iter_mut().enumerate() {
                cell.metric = self.score(cell.unit, name);
                cell.fitted = row.fitted;
                let x = at
                    .as_ref()
                    .map_or(cell.x, |at| at.get(index / lines.len().max(1)).copied());
                let null = |of: &Option<Line>| {
                    let value = of.as_ref()?.anywhere(x.unwrap_or(f64::NAN));
                    Some(value).filter(|value| value.is_finite())
                };
                (cell.nulls.unaware, cell.nulls.oracle) = (null(&unaware), null(&oracle));
                let Some(paper) = row.paper.get(index) else {
                    continue;
                };
                let paper = paper.of(&scope)?;
                cell.paper = Some(paper);
                let share = row.share.map_or(0.0, |share| share * paper);
                let target = row.tolerance.is_some() || row.share.is_some();
                cell.tolerance = (target && !row.shown.contains(&index))
                    .then(|| share.max(row.tolerance.unwrap_or(0.0)));
            }
        }
        Ok(())
    }

    /// Returns the metric under which a cell with this unit is scored. `{metric}` in the file means
    /// the cell's own metric.
    fn score(&'static self, unit: &str, metric: &'static str) -> &'static str {
        let score = &self.document.score;
        match score
            .get(unit)
            .or_else(|| score.get("*"))
            .map(String::as_str)
        {
            Some("{metric}") => metric,
            other => other.unwrap_or_default(),
        }
    }

    /// Returns the lines of a row or panel, and the scope in which they were evaluated.
    fn lines<'p>(
        plan: Option<&'static Text>,
        of: Option<&'static Text>,
        metric: Option<&'static Text>,
        some: Option<&'static [String]>,
        scope: &Scope<'p>,
    ) -> Result<(Scope<'p>, Vec<Line>), Fault> {
        let scope = plan.map_or_else(
            || scope.within(&Vec::new()),
            |plan| scope.of_plan(plan.get_ref()),
        );
        let lines = match (of, metric) {
            (Some(of), None) => scope.lines(of)?,
            (None, Some(metric)) => scope.all(metric, some)?,
            (of, metric) => {
                let message = "expected either `of`, some lines, or `metric`, for all of them";
                return Err(of
                    .or(metric)
                    .map_or_else(|| Fault::whole(message), |at| fault(at, message)));
            }
        };
        Ok((scope, lines))
    }

    fn panel(
        &'static self,
        panel: &'static document::Panel,
        scope: &Scope<'_>,
    ) -> Result<Panel, Fault> {
        let title = scope.filled(&panel.title);
        if !panel.tracks.is_empty() {
            let series = panel.tracks.iter().map(|track| {
                let part = scope.part(&track.of)?;
                let points = part
                    .runs
                    .at(track.of.get_ref(), track.x.unwrap_or(f64::NAN))
                    .first();
                let points = points.and_then(|run| run.probed.track(track.track.get_ref()));
                let below = track.below.unwrap_or(f64::INFINITY);
                let points = points.unwrap_or_default().iter();
                let points = points.map(|&(x, y)| (x, if y > below { f64::NAN } else { y }));
                Ok(Series::new(&track.name, Look::line(track.dashed), points))
            });
            let y = panel.y.as_deref().unwrap_or_default();
            return Ok(Panel::new(
                &title,
                ("time, s", y),
                series.collect::<Result<_, Fault>>()?,
            ));
        }
        let (scope, lines) = Self::lines(
            panel.plan.as_ref(),
            panel.of.as_ref(),
            panel.metric.as_ref(),
            panel.lines.as_deref(),
            scope,
        )?;
        let at = panel.of.as_ref().or(panel.metric.as_ref());
        let axis = at.map(|at| scope.axis(at)).transpose()?.flatten();
        let label = panel.x.as_deref().or(axis.map(|axis| axis.label.as_str()));
        let x = scope.filled(label.unwrap_or_default());
        let metric = panel
            .metric
            .as_ref()
            .map(|metric| find(&self.metrics, metric, "metric"))
            .transpose()?;
        let y = panel.y.clone().unwrap_or_else(|| match metric {
            Some(metric) if metric.unit.is_empty() => metric.name.clone(),
            Some(metric) => format!("{}, {}", metric.name, metric.unit),
            None => lines
                .first()
                .map_or_else(String::new, |line| line.unit.to_owned()),
        });
        let log_y = panel.log || metric.is_some_and(|metric| metric.log);
        let series = lines.into_iter().map(|line| {
            let line = if panel.measured {
                // A logarithmic axis cannot show zero.
                line.measured().only(|x| !log_y || line.at(x).value > 0.0)
            } else {
                line
            };
            let line = if panel.bare { line.bare() } else { line };
            let dashed = panel.dashed.contains(&line.id);
            if dashed {
                line.drawn(Look::Dashed)
            } else {
                line
            }
            .series()
        });
        Ok(Panel {
            log_x: panel.log_x || axis.is_some_and(|axis| axis.log),
            log_y,
            ..Panel::new(&title, (&x, &y), series.collect())
        })
    }

    /// Returns a note on the places where the metric did not reach the paper's precision, and on
    /// the number of replications. The note is empty if the figure has no rule of precision.
    fn precision(
        &'static self,
        figure: &'static Figure,
        scope: &Scope<'_>,
    ) -> Result<String, Fault> {
        let Some(until) = &figure.until else {
            return Ok(String::new());
        };
        let metric = find(&self.metrics, &until.metric, "metric")?;
        let precision = Precision {
            half_width: until.within,
            confidence: self.confidence(),
            at_most: until.most,
        };
        let (mut least, mut most) = (u64::MAX, 0);
        let mut short = Vec::new();
        for part in scope.parts {
            least = least.min(part.runs.seeds());
            for &x in part.runs.xs() {
                for (id, _) in &part.lines {
                    let runs = part.runs.at(id.get_ref(), x);
                    most = most.max(runs.len());
                    let values = runs
                        .iter()
                        .filter_map(|run| metric.of(&run.observed(), None));
                    let values: Vec<f64> = values.collect();
                    let Some(mean) = statistics::mean(&values) else {
                        continue;
                    };
                    if precision.reached(&values) {
                        continue;
                    }
                    let half = statistics::half_width(&values, precision.confidence)
                        .unwrap_or(f64::INFINITY);
                    let place = scope.within(&part.selection).filled(&until.place);
                    let share = 100.0 * (half / mean);
                    short.push(format!(
                        "{}, {place} at {x} % ({share:.0} % after {})",
                        id.get_ref(),
                        runs.len()
                    ));
                }
            }
        }
        let mut note = format!(
            "Replicated until the {} of every variant is known to {} % with {} % confidence, from {least} to {most} times.",
            metric.name,
            100.0 * precision.half_width,
            100.0 * precision.confidence
        );
        if !short.is_empty() {
            let _ = write!(note, " Not that precise: {}.", short.join("; "));
        }
        Ok(note)
    }
}

impl document::Number {
    fn of(&self, scope: &Scope<'_>) -> Result<f64, Fault> {
        match self {
            Self::Real(number) => Ok(*number),
            Self::Filled(text) => {
                let filled = scope.filled(text);
                let message = || Fault::whole(format!("found `{filled}`, expected a number"));
                filled.parse().map_err(|_| message())
            }
        }
    }
}

fn names(each: Option<&Vec<Text>>) -> Vec<&str> {
    each.into_iter()
        .flatten()
        .map(|name| name.get_ref().as_str())
        .collect()
}

/// Adds the paper's number to its cell.
fn beside(stated: &Stated, cells: &mut [Cell]) -> Result<(), Fault> {
    let is = |cell: &&mut Cell| {
        let same = match (cell.x, stated.x) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            (None, None) => true,
            _ => false,
        };
        cell.row == *stated.row.get_ref() && cell.column == stated.column && same
    };
    let rows: Vec<String> = cells.iter().map(|cell| cell.row.clone()).collect();
    let Some(cell) = cells.iter_mut().find(is) else {
        let mut rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        rows.dedup();
        let known = rows.contains(&stated.row.get_ref().as_str());
        let hint = if known {
            String::new()
        } else {
            suggest(stated.row.get_ref(), rows.iter().copied())
        };
        return Err(fault(
            &stated.row,
            format!(
                "no cell is in row `{}`, column `{}` at this place{hint}",
                stated.row.get_ref(),
                stated.column
            ),
        ));
    };
    cell.paper = Some(stated.paper);
    cell.tolerance = stated.tolerance;
    cell.nulls.unaware = stated.unaware.or(cell.nulls.unaware);
    Ok(())
}

fn decided(claim: &'static document::Claim, scope: &Scope<'_>) -> Result<Claim, Fault> {
    let (holds, mut evidence) = scope.holds(&claim.holds)?;
    if let Some(of) = &claim.of {
        evidence = scope.evidence(&scope.lines(of)?);
    }
    if let Some(template) = &claim.evidence {
        evidence = worded(template, scope)?;
    }
    let weight = claim
        .weight
        .as_ref()
        .map(|weight| scope.filled(weight.get_ref()));
    let weight = match weight.as_deref() {
        None | Some("counted") => Weight::Counted,
        Some("beside") => Weight::Beside,
        Some("foregone") => Weight::Foregone,
        Some(other) => {
            let hint = suggest(other, ["counted", "beside", "foregone"]);
            let at = claim.weight.as_ref().unwrap_or(&claim.holds);
            return Err(fault(at, format!("no weight is called `{other}`{hint}")));
        }
    };
    let check = Check { holds, evidence };
    Ok(check
        .claim(&scope.filled(&claim.id), &scope.filled(&claim.text))
        .weighing(weight))
}

fn decimals(text: &str, at: &Text) -> Result<usize, Fault> {
    let message = || format!("found `{text}`, expected a number of decimals");
    text.trim().parse().map_err(|_| fault(at, message()))
}

/// Fills the expressions of a text: `{average(a)|2}` has two decimals, and `{average(a)|short}`
/// about four digits. `{a}` is a line in the format of evidence, `{a|each 3}` its means with three
/// decimals, and `{a|values}` its means with about four digits, without places.
fn worded(template: &'static Text, scope: &Scope<'_>) -> Result<String, Fault> {
    let filled = scope.filled(template.get_ref());
    let (mut done, mut rest) = (String::new(), filled.as_str());
    while let Some((before, after)) = rest.split_once('{') {
        let Some((of, after)) = after.split_once('}') else {
            break;
        };
        done.push_str(before);
        match of.rsplit_once('|') {
            Some((of, "short")) => done.push_str(&short(scope.number(of, template)?)),
            Some((of, "values")) => {
                let line = scope.line(of, template, 0)?;
                let values = line.means().map(|(_, mean)| short(mean.value));
                done.push_str(&values.collect::<Vec<_>>().join(", "));
            }
            Some((of, each)) if each.starts_with("each ") => {
                let line = scope.line(of, template, 0)?;
                let decimals = decimals(&each["each ".len()..], template)?;
                let place = |x| scope.paper.notation.place(x);
                let means = line
                    .means()
                    .map(|(x, mean)| format!("{}: {:.decimals$}", place(x), mean.value));
                let means = means.collect::<Vec<_>>().join(", ");
                let _ = write!(done, "{} {means}", line.name);
            }
            Some((of, many)) => {
                let decimals = decimals(many, template)?;
                let _ = write!(done, "{:.decimals$}", scope.number(of, template)?);
            }
            None => done.push_str(&scope.line(of, template, 0)?.to_string()),
        }
        rest = after;
    }
    done.push_str(rest);
    Ok(done)
}
