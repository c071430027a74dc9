//! The files that observers write: their names, and what can go wrong.
//!
//! A link or flow gives its name to its files. Letters, digits, `-` and `_` stand for themselves; `->`, which is in
//! every default name of a link, becomes `-to-`; every other byte becomes `%` and two hexadecimal digits. A name that
//! meets an earlier one that way, or differs from it in case alone (not every file system tells case apart), gets `~`
//! and its index. So no two names share a file, and none leaves its directory.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
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
    replace_file(path).map_err(|error| OutputError::new(path, error))
}

/// Creates a file for writing, in place of a regular one that is there. A device or pipe is opened as it is.
///
/// Follows no symbolic link, since a link in a directory that others write to could lead anywhere. The new file
/// is made aside and renamed: a link that appears meanwhile is replaced, and what it leads to stays as it is.
///
/// # Errors
/// If the path is a symbolic link, or the operating system refuses.
pub fn replace_file(path: &Path) -> io::Result<File> {
    let link = || io::Error::other("it is a symbolic link, which is not followed");
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => return Err(link()),
        Ok(found) if !found.is_file() => {
            let file = OpenOptions::new().write(true).open(path)?;
            // A link to a file may have taken the place since; nothing is cut or written then.
            return if file.metadata()?.is_file() {
                Err(link())
            } else {
                Ok(file)
            };
        }
        _ => {}
    }
    let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    // One of a process that was killed here, with the same number; it may be a link, and goes as one.
    let _ = fs::remove_file(&aside);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&aside)?;
    match fs::rename(&aside, path) {
        Ok(()) => Ok(file),
        Err(error) => {
            // The first error is the one to tell of.
            let _ = fs::remove_file(&aside);
            Err(error)
        }
    }
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
    #[cfg(unix)]
    fn links_are_not_followed() {
        let dir = std::env::temp_dir().join(format!("whyloss-create-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (kept, link, file) = (dir.join("kept"), dir.join("link"), dir.join("file"));
        fs::write(&kept, "kept").unwrap();
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&kept, &link).unwrap();
        assert!(
            replace_file(&link)
                .unwrap_err()
                .to_string()
                .contains("symbolic link")
        );
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
        for text in ["first", "2"] {
            io::Write::write_all(&mut replace_file(&file).unwrap(), text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert!(replace_file(&dir).is_err());
        assert!(replace_file(Path::new("/dev/null")).is_ok());
        assert!(replace_file(&dir.join("none/file")).is_err());
        assert_eq!(
            fs::read_dir(&dir).unwrap().count(),
            3,
            "nothing is left aside"
        );
        fs::remove_dir_all(&dir).unwrap();
    }

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
