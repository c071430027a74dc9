//! Stores parts in a directory; each file appears completely or not at all.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use whyloss_sim::output::{self, Whole, create_below, lock_file};

use super::SweepError;
use super::part::Part;
use super::rows::Rows;

/// A directory with `parts/part-….parquet` and `rows.parquet`, locked against other sweeps while
/// this value exists.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// The locked file. The lock is released when the process ends.
    _lock: File,
}

const PARTS: &str = "parts";

impl Store {
    /// Opens the store and locks it. Creates the directory if it is missing, and removes the
    /// unfinished files of killed sweeps.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, or another sweep is writing there.
    pub fn open(directory: &Path) -> Result<Self, SweepError> {
        let store = Self::locked(directory, File::try_lock)?;
        for unfinished in [directory, &directory.join(PARTS)] {
            for path in list(unfinished)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_plain = || path.symlink_metadata().is_ok_and(|there| there.is_file());
                if is_unfinished(&name) && is_plain() {
                    fs::remove_file(&path).map_err(|error| refuse(&path, error))?;
                }
            }
        }
        Ok(store)
    }

    /// Opens the store beside other processes that also join it, and creates it if it is missing.
    /// They may write at the same time, because [shares](super::Share) have no run, and therefore
    /// no file, in common.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, or a process that does not share it is
    /// writing there.
    pub fn join(directory: &Path) -> Result<Self, SweepError> {
        Self::locked(directory, File::try_lock_shared)
    }

    fn locked(
        directory: &Path,
        lock: fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Self, SweepError> {
        create_below(directory, PARTS).map_err(|error| refuse(&error.path, error.source))?;
        let path = directory.join(".lock");
        let file = lock_file(&path).map_err(|error| refuse(&path, error))?;
        match lock(&file) {
            Ok(()) => Ok(Self {
                directory: directory.to_owned(),
                _lock: file,
            }),
            Err(TryLockError::WouldBlock) => Err(SweepError::Busy(directory.to_owned())),
            Err(TryLockError::Error(error)) => Err(refuse(&path, error)),
        }
    }

    /// Reads every part and passes it to `take`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or is not a part. Sweeps leave no such file, so
    /// the user must check it.
    pub fn parts(&self, mut take: impl FnMut(&Part)) -> Result<(), SweepError> {
        for path in list(&self.directory.join(PARTS))? {
            if path
                .extension()
                .is_some_and(|extension| extension == "parquet")
            {
                let bytes = fs::read(&path).map_err(|error| refuse(&path, error))?;
                take(
                    &Part::from_parquet(bytes)
                        .map_err(|source| SweepError::of_part(&path, source))?,
                );
            }
        }
        Ok(())
    }

    /// Stores a part.
    ///
    /// # Errors
    /// Returns an error if the part cannot be written.
    pub fn put(&self, part: &Part) -> Result<(), SweepError> {
        let path = self.directory.join(PARTS).join(part.name());
        let bytes = part
            .to_parquet()
            .map_err(|source| SweepError::of_part(&path, source))?;
        write(&path, &bytes)
    }

    /// Writes all rows of a plan to `rows.parquet`, replaces an earlier file, and returns the path.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn put_rows(&self, rows: &Rows) -> Result<PathBuf, SweepError> {
        let (path, bytes) = self.rows(rows)?;
        write(&path, &bytes)?;
        Ok(path)
    }

    /// Writes all rows like [`Self::put_rows`]. If they have changed, removes the page, the figures
    /// and the tables of the earlier rows.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or another one cannot be removed.
    pub fn renew_rows(&self, rows: &Rows) -> Result<PathBuf, SweepError> {
        let (path, bytes) = self.rows(rows)?;
        if fs::read(&path).is_ok_and(|earlier| earlier == bytes) {
            return Ok(path);
        }
        output::renew(&self.directory).map_err(|error| refuse(&error.path, error.source))?;
        write(&path, &bytes)?;
        Ok(path)
    }

    fn rows(&self, rows: &Rows) -> Result<(PathBuf, Vec<u8>), SweepError> {
        let path = self.directory.join("rows.parquet");
        match rows.to_parquet() {
            Ok(bytes) => Ok((path, bytes)),
            Err(source) => Err(SweepError::of_part(&path, source)),
        }
    }
}

/// Returns whether a name is that of an incomplete file, of Whyloss (`.NAME.PROCESS.tmp`) or of its
/// Python package (`NAME.PROCESS.unfinished`). Other names may belong to the user.
fn is_unfinished(name: &str) -> bool {
    let whole = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".tmp"));
    let Some(rest) = whole.or_else(|| name.strip_suffix(".unfinished")) else {
        return false;
    };
    let Some((name, process)) = rest.rsplit_once('.') else {
        return false;
    };
    let is_made_of =
        |text: &str, is: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|b| is(&b));
    let key = name
        .strip_prefix("part-")
        .and_then(|name| name.strip_suffix(".parquet"));
    let is_ours =
        name == "rows.parquet" || key.is_some_and(|key| is_made_of(key, u8::is_ascii_hexdigit));
    is_ours && is_made_of(process, u8::is_ascii_digit)
}

/// Returns the files in a directory, in the order of their names.
fn list(directory: &Path) -> Result<Vec<PathBuf>, SweepError> {
    let entries = fs::read_dir(directory).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()
    });
    let mut paths = entries.map_err(|error| refuse(directory, error))?;
    paths.sort();
    Ok(paths)
}

/// Writes a file completely and flushes it to disk. After an error, the file does not exist.
fn write(path: &Path, bytes: &[u8]) -> Result<(), SweepError> {
    let written = Whole::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.finish_on_disk()
    });
    written.map_err(|error| refuse(path, error))
}

fn refuse(path: &Path, source: io::Error) -> SweepError {
    SweepError::File {
        path: path.to_owned(),
        source,
    }
}
