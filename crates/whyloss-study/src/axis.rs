//! What the x of a figure means.

use std::borrow::Cow;

/// What x means.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// As it stands below a figure, with its unit.
    pub label: Cow<'static, str>,
    /// Whether it is drawn in powers of ten.
    pub log: bool,
}

impl Axis {
    /// In equal steps.
    pub const fn linear(label: &'static str) -> Self {
        let (label, log) = (Cow::Borrowed(label), false);
        Self { label, log }
    }

    /// In equal steps, under a label that was made up at run time.
    pub fn named(label: String) -> Self {
        let (label, log) = (Cow::Owned(label), false);
        Self { label, log }
    }

    /// In powers of ten.
    pub const fn log(label: &'static str) -> Self {
        let (label, log) = (Cow::Borrowed(label), true);
        Self { label, log }
    }
}
