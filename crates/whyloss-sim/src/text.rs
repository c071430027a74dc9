//! Escapes text from files and arguments before it reaches a terminal or a spreadsheet.
//!
//! | function | escapes | for |
//! |---|---|---|
//! | [`printable`] | characters that control a terminal or the reading order | texts of several lines |
//! | [`one_line`] | tabs and line ends as well | names and cells of tables |
//! | [`Printable`] | the same as [`printable`] | everything that a command prints |
//! | [`defused`] | fields that a spreadsheet would read as a formula | fields of CSV |
//!
//! An escape is `\u` and four hexadecimal digits: JSON reads it back as the same character, so
//! escaped JSON keeps its meaning.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Escapes control characters (C0, DEL, C1) and marks that change the reading order, except tabs
/// and line ends.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

/// Escapes the characters of [`printable`], tabs and line ends, so that a name cannot imitate
/// another line or column.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// Returns whether a character controls a terminal, or the reading order of others (UAX 9).
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            // Writing to a string cannot fail. All such characters have at most four digits.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Puts an apostrophe before a field that a spreadsheet would read as a formula. Such a field
/// begins with `=`, `+`, `-`, `@`, a tab or a carriage return, and is not a number.
pub fn defused(field: &str) -> Cow<'_, str> {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula && field.parse::<f64>().is_err() {
        Cow::Owned(format!("'{field}"))
    } else {
        Cow::Borrowed(field)
    }
}

/// Writes text in [`printable`] form, so that no control sequence reaches a terminal. Bytes that
/// are not UTF-8 become `�`.
#[derive(Debug)]
pub struct Printable<W> {
    to: W,
    /// The first bytes of a character whose other bytes have not been written yet.
    begun: Vec<u8>,
}

impl<W: Write> Printable<W> {
    /// Returns a writer that escapes text on its way to `to`.
    pub fn new(to: W) -> Self {
        Self {
            to,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.begun.is_empty()
            && let Ok(text) = str::from_utf8(bytes)
        {
            return self.to.write_all(printable(text).as_bytes());
        }
        let mut bytes = [std::mem::take(&mut self.begun), bytes.to_vec()].concat();
        if let Err(error) = str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            self.begun = bytes.split_off(error.valid_up_to());
        }
        let text = String::from_utf8_lossy(&bytes);
        self.to.write_all(printable(&text).as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        assert_eq!(
            printable("\u{1b}[31mred\u{7}\nrest"),
            "\\u001b[31mred\\u0007\nrest"
        );
        assert_eq!(printable("\u{9b}2J\u{7f}"), "\\u009b2J\\u007f");
        assert_eq!(printable("a\u{202e}b é ±"), "a\\u202eb é ±");
        assert_eq!(printable("a\tb"), "a\tb");
        assert_eq!(one_line("a\n\tb\u{61c}"), "a\\u000a\\u0009b\\u061c");
        assert!(matches!(printable("plain → ✓"), Cow::Borrowed(_)));
    }

    #[test]
    fn formulas_are_defused() {
        for formula in ["=1+1", "+cmd|x", "-a", "@sum", "\t=1", "\r=1", "-"] {
            assert_eq!(defused(formula), format!("'{formula}"));
        }
        for harmless in ["-1.5", "+2", "-1e-9", "r1->r2", "a=b", "", "−5"] {
            assert_eq!(defused(harmless), harmless);
        }
    }

    #[test]
    fn characters_may_come_in_pieces() {
        let mut out = Printable::new(Vec::new());
        for byte in "é\u{9b}✓\u{1b}".bytes() {
            out.write_all(&[byte]).expect("memory");
        }
        out.write_all(b"\x9b\xffz").expect("memory");
        assert_eq!(
            String::from_utf8(out.to).expect("text"),
            "é\\u009b✓\\u001b��z"
        );
    }

    proptest! {
        /// For any input in any pieces, no control character is printed; escaping twice changes
        /// nothing.
        #[test]
        fn nothing_that_steers_passes(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9)) {
            let mut out = Printable::new(Vec::new());
            for piece in &pieces {
                out.write_all(piece).expect("memory");
            }
            let text = String::from_utf8(out.to).expect("text");
            prop_assert!(!text.contains(|c| steers(c) && !matches!(c, '\n' | '\t')));
            let once = one_line(&text);
            prop_assert_eq!(&one_line(&once), &once);
        }
    }
}
