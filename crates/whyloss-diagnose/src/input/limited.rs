//! Limits the bytes between one record and the next. Without a limit, a line that never ends would
//! fill the memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// The longest record in bytes: a line of JSON, an event of a document, a row of a table.
pub(crate) const LONGEST: usize = 1 << 20;

/// Stops reading if a record is too long.
pub(crate) struct Limited<R> {
    reader: R,
    left: Left,
    what: &'static str,
}

/// The number of bytes of the next record that may still be read.
#[derive(Clone)]
pub(crate) struct Left(Rc<Cell<usize>>);

impl Left {
    /// Notes the end of a record, and allows the next one the full length.
    pub(crate) fn again(&self) {
        self.0.set(LONGEST);
    }
}

impl<R> Limited<R> {
    /// Returns a reader of such records, and the handle that notes their ends.
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

/// Returns the message about a record that is too long.
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
