//! Simulation against reality: one command that makes every table of
//! `docs/evidence/data/reality.txt`.
//!
//! Each table runs this program again: emulated links in namespaces of their own, with commands at
//! their ends. Nothing leaves them. A table has checks, which hold or not; limits were fixed before
//! the first run.

#![expect(clippy::too_many_lines, reason = "a table is made from top to bottom")]

mod classifiers;
mod damage;
mod diagnosis;
mod faults;
pub mod flood;
mod jobs;
mod tcp;
mod timing;
mod ways;
mod web;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::endpoint::arrivals;

/// Where and how the tables are made.
#[derive(Clone, Debug)]
pub struct Bench {
    /// This program.
    pub program: PathBuf,
    /// A directory for logs, which may be filled with some gigabytes.
    pub scratch: PathBuf,
    /// Shorter runs, and fewer: what continuous integration does.
    pub quick: bool,
}

/// A table, or why there is none.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// How it was made.
    pub about: String,
    /// Names of columns.
    pub head: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
    /// What must hold.
    pub checks: Vec<Check>,
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub struct Check {
    /// What.
    pub what: String,
    /// Whether it does.
    pub held: bool,
    /// Whether it may fail for no other reason than that the machine has something else to do.
    pub needs_quiet: bool,
}

/// Why a table could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RealityError {
    /// Something could not be read, written or started.
    #[error("{what}: {source}")]
    Io {
        /// What.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// A run behind a link failed.
    #[error("`{command}` ended with {code}: {said}")]
    Command {
        /// What was run.
        command: String,
        /// Its exit code.
        code: i32,
        /// What it said.
        said: String,
    },
    /// A result is not what it should be.
    #[error("{0}")]
    Result(String),
}

/// Makes a table.
pub type Maker = fn(&Bench) -> Result<Table, RealityError>;

/// The tables, in order.
pub const TABLES: [(&str, Maker); 10] = [
    ("timing", timing::timing),
    ("tcp", tcp::tcp),
    ("diagnosis", diagnosis::diagnosis),
    ("classifiers", classifiers::classifiers),
    ("clocks", classifiers::clocks),
    ("damage", damage::damage),
    ("web", web::web),
    ("ways", ways::ways),
    ("traces", faults::outage),
    ("faults", faults::faults),
];

impl Table {
    fn new(id: &'static str, title: &str, about: &str, head: &[&str]) -> Self {
        Self {
            id,
            title: title.into(),
            about: about.into(),
            head: head.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    fn check(&mut self, what: String, held: bool) {
        self.checks.push(Check {
            what,
            held,
            needs_quiet: false,
        });
    }

    fn check_when_quiet(&mut self, what: String, held: bool) {
        self.checks.push(Check {
            what,
            held,
            needs_quiet: true,
        });
    }

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}\n\n", self.title, self.about);
        if !self.rows.is_empty() {
            let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            text += &row(&self.head);
            text += &row(&vec!["---".to_owned(); self.head.len()]);
            for cells in &self.rows {
                text += &row(cells);
            }
            text.push('\n');
        }
        for check in &self.checks {
            let _ = writeln!(
                text,
                "- {}: {}",
                if check.held { "holds" } else { "**FAILS**" },
                check.what
            );
        }
        text
    }
}

impl Bench {
    fn directory(&self, name: &str) -> Result<PathBuf, RealityError> {
        let path = self.scratch.join(name);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(failed(&path))?;
        }
        fs::create_dir_all(&path).map_err(failed(&path))?;
        Ok(path)
    }

    /// This program, as a shell writes it.
    fn shell(&self) -> String {
        quoted(&self.program)
    }
}

/// A path in a shell command.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RealityError {
    let what = path.display().to_string();
    move |source| RealityError::Io { what, source }
}

/// The last line of a file of JSON Lines.
fn last_line(path: &Path) -> Result<serde_json::Value, RealityError> {
    let text = fs::read_to_string(path).map_err(failed(path))?;
    let line = text.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|error| failed(path)(error.into()))
}

fn json(path: &Path) -> Result<serde_json::Value, RealityError> {
    let text = fs::read_to_string(path).map_err(failed(path))?;
    serde_json::from_str(&text).map_err(|error| failed(path)(error.into()))
}

fn number(value: &serde_json::Value, path: &[&str]) -> Result<f64, RealityError> {
    let found = path.iter().fold(value, |value, key| &value[*key]);
    found
        .as_f64()
        .ok_or_else(|| RealityError::Result(format!("no number at {}", path.join("."))))
}

fn arrivals_of(path: &Path) -> Result<Vec<arrivals::Line>, RealityError> {
    let file = fs::File::open(path).map_err(failed(path))?;
    arrivals::read(io::BufReader::new(file)).map_err(failed(path))
}

/// The mean of some numbers; 0 of none.
fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// A page of tables, with what the machine was.
pub fn page(tables: &[(Table, String)]) -> String {
    let mut text = String::from(
        "# Simulation against reality\n\nMade by `whyloss reality --out docs/evidence/data/reality.txt` (as root; iperf3, curl and python3 installed). Everything runs in \
         network namespaces; the links between them are `whyloss link`'s. Limits were fixed before the first run; what does \
         not hold is shown as failing.\n\n",
    );
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _ = writeln!(text, "Linux {}, {cores} cores.\n", kernel.trim());
    for (table, load) in tables {
        text += &table.markdown();
        let _ = writeln!(
            text,
            "\nLoad of the machine (runnable processes, mean of a minute) before and after: {load}.\n"
        );
    }
    text
}
