//! What the x of a figure means, and how evidence writes what lies along it.

use std::borrow::Cow;

/// What x means.
#[derive(Clone, Debug)]
pub struct Axis {
    /// As it stands below a figure, with its unit.
    pub label: Cow<'static, str>,
    /// Whether it is drawn in powers of ten.
    pub log: bool,
    /// How evidence writes the lines over it: with intervals, or as this says.
    pub notation: Option<Notation>,
}

/// How evidence writes the points of a line, if not `0.1: 4.31 ± 0.02`: a place with what separates it from its value
/// (`N=4 `), and a mean.
#[derive(Clone, Copy, Debug)]
pub struct Notation {
    /// A place on the axis.
    pub place: fn(f64) -> String,
    /// A mean.
    pub mean: fn(f64) -> String,
}

impl Axis {
    const fn new(label: Cow<'static, str>, log: bool) -> Self {
        Self {
            label,
            log,
            notation: None,
        }
    }

    /// In equal steps.
    pub const fn linear(label: &'static str) -> Self {
        Self::new(Cow::Borrowed(label), false)
    }

    /// In equal steps, under a label that was made up at run time.
    pub const fn named(label: String) -> Self {
        Self::new(Cow::Owned(label), false)
    }

    /// In powers of ten.
    pub const fn log(label: &'static str) -> Self {
        Self::new(Cow::Borrowed(label), true)
    }

    /// The same with lines that evidence writes so.
    #[must_use]
    pub const fn written(mut self, notation: Notation) -> Self {
        self.notation = Some(notation);
        self
    }
}
