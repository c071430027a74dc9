//! A limit on what is read between one record and the next: without it a line that never ends fills
//! the memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Bytes of the longest record: a line of JSON, an event of a document, a row of a table.
pub(crate) const LONGEST: usize = 1 << 20;

/// Refuses to read on when no record ended for too long.
pub(crate) struct Limited<R> {
    reader: R,
    left: Left,
    what: &'static str,
}

/// How much of the next record may still be read.
#[derive(Clone)]
pub(crate) struct Left(Rc<Cell<usize>>);

impl Left {
    /// A record ended: the next one may be as long.
    pub(crate) fn again(&self) {
        self.0.set(LONGEST);
    }
}

impl<R> Limited<R> {
    /// A reader of such records, and what is to hear of their ends.
    pub(crate) fn new(reader: R, what: &'static str) -> (Self, Left) {
        let left = Left(Rc::new(Cell::new(LONGEST)));
        let limited = Self {
            reader,
            left: left.clone(),
            what,
        };
        (limited, left)
    }
}

/// The message about a record that is too long.
pub(crate) fn too_long(what: &str) -> String {
    format!("{what} is longer than {} MiB", LONGEST >> 20)
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.0.get().checked_sub(read) {
            Some(left) => self.left.0.set(left),
            None => return Err(io::Error::other(too_long(&format!("a {}", self.what)))),
        }
        Ok(read)
    }
}
