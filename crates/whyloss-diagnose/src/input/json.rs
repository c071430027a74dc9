//! Reads logs in JSON record by record: one document, one record per line, or JSON text sequences
//! (RFC 7464).
//!
//! The reader never holds a whole document: it passes on each event immediately. No record may be
//! longer than [`LONGEST`].

use std::fmt;
use std::io::{BufRead, BufReader, Cursor, Read};

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

use super::limited::{LONGEST, Left, Limited, too_long};
use crate::error::Error;

/// The number of bytes at the start that distinguish a document from lines.
const HEAD: usize = 64 << 10;
const SEPARATOR: u8 = 0x1e;

/// A record of a log.
pub(crate) enum Record {
    /// The head of a trace: all its keys except `events`.
    Trace(Value),
    /// An event, or any other content of a line.
    Event(Value),
}

/// Reads all records. Returns the reason if the input ended early.
///
/// # Errors
/// Returns an error if the beginning is not JSON, or the errors of `take`.
pub(crate) fn read(
    reader: Box<dyn Read>,
    take: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<Option<String>, Error> {
    let mut reader = reader;
    let mut head = Vec::new();
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let marked = head.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(&head);
    let head = marked.trim_ascii_start().to_vec();
    let line = head
        .iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(head.len());
    let whole = serde_json::from_slice::<Map<String, Value>>(&head[..line]).is_ok();
    let sequence = head.first() == Some(&SEPARATOR);
    let reader = BufReader::new(Cursor::new(head).chain(reader));
    if sequence {
        records(reader, SEPARATOR, take)
    } else if whole {
        records(reader, b'\n', take)
    } else {
        document(reader, take)
    }
}

fn records(
    mut reader: impl BufRead,
    end: u8,
    take: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<Option<String>, Error> {
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        match reader
            .by_ref()
            .take(LONGEST as u64 + 1)
            .read_until(end, &mut bytes)
        {
            Ok(0) => break,
            Ok(read) if read > LONGEST => {
                return Ok(Some(too_long(&format!("record {number}"))));
            }
            Ok(_) => {}
            Err(error) => return Ok(Some(format!("record {number}: {error}"))),
        }
        let record = bytes.strip_suffix(&[end]).unwrap_or(&bytes).trim_ascii();
        if record.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(record) {
            Ok(record) => hand(record, take)?,
            Err(error) => return Ok(Some(format!("record {number}: {error}"))),
        }
    }
    Ok(None)
}

/// Passes one record, and the traces in it, to `take`.
fn hand(mut record: Value, take: &mut dyn FnMut(Record) -> Result<(), Error>) -> Result<(), Error> {
    if let Some(Value::Array(traces)) = record.get_mut("traces").map(Value::take) {
        for mut trace in traces {
            let events = trace.get_mut("events").map(Value::take);
            take(Record::Trace(trace))?;
            if let Some(Value::Array(events)) = events {
                for event in events {
                    take(Record::Event(event))?;
                }
            }
        }
        return Ok(());
    }
    if let Some(trace) = record.get_mut("trace").map(Value::take) {
        return take(Record::Trace(trace));
    }
    take(Record::Event(record))
}

fn document(
    reader: impl Read,
    take: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<Option<String>, Error> {
    let (limited, left) = Limited::new(reader, "record");
    let mut refused = None;
    let mut any = false;
    let log = Log(Hand {
        take: &mut |record| {
            any = true;
            take(record)
        },
        refused: &mut refused,
        left: &left,
    });
    let mut from = serde_json::Deserializer::from_reader(BufReader::new(limited));
    let read = log.deserialize(&mut from);
    if let Some(refused) = refused {
        return Err(refused);
    }
    match read {
        Ok(()) => Ok(None),
        Err(error) if any => Ok(Some(error.to_string())),
        Err(error) => Err(Error::Header {
            kind: "JSON",
            problem: format!("it is no qlog: {error}"),
        }),
    }
}

struct Hand<'a> {
    take: &'a mut dyn FnMut(Record) -> Result<(), Error>,
    refused: &'a mut Option<Error>,
    left: &'a Left,
}

impl Hand<'_> {
    fn on<E: serde::de::Error>(&mut self, record: Record) -> Result<(), E> {
        self.left.again();
        (self.take)(record).map_err(|error| {
            let text = error.to_string();
            *self.refused = Some(error);
            E::custom(text)
        })
    }
}

/// The document: an object with `traces`.
struct Log<'a>(Hand<'a>);
/// The list of traces.
struct Traces<'a, 'b>(&'b mut Hand<'a>);
/// One trace of the list.
struct Trace<'a, 'b>(&'b mut Hand<'a>);
/// The list of a trace's events.
struct Events<'a, 'b>(&'b mut Hand<'a>);

macro_rules! seed {
    ($of:ty, $method:ident, <$($life:lifetime),+>) => {
        impl<'de, $($life),+> DeserializeSeed<'de> for $of {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
                from.$method(self)
            }
        }
    };
}
seed!(Log<'a>, deserialize_map, <'a>);
seed!(Traces<'a, 'b>, deserialize_seq, <'a, 'b>);
seed!(Trace<'a, 'b>, deserialize_map, <'a, 'b>);
seed!(Events<'a, 'b>, deserialize_seq, <'a, 'b>);

impl<'de> Visitor<'de> for Log<'_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an object with `traces`")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "traces" {
                found = true;
                map.next_value_seed(Traces(&mut self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found {
            Ok(())
        } else {
            Err(A::Error::custom("it has no `traces`"))
        }
    }
}

impl<'de> Visitor<'de> for Traces<'_, '_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a list of traces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Trace(self.0))?.is_some() {}
        Ok(())
    }
}

impl<'de> Visitor<'de> for Trace<'_, '_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut about = Map::new();
        let mut told = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "events" {
                told = true;
                let about = Value::Object(std::mem::take(&mut about));
                self.0.on(Record::Trace(about))?;
                map.next_value_seed(Events(self.0))?;
            } else {
                about.insert(key, map.next_value()?);
            }
        }
        if told {
            Ok(())
        } else {
            self.0.on(Record::Trace(Value::Object(about)))
        }
    }
}

impl<'de> Visitor<'de> for Events<'_, '_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(event) = seq.next_element()? {
            self.0.on(Record::Event(event))?;
        }
        Ok(())
    }
}
