//! Formats the evidence of a claim.

use whyloss_sim::scenario::suggest;
use whyloss_study::{Line, Notation, report};

use super::super::document::Text;
use super::super::error::{Fault, fault};

/// The format of lines in a paper's evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    /// `Reno, Mbit/s: 0.1: 4.31 ± 0.02, 1: 2.05 ± 0.03`
    #[default]
    Whole,
    /// `Reno 1e-3: 0.0024, 1e-4: 0.1330 Mbit/s`: means alone, and the unit once.
    Short,
    /// `Mc, %: TCP 56.5 ± 0.8, TFRC (1: 4.3 ± 0.1, 2: 4.4 ± 0.2)`: lines in a metric together.
    Merged,
}

impl Writing {
    /// Reads the format from a paper's file.
    pub(crate) fn of(text: Option<&Text>) -> Result<Self, Fault> {
        let Some(text) = text else {
            return Ok(Self::Whole);
        };
        match text.get_ref().as_str() {
            "short" => Ok(Self::Short),
            "merged" => Ok(Self::Merged),
            other => {
                let hint = suggest(other, ["short", "merged"]);
                Err(fault(
                    text,
                    format!("no evidence is written `{other}`{hint}"),
                ))
            }
        }
    }

    /// Returns the notation of single lines; `None` for the default one.
    pub(crate) fn of_lines(self) -> Option<Notation> {
        (self == Self::Short).then_some(Notation {
            place: |x| Self::Short.place(x) + ": ",
            mean: short,
        })
    }

    /// Formats a place on an axis.
    pub(crate) fn place(self, x: f64) -> String {
        if self == Self::Short && x < 0.01 {
            format!("{x:e}")
        } else {
            report::place(x)
        }
    }
}

/// Formats a number with about four significant digits.
pub(crate) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        magnitude if magnitude >= 1000.0 => 0,
        magnitude if magnitude >= 100.0 => 1,
        magnitude if magnitude >= 10.0 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// The lines of an expression, in the order of its text.
#[derive(Debug, Default)]
pub(crate) struct Evidence(Vec<Entry>);

#[derive(Debug)]
enum Entry {
    Line(Box<Line>),
    Text(String),
}

impl Evidence {
    pub(super) fn line(&mut self, line: &Line) {
        let told = line.to_string();
        let known = |entry: &Entry| matches!(entry, Entry::Line(of) if of.to_string() == told);
        if !self.0.iter().any(known) {
            self.0.push(Entry::Line(Box::new(line.clone())));
        }
    }

    pub(super) fn text(&mut self, text: String) {
        let known = |entry: &Entry| matches!(entry, Entry::Text(of) if *of == text);
        if !self.0.iter().any(known) {
            self.0.push(Entry::Text(text));
        }
    }

    /// Formats all lines. Lines may be grouped by the metrics in `metrics`.
    pub(super) fn told<'a>(
        &self,
        writing: Writing,
        metrics: &(impl Iterator<Item = &'a str> + Clone),
    ) -> String {
        if writing == Writing::Merged {
            return self.merged(metrics);
        }
        let told = self.0.iter().map(|entry| match entry {
            Entry::Line(line) => line.to_string(),
            Entry::Text(text) => text.clone(),
        });
        let told = told.collect::<Vec<_>>().join("; ");
        match self.0.last() {
            Some(Entry::Line(line)) if writing == Writing::Short && !line.unit.is_empty() => {
                format!("{told} {}", line.unit)
            }
            _ => told,
        }
    }

    /// Groups lines by metric: a line named `metric of line` belongs to its metric.
    fn merged<'a>(&self, metrics: &(impl Iterator<Item = &'a str> + Clone)) -> String {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for entry in &self.0 {
            let line = match entry {
                Entry::Line(line) => line,
                Entry::Text(text) => {
                    groups.push((text.clone(), Vec::new()));
                    continue;
                }
            };
            let of_metric = |metric: &'a str| {
                let name = line.name.strip_prefix(metric)?.strip_prefix(" of ")?;
                Some((metric, name))
            };
            let (metric, name) = metrics
                .clone()
                .find_map(of_metric)
                .unwrap_or((&line.name, ""));
            let unit = if line.unit.is_empty() { "" } else { ", " };
            let heading = format!("{metric}{unit}{}: ", line.unit);
            let gap = if name.is_empty() { "" } else { " " };
            let told = format!("{name}{gap}{}", points(line));
            match groups.iter_mut().find(|group| group.0 == heading) {
                Some((_, lines)) => lines.push(told),
                None => groups.push((heading, vec![told])),
            }
        }
        let told = groups
            .iter()
            .map(|(heading, lines)| heading.clone() + &lines.join(", "));
        told.collect::<Vec<_>>().join("; ")
    }
}

/// Formats the means of a line, with their places if there are several.
fn points(line: &Line) -> String {
    let means: Vec<_> = line.means().collect();
    if let [(_, mean)] = means[..] {
        return mean.to_string();
    }
    let means = means
        .iter()
        .map(|(x, mean)| format!("{}: {mean}", report::place(*x)));
    format!("({})", means.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_a_metric_are_merged() {
        let mut evidence = Evidence::default();
        for (name, xs) in [
            ("Mc of TCP", &[1.0][..]),
            ("delay of TCP", &[1.0, 2.0]),
            ("Mc of Omni", &[1.0]),
            ("Mc of Omni", &[1.0]),
        ] {
            let points = xs.iter().map(|&x| (x, vec![Some(50.0 * x)]));
            evidence.line(&Line::of("", name, "%", points));
        }
        evidence.text("none turned".to_owned());
        assert_eq!(
            evidence.told(Writing::Merged, &["Mc"].into_iter()),
            "Mc, %: TCP 50.0, Omni 50.0; delay of TCP, %: (1: 50.0, 2: 100.0); none turned"
        );
    }
}
