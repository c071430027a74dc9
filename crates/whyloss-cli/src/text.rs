//! Text that comes from files and arguments, on its way to a terminal.

/// The text with `�` for what would steer a terminal or turn the reading order: control characters but the end of a line,
/// and Unicode's overrides of direction.
pub(crate) fn printable(text: &str) -> String {
    let steers = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(steers, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("\u{1b}[31mred\u{7}\nrest"), "�[31mred�\nrest");
        assert_eq!(printable("a\u{202e}b é ±"), "a�b é ±");
    }
}
