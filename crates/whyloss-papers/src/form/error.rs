//! What is wrong with a paper's file, and where.

use core::error::Error;
use core::fmt;
use core::ops::Range;

use whyloss_sim::scenario::{ScenarioError, suggest};

use super::document::Text;

/// Something wrong, before it is shown in its context.
#[derive(Debug)]
pub(crate) struct Fault {
    span: Option<Range<usize>>,
    message: String,
}

/// A fault at a text.
pub(crate) fn fault(at: &Text, message: impl Into<String>) -> Fault {
    Fault {
        span: Some(at.span()),
        message: message.into(),
    }
}

impl Fault {
    /// A fault of the file.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self {
            span: None,
            message: message.into(),
        }
    }

    /// A network with keys set is no scenario.
    pub(crate) fn of_network(at: &Text, place: &str, error: &ScenarioError) -> Self {
        Self {
            span: Some(at.span()),
            message: format!("{place}: {error}"),
        }
    }

    /// The same, noticed so many bytes into a text.
    pub(crate) fn shifted(mut self, bytes: usize) -> Self {
        // A quotation mark comes first.
        self.span = self
            .span
            .map(|span| (span.start + 1 + bytes).min(span.end)..span.end);
        self
    }

    pub(crate) fn show(self, file: &str, text: &str) -> PaperError {
        let place = self.span.map(|span| place(text, span.start));
        PaperError {
            file: file.to_owned(),
            place,
            message: self.message,
        }
    }
}

/// What is wrong with a paper's file.
#[derive(Debug)]
pub struct PaperError {
    file: String,
    /// Line, column and key.
    place: Option<(usize, usize, String)>,
    message: String,
}

impl PaperError {
    pub(crate) fn whole(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            message: message.into(),
        }
    }

    /// TOML that is none, or has a key that nothing knows.
    pub(crate) fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let place = error.span().map(|span| place(text, span.start));
        // ``unknown field `titel`, expected one of `id`, `title` ``
        let said = error.message().replace('\n', " ");
        let message = match said.strip_prefix("unknown field ") {
            None => said,
            Some(rest) => {
                let mut names = rest.split('`').skip(1).step_by(2);
                let unknown = names.next().unwrap_or_default();
                let known: Vec<&str> = names.collect();
                format!(
                    "no key is called `{unknown}`{}",
                    suggest(unknown, known.iter().copied())
                )
            }
        };
        Self {
            file: file.to_owned(),
            place,
            message,
        }
    }
}

/// Line, column and key of a byte.
fn place(text: &str, at: usize) -> (usize, usize, String) {
    let at = text.floor_char_boundary(at);
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[..start].matches('\n').count() + 1;
    let before = &text[start..at];
    let bare = |c: char| c.is_alphanumeric() || "_-".contains(c);
    let key = before.trim_end_matches(|c: char| " =\"'[{".contains(c));
    let key = key.rsplit(|c: char| !bare(c)).next().unwrap_or_default();
    (line, before.chars().count() + 1, key.to_owned())
}

impl fmt::Display for PaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column, key)) = &self.place {
            write!(f, ":{line}:{column}")?;
            if !key.is_empty() {
                write!(f, ": {key}")?;
            }
        }
        write!(f, ": {}", self.message)
    }
}

impl Error for PaperError {}
