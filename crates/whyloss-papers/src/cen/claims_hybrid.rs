//! The paper's statements about the hybrids (Section 7), decided on Figs 12 and 13.
//!
//! Thresholds were fixed before the first run: throughput "close to" Omni's is within 5 points, "close to zero" is up
//! to 5 %, "similar" rates of error are within 10 points.

use whyloss_study::{Check, Claim, Line, Runs};

use super::claims_base::Of;
use super::measure::{Each, FLOWS, MC, MW, Run, several};

const HYBRIDS: [&str; 3] = ["zbs", "zbs2", "zbs3"];
const BETTER: [&str; 2] = ["zbs2", "zbs3"];
const WITH_ZIGZAG: [&str; 4] = ["zigzag", "zbs", "zbs2", "zbs3"];

/// CEN-60 for a topology.
fn close_to_omni(of: Of<'_>, topology: &str) -> Claim {
    let [omni, zbs, zbs2, zbs3] =
        ["oracle", "zbs", "zbs2", "zbs3"].map(|scheme| of.throughput(scheme).named(scheme));
    let text =
        format!("{topology}: all hybrids' throughput is close to Omni's for every number of flows");
    Check::of([&omni, &zbs, &zbs2, &zbs3], |[omni, hybrids @ ..]| {
        let close = |line: &Line| {
            line.means()
                .all(|(n, mean)| omni.at(n).value - mean.value <= 5.0)
        };
        hybrids.into_iter().all(close)
    })
    .claim("CEN-60", &text)
}

/// CEN-64 for a topology: how often a hybrid matches or beats the best base classifier: throughput within 2 points or
/// above, Mc within 5 points or below.
fn matches(of: Of<'_>, topology: &str, best: &str, best_name: &str) -> Claim {
    let matching = |hybrid: &str| {
        let [throughput, mc] = [of.throughput(hybrid), of.mc(hybrid)];
        let [best_throughput, best_mc] = [of.throughput(best), of.mc(best)];
        let one = |n: &&f64| {
            let own = mc.at(**n).value;
            // A hybrid without congestion losses has no Mc to lose on.
            throughput.at(**n).value >= best_throughput.at(**n).value - 2.0
                && (own - best_mc.at(**n).value <= 5.0 || own.is_nan())
        };
        FLOWS.iter().filter(one).count() as f64
    };
    let cases = Each::of("", BETTER, matching);
    let evidence = format!("{cases} of {} cases", FLOWS.len());
    let text = format!(
        "{topology}: ZBS2 and ZBS3 match or beat the best base classifier, {best_name}, in most cases (throughput within 2 \
         points, Mc within 5)"
    );
    Check::of([&cases], |[cases]| {
        cases.every(|count| 2.0 * count > FLOWS.len() as f64)
    })
    .put(evidence)
    .claim("CEN-64", &text)
}

/// Section 7.4, wireless last hop.
pub(crate) fn last_hop(wlh: &Runs<Run>) -> Vec<Claim> {
    let of = Of(wlh);
    let mc = of.averages("", WITH_ZIGZAG, &MC);
    let mw = of.averages("", WITH_ZIGZAG, &MW);
    let below = |each: &Each| {
        BETTER
            .into_iter()
            .all(|of| each.get(of) < each.get("zigzag"))
    };
    let lost = BETTER.map(|scheme| several(&of.congestion(scheme).named(scheme)));
    vec![
        close_to_omni(of, "WLH"),
        Check::of([&mc], |[mc]| below(mc)).claim(
            "CEN-61a",
            "WLH: ZBS2 and ZBS3 have a lower Mc than ZigZag (average above one flow)",
        ),
        Check::of([&mw], |[mw]| below(mw)).claim(
            "CEN-61b",
            "WLH: ZBS2 and ZBS3 have a lower Mw than ZigZag (average above one flow)",
        ),
        Check::of([&mc], |[mc]| {
            let below = |scheme| mc.get("zbs") > mc.get(scheme);
            ["zigzag", "zbs2", "zbs3"].into_iter().all(below)
        })
        .claim(
            "CEN-61c",
            "WLH: ZBS has a higher Mc than ZigZag, ZBS2 and ZBS3 (average above one flow)",
        ),
        Check::all(&lost.each_ref()[..], |lost| (2.0..=5.0).contains(&lost.average())).claim(
            "CEN-62",
            "WLH: ZBS2 and ZBS3 lose 3 to 4 % to congestion (within a point, average above one flow)",
        ),
        matches(of, "WLH", "zigzag", "ZigZag"),
    ]
}

/// Section 7.4, wireless backbone.
pub(crate) fn backbone(wb: &Runs<Run>) -> Vec<Claim> {
    let of = Of(wb);
    let mc = HYBRIDS.map(|scheme| of.mc(scheme).named(scheme));
    let [spike, zbs, zbs2, zbs3] =
        ["spike", "zbs", "zbs2", "zbs3"].map(|scheme| of.mw(scheme).named(scheme));
    vec![
        close_to_omni(of, "WB"),
        Check::all(&mc.each_ref()[..], |line| line.every(|mc| mc <= 5.0))
            .claim("CEN-63a", "WB: all hybrids' Mc is close to zero"),
        Check::of([&spike, &zbs, &zbs2, &zbs3], |[spike, hybrids @ ..]| {
            let similar = |(n, mean): (f64, whyloss_study::Mean)| {
                (mean.value - spike.at(n).value).abs() <= 10.0
            };
            hybrids.into_iter().all(|line| line.means().all(similar))
        })
        .claim("CEN-63b", "WB: all hybrids' Mw is similar to Spike's"),
        matches(of, "WB", "spike", "Spike"),
    ]
}
