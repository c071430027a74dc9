//! Locates faults in TOML files and suggests corrections.

use whyloss_sim::scenario::suggest;

/// Reports a fault in a text and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlFault {
    /// The line of the fault in the text, counted from 1.
    pub line: usize,
    /// The column of the fault in its line, in characters counted from 1.
    pub column: usize,
    /// The key before that place on its line; may be empty.
    pub key: String,
    /// The fault, with the nearest known name for an unknown key.
    pub message: String,
}

impl TomlFault {
    /// Creates a fault from a TOML error in `text`.
    pub fn of(text: &str, error: &toml::de::Error) -> Self {
        // TOML's message is ``unknown field `titel`, expected one of `id`, `title` ``.
        let said = error.message().replace('\n', " ");
        let message = match said.strip_prefix("unknown field ") {
            None => said,
            Some(rest) => {
                let mut names = rest.split('`').skip(1).step_by(2);
                let unknown = names.next().unwrap_or_default();
                let known: Vec<&str> = names.collect();
                let hint = suggest(unknown, known.iter().copied());
                format!("no key is called `{unknown}`{hint}")
            }
        };
        let at = error.span().map_or(text.len(), |span| span.start);
        Self::at(text, at, message)
    }

    /// Describes a fault at byte `at` of `text`, with the key before it.
    pub fn at(text: &str, at: usize, message: String) -> Self {
        let at = text.floor_char_boundary(at);
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = &text[start..at];
        let bare = |c: char| c.is_alphanumeric() || "_-".contains(c);
        let key = before.trim_end_matches(|c: char| " =\"'[{".contains(c));
        let key = key.rsplit(|c: char| !bare(c)).next().unwrap_or_default();
        Self {
            line: text[..start].matches('\n').count() + 1,
            column: before.chars().count() + 1,
            key: key.to_owned(),
            message,
        }
    }
}

impl core::fmt::Display for TomlFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}
