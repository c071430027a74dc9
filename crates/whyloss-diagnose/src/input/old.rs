//! Reads pcap files from before 1998. Up to version 2.2 the two lengths of a packet are swapped,
//! and 2.3 was written both ways.
//!
//! [`Old`] puts them into today's order, so that the reader needs only one format (libpcap's
//! `sf-pcap.c` does the same).

use std::io::{self, Read};

/// The size in bytes of the file header, and of a packet's header.
const FILE: usize = 24;
const PACKET: usize = 16;

/// The order in which a version writes the two lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    /// Length on the wire, then captured length.
    Swapped,
    /// Either order: the captured length is the smaller one.
    Unknown,
    /// Captured length, then length on the wire.
    Today,
}

/// Turns an old capture into one of version 2.4 while it is read.
pub(super) struct Old<R> {
    reader: R,
    lengths: Option<Lengths>,
    little: bool,
    /// The corrected header bytes, which the reader gets next.
    head: [u8; FILE],
    filled: usize,
    taken: usize,
    /// The number of data bytes before the next packet's header.
    data: u64,
}

impl<R: Read> Old<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            lengths: None,
            little: false,
            head: [0; FILE],
            filled: 0,
            taken: 0,
            data: 0,
        }
    }

    /// Reads the next header, if the input has one, and corrects it.
    fn refill(&mut self) -> io::Result<()> {
        let wanted = if self.lengths.is_none() { FILE } else { PACKET };
        (self.filled, self.taken) = (0, 0);
        while self.filled < wanted {
            match self.reader.read(&mut self.head[self.filled..wanted]) {
                Ok(0) => return Ok(()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match self.lengths {
            None => {
                self.little = matches!(self.head[0], 0xd4 | 0x4d);
                let minor = [self.head[6], self.head[7]];
                let (major, minor) = if self.little {
                    (self.head[4], u16::from_le_bytes(minor))
                } else {
                    (self.head[5], u16::from_be_bytes(minor))
                };
                self.lengths = Some(match (major, minor) {
                    (2, ..=2) => Lengths::Swapped,
                    (2, 3) => Lengths::Unknown,
                    _ => Lengths::Today,
                });
            }
            Some(lengths) => {
                let captured = self.number(8);
                let wire = self.number(12);
                let swapped = match lengths {
                    Lengths::Swapped => true,
                    Lengths::Unknown => captured > wire,
                    Lengths::Today => false,
                };
                if swapped {
                    let (first, second) = self.head[8..16].split_at_mut(4);
                    first.swap_with_slice(second);
                }
                self.data = self.number(8).into();
            }
        }
        Ok(())
    }

    fn number(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.head[at..at + 4]);
        if self.little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        }
    }
}

impl<R: Read> Read for Old<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Files of current programs need no correction.
        if self.lengths == Some(Lengths::Today) && self.taken == self.filled {
            return self.reader.read(buffer);
        }
        if self.taken == self.filled && self.data > 0 {
            let many =
                usize::try_from(self.data).map_or(buffer.len(), |data| buffer.len().min(data));
            let read = self.reader.read(&mut buffer[..many])?;
            self.data -= read as u64;
            return Ok(read);
        }
        if self.taken == self.filled {
            self.refill()?;
        }
        let many = buffer.len().min(self.filled - self.taken);
        buffer[..many].copy_from_slice(&self.head[self.taken..self.taken + many]);
        self.taken += many;
        Ok(many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file of version 2.`minor` with two packets of 60 bytes, captured to 3 and 2 bytes.
    /// `swapped` sets the order of the lengths.
    fn file(minor: u16, swapped: bool, little: bool) -> Vec<u8> {
        let four = |n: u32| {
            if little {
                n.to_le_bytes()
            } else {
                n.to_be_bytes()
            }
        };
        let two = |n: u16| {
            if little {
                n.to_le_bytes()
            } else {
                n.to_be_bytes()
            }
        };
        let mut bytes = four(0xa1b2_c3d4).to_vec();
        bytes.extend([two(2), two(minor)].concat());
        bytes.extend([four(0), four(0), four(96), four(1)].concat());
        for (captured, data) in [(3, &b"abc"[..]), (2, b"de")] {
            let lengths = if swapped {
                [60, captured]
            } else {
                [captured, 60]
            };
            bytes.extend([four(7), four(8), four(lengths[0]), four(lengths[1])].concat());
            bytes.extend(data);
        }
        bytes
    }

    #[test]
    fn lengths_are_put_in_todays_order() {
        for little in [false, true] {
            for (minor, swapped) in [(2, true), (1, true), (3, true), (3, false), (4, false)] {
                let mut read = Vec::new();
                let mut old = Old::new(io::Cursor::new(file(minor, swapped, little)));
                old.read_to_end(&mut read).expect("memory");
                assert_eq!(
                    read,
                    file(minor, false, little),
                    "2.{minor} {swapped} {little}"
                );
            }
        }
    }

    #[test]
    fn files_that_end_early_end_there() {
        let whole = file(2, true, true);
        for length in 0..whole.len() {
            let mut read = Vec::new();
            let mut old = Old::new(&whole[..length]);
            old.read_to_end(&mut read).expect("memory");
            assert_eq!(read.len(), length);
        }
    }
}
