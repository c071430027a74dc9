//! Networks drawn at random, and links whose losses were recorded: criteria with a case for each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::criterion::{Against, Case, Column, Criterion, Measure, PATH};
use crate::arena::{self, Network, Transport, Variant};

/// The seed of the drawn networks, by which nothing was chosen.
const SEED: u64 = 36_000;
/// How many recorded links are replayed: evenly spread over all.
const LINKS: usize = 204;
/// A recorded link that loses more is left out, as one that carries no transport.
const MOST_LOSS: f64 = 0.3;

fn measure(
    name: &str,
    unit: &str,
    of: &str,
    against: Option<Against>,
    column: Option<Column>,
) -> Measure {
    Measure {
        name: name.into(),
        unit: unit.into(),
        of: of.into(),
        against,
        column,
    }
}

fn received() -> Measure {
    measure(
        "received, of the truth's",
        "",
        "sum(delivered@own) + sum(delivered@judged)",
        Some(Against::Truth),
        Some(Column::Received),
    )
}

/// Drawn networks, as the arena draws them: what is received, and what a CUBIC flow loses where no channel does.
pub fn drawn(networks: u64) -> Vec<Criterion> {
    let setting = arena::Setting::default();
    let case = |index: u64, variant: Variant| {
        let network = Network::draw(SEED, index, &setting);
        let text = network
            .scenario(Transport::Cubic, variant)
            .replace("\"130 s\"", "\"70 s\"")
            .replace(
                "controller = \"cubic\"",
                "controller = \"cubic\", recovery = \"rack\"",
            );
        // A scheme's own parts would yield to those that a flow names.
        let own = "controller = \"cubic\", recovery = \"rack\" }
classifier = \"unaware\"";
        let text = text.replace(own, "recovery = \"rack\" }");
        Case {
            name: format!("network {index}"),
            x: None,
            scenario: text,
            file: format!("drawn-{index}.toml"),
            set: toml::Table::new(),
        }
    };
    let criterion = |id: &str, section: &str, title: &str, variant, measures| Criterion {
        id: id.into(),
        section: section.into(),
        title: title.into(),
        axis: String::new(),
        truth: variant == Variant::Drawn,
        carrier: None,
        many: true,
        cases: (0..networks).map(|index| case(index, variant)).collect(),
        measures,
        notes: vec![format!(
            "{networks} networks of the arena, drawn with seed {SEED}; `whyloss arena --seed {SEED} --transport cubic --show N` prints one."
        )],
    };
    vec![
        criterion(
            "drawn-harm",
            "5.2.1",
            "Drawn networks without channel losses: what a plain CUBIC flow loses",
            Variant::BesideClean,
            vec![measure(
                "harm",
                "%",
                "flow.plain.delivered",
                Some(Against::Cubic),
                Some(Column::Harm),
            )],
        ),
        criterion(
            "drawn",
            "6.4",
            "Wireless paths: drawn networks and channels",
            Variant::Drawn,
            vec![
                received(),
                measure(
                    "Jain",
                    "",
                    "jain(delivered@judged)",
                    None,
                    Some(Column::Jain),
                ),
            ],
        ),
    ]
}

/// Why recordings cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is not a table of links.
    #[error("{}: {message}; expected a CSV file with a column `received` of digits, 1 for a packet that arrived and 0 for a lost one", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// No link is of use.
    #[error("{}: no recorded link loses between nothing and 30 %", .0.display())]
    None(PathBuf),
}

/// Recorded links as channels: a CSV file, or a directory of them. Patterns are written into `patterns`.
///
/// # Errors
/// If a file is no such table, or cannot be read or written.
pub fn recorded(path: &Path, patterns: &Path) -> Result<Criterion, RecordingError> {
    let links = read(path)?;
    let (found, step) = (links.len(), links.len().div_ceil(LINKS).max(1));
    let of_file = |source| RecordingError::File {
        path: patterns.to_owned(),
        source,
    };
    std::fs::create_dir_all(patterns).map_err(of_file)?;
    let patterns = std::path::absolute(patterns).map_err(of_file)?;
    let mut cases = Vec::new();
    for (number, link) in links.iter().step_by(step).enumerate() {
        let file = patterns.join(format!("link-{}.txt", number + 1));
        std::fs::write(&file, format!("{link}\n")).map_err(|source| RecordingError::File {
            path: file.clone(),
            source,
        })?;
        // Round trips of 20, 60 and 200 ms in turn; the buffer is one product of rate and round trip.
        let one_way = [10, 30, 100][number % 3];
        let mut set = toml::Table::new();
        let mut put = |key: &str, value: toml::Value| set.insert(key.to_owned(), value);
        for link in ["down", "up"] {
            put(
                &format!("link.{link}.delay"),
                format!("{one_way} ms").into(),
            );
        }
        put("link.down.queue.packets", (5 * one_way / 3).into());
        let channel = [
            ("kind", "pattern".to_owned()),
            ("file", file.to_string_lossy().into_owned()),
        ];
        let channel: toml::Table = channel
            .map(|(key, value)| (key.to_owned(), value.into()))
            .into_iter()
            .collect();
        put("link.down.channel", channel.into());
        cases.push(Case {
            name: format!("link {}", number + 1),
            x: None,
            scenario: PATH.to_owned(),
            file: "path.toml".to_owned(),
            set,
        });
    }
    if cases.is_empty() {
        return Err(RecordingError::None(path.to_owned()));
    }
    let mut note = String::new();
    let _ = write!(
        note,
        "{} of the {found} recorded links that lose at most 30 %, each replayed packet by packet as the channel of 10 Mbit/s, with a round trip of 20, 60 or 200 ms.",
        cases.len()
    );
    Ok(Criterion {
        id: "recorded".into(),
        section: "6.4".into(),
        title: "Wireless paths: recorded radios".into(),
        axis: String::new(),
        truth: true,
        carrier: None,
        many: true,
        cases,
        measures: vec![Measure {
            column: None,
            ..received()
        }],
        notes: vec![note],
    })
}

/// The patterns of all links that lose something, up to the most: 1 is a lost packet.
fn read(path: &Path) -> Result<Vec<String>, RecordingError> {
    let of_file = |path: &Path, source| RecordingError::File {
        path: path.to_owned(),
        source,
    };
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|source| of_file(path, source))?;
        files = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        files.retain(|file| file.extension().is_some_and(|known| known == "csv"));
        files.sort();
    }
    let mut links = Vec::new();
    for file in files {
        let form = |message: String| RecordingError::Form {
            path: file.clone(),
            message,
        };
        let text =
            whyloss_sim::scenario::read_file(&file).map_err(|source| of_file(&file, source))?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| form(error.to_string()))?;
        let column = headers.iter().position(|name| name == "received");
        let column = column.ok_or_else(|| form("it has no column `received`".into()))?;
        for (row, record) in reader.records().enumerate() {
            let record = record.map_err(|error| form(error.to_string()))?;
            let received = record.get(column).unwrap_or_default();
            if received.is_empty() || !received.bytes().all(|digit| matches!(digit, b'0' | b'1')) {
                return Err(form(format!(
                    "link {} has something else than 0 and 1",
                    row + 1
                )));
            }
            let lost = received.bytes().filter(|digit| *digit == b'0').count();
            let share = lost as f64 / received.len() as f64;
            if lost > 0 && share <= MOST_LOSS {
                let inverted = received
                    .bytes()
                    .map(|digit| if digit == b'0' { '1' } else { '0' });
                links.push(inverted.collect());
            }
        }
    }
    Ok(links)
}
