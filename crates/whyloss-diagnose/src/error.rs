//! What can be wrong with an input.

use std::io;

/// Why an input could not be read at all. What is damaged further in leaves a partial result instead.
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
         JSON Lines), as it is or compressed with gzip or zstd"
    )]
    UnknownKind(Vec<u8>),
    /// Its first bytes say what it is, what follows them is not that.
    #[error("its header says {kind}, but {problem}")]
    Header {
        /// The kind of file.
        kind: &'static str,
        /// What is wrong.
        problem: String,
    },
}
