//! The tables and figures of published papers, as data.
//!
//! A paper is a folder: networks as scenario files, and a TOML file with an entry for each table
//! and figure, which says what is run, what is shown, what the paper states and what decides
//! whether that holds ([`Paper`]; `docs/guides/papers.md`). A task that only a program can do, such
//! as a look into a run, has a name there and stands in `probes`. Code that is not about papers is
//! in `whyloss-study`.
//!
//! ```
//! for experiment in whyloss_papers::all() {
//!     println!("{}: {}", experiment.id, experiment.title);
//! }
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
mod build;
mod form;
#[cfg(test)]
mod ns2_path;
#[cfg(test)]
mod ns2_wireless;
mod probes;

use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

pub use form::{FILE, Paper, PaperError, Printed};

use whyloss_study::Experiment;
use whyloss_study::report::summary::Why;

/// A file, as it was when this was compiled.
macro_rules! files {
    ($paper:literal, [$($file:literal),* $(,)?]) => {
        ($paper, &[$(($file, include_str!(concat!("../papers/", $paper, "/", $file)))),*])
    };
}

/// The papers in order of presentation: the folder of each, and its files.
static FILES: &[(&str, &[(&str, &str)])] = &[
    files!(
        "cen",
        [
            "paper.toml",
            "networks/wlh.toml",
            "networks/wb.toml",
            "networks/wlan.toml",
            "networks/pair.toml",
        ]
    ),
    files!(
        "mar",
        [
            "paper.toml",
            "networks/hybrid.toml",
            "networks/single.toml",
            "networks/mixture.toml",
            "networks/test-bed.toml",
            "networks/hops-1.toml",
            "networks/hops-2.toml",
            "networks/hops-3.toml",
            "networks/hops-5.toml",
        ]
    ),
    files!(
        "bal",
        [
            "paper.toml",
            "networks/hybrid.toml",
            "networks/shared.toml",
            "networks/on-off.toml",
            "networks/mixture.toml",
        ]
    ),
    files!(
        "mil",
        [
            "paper.toml",
            "networks/single.toml",
            "networks/multiple.toml"
        ]
    ),
    files!(
        "ela",
        [
            "paper.toml",
            "networks/section-6.toml",
            "networks/section-7.toml",
            "networks/section-8.toml",
            "networks/conclusion.toml",
            "networks/alone.toml",
            "networks/media-video.toml",
            "networks/media-voice.toml",
            "networks/scenario-1.toml",
            "networks/scenario-2.toml",
            "networks/scenario-3.toml",
            "networks/scenario-4.toml",
            "networks/scenario-5.toml",
        ]
    ),
];

/// A file of a paper; empty if there is none.
fn file(paper: &str, name: &str) -> &'static str {
    let files = FILES.iter().filter(|(of, _)| *of == paper);
    let mut files = files.flat_map(|(_, files)| *files);
    files
        .find(|(file, _)| *file == name)
        .map_or("", |file| file.1)
}

static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let paper = |(name, files): &(&str, &[(&str, &str)])| {
        let read = |file: &str| {
            let found = files.iter().find(|(known, _)| *known == file);
            let text = found.map(|(_, text)| (*text).to_owned());
            text.ok_or_else(|| format!("no file is called `{file}`"))
        };
        Paper::read(&format!("papers/{name}"), &read)
    };
    // A test reads them all.
    FILES.iter().filter_map(|files| paper(files).ok()).collect()
});

static EXPERIMENTS: LazyLock<Vec<Experiment>> =
    LazyLock::new(|| PAPERS.iter().flat_map(Paper::experiments).collect());

/// Papers of the user's own.
static OPENED: Mutex<Vec<&'static Paper>> = Mutex::new(Vec::new());

/// Opens the paper in a folder, checks all of it, and gives its experiments.
///
/// # Errors
/// As [`Paper::open`].
pub fn open(folder: &Path) -> Result<Vec<&'static Experiment>, PaperError> {
    let paper = Paper::open(folder)?;
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.push(paper);
    // It lives as long as its paper.
    let kept = |experiment| &*Box::leak(Box::new(experiment));
    Ok(paper.experiments().map(kept).collect())
}

/// Every paper that is known, the user's own last.
fn known() -> impl Iterator<Item = &'static Paper> {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    PAPERS.iter().chain(opened.clone())
}

/// Every experiment, in the order of presentation.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS.iter()
}

/// The papers, in the order of presentation.
pub fn papers() -> impl Iterator<Item = &'static Paper> {
    PAPERS.iter()
}

/// The paper that experiments of this name belong to.
pub fn paper(id: &str) -> Option<&'static Paper> {
    known().find(|paper| paper.id() == id)
}

/// The citation of a paper, by the name that its experiments begin with.
pub fn citation(id: &str) -> Option<&'static str> {
    Some(paper(id)?.citation())
}

/// How many experiments a paper has.
pub fn experiments(paper: &str) -> usize {
    self::paper(paper).map_or(0, |paper| paper.figures().count())
}

/// A figure as plans for `whyloss sweep`, its own first. `None` if there is no such figure.
///
/// # Errors
/// If no plan can say what it runs.
pub fn plans(id: &str) -> Option<Result<Vec<Printed>, PaperError>> {
    known().find_map(|paper| paper.plans(id))
}

/// The experiment of this id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.id == id)
}

/// Why a cell (`row, column`) or a claim (its id) of an experiment fails, if the cause is known.
pub fn reason(experiment: &str, what: &str) -> Option<Why> {
    known().find_map(|paper| paper.reason(experiment, what))
}

#[cfg(test)]
mod tests;
