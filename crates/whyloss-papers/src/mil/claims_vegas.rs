//! Section 6.3: Vegas and VegasLDA.

use whyloss_study::{Check, Claim, Line, Metric};

use super::claims_westwood::{below, never_more};
use super::findings::{ND, NI, NKU, NOC, Study, at};
use super::network::Topology::{Multiple, Single};
use super::probe::Run;

const RAISED: Metric<Run> = Metric::new("increases of the timeout", "", |run| Some(run.raised));
const QUEUEING: Metric<Run> = Metric::new("mean round trip over the least", "", |run| {
    Some(run.queueing)
});
const TIMEOUT: Metric<Run> = Metric::new("timeout", "ms", |run| Some(1e3 * run.fine_timeout));
const EARLY: Metric<Run> = Metric::new("recoveries before the third duplicate", "%", |run| {
    Some(100.0 * run.early / run.events.max(1.0))
});
/// Losses that were called congestion or detected as errors.
const ALL_LOSSES: Metric<Run> = Metric::new("NOC and detected errors", "", |run| {
    Some(run.noc + run.detected)
});

/// MIL-45, -46, -52 and -53: Fig. 9.
pub(crate) fn scenario_1(study: &Study) -> Vec<Claim> {
    let [single, multiple] = study.improvements();
    let loses = |line: &Line| Check::of([line], |[line]| line.every(|gain| gain < 0.0));
    let mut claims = vec![
        loses(&single).claim("MIL-45a", "single: the LDA loses at every rate"),
        Check::of([&single], |[line]| line.trend().0 > 0.0 && line.trend().1 >= 0.9).claim(
            "MIL-45b",
            "single: it loses less and less, linearly (a line explains at least 90 % of the variance)",
        ),
        loses(&multiple).claim("MIL-45c", "multiple: the LDA loses at every rate"),
        Check::of([&multiple], |[line]| {
            line.only(|per| per <= 8.0).trend().0 > 0.0 && line.at(9.0).value < line.at(8.0).value
        })
        .claim("MIL-45d", "multiple: it loses less and less until .08, and more at .09"),
        Check::of(study.all_four(&NOC).each_ref(), |[_, lda, _, lda_3]| {
            [lda, lda_3].iter().all(|lda| lda.every(|count| count < 0.5))
        })
        .claim(
            "MIL-46",
            "VegasLDA never takes the original congestion action, in neither topology (less than one in two runs)",
        ),
        never_more(study),
    ];
    claims.extend(mechanism(study));
    claims
}

/// MIL-52 and -53: what is behind it.
fn mechanism(study: &Study) -> Vec<Claim> {
    // With the LDA, in both topologies.
    let with_lda = |metric: &Metric<Run>, holds: fn(f64) -> bool| {
        let four = study.all_four(metric);
        Check::of(four.each_ref(), |[_, lda, _, lda_3]| {
            [lda, lda_3].iter().all(|line| line.every(holds))
        })
    };
    let (grows, shrinks) = (study.all_four(&NI), study.all_four(&ND));
    let lines: Vec<&Line> = grows.iter().chain(&shrinks).collect();
    let ten_times = grows.iter().zip(&shrinks).all(|(grows, shrinks)| {
        grows
            .means()
            .all(|(per, grows)| grows.value >= 10.0 * shrinks.at(per).value)
    });
    vec![
        with_lda(&RAISED, |increases| increases < 0.5).claim(
            "MIL-52",
            "VegasLDA's timeout is never increased again in 100 s (by a loss; less than once in two runs)",
        ),
        Check::of(study.all_four(&QUEUEING).each_ref(), |lines| {
            lines.iter().all(|line| line.every(|ratio| ratio <= 1.1))
        })
        .claim(
            "MIL-53a",
            "round trips are short in the empty network (their mean at most a tenth above the least)",
        ),
        Check::all(&lines, |_| ten_times).claim(
            "MIL-53b",
            "so both variants increase their windows far more often than they decrease them (ten times)",
        ),
        Check::of(study.all_four(&TIMEOUT).each_ref(), |[plain, lda, plain_3, lda_3]| {
            below(lda, plain) && below(lda_3, plain_3)
        })
        .claim("MIL-53c", "VegasLDA's timeout is smaller than Vegas's at every rate"),
        with_lda(&EARLY, |share| share >= 95.0).claim(
            "MIL-53d",
            "VegasLDA never waits for three duplicates (at least 95 % of its recoveries begin before the third)",
        ),
    ]
}

/// MIL-46 and -47: Table 4.
pub(crate) fn actions_single(study: &Study) -> Vec<Claim> {
    let less = |metric| {
        let both = study.both(&metric, Single).map(|line| at(&line, &[1, 9]));
        Check::of(both.each_ref(), |[plain, lda]| below(lda, plain))
    };
    vec![less(NI).and(less(NKU)).claim(
        "MIL-47a",
        "single: VegasLDA increases and keeps its window less often than Vegas, at .01 and .09",
    )]
}

/// MIL-47: Table 5.
pub(crate) fn actions_multiple(study: &Study) -> Vec<Claim> {
    let more = |metric| {
        let both = study.both(&metric, Multiple).map(|line| at(&line, &[7, 9]));
        Check::of(both.each_ref(), |[plain, lda]| {
            lda.at(9.0).value > plain.at(9.0).value
        })
    };
    vec![more(NI).and(more(NKU)).claim(
        "MIL-47b",
        "multiple: at .09 it increases and keeps its window more often",
    )]
}

/// MIL-48: Fig. 10.
pub(crate) fn scenario_2(study: &Study) -> Vec<Claim> {
    let [single, multiple] = study.improvements();
    let worse = |line: &Line| {
        Check::of([line], |[line]| {
            line.only(|per| per > 3.0).every(|gain| gain < -5.0)
        })
    };
    vec![
        Check::of([&single], |[line]| {
            line.only(|per| per <= 3.0).every(|gain| gain.abs() <= 5.0)
        })
        .claim("MIL-48a", "single: almost the same until .03 (within 5 %)"),
        Check::of([&multiple], |[line]| {
            let slight = line.at(1.0).value;
            slight > 0.0 && slight <= 10.0
        })
        .claim(
            "MIL-48b",
            "multiple: a slight improvement at .01 (above 0, at most 10 %)",
        ),
        worse(&single).claim(
            "MIL-48c",
            "single: significantly worse above .03 (by more than 5 % at every rate)",
        ),
        worse(&multiple).claim(
            "MIL-48d",
            "multiple: significantly worse above .03 (by more than 5 % at every rate)",
        ),
    ]
}

/// MIL-49: Table 6.
pub(crate) fn balance(study: &Study) -> Vec<Claim> {
    let [_, lda] = study.both(&ALL_LOSSES, Single);
    let [plain, called] = study.both(&NOC, Single);
    let ratios = lda.by_mean(
        "NOC and detected errors of VegasLDA over NOC of Vegas, single",
        |per, sum| sum / plain.at(per).value,
    );
    vec![
        Check::of([&ratios], |[ratios]| {
            ratios.only(|per| per <= 2.0).every(|ratio| (ratio - 1.0).abs() <= 0.15)
        })
        .claim(
            "MIL-49a",
            "below .03, VegasLDA's congestion actions and detected error losses together are about Vegas's congestion \
             actions (within 15 %)",
        ),
        Check::of([&ratios], |[ratios]| ratios.only(|per| per > 3.0).every(|ratio| ratio <= 0.75))
            .claim(
                "MIL-49b",
                "above .03 that balance is disturbed (VegasLDA has at least a quarter less at every rate)",
            ),
        Check::of([&called], |[called]| called.at(7.0).value < 0.5).claim(
            "MIL-49c",
            "at high rates VegasLDA does not take the congestion action at all (at .07, less than one in two runs)",
        ),
    ]
}
