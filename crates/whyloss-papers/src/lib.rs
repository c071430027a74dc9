//! The tables and figures of published papers, as data.
//!
//! A paper is a directory: networks as scenario files, and a TOML file with an entry for each table
//! and figure. An entry defines the runs, the results to show, the paper's statements and the rules
//! that decide them ([`Paper`]; `docs/guides/papers.md`). Tasks that need a program, such as
//! inspecting a run, are in `probes` and have names there. Code that is not about papers is in
//! `whyloss-study`.
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

/// Embeds files at compile time.
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

/// Returns a file of a paper; empty if there is none.
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
    // A test checks that all papers can be read.
    FILES.iter().filter_map(|files| paper(files).ok()).collect()
});

static EXPERIMENTS: LazyLock<Vec<Experiment>> =
    LazyLock::new(|| PAPERS.iter().flat_map(Paper::experiments).collect());

/// Papers that the user opened.
static OPENED: Mutex<Vec<&'static Paper>> = Mutex::new(Vec::new());

/// Opens the paper in a directory, checks all of it, and returns its experiments.
///
/// # Errors
/// Returns the errors of [`Paper::open`].
pub fn open(folder: &Path) -> Result<Vec<&'static Experiment>, PaperError> {
    let paper = Paper::open(folder)?;
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.push(paper);
    // The experiment lives as long as its paper.
    let kept = |experiment| &*Box::leak(Box::new(experiment));
    Ok(paper.experiments().map(kept).collect())
}

/// Returns every known paper, the user's own last.
fn known() -> impl Iterator<Item = &'static Paper> {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    PAPERS.iter().chain(opened.clone())
}

/// Returns every built-in experiment, in the order of presentation.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS.iter()
}

/// Returns the built-in papers, in the order of presentation.
pub fn papers() -> impl Iterator<Item = &'static Paper> {
    PAPERS.iter()
}

/// Returns the paper with this id; `None` for an unknown id.
pub fn paper(id: &str) -> Option<&'static Paper> {
    known().find(|paper| paper.id() == id)
}

/// Returns the citation of the paper with this id; `None` for an unknown id.
pub fn citation(id: &str) -> Option<&'static str> {
    Some(paper(id)?.citation())
}

/// Returns the number of experiments of a paper.
pub fn experiments(paper: &str) -> usize {
    self::paper(paper).map_or(0, |paper| paper.figures().count())
}

/// Returns a figure as plans for `whyloss sweep`, its own plan first; `None` for an unknown id.
///
/// # Errors
/// Returns an error if the figure is a program, which no plan can describe.
pub fn plans(id: &str) -> Option<Result<Vec<Printed>, PaperError>> {
    known().find_map(|paper| paper.plans(id))
}

/// Returns the experiment with this id; `None` for an unknown id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.id == id)
}

/// Returns why a cell (`row, column`) or a claim (its id) of an experiment fails; `None` if the
/// cause is not known.
pub fn reason(experiment: &str, what: &str) -> Option<Why> {
    known().find_map(|paper| paper.reason(experiment, what))
}

#[cfg(test)]
mod tests;
