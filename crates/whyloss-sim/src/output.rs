//! The files that runs write: how they come to be, their names, and what can go wrong.
//!
//! Everything is written through [`Whole`], [`write()`] or, where it is read meanwhile,
//! [`replace_file`]: no symbolic link is followed, and a file is there whole or not at all. What a
//! run writes into its directory it [notes](note), so that the next run there can remove it.
//!
//! A link or flow gives its name to its files. Letters, digits, `-` and `_` stand for themselves;
//! `->`, which is in every default name of a link, becomes `-to-`; every other byte becomes `%` and
//! two hexadecimal digits. A name that meets an earlier one that way, or differs from it in case
//! alone (not every file system tells case apart), gets `~` and its index. So no two names share a
//! file, and none leaves its directory.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {source}", path.display())]
pub struct OutputError {
    /// The file or directory.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl OutputError {
    /// The system's error about this path.
    pub fn new(path: &Path, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// The suffix of [`Whole`] files until they are whole: `.NAME.PROCESS.tmp`.
const UNFINISHED: &str = ".tmp";

/// The list of what runs wrote into a directory, one name a line.
const WRITTEN: &str = ".whyloss-files";

/// No list of ours is longer, in bytes.
const LONGEST_LIST: u64 = 16 << 20;

/// A file that takes its name when it is whole: it is written under another name beside, and
/// renamed by [`Self::finish`]. Without that, it vanishes when it is dropped.
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
    /// Begins a file that replaces what is at `path`, if that is a file or a symbolic link.
    ///
    /// # Errors
    /// If something else is there, such as a device, or nothing can be written beside it.
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
        // A process of the same number may have left it.
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

    /// Gives the file its name.
    ///
    /// # Errors
    /// If it cannot be renamed; then it is gone.
    pub fn finish(mut self) -> io::Result<()> {
        fs::rename(&self.unfinished, &self.path)?;
        self.is_named = true;
        Ok(())
    }

    /// Has the contents on the disk, then gives the file its name.
    ///
    /// # Errors
    /// If either fails; then it is gone.
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
            // The first error is the one to tell of.
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

/// Makes a file; a link of that name is an error.
fn create_new(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Writes a file, whole or not at all; see [`Whole`].
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = Whole::create(path)?;
    file.write_all(contents)?;
    file.finish()
}

/// Opens a file to be locked, made if it is not there, and never through a symbolic link.
///
/// # Errors
/// If it cannot be opened, or is no plain file.
pub fn lock_file(path: &Path) -> io::Result<File> {
    match create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let no_file = || io::Error::other("a symbolic link, or no plain file, is there");
    let there = path.symlink_metadata()?;
    if !there.is_file() {
        return Err(no_file());
    }
    let file = File::options().write(true).open(path)?;
    // It may have been exchanged since. Nothing was written through it.
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

/// Makes a directory, and those it lies in; one that is there stays as it is.
///
/// # Errors
/// If it cannot be made.
pub fn create_directory(path: &Path) -> Result<(), OutputError> {
    fs::create_dir_all(path).map_err(|error| OutputError::new(path, error))
}

/// Makes a directory in another, or takes the one that is there, unless that is a symbolic link.
///
/// # Errors
/// If it cannot be made, or a link is there.
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

/// Tries whether something can be written into a directory.
///
/// # Errors
/// If nothing can.
pub fn probe(directory: &Path) -> Result<(), OutputError> {
    trial(directory)
        .map(drop)
        .map_err(|error| OutputError::new(directory, error))
}

/// Writes a file into a directory, removes it, and says whose it was.
fn trial(directory: &Path) -> io::Result<Metadata> {
    Whole::create(&directory.join("probe"))?.file.metadata()
}

/// Removes what earlier runs wrote into a directory.
///
/// Runs note the names of their files and directories ([`note`]). A noted directory is renewed
/// itself if it has a note of its own, and removed if that leaves it empty. A file that is not
/// noted stays. If the note belongs to another user, all files stay: it could name files that are
/// not ours.
///
/// # Errors
/// If nothing can be written there, or something cannot be removed.
pub fn renew(directory: &Path) -> Result<(), OutputError> {
    trial(directory)
        .and_then(|ours| clear(directory, &ours))
        .map_err(|error| OutputError::new(directory, error))
}

/// Whether runs write into a directory of that name without noting it.
fn is_seed(name: &str) -> bool {
    let seed = name.strip_prefix("seed-");
    seed.is_some_and(|seed| seed.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether [`renew`] of `directory` would remove `path`, or files in it.
///
/// # Errors
/// If one of the two is not there, or a list cannot be read.
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

/// Removes what is noted in a directory, and in its directories that are noted or for seeds.
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
                // Other files may keep it.
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

/// The name that an unfinished file was to have, if the process that wrote it is gone.
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

/// Notes that a run writes files of these names into a directory, for the next run to remove.
///
/// # Errors
/// If the list cannot be written.
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
        // A string takes whatever it is given.
        let _ = writeln!(text, "{name}");
    }
    write(&list, text.as_bytes()).map_err(|error| OutputError::new(&list, error))
}

/// Creates a file for writing, in place of a regular one that is there; it has its name at once,
/// for what is read while it is written. A device or pipe is opened as it is.
///
/// Follows no symbolic link, since a link in a directory that others write to could lead anywhere.
/// The new file is made aside and renamed: a link that appears meanwhile is replaced, and what it
/// leads to stays as it is.
///
/// # Errors
/// If the path is a symbolic link, or the operating system refuses.
pub fn replace_file(path: &Path) -> io::Result<File> {
    let link = || io::Error::other("it is a symbolic link, which is not followed");
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => return Err(link()),
        Ok(found) if !found.is_file() => {
            let file = File::options().write(true).open(path)?;
            // A link to a file may have taken the place since; nothing is cut or written then.
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

/// Begins a file in place of one that is there.
pub(crate) fn create_file(path: &Path) -> Result<Whole, OutputError> {
    Whole::create(path).map_err(|error| OutputError::new(path, error))
}

/// Returns the beginning of the files of each name.
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
        // A number that no process has.
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
        /// No two names share a file, also where case does not count, and every stem is a plain
        /// file name.
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
