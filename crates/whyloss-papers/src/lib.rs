//! The tables and figures of published papers as programs.
//!
//! An experiment builds scenarios, runs them, and returns an [`Outcome`](whyloss_study::Outcome): the paper's numbers beside ours, with a
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

/// The citation of a paper, by the name that its experiments begin with.
pub fn citation(paper: &str) -> Option<&'static str> {
    CITATIONS
        .iter()
        .find(|(id, _)| *id == paper)
        .map(|&(_, citation)| citation)
}

/// How many experiments a paper has.
pub fn experiments(paper: &str) -> usize {
    all().filter(|experiment| experiment.paper == paper).count()
}

/// The papers in order, by the names that their experiments begin with.
pub fn papers() -> impl Iterator<Item = &'static str> {
    CITATIONS.iter().map(|&(id, _)| id)
}

const CITATIONS: [(&str, &str); 5] = [
    (
        "cen",
        "S. Cen, P. C. Cosman, G. M. Voelker: End-to-end differentiation of congestion and wireless losses. Multimedia Computing and Networking (MMCN), 2002.",
    ),
    (
        "mar",
        "F. Martignon, L. Fratta: Loss differentiation schemes for TCP over wireless networks. 2005.",
    ),
    (
        "bal",
        "T.-A. Le, C. S. Hong: TCP BaLDE for improving TCP performance over heterogeneous networks. IEICE Transactions on Communications E89-B(4), 2006.",
    ),
    (
        "mil",
        "A. Milenkoski, B. Stojcevska: Loss differentiation algorithms vs. congestion control schemes: dynamics and performance. 2010.",
    ),
    (
        "ela",
        "H. ElAarag, A. Moedinger, C. Hogg: TCP friendly protocols for media streams over heterogeneous wired–wireless networks. Computer Communications 31(10), 2008.",
    ),
];

/// The experiment of this id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_is_cited() {
        let mut of_experiments: Vec<_> = all().map(|experiment| experiment.paper).collect();
        of_experiments.dedup();
        assert_eq!(of_experiments, papers().collect::<Vec<_>>());
        assert_eq!(papers().map(experiments).sum::<usize>(), all().count());
    }

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
