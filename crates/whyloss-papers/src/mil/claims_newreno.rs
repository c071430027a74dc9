//! Section 6.1: NewReno and NewRenoLDA.

use super::findings::{PERS, Study, short};
use super::network::Topology::{Multiple, Single};
use super::probe::Run;
use super::shape::{line, peak, trough};
use crate::Claim;

/// MIL-34 and -35: Fig. 3.
pub(crate) fn scenario_1(study: &Study) -> Vec<Claim> {
    let single = study.improvements(Single, &PERS);
    let (slope, r2) = line(&PERS, &single);
    let least = single.iter().copied().fold(f64::INFINITY, f64::min);
    let evidence = study.evidence(Single, &PERS);
    let multiple = study.evidence(Multiple, &PERS);
    let falling = study.improvements(Multiple, &PERS[..5]);
    let rising = study.improvements(Multiple, &PERS[5..]);
    let [fall, rise] = [line(&PERS[..5], &falling).0, line(&PERS[5..], &rising).0];
    let [i7, i8, i9] = [7, 8, 9].map(|per| study.bounds(Multiple, per));
    vec![
        Claim::new(
            "MIL-34a",
            "single: the improvement is highest at .01",
            peak(&PERS, &single) == Some(1),
            evidence.clone(),
        ),
        Claim::new(
            "MIL-34b",
            "single: it falls almost linearly to .09 (a line explains at least 90 % of its variance)",
            slope < 0.0 && r2 >= 0.9,
            format!("{slope:.2} points per %, R² {r2:.3}; {evidence}"),
        ),
        Claim::new(
            "MIL-34c",
            "single: it is never less than almost 40 % (35 % at least)",
            single.iter().all(|&improvement| improvement >= 35.0),
            format!("least {least:.1} %"),
        ),
        Claim::new(
            "MIL-35a",
            "multiple: the improvement falls until .05, where it is lowest of the five",
            fall < 0.0 && trough(&PERS[..5], &falling) == Some(5),
            multiple.clone(),
        ),
        Claim::new(
            "MIL-35b",
            "multiple: from .06 on its trend is upwards",
            rise > 0.0,
            format!("{rise:+.2} points per %; {multiple}"),
        ),
        Claim::new(
            "MIL-35c",
            "multiple: it drops at .08 (below .07 and .09, by more than the intervals)",
            i8.1 < i7.0 && i8.1 < i9.0,
            multiple,
        ),
    ]
}

/// MIL-35: Fig. 4. The error rates include 0.
pub(crate) fn degradation(study: &Study) -> Vec<Claim> {
    let throughput: fn(&Run) -> f64 = |run| run.throughput / 1e6;
    let pers = [0, 1, 9];
    let both = |per| {
        [
            study.plain(throughput, Multiple, per),
            study.lda(throughput, Multiple, per),
        ]
    };
    let [clean, first, last] = pers.map(both);
    let evidence = format!("{} Mbit/s", study.both(throughput, Multiple, &pers));
    vec![
        Claim::new(
            "MIL-35d",
            "multiple: throughput degrades steeply when errors come in (at .01 both have less than half of that at 0)",
            (0..2).all(|which| first[which] < 0.5 * clean[which]),
            evidence.clone(),
        )
        .foregone(),
        Claim::new(
            "MIL-35e",
            "multiple: at high rates little is left (at .09 both have less than 5 % of that at 0)",
            (0..2).all(|which| last[which] < 0.05 * clean[which]),
            evidence,
        ),
    ]
}

/// MIL-36: Table 1.
pub(crate) fn events(study: &Study) -> Vec<Claim> {
    let events: fn(&Run) -> f64 = |run| run.events;
    let [low, high] = [1, 9].map(|per| {
        (
            study.plain(events, Single, per),
            study.lda(events, Single, per),
        )
    });
    let evidence = study.both(events, Single, &[1, 9]);
    vec![
        Claim::new(
            "MIL-36a",
            "at .01 NewRenoLDA has fewer congestion events than NewReno",
            low.1 < low.0,
            evidence.clone(),
        ),
        Claim::new("MIL-36b", "at .09 it has more", high.1 > high.0, evidence),
    ]
}

/// MIL-37, -38 and -39: Fig. 5.
pub(crate) fn scenario_2(study: &Study) -> Vec<Claim> {
    let single = study.improvements(Single, &PERS);
    let multiple = study.improvements(Multiple, &PERS);
    let utilisation: fn(&Run) -> f64 = |run| 100.0 * run.utilisation;
    let events: fn(&Run) -> f64 = |run| run.events;
    let window: fn(&Run) -> f64 = |run| run.window;
    let falls = |values: Vec<f64>| values.windows(2).all(|pair| pair[0] > pair[1]);
    let [plain, lda] = [study.scheme.plain.id, study.scheme.lda.id];
    let over = |variant| -> Vec<f64> {
        PERS.iter()
            .map(|&per| study.mean(utilisation, Single, per, variant))
            .collect()
    };
    let more_events = [2, 3]
        .iter()
        .all(|&per| study.lda(events, Single, per) > study.plain(events, Single, per));
    let windows =
        [7, 8, 9].map(|per| study.lda(window, Multiple, per) / study.plain(window, Multiple, per));
    vec![
        Claim::new(
            "MIL-37a",
            "single: no significant improvement until .06 (below 5 % from .01 to .05)",
            single[..5].iter().all(|&improvement| improvement < 5.0),
            study.evidence(Single, &PERS),
        ),
        Claim::new(
            "MIL-37b",
            "single: the advantage is evident after .06 (at least 5 % from .07 to .09)",
            single[6..].iter().all(|&improvement| improvement >= 5.0),
            study.evidence(Single, &PERS),
        ),
        Claim::new(
            "MIL-38a",
            "multiple: the improvement rises until about .06 (its peak is at .05, .06 or .07)",
            peak(&PERS, &multiple).is_some_and(|per| (5..=7).contains(&per)),
            study.evidence(Multiple, &PERS),
        ),
        Claim::new(
            "MIL-38b",
            "multiple: it falls after that almost as it rose (at .09 by at least half of its rise from .01 to its peak)",
            {
                let most = multiple.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                most - multiple[8] >= 0.5 * (most - multiple[0])
            },
            study.evidence(Multiple, &PERS),
        ),
        Claim::new(
            "MIL-39a",
            "single: the bottleneck's utilisation falls with every step of the error rate, for both variants",
            falls(over(plain)) && falls(over(lda)),
            format!("{} %", study.both(utilisation, Single, &PERS)),
        ),
        Claim::new(
            "MIL-39b",
            "single: NewRenoLDA has more congestion events than NewReno at .02 and .03",
            more_events,
            study.both(events, Single, &[2, 3]),
        ),
        Claim::new(
            "MIL-39c",
            "multiple: after .06 the mean window of NewRenoLDA is too large against NewReno's (at least a quarter larger \
             from .07 to .09)",
            windows.iter().all(|&ratio| ratio >= 1.25),
            format!(
                "{} packets; ratios {}",
                study.both(window, Multiple, &[7, 8, 9]),
                windows.map(short).join(", ")
            ),
        ),
    ]
}
