//! Writes outcomes as text, JSON, CSV, SVG, or one page with everything.
//!
//! | for | function | output |
//! |---|---|---|
//! | the terminal | [`table::render`] | standard output |
//! | the terminal, after several experiments | [`summary::render`] | standard output |
//! | programs | [`json::render`]: one object per experiment, one per line | standard output |
//! | spreadsheets | [`csv::render`]: one row per measured value | `<experiment>.csv` |
//! | papers and talks | [`svg::render`]: one picture per figure | `<figure>.svg` |
//! | reading | [`html::render`]: everything on one offline page | `index.html` |
//! | runs and comparisons | [`page::Page`]: texts, tables and figures | `index.html` |
//!
//! Equal outcomes give equal bytes: nothing here reads a clock, a locale or the terminal.

pub mod csv;
mod grid;
pub use grid::place;
pub mod html;
pub mod json;
mod live;
pub mod markdown;
pub mod page;
mod score;
pub mod summary;
pub mod svg;
pub mod table;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use whyloss_sim::output::{self, OutputError, Whole};

use crate::{Figure, Look, Outcome, Series, Sign};

/// Explains why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The directory is missing and cannot be created.
    #[error("cannot make the directory `{}`: {source}", path.display())]
    Directory {
        /// The path of the directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The directory exists but is not writable.
    #[error("cannot write into the directory `{}`: {source}", path.display())]
    Closed {
        /// The path of the directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl ReportError {
    /// Returns the error of the system.
    pub fn reason(&self) -> &io::Error {
        match self {
            Self::Directory { source, .. }
            | Self::Closed { source, .. }
            | Self::Write { source, .. } => source,
        }
    }
}

impl From<OutputError> for ReportError {
    fn from(OutputError { path, source }: OutputError) -> Self {
        Self::Write { path, source }
    }
}

/// Creates `dir` and checks that it is writable, so that hours of simulation do not end with
/// "permission denied".
///
/// # Errors
///
/// Returns [`ReportError`] if the directory cannot be created or written.
pub fn prepare(dir: &Path) -> Result<(), ReportError> {
    output::create_directory(dir).map_err(|error| ReportError::Directory {
        path: error.path,
        source: error.source,
    })?;
    output::probe(dir).map_err(closed)
}

/// [Prepares](prepare) `dir` for a run that owns it: removes only the files that an earlier run
/// wrote.
///
/// # Errors
///
/// Returns the errors of [`prepare`], or fails if a file cannot be removed.
pub fn renew(dir: &Path) -> Result<(), ReportError> {
    prepare(dir)?;
    output::renew(dir).map_err(closed)
}

fn closed(OutputError { path, source }: OutputError) -> ReportError {
    ReportError::Closed { path, source }
}

/// Formats a count with its noun: "1 network", "3 networks".
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Looks up the citation of a paper by the prefix of its experiments, such as `cen`; `None` if the
/// paper is unknown.
pub type Citation = fn(paper: &str) -> Option<&'static str>;

/// Writes `<experiment>.csv` and each `<figure>.svg` of an outcome into `dir`.
///
/// Each file appears completely or not at all, and replaces a file of the same name.
///
/// # Errors
///
/// Returns [`ReportError::Write`] for the first file that cannot be written.
pub fn write_outcome(dir: &Path, outcome: &Outcome) -> Result<(), ReportError> {
    write(dir, &format!("{}.csv", outcome.id), &csv::render(outcome))?;
    for figure in &drawn(outcome) {
        write(dir, &format!("{}.svg", figure.name), &svg::render(figure))?;
    }
    Ok(())
}

/// Returns the figures of an outcome, with the paper's values as points next to the measured ones.
fn drawn(outcome: &Outcome) -> Vec<Figure> {
    let mut figures = outcome.figures.clone();
    for panel in figures.iter_mut().flat_map(|figure| &mut figure.panels) {
        let cell_at = |series: &Series, x: f64, y: f64| {
            outcome.cells.iter().find(move |cell| {
                cell.column == series.name && cell.x == Some(x) && cell.mean == Some(y)
            })
        };
        let lines = panel.series.iter();
        let stated = lines.flat_map(|series| {
            let points = series.points.iter();
            points.filter_map(move |&(x, y, _)| Some((x, cell_at(series, x, y)?.paper?)))
        });
        let stated: Vec<(f64, f64)> = stated.collect();
        if !stated.is_empty() {
            let sign = Sign {
                colour: Sign::INK,
                shape: Sign::STAR,
            };
            panel.series.push(Series::new(
                "stated in the paper",
                Look::Signs(sign),
                stated,
            ));
        }
    }
    figures
}

/// Writes `index.html` with all outcomes into `dir`, completely or not at all.
///
/// # Errors
///
/// Returns [`ReportError::Write`] if the file cannot be written.
pub fn write_page(dir: &Path, outcomes: &[Outcome], citation: Citation) -> Result<(), ReportError> {
    write(dir, "index.html", &html::render(outcomes, citation))
}

/// Writes `series.json`, which holds the figures' data for other tools.
///
/// # Errors
///
/// Returns [`ReportError::Write`] if the file cannot be written.
pub fn write_series(dir: &Path, figures: &[Figure]) -> Result<(), ReportError> {
    write(dir, "series.json", &format!("{}\n", live::json(figures)))
}

/// Writes one file into `dir`, completely or not at all, and lists it for removal by the next run.
///
/// # Errors
///
/// Returns [`ReportError::Write`] if the file cannot be written.
pub fn write(dir: &Path, name: &str, contents: &str) -> Result<(), ReportError> {
    write_with(dir, name, |file| file.write_all(contents.as_bytes()))
}

/// Streams one file into `dir`, completely or not at all, so that it need not fit in memory.
///
/// # Errors
///
/// Returns [`ReportError::Write`] if the file cannot be written.
pub fn write_with(
    dir: &Path,
    name: &str,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ReportError> {
    output::note(dir, [name])?;
    let path = dir.join(name);
    let written = Whole::create(&path).and_then(|mut whole| {
        let mut file = BufWriter::new(&mut whole);
        contents(&mut file)?;
        file.flush()?;
        drop(file);
        whole.finish()
    });
    written.map_err(|source| ReportError::Write { path, source })
}

#[cfg(test)]
pub(crate) mod example;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A separate directory for each test, removed when dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("whyloss-report-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write_examples(dir: &Path) {
        let outcomes = [example::table(), example::figure()];
        for outcome in &outcomes {
            write_outcome(dir, outcome).expect("files");
        }
        write_page(dir, &outcomes, |_| None).expect("a page");
    }

    #[test]
    fn writes_every_file_and_leaves_nothing_else() {
        let scratch = Scratch::new("all");
        let dir = scratch.0.join("new/nested");
        prepare(&dir).expect("a writable directory");
        write_examples(&dir);
        write_examples(&dir);
        let mut names: Vec<_> = fs::read_dir(&dir)
            .expect("the directory")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                ".whyloss-files",
                "example-fig-1-bars.svg",
                "example-fig-1.csv",
                "example-fig-1.svg",
                "example-table-1.csv",
                "index.html"
            ]
        );
    }

    /// Writes a report to `target/example-report` for inspection: `cargo test -p whyloss-study --
    /// --ignored draws_the_examples`.
    #[test]
    #[ignore = "writes a report to look at"]
    fn draws_the_examples() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/example-report");
        prepare(&dir).expect("a writable directory");
        write_examples(&dir);
    }

    #[test]
    fn what_a_paper_states_is_drawn() {
        let mut outcome = example::figure();
        let cell = outcome.cells.iter_mut().find(|cell| cell.x.is_some());
        let cell = cell.expect("a figure's cell");
        (cell.mean, cell.paper) = (Some(4.25), Some(5.0));
        let x = cell.x.expect("a place");
        let line = Series::new(&cell.column, Look::Line, [(x, 4.25), (x + 1.0, 7.0)]);
        outcome.figures[0].panels[0].series = vec![line];
        let figures = drawn(&outcome);
        assert_eq!(figures[0].panels[0].series[1].points, [(x, 5.0, None)]);
    }

    #[test]
    fn a_file_in_place_of_the_directory_is_refused_by_name() {
        let scratch = Scratch::new("file");
        fs::write(&scratch.0, "not a directory").expect("a file");
        let error = prepare(&scratch.0.join("below")).expect_err("no directory below a file");
        assert!(error.to_string().contains("below"), "{error}");
        fs::remove_file(&scratch.0).expect("the file");
    }

    #[test]
    fn a_failed_write_leaves_no_temporary_file() {
        let scratch = Scratch::new("failed");
        // A directory in the place of the page makes the rename fail after the temporary file is
        // written.
        fs::create_dir_all(scratch.0.join("index.html/full")).expect("a directory");
        let error = write_page(&scratch.0, &[], |_| None).expect_err("a directory is in the way");
        assert!(error.to_string().contains("index.html"), "{error}");
        let names = fs::read_dir(&scratch.0).expect("the directory");
        let names = names.map(|entry| entry.expect("an entry").file_name());
        let left = names.filter(|name| name.to_string_lossy().ends_with(".tmp"));
        assert_eq!(left.count(), 0);
    }
}
