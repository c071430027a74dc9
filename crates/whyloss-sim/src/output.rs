//! Writes the files of runs: creates them safely, chooses their names, and reports errors.
//!
//! All files are written through [`Whole`], [`write()`] or, for files that are read while they are
//! written, [`replace_file`]. These follow no symbolic link, and `Whole` and `write()` leave no
//! partial file. A run [notes](note) its files in their directory, so that the next run there can
//! remove them.
//!
//! Files are named after their link or flow. Letters, digits, `-` and `_` stay as they are; `->`,
//! which is in every default name of a link, becomes `-to-`. Every other byte becomes `%` and two
//! hexadecimal digits. A name that would collide with an earlier one, or differs from it only in
//! case, gets `~` and its index. Therefore no two names share a file, and no file leaves its
//! directory.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Explains why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {source}", path.display())]
pub struct OutputError {
    /// The path of the file or directory.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

impl OutputError {
    /// Combines a path and the error of the operating system.
    pub fn new(path: &Path, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// The suffix of [`Whole`] files until they are complete: `.NAME.PROCESS.tmp`.
const UNFINISHED: &str = ".tmp";

/// The list of files that runs wrote into a directory, one name per line.
const WRITTEN: &str = ".whyloss-files";

/// The maximum size of the list, in bytes. Whyloss never writes a longer one.
const LONGEST_LIST: u64 = 16 << 20;

/// A file that gets its name when it is complete. It is written under a temporary name in the same
/// directory and renamed by [`Self::finish`]. If it is dropped earlier, it is removed.
///
/// A symbolic link at either name is never followed: the other name must be new, and a rename
/// replaces a link itself.
#[derive(Debug)]
pub struct Whole {
    file: File,
    path: PathBuf,
    unfinished: PathBuf,
    is_named: bool,
}

impl Whole {
    /// Begins a file that will replace the file or symbolic link at `path`, if there is one.
    ///
    /// # Errors
    /// Returns an error if `path` is something else, such as a device, or its directory is not
    /// writable.
    pub fn create(path: &Path) -> io::Result<Self> {
        if let Ok(there) = path.symlink_metadata()
            && !there.is_file()
            && !there.is_symlink()
        {
            return Err(io::Error::other("something is there that is no plain file"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unfinished = format!(".{name}.{}{UNFINISHED}", std::process::id());
        let unfinished = path.with_file_name(unfinished);
        // An earlier process with the same id may have left the file.
        let file = create_new(&unfinished).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                fs::remove_file(&unfinished)?;
                create_new(&unfinished)
            }
            _ => Err(error),
        })?;
        Ok(Self {
            file,
            path: path.to_owned(),
            unfinished,
            is_named: false,
        })
    }

    /// Renames the complete file to its final name.
    ///
    /// # Errors
    /// Returns an error if the file cannot be renamed; then it is removed.
    pub fn finish(mut self) -> io::Result<()> {
        fs::rename(&self.unfinished, &self.path)?;
        self.is_named = true;
        Ok(())
    }

    /// Writes the contents to the disk (`fsync`), then renames the file to its final name.
    ///
    /// # Errors
    /// Returns an error if either step fails; then the file is removed.
    pub fn finish_on_disk(self) -> io::Result<()> {
        self.file.sync_all()?;
        let directory = match self.path.parent() {
            Some(directory) if directory != Path::new("") => directory.to_owned(),
            _ => PathBuf::from("."),
        };
        self.finish()?;
        File::open(directory)?.sync_all()
    }
}

impl io::Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if !self.is_named {
            // Only the first error is reported.
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

/// Creates a file; an existing file or link of that name is an error.
fn create_new(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Writes a complete file or none; see [`Whole`].
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = Whole::create(path)?;
    file.write_all(contents)?;
    file.finish()
}

/// Opens a file for locking and creates it if it is missing. Follows no symbolic link.
///
/// It is readable as well, because NFS refuses a shared lock otherwise.
///
/// # Errors
/// Returns an error if the file cannot be opened or is not a regular file.
pub fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let no_file = || io::Error::other("a symbolic link, or no plain file, is there");
    let there = path.symlink_metadata()?;
    if !there.is_file() {
        return Err(no_file());
    }
    let file = options.open(path)?;
    // The file may have been replaced since the check. Nothing has been written to it.
    if same(&file.metadata()?, &there) {
        Ok(file)
    } else {
        Err(no_file())
    }
}

#[cfg(unix)]
fn same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len() && a.is_file() && b.is_file()
}

#[cfg(unix)]
fn same_owner(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    a.uid() == b.uid()
}

#[cfg(not(unix))]
fn same_owner(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Creates a directory and its parents. An existing directory stays as it is.
///
/// # Errors
/// Returns an error if a directory cannot be created.
pub fn create_directory(path: &Path) -> Result<(), OutputError> {
    fs::create_dir_all(path).map_err(|error| OutputError::new(path, error))
}

/// Creates the directory `name` in `directory` and returns its path. An existing directory is used
/// unless it is a symbolic link.
///
/// # Errors
/// Returns an error if the directory cannot be created or is a symbolic link.
pub fn create_below(directory: &Path, name: &str) -> Result<PathBuf, OutputError> {
    let path = directory.join(name);
    create_directory(directory)?;
    let made = match fs::create_dir(&path) {
        Err(_) if path.symlink_metadata().is_ok_and(|there| there.is_dir()) => Ok(()),
        made => made,
    };
    made.map_err(|error| OutputError::new(&path, error))?;
    Ok(path)
}

/// Checks that files can be written into a directory.
///
/// # Errors
/// Returns an error if no file can be written into it.
pub fn probe(directory: &Path) -> Result<(), OutputError> {
    trial(directory)
        .map(drop)
        .map_err(|error| OutputError::new(directory, error))
}

/// Writes a file into a directory and removes it. Returns its metadata, which show its owner.
fn trial(directory: &Path) -> io::Result<Metadata> {
    Whole::create(&directory.join("probe"))?.file.metadata()
}

/// Removes the files that earlier runs wrote into a directory.
///
/// Runs note the names of their files and directories ([`note`]). A noted directory that has a note
/// is also renewed, and removed if it is then empty. Files that are not noted stay. If the note
/// belongs to another user, all files stay, because the note could name files that are not ours.
///
/// # Errors
/// Returns an error if the directory is not writable, or a file cannot be removed.
pub fn renew(directory: &Path) -> Result<(), OutputError> {
    trial(directory)
        .and_then(|ours| clear(directory, &ours))
        .map_err(|error| OutputError::new(directory, error))
}

/// Returns whether runs write into a directory with this name without noting it.
fn is_seed(name: &str) -> bool {
    let seed = name.strip_prefix("seed-");
    seed.is_some_and(|seed| seed.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether [`renew`] of `directory` would remove `path`, or files in it.
///
/// # Errors
/// Returns an error if `directory` or `path` does not exist, or a note cannot be read.
pub fn is_noted(directory: &Path, path: &Path) -> io::Result<bool> {
    let (mut at, path) = (directory.canonicalize()?, path.canonicalize()?);
    let Ok(below) = path.strip_prefix(&at) else {
        return Ok(false);
    };
    for name in below {
        let noted = noted(&at.join(WRITTEN))?;
        let is_noted = |name: &str| is_seed(name) || noted.contains(name);
        if !name.to_str().is_some_and(is_noted) {
            return Ok(false);
        }
        at.push(name);
    }
    Ok(at.is_file() || at.join(WRITTEN).is_file())
}

/// Removes the noted files in a directory and in its directories that are noted or for seeds.
fn clear(directory: &Path, ours: &Metadata) -> io::Result<()> {
    let list = directory.join(WRITTEN);
    let is_ours = |list: &Path| {
        let there = list.symlink_metadata();
        there.is_ok_and(|there| there.is_file() && same_owner(&there, ours))
    };
    let noted = if is_ours(&list) {
        noted(&list)?
    } else {
        BTreeSet::new()
    };
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let Some(name) = name.to_str() else { continue };
        if kind.is_dir() {
            if (is_seed(name) || noted.contains(name)) && is_ours(&entry.path().join(WRITTEN)) {
                clear(&entry.path(), ours)?;
                // Fails if the directory has other files.
                let _ = fs::remove_dir(entry.path());
            }
        } else if noted.contains(name) || unfinished(name).is_some_and(|name| noted.contains(name))
        {
            fs::remove_file(entry.path())?;
        }
    }
    if noted.is_empty() {
        return Ok(());
    }
    fs::remove_file(list)
}

/// Returns the final name of an unfinished file, if the process that wrote it has ended.
fn unfinished(name: &str) -> Option<&str> {
    let rest = name.strip_prefix('.')?.strip_suffix(UNFINISHED)?;
    let (name, process) = rest.rsplit_once('.')?;
    let process = Path::new("/proc").join(process.parse::<u32>().ok()?.to_string());
    (cfg!(target_os = "linux") && !process.exists()).then_some(name)
}

fn noted(list: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = String::new();
    match File::open(list) {
        Ok(file) => file.take(LONGEST_LIST).read_to_string(&mut names).map(drop),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }?;
    let plain = |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains(['/', '\\']);
    Ok(names.lines().filter(plain).map(str::to_owned).collect())
}

/// Notes the names of the files that a run writes into a directory, so that the next run can remove
/// them.
///
/// # Errors
/// Returns an error if the note cannot be written.
pub fn note<'a>(
    directory: &Path,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), OutputError> {
    let list = directory.join(WRITTEN);
    let is_list = list.symlink_metadata().is_ok_and(|there| there.is_file());
    let before = if is_list {
        noted(&list)
    } else {
        Ok(BTreeSet::new())
    };
    let mut all = before.map_err(|error| OutputError::new(&list, error))?;
    let known = all.len();
    all.extend(names.into_iter().map(str::to_owned));
    if all.len() == known {
        return Ok(());
    }
    let mut text = String::new();
    for name in &all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}");
    }
    write(&list, text.as_bytes()).map_err(|error| OutputError::new(&list, error))
}

/// Creates a file for writing and replaces a regular file of that name. Other programs can read the
/// file while it is written. Opens a device or a pipe without replacing it.
///
/// Never follows a symbolic link, because a link in a shared directory could lead anywhere. Renames
/// a new file to the name: this replaces a link that appears after the check, not the link's
/// target.
///
/// # Errors
/// Returns an error if the path is a symbolic link, or the error of the operating system.
pub fn replace_file(path: &Path) -> io::Result<File> {
    let link = || io::Error::other("it is a symbolic link, which is not followed");
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => return Err(link()),
        Ok(found) if !found.is_file() => {
            let file = File::options().write(true).open(path)?;
            // A symbolic link to a file may have replaced the path since the check. The file is
            // neither truncated nor written.
            return if file.metadata()?.is_file() {
                Err(link())
            } else {
                Ok(file)
            };
        }
        _ => {}
    }
    let whole = Whole::create(path)?;
    let file = whole.file.try_clone()?;
    whole.finish()?;
    Ok(file)
}

/// Begins a file that replaces an existing one.
pub(crate) fn create_file(path: &Path) -> Result<Whole, OutputError> {
    Whole::create(path).map_err(|error| OutputError::new(path, error))
}

/// Returns the stem of the file names for each of these names.
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
            // Writing to a string cannot fail.
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

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn a_file_is_whole_or_not_there() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        write(&path, b"before").expect("room");
        let mut file = Whole::create(&path).expect("room");
        file.write_all(b"af").expect("room");
        assert_eq!(read(&path), "before");
        drop(file);
        assert_eq!(fs::read_dir(directory.path()).expect("it").count(), 1);
        write(&path, b"after").expect("room");
        assert_eq!(read(&path), "after");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_replaced_and_never_followed() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().expect("a directory");
        let (path, other) = (directory.path().join("a"), directory.path().join("other"));
        fs::write(&other, "precious").expect("room");
        symlink(&other, &path).expect("a link");
        let unfinished = format!(".a.{}.tmp", std::process::id());
        symlink(&other, directory.path().join(unfinished)).expect("a link");
        write(&path, b"ours").expect("room");
        assert_eq!(
            (read(&path), read(&other)),
            ("ours".into(), "precious".into())
        );

        let lock = directory.path().join(".lock");
        symlink(&other, &lock).expect("a link");
        lock_file(&lock).expect_err("a link");
        fs::remove_file(&lock).expect("the link");
        lock_file(&lock).expect("a new file");
        lock_file(&lock).expect("the same file");

        let below = directory.path().join("seed-1");
        symlink("/", &below).expect("a link");
        create_below(directory.path(), "seed-1").expect_err("a link");
        assert!(Whole::create(Path::new("/dev/null")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn only_plain_files_and_devices_are_replaced() {
        let scratch = tempfile::tempdir().expect("a directory");
        let [kept, link, file] = ["kept", "link", "file"].map(|name| scratch.path().join(name));
        fs::write(&kept, "kept").expect("room");
        std::os::unix::fs::symlink(&kept, &link).expect("a link");
        let error = replace_file(&link).expect_err("a link").to_string();
        assert!(error.contains("symbolic link"), "{error}");
        assert_eq!(read(&kept), "kept");
        for text in ["first", "2"] {
            let mut replaced = replace_file(&file).expect("a file");
            replaced.write_all(text.as_bytes()).expect("room");
            assert_eq!(read(&file), text);
        }
        replace_file(scratch.path()).expect_err("a directory");
        replace_file(Path::new("/dev/null")).expect("a device");
        replace_file(&scratch.path().join("none/file")).expect_err("no directory");
        let left = fs::read_dir(scratch.path()).expect("it").count();
        assert_eq!(left, 3, "nothing is left aside");
    }

    #[test]
    fn a_second_run_removes_what_the_first_wrote_and_nothing_else() {
        let scratch = tempfile::tempdir().expect("a directory");
        let directory = &scratch.path().join("new/below");
        create_directory(directory).expect("room");
        probe(directory).expect("room");
        let seed = create_below(directory, "seed-7").expect("room");
        let below = create_below(directory, "a.pcap").expect("room");
        let other = create_below(directory, "theirs").expect("room");
        note(directory, ["a.pcap"]).expect("room");
        for (directory, name) in [
            (directory, "a.svg"),
            (directory, "b.svg"),
            (&seed, "c.csv"),
            (&below, "d.csv"),
            (&other, "e.csv"),
        ] {
            note(directory, [name]).expect("room");
            write(&directory.join(name), b"x").expect("room");
        }
        fs::write(directory.join("theirs.svg"), "x").expect("room");
        // A process id that no process has.
        let left = format!(".a.svg.{}.tmp", u32::MAX);
        fs::write(directory.join(&left), "x").expect("room");
        fs::write(scratch.path().join("new/up"), "x").expect("room");
        note(directory, ["../up"]).expect("room");
        let is_noted = |path: &Path| is_noted(directory, path).expect("both");
        for path in [&directory.join("a.svg"), directory, &seed, &below] {
            assert!(is_noted(path), "{}", path.display());
        }
        for path in ["theirs", "theirs/e.csv", "theirs.svg", "../up"] {
            assert!(!is_noted(&directory.join(path)), "{path}");
        }
        renew(directory).expect("room");
        assert!(other.join("e.csv").is_file());
        let names = fs::read_dir(directory).expect("it");
        let names: BTreeSet<_> = names
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        let left = (!cfg!(target_os = "linux")).then_some(left);
        let stays = ["theirs".to_owned(), "theirs.svg".to_owned()];
        let stays = left.into_iter().chain(stays);
        assert_eq!(names, stays.map(Into::into).collect());
        assert!(scratch.path().join("new/up").is_file());
    }

    proptest! {
        /// No two names share a file, even on a file system that ignores case, and every stem is a
        /// plain file name.
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
