//! Opens files and pipes as streams of packets or log records, and decompresses them.
//!
//! The first bytes decide the kind, never the name, so pipes work like files. Compressed input may
//! be compressed again (a `.gz` inside a `.zst`), up to three layers deep.

mod bytes;
mod capture;
pub(crate) mod json;
pub(crate) mod limited;
mod old;

pub use capture::{Capture, Frame, Stop};

use std::io::{self, BufReader, Cursor, Read};

use self::old::Old;
use crate::error::Error;

/// The maximum number of nested compressions.
const LAYERS: usize = 3;
/// The largest window of zstd in bytes, as with its option `--long`. The window is kept in memory,
/// so larger windows are rejected.
const WINDOW: u64 = 1 << 27;

/// An open input, by its kind.
pub enum Input {
    /// A capture: pcap or pcapng.
    Capture(Capture<Box<dyn Read>>),
    /// A log in JSON: qlog, or one record per line.
    Json(Box<dyn Read>),
}

/// Determines the kind of input from the first bytes of `reader`, and opens it.
///
/// # Errors
/// Returns an error if nothing can be read, or the first bytes are of no known kind.
pub fn open(reader: Box<dyn Read>) -> Result<Input, Error> {
    let mut reader = reader;
    let mut compressed = None;
    for _ in 0..=LAYERS {
        let (head, whole) = peek(reader).map_err(|error| match (compressed, error) {
            (Some(kind), Error::Io(_)) => Error::Header {
                kind,
                problem: "nothing can be decompressed: it is damaged, or ends too early".to_owned(),
            },
            (_, error) => error,
        })?;
        match head.as_slice() {
            [] => return Err(Error::Empty),
            [0x1f, 0x8b, ..] => {
                reader = Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(whole)));
                compressed = Some("gzip");
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                reader = Box::new(Zstd::new(whole)?);
                compressed = Some("zstd");
            }
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => return Capture::pcapng(whole).map(Input::Capture),
            [0xa1, 0xb2, 0xc3, 0xd4, ..]
            | [0xd4, 0xc3, 0xb2, 0xa1, ..]
            | [0xa1, 0xb2, 0x3c, 0x4d, ..]
            | [0x4d, 0x3c, 0xb2, 0xa1, ..] => {
                return Capture::pcap(Box::new(Old::new(whole)) as Box<dyn Read>)
                    .map(Input::Capture);
            }
            [b'P', b'A', b'R', b'1', ..] => return Err(Error::Piped),
            head if crate::network::simulated::HEAD.starts_with(head) => {
                return Err(Error::OneTable);
            }
            // JSON, JSON-SEQ (record separator), or either after a byte order mark.
            [b'{' | b'[' | 0x1e | b' ' | b'\t' | b'\r' | b'\n', ..] | [0xef, 0xbb, 0xbf, ..] => {
                return Ok(Input::Json(whole));
            }
            _ => return Err(Error::UnknownKind(head)),
        }
    }
    Err(Error::Header {
        kind: "a compressed file",
        problem: format!("it is compressed more than {LAYERS} times"),
    })
}

/// Returns the first four bytes, and a reader of the whole input.
fn peek(mut reader: Box<dyn Read>) -> Result<(Vec<u8>, Box<dyn Read>), Error> {
    let mut head = [0; 4];
    let mut filled = 0;
    while filled < head.len() {
        match reader.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let head = head[..filled].to_vec();
    let whole = Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(whole)))
}

/// Reads Zstandard frame by frame, because parallel compressors write several.
struct Zstd {
    source: BufReader<Box<dyn Read>>,
    frame: ruzstd::decoding::FrameDecoder,
}

impl Zstd {
    fn new(source: Box<dyn Read>) -> Result<Self, Error> {
        let mut zstd = Self {
            source: BufReader::new(source),
            frame: ruzstd::decoding::FrameDecoder::new(),
        };
        zstd.frame.set_max_window_size(WINDOW);
        zstd.frame
            .reset(&mut zstd.source)
            .map_err(|error| Error::Header {
                kind: "zstd",
                problem: error.to_string(),
            })?;
        Ok(zstd)
    }

    /// Begins the next frame after skippable ones. Returns false at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
        use std::io::BufRead as _;
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.frame.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.source).take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBytes;
        loop {
            let read = self.frame.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if self.frame.is_finished() {
                if !self.next_frame()? {
                    return Ok(0);
                }
            } else {
                self.frame
                    .decode_blocks(&mut self.source, UptoBytes(1 << 17))
                    .map_err(io::Error::other)?;
            }
        }
    }
}
