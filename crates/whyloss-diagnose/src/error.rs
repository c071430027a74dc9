//! Errors of inputs.

use std::io;
use std::path::PathBuf;

/// Why an input could not be read at all. Damage further in leaves a partial result instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("it is empty; expected a capture (pcap, pcapng) or a log (qlog, JSON Lines)")]
    Empty,
    /// It is of no kind that is known.
    #[error(
        "it begins with the bytes {0:02x?}, which no known kind does; expected a capture (pcap, pcapng) or a log (qlog, \
         JSON Lines), as it is or compressed with gzip or zstd{hint}", hint = what_it_may_be(.0)
    )]
    UnknownKind(Vec<u8>),
    /// It is a directory of none of the kinds that are known.
    #[error(
        "the directory has no `packets.jsonl` or `packets.parquet` (`whyloss link --log`), and no `losses` and `arrivals` as CSV \
         or Parquet (`whyloss run --trace`); of several seeds, give one of the directories in it"
    )]
    Directory,
    /// It is one table of several that belong together.
    #[error("it is one table of a simulated run's trace; give the directory that it is in")]
    OneTable,
    /// It needs what a pipe cannot do.
    #[error(
        "it is a Parquet file, which is read from its end: give it as a file, not through a pipe"
    )]
    Piped,
    /// This program was built without what reads it.
    #[error("it is a Parquet file, and this program was built without the feature `parquet`")]
    NoParquet,
    /// A file of several that belong together.
    #[error("`{}`: {problem}", path.display())]
    Part {
        /// The file.
        path: PathBuf,
        /// The mistake.
        problem: String,
    },
    /// Its first bytes say what it is, what follows them is not that.
    #[error("its header says {kind}, but {problem}")]
    Header {
        /// The kind of file.
        kind: &'static str,
        /// The mistake.
        problem: String,
    },
}

/// Recognises common files that are no captures, and says how to use each.
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
