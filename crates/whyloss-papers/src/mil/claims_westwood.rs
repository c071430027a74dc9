//! Section 6.2: Westwood and WestwoodLDA.

use whyloss_study::{Check, Claim, Line, Metric};

use super::findings::{NOC, Study, at};
use super::network::Topology::Single;
use super::probe::Run;

/// The reciprocal of the mean AckdInterval.
const ACK_RATE: Metric<Run> =
    Metric::new("acknowledgements per second", "", |run| Some(run.ack_rate));

/// Whether the one's mean is below the other's wherever it has one.
pub(crate) fn below(line: &Line, other: &Line) -> bool {
    line.means()
        .all(|(per, mean)| mean.value < other.at(per).value)
}

/// MIL-40, -41 and -42: Fig. 6.
pub(crate) fn scenario_1(study: &Study) -> Vec<Claim> {
    let [single, multiple] = study.improvements();
    let rates = study.all_four(&ACK_RATE);
    vec![
        Check::of([&single], |[line]| line.at(1.0).value > 0.0 && line.peak() == Some(1.0)).claim(
            "MIL-40a",
            "single: the LDA gains at .01, more than at any other rate",
        ),
        Check::of([&single], |[line]| line.only(|per| per > 2.0).every(|gain| gain < 0.0))
            .claim("MIL-40b", "single: it loses after .02, at every rate"),
        Check::of([&single], |[line]| line.at(8.0).value < 0.0 && line.trough() == Some(8.0))
            .claim("MIL-40c", "single: it loses most at .08"),
        Check::of([&multiple], |[line]| line.at(4.0).value < 0.0 && line.trough() == Some(4.0))
            .claim("MIL-40d", "multiple: it loses most at .04"),
        Check::of([&multiple], |[line]| line.at(8.0).value > 0.0 && line.peak() == Some(8.0))
            .claim("MIL-40e", "multiple: it gains most at .08"),
        Check::of([&single, &multiple], |[single, multiple]| single.correlation(multiple) < 0.0)
            .claim(
                "MIL-40f",
                "the two topologies are almost inverted (correlation of their improvements below 0)",
            ),
        Check::of(rates.each_ref(), |[plain, lda, plain_3, lda_3]| {
            below(plain_3, plain) && below(lda_3, lda)
        })
        .claim(
            "MIL-41",
            "AckdInterval is longer over three bottlenecks than over one, for both variants at every rate",
        )
        .foregone(),
        never_more(study),
    ]
}

/// MIL-42: the LDA variant of a scheme that adapts to the network never has "more congestion packet losses" than its
/// original: losses that it takes for congestion, as the original takes all.
pub(crate) fn never_more(study: &Study) -> Claim {
    let four = study.all_four(&NOC);
    let more = |lda: &Line, plain: &Line| {
        lda.means()
            .any(|(per, lda)| lda.value > plain.at(per).value)
    };
    Check::of(four.each_ref(), |[plain, lda, plain_3, lda_3]| {
        !more(lda, plain) && !more(lda_3, plain_3)
    })
    .claim(
        "MIL-42",
        "the LDA variant never has more congestion events than the original, in neither topology",
    )
}

/// Table 2: the ratio of events.
pub(crate) fn fewer(study: &Study) -> Vec<Claim> {
    let both = study.both(&NOC, Single).map(|line| at(&line, &[1, 8]));
    vec![
        Check::of(both.each_ref(), |[plain, lda]| below(lda, plain)).claim(
            "MIL-42",
            "WestwoodLDA has fewer congestion events than Westwood at .01 and .08",
        ),
    ]
}

/// Table 3.
pub(crate) fn much_fewer(study: &Study) -> Vec<Claim> {
    let four = study.all_four(&NOC).map(|line| at(&line, &[4, 8]));
    let [.., plain_3, lda_3] = &four;
    vec![
        Check::of([plain_3, lda_3], |[plain, lda]| below(lda, plain)).claim(
            "MIL-42",
            "WestwoodLDA has fewer congestion events than Westwood at .04 and .08",
        ),
        Check::of(four.each_ref(), |[plain, lda, plain_3, lda_3]| {
            below(plain_3, plain) && below(lda_3, lda)
        })
        .claim(
            "MIL-42b",
            "three bottlenecks see fewer congestion events than one, for both variants at .04 and .08",
        )
        .foregone(),
    ]
}

/// MIL-43 and -44: Fig. 7.
pub(crate) fn scenario_2(study: &Study) -> Vec<Claim> {
    let [single, multiple] = study.improvements();
    let [_, one, _, three] = study.all_four(&ACK_RATE);
    vec![
        Check::of([&single], |[line]| {
            line.only(|per| per <= 8.0).average() > 0.0 && line.every(|gain| gain <= 3.0)
        })
        .claim(
            "MIL-43a",
            "single: a general but very small improvement (positive on average from .01 to .08, never above 3 %)",
        ),
        Check::of([&single], |[line]| line.at(9.0).value <= 0.0)
            .claim("MIL-43b", "single: the benefit ends at .09 (no improvement there)"),
        Check::of([&multiple], |[line]| line.only(|per| per > 7.0).every(|gain| gain < 0.0))
            .claim("MIL-43c", "multiple: the LDA loses above .07 (at .08 and .09)"),
        Check::of([&multiple], |[line]| line.trough().is_some_and(|per| per >= 8.0)).claim(
            "MIL-43d",
            "multiple: Fig. 7b is the inverse of Fig. 6b, which gains most at .08 (here the least is at .08 or .09)",
        ),
        Check::of([&one, &three], |[one, three]| below(three, one))
            .claim(
                "MIL-41b",
                "AckdInterval is longer over three bottlenecks than over one here, too, at every rate",
            )
            .foregone(),
    ]
}
