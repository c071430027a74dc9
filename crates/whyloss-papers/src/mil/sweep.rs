//! MIL-25: at which error rate NewRenoLDA begins to pay, against the congestion of the network.

use whyloss_study::{Check, Context, ExperimentError, Line, Lines, Outcome};

use super::findings::{Findings, PER, PERS, cells, place};
use super::network::{Queueing, Topology, Traffic};
use super::variants;

/// Forward flows; 20 are the paper's.
const FLOWS: [usize; 4] = [5, 10, 20, 40];
/// An improvement that is significant at the paper's precision, in percent.
const SIGNIFICANT: f64 = 5.0;

/// `mil-sweep-flows`.
pub(crate) fn flows(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let scheme = variants::newreno();
    let places =
        FLOWS.map(|flows| place(Topology::Single, Queueing::Fifo, Traffic::Congested(flows)));
    let findings = Findings::measure(context, &places, &PERS, &[&scheme.plain, &scheme.lda])?;
    let lines = FLOWS.iter().zip(places).map(|(flows, place)| {
        let line = findings.improvement(place, (&scheme.plain, &scheme.lda));
        line.named(&format!("{flows} flows"))
    });
    let lines: Vec<Line> = lines.collect();
    // Where it becomes significant, and stays so.
    let threshold = |line: &Line| {
        let insignificant = line
            .means()
            .filter(|(_, gain)| gain.value.is_nan() || gain.value < SIGNIFICANT);
        insignificant.last().map_or(1.0, |(per, _)| per + 1.0)
    };
    let thresholds: Vec<f64> = lines.iter().map(threshold).collect();
    let rises = thresholds.is_sorted() && thresholds[0] < thresholds[FLOWS.len() - 1];
    let title = "Where NewRenoLDA begins to pay, against the number of flows";
    let compared: Vec<&Line> = lines.iter().collect();
    let drawn = Lines::new("throughput improvement", "%", &PER, lines.clone());
    Ok(Outcome::new("mil-sweep-flows", title, findings.seeds())
        .cells(lines.iter().flat_map(|line| cells(line, "improvement")))
        .captioned(
            "NewRenoLDA against NewReno, single bottleneck, Scenario 2",
            [drawn.panel("")],
        )
        .claim(
            "MIL-39d",
            "the error rate from which on the LDA pays (by 5 % or more) depends on the congestion level: it never falls with \
             more flows, and is higher with the most than with the fewest",
            Check::all(&compared, |_| rises),
        )
        .note(findings.precision_note())
        .note(
            "\"By conducting a set of additional experiments, we noticed that the value of the mentioned error rate threshold is \
             strongly dependant on the congestion level\": the paper gives no numbers. Only the number of forward flows varies.",
        ))
}
