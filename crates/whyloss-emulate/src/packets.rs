//! The log of a run as a table: a row for each packet at each link.
//!
//! `packets.jsonl` is written during the run and survives any end of it. With the feature
//! `parquet`, it is converted to `packets.parquet` at the end.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use whyloss_sim::trace::tables::{Table, bits, bytes, number, packets, seconds, word};
use whyloss_sim::trace::{Batch, Cell};

use crate::archive::{self, ArchiveError};
use crate::record::{Fault, Record, State};

/// The number of rows per write.
const ROWS: usize = 1 << 16;

/// The table of every packet at every link.
pub const PACKETS: Table = Table {
    name: "packets",
    row: "packet that reaches a link",
    columns: &[
        seconds(
            "enqueued_s",
            "when it reached the link, since the run began",
        ),
        number(
            "offer",
            "counts the rows of all links in the order in which their links were asked",
        ),
        number(
            "packet",
            "counts packets in the order in which hosts sent them",
        ),
        word("link", "the link's name"),
        word("from", "the host that sent it"),
        word("to", "the host that it is for"),
        number(
            "protocol",
            "IP's number of what it carries: 6 is TCP, 17 UDP, 136 UDP-Lite, 1 ICMP, 58 ICMPv6",
        ),
        word("source", "the source address"),
        word("destination", "the destination address"),
        number("source_port", "the source port, of TCP, UDP and UDP-Lite").optional(),
        number("destination_port", "the destination port, likewise").optional(),
        number(
            "sequence",
            "the sequence number: TCP's, or that of a data packet of `whyloss send`",
        )
        .optional(),
        number(
            "ip_id",
            "IP's identification; with IPv6, that of a fragment",
        )
        .optional(),
        bytes("size_bytes", "the IP packet"),
        packets("waiting", "how many it found waiting"),
        seconds(
            "scheduled_s",
            "when it should leave the far end, or is lost",
        ),
        seconds("departed_s", "when it left the far end").optional(),
        word(
            "fate",
            "`delivered`, `damaged`, `overflow`, `aqm`, `channel`, `fault` or `unfinished`",
        ),
        bits(
            "damaged_bits",
            "how many bits were flipped; `packets.jsonl` has which",
        ),
        word(
            "state",
            "`good` or `bad`: what it met of a channel with two states",
        )
        .optional(),
        word("fault", "what the emulator did wrong: `late` or `device`").optional(),
    ],
};

/// Reads the log of a run, batch by batch.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub fn batches(directory: &Path) -> Result<Vec<Batch>, ArchiveError> {
    let mut batches = Vec::new();
    each(directory, |batch| {
        batches.push(batch);
        Ok(())
    })?;
    Ok(batches)
}

/// Reads the log of a run, and passes its records to `take` in batches.
fn each(
    directory: &Path,
    mut take: impl FnMut(Batch) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut records = archive::stream(directory)?;
    loop {
        let rows: Vec<Record> = records.by_ref().take(ROWS).collect::<Result<_, _>>()?;
        if rows.is_empty() {
            return Ok(());
        }
        take(batch(&rows))?;
    }
}

/// Writes the log of a run as `packets.parquet` next to it.
///
/// # Errors
/// Returns an error if the log cannot be read, or the file cannot be written.
#[cfg(feature = "parquet")]
pub fn write(directory: &Path) -> Result<(), ArchiveError> {
    use whyloss_sim::trace::Sink as _;
    use whyloss_sim::{OutputError, ParquetFiles};

    let failed = |error: OutputError| ArchiveError::Write {
        path: error.path,
        source: error.source,
    };
    let mut files = ParquetFiles::of(&[&PACKETS], directory).map_err(failed)?;
    each(directory, |batch| files.write(&batch).map_err(failed))?;
    files.finish().map_err(failed)
}

/// The distinct words, in the order of their first appearance.
#[derive(Default)]
struct Interned {
    places: HashMap<String, u32>,
    words: Vec<String>,
}

impl Interned {
    fn word(&mut self, text: &impl ToString) -> Cell {
        let text = text.to_string();
        let next = self.words.len() as u32;
        let place = *self.places.entry(text.clone()).or_insert(next);
        if place == next {
            self.words.push(text);
        }
        Cell::Word(place)
    }
}

fn batch(records: &[Record]) -> Batch {
    let whole = |number: u64| Cell::Whole(number);
    let maybe = |number: Option<u64>| number.map_or(Cell::None, Cell::Whole);
    let nanos = |nanos: u64| Cell::Nanos(nanos.cast_signed());
    let mut words: [Interned; 8] = Default::default();
    let rows = records.iter().map(|record| {
        let headers = &record.headers;
        let [link, from, to, source, destination, fate, state, fault] = &mut words;
        [
            nanos(record.enqueued),
            whole(record.offer),
            whole(record.packet),
            link.word(&record.link),
            from.word(&record.from),
            to.word(&record.to),
            whole(headers.protocol.into()),
            source.word(&headers.source),
            destination.word(&headers.destination),
            maybe(headers.source_port.map(u64::from)),
            maybe(headers.destination_port.map(u64::from)),
            maybe(headers.sequence.map(u64::from)),
            maybe(headers.ip_id.map(u64::from)),
            whole(record.bytes.into()),
            whole(record.waiting.into()),
            nanos(record.scheduled),
            record.departed.map_or(Cell::None, nanos),
            fate.word(&record.fate.name()),
            whole(record.bits.len() as u64),
            record.state.map_or(Cell::None, |met| {
                state.word(&match met {
                    State::Good => "good",
                    State::Bad => "bad",
                })
            }),
            record.fault.map_or(Cell::None, |what| {
                fault.word(&match what {
                    Fault::Late => "late",
                    Fault::Device => "device",
                })
            }),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let words = words.map(|interned| Arc::from(interned.words));
    let mut batch = Batch::new(&PACKETS, words);
    for row in rows {
        batch.push(row);
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn a_row_has_what_the_record_has() {
        let mut second = record();
        second.departed = Some(30);
        second.state = None;
        let batch = batch(&[record(), second]);
        assert_eq!(batch.len(), 2);
        let text = |row: usize, name: &str| {
            let column = PACKETS.columns.iter().position(|c| c.name == name);
            let column = column.expect("a column of that name");
            match batch.rows().nth(row).expect("a row")[column] {
                Cell::Word(word) => batch.words(column)[word as usize].clone(),
                Cell::None => "-".into(),
                Cell::Nanos(nanos) => format!("{nanos} ns"),
                Cell::Whole(number) => number.to_string(),
                Cell::Real(real) => real.to_string(),
            }
        };
        let of = |row| {
            [
                "link",
                "from",
                "source",
                "enqueued_s",
                "departed_s",
                "fate",
                "state",
                "fault",
            ]
            .map(|name| text(row, name))
        };
        assert_eq!(
            of(0),
            [
                "down",
                "outside",
                "100.64.0.1",
                "10 ns",
                "-",
                "channel",
                "bad",
                "-"
            ]
        );
        assert_eq!(
            of(1),
            [
                "down",
                "outside",
                "100.64.0.1",
                "10 ns",
                "30 ns",
                "channel",
                "-",
                "-"
            ]
        );
        assert_eq!(text(0, "size_bytes"), "1500");
    }
}
