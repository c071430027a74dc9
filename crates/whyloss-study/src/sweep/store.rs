//! A directory of parts, each written whole or not at all.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::SweepError;
use super::part::Part;
use super::rows::Rows;

/// A directory with `parts/part-….parquet` and `rows.parquet`, held against other sweeps as long as this lives.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Locked; the lock goes with the process, however that ends.
    _lock: File,
}

const PARTS: &str = "parts";
/// What names of files that are not whole yet end with.
const UNFINISHED: &str = ".unfinished";

impl Store {
    /// Makes the directory, if it is not there, and clears away what was not finished.
    ///
    /// # Errors
    /// If it cannot be made, or another sweep is writing there.
    pub fn open(directory: &Path) -> Result<Self, SweepError> {
        let parts = directory.join(PARTS);
        fs::create_dir_all(&parts).map_err(|error| refuse(&parts, error))?;
        let path = directory.join(".lock");
        let lock = File::create(&path).map_err(|error| refuse(&path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SweepError::Busy(directory.to_owned())),
            Err(TryLockError::Error(error)) => return Err(refuse(&path, error)),
        }
        let store = Self {
            directory: directory.to_owned(),
            _lock: lock,
        };
        for unfinished in [directory, &parts] {
            for path in list(unfinished)? {
                if path.to_string_lossy().ends_with(UNFINISHED) {
                    fs::remove_file(&path).map_err(|error| refuse(&path, error))?;
                }
            }
        }
        Ok(store)
    }

    /// Reads every part, and hands it to `take`.
    ///
    /// # Errors
    /// If one cannot be read, or is none: nothing of ours leaves such a file, so that is for people to look at.
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

    /// Keeps a part.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&self, part: &Part) -> Result<(), SweepError> {
        let path = self.directory.join(PARTS).join(part.name());
        let bytes = part
            .to_parquet()
            .map_err(|source| SweepError::of_part(&path, source))?;
        write(&path, &bytes)
    }

    /// Writes all rows of a plan as `rows.parquet`, in place of what is there, and says where.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_rows(&self, rows: &Rows) -> Result<PathBuf, SweepError> {
        let path = self.directory.join("rows.parquet");
        let bytes = rows
            .to_parquet()
            .map_err(|source| SweepError::of_part(&path, source))?;
        write(&path, &bytes)?;
        Ok(path)
    }
}

/// The files in a directory, in the order of their names.
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

/// Writes a file under another name, has it on the disk, and gives it its own: it is there whole, or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), SweepError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(UNFINISHED);
    let unfinished = PathBuf::from(unfinished);
    let written = File::create(&unfinished)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&unfinished, path))
        .and_then(|()| {
            path.parent()
                .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
        });
    written.map_err(|error| {
        // It takes room that somebody may need.
        let _ = fs::remove_file(&unfinished);
        refuse(path, error)
    })
}

fn refuse(path: &Path, source: io::Error) -> SweepError {
    SweepError::File {
        path: path.to_owned(),
        source,
    }
}
