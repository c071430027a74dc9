//! The tables and figures of published papers, as data.
//!
//! A paper is a folder: networks as scenario files, and a TOML file with an entry for each table and figure, which says what is
//! run, what is shown, what the paper states and what decides whether that holds ([`Paper`]; `docs/papers.md`). What only a
//! program can do, such as a look into a run, has a name there and stands in `probes`. What is not a paper's is in
//! `whyloss-study`.
#![forbid(unsafe_code)]

mod build;
mod cen;
mod ela;
mod form;
mod mar;
mod ns2_of_2004;
#[cfg(test)]
mod ns2_path;
mod probes;
mod variant;

use std::sync::LazyLock;

pub use form::{FILE, Paper, PaperError};

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
    files!("cen", ["paper.toml"]),
    files!("mar", ["paper.toml"]),
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
    files!("ela", ["paper.toml"]),
];

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
    PAPERS.iter().find(|paper| paper.id() == id)
}

/// The citation of a paper, by the name that its experiments begin with.
pub fn citation(id: &str) -> Option<&'static str> {
    Some(paper(id)?.citation())
}

/// How many experiments a paper has.
pub fn experiments(paper: &str) -> usize {
    all().filter(|experiment| experiment.paper == paper).count()
}

/// The experiment of this id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.id == id)
}

/// Why a cell (`row, column`) or a claim (its id) of an experiment fails, if the cause is known.
pub fn reason(experiment: &str, what: &str) -> Option<Why> {
    paper(find(experiment)?.paper)?.reason(experiment, what)
}

#[cfg(test)]
mod tests;
