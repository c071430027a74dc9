//! The paper's statements about one flow (Sections 6.1 and 6.2), decided on Tables 2 and 3.
//!
//! Every threshold was fixed before the first run: a stated number is met within the tolerance of its table, "equal"
//! and "similar" mean within 3 points of throughput, "no" means below half a per cent.

use whyloss_study::{Check, Claim, Line, Metric, Runs};

use super::measure::{BASE, CONGESTION, Each, MC, MW, Run, THROUGHPUT};

const SCHEMES: [&str; 7] = [
    "tcp", "unaware", "oracle", "biaz", "mbiaz", "spike", "zigzag",
];

/// What a metric says of some schemes with one flow.
fn each<const N: usize>(
    runs: &Runs<Run>,
    what: &'static str,
    schemes: [&'static str; N],
    metric: &Metric<Run>,
) -> Each {
    let lines = runs.lines(metric);
    Each::of(what, schemes, |scheme| lines.line(scheme).at(1.0).value)
}

/// Section 6.1.
pub(crate) fn last_hop(wlh: &Runs<Run>) -> Vec<Claim> {
    let throughput = each(wlh, "", SCHEMES, &THROUGHPUT);
    let pair = ["biaz", "mbiaz"];
    let other = ["spike", "zigzag"];
    vec![
        Check::of([&throughput], |[of]| {
            let order = |lda| of.get("tcp") < of.get("unaware") && of.get("unaware") < of.get(lda);
            BASE.into_iter().all(order)
        })
        .claim("CEN-43a", "TCP < TFRC < every classifier in throughput"),
        Check::of([&throughput], |[of]| {
            let full = |lda| of.get(lda) >= 96.5 && (of.get(lda) - of.get("oracle")).abs() <= 3.0;
            BASE.into_iter().all(full)
        })
        .claim(
            "CEN-43b",
            "every classifier uses at least 97 % of the link (rounded), as Omni does (within 3 points)",
        ),
        Check::of(
            [
                &each(wlh, "Mc", pair, &MC),
                &each(wlh, "Mw", pair, &MW),
                &each(wlh, "congestion", ["oracle", "biaz", "mbiaz"], &CONGESTION),
            ],
            |[mc, mw, lost]| {
                let as_omni = |lost_here: f64| (lost_here - lost.get("oracle")).abs() <= 0.5;
                mc.every(|mc| mc < 0.5) && mw.every(|mw| mw < 10.0) && lost.every(as_omni)
            },
        )
        .claim(
            "CEN-44",
            "Biaz and mBiaz take no congestion loss for wireless, make few mistakes on wireless losses (Mw below 10 %), \
             and lose to congestion what Omni loses (within half a point)",
        ),
        Check::of(
            [
                &each(wlh, "Mw", other, &MW),
                &each(wlh, "Mc", other, &MC),
                &each(wlh, "congestion", ["oracle", "spike", "zigzag"], &CONGESTION),
                &each(wlh, "throughput", ["oracle", "spike", "zigzag"], &THROUGHPUT),
            ],
            |[mw, mc, lost, throughput]| {
                let omni = throughput.get("oracle");
                mw.every(|mw| mw > 40.0)
                    && mc.every(|mc| mc < 2.0)
                    && other.into_iter().all(|lda| lost.get(lda) < lost.get("oracle") / 2.0)
                    && throughput.every(|of| omni - of <= 3.0)
            },
        )
        .claim(
            "CEN-45",
            "Spike and ZigZag call many wireless losses congestion (Mw above 40 %), few the other way (Mc below 2 %), \
             lose less than half of Omni's to congestion, and pay no throughput for it (within 3 points)",
        ),
    ]
}

/// Section 6.2. `wlh` has one flow of TCP, TFRC and Omni over the last hop.
pub(crate) fn backbone(wb: &Runs<Run>, wlh: &Runs<Run>) -> Vec<Claim> {
    let references = ["tcp", "unaware", "oracle"];
    let order = [
        "tcp", "unaware", "zigzag", "mbiaz", "biaz", "spike", "oracle",
    ];
    let omni = |runs: &Runs<Run>| runs.line("oracle", &CONGESTION).at(1.0).value;
    let (omni_wb, omni_wlh) = (omni(wb), omni(wlh));
    let far_less = Check::of(
        [
            &each(wb, "WB", references, &THROUGHPUT),
            &each(wlh, "WLH", ["tcp", "unaware"], &THROUGHPUT),
        ],
        |[wb, wlh]| {
            let less = |scheme| wlh.get(scheme) - wb.get(scheme) >= 20.0;
            ["tcp", "unaware"].into_iter().all(less) && wb.get("oracle") >= 95.0
        },
    );
    let evidence = format!("Omni's congestion loss WB {omni_wb:.2}, WLH {omni_wlh:.2}");
    let less_lost = Check {
        holds: omni_wb < omni_wlh,
        evidence,
    };
    let throughput = each(wb, "", order, &THROUGHPUT);
    let gain = 100.0 * (throughput.get("oracle") / throughput.get("unaware") - 1.0);
    vec![
        far_less.and(less_lost).claim(
            "CEN-46",
            "TCP and TFRC use far less than over the last hop (by 20 points), Omni nearly all (95 %) with less \
             congestion loss than there",
        ),
        Check::of([&throughput], |[of]| {
            each(wb, "", ["tcp", "unaware", "zigzag", "mbiaz", "biaz", "spike"], &THROUGHPUT).rise()
                && of.get("mbiaz") - of.get("zigzag") >= 20.0
                && (of.get("spike") - of.get("oracle")).abs() <= 3.0
        })
        .claim(
            "CEN-47",
            "throughput: TCP < TFRC < ZigZag, far below (20 points) mBiaz < Biaz < Spike, which equals Omni (within 3)",
        ),
        Check::of([&each(wb, "", ["biaz", "mbiaz"], &MW)], |[mw]| {
            mw.get("mbiaz") > mw.get("biaz")
        })
        .claim("CEN-48", "mBiaz calls more wireless losses congestion than Biaz"),
        Check::of([&each(wb, "", BASE, &MC)], |[mc]| {
            let none = |lda| mc.get(lda) < 0.5;
            mc.get("spike") >= 0.5 && ["biaz", "mbiaz", "zigzag"].into_iter().all(none)
        })
        .claim(
            "CEN-49",
            "only Spike takes any congestion loss for wireless (the others below half a per cent)",
        ),
        Check {
            holds: (150.0..=250.0).contains(&gain),
            evidence: format!("{gain:.0} % higher"),
        }
        .claim(
            "CEN-41",
            "Omni's throughput is up to 200 % higher than TFRC's (150 to 250 %)",
        ),
    ]
}

/// A measure, how far apart two schemes must be in it at high loss for their order to count, and how far they must be
/// the other way round elsewhere for it to have turned, in points.
type Order = (Metric<Run>, f64, f64);

const THROUGHPUTS: Order = (THROUGHPUT, 2.0, 1.0);
const OTHERS: [Order; 3] = [(CONGESTION, 1.0, 0.5), (MC, 5.0, 2.5), (MW, 5.0, 2.5)];

/// Section 6.1: with less wireless loss the relative order of the schemes stays and their differences shrink (CEN-39), at
/// medium and at low loss.
pub(crate) fn levels([high, medium, low]: &[Runs<Run>; 3]) -> impl Iterator<Item = Claim> {
    let levels = [level(high, medium, "medium"), level(high, low, "low")];
    levels.into_iter().flatten()
}

/// Decided on throughput (order and differences), and on the order in the other measures.
fn level(high: &Runs<Run>, other: &Runs<Run>, name: &str) -> [Claim; 2] {
    let (compared, turned) = turned(high, other, &THROUGHPUTS);
    let widest = |runs: &Runs<Run>| {
        let lines = bare(runs, &THROUGHPUT);
        let spreads = runs.xs().iter().map(|&n| {
            let values = lines
                .each_ref()
                .map(|line| (n, vec![Some(line.at(n).value)]));
            // A hole makes it NaN, and the widest with it.
            Line::of("", "", "", values).spread()
        });
        let larger = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
        spreads.fold(f64::NEG_INFINITY, larger)
    };
    let (at_high, there) = (widest(high), widest(other));
    let rest = OTHERS.map(|order| self::turned(high, other, &order));
    let pairs: usize = rest.iter().map(|(compared, _)| compared).sum();
    let every = rest.iter().all(|(compared, _)| *compared > 0);
    let others_turned: Vec<String> = rest.into_iter().flat_map(|(_, turned)| turned).collect();
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
            every && others_turned.is_empty(),
            format!("{pairs} pairs, turned round: {}", few(&others_turned)),
        ),
    ]
}

/// The means of a metric.
fn bare(runs: &Runs<Run>, metric: &Metric<Run>) -> [Line; 7] {
    let lines = runs.lines(metric);
    SCHEMES.map(|scheme| lines.line(scheme).bare())
}

/// The pairs of schemes whose order counts, and those among them that are the other way round.
fn turned(
    high: &Runs<Run>,
    other: &Runs<Run>,
    (metric, apart, reversed): &Order,
) -> (usize, Vec<String>) {
    let (mut compared, mut turned) = (0, Vec::new());
    let lines = [high, other].map(|runs| bare(runs, metric));
    for &n in high.xs() {
        let means = lines
            .each_ref()
            .map(|of| of.each_ref().map(|line| line.at(n).value));
        for (a, first) in SCHEMES.iter().enumerate() {
            for (b, second) in SCHEMES.iter().enumerate() {
                let [at_high, there] = means.map(|of| of[a] - of[b]);
                if at_high > *apart && !there.is_nan() {
                    compared += 1;
                    if there < -reversed {
                        let name = metric.name;
                        turned.push(format!("{name} of {first} and {second} at N={n}"));
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
