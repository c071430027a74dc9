//! Reports faults of a paper's file with their place.

use core::error::Error;
use core::fmt;
use core::ops::Range;

use whyloss_sim::scenario::ScenarioError;
use whyloss_study::TomlFault;

use super::document::Text;

/// An error without its context.
#[derive(Debug)]
pub(crate) struct Fault {
    span: Option<Range<usize>>,
    message: String,
}

/// Returns a fault at a text.
pub(crate) fn fault(at: &Text, message: impl Into<String>) -> Fault {
    Fault {
        span: Some(at.span()),
        message: message.into(),
    }
}

impl Fault {
    /// Returns a fault of the file as a whole.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self {
            span: None,
            message: message.into(),
        }
    }

    /// Returns the fault of a network that the set keys made invalid.
    pub(crate) fn of_network(at: &Text, place: &str, error: &ScenarioError) -> Self {
        Self {
            span: Some(at.span()),
            message: format!("{place}: {error}"),
        }
    }

    /// Moves the start of the fault by some bytes within its text.
    pub(crate) fn shifted(mut self, bytes: usize) -> Self {
        // The text begins after its quotation mark.
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
    /// The fault at a place, or a message about the file as a whole.
    what: Result<TomlFault, String>,
}

impl PaperError {
    pub(crate) fn whole(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            what: Err(message.into()),
        }
    }

    /// Returns the error of a file that is not TOML, or has an unknown key.
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
