//! Section 6.2: Westwood and WestwoodLDA.

use super::findings::{PERS, Study, short};
use super::network::Topology::{Multiple, Single};
use super::probe::Run;
use super::shape::{correlation, peak, trough};
use crate::Claim;

/// MIL-40, -41 and -42: Fig. 6.
pub(crate) fn scenario_1(study: &Study) -> Vec<Claim> {
    let single = study.improvements(Single, &PERS);
    let multiple = study.improvements(Multiple, &PERS);
    let evidence = [Single, Multiple].map(|topology| study.evidence(topology, &PERS));
    let rate: fn(&Run) -> f64 = |run| run.ack_rate;
    let longer = |per: &u32| {
        study.plain(rate, Multiple, *per) < study.plain(rate, Single, *per)
            && study.lda(rate, Multiple, *per) < study.lda(rate, Single, *per)
    };
    let inverse = correlation(&single, &multiple);
    vec![
        Claim::new(
            "MIL-40a",
            "single: the LDA gains at .01, more than at any other rate",
            single[0] > 0.0 && peak(&PERS, &single) == Some(1),
            evidence[0].clone(),
        ),
        Claim::new(
            "MIL-40b",
            "single: it loses after .02, at every rate",
            single[2..].iter().all(|&improvement| improvement < 0.0),
            evidence[0].clone(),
        ),
        Claim::new(
            "MIL-40c",
            "single: it loses most at .08",
            single[7] < 0.0 && trough(&PERS, &single) == Some(8),
            evidence[0].clone(),
        ),
        Claim::new(
            "MIL-40d",
            "multiple: it loses most at .04",
            multiple[3] < 0.0 && trough(&PERS, &multiple) == Some(4),
            evidence[1].clone(),
        ),
        Claim::new(
            "MIL-40e",
            "multiple: it gains most at .08",
            multiple[7] > 0.0 && peak(&PERS, &multiple) == Some(8),
            evidence[1].clone(),
        ),
        Claim::new(
            "MIL-40f",
            "the two topologies are almost inverted (correlation of their improvements below 0)",
            inverse < 0.0,
            format!("correlation {inverse:.2}"),
        ),
        Claim::new(
            "MIL-41",
            "AckdInterval is longer over three bottlenecks than over one, for both variants at every rate",
            PERS.iter().all(longer),
            format!(
                "acknowledgements per second, single {}; multiple {}",
                study.both(rate, Single, &PERS),
                study.both(rate, Multiple, &PERS)
            ),
        )
        .foregone(),
        never_more(study),
    ]
}

/// MIL-42: the LDA variant of a scheme that adapts to the network never has "more congestion packet losses" than its
/// original: losses that it takes for congestion, as the original takes all.
pub(crate) fn never_more(study: &Study) -> Claim {
    let events: fn(&Run) -> f64 = |run| run.noc;
    let more = |topology| {
        PERS.into_iter()
            .any(|per| study.lda(events, topology, per) > study.plain(events, topology, per))
    };
    Claim::new(
        "MIL-42",
        "the LDA variant never has more congestion events than the original, in neither topology",
        !more(Single) && !more(Multiple),
        format!(
            "single {}; multiple {}",
            study.both(events, Single, &PERS),
            study.both(events, Multiple, &PERS)
        ),
    )
}

/// Table 2: the ratio of events.
pub(crate) fn fewer(study: &Study) -> Vec<Claim> {
    let events: fn(&Run) -> f64 = |run| run.noc;
    let pers = [1, 8];
    vec![Claim::new(
        "MIL-42",
        "WestwoodLDA has fewer congestion events than Westwood at .01 and .08",
        pers.iter()
            .all(|&per| study.lda(events, Single, per) < study.plain(events, Single, per)),
        study.both(events, Single, &pers),
    )]
}

/// Table 3.
pub(crate) fn much_fewer(study: &Study) -> Vec<Claim> {
    let events: fn(&Run) -> f64 = |run| run.noc;
    let pers = [4, 8];
    let less_prone = pers.iter().all(|&per| {
        study.plain(events, Multiple, per) < study.plain(events, Single, per)
            && study.lda(events, Multiple, per) < study.lda(events, Single, per)
    });
    vec![
        Claim::new(
            "MIL-42",
            "WestwoodLDA has fewer congestion events than Westwood at .04 and .08",
            pers.iter()
                .all(|&per| study.lda(events, Multiple, per) < study.plain(events, Multiple, per)),
            study.both(events, Multiple, &pers),
        ),
        Claim::new(
            "MIL-42b",
            "three bottlenecks see fewer congestion events than one, for both variants at .04 and .08",
            less_prone,
            format!(
                "single {}; multiple {}",
                study.both(events, Single, &pers),
                study.both(events, Multiple, &pers)
            ),
        )
        .foregone(),
    ]
}

/// MIL-43 and -44: Fig. 7.
pub(crate) fn scenario_2(study: &Study) -> Vec<Claim> {
    let single = study.improvements(Single, &PERS);
    let multiple = study.improvements(Multiple, &PERS);
    let evidence = [Single, Multiple].map(|topology| study.evidence(topology, &PERS));
    let average = single[..8].iter().sum::<f64>() / 8.0;
    let rate: fn(&Run) -> f64 = |run| run.ack_rate;
    let longer = |per: &u32| study.lda(rate, Multiple, *per) < study.lda(rate, Single, *per);
    vec![
        Claim::new(
            "MIL-43a",
            "single: a general but very small improvement (positive on average from .01 to .08, never above 3 %)",
            average > 0.0 && single.iter().all(|&improvement| improvement <= 3.0),
            format!("average {average:+.1} %; {}", evidence[0]),
        ),
        Claim::new(
            "MIL-43b",
            "single: the benefit ends at .09 (no improvement there)",
            single[8] <= 0.0,
            evidence[0].clone(),
        ),
        Claim::new(
            "MIL-43c",
            "multiple: the LDA loses above .07 (at .08 and .09)",
            multiple[7] < 0.0 && multiple[8] < 0.0,
            evidence[1].clone(),
        ),
        Claim::new(
            "MIL-43d",
            "multiple: Fig. 7b is the inverse of Fig. 6b, which gains most at .08 (here the least is at .08 or .09)",
            trough(&PERS, &multiple).is_some_and(|per| per >= 8),
            evidence[1].clone(),
        ),
        Claim::new(
            "MIL-41b",
            "AckdInterval is longer over three bottlenecks than over one here, too, at every rate",
            PERS.iter().all(longer),
            format!(
                "LDA, acknowledgements per second, single {}; multiple {}",
                PERS.map(|per| short(study.lda(rate, Single, per)))
                    .join(" "),
                PERS.map(|per| short(study.lda(rate, Multiple, per)))
                    .join(" ")
            ),
        )
        .foregone(),
    ]
}
