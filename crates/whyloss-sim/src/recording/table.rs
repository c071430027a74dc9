//! Reads tables of packets: a trial per row, a packet per row, or the numbers that arrived.

use std::io::Read;

use super::numbers::Numbers;
use super::{MOST_PACKETS, Recording, Trial, too_many};
use crate::text::one_line;

/// The maximum size of a row in bytes: one digit for each packet of a trial.
const LONGEST_ROW: usize = MOST_PACKETS;

/// The known names of columns, each with its content.
const OUTCOMES: [(&str, Outcome); 6] = [
    ("received", Outcome::Received),
    ("lost", Outcome::Lost),
    ("number", Outcome::Number),
    ("sequence", Outcome::Number),
    ("seq", Outcome::Number),
    ("sequence_number", Outcome::Number),
];

/// The names of columns of times, and the length of each unit in nanoseconds.
const TIMES: [(&str, f64); 5] = [
    ("time", 1e9),
    ("time_s", 1e9),
    ("time_ms", 1e6),
    ("time_us", 1e3),
    ("time_ns", 1.0),
];

const EXPECTED: &str =
    "expected `received` or `lost` (digits 0 and 1), or `number` (the numbers that arrived)";

/// Returns the index of the column of times among these names, and the length of its unit in
/// nanoseconds.
pub fn time_column(names: &[String]) -> Option<(usize, f64)> {
    TIMES.iter().find_map(|(wanted, unit)| {
        let at = names.iter().position(|name| name == wanted)?;
        Some((at, *unit))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Received,
    Lost,
    Number,
}

/// A table that is read row by row.
#[derive(Debug)]
pub struct Table {
    outcome: (usize, Outcome),
    time: Option<(usize, f64)>,
    trial: Option<usize>,
    numbers: Numbers,
    /// The current trial of rows with one packet each.
    rows: Trial,
    /// The trial's name in the last row.
    last_trial: String,
    packets: usize,
    recording: Recording,
}

impl Table {
    /// Returns whether a file with this beginning is a table: its first line has a letter that no
    /// pattern has.
    pub(super) fn begins(head: &[u8]) -> bool {
        let line = head.split(|&byte| byte == b'\n').next().unwrap_or(head);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        line.first().is_some_and(u8::is_ascii_alphabetic)
    }

    /// Begins a table with these column names. `column` names the column that holds the packets.
    ///
    /// # Errors
    /// Returns an error message if no column holds packets.
    pub fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        column: Option<&str>,
    ) -> Result<Self, String> {
        let names: Vec<String> = names.map(|name| name.trim().to_ascii_lowercase()).collect();
        if names.iter().all(String::is_empty) {
            return Err(format!("the table is empty; {EXPECTED}"));
        }
        let find = |name: &str| names.iter().position(|known| known == name);
        let list = || one_line(&names.join(", ")).into_owned();
        let outcome = if let Some(column) = column {
            let wanted = column.to_ascii_lowercase();
            let known = OUTCOMES.iter().find(|(name, _)| *name == wanted);
            let by_name = if wanted.contains("los") {
                Outcome::Lost
            } else {
                Outcome::Received
            };
            let outcome = known.map_or(by_name, |(_, outcome)| *outcome);
            let at = find(&wanted).ok_or_else(|| {
                format!(
                    "no column is called `{}`; the columns are {}",
                    one_line(column),
                    list()
                )
            })?;
            (at, outcome)
        } else {
            let mut known = OUTCOMES.iter();
            let found = known.find_map(|(name, outcome)| Some((find(name)?, *outcome)));
            found.ok_or_else(|| {
                format!(
                    "no column holds packets; {EXPECTED}; the columns are {}",
                    list()
                )
            })?
        };
        if outcome.1 == Outcome::Number && find("truth").is_some() {
            return Err(
                "each row is a lost packet; expected packets that arrived, or the whole directory of the trace"
                    .to_owned(),
            );
        }
        Ok(Self {
            outcome,
            time: time_column(&names),
            trial: find("trial"),
            numbers: Numbers::default(),
            rows: Trial::default(),
            last_trial: String::new(),
            packets: 0,
            recording: Recording::default(),
        })
    }

    /// Reads a table in CSV.
    ///
    /// # Errors
    /// Returns an error message that names the line.
    pub(super) fn read(reader: impl Read, column: Option<&str>) -> Result<Recording, String> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(reader);
        let names = reader.byte_headers().map_err(|error| error.to_string())?;
        let names: Vec<String> = names
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect();
        let mut table = Self::new(
            names.iter().map(|name| name.trim_start_matches('\u{feff}')),
            column,
        )?;
        let mut row = csv::ByteRecord::new();
        while reader
            .read_byte_record(&mut row)
            .map_err(|error| error.to_string())?
        {
            if row.as_slice().len() > LONGEST_ROW {
                return Err(too_many());
            }
            let line = row.position().map_or(0, csv::Position::line);
            table
                .push(|column| row.get(column))
                .map_err(|problem| format!("line {line}: {problem}"))?;
        }
        table.finish()
    }

    /// Reads one row; `of` returns the text of each column.
    ///
    /// # Errors
    /// Returns an error message if the row holds no packet.
    pub fn push<'r>(&mut self, of: impl Fn(usize) -> Option<&'r [u8]>) -> Result<(), String> {
        let (at, outcome) = self.outcome;
        let value = of(at).ok_or("the row ends before the column that holds packets")?;
        let value = value.trim_ascii();
        if let Some(trial) = self.trial.and_then(&of)
            && trial != self.last_trial.as_bytes()
        {
            self.end_trial();
            self.last_trial = String::from_utf8_lossy(trial).into_owned();
        }
        let time = self.time.and_then(|(at, unit)| Some((of(at)?, unit)));
        let time = time.map(|(text, unit)| time_of(text, unit)).transpose()?;
        if outcome == Outcome::Number {
            let text = str::from_utf8(value).unwrap_or("");
            let number: u64 = text
                .parse()
                .map_err(|_| format!("found {}; expected the number of a packet", show(value)))?;
            if number >= 1 << 62 {
                return Err(format!("found {number}; expected a number below 2^62"));
            }
            let before = self.numbers.len();
            self.numbers.push(number, time)?;
            return self.count(self.numbers.len() - before);
        }
        let mark = if outcome == Outcome::Lost { b'1' } else { b'0' };
        match value {
            [] => Err("found nothing; expected digits 0 and 1".to_owned()),
            b"true" | b"false" | b"True" | b"False" | [b'0' | b'1'] => {
                let is_one = matches!(value, b"true" | b"True" | b"1");
                if let (Some(time), Some(&before)) = (time, self.rows.times.last())
                    && time < before
                {
                    return Err("the time goes back; expected rows in the order of sending".into());
                }
                self.rows.lost.push(is_one == (outcome == Outcome::Lost));
                self.rows.times.extend(time);
                self.count(1)
            }
            digits => {
                if let Some(wrong) = digits.iter().find(|digit| !matches!(digit, b'0' | b'1')) {
                    return Err(format!(
                        "found {} in the column of packets; expected digits 0 and 1",
                        show(&[*wrong])
                    ));
                }
                self.end_trial();
                self.recording.trials.push(Trial {
                    lost: digits.iter().map(|&digit| digit == mark).collect(),
                    times: Vec::new(),
                });
                self.count(digits.len())
            }
        }
    }

    fn count(&mut self, packets: usize) -> Result<(), String> {
        self.packets += packets;
        if self.packets > MOST_PACKETS {
            return Err(too_many());
        }
        Ok(())
    }

    fn end_trial(&mut self) {
        for trial in [std::mem::take(&mut self.rows), self.numbers.take()] {
            if !trial.lost.is_empty() {
                self.recording.trials.push(trial);
            }
        }
    }

    /// Returns the recording with all its trials.
    ///
    /// # Errors
    /// Returns an error message if the table has no packet.
    pub fn finish(mut self) -> Result<Recording, String> {
        self.end_trial();
        if self.recording.trials.is_empty() {
            return Err("the table has no row; expected at least one packet".to_owned());
        }
        let Numbers {
            copies,
            late,
            wraps,
            ..
        } = self.numbers;
        let packets = self.packets as u64;
        if copies + late > packets {
            return Err(format!(
                "{packets} packets, but {} numbers that came late or twice: a counter of few bits wraps; expected one of 16 or 32 bits, \
                 or a column `trial` that parts the table",
                copies + late
            ));
        }
        for (said, count) in [
            ("numbers that came twice, and count once", copies),
            ("numbers that came late, and count as received", late),
            ("wraps to 0, where counting went on", wraps),
        ] {
            if count > 0 {
                self.recording.notes.push(format!("{said}: {count}"));
            }
        }
        Ok(self.recording)
    }
}

fn time_of(text: &[u8], unit: f64) -> Result<i64, String> {
    let value = str::from_utf8(text)
        .ok()
        .and_then(|text| text.trim().parse::<f64>().ok());
    let nanos = value.map(|value| value * unit);
    // As a real, a time in nanoseconds since 1970 is exact to a quarter of a microsecond.
    nanos
        .filter(|nanos| nanos.abs() < 9e18)
        .map(|nanos| libm::round(nanos) as i64)
        .ok_or_else(|| format!("found {} as a time; expected a number", show(text)))
}

/// Returns a cell's text, shortened for a message.
fn show(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(&value[..value.len().min(40)]);
    format!("`{}`", one_line(&text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Recording, String> {
        Table::read(text.as_bytes(), None)
    }

    #[test]
    fn a_packet_per_row_with_times_and_trials() {
        let text = "trial,time_ms,lost\na,0,0\na,20,1\nb,0,0\n";
        let recording = read(text).expect("a table");
        assert_eq!(recording.trials.len(), 2);
        assert_eq!(recording.trials[0].lost, [false, true]);
        assert_eq!(recording.trials[0].times, [0, 20_000_000]);
        assert!(recording.is_timed());
    }

    #[test]
    fn received_numbers_with_a_copy_and_a_wrap() {
        let recording = read("time,number\n0,65534\n1,65535\n1,65535\n3,1\n").expect("a table");
        assert_eq!(recording.trials[0].lost, [false, false, true, false]);
        assert_eq!(
            recording.notes,
            [
                "numbers that came twice, and count once: 1",
                "wraps to 0, where counting went on: 1"
            ]
        );
    }

    #[test]
    fn errors_say_where() {
        let error = |text: &str| read(text).unwrap_err();
        assert!(error("received\n1101\n11x1\n").starts_with("line 3: found `x`"));
        assert!(error("number\n1\n-4\n").starts_with("line 3: found `-4`"));
        assert!(error("time,lost\n1,0\n0,1\n").starts_with("line 3: the time goes back"));
        assert!(error("received\n").contains("no row"));
        assert!(error("a,b\n1,1\n").contains("the columns are a, b"));
        assert!(error("").contains("the table is empty"));
        let eight_bits = (0..600).fold("number\n".to_owned(), |rows, n| {
            rows + &(n % 256).to_string() + "\n"
        });
        let wraps = error(&eight_bits);
        assert!(wraps.contains("a counter of few bits"), "{wraps}");
        let named = Table::read("link\n01\n".as_bytes(), Some("lnik")).unwrap_err();
        assert!(named.contains("no column is called `lnik`"), "{named}");
    }

    proptest! {
        #[test]
        fn never_panics(text in "(received|lost|number|time|trial|,|[01]{1,9}|[0-9]{1,20}|\n|x){0,60}") {
            let _ = read(&text);
        }
    }
}
