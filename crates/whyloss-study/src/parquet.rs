//! Opens untrusted Parquet files safely; all readers use this module.
//!
//! The decoding crate trusts the counts, offsets and sizes in a file, and panics on some invalid
//! ones. [`open`] checks them before anything is decoded. [`guard`] turns remaining panics into
//! errors.
//!
//! | checked | why |
//! |---|---|
//! | a column is within the file | offsets may be negative, or far beyond its end |
//! | rows per byte (`ROWS`) | a few bytes may claim any number of rows |
//! | a page's unpacked size (`PACKED`, `PAGE`) | memory is allocated before unpacking |

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, FileReader as _, Length, SerializedFileReader};

/// The maximum number of rows per byte of a file: each row has its own time or number.
const ROWS: u64 = 8;
/// The maximum number of bytes that Snappy unpacks from one byte: a copy of 64 bytes takes three.
const PACKED: u64 = 22;
/// The largest size of an unpacked page, in bytes.
const PAGE: u64 = 64 << 20;
/// The number of bytes at the start of a page that can hold its sizes.
const HEAD: u64 = 18;
/// The maximum length of a size in the header of a page, in bytes.
const VARINT: usize = 5;
/// The length of a file's footer, which has the size of the metadata.
const FOOTER: u64 = 8;

thread_local! {
    /// Whether the panic hook stays silent on this thread, because [`guard`] reports the panic.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that reads a Parquet file and turns a panic into an error.
///
/// # Errors
/// Returns the errors of `read`, and [`ParquetError::General`] for a panic.
pub fn guard<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    // Guards may nest, so the old value is restored.
    let before = QUIET.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    QUIET.set(before);
    done.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        let said = said.unwrap_or("no reason");
        Err(ParquetError::General(format!("it is damaged ({said})")))
    })
}

/// Opens a file and checks its metadata. Run all later reads inside [`guard`].
///
/// # Errors
/// Returns an error if it is not a Parquet file or its metadata contradict its size.
pub fn open<R: ChunkReader + 'static>(source: R) -> Result<SerializedFileReader<Checked<R>>> {
    guard(|| {
        let length = source.len();
        let reader = SerializedFileReader::new(Checked(source))?;
        check(reader.metadata(), length)?;
        Ok(reader)
    })
}

fn wrong<T>(what: String) -> Result<T> {
    Err(ParquetError::General(what))
}

fn check(metadata: &ParquetMetaData, length: u64) -> Result<()> {
    let mut rows = 0_u64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let Ok(some) = u64::try_from(group.num_rows()) else {
            return wrong(format!("row group {number} has a negative number of rows"));
        };
        rows = rows.saturating_add(some);
        for column in group.columns() {
            let start = column
                .dictionary_page_offset()
                .unwrap_or(column.data_page_offset());
            let inside = u64::try_from(start)
                .ok()
                .zip(u64::try_from(column.compressed_size()).ok())
                .and_then(|(start, bytes)| start.checked_add(bytes))
                .is_some_and(|end| end <= length);
            if !inside {
                let name = column.column_path().string();
                return wrong(format!(
                    "column `{name}` of row group {number} does not lie within the file"
                ));
            }
        }
    }
    if rows > length.saturating_mul(ROWS) {
        return wrong(format!(
            "it has {rows} rows in {length} bytes, more than {ROWS} in each"
        ));
    }
    Ok(())
}

/// A file that checks the sizes of pages before they are unpacked.
#[derive(Debug)]
pub struct Checked<R>(R);

impl<R: Length> Length for Checked<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Checked<R> {
    type T = R::T;

    /// A read at an offset starts at the header of a page, or at the footer.
    fn get_read(&self, start: u64) -> Result<R::T> {
        let left = self.len().saturating_sub(start);
        if left == FOOTER {
            return self.0.get_read(start);
        }
        let head = self.0.get_bytes(start, HEAD.min(left) as usize)?;
        // The decoding crate would accept other types or orders of these fields unchecked.
        let Some((unpacked, packed)) = sizes(&head) else {
            return wrong(format!(
                "no page starts with its type and sizes at byte {start}"
            ));
        };
        if unpacked > PAGE || unpacked > (packed + HEAD) * PACKED {
            return wrong(format!(
                "a page of {packed} bytes claims to have {unpacked}, unpacked"
            ));
        }
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// Returns a page's unpacked and packed sizes from the second and third field of its header.
/// Thrift's compact protocol writes each as 0x15 and a zigzag varint of 32 bits.
fn sizes(mut head: &[u8]) -> Option<(u64, u64)> {
    let mut field = || {
        let (&0x15, rest) = head.split_first()? else {
            return None;
        };
        let end = rest.iter().position(|byte| byte & 0x80 == 0)?;
        let (number, rest) = rest.split_at(end + 1);
        head = rest;
        if number.len() > VARINT {
            return None;
        }
        let bits = number.iter().rev();
        let bits = bits.fold(0_u64, |bits, &byte| bits << 7 | u64::from(byte & 0x7f));
        // The sign is ignored here; other code rejects negative sizes.
        Some(bits >> 1)
    };
    let _kind = field()?;
    Some((field()?, field()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_no_noise() {
        let damaged = guard::<()>(|| panic!("index {}", 7)).map_err(|error| error.to_string());
        assert_eq!(
            damaged,
            Err("Parquet error: it is damaged (index 7)".to_owned())
        );
        assert_eq!(guard(|| Ok(3)).ok(), Some(3));
        let nested = guard(|| {
            guard(|| Ok(()))?;
            Ok(QUIET.get())
        });
        assert_eq!(nested.ok(), Some(true));
        assert!(!QUIET.get());
    }

    #[test]
    fn a_page_says_how_large_it_is() {
        // This is a data page (0) with 300 bytes unpacked and 5 packed.
        let head = [0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x0a, 0x2c];
        assert_eq!(sizes(&head), Some((300, 5)));
        assert_eq!(sizes(&head[..6]), None);
        assert_eq!(sizes(b"PAR1"), None);
        // The second size is a long integer, which the decoding crate reads like a short one.
        assert_eq!(sizes(&[0x15, 0x00, 0x15, 0xd8, 0x04, 0x16, 0x0a]), None);
        assert_eq!(
            sizes(&[0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x15, 0x00]),
            None
        );
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\xffPAR1"] {
            assert!(open(bytes::Bytes::from_static(bytes)).is_err());
        }
    }
}
