//! Faults of a scenario file, with everything that helps to correct them: position, key, value
//! found, value expected, nearest valid name and line.

use std::fmt;
use std::ops::Range;

use crate::text::one_line;

/// The fault of a scenario file that cannot be run.
///
/// Its text is one sentence that starts with the position, then the line with a mark under the
/// fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The position of the fault.
    pub location: Location,
    /// The path of the key, such as `flow[2].classifier.upper`; empty for a fault of the whole
    /// document.
    pub path: String,
    /// The fault, in one sentence without the position.
    pub message: String,
    /// The line of the input, with a mark under the fault.
    picture: String,
}

/// The position of a fault in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A position in the file.
    File {
        /// The file's name, as the caller gave it.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The column in characters, counted from 1.
        column: usize,
    },
    /// A position in an override.
    Override {
        /// The index of the override, from 0.
        index: usize,
    },
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Location::File { file, line, column } = &self.location {
            write!(f, "{file}:{line}:{column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}\n{}", self.message, self.picture)
    }
}

impl std::error::Error for ScenarioError {}

/// The position of an item of the document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum At {
    /// The item is in these bytes of the file.
    File(Range<usize>),
    /// The item is in these bytes of the override with this index, written as `key=value`.
    Override(usize, Range<usize>),
}

/// An error in the document, before it is shown in its context.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) at: At,
    pub(super) path: String,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(at: &At, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            at: at.clone(),
            path: path.into(),
            message: message.into(),
        }
    }

    /// Returns the fault in its context.
    pub(super) fn show(
        self,
        file: &str,
        text: &str,
        overrides: &[(String, String)],
    ) -> ScenarioError {
        let (location, line, range) = match self.at {
            At::File(range) => {
                let start = floor(text, range.start);
                let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
                let line = text[line_start..].lines().next().unwrap_or_default();
                let location = Location::File {
                    file: file.to_owned(),
                    line: text[..line_start].matches('\n').count() + 1,
                    column: text[line_start..start].chars().count() + 1,
                };
                let end = range.end.max(start) - line_start;
                (location, line.to_owned(), start - line_start..end)
            }
            At::Override(index, range) => {
                let line = overrides
                    .get(index)
                    .map(|(key, value)| format!("{key}={value}"));
                (
                    Location::Override { index },
                    line.unwrap_or_default(),
                    range,
                )
            }
        };
        let label = match location {
            Location::File { line, .. } => line.to_string(),
            Location::Override { .. } => "--set".to_owned(),
        };
        ScenarioError {
            location,
            path: one_line(&self.path).into_owned(),
            message: one_line(&self.message).into_owned(),
            picture: picture(&label, &line, range),
        }
    }
}

/// Returns a three-line excerpt, with the label in the left margin and carets under the byte
/// range.
fn picture(label: &str, line: &str, range: Range<usize>) -> String {
    let (shown, mark) = excerpt(line, range);
    let margin = " ".repeat(label.len());
    let indent = " ".repeat(mark.start);
    let mark = "^".repeat(mark.len().max(1));
    format!("{margin} |\n{label} | {shown}\n{margin} | {indent}{mark}")
}

/// Returns the part of a line to show, and the characters in it that correspond to the byte
/// `range`. Tabs become spaces; characters that would disturb a terminal are escaped.
fn excerpt(line: &str, range: Range<usize>) -> (String, Range<usize>) {
    const WIDTH: usize = 100;
    let before = line[..floor(line, range.start)].chars().count();
    let within = line[..floor(line, range.end)].chars().count() - before;
    let skipped = if before + within.min(WIDTH / 2) > WIDTH {
        before - WIDTH / 4
    } else {
        0
    };
    let shown: Vec<char> = line.chars().skip(skipped).take(WIDTH).collect();
    let start = (before - skipped).min(shown.len());
    let end = (start + within).min(shown.len());
    let [before, within, after] =
        [&shown[..start], &shown[start..end], &shown[end..]].map(|part| {
            let text: String = part.iter().collect();
            one_line(&text.replace('\t', " ")).into_owned()
        });
    let start = before.chars().count();
    let end = start + within.chars().count();
    let shown = before + &within + &after;
    (shown.trim_end().to_owned(), start..end)
}

/// Returns the last character boundary at or before `index`.
fn floor(text: &str, index: usize) -> usize {
    text.floor_char_boundary(index)
}

/// Returns a text from the user in quotation marks, shortened if it is long.
pub(super) fn quote(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Returns the known name that `name` may misspell.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 100 {
        return None;
    }
    let folded = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            let lower = candidate.to_lowercase();
            (strsim::damerau_levenshtein(&folded, &lower), candidate)
        })
        .filter(|&(distance, candidate)| distance <= 1.max(candidate.chars().count() / 3))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the end of a message about an unknown name: `; did you mean …?` or, without a similar
/// name, `; expected one of …`.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    const LONGEST: usize = 16;
    if let Some(meant) = nearest(name, known.clone()) {
        return format!("; did you mean `{meant}`?");
    }
    let names: Vec<String> = known.into_iter().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => String::new(),
        1 => format!("; expected {}", names[0]),
        n if n > LONGEST => format!("; expected one of {}, …", names[..LONGEST].join(", ")),
        _ => format!("; expected one of {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found() {
        let known = ["rate", "delay", "queue", "both_ways"];
        assert_eq!(nearest("rat", known), Some("rate"));
        assert_eq!(nearest("Delay", known), Some("delay"));
        assert_eq!(nearest("qeueu", known), None);
        assert_eq!(nearest("both_way", known), Some("both_ways"));
        assert_eq!(nearest("colour", known), None);
    }

    #[test]
    fn a_long_line_is_cut_around_its_mark() {
        let line = format!("{}x = 1{}", " ".repeat(300), " ".repeat(300));
        let (shown, mark) = excerpt(&line, 300..301);
        assert_eq!(&shown[mark], "x");
        assert!(shown.len() <= 100);
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        let (shown, mark) = excerpt("\u{1b}[31mé = \tno", 7..9);
        assert_eq!(shown, "\\u001b[31mé =  no");
        assert_eq!(mark, 11..13);
    }
}
