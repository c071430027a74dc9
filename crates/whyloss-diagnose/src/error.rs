//! The errors of inputs that cannot be diagnosed.

use std::io;
use std::path::PathBuf;

/// Explains why an input cannot be read at all. Later damage leads to a partial result instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading the input failed.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// The input is empty.
    #[error("it is empty; expected a capture (pcap, pcapng) or a log (qlog, JSON Lines)")]
    Empty,
    /// The input is of no known kind. The error holds its first bytes.
    #[error(
        "it begins with the bytes {0:02x?}, which no known kind does; expected a capture (pcap, pcapng) or a log (qlog, \
         JSON Lines), as it is or compressed with gzip or zstd{hint}", hint = what_it_may_be(.0)
    )]
    UnknownKind(Vec<u8>),
    /// The directory holds neither the log of an emulated link nor the tables of a simulated run.
    #[error(
        "the directory has no `packets.jsonl` or `packets.parquet` (`whyloss link --log`), and no `losses` and `arrivals` as CSV \
         or Parquet (`whyloss run --trace`); of several seeds, give one of the directories in it"
    )]
    Directory,
    /// The file is one table of a simulated run; a diagnosis needs the whole directory.
    #[error("it is one table of a simulated run's trace; give the directory that it is in")]
    OneTable,
    /// A Parquet file came through a pipe, but Parquet needs a file.
    #[error(
        "it is a Parquet file, which is read from its end: give it as a file, not through a pipe"
    )]
    Piped,
    /// The file is Parquet, and this program was built without the feature `parquet`.
    #[error("it is a Parquet file, and this program was built without the feature `parquet`")]
    NoParquet,
    /// A file of a directory, or a table, cannot be read.
    #[error("`{}`: {problem}", path.display())]
    Part {
        /// The path of the file.
        path: PathBuf,
        /// The fault, in words.
        problem: String,
    },
    /// The first bytes name a kind of file, but the rest is not of this kind.
    #[error("its header says {kind}, but {problem}")]
    Header {
        /// The kind of file, in words.
        kind: &'static str,
        /// The fault, in words.
        problem: String,
    },
}

/// Recognises common files that are not captures, and says how to convert each.
fn what_it_may_be(head: &[u8]) -> &'static str {
    match head {
        [0xfd, b'7', b'z', b'X'] => "; it looks like xz: `xz -dc FILE | whyloss diagnose -`",
        [b'B', b'Z', b'h', _] => "; it looks like bzip2: `bzip2 -dc FILE | whyloss diagnose -`",
        [0x04, 0x22, 0x4d, 0x18] => "; it looks like lz4: `lz4 -dc FILE | whyloss diagnose -`",
        b"PK\x03\x04" => "; it looks like a zip archive: unpack it",
        b"snoo" => "; it looks like Solaris's snoop: `editcap -F pcap` makes a pcap of it",
        _ => "",
    }
}
