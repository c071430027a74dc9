//! Evaluates expressions about several lines: those of a part, of a group, and of several scopes.

use whyloss_sim::scenario::suggest;
use whyloss_study::Line;
use whyloss_study::expr::Expr;

use super::super::document::Text;
use super::super::error::{Fault, fault};
use super::{Scope, Value};

impl Scope<'_> {
    /// Returns the lines of the selected combination in a metric: all, or those in `some`.
    pub(crate) fn all(
        &self,
        text: &'static Text,
        some: Option<&[String]>,
    ) -> Result<Vec<Line>, Fault> {
        let metric = self.metric(Some(text.get_ref()), text)?;
        let part = self.part(text)?;
        let shown = |id: &str| {
            some.is_none_or(|some| {
                some.iter()
                    .any(|of| of == id || self.group(of).iter().any(|of| of == id))
            })
        };
        let lines = part.lines.iter().filter(|(id, _)| shown(id.get_ref()));
        lines
            .map(|(id, line)| self.read(part, (id.get_ref(), line), metric, None, text))
            .collect()
    }

    /// Returns the lines of a group; empty if there is no such group.
    fn group(&self, name: &str) -> &'static [String] {
        let groups = self.figure.group.as_ref();
        groups
            .and_then(|groups| groups.get(name))
            .map_or(&[], Vec::as_slice)
    }

    /// Replaces the name of each group in the arguments by the group's lines, as in `high:base.mc`.
    pub(super) fn arguments(&self, given: &[Expr]) -> Vec<Expr> {
        let lines = |of: &Expr| {
            let Expr::Name(name) = of else {
                return vec![of.clone()];
            };
            let from = name.find(':').map_or(0, |at| at + 1);
            let to = name[from..]
                .find(['.', '@'])
                .map_or(name.len(), |at| from + at);
            let lines = self.group(&name[from..to]);
            if lines.is_empty() {
                return vec![of.clone()];
            }
            let line = |line| Expr::Name(format!("{}{line}{}", &name[..from], &name[to..]));
            lines.iter().map(line).collect()
        };
        given.iter().flat_map(lines).collect()
    }

    /// Returns the score of a trivial answer: a number, or a line in the metric of the row. Returns
    /// an empty line if there are no runs of that line.
    pub(crate) fn null(
        &self,
        text: &'static Text,
        metric: Option<&'static Text>,
    ) -> Result<Line, Fault> {
        let run = |id: &str| self.part(text).is_ok_and(|part| part.has(id));
        match metric {
            Some(_)
                if self.paper.document.line.contains_key(text.get_ref())
                    && !run(text.get_ref()) =>
            {
                Ok(Line::new("", "", ""))
            }
            Some(metric) if text.get_ref().parse::<f64>().is_err() => {
                self.line(&format!("{}.{}", text.get_ref(), metric.get_ref()), text, 0)
            }
            _ => self.line(text.get_ref(), text, 0),
        }
    }

    /// Returns each line as evaluated in this scope and in the other scope.
    fn here_and(
        &self,
        other: &Self,
        of: &[Expr],
        text: &'static Text,
    ) -> Result<Vec<(Line, Line)>, Fault> {
        let here = self.each_line(of, text)?;
        Ok(here.into_iter().zip(other.each_line(of, text)?).collect())
    }

    /// Evaluates each argument to a line; a group gives several.
    pub(super) fn each_line(&self, of: &[Expr], text: &'static Text) -> Result<Vec<Line>, Fault> {
        let lines = self.arguments(of);
        let line = |of: &Expr| match self.value(of, text)? {
            Value::Line(line, _) => Ok(*line),
            _ => Err(fault(text, "expected lines")),
        };
        lines.iter().map(line).collect()
    }

    /// Returns the values of line `a` for all seeds, put into bins by the values of line `by`.
    pub(super) fn binned(
        &self,
        a: &Expr,
        by: &Expr,
        bounds: &[Expr],
        text: &'static Text,
    ) -> Result<Value, Fault> {
        let values = (self.value(a, text)?, self.value(by, text)?);
        let (Value::Line(a, _), Value::Line(by, _)) = values else {
            return Err(fault(text, "`binned` takes two lines and bounds"));
        };
        let bound = |of: &Expr| match self.value(of, text)? {
            Value::Number(bound) => Ok(bound),
            _ => Err(fault(text, "the bounds of `binned` are numbers")),
        };
        let bounds = bounds.iter().map(bound).collect::<Result<Vec<_>, _>>()?;
        Ok(Value::Line(Box::new(a.binned(&by, &bounds)), false))
    }

    /// Joins the points of several lines into one line.
    pub(super) fn joined(&self, of: &[Expr], text: &'static Text) -> Result<Value, Fault> {
        let lines = self.each_line(of, text)?;
        let points = lines.iter().flat_map(Line::means);
        let points = points.map(|(x, mean)| (x, vec![Some(mean.value)]));
        let first = lines
            .first()
            .map_or(("", ""), |line| (line.name.as_str(), line.unit));
        let joined = Line::of("", first.0, first.1, points);
        Ok(Value::Line(Box::new(joined), true))
    }

    /// Counts the pairs of lines whose means differ by more than `apart` in the other scope, and
    /// here by more than `least` in the opposite direction. Returns NaN if no pair differs that
    /// much in the other scope.
    pub(super) fn turned(
        &self,
        other: &Self,
        (apart, least): (f64, f64),
        of: &[Expr],
        text: &'static Text,
    ) -> Result<Value, Fault> {
        let lines = self.here_and(other, of, text)?;
        let (mut pairs, mut turned) = (0_u32, Vec::new());
        let places = lines
            .first()
            .map_or_else(Vec::new, |(line, _)| line.means().collect());
        for (x, _) in places {
            for (a, a_there) in &lines {
                for (b, b_there) in &lines {
                    let less = |a: &Line, b: &Line| a.at(x).value - b.at(x).value;
                    let (here, there) = (less(a, b), less(a_there, b_there));
                    if there > apart && !here.is_nan() {
                        pairs += 1;
                        if here < -least {
                            turned.push(format!("{} and {} at {x}", a.name, b.name));
                        }
                    }
                }
            }
        }
        let named = match turned.len() {
            0 => "none".to_owned(),
            1..=6 => turned.join(", "),
            many => format!("{} and {} more", turned[..6].join(", "), many - 6),
        };
        self.note(format!("{pairs} pairs, turned round: {named}"));
        let turned = turned.len() as f64;
        Ok(Value::Number(if pairs == 0 { f64::NAN } else { turned }))
    }

    /// Returns whether each mean differs by at most `within` from that in the other scope. Means
    /// that are missing in both agree.
    pub(super) fn agree(
        &self,
        other: &Self,
        within: f64,
        of: &[Expr],
        text: &'static Text,
    ) -> Result<Value, Fault> {
        let (mut agree, mut place, mut worst) = (true, String::new(), 0.0);
        for (here, there) in self.here_and(other, of, text)? {
            for (x, mean) in here.means() {
                let (a, b) = (mean.value, there.at(x).value);
                let apart = (a - b).abs();
                agree &= apart <= within || (a.is_nan() && b.is_nan());
                if apart > worst || a.is_nan() != b.is_nan() {
                    (place, worst) = (format!("{} at {x}", here.name), apart);
                }
            }
        }
        self.note(format!("largest difference {worst:.1} ({place})"));
        Ok(Value::Number(f64::from(u8::from(agree))))
    }

    /// Returns a line with one point per item of a dimension.
    pub(super) fn across(
        &self,
        dimension: &str,
        of: &Expr,
        text: &'static Text,
    ) -> Result<Value, Fault> {
        let known = &self.paper.document.over;
        let Some((dimension, items)) = known.get_key_value(dimension) else {
            let hint = suggest(dimension, known.keys().map(String::as_str));
            return Err(fault(
                text,
                format!("no dimension of `over` is called `{dimension}`{hint}"),
            ));
        };
        let mut points = Vec::new();
        for item in items {
            let mut inner = self.within(&vec![(dimension.as_str(), item)]);
            inner.depth += 1;
            let (Some(x), Value::Number(value)) = (item.x, inner.value(of, text)?) else {
                return Err(fault(
                    text,
                    "`across` takes a number of each item, and each item its `x`",
                ));
            };
            points.push((x, vec![Some(value)]));
        }
        Ok(Value::Line(Box::new(Line::of("", "", "", points)), false))
    }
}
