//! The limitation in the paper's conclusion (BAL-A8): when the path gets longer, RTT_min stays what it was.
//!
//! One flow as in Fig. 6; after 50 s the propagation delay steps from 50 to 100 ms one way. The second half is compared
//! with that of a flow whose path was long from the beginning. Buffers hold the long path's pipe in both.

use whyloss::Duration;
use whyloss_sim::Scenario;
use whyloss_study::{
    Axis, Check, Context, ExperimentError, Line, Look, Outcome, Panel, Plan, Series,
};

use super::goodput::{GOODPUT, lossy};
use super::network::{Network, at};
use super::stack::{PACKET, Stack};
use super::trace::{self, panel};
use crate::variant::Variant;

/// How much longer the path gets, one way.
const STEP: Duration = Duration::from_millis(50);
/// Wireless loss, %.
const LOSSES: [f64; 2] = [0.0, 0.1];
/// A loss of goodput that counts, %.
const NOTICEABLE: f64 = 10.0;
/// The largest window drawn, packets.
const DRAWN: f64 = 250.0;

fn scenario(variant: &Variant, loss: f64, changes_at: u64) -> Scenario {
    let network = Network {
        step: Some((at(changes_at), STEP)),
        buffer: 2.0,
        ..lossy(loss)
    };
    Scenario {
        measure_from: at(50),
        ..network.scenario(std::slice::from_ref(variant))
    }
}

/// `bal-path-change`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let variants = Stack::default().all();
    let mut plan = Plan::new(&Axis::linear("wireless loss, %"), &LOSSES);
    for variant in &variants {
        for (what, changes_at) in [("stepped", 50), ("always", 0)] {
            let id = format!("{} {what}", variant.id);
            plan = plan.line(&id, variant.name, |loss| {
                scenario(variant, loss, changes_at)
            });
        }
    }
    let runs = plan.run(context)?;
    let lines = |what: &str| {
        variants
            .each_ref()
            .map(|variant| runs.line(&format!("{} {what}", variant.id), &GOODPUT))
    };
    let (stepped, always) = (lines("stepped"), lines("always"));
    let changes: Vec<Line> = stepped
        .iter()
        .zip(&always)
        .map(|(stepped, always)| stepped.gain(always).named(&stepped.name))
        .collect();
    let mut cells = Vec::new();
    for loss in LOSSES {
        for (index, variant) in variants.iter().enumerate() {
            for (row, line) in [
                ("goodput after the step", &stepped[index]),
                ("goodput on the long path", &always[index]),
                ("change by the history", &changes[index]),
            ] {
                let row = format!("{row}, {loss} % loss");
                cells.push(line.at(loss).cell(&row, variant.name, line.unit));
            }
        }
    }
    Ok(Outcome::new("bal-path-change", "the path gets longer on the way", runs.seeds())
        .cells(cells)
        .captioned(
            "the delay steps from 50 to 100 ms after 50 s, 0.1 % loss: the first replication",
            [windows(context, &variants)?],
        )
        .claim(
            "BAL-A8",
            "after the path got longer BaLDE, whose RTT_min is too small, has less (by 10 %) than on a path that always was as \
             long",
            Check::of([&changes[2], &changes[1], &changes[0]], |[balde, ..]| {
                balde.every(|change| change <= -NOTICEABLE)
            }),
        )
        .note("Not an experiment of the paper: its conclusion names the limitation. Goodput is that of the second half."))
}

/// Windows of the first replication with errors.
fn windows(context: &Context<'_>, variants: &[Variant]) -> Result<Panel, ExperimentError> {
    let mut plan = Plan::table();
    for variant in variants {
        plan = plan.line(variant.id, variant.name, |_| {
            scenario(variant, LOSSES[1], 50)
        });
    }
    let runs = trace::run(&context.with_seeds(1), plan)?;
    let lines = variants.iter().map(|variant| {
        let points = runs.at(variant.id, f64::NAN).first().map(|trace| {
            trace.over_time(100.0, |sample| {
                let packets = sample.cwnd as f64 / f64::from(PACKET);
                // The overshoot of slow start would flatten all else.
                if packets > DRAWN { f64::NAN } else { packets }
            })
        });
        Series::new(variant.name, Look::Line, points.unwrap_or_default())
    });
    Ok(panel("cwnd", "packets", lines.collect()))
}
