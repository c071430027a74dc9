//! Reads the names of nodes, links and flows, and numbers their copies.

use super::error::{At, Fault};
use super::fields::Field;
use super::schema::Shape;

/// A name; `{i}` in it is replaced by the copy's number.
#[derive(Clone)]
pub(super) struct Template<'a> {
    pub(super) text: &'a str,
    /// Whether `{i}` is in it.
    pub(super) numbered: bool,
    /// The position of the text in the document.
    pub(super) at: &'a At,
}

impl<'a> Template<'a> {
    /// Returns the name of a node or flow, or the `name` of a link.
    pub(super) fn of(field: &Field<'a>) -> Result<Self, Fault> {
        Self::checked(field, |_| false)
    }

    /// Returns the name of a link, which may be `from->to`.
    pub(super) fn of_link(field: &Field<'a>) -> Result<Self, Fault> {
        Self::checked(field, |c| c == '>')
    }

    /// Checks a name, because names enter overrides (`link.NAME.rate`) and file names.
    fn checked(field: &Field<'a>, also: impl Fn(char) -> bool) -> Result<Self, Fault> {
        let expected = "a name of letters, digits, `-` and `_` (and `{i}`, the number of the copy)";
        if let Some(probe) = field.item.probe() {
            probe.note(&field.path, Shape::Name);
            return Ok(Self {
                text: "{i}",
                numbered: true,
                at: &field.item.at,
            });
        }
        let text = field.text(expected)?;
        let numbered = text.contains("{i}");
        let bare = text.replace("{i}", "");
        let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_') || also(c);
        if text.is_empty() || text.chars().count() > 64 || !bare.chars().all(good) {
            return Err(field.unexpected(expected));
        }
        Ok(Self {
            text,
            numbered,
            at: &field.item.at,
        })
    }

    pub(super) fn expand(&self, i: u64) -> String {
        self.text.replace("{i}", &i.to_string())
    }

    /// Returns the name of a copy. A name without `{i}` gets the number at its end.
    pub(super) fn expand_or_number(&self, i: u64, count: Option<u64>) -> String {
        if count.is_some() && !self.numbered {
            format!("{}-{i}", self.text)
        } else {
            self.expand(i)
        }
    }
}
