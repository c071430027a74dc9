//! The paper's statements about one flow (Sections 6.1 and 6.2), decided on Tables 2 and 3.
//!
//! Every threshold was fixed before the first run: a stated number is met within the tolerance of its table, "equal"
//! and "similar" mean within 3 points of throughput, "no" means below half a per cent.

use super::findings::{Metric, View, list};
use super::series::{BASE, range, rising, spread};
use whyloss_study::Claim;

/// Section 6.1.
pub(crate) fn last_hop(wlh: View<'_>) -> Vec<Claim> {
    let throughput = |scheme| wlh.throughput(scheme, 1);
    let omni = throughput("oracle");
    let congestion_of_omni = wlh.congestion("oracle", 1);
    let throughputs = || {
        list(
            ["tcp", "unaware", "oracle"]
                .into_iter()
                .chain(BASE)
                .map(|s| (s, throughput(s))),
        )
    };
    vec![
        Claim::new(
            "CEN-43a",
            "TCP < TFRC < every classifier in throughput",
            BASE.into_iter()
                .all(|lda| rising(&[throughput("tcp"), throughput("unaware"), throughput(lda)])),
            throughputs(),
        ),
        Claim::new(
            "CEN-43b",
            "every classifier uses at least 97 % of the link (rounded), as Omni does (within 3 points)",
            BASE.into_iter()
                .all(|lda| throughput(lda) >= 96.5 && (throughput(lda) - omni).abs() <= 3.0),
            throughputs(),
        ),
        Claim::new(
            "CEN-44",
            "Biaz and mBiaz take no congestion loss for wireless, make few mistakes on wireless losses (Mw below 10 %), \
             and lose to congestion what Omni loses (within half a point)",
            ["biaz", "mbiaz"].into_iter().all(|lda| {
                wlh.mc(lda, 1) < 0.5
                    && wlh.mw(lda, 1) < 10.0
                    && (wlh.congestion(lda, 1) - congestion_of_omni).abs() <= 0.5
            }),
            format!(
                "Mc: {}; Mw: {}; congestion: {}",
                list(["biaz", "mbiaz"].map(|lda| (lda, wlh.mc(lda, 1)))),
                list(["biaz", "mbiaz"].map(|lda| (lda, wlh.mw(lda, 1)))),
                list(["oracle", "biaz", "mbiaz"].map(|lda| (lda, wlh.congestion(lda, 1)))),
            ),
        ),
        Claim::new(
            "CEN-45",
            "Spike and ZigZag call many wireless losses congestion (Mw above 40 %), few the other way (Mc below 2 %), \
             lose less than half of Omni's to congestion, and pay no throughput for it (within 3 points)",
            ["spike", "zigzag"].into_iter().all(|lda| {
                wlh.mw(lda, 1) > 40.0
                    && wlh.mc(lda, 1) < 2.0
                    && wlh.congestion(lda, 1) < congestion_of_omni / 2.0
                    && omni - throughput(lda) <= 3.0
            }),
            format!(
                "Mw: {}; Mc: {}; congestion: {}; throughput: {}",
                list(["spike", "zigzag"].map(|lda| (lda, wlh.mw(lda, 1)))),
                list(["spike", "zigzag"].map(|lda| (lda, wlh.mc(lda, 1)))),
                list(["oracle", "spike", "zigzag"].map(|lda| (lda, wlh.congestion(lda, 1)))),
                list(["oracle", "spike", "zigzag"].map(|lda| (lda, throughput(lda)))),
            ),
        ),
    ]
}

/// Section 6.2. `wlh` has one flow of TCP, TFRC and Omni over the last hop.
pub(crate) fn backbone(wb: View<'_>, wlh: View<'_>) -> Vec<Claim> {
    let throughput = |scheme| wb.throughput(scheme, 1);
    let order = [
        "tcp", "unaware", "zigzag", "mbiaz", "biaz", "spike", "oracle",
    ];
    let gain = 100.0 * (throughput("oracle") / throughput("unaware") - 1.0);
    vec![
        Claim::new(
            "CEN-46",
            "TCP and TFRC use far less than over the last hop (by 20 points), Omni nearly all (95 %) with less \
             congestion loss than there",
            ["tcp", "unaware"]
                .into_iter()
                .all(|s| wlh.throughput(s, 1) - throughput(s) >= 20.0)
                && throughput("oracle") >= 95.0
                && wb.congestion("oracle", 1) < wlh.congestion("oracle", 1),
            format!(
                "WB: {}; WLH: {}; Omni's congestion loss WB {:.2}, WLH {:.2}",
                list(["tcp", "unaware", "oracle"].map(|s| (s, throughput(s)))),
                list(["tcp", "unaware"].map(|s| (s, wlh.throughput(s, 1)))),
                wb.congestion("oracle", 1),
                wlh.congestion("oracle", 1),
            ),
        ),
        Claim::new(
            "CEN-47",
            "throughput: TCP < TFRC < ZigZag, far below (20 points) mBiaz < Biaz < Spike, which equals Omni (within 3)",
            rising(&order[..6].iter().map(|s| throughput(s)).collect::<Vec<_>>())
                && throughput("mbiaz") - throughput("zigzag") >= 20.0
                && (throughput("spike") - throughput("oracle")).abs() <= 3.0,
            list(order.map(|s| (s, throughput(s)))),
        ),
        Claim::new(
            "CEN-48",
            "mBiaz calls more wireless losses congestion than Biaz",
            wb.mw("mbiaz", 1) > wb.mw("biaz", 1),
            list(["biaz", "mbiaz"].map(|lda| (lda, wb.mw(lda, 1)))),
        ),
        Claim::new(
            "CEN-49",
            "only Spike takes any congestion loss for wireless (the others below half a per cent)",
            wb.mc("spike", 1) >= 0.5
                && ["biaz", "mbiaz", "zigzag"]
                    .into_iter()
                    .all(|lda| wb.mc(lda, 1) < 0.5),
            list(BASE.map(|lda| (lda, wb.mc(lda, 1)))),
        ),
        Claim::new(
            "CEN-41",
            "Omni's throughput is up to 200 % higher than TFRC's (150 to 250 %)",
            (150.0..=250.0).contains(&gain),
            format!("{gain:.0} % higher"),
        ),
    ]
}

/// A measure, how far apart two schemes must be in it at high loss for their order to count, and how far they must be
/// the other way round elsewhere for it to have turned, in points.
type Order = (Metric, f64, f64);

/// Section 6.1: with less wireless loss the relative order of the schemes stays and their differences shrink (CEN-39).
///
/// Decided on throughput (order and differences), and on the order in the other measures.
pub(crate) fn level(high: View<'_>, other: View<'_>, name: &str, flows: &[usize]) -> [Claim; 2] {
    let throughput: Order = (Metric::Throughput, 2.0, 1.0);
    let others: [Order; 3] = [
        (Metric::Congestion, 1.0, 0.5),
        (Metric::Mc, 5.0, 2.5),
        (Metric::Mw, 5.0, 2.5),
    ];
    let (compared, turned) = turned(high, other, throughput, flows);
    let widest = |view: View<'_>| {
        let spreads = flows
            .iter()
            .map(|&n| spread(&SCHEMES.map(|scheme| view.throughput(scheme, n))));
        range(&spreads.collect::<Vec<_>>()).1
    };
    let (at_high, there) = (widest(high), widest(other));
    let rest: Vec<(usize, Vec<String>)> = others
        .into_iter()
        .map(|order| self::turned(high, other, order, flows))
        .collect();
    let rest_turned: Vec<String> = rest.iter().flat_map(|(_, turned)| turned.clone()).collect();
    [
        Claim::new(
            "CEN-39a",
            &format!(
                "{name} loss: the order of throughput is that of high loss, the differences are smaller"
            ),
            compared > 0 && turned.is_empty() && there < at_high,
            format!(
                "{compared} pairs, turned round: {}; widest spread {there:.1} points, at high loss {at_high:.1}",
                few(&turned)
            ),
        ),
        Claim::new(
            "CEN-39b",
            &format!(
                "{name} loss: the orders of congestion loss, Mc and Mw are those of high loss"
            ),
            rest.iter().all(|(compared, _)| *compared > 0) && rest_turned.is_empty(),
            format!(
                "{} pairs, turned round: {}",
                rest.iter().map(|(compared, _)| compared).sum::<usize>(),
                few(&rest_turned)
            ),
        ),
    ]
}

const SCHEMES: [&str; 7] = [
    "tcp", "unaware", "oracle", "biaz", "mbiaz", "spike", "zigzag",
];

/// The pairs of schemes whose order counts, and those among them that are the other way round.
fn turned(
    high: View<'_>,
    other: View<'_>,
    (metric, apart, reversed): Order,
    flows: &[usize],
) -> (usize, Vec<String>) {
    let (mut compared, mut turned) = (0, Vec::new());
    for &n in flows {
        for a in SCHEMES {
            for b in SCHEMES {
                let at_high = high.mean(metric, a, n) - high.mean(metric, b, n);
                let there = other.mean(metric, a, n) - other.mean(metric, b, n);
                if at_high > apart && !there.is_nan() {
                    compared += 1;
                    if there < -reversed {
                        turned.push(format!("{} of {a} and {b} at N={n}", metric.name()));
                    }
                }
            }
        }
    }
    (compared, turned)
}

/// The first few of a list, and how many more there are.
fn few(list: &[String]) -> String {
    match list.len() {
        0 => "none".into(),
        1..=6 => list.join(", "),
        more => format!("{} and {} more", list[..6].join(", "), more - 6),
    }
}
