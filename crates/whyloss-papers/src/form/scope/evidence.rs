//! How the evidence of a claim is written.

use whyloss_sim::scenario::suggest;
use whyloss_study::{Line, Notation, report};

use super::super::document::Text;
use super::super::error::{Fault, fault};

/// How a paper's evidence writes lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writing {
    /// `Reno, Mbit/s: 0.1: 4.31 ± 0.02, 1: 2.05 ± 0.03`
    #[default]
    Whole,
    /// `Reno 1e-3: 0.0024, 1e-4: 0.1330 Mbit/s`: means alone, and the unit once.
    Short,
    /// `Mc, %: TCP 56.5 ± 0.8, TFRC 1: 4.3 ± 0.1, 2: 4.4 ± 0.2`: lines in a metric together.
    Merged,
}

impl Writing {
    /// Reads what a paper's file says.
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

    /// How lines write themselves.
    pub(crate) fn of_lines(self) -> Option<Notation> {
        (self == Self::Short).then_some(Notation {
            place: |x| Self::Short.place(x) + ": ",
            mean: short,
        })
    }

    /// A place on an axis.
    pub(crate) fn place(self, x: f64) -> String {
        if self == Self::Short && x < 0.01 {
            format!("{x:e}")
        } else {
            report::place(x)
        }
    }

    /// Lines that were looked at.
    pub(crate) fn lines(self, lines: &[Line]) -> String {
        let mut evidence = Evidence::default();
        lines.iter().for_each(|line| evidence.line(line));
        evidence.told(self)
    }
}

/// Four significant digits or so.
pub(crate) fn short(value: f64) -> String {
    let decimals = match value.abs() {
        magnitude if magnitude >= 1000.0 => 0,
        magnitude if magnitude >= 100.0 => 1,
        magnitude if magnitude >= 10.0 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// What was looked at, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    told: Vec<String>,
    /// The unit of the last line, and whether nothing came after it.
    unit: &'static str,
}

impl Evidence {
    pub(super) fn line(&mut self, line: &Line) {
        let told = line.to_string();
        if !self.told.contains(&told) {
            self.told.push(told);
            self.unit = line.unit;
        }
    }

    pub(super) fn text(&mut self, text: String) {
        if !self.told.contains(&text) {
            self.told.push(text);
            self.unit = "";
        }
    }

    pub(super) fn told(self, writing: Writing) -> String {
        let told = self.told.join("; ");
        if writing == Writing::Short && !self.unit.is_empty() {
            return format!("{told} {}", self.unit);
        }
        told
    }
}
