//! Compares simulations with reality: one command makes every table of
//! `docs/evidence/data/reality.txt`.
//!
//! Each table runs this program again, with emulated links in separate namespaces and commands at
//! their ends. No packet leaves the namespaces. A table has checks with limits that were fixed
//! before the first run.

#![expect(clippy::too_many_lines, reason = "a table is made from top to bottom")]

mod classifiers;
mod damage;
mod diagnosis;
mod faults;
pub mod flood;
mod jobs;
mod proxy;
mod tcp;
mod timing;
mod tolerance;
mod ways;
mod web;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::endpoint::arrivals;

/// The settings for making [`TABLES`].
#[derive(Clone, Debug)]
pub struct Bench {
    /// The path of this program.
    pub program: PathBuf,
    /// A directory for logs, which may take some gigabytes.
    pub scratch: PathBuf,
    /// Whether to make fewer and shorter runs, as continuous integration does.
    pub quick: bool,
}

/// A table of measurements with its checks.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The table's name on the command line.
    pub id: &'static str,
    /// The title of the table.
    pub title: String,
    /// A description of the runs behind the table.
    pub about: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// The conditions that must hold.
    pub checks: Vec<Check>,
}

/// A condition that must hold.
#[derive(Clone, Debug)]
pub struct Check {
    /// The condition that was checked, in words.
    pub what: String,
    /// Whether the condition holds.
    pub held: bool,
    /// Whether the check may fail only because the machine is busy.
    pub needs_quiet: bool,
}

/// Explains why a table could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RealityError {
    /// A file or a process failed.
    #[error("{what}: {source}")]
    Io {
        /// The file or process that failed.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A run behind a link failed.
    #[error("`{command}` ended with {code}: {said}")]
    Command {
        /// The command that was run.
        command: String,
        /// The exit code of the command.
        code: i32,
        /// The output of the command.
        said: String,
    },
    /// A result has an unexpected form.
    #[error("{0}")]
    Result(String),
}

/// A function that makes a table.
pub type Maker = fn(&Bench) -> Result<Table, RealityError>;

/// The names and makers of all tables, in order.
pub const TABLES: [(&str, Maker); 12] = [
    ("timing", timing::timing),
    ("proxy", proxy::proxy),
    ("tcp", tcp::tcp),
    ("diagnosis", diagnosis::diagnosis),
    ("classifiers", classifiers::classifiers),
    ("tolerance", tolerance::tolerance),
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

    /// Returns the table as Markdown.
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

    /// Returns the path of this program, quoted for a shell.
    fn shell(&self) -> String {
        quoted(&self.program)
    }
}

/// Returns a path, quoted for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RealityError {
    let what = path.display().to_string();
    move |source| RealityError::Io { what, source }
}

/// Returns the last line of a file of JSON Lines.
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

/// Returns the mean of numbers; 0 if there are none.
fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// Returns a page of tables with a description of the machine.
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
