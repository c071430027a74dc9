//! The paper's statements about several flows of one base classifier (Sections 6.3 and 6.4), decided on Figs 9 and 10.
//!
//! Thresholds were fixed before the first run: "high" throughput is 95 % or more, "flat" and "the same" are within 5
//! points, a rate of error is "high" from 30 % and "close to zero" up to 5 %.

use super::findings::{View, list};
use super::series::{BASE, FLOWS, SEVERAL, alike, average, over, range, spread};
use whyloss_study::Claim;

const HIGH: f64 = 95.0;
const FOUR_AND_MORE: [usize; 6] = [4, 6, 8, 10, 12, 16];

pub(crate) fn at(flows: &[usize], value: impl Fn(usize) -> f64) -> String {
    list(flows.iter().map(|&n| (format!("N={n}"), value(n))))
}

/// Section 6.3: the wireless last hop.
#[expect(clippy::too_many_lines, reason = "a list of claims")]
pub(crate) fn last_hop(wlh: View<'_>) -> Vec<Claim> {
    let throughput = |s: &'static str| move |n| wlh.throughput(s, n);
    let mc = |s: &'static str| move |n| wlh.mc(s, n);
    let mw = |s: &'static str| move |n| wlh.mw(s, n);
    let congestion = |s: &'static str| move |n| wlh.congestion(s, n);
    let everywhere_high = |s| FLOWS.into_iter().all(|n| wlh.throughput(s, n) >= HIGH);
    let lowest_mc = |s: &str, n| {
        let mut others = BASE.into_iter().filter(|&other| other != s);
        others.all(|other| wlh.mc(s, n) < wlh.mc(other, n))
    };
    let biaz_over_omni = average(&over(&SEVERAL, |n| {
        wlh.congestion("biaz", n) / wlh.congestion("oracle", n)
    }));
    let (biaz_low, biaz_high) = range(&over(&SEVERAL, congestion("biaz")));
    vec![
        Claim::new(
            "CEN-50",
            "TCP's and TFRC's throughput rises with the number of flows above one (no step down by more than a point); \
             Omni's is flat",
            ["tcp", "unaware"].into_iter().all(|s| {
                let values = over(&SEVERAL, throughput(s));
                values.windows(2).all(|pair| pair[1] >= pair[0] - 1.0) && values[6] > values[0]
            }) && spread(&over(&FLOWS, throughput("oracle"))) <= 5.0,
            format!(
                "TCP {}; TFRC {}; Omni {}",
                at(&FLOWS, throughput("tcp")),
                at(&FLOWS, throughput("unaware")),
                at(&FLOWS, throughput("oracle"))
            ),
        ),
        Claim::new(
            "CEN-51a",
            "Biaz: throughput high for every number of flows, Mc far higher above one flow (by 20 points)",
            everywhere_high("biaz")
                && SEVERAL
                    .into_iter()
                    .all(|n| wlh.mc("biaz", n) >= wlh.mc("biaz", 1) + 20.0),
            format!(
                "throughput {}; Mc {}",
                at(&FLOWS, throughput("biaz")),
                at(&FLOWS, mc("biaz"))
            ),
        ),
        Claim::new(
            "CEN-51b",
            "Biaz: congestion loss of 8 to 12 % above one flow (within a point)",
            biaz_low >= 7.0 && biaz_high <= 13.0,
            at(&SEVERAL, congestion("biaz")),
        ),
        Claim::new(
            "CEN-42a",
            "Biaz: congestion loss almost twice Omni's above one flow (1.5 to 2.5 times on average)",
            (1.5..=2.5).contains(&biaz_over_omni),
            format!(
                "{biaz_over_omni:.2} times; Omni {}",
                at(&SEVERAL, congestion("oracle"))
            ),
        ),
        Claim::new(
            "CEN-42b",
            "all other base classifiers have less congestion loss than Omni (average above one flow)",
            ["mbiaz", "spike", "zigzag"].into_iter().all(|s| {
                average(&over(&SEVERAL, congestion(s)))
                    < average(&over(&SEVERAL, congestion("oracle")))
            }),
            list(
                ["oracle", "mbiaz", "spike", "zigzag"]
                    .map(|s| (s, average(&over(&SEVERAL, congestion(s))))),
            ),
        ),
        Claim::new(
            "CEN-52a",
            "mBiaz has the lowest Mc of the base classifiers above one flow",
            SEVERAL.into_iter().all(|n| lowest_mc("mbiaz", n)),
            list(BASE.map(|s| (s, average(&over(&SEVERAL, mc(s)))))),
        ),
        Claim::new(
            "CEN-52b",
            "mBiaz's Mw is above Biaz's and its throughput below; lowest with two flows, good (95 %) above six",
            SEVERAL
                .into_iter()
                .all(|n| wlh.mw("mbiaz", n) > wlh.mw("biaz", n))
                && average(&over(&SEVERAL, throughput("mbiaz")))
                    < average(&over(&SEVERAL, throughput("biaz")))
                && [4, 6, 8, 10, 12, 16]
                    .into_iter()
                    .all(|n| wlh.throughput("mbiaz", n) > wlh.throughput("mbiaz", 2))
                && [8, 10, 12, 16]
                    .into_iter()
                    .all(|n| wlh.throughput("mbiaz", n) >= HIGH),
            format!(
                "throughput {}; Mw {}",
                at(&FLOWS, throughput("mbiaz")),
                at(&FLOWS, mw("mbiaz"))
            ),
        ),
        Claim::new(
            "CEN-53",
            "Spike: throughput high, Mc and Mw both high above one flow",
            everywhere_high("spike")
                && SEVERAL
                    .into_iter()
                    .all(|n| wlh.mc("spike", n) >= 30.0 && wlh.mw("spike", n) >= 30.0),
            format!(
                "throughput {}; Mc {}; Mw {}",
                at(&FLOWS, throughput("spike")),
                at(&FLOWS, mc("spike")),
                at(&FLOWS, mw("spike"))
            ),
        ),
        Claim::new(
            "CEN-54a",
            "ZigZag: throughput high and congestion loss below Omni's for every number of flows",
            everywhere_high("zigzag")
                && FLOWS
                    .into_iter()
                    .all(|n| wlh.congestion("zigzag", n) < wlh.congestion("oracle", n)),
            format!(
                "throughput {}; congestion {}",
                at(&FLOWS, throughput("zigzag")),
                at(&FLOWS, congestion("zigzag"))
            ),
        ),
        Claim::new(
            "CEN-54b",
            "ZigZag: Mc second-lowest (average above one flow), rising with the number of flows, and steadier than \
             Biaz's and Spike's; Mw the highest of the base classifiers",
            average(&over(&SEVERAL, mc("mbiaz"))) < average(&over(&SEVERAL, mc("zigzag")))
                && ["biaz", "spike"].into_iter().all(|s| {
                    average(&over(&SEVERAL, mc("zigzag"))) < average(&over(&SEVERAL, mc(s)))
                        && spread(&over(&FLOWS, mc("zigzag"))) < spread(&over(&FLOWS, mc(s)))
                })
                && wlh.mc("zigzag", 16) > wlh.mc("zigzag", 2)
                && ["biaz", "mbiaz", "spike"].into_iter().all(|s| {
                    average(&over(&SEVERAL, mw("zigzag"))) > average(&over(&SEVERAL, mw(s)))
                }),
            format!(
                "Mc of ZigZag {}; averages of Mc: {}; of Mw: {}",
                at(&FLOWS, mc("zigzag")),
                list(BASE.map(|s| (s, average(&over(&SEVERAL, mc(s)))))),
                list(BASE.map(|s| (s, average(&over(&SEVERAL, mw(s))))))
            ),
        ),
        Claim::new(
            "CEN-55",
            "ZigZag is the best base classifier here: of those with high throughput for every number of flows, it has \
             the least congestion loss (average above one flow)",
            everywhere_high("zigzag")
                && ["biaz", "mbiaz", "spike"]
                    .into_iter()
                    .filter(|s| everywhere_high(s))
                    .all(|s| {
                        average(&over(&SEVERAL, congestion("zigzag")))
                            < average(&over(&SEVERAL, congestion(s)))
                    }),
            format!(
                "high throughput: {}; congestion: {}",
                BASE.into_iter()
                    .filter(|s| everywhere_high(s))
                    .collect::<Vec<_>>()
                    .join(", "),
                list(BASE.map(|s| (s, average(&over(&SEVERAL, congestion(s))))))
            ),
        ),
    ]
}

/// Section 6.4: the wireless backbone.
#[expect(clippy::too_many_lines, reason = "a list of claims")]
pub(crate) fn backbone(wb: View<'_>, wlh: View<'_>) -> Vec<Claim> {
    let throughput = |s: &'static str| move |n| wb.throughput(s, n);
    let mc = |s: &'static str| move |n| wb.mc(s, n);
    let mw = |s: &'static str| move |n| wb.mw(s, n);
    let full = |s: &str, flows: &[usize]| flows.iter().all(|&n| wb.throughput(s, n) >= HIGH);
    let omni = |n| wb.congestion("oracle", n);
    let most = SEVERAL.len() / 2 + 1;
    let lower_mc = SEVERAL
        .into_iter()
        .filter(|&n| wb.mc("zigzag", n) <= wlh.mc("zigzag", n))
        .count();
    let higher_loss = SEVERAL
        .into_iter()
        .filter(|&n| wb.congestion("zigzag", n) > wlh.congestion("zigzag", n))
        .count();
    vec![
        Claim::new(
            "CEN-56a",
            "TCP's and TFRC's throughput rises quickly with the number of flows (by 30 points from one to four)",
            ["tcp", "unaware"]
                .into_iter()
                .all(|s| wb.throughput(s, 4) >= wb.throughput(s, 1) + 30.0),
            format!(
                "TCP {}; TFRC {}",
                at(&FLOWS, throughput("tcp")),
                at(&FLOWS, throughput("unaware"))
            ),
        ),
        Claim::new(
            "CEN-56b",
            "Omni uses the link fully (95 %) with much greater congestion loss (3 times that of one flow); it follows \
             the rate per flow: up to N=8, down from 8 to 10",
            FLOWS
                .into_iter()
                .all(|n| wb.throughput("oracle", n) >= HIGH)
                && SEVERAL.into_iter().all(|n| omni(n) >= 3.0 * omni(1))
                && [2, 4, 6, 8]
                    .windows(2)
                    .all(|pair| omni(pair[0]) < omni(pair[1]))
                && omni(10) < omni(8),
            format!(
                "throughput {}; congestion {}",
                at(&FLOWS, throughput("oracle")),
                at(&FLOWS, omni)
            ),
        ),
        Claim::new(
            "CEN-57",
            "Biaz and mBiaz: high Mw (above 50 %) above one flow, throughput as TFRC's (within 5 points)",
            ["biaz", "mbiaz"].into_iter().all(|s| {
                SEVERAL.into_iter().all(|n| {
                    wb.mw(s, n) > 50.0
                        && (wb.throughput(s, n) - wb.throughput("unaware", n)).abs() <= 5.0
                })
            }),
            format!(
                "Mw: Biaz {}; mBiaz {}; throughput over TFRC's: Biaz {}; mBiaz {}",
                at(&SEVERAL, mw("biaz")),
                at(&SEVERAL, mw("mbiaz")),
                at(&SEVERAL, |n| wb.throughput("biaz", n)
                    - wb.throughput("unaware", n)),
                at(&SEVERAL, |n| wb.throughput("mbiaz", n)
                    - wb.throughput("unaware", n))
            ),
        )
        .foregone(),
        Claim::new(
            "CEN-58a",
            "Spike: Mc close to zero above one flow, throughput high for every number of flows",
            SEVERAL.into_iter().all(|n| wb.mc("spike", n) <= 5.0)
                && FLOWS.into_iter().all(|n| wb.throughput("spike", n) >= HIGH),
            format!(
                "Mc {}; throughput {}",
                at(&FLOWS, mc("spike")),
                at(&FLOWS, throughput("spike"))
            ),
        ),
        Claim::new(
            "CEN-58b",
            "Spike: Mw rises with the number of flows (up to N=8, where the rate per flow falls)",
            [1, 2, 4, 6, 8]
                .windows(2)
                .all(|pair| wb.mw("spike", pair[0]) < wb.mw("spike", pair[1])),
            at(&FLOWS, mw("spike")),
        ),
        Claim::new(
            "CEN-58c",
            "Spike is the best base classifier here: the only one with high throughput for every number of flows, and \
             from four flows the lowest Mc (average) of those with high throughput there",
            BASE.into_iter()
                .filter(|&s| s != "spike" && full(s, &FOUR_AND_MORE))
                .all(|s| {
                    average(&over(&FOUR_AND_MORE, mc("spike")))
                        < average(&over(&FOUR_AND_MORE, mc(s)))
                })
                && BASE.into_iter().all(|s| full(s, &FLOWS) == (s == "spike")),
            format!(
                "lowest throughput: {}; Mc from four flows: {}",
                list(BASE.map(|s| (s, range(&over(&FLOWS, throughput(s))).0))),
                list(BASE.map(|s| (s, average(&over(&FOUR_AND_MORE, mc(s))))))
            ),
        ),
        Claim::new(
            "CEN-59a",
            "ZigZag: Mc mostly lower than over the last hop, congestion loss higher (for most numbers of flows)",
            lower_mc >= most && higher_loss >= most,
            format!(
                "Mc {}, last hop {}; congestion {}, last hop {}",
                at(&SEVERAL, mc("zigzag")),
                at(&SEVERAL, |n| wlh.mc("zigzag", n)),
                at(&SEVERAL, |n| wb.congestion("zigzag", n)),
                at(&SEVERAL, |n| wlh.congestion("zigzag", n))
            ),
        ),
        Claim::new(
            "CEN-59b",
            "ZigZag: throughput low (below 90 %) with one and two flows, full (95 %) from four",
            wb.throughput("zigzag", 1) < 90.0
                && wb.throughput("zigzag", 2) < 90.0
                && [4, 6, 8, 10, 12, 16]
                    .into_iter()
                    .all(|n| wb.throughput("zigzag", n) >= HIGH),
            at(&FLOWS, throughput("zigzag")),
        ),
    ]
}

/// Section 5.1: the wireless LAN gives what the backbone gives (CEN-18): throughput within 2 points, Mc and Mw within
/// 5, congestion loss within 1, for every scheme and number of flows.
pub(crate) fn lan_is_backbone(
    wb: View<'_>,
    wlan: View<'_>,
    schemes: &[&str],
    flows: &[usize],
) -> Claim {
    let limits = [
        ("throughput", 2.0),
        ("Mc", 5.0),
        ("Mw", 5.0),
        ("congestion", 1.0),
    ];
    let mut worst: [(String, f64); 4] = Default::default();
    let mut holds = true;
    for &scheme in schemes {
        for &n in flows {
            let measures = [
                (wb.throughput(scheme, n), wlan.throughput(scheme, n)),
                (wb.mc(scheme, n), wlan.mc(scheme, n)),
                (wb.mw(scheme, n), wlan.mw(scheme, n)),
                (wb.congestion(scheme, n), wlan.congestion(scheme, n)),
            ];
            for ((worst, (_, limit)), (a, b)) in worst.iter_mut().zip(limits).zip(measures) {
                holds &= alike(a, b, limit);
                if (a - b).abs() > worst.1 || a.is_nan() != b.is_nan() {
                    *worst = (format!("{scheme}, N={n}"), (a - b).abs());
                }
            }
        }
    }
    let evidence: Vec<String> = worst
        .iter()
        .zip(limits)
        .map(|((place, difference), (name, _))| format!("{name} {difference:.1} ({place})"))
        .collect();
    Claim::new(
        "CEN-18",
        &format!(
            "{} flow(s): the wireless LAN gives what the backbone gives",
            list_of(flows)
        ),
        holds,
        format!("largest differences in points: {}", evidence.join(", ")),
    )
}

fn list_of(flows: &[usize]) -> String {
    flows
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
