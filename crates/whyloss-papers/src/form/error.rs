//! Faults of a paper's file, with their place.

use core::error::Error;
use core::fmt;
use core::ops::Range;

use whyloss_sim::scenario::ScenarioError;
use whyloss_study::TomlFault;

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
        let at = self.span.map(|span| span.start);
        match at {
            None => PaperError::whole(file, self.message),
            Some(at) => PaperError {
                file: file.to_owned(),
                what: Ok(TomlFault::at(text, at, self.message)),
            },
        }
    }
}

/// A fault of a paper's file.
#[derive(Debug)]
pub struct PaperError {
    file: String,
    /// At a place, or in all of it.
    what: Result<TomlFault, String>,
}

impl PaperError {
    pub(crate) fn whole(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            what: Err(message.into()),
        }
    }

    /// TOML that is none, or has a key that nothing knows.
    pub(crate) fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        Self {
            file: file.to_owned(),
            what: Ok(TomlFault::of(text, error)),
        }
    }
}

impl fmt::Display for PaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Ok(fault) => write!(f, "{}:{fault}", self.file),
            Err(message) => write!(f, "{}: {message}", self.file),
        }
    }
}

impl Error for PaperError {}
