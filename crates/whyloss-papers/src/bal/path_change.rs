//! The limitation in the paper's conclusion (BAL-A8): when the path gets longer, RTT_min stays what it was.
//!
//! One flow as in Fig. 6; after 50 s the propagation delay steps from 50 to 100 ms one way. The second half is compared
//! with that of a flow whose path was long from the beginning. Buffers hold the long path's pipe in both.

use whyloss::Duration;
use whyloss_sim::Scenario;

use super::findings::{gains, goodputs, run};
use super::goodput::lossy;
use super::network::{Network, at};
use super::stack::{PACKET, Stack};
use super::trace::{line, panel, trace};
use crate::experiment::{Context, ExperimentError};
use crate::mean::Mean;
use crate::statistics::mean;
use crate::variant::Variant;
use crate::{CONFIDENCE, Claim, Figure, Outcome, Panel};

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
    let mut scenarios = Vec::new();
    for loss in LOSSES {
        for variant in &variants {
            scenarios.extend([50, 0].map(|changes_at| scenario(variant, loss, changes_at)));
        }
    }
    let (runs, seeds) = run(context, &scenarios)?;
    let each = |index: usize| -> Vec<f64> {
        let values = runs[index]
            .iter()
            .filter_map(|run| mean(&goodputs(run, "")));
        values.collect()
    };
    let mut cells = Vec::new();
    let mut changes = Vec::new();
    for (block, loss) in LOSSES.iter().enumerate() {
        for (offset, variant) in variants.iter().enumerate() {
            let index = 2 * (block * variants.len() + offset);
            let (stepped, always) = (each(index), each(index + 1));
            let change = Mean::of(&gains(&stepped, &always));
            let mut add = |row: &str, mean: Mean, unit| {
                let row = format!("{row}, {loss} % loss");
                cells.push(mean.cell(&row, variant.name, unit));
            };
            add("goodput after the step", Mean::of(&stepped), "Mbit/s");
            add("goodput on the long path", Mean::of(&always), "Mbit/s");
            add("change by the history", change, "%");
            changes.push((variant.id, *loss, change));
        }
    }
    let of = |id: &str| {
        let changes = changes.iter().filter(move |change| change.0 == id);
        changes
            .map(|&(_, loss, change)| (loss, change))
            .collect::<Vec<_>>()
    };
    let listed = |id: &str| {
        let shown: Vec<String> = of(id)
            .iter()
            .map(|(loss, change)| format!("{change} % at {loss} % loss"))
            .collect();
        shown.join(", ")
    };
    let claims = vec![Claim::new(
        "BAL-A8",
        "after the path got longer BaLDE, whose RTT_min is too small, has less (by 10 %) than on a path that always was as \
         long",
        of("balde")
            .iter()
            .all(|(_, change)| change.value <= -NOTICEABLE),
        format!(
            "BaLDE {}; Westwood {}; Reno {}",
            listed("balde"),
            listed("westwood"),
            listed("reno")
        ),
    )];
    let title = "the path gets longer on the way";
    Ok(Outcome {
        id: "bal-path-change".into(),
        title: title.into(),
        seeds,
        confidence: CONFIDENCE,
        cells,
        claims,
        figures: vec![Figure {
            name: "bal-path-change".into(),
            caption: "the delay steps from 50 to 100 ms after 50 s, 0.1 % loss: the first replication".into(),
            panels: vec![windows(context, &variants)?],
        }],
        notes: vec![
            "Not an experiment of the paper: its conclusion names the limitation. Goodput is that of the second half.".into(),
        ],
    })
}

/// Windows of the first replication with errors.
fn windows(context: &Context<'_>, variants: &[Variant]) -> Result<Panel, ExperimentError> {
    let scenarios: Vec<_> = variants
        .iter()
        .map(|v| scenario(v, LOSSES[1], 50))
        .collect();
    let traces = trace(&context.with_seeds(1), &scenarios)?;
    let lines = variants.iter().zip(&traces).map(|(variant, traces)| {
        let points = traces.first().map(|trace| {
            trace.over_time(100.0, |sample| {
                let packets = sample.cwnd as f64 / f64::from(PACKET);
                // The overshoot of slow start would flatten all else.
                if packets > DRAWN { f64::NAN } else { packets }
            })
        });
        line(variant.name, false, points.unwrap_or_default())
    });
    Ok(panel("cwnd", "packets", lines.collect()))
}
