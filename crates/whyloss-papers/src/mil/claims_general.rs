//! What the paper says of all schemes: RED is like FIFO, and fairness hardly changes.

use whyloss_study::{Check, Claim, Line, Metric};

use super::findings::{RATE, Study};
use super::network::{Queueing, Topology, Traffic};
use super::probe::Run;

const FAIRNESS: Metric<Run> = Metric::new("Jain's index", "", |run| Some(run.fairness));

/// MIL-50 and, where several flows share a link, MIL-51.
pub(crate) fn all(study: &Study) -> Vec<Claim> {
    let mut claims = vec![red_is_fifo(study)];
    if study.traffic != Traffic::Alone {
        claims.push(fairness(study));
    }
    claims
}

fn red_is_fifo(study: &Study) -> Claim {
    let changes = Topology::ALL.into_iter().flat_map(|topology| {
        study.pair().map(|variant| {
            let [fifo, red] =
                Queueing::ALL.map(|queueing| study.line(&RATE, topology, queueing, variant));
            let mut change = red.by_mean(
                &format!("RED over FIFO, {}, {}", variant.name, topology.name()),
                |per, red| 100.0 * (red / fifo.at(per).value - 1.0),
            );
            change.unit = "%";
            change
        })
    });
    let changes: Vec<Line> = changes.collect();
    let changes: Vec<&Line> = changes.iter().collect();
    Check::all(&changes, |change| change.every(|change| change.abs() <= 10.0)).claim(
        "MIL-50",
        "RED gives very similar throughput to FIFO (within 10 % for both variants, in both topologies, at every error rate)",
    )
}

fn fairness(study: &Study) -> Claim {
    let changes = Topology::ALL.map(|topology| {
        let [plain, lda] = study.both(&FAIRNESS, topology);
        let name = format!("change of Jain's index, {}", topology.name());
        lda.improvement(&plain).named(&name)
    });
    Check::of(changes.each_ref(), |changes| {
        changes.iter().all(|change| change.every(|change| (-3.0..=2.5).contains(&change)))
    })
    .claim(
        "MIL-51",
        "the LDA changes fairness (Jain's index of the forward flows) by −3 to +2.5 % at every error rate",
    )
}
