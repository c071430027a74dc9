//! What the paper says of all schemes: RED is like FIFO, and fairness hardly changes.

use super::findings::{PERS, Study, short};
use super::network::{Queueing, Topology, Traffic};
use crate::Claim;

/// MIL-50 and, where several flows share a link, MIL-51.
pub(crate) fn all(study: &Study) -> Vec<Claim> {
    let mut claims = Vec::new();
    if Queueing::ALL.len() > 1 {
        claims.push(red_is_fifo(study));
    }
    if study.traffic != Traffic::Alone {
        claims.push(fairness(study));
    }
    claims
}

fn red_is_fifo(study: &Study) -> Claim {
    let mut worst = (0.0_f64, String::new());
    for topology in Topology::ALL {
        for per in PERS {
            for variant in [&study.scheme.plain, &study.scheme.lda] {
                let mean = |queueing| {
                    let setting = study.setting(topology, queueing, per);
                    let summary = study
                        .findings
                        .summary(|run| run.throughput, setting, variant.id);
                    summary.mean.unwrap_or(f64::NAN)
                };
                let [fifo, red] =
                    [Queueing::ALL[0], Queueing::ALL[Queueing::ALL.len() - 1]].map(mean);
                let change = 100.0 * (red / fifo - 1.0);
                if change.is_nan() || change.abs() > worst.0.abs() {
                    worst = (
                        change,
                        format!("{}, {}, .0{per}", variant.name, topology.name()),
                    );
                }
            }
        }
    }
    Claim::new(
        "MIL-50",
        "RED gives very similar throughput to FIFO (within 10 % for both variants, in both topologies, at every error rate)",
        worst.0.abs() <= 10.0,
        format!("the largest change is {:+.1} %: {}", worst.0, worst.1),
    )
}

fn fairness(study: &Study) -> Claim {
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    let mut parts = Vec::new();
    for topology in Topology::ALL {
        let changes = PERS.map(|per| study.change(|run| run.fairness, topology, per));
        for change in changes {
            if change.is_nan() {
                range = (f64::NAN, f64::NAN);
            } else if !range.0.is_nan() {
                range = (range.0.min(change), range.1.max(change));
            }
        }
        let listed = changes.map(|change| format!("{change:+.1}")).join(" ");
        parts.push(format!("{}: {listed}", topology.name()));
    }
    Claim::new(
        "MIL-51",
        "the LDA changes fairness (Jain's index of the forward flows) by −3 to +2.5 % at every error rate",
        range.0 >= -3.0 && range.1 <= 2.5,
        format!(
            "{} to {} %; {}",
            short(range.0),
            short(range.1),
            parts.join("; ")
        ),
    )
}
