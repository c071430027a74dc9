//! The paper's statements about the hybrids (Section 7), decided on Figs 12 and 13.
//!
//! Thresholds were fixed before the first run: throughput "close to" Omni's is within 5 points, "close to zero" is up
//! to 5 %, "similar" rates of error are within 10 points.

use super::claims_base::at;
use super::findings::{View, list};
use super::series::{FLOWS, SEVERAL, average, over};
use whyloss_study::Claim;

const HYBRIDS: [&str; 3] = ["zbs", "zbs2", "zbs3"];

fn close_to_omni(view: View<'_>) -> bool {
    HYBRIDS.into_iter().all(|s| {
        FLOWS
            .into_iter()
            .all(|n| view.throughput("oracle", n) - view.throughput(s, n) <= 5.0)
    })
}

fn throughputs(view: View<'_>) -> String {
    let line = |s: &'static str| format!("{s} {}", at(&FLOWS, |n| view.throughput(s, n)));
    ["oracle", "zbs", "zbs2", "zbs3"].map(line).join("; ")
}

/// How often a hybrid matches or beats the best base classifier: throughput within 2 points or above, Mc within 5
/// points or below.
fn matches(view: View<'_>, hybrid: &str, best: &str) -> usize {
    let one = |n: &usize| {
        let mc = view.mc(hybrid, *n) - view.mc(best, *n);
        // A hybrid without congestion losses has no Mc to lose on.
        view.throughput(hybrid, *n) >= view.throughput(best, *n) - 2.0
            && (mc <= 5.0 || view.mc(hybrid, *n).is_nan())
    };
    FLOWS.iter().filter(|n| one(n)).count()
}

/// Section 7.4, wireless last hop.
pub(crate) fn last_hop(wlh: View<'_>) -> Vec<Claim> {
    let mc = |s| average(&over(&SEVERAL, |n| wlh.mc(s, n)));
    let mw = |s| average(&over(&SEVERAL, |n| wlh.mw(s, n)));
    let better = ["zbs2", "zbs3"];
    vec![
        Claim::new(
            "CEN-60",
            "WLH: all hybrids' throughput is close to Omni's for every number of flows",
            close_to_omni(wlh),
            throughputs(wlh),
        ),
        Claim::new(
            "CEN-61a",
            "WLH: ZBS2 and ZBS3 have a lower Mc than ZigZag (average above one flow)",
            better.into_iter().all(|s| mc(s) < mc("zigzag")),
            list(["zigzag", "zbs", "zbs2", "zbs3"].map(|s| (s, mc(s)))),
        ),
        Claim::new(
            "CEN-61b",
            "WLH: ZBS2 and ZBS3 have a lower Mw than ZigZag (average above one flow)",
            better.into_iter().all(|s| mw(s) < mw("zigzag")),
            list(["zigzag", "zbs", "zbs2", "zbs3"].map(|s| (s, mw(s)))),
        ),
        Claim::new(
            "CEN-61c",
            "WLH: ZBS has a higher Mc than ZigZag, ZBS2 and ZBS3 (average above one flow)",
            ["zigzag", "zbs2", "zbs3"]
                .into_iter()
                .all(|s| mc("zbs") > mc(s)),
            list(["zigzag", "zbs", "zbs2", "zbs3"].map(|s| (s, mc(s)))),
        ),
        Claim::new(
            "CEN-62",
            "WLH: ZBS2 and ZBS3 lose 3 to 4 % to congestion (within a point, average above one flow)",
            better
                .into_iter()
                .all(|s| (2.0..=5.0).contains(&average(&over(&SEVERAL, |n| wlh.congestion(s, n))))),
            format!(
                "zbs2 {}; zbs3 {}",
                at(&SEVERAL, |n| wlh.congestion("zbs2", n)),
                at(&SEVERAL, |n| wlh.congestion("zbs3", n))
            ),
        ),
        Claim::new(
            "CEN-64",
            "WLH: ZBS2 and ZBS3 match or beat the best base classifier, ZigZag, in most cases (throughput within 2 \
             points, Mc within 5)",
            better
                .into_iter()
                .all(|s| 2 * matches(wlh, s, "zigzag") > FLOWS.len()),
            list(better.map(|s| (s, matches(wlh, s, "zigzag") as f64))) + " of 8 cases",
        ),
    ]
}

/// Section 7.4, wireless backbone.
pub(crate) fn backbone(wb: View<'_>) -> Vec<Claim> {
    let better = ["zbs2", "zbs3"];
    vec![
        Claim::new(
            "CEN-60",
            "WB: all hybrids' throughput is close to Omni's for every number of flows",
            close_to_omni(wb),
            throughputs(wb),
        ),
        Claim::new(
            "CEN-63a",
            "WB: all hybrids' Mc is close to zero",
            HYBRIDS
                .into_iter()
                .all(|s| FLOWS.into_iter().all(|n| wb.mc(s, n) <= 5.0)),
            HYBRIDS
                .map(|s| format!("{s} {}", at(&FLOWS, |n| wb.mc(s, n))))
                .join("; "),
        ),
        Claim::new(
            "CEN-63b",
            "WB: all hybrids' Mw is similar to Spike's",
            HYBRIDS.into_iter().all(|s| {
                FLOWS
                    .into_iter()
                    .all(|n| (wb.mw(s, n) - wb.mw("spike", n)).abs() <= 10.0)
            }),
            ["spike", "zbs", "zbs2", "zbs3"]
                .map(|s| format!("{s} {}", at(&FLOWS, |n| wb.mw(s, n))))
                .join("; "),
        ),
        Claim::new(
            "CEN-64",
            "WB: ZBS2 and ZBS3 match or beat the best base classifier, Spike, in most cases (throughput within 2 \
             points, Mc within 5)",
            better
                .into_iter()
                .all(|s| 2 * matches(wb, s, "spike") > FLOWS.len()),
            list(better.map(|s| (s, matches(wb, s, "spike") as f64))) + " of 8 cases",
        ),
    ]
}
