//! The files that observers write: their names, and what can go wrong.
//!
//! A link or flow gives its name to its files. Letters, digits, `-` and `_` stand for themselves; `->`, which is in
//! every default name of a link, becomes `-to-`; every other byte becomes `%` and two hexadecimal digits. A name that
//! meets an earlier one that way, or differs from it in case alone (not every file system tells case apart), gets `~`
//! and its index. So no two names share a file, and none leaves its directory.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct OutputError {
    /// The file or directory.
    pub path: PathBuf,
    /// What the operating system says.
    pub source: io::Error,
}

impl OutputError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// Makes a directory, and those it lies in; one that is there stays as it is.
pub(crate) fn create_directory(path: &Path) -> Result<(), OutputError> {
    fs::create_dir_all(path).map_err(|error| OutputError::new(path, error))
}

/// Opens a file for writing, in place of one that is there.
pub(crate) fn create_file(path: &Path) -> Result<File, OutputError> {
    File::create(path).map_err(|error| OutputError::new(path, error))
}

/// What the files of each name begin with.
pub(crate) fn file_stems<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let stem_of = |(index, name)| {
        let mut stem = escape(name);
        if stem.is_empty() || taken.contains(&stem.to_ascii_lowercase()) {
            stem = format!("{stem}~{index}");
        }
        taken.insert(stem.to_ascii_lowercase());
        stem
    };
    names.into_iter().enumerate().map(stem_of).collect()
}

fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.replace("->", "-to-").bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // A string takes whatever it is given.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stems_by_hand() {
        let names = [
            "tcp 1", "R1->R2", "R1-to-R2", "r1->r2", "../é", "", "~1", "tcp%201",
        ];
        let stems = [
            "tcp%201",
            "R1-to-R2",
            "R1-to-R2~2",
            "r1-to-r2~3",
            "%2E%2E%2F%C3%A9",
            "~5",
            "%7E1",
            "tcp%25201",
        ];
        assert_eq!(file_stems(names), stems);
    }

    proptest! {
        /// No two names share a file, also where case does not count, and every stem is a plain file name.
        #[test]
        fn stems_differ(names in prop::collection::vec("[aA>.~%/ -]{0,4}", 0..12)) {
            let stems = file_stems(names.iter().map(String::as_str));
            let distinct: BTreeSet<_> = stems.iter().map(|stem| stem.to_lowercase()).collect();
            prop_assert_eq!(distinct.len(), names.len());
            for stem in &stems {
                prop_assert!(!stem.is_empty() && !stem.contains(['/', '.', '>', ' ']));
            }
        }
    }
}
