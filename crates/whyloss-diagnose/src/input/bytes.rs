//! Buffers bytes of a capture between reading and parsing.

use std::io::{self, Read};

/// The longest block or frame in bytes, and the size of a reader's buffer.
pub(super) const BUFFER: usize = 1 << 20;
/// The number of bytes per read. These and the packets made from them fit into a core's own cache.
const BITE: usize = 1 << 16;

/// Reads ahead, so that a parser finds whole blocks in one piece.
pub(super) struct Bytes<R> {
    reader: R,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl<R: Read> Bytes<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
        }
    }

    /// Returns the bytes that were read but not yet consumed.
    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.begin..self.end]
    }

    /// Consumes the first `many` bytes of the rest.
    #[inline]
    pub(super) fn pass(&mut self, many: usize) {
        self.begin = (self.begin + many).min(self.end);
    }

    /// Reads more bytes after the rest. Returns false at the end of the input, or if the rest fills
    /// the whole buffer.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        let to = self.buffer.len().min(self.end + BITE);
        let read = self.reader.read(&mut self.buffer[self.end..to])?;
        self.end += read;
        Ok(read > 0)
    }

    /// Returns whether bytes are left, and reads more if the rest is empty.
    #[inline]
    pub(super) fn are_left(&mut self) -> io::Result<bool> {
        if self.begin < self.end {
            return Ok(true);
        }
        self.fill()
    }
}
