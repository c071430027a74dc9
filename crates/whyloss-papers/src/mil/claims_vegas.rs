//! Section 6.3: Vegas and VegasLDA.

use super::findings::{PERS, Study, short};
use super::network::Topology::{self, Multiple, Single};
use super::probe::Run;
use super::shape::line;
use crate::Claim;

const NOC: fn(&Run) -> f64 = |run| run.noc;

/// MIL-45, -46, -52 and -53: Fig. 9.
pub(crate) fn scenario_1(study: &Study) -> Vec<Claim> {
    let single = study.improvements(Single, &PERS);
    let multiple = study.improvements(Multiple, &PERS);
    let evidence = [Single, Multiple].map(|topology| study.evidence(topology, &PERS));
    let (slope, r2) = line(&PERS, &single);
    let rise = line(&PERS[..8], &multiple[..8]).0;
    let negative = |improvements: &[f64]| improvements.iter().all(|&value| value < 0.0);
    let both = |topology| study.both(NOC, topology, &PERS);
    let never = |topology| PERS.iter().all(|&per| study.lda(NOC, topology, per) < 0.5);
    let mut claims = vec![
        Claim::new(
            "MIL-45a",
            "single: the LDA loses at every rate",
            negative(&single),
            evidence[0].clone(),
        ),
        Claim::new(
            "MIL-45b",
            "single: it loses less and less, linearly (a line explains at least 90 % of the variance)",
            slope > 0.0 && r2 >= 0.9,
            format!("{slope:+.2} points per %, R² {r2:.3}; {}", evidence[0]),
        ),
        Claim::new(
            "MIL-45c",
            "multiple: the LDA loses at every rate",
            negative(&multiple),
            evidence[1].clone(),
        ),
        Claim::new(
            "MIL-45d",
            "multiple: it loses less and less until .08, and more at .09",
            rise > 0.0 && multiple[8] < multiple[7],
            format!("{rise:+.2} points per % to .08; {}", evidence[1]),
        ),
        Claim::new(
            "MIL-46",
            "VegasLDA never takes the original congestion action, in neither topology (less than one in two runs)",
            never(Single) && never(Multiple),
            format!("single {}; multiple {}", both(Single), both(Multiple)),
        ),
        super::claims_westwood::never_more(study),
    ];
    claims.extend(mechanism(study));
    claims
}

/// MIL-52 and -53: what is behind it.
fn mechanism(study: &Study) -> Vec<Claim> {
    let raised: fn(&Run) -> f64 = |run| run.raised;
    let timeout: fn(&Run) -> f64 = |run| 1e3 * run.fine_timeout;
    let early: fn(&Run) -> f64 = |run| 100.0 * run.early / run.events.max(1.0);
    let queueing: fn(&Run) -> f64 = |run| run.queueing;
    let grows: fn(&Run) -> f64 = |run| run.increased;
    let shrinks: fn(&Run) -> f64 = |run| run.decreased;
    let all = |holds: &dyn Fn(Topology, u32) -> bool| {
        Topology::ALL
            .into_iter()
            .all(|topology| PERS.iter().all(|&per| holds(topology, per)))
    };
    let listed = |metric| {
        format!(
            "single {}; multiple {}",
            study.both(metric, Single, &PERS),
            study.both(metric, Multiple, &PERS)
        )
    };
    vec![
        Claim::new(
            "MIL-52",
            "VegasLDA's timeout is never increased again in 100 s (by a loss; less than once in two runs)",
            all(&|topology, per| study.lda(raised, topology, per) < 0.5),
            format!("increases {}", listed(raised)),
        ),
        Claim::new(
            "MIL-53a",
            "round trips are short in the empty network (their mean at most a tenth above the least)",
            all(&|topology, per| {
                study.plain(queueing, topology, per) <= 1.1
                    && study.lda(queueing, topology, per) <= 1.1
            }),
            format!("mean over least {}", listed(queueing)),
        ),
        Claim::new(
            "MIL-53b",
            "so both variants increase their windows far more often than they decrease them (ten times)",
            all(&|topology, per| {
                study.plain(grows, topology, per) >= 10.0 * study.plain(shrinks, topology, per)
                    && study.lda(grows, topology, per) >= 10.0 * study.lda(shrinks, topology, per)
            }),
            format!("NI {}; ND {}", listed(grows), listed(shrinks)),
        ),
        Claim::new(
            "MIL-53c",
            "VegasLDA's timeout is smaller than Vegas's at every rate",
            all(&|topology, per| {
                study.lda(timeout, topology, per) < study.plain(timeout, topology, per)
            }),
            format!("{} ms", listed(timeout)),
        ),
        Claim::new(
            "MIL-53d",
            "VegasLDA never waits for three duplicates (at least 95 % of its recoveries begin before the third)",
            all(&|topology, per| study.lda(early, topology, per) >= 95.0),
            format!("{} %", listed(early)),
        ),
    ]
}

/// MIL-46 and -47: Table 4.
pub(crate) fn actions_single(study: &Study) -> Vec<Claim> {
    let pers = [1, 9];
    vec![Claim::new(
        "MIL-47a",
        "single: VegasLDA increases and keeps its window less often than Vegas, at .01 and .09",
        pers.iter().all(|&per| {
            study.lda(|run| run.increased, Single, per)
                < study.plain(|run| run.increased, Single, per)
                && study.lda(|run| run.kept, Single, per) < study.plain(|run| run.kept, Single, per)
        }),
        format!(
            "NI {}; NKU {}",
            study.both(|run| run.increased, Single, &pers),
            study.both(|run| run.kept, Single, &pers)
        ),
    )]
}

/// MIL-47: Table 5.
pub(crate) fn actions_multiple(study: &Study) -> Vec<Claim> {
    let more =
        |metric: fn(&Run) -> f64| study.lda(metric, Multiple, 9) > study.plain(metric, Multiple, 9);
    let pers = [7, 9];
    vec![Claim::new(
        "MIL-47b",
        "multiple: at .09 it increases and keeps its window more often",
        more(|run| run.increased) && more(|run| run.kept),
        format!(
            "NI {}; NKU {}",
            study.both(|run| run.increased, Multiple, &pers),
            study.both(|run| run.kept, Multiple, &pers)
        ),
    )]
}

/// MIL-48: Fig. 10.
pub(crate) fn scenario_2(study: &Study) -> Vec<Claim> {
    let single = study.improvements(Single, &PERS);
    let multiple = study.improvements(Multiple, &PERS);
    let evidence = [Single, Multiple].map(|topology| study.evidence(topology, &PERS));
    let worse = |improvements: &[f64]| improvements[3..].iter().all(|&value| value < -5.0);
    vec![
        Claim::new(
            "MIL-48a",
            "single: almost the same until .03 (within 5 %)",
            single[..3].iter().all(|value| value.abs() <= 5.0),
            evidence[0].clone(),
        ),
        Claim::new(
            "MIL-48b",
            "multiple: a slight improvement at .01 (above 0, at most 10 %)",
            multiple[0] > 0.0 && multiple[0] <= 10.0,
            evidence[1].clone(),
        ),
        Claim::new(
            "MIL-48c",
            "single: significantly worse above .03 (by more than 5 % at every rate)",
            worse(&single),
            evidence[0].clone(),
        ),
        Claim::new(
            "MIL-48d",
            "multiple: significantly worse above .03 (by more than 5 % at every rate)",
            worse(&multiple),
            evidence[1].clone(),
        ),
    ]
}

/// MIL-49: Table 6.
pub(crate) fn balance(study: &Study) -> Vec<Claim> {
    let sum: fn(&Run) -> f64 = |run| run.noc + run.detected;
    let ratio = |per| study.lda(sum, Single, per) / study.plain(NOC, Single, per);
    let ratios = PERS.map(ratio);
    let evidence = format!(
        "ratios {}; {}",
        ratios.map(short).join(" "),
        study.both(sum, Single, &PERS)
    );
    vec![
        Claim::new(
            "MIL-49a",
            "below .03, VegasLDA's congestion actions and detected error losses together are about Vegas's congestion \
             actions (within 15 %)",
            ratios[..2].iter().all(|ratio| (ratio - 1.0).abs() <= 0.15),
            evidence.clone(),
        ),
        Claim::new(
            "MIL-49b",
            "above .03 that balance is disturbed (VegasLDA has at least a quarter less at every rate)",
            ratios[3..].iter().all(|&ratio| ratio <= 0.75),
            evidence,
        ),
        Claim::new(
            "MIL-49c",
            "at high rates VegasLDA does not take the congestion action at all (at .07, less than one in two runs)",
            study.lda(NOC, Single, 7) < 0.5,
            study.both(NOC, Single, &PERS),
        ),
    ]
}
