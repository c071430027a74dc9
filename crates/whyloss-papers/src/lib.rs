//! The tables and figures of published papers as programs.
//!
//! An experiment builds scenarios, runs them, and returns an [`Outcome`]: the paper's numbers beside ours, with a
//! verdict for every stated number and every qualitative claim. What is not a paper's is in `whyloss-study`.
#![forbid(unsafe_code)]

pub mod bal;
mod build;
pub mod cen;
pub mod ela;
pub mod mar;
pub mod mil;
mod ns2_of_2004;
#[cfg(test)]
mod ns2_path;
mod reasons;
mod variant;

pub use reasons::reason;

use whyloss_study::Experiment;

/// The experiments of each paper, in the papers' order.
static PAPERS: &[&[Experiment]] = &[
    cen::EXPERIMENTS,
    mar::EXPERIMENTS,
    bal::EXPERIMENTS,
    mil::EXPERIMENTS,
    ela::EXPERIMENTS,
];

/// Every experiment, in the order of presentation.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    PAPERS.iter().copied().flatten()
}

/// The experiment of this id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_begin_with_their_paper() {
        let mut ids: Vec<_> = all().map(|experiment| experiment.id).collect();
        for experiment in all() {
            assert_eq!(find(experiment.id).map(|e| e.id), Some(experiment.id));
            assert!(
                experiment.id.starts_with(experiment.paper),
                "{}",
                experiment.id
            );
            assert!(experiment.seeds > 0, "{}", experiment.id);
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        assert!(find("no-such-id").is_none());
    }
}
