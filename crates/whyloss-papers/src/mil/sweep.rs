//! MIL-25: at which error rate NewRenoLDA begins to pay, against the congestion of the network.

use super::findings::{Findings, PERS, cell};
use super::network::{Queueing, Reading, Setting, Topology, Traffic};
use super::variants;
use crate::experiment::{Context, ExperimentError};
use crate::statistics::Summary;
use crate::{CONFIDENCE, Claim, Figure, Outcome, Panel, Series};

/// Forward flows; 20 are the paper's.
const FLOWS: [usize; 4] = [5, 10, 20, 40];
/// An improvement that is significant at the paper's precision, in percent.
const SIGNIFICANT: f64 = 5.0;

/// `mil-sweep-flows`.
pub(crate) fn flows(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let scheme = variants::newreno();
    let setting = |flows, per| Setting {
        topology: Topology::Single,
        queueing: Queueing::Fifo,
        traffic: Traffic::Congested(flows),
        per,
        reading: Reading::Taken,
    };
    let settings: Vec<Setting> = FLOWS
        .into_iter()
        .flat_map(|flows| PERS.map(|per| setting(flows, per)))
        .collect();
    let variants = [scheme.plain.clone(), scheme.lda.clone()];
    let findings = Findings::measure(context, &settings, &variants)?;
    let pair = (scheme.plain.id, scheme.lda.id);
    let improvement = |flows, per| -> Summary {
        findings.change(|run| run.throughput, setting(flows, per), pair)
    };
    let mut cells = Vec::new();
    let mut series = Vec::new();
    for flows in FLOWS {
        let name = format!("{flows} flows");
        let mut points = Vec::new();
        for per in PERS {
            let change = improvement(flows, per);
            points.extend(change.mean.map(|mean| (f64::from(per), mean, change.ci95)));
            let label = ("improvement".to_owned(), name.clone());
            cells.push(cell(label, Some(per), "%", change, None));
        }
        series.push(Series {
            name,
            look: crate::Look::Line,
            points,
        });
    }
    // Where it becomes significant, and stays so.
    let threshold = |flows| {
        let insignificant = |&per: &u32| {
            let mean = improvement(flows, per).mean;
            mean.is_none_or(|mean| mean < SIGNIFICANT)
        };
        PERS.into_iter().rfind(insignificant).unwrap_or(0) + 1
    };
    let thresholds = FLOWS.map(threshold);
    let rises = thresholds.is_sorted() && thresholds[0] < thresholds[FLOWS.len() - 1];
    let listed: Vec<String> = FLOWS
        .iter()
        .zip(thresholds)
        .map(|(flows, per)| format!("{flows} flows: .0{per}"))
        .collect();
    Ok(Outcome {
        id: "mil-sweep-flows".into(),
        title: "Where NewRenoLDA begins to pay, against the number of flows".into(),
        seeds: findings.seeds(),
        confidence: CONFIDENCE,
        cells,
        claims: vec![Claim::new(
            "MIL-39d",
            "the error rate from which on the LDA pays (by 5 % or more) depends on the congestion level: it never falls with \
             more flows, and is higher with the most than with the fewest",
            rises,
            format!("{} (.010: at no rate)", listed.join(", ")),
        )],
        figures: vec![Figure {
            name: "mil-sweep-flows".into(),
            caption: "NewRenoLDA against NewReno, single bottleneck, Scenario 2".into(),
            panels: vec![Panel {
                title: String::new(),
                x_label: "packet error rate, %".into(),
                y_label: "throughput improvement, %".into(),
                log_x: false,
                log_y: false,
                series,
            }],
        }],
        notes: vec![
            findings.precision_note(),
            "\"By conducting a set of additional experiments, we noticed that the value of the mentioned error rate threshold is \
             strongly dependant on the congestion level\": the paper gives no numbers. Only the number of forward flows varies."
                .into(),
        ],
    })
}
