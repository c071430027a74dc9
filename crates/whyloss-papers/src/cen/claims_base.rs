//! The paper's statements about several flows of one base classifier (Sections 6.3 and 6.4), decided on Figs 9 and 10.
//!
//! Thresholds were fixed before the first run: "high" throughput is 95 % or more, "flat" and "the same" are within 5
//! points, a rate of error is "high" from 30 % and "close to zero" up to 5 %.

use whyloss_study::{Check, Claim, Line, Metric, Runs};

use super::measure::{BASE, CONGESTION, Each, MC, MW, Run, THROUGHPUT, average, several};

const HIGH: f64 = 95.0;

/// The lines of a topology, by scheme.
#[derive(Clone, Copy)]
pub(crate) struct Of<'a>(pub(crate) &'a Runs<Run>);

impl Of<'_> {
    pub(crate) fn throughput(self, scheme: &str) -> Line {
        self.0.line(scheme, &THROUGHPUT)
    }

    pub(crate) fn congestion(self, scheme: &str) -> Line {
        self.0.line(scheme, &CONGESTION)
    }

    pub(crate) fn mc(self, scheme: &str) -> Line {
        self.0.line(scheme, &MC)
    }

    pub(crate) fn mw(self, scheme: &str) -> Line {
        self.0.line(scheme, &MW)
    }

    /// A metric's averages above one flow.
    pub(crate) fn averages<const N: usize>(
        self,
        what: &'static str,
        schemes: [&'static str; N],
        metric: &Metric<Run>,
    ) -> Each {
        let lines = self.0.lines(metric);
        Each::of(what, schemes, |scheme| average(&lines.line(scheme)))
    }
}

fn high(line: &Line) -> bool {
    line.every(|throughput| throughput >= HIGH)
}

/// At a number of flows.
fn at(line: &Line, flows: f64) -> f64 {
    line.at(flows).value
}

fn from_four(line: &Line) -> Line {
    line.only(|flows| flows >= 4.0)
}

/// TCP and TFRC, with which both sections begin, and Omni.
fn references(of: Of<'_>) -> [Line; 3] {
    ["tcp", "unaware", "oracle"].map(|scheme| of.throughput(scheme))
}

/// Section 6.3: the wireless last hop.
#[expect(clippy::too_many_lines, reason = "a list of claims")]
pub(crate) fn last_hop(wlh: &Runs<Run>) -> Vec<Claim> {
    let of = Of(wlh);
    let throughput = |scheme| of.throughput(scheme).named("throughput");
    let congestion = |scheme| of.congestion(scheme).named("congestion");
    let mc = |scheme| of.mc(scheme).named("Mc");
    let mw = |scheme| of.mw(scheme).named("Mw");
    let [tcp, tfrc, omni] = references(of);
    let lost = several(&of.congestion("oracle"));
    let biaz_lost = several(&of.congestion("biaz").named(""));
    let over_omni = biaz_lost
        .by_mean("", |n, loss| loss / at(&lost, n))
        .average();
    let rivals = ["biaz", "mbiaz", "spike"];
    let lowest_mc = BASE.map(|scheme| mc(scheme).bare());
    let full: Vec<&str> = BASE
        .into_iter()
        .filter(|scheme| high(&throughput(scheme)))
        .collect();
    let best = Check::of([&of.averages("", BASE, &CONGESTION)], |[lost]| {
        let beaten = |scheme: &&str| lost.get("zigzag") < lost.get(scheme) || *scheme == "zigzag";
        full.contains(&"zigzag") && full.iter().all(beaten)
    });
    let best_of = format!(
        "high throughput: {}; congestion: {}",
        full.join(", "),
        best.evidence
    );
    vec![
        Check::of([&tcp, &tfrc, &omni], |[tcp, tfrc, omni]| {
            let rises = |line: &Line| {
                let competing = several(line);
                competing.every_step(|before, after| after >= before - 1.0)
                    && at(line, 16.0) > at(line, 2.0)
            };
            rises(tcp) && rises(tfrc) && omni.spread() <= 5.0
        })
        .claim(
            "CEN-50",
            "TCP's and TFRC's throughput rises with the number of flows above one (no step down by more than a point); \
             Omni's is flat",
        ),
        Check::of([&throughput("biaz"), &mc("biaz")], |[throughput, mc]| {
            high(throughput) && several(mc).every(|error| error >= at(mc, 1.0) + 20.0)
        })
        .claim(
            "CEN-51a",
            "Biaz: throughput high for every number of flows, Mc far higher above one flow (by 20 points)",
        ),
        Check::of([&biaz_lost], |[lost]| lost.every(|loss| (7.0..=13.0).contains(&loss))).claim(
            "CEN-51b",
            "Biaz: congestion loss of 8 to 12 % above one flow (within a point)",
        ),
        Check {
            holds: (1.5..=2.5).contains(&over_omni),
            evidence: format!("{over_omni:.2} times; {lost}"),
        }
        .claim(
            "CEN-42a",
            "Biaz: congestion loss almost twice Omni's above one flow (1.5 to 2.5 times on average)",
        ),
        Check::of(
            [&of.averages("", ["oracle", "mbiaz", "spike", "zigzag"], &CONGESTION)],
            |[lost]| {
                let less = |scheme| lost.get(scheme) < lost.get("oracle");
                ["mbiaz", "spike", "zigzag"].into_iter().all(less)
            },
        )
        .claim(
            "CEN-42b",
            "all other base classifiers have less congestion loss than Omni (average above one flow)",
        ),
        Check::of([&of.averages("", BASE, &MC)], |_| {
            let [biaz, mbiaz, spike, zigzag] = &lowest_mc;
            let lowest = |n| [biaz, spike, zigzag].iter().all(|of| at(mbiaz, n) < at(of, n));
            several(mbiaz).means().all(|(n, _)| lowest(n))
        })
        .claim(
            "CEN-52a",
            "mBiaz has the lowest Mc of the base classifiers above one flow",
        ),
        Check::of([&throughput("mbiaz"), &mw("mbiaz")], |[throughput, mw]| {
            let biaz = of.mw("biaz");
            several(mw).means().all(|(n, mean)| mean.value > at(&biaz, n))
                && average(throughput) < average(&of.throughput("biaz"))
                && from_four(throughput).every(|mean| mean > at(throughput, 2.0))
                && high(&throughput.only(|flows| flows >= 8.0))
        })
        .claim(
            "CEN-52b",
            "mBiaz's Mw is above Biaz's and its throughput below; lowest with two flows, good (95 %) above six",
        ),
        Check::of(
            [&throughput("spike"), &mc("spike"), &mw("spike")],
            |[throughput, mc, mw]| {
                let errs = |line: &Line| several(line).every(|error| error >= 30.0);
                high(throughput) && errs(mc) && errs(mw)
            },
        )
        .claim(
            "CEN-53",
            "Spike: throughput high, Mc and Mw both high above one flow",
        ),
        Check::of([&throughput("zigzag"), &congestion("zigzag")], |[throughput, lost]| {
            let omni = of.congestion("oracle");
            high(throughput) && lost.means().all(|(n, mean)| mean.value < at(&omni, n))
        })
        .claim(
            "CEN-54a",
            "ZigZag: throughput high and congestion loss below Omni's for every number of flows",
        ),
        Check::of([&of.mc("zigzag").named("Mc of ZigZag")], |[zigzag]| {
            let steadier = |scheme| zigzag.spread() < of.mc(scheme).spread();
            at(zigzag, 16.0) > at(zigzag, 2.0) && ["biaz", "spike"].into_iter().all(steadier)
        })
        .and(Check::of(
            [
                &of.averages("averages of Mc", BASE, &MC),
                &of.averages("of Mw", BASE, &MW),
            ],
            |[mc, mw]| {
                let (own_mc, own_mw) = (mc.get("zigzag"), mw.get("zigzag"));
                mc.get("mbiaz") < own_mc
                    && ["biaz", "spike"].into_iter().all(|of| own_mc < mc.get(of))
                    && rivals.into_iter().all(|of| own_mw > mw.get(of))
            },
        ))
        .claim(
            "CEN-54b",
            "ZigZag: Mc second-lowest (average above one flow), rising with the number of flows, and steadier than \
             Biaz's and Spike's; Mw the highest of the base classifiers",
        ),
        best.put(best_of).claim(
            "CEN-55",
            "ZigZag is the best base classifier here: of those with high throughput for every number of flows, it has \
             the least congestion loss (average above one flow)",
        ),
    ]
}

/// Section 6.4: the wireless backbone.
#[expect(clippy::too_many_lines, reason = "a list of claims")]
pub(crate) fn backbone(wb: &Runs<Run>, wlh: &Runs<Run>) -> Vec<Claim> {
    let (of, last_hop) = (Of(wb), Of(wlh));
    let [tcp, tfrc, omni] = references(of);
    let pair = ["biaz", "mbiaz"];
    let errors = pair.map(|scheme| several(&of.mw(scheme)));
    let over_tfrc = pair.map(|scheme| {
        let line = several(&of.throughput(scheme));
        line.by_mean(&line.name, |n, mean| mean - at(&tfrc, n))
    });
    let [biaz_mw, mbiaz_mw] = &errors;
    let [biaz_over, mbiaz_over] = &over_tfrc;
    let as_tfrc =
        format!("Mw: {biaz_mw}; {mbiaz_mw}; throughput over TFRC's: {biaz_over}; {mbiaz_over}");
    let zigzag = [
        several(&of.mc("zigzag").named("Mc")),
        several(&last_hop.mc("zigzag").named("last hop")),
        several(&of.congestion("zigzag").named("congestion")),
        several(&last_hop.congestion("zigzag").named("last hop")),
    ];
    let [mc, mc_last_hop, lost, lost_last_hop] = &zigzag;
    let against = format!("{mc}, {mc_last_hop}; {lost}, {lost_last_hop}");
    let lowest = Each::of("lowest throughput", BASE, |scheme| {
        let line = of.throughput(scheme);
        line.lowest().map_or(f64::NAN, |(_, mean)| mean.value)
    });
    let mc_from_four = Each::of("Mc from four flows", BASE, |scheme| {
        from_four(&of.mc(scheme)).average()
    });
    vec![
        Check::of([&tcp, &tfrc], |lines| {
            lines.into_iter().all(|line| at(line, 4.0) >= at(line, 1.0) + 30.0)
        })
        .claim(
            "CEN-56a",
            "TCP's and TFRC's throughput rises quickly with the number of flows (by 30 points from one to four)",
        ),
        Check::of(
            [&omni.named("throughput"), &of.congestion("oracle").named("congestion")],
            |[throughput, lost]| {
                let more = |loss| loss >= 3.0 * at(lost, 1.0);
                let up = lost.only(|flows| (1.5..8.5).contains(&flows));
                high(throughput)
                    && several(lost).every(more)
                    && up.every_step(|before, after| before < after)
                    && at(lost, 10.0) < at(lost, 8.0)
            },
        )
        .claim(
            "CEN-56b",
            "Omni uses the link fully (95 %) with much greater congestion loss (3 times that of one flow); it follows \
             the rate per flow: up to N=8, down from 8 to 10",
        ),
        Check::all(&[biaz_mw, mbiaz_mw], |errors| errors.every(|mw| mw > 50.0))
            .and(Check::all(&[biaz_over, mbiaz_over], |over| {
                over.every(|points| points.abs() <= 5.0)
            }))
            .put(as_tfrc)
            .claim(
                "CEN-57",
                "Biaz and mBiaz: high Mw (above 50 %) above one flow, throughput as TFRC's (within 5 points)",
            )
            .foregone(),
        Check::of(
            [&of.mc("spike").named("Mc"), &of.throughput("spike").named("throughput")],
            |[mc, throughput]| several(mc).every(|mc| mc <= 5.0) && high(throughput),
        )
        .claim(
            "CEN-58a",
            "Spike: Mc close to zero above one flow, throughput high for every number of flows",
        ),
        Check::of([&of.mw("spike").named("")], |[mw]| {
            let up = mw.only(|flows| flows <= 8.0);
            up.every_step(|before, after| before < after)
        })
        .claim(
            "CEN-58b",
            "Spike: Mw rises with the number of flows (up to N=8, where the rate per flow falls)",
        ),
        Check::of([&lowest, &mc_from_four], |[lowest, mc]| {
            let rivals = BASE.into_iter().filter(|&scheme| scheme != "spike");
            let mut full = rivals.filter(|scheme| high(&from_four(&of.throughput(scheme))));
            full.all(|scheme| mc.get("spike") < mc.get(scheme))
                && BASE.into_iter().all(|scheme| (lowest.get(scheme) >= HIGH) == (scheme == "spike"))
        })
        .claim(
            "CEN-58c",
            "Spike is the best base classifier here: the only one with high throughput for every number of flows, and \
             from four flows the lowest Mc (average) of those with high throughput there",
        ),
        Check::all(&[mc, mc_last_hop, lost, lost_last_hop], |_| true)
            .and(most(mc, |n, mean| mean <= at(mc_last_hop, n)))
            .and(most(lost, |n, mean| mean > at(lost_last_hop, n)))
            .put(against)
            .claim(
                "CEN-59a",
                "ZigZag: Mc mostly lower than over the last hop, congestion loss higher (for most numbers of flows)",
            ),
        Check::of([&of.throughput("zigzag").named("")], |[throughput]| {
            throughput.only(|flows| flows < 2.5).every(|mean| mean < 90.0)
                && high(&from_four(throughput))
        })
        .claim(
            "CEN-59b",
            "ZigZag: throughput low (below 90 %) with one and two flows, full (95 %) from four",
        ),
    ]
}

/// Check that a line satisfies `holds` at more than half of the numbers of flows.
fn most(line: &Line, holds: impl Fn(f64, f64) -> bool) -> Check {
    Check::of([line], |[line]| {
        let holding = line.means().filter(|(n, mean)| holds(*n, mean.value));
        2 * holding.count() > line.means().count()
    })
}

/// Section 5.1: the wireless LAN gives what the backbone gives (CEN-18): throughput within 2 points, Mc and Mw within
/// 5, congestion loss within 1, for every scheme and number of flows. Two means that do not exist are alike; one that does
/// not is not.
pub(crate) fn lan_is_backbone(wb: &Runs<Run>, wlan: &Runs<Run>, schemes: &[&str]) -> Claim {
    let mut holds = true;
    let mut evidence = Vec::new();
    for (name, metric, limit) in [
        ("throughput", THROUGHPUT, 2.0),
        ("Mc", MC, 5.0),
        ("Mw", MW, 5.0),
        ("congestion", CONGESTION, 1.0),
    ] {
        let (own, other) = (wb.lines(&metric), wlan.lines(&metric));
        let (mut place, mut worst) = (String::new(), 0.0);
        for scheme in schemes {
            let other = other.line(scheme);
            for (n, mean) in own.line(scheme).means() {
                let (a, b) = (mean.value, at(&other, n));
                let apart = (a - b).abs();
                holds &= apart <= limit || (a.is_nan() && b.is_nan());
                if apart > worst || a.is_nan() != b.is_nan() {
                    (place, worst) = (format!("{scheme}, N={n}"), apart);
                }
            }
        }
        evidence.push(format!("{name} {worst:.1} ({place})"));
    }
    let flows: Vec<String> = wb.xs().iter().map(ToString::to_string).collect();
    Claim::new(
        "CEN-18",
        &format!(
            "{} flow(s): the wireless LAN gives what the backbone gives",
            flows.join(", ")
        ),
        holds,
        format!("largest differences in points: {}", evidence.join(", ")),
    )
}
