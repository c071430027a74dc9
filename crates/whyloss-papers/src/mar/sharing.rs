//! Friendliness and fairness: Fig. 8, and Jain's index of five equal flows (Section 5.4).
//!
//! Thresholds, fixed before the first run: "very close to the fair share" is within 10 % of it, "higher than the fair
//! share practically in every case" is more than 2 % above it in three of the four mixtures, Jain's indices are met within
//! 0.002 and "the same" within 0.002 of each other.

use whyloss::{Duration, Rate, Time};
use whyloss_link::ChannelSpec;
use whyloss_study::statistics::{jain, mean};
use whyloss_study::{Axis, Check, Context, ExperimentError, Line, Look, Outcome, Plan};

use super::measure::{GOODPUT, JAIN, goodput_of, goodputs, outcome, run, run_one};
use super::network::{Network, RTT};
use super::scheme::Schemes;
use crate::variant::Variant;

/// Flows on the link.
const FLOWS: usize = 5;
const RATE: Rate = Rate::from_mbps(10);

/// `n` flows of one variant and the rest NewReno on an error-free link.
fn mixture<'a>(n: usize, variant: &'a Variant, newreno: &'a Variant) -> Network<'a> {
    let flows = (0..FLOWS).map(|index| if index < n { variant } else { newreno });
    Network::single(RATE, RTT, ChannelSpec::None, flows.collect())
}

/// `mar-fig-8`.
pub(crate) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = Schemes::paper();
    let newreno = schemes.newreno();
    let variants = [schemes.lp(), schemes.westwood_nr(), schemes.westwood_abse()];
    let counts: Vec<f64> = (0..=FLOWS).map(|n| n as f64).collect();
    let plans = variants.each_ref().map(|variant| {
        let axis = Axis::named(format!("flows of {} among five", variant.name));
        Plan::new(&axis, &counts).line("all", "all", |n| {
            mixture(n as usize, variant, &newreno).scenario()
        })
    });
    let all = run(context, &plans)?;
    let (mut cells, mut panels, mut measured) = (Vec::new(), Vec::new(), Vec::new());
    for ((variant, letter), runs) in variants
        .iter()
        .zip(["(a)", "(b)", "not in the paper:"])
        .zip(&all)
    {
        let kind = |variant: &Variant| {
            // Bars begin at zero, so that the panels can be compared.
            let names = (variant.id, variant.name);
            let line = runs.read_off("all", names, "Mbit/s", |run| goodput_of(run, variant.id));
            line.measured().drawn(Look::Bars)
        };
        // What five NewReno flows come to: the link's rate less headers.
        let every = runs.line("all", &GOODPUT);
        let fair = every
            .constant("fair", "fair share", every.at(0.0).value)
            .bare();
        let lines = [kind(variant), kind(&newreno), fair];
        let title = format!("{letter} {} and NewReno", variant.name);
        cells.extend(lines.iter().flat_map(|line| line.cells(&title)));
        let drawn = runs.gather(("mean goodput (Mbit/s)", ""), lines.clone());
        panels.push(drawn.panel(&title));
        measured.push(lines);
    }
    // Of the fair share.
    let share = |index: usize, line: usize| {
        let [.., fair] = &measured[index];
        let line = &measured[index][line];
        line.by_mean(&line.name, |x, mean| mean / fair.at(x).value)
    };
    let (lp, beside_lp, westwood) = (share(0, 0), share(0, 1), share(1, 0));
    let mixed = |line: &Line| line.only(|n| (1.0..=4.0).contains(&n));
    let title = "Fig. 8: friendliness, five flows on an error-free link of 10 Mbit/s";
    Ok(outcome("mar-fig-8", title, &all)
        .cells(cells)
        .captioned(
            "Mean goodput of each kind among five flows; dashed: what each of five NewReno flows gets",
            panels,
        )
        .claim(
            "MAR-37a",
            "LP and NewReno both come to the fair share (within 10 %), however many of the five are LP",
            lp.near(1.0, 0.10).and(beside_lp.near(1.0, 0.10)),
        )
        .claim(
            "MAR-37b",
            "Westwood-NR takes more than the fair share in at least three of the four mixtures (by 2 %), and more than LP \
             in its place",
            Check::of([&mixed(&westwood), &mixed(&lp)], |[westwood, lp]| {
                let above = westwood.means().filter(|(_, share)| share.value > 1.02);
                let above_lp = westwood.means().filter(|(x, share)| share.value > lp.at(*x).value);
                above.count() >= 3 && above_lp.count() >= 3
            }),
        )
        .note(
            "The flows start within 10 s of each other, drawn anew for each run; steady state is from 50 to 500 s. The fair \
             share is the mean goodput of five NewReno flows. Westwood-NR takes a sample of bandwidth per acknowledgement, as \
             UCLA's module for ns-2 does; with ABSE instead, a later estimator of the same group, it gives way.",
        ))
}

/// What Jain's index is measured over: a name, the beginning and the end of the window, when flows start.
struct Reading {
    name: &'static str,
    from: u64,
    end: u64,
    starts_within: Duration,
}

const READINGS: [Reading; 5] = [
    Reading {
        name: "50 to 500 s",
        from: 50,
        end: 500,
        starts_within: Duration::from_secs(10),
    },
    Reading {
        name: "50 to 150 s",
        from: 50,
        end: 150,
        starts_within: Duration::from_secs(10),
    },
    Reading {
        name: "50 to 2000 s",
        from: 50,
        end: 2000,
        starts_within: Duration::from_secs(10),
    },
    Reading {
        name: "50 to 500 s, all start at once",
        from: 50,
        end: 500,
        starts_within: Duration::ZERO,
    },
    Reading {
        name: "0 to 500 s, all within 1 s",
        from: 0,
        end: 500,
        starts_within: Duration::from_secs(1),
    },
];

/// `mar-jain`.
pub(crate) fn jain_index(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = Schemes::paper();
    let (newreno, lp) = (schemes.newreno(), schemes.lp());
    let variants = [(&lp, 0.9987), (&newreno, 0.9995)];
    let mut plan = Plan::table();
    for (variant, _) in variants {
        for reading in &READINGS {
            let mut network = mixture(FLOWS, variant, &newreno);
            network.from = Time::ZERO + Duration::from_secs(reading.from as i64);
            network.end = Time::ZERO + Duration::from_secs(reading.end as i64);
            let id = format!("{} {}", variant.id, reading.name);
            plan = plan.line(&id, variant.name, |_| {
                let mut scenario = network.scenario();
                for flow in &mut scenario.flows {
                    flow.start.1 = Time::ZERO + reading.starts_within;
                }
                scenario
            });
        }
    }
    let runs = run_one(context, plan)?;
    let index = |variant: &Variant, reading: &Reading| {
        runs.line(&format!("{} {}", variant.id, reading.name), &JAIN)
    };
    // Each flow's goodput averaged over the runs, and then the index.
    let of_means = |variant: &Variant, reading: &Reading| {
        let runs = runs.at(&format!("{} {}", variant.id, reading.name), f64::NAN);
        let each: Vec<Vec<f64>> = runs.iter().map(|run| goodputs(run)).collect();
        let flow = |flow: usize| mean(&each.iter().map(|run| run[flow]).collect::<Vec<_>>());
        let means: Option<Vec<f64>> = (0..FLOWS).map(flow).collect();
        Line::of(
            "",
            variant.name,
            "",
            [(f64::NAN, vec![jain(&means.unwrap_or_default())])],
        )
    };
    let mut cells = Vec::new();
    for (variant, stated) in variants {
        for (place, reading) in READINGS.iter().enumerate() {
            let index = index(variant, reading).cells(&format!("Jain's index, {}", reading.name));
            let beside = index.into_iter().map(|cell| {
                if place == 0 {
                    cell.beside(stated, 0.002)
                } else {
                    cell
                }
            });
            cells.extend(beside);
            let row = format!("Jain's index of the mean goodputs, {}", reading.name);
            cells.extend(of_means(variant, reading).cells(&row));
        }
    }
    let [lp, newreno] = [&lp, &newreno].map(|variant| index(variant, &READINGS[0]));
    let title = "Section 5.4: Jain's fairness index of five equal flows";
    Ok(outcome("mar-jain", title, std::slice::from_ref(&runs))
        .cells(cells)
        .claim(
            "MAR-30",
            "five LP flows have an index of 0.9987, five NewReno flows of 0.9995 (each within 0.002)",
            lp.near(0.9987, 0.002).and(newreno.near(0.9995, 0.002)),
        )
        .claim(
            "MAR-38",
            "LP is as fair to itself as NewReno (indices within 0.002 of each other)",
            Check::of([&lp, &newreno], |[lp, newreno]| {
                (lp.average() - newreno.average()).abs() <= 0.002
            }),
        )
        .note(
            "The index is that of one run's five goodputs, averaged over the runs; the index of goodputs that were averaged \
             over the runs first stands beside it. The paper says neither how long it measured nor which it means, so other \
             windows and starts stand below the first row.",
        ))
}
