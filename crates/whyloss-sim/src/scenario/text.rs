//! Reads the text of scenarios and plans, up to a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The size of the longest scenario or plan, in bytes.
const LONGEST: u64 = 16 << 20;

/// Reads the text of a scenario or plan.
///
/// # Errors
/// Returns an error if the text cannot be read, is not UTF-8, or is longer than 16 MiB.
pub fn read_text(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        let message = format!("it has more than {} MiB", LONGEST >> 20);
        return Err(io::Error::other(message));
    }
    Ok(text)
}

/// Reads the text of a scenario or plan from a file.
///
/// # Errors
/// Returns an error if the file cannot be opened, or the errors of [`read_text`].
pub fn read_file(path: &Path) -> io::Result<String> {
    read_text(File::open(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_end_is_refused() {
        let refused = read_text(io::repeat(0)).map_err(|error| error.to_string());
        assert_eq!(refused, Err("it has more than 16 MiB".to_owned()));
        assert_eq!(
            read_text(&b"duration"[..]).ok().as_deref(),
            Some("duration")
        );
    }
}
