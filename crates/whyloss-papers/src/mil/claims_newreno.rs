//! Section 6.1: NewReno and NewRenoLDA.

use whyloss_study::{Check, Claim, Line, Metric};

use super::findings::{EVENTS, PERS, Study, THROUGHPUT, at};
use super::network::Topology::{Multiple, Single};
use super::probe::Run;

const UTILISATION: Metric<Run> =
    Metric::new("utilisation", "%", |run| Some(100.0 * run.utilisation));
const WINDOW: Metric<Run> = Metric::new("mean window", "packets", |run| Some(run.window));

/// MIL-34 and -35: Fig. 3.
pub(crate) fn scenario_1(study: &Study) -> Vec<Claim> {
    let [single, multiple] = study.improvements();
    let (falling, rising) = (at(&multiple, &PERS[..5]), at(&multiple, &PERS[5..]));
    let last = at(&multiple, &[7, 8, 9]);
    // By more than the intervals.
    let apart = |line: &Line, below: f64, above: f64| {
        let (below, above) = (line.at(below), line.at(above));
        below.value + below.half_width < above.value - above.half_width
    };
    vec![
        Check::of([&single], |[line]| line.peak() == Some(1.0))
            .claim("MIL-34a", "single: the improvement is highest at .01"),
        Check::of([&single], |[line]| line.trend().0 < 0.0 && line.trend().1 >= 0.9).claim(
            "MIL-34b",
            "single: it falls almost linearly to .09 (a line explains at least 90 % of its variance)",
        ),
        single.at_least(35.0).claim(
            "MIL-34c",
            "single: it is never less than almost 40 % (35 % at least)",
        ),
        Check::of([&falling], |[line]| line.trend().0 < 0.0 && line.trough() == Some(5.0)).claim(
            "MIL-35a",
            "multiple: the improvement falls until .05, where it is lowest of the five",
        ),
        Check::of([&rising], |[line]| line.trend().0 > 0.0)
            .claim("MIL-35b", "multiple: from .06 on its trend is upwards"),
        Check::of([&last], |[line]| apart(line, 8.0, 7.0) && apart(line, 8.0, 9.0)).claim(
            "MIL-35c",
            "multiple: it drops at .08 (below .07 and .09, by more than the intervals)",
        ),
    ]
}

/// MIL-35: Fig. 4. The error rates include 0.
pub(crate) fn degradation(study: &Study) -> Vec<Claim> {
    let both = study
        .both(&THROUGHPUT, Multiple)
        .map(|line| at(&line, &[0, 1, 9]));
    let left = |per: f64, share: f64| {
        Check::of(both.each_ref(), |lines| {
            lines
                .iter()
                .all(|line| line.at(per).value < share * line.at(0.0).value)
        })
    };
    vec![
        left(1.0, 0.5)
            .claim(
                "MIL-35d",
                "multiple: throughput degrades steeply when errors come in (at .01 both have less than half of that at 0)",
            )
            .foregone(),
        left(9.0, 0.05).claim(
            "MIL-35e",
            "multiple: at high rates little is left (at .09 both have less than 5 % of that at 0)",
        ),
    ]
}

/// MIL-36: Table 1.
pub(crate) fn events(study: &Study) -> Vec<Claim> {
    let fewer = |per: u32, holds: fn(f64, f64) -> bool| {
        let both = study.both(&EVENTS, Single).map(|line| at(&line, &[per]));
        Check::of(both.each_ref(), |[plain, lda]| {
            holds(lda.average(), plain.average())
        })
    };
    vec![
        fewer(1, |lda, plain| lda < plain).claim(
            "MIL-36a",
            "at .01 NewRenoLDA has fewer congestion events than NewReno",
        ),
        fewer(9, |lda, plain| lda > plain).claim("MIL-36b", "at .09 it has more"),
    ]
}

/// MIL-37, -38 and -39: Fig. 5.
pub(crate) fn scenario_2(study: &Study) -> Vec<Claim> {
    let [single, multiple] = study.improvements();
    let utilisation = study.both(&UTILISATION, Single);
    let events = study.both(&EVENTS, Single).map(|line| at(&line, &[2, 3]));
    let [plain, lda] = study
        .both(&WINDOW, Multiple)
        .map(|line| at(&line, &[7, 8, 9]));
    let windows = lda.by_mean(
        "mean window of NewRenoLDA over NewReno's, multiple",
        |per, mean| mean / plain.at(per).value,
    );
    vec![
        Check::of([&single], |[line]| at(line, &PERS[..5]).every(|gain| gain < 5.0)).claim(
            "MIL-37a",
            "single: no significant improvement until .06 (below 5 % from .01 to .05)",
        ),
        Check::of([&single], |[line]| at(line, &PERS[6..]).every(|gain| gain >= 5.0)).claim(
            "MIL-37b",
            "single: the advantage is evident after .06 (at least 5 % from .07 to .09)",
        ),
        Check::of([&multiple], |[line]| line.peak().is_some_and(|per| (5.0..=7.0).contains(&per)))
            .claim(
                "MIL-38a",
                "multiple: the improvement rises until about .06 (its peak is at .05, .06 or .07)",
            ),
        Check::of([&multiple], |[line]| {
            let most = line.highest().map_or(f64::NAN, |(_, mean)| mean.value);
            most - line.at(9.0).value >= 0.5 * (most - line.at(1.0).value)
        })
        .claim(
            "MIL-38b",
            "multiple: it falls after that almost as it rose (at .09 by at least half of its rise from .01 to its peak)",
        ),
        Check::of(utilisation.each_ref(), |lines| {
            lines.iter().all(|line| line.every_step(|before, after| before > after))
        })
        .claim(
            "MIL-39a",
            "single: the bottleneck's utilisation falls with every step of the error rate, for both variants",
        ),
        Check::of(events.each_ref(), |[plain, lda]| {
            lda.means().all(|(per, lda)| lda.value > plain.at(per).value)
        })
        .claim(
            "MIL-39b",
            "single: NewRenoLDA has more congestion events than NewReno at .02 and .03",
        ),
        windows.at_least(1.25).claim(
            "MIL-39c",
            "multiple: after .06 the mean window of NewRenoLDA is too large against NewReno's (at least a quarter larger \
             from .07 to .09)",
        ),
    ]
}
