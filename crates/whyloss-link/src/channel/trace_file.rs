//! Reads and writes error patterns as text.
//!
//! ```text
//! # anything after a hash is a comment
//! 0001 0000 1100      # 0 is a good packet, 1 a lost one; spaces and tabs only help the eye
//! 000000000001        # a trial may take several lines
//!
//! 0000000000000000    # the second trial, after a blank line
//! ```
//!
//! Lines end in `\n` or `\r\n`. A blank line (nothing, or only spaces and tabs) ends a trial; a
//! line with nothing but a comment does not. Several blank lines count as one.

use core::fmt::{self, Write as _};

use thiserror::Error;

use super::{ChannelError, ErrorPattern};

/// The largest text that [`parse`] reads, in bytes: over a hundred times the size of the paper's
/// recordings, three levels of 100 trials of 590 packets.
pub const MAX_BYTES: usize = 1 << 26;

/// Explains why a text is not an error pattern.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TraceFileError {
    /// The text contains an unexpected character.
    #[error(
        "line {line}, column {column}: found {found}; expected 0 (good), 1 (lost), a space, # (comment) or the end of the line"
    )]
    Unexpected {
        /// The line, counted from 1.
        line: usize,
        /// The byte in the line, counted from 1.
        column: usize,
        /// The unexpected character.
        found: Found,
    },
    /// The text contains no packet.
    #[error("found no packet; expected at least one 0 (good) or 1 (lost)")]
    NoPacket,
    /// The text is longer than [`MAX_BYTES`].
    #[error("the text has {bytes} bytes; at most {MAX_BYTES} are read")]
    TooLong {
        /// The length of the text in bytes.
        bytes: usize,
    },
}

/// Shows an unexpected byte of a file in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found(pub u8);

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            printable @ b'!'..=b'~' => write!(f, "'{}'", printable as char),
            other => write!(f, "byte 0x{other:02x}"),
        }
    }
}

/// Reads an error pattern from text.
///
/// # Errors
/// Returns a [`TraceFileError`] for an unexpected character, with its position. Texts without a
/// packet, or longer than [`MAX_BYTES`], are also errors.
pub fn parse(text: &[u8]) -> Result<ErrorPattern, TraceFileError> {
    if text.len() > MAX_BYTES {
        return Err(TraceFileError::TooLong { bytes: text.len() });
    }
    let mut trials: Vec<Vec<bool>> = Vec::new();
    let mut in_trial = false;
    for (line, content) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let code = content
            .split(|&byte| byte == b'#')
            .next()
            .unwrap_or(content);
        if content.iter().all(|byte| b" \t".contains(byte)) {
            in_trial = false;
            continue;
        }
        for (column, &byte) in (1..).zip(code) {
            let lost = match byte {
                b'0' => false,
                b'1' => true,
                b' ' | b'\t' => continue,
                _ => {
                    return Err(TraceFileError::Unexpected {
                        line,
                        column,
                        found: Found(byte),
                    });
                }
            };
            match trials.last_mut() {
                Some(trial) if in_trial => trial.push(lost),
                _ => trials.push(vec![lost]),
            }
            in_trial = true;
        }
    }
    // No trial is empty here, so only this error is possible.
    ErrorPattern::new(trials).map_err(|_: ChannelError| TraceFileError::NoPacket)
}

/// Returns the pattern as text that [`parse`] reads back, with 80 packets per line.
pub fn to_text(pattern: &ErrorPattern) -> String {
    let mut text = String::new();
    for (i, trial) in pattern.trials().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        let mut column = 0;
        for lost in trial {
            if column == 80 {
                text.push('\n');
                column = 0;
            }
            // Writing to a string cannot fail.
            let _ = write!(text, "{}", u8::from(lost));
            column += 1;
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trials(text: &str) -> Vec<Vec<bool>> {
        let pattern = parse(text.as_bytes()).unwrap();
        pattern.trials().map(Iterator::collect).collect()
    }

    #[test]
    fn the_format_is_as_documented() {
        let text = "# a recording\r\n01 0\t1 # four\n# not the end of a trial\n1\n \t\n\n\n001";
        assert_eq!(
            trials(text),
            [
                vec![false, true, false, true, true],
                vec![false, false, true]
            ]
        );
    }

    #[test]
    fn errors_say_where_and_what() {
        let error = parse(b"0101\n01x1\n").unwrap_err();
        assert_eq!(
            error,
            TraceFileError::Unexpected {
                line: 2,
                column: 3,
                found: Found(b'x')
            }
        );
        assert!(
            error
                .to_string()
                .starts_with("line 2, column 3: found 'x'; expected 0 (good)")
        );
        assert!(
            parse(b"\xff")
                .unwrap_err()
                .to_string()
                .contains("byte 0xff")
        );
        assert_eq!(parse(b""), Err(TraceFileError::NoPacket));
        assert_eq!(parse(b"# 01\n\n"), Err(TraceFileError::NoPacket));
        let long = vec![b'\n'; MAX_BYTES + 1];
        assert!(matches!(parse(&long), Err(TraceFileError::TooLong { .. })));
    }

    proptest! {
        #[test]
        fn never_panics(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&text);
        }

        #[test]
        fn never_panics_on_what_looks_right(text in "[01# \t\r\nx]{0,300}") {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn written_patterns_are_read_back(
            trials in proptest::collection::vec(proptest::collection::vec(any::<bool>(), 1..200), 1..6),
        ) {
            let pattern = ErrorPattern::new(trials).unwrap();
            prop_assert_eq!(parse(to_text(&pattern).as_bytes()), Ok(pattern));
        }
    }
}
