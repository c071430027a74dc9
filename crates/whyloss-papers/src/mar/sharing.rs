//! Friendliness and fairness: Fig. 8, and Jain's index of five equal flows (Section 5.4).
//!
//! Thresholds, fixed before the first run: "very close to the fair share" is within 10 % of it, "higher than the fair
//! share practically in every case" is more than 2 % above it in three of the four mixtures, Jain's indices are met within
//! 0.002 and "the same" within 0.002 of each other.

use whyloss::{Duration, Rate, Time};
use whyloss_link::ChannelSpec;

use super::evidence;
use super::measure::{
    CONFIDENCE, Estimate, Families, Line, Plan, constant, goodput, goodput_of, jain, jain_of, panel,
};
use super::network::{Network, RTT};
use super::scheme::Schemes;
use crate::experiment::{Context, ExperimentError};
use crate::variant::Variant;
use crate::{Cell, Claim, Figure, Outcome};

/// Flows on the link.
const FLOWS: usize = 5;
const RATE: Rate = Rate::from_mbps(10);

/// `n` flows of one variant and the rest NewReno on an error-free link.
fn mixture<'a>(n: usize, variant: &'a Variant, newreno: &'a Variant) -> Network<'a> {
    let flows = (0..FLOWS).map(|index| if index < n { variant } else { newreno });
    Network::single(RATE, RTT, ChannelSpec::None, flows.collect())
}

/// One panel of Fig. 8: both kinds' goodput, and the fair share, over the number of flows that are not NewReno.
struct Mixtures {
    variant: Line,
    newreno: Line,
    fair: Line,
}

fn mixtures(families: &Families, variant: &Variant) -> Result<Mixtures, ExperimentError> {
    let family = families.family(variant.id)?;
    let kind = |name: &str, id: &str| {
        let line = family.line(|run| goodput_of(run, id));
        Line {
            name: name.into(),
            ..line.where_mean_exists()
        }
    };
    let newreno = kind("NewReno", "newreno");
    // What five NewReno flows come to: the link's rate less headers.
    let fair = family.line(goodput);
    let share = fair.at(0.0);
    Ok(Mixtures {
        variant: kind(variant.name, variant.id),
        fair: constant("fair share", share, &fair),
        newreno,
    })
}

/// `mar-fig-8`.
pub(crate) fn fig_8(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let schemes = Schemes::paper();
    let newreno = schemes.newreno();
    let variants = [schemes.lp(), schemes.westwood_nr(), schemes.westwood_abse()];
    let plan = |variant: &Variant| -> Plan {
        let points = (0..=FLOWS).map(|n| (n as f64, mixture(n, variant, &newreno).scenario()));
        (variant.id.into(), variant.name.into(), points.collect())
    };
    let families = Families::measure(context, variants.iter().map(plan).collect())?;
    let mut claims = Vec::new();
    let (mut cells, mut panels): (Vec<Cell>, _) = (Vec::new(), Vec::new());
    let mut measured = Vec::new();
    for (variant, letter) in variants.iter().zip(["(a)", "(b)", "not in the paper:"]) {
        let mixtures = mixtures(&families, variant)?;
        let title = format!("{letter} {} and NewReno", variant.name);
        let lines = [
            mixtures.variant.clone(),
            mixtures.newreno.clone(),
            mixtures.fair.clone(),
        ];
        for line in &lines {
            cells.extend(line.cells(&title, "Mbit/s"));
        }
        let x_label = format!("flows of {} among five", variant.name);
        let mut drawn = panel(
            &title,
            (&x_label, "mean goodput (Mbit/s)"),
            false,
            &lines,
            1,
        );
        // Bars begin at zero, so that the panels can be compared.
        for series in &mut drawn.series {
            if series.look == crate::Look::Line {
                series.look = crate::Look::Bars;
            }
        }
        panels.push(drawn);
        measured.push(mixtures);
    }
    if let Some(lp) = measured.first() {
        let off = |line: &Line| over(line, &lp.fair);
        let (lp, newreno) = (off(&lp.variant), off(&lp.newreno));
        let near = |line: &Line| {
            line.points
                .iter()
                .all(|point| (point.mean - 1.0).abs() <= 0.10)
        };
        claims.push(Claim::new(
            "MAR-37a",
            "LP and NewReno both come to the fair share (within 10 %), however many of the five are LP",
            near(&lp) && near(&newreno),
            format!("of the fair share, LP: {}; NewReno: {}", evidence::all(&lp), evidence::all(&newreno)),
        ));
    }
    if let [lp, westwood, ..] = &measured[..] {
        let mixed = |x: f64| (1.0..=4.0).contains(&x);
        let lp = over(&lp.variant, &lp.fair).where_x(mixed);
        let westwood = over(&westwood.variant, &westwood.fair).where_x(mixed);
        let above = westwood
            .points
            .iter()
            .filter(|point| point.mean > 1.02)
            .count();
        claims.push(Claim::new(
            "MAR-37b",
            "Westwood-NR takes more than the fair share in at least three of the four mixtures (by 2 %), and more than LP \
             in its place",
            above >= 3 && westwood.points.iter().filter(|p| p.mean > lp.at(p.x)).count() >= 3,
            format!("of the fair share, Westwood-NR: {}; LP: {}", evidence::all(&westwood), evidence::all(&lp)),
        ));
    }
    Ok(Outcome {
        id: "mar-fig-8".into(),
        title: "Fig. 8: friendliness, five flows on an error-free link of 10 Mbit/s".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells,
        claims,
        figures: vec![Figure {
            name: "mar-fig-8".into(),
            caption: "Mean goodput of each kind among five flows; dashed: what each of five NewReno flows gets".into(),
            panels,
        }],
        notes: vec![
            "The flows start within 10 s of each other, drawn anew for each run; steady state is from 50 to 500 s. The fair \
             share is the mean goodput of five NewReno flows. Westwood-NR takes a sample of bandwidth per acknowledgement, as \
             UCLA's module for ns-2 does; with ABSE instead, a later estimator of the same group, it gives way."
                .into(),
        ],
    })
}

/// A line over another, without intervals.
fn over(line: &Line, by: &Line) -> Line {
    let point = |point: &Estimate| Estimate {
        mean: point.mean / by.at(point.x),
        half_width: point.half_width.map(|half| half / by.at(point.x)),
        ..*point
    };
    Line {
        name: line.name.clone(),
        points: line.points.iter().map(point).collect(),
    }
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
    let plan = |variant: &Variant| -> Plan {
        let points = READINGS.iter().enumerate().map(|(index, reading)| {
            let mut network = mixture(FLOWS, variant, &newreno);
            network.from = Time::ZERO + Duration::from_secs(reading.from as i64);
            network.end = Time::ZERO + Duration::from_secs(reading.end as i64);
            let mut scenario = network.scenario();
            for flow in &mut scenario.flows {
                flow.start.1 = Time::ZERO + reading.starts_within;
            }
            (index as f64, scenario)
        });
        (variant.id.into(), variant.name.into(), points.collect())
    };
    let families = Families::measure(
        context,
        variants.iter().map(|(variant, _)| plan(variant)).collect(),
    )?;
    let mut cells = Vec::new();
    let mut indices = Vec::new();
    for (variant, stated) in variants {
        let family = families.family(variant.id)?;
        let line = family.line(jain_of);
        for (index, (reading, point)) in READINGS.iter().zip(&line.points).enumerate() {
            let paper = (index == 0).then_some(stated);
            cells.push(Cell {
                row: format!("Jain's index, {}", reading.name),
                column: variant.name.into(),
                x: None,
                unit: "",
                paper,
                mean: Some(point.mean),
                half_width: point.half_width,
                tolerance: paper.map(|_| 0.002),
                ..Cell::default()
            });
            cells.push(Cell {
                row: format!("Jain's index of the mean goodputs, {}", reading.name),
                column: variant.name.into(),
                x: None,
                unit: "",
                paper: None,
                mean: jain(&family.mean_goodputs(index)),
                half_width: None,
                tolerance: None,
                ..Cell::default()
            });
        }
        indices.push(line.points.first().copied());
    }
    let mean = |index: usize| indices[index].map_or(f64::NAN, |point| point.mean);
    let said = |index: usize| indices[index].map_or_else(String::new, |point| precise(&point));
    Ok(Outcome {
        id: "mar-jain".into(),
        title: "Section 5.4: Jain's fairness index of five equal flows".into(),
        seeds: families.seeds,
        confidence: CONFIDENCE,
        cells,
        claims: vec![
            Claim::new(
                "MAR-30",
                "five LP flows have an index of 0.9987, five NewReno flows of 0.9995 (each within 0.002)",
                (mean(0) - 0.9987).abs() <= 0.002 && (mean(1) - 0.9995).abs() <= 0.002,
                format!("LP {}, NewReno {}", said(0), said(1)),
            ),
            Claim::new(
                "MAR-38",
                "LP is as fair to itself as NewReno (indices within 0.002 of each other)",
                (mean(0) - mean(1)).abs() <= 0.002,
                format!("LP {}, NewReno {}", said(0), said(1)),
            ),
        ],
        figures: Vec::new(),
        notes: vec![
            "The index is that of one run's five goodputs, averaged over the runs; the index of goodputs that were averaged \
             over the runs first stands beside it. The paper says neither how long it measured nor which it means, so other \
             windows and starts stand below the first row."
                .into(),
        ],
    })
}

/// Indices differ in the fourth decimal.
fn precise(point: &Estimate) -> String {
    let half = point
        .half_width
        .map_or_else(String::new, |half| format!(" ± {half:.4}"));
    format!("{:.4}{half}", point.mean)
}
