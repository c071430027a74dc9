//! Scenario 1 (and Scenario 2 over three bottlenecks) under other readings of what the paper leaves open, one at a time.

use whyloss::Duration;
use whyloss::congestion::ControllerKind;
use whyloss_sim::host::tcp::{Dialect, Recovery};

use super::findings::{Findings, cell};
use super::network::{Queueing, Reading, Setting, Topology, Traffic};
use super::probe::Run;
use super::variants::{self, Scheme};
use crate::experiment::{Context, ExperimentError};
use crate::variant::classifier;
use crate::{CONFIDENCE, Cell, Outcome};

/// Low, middle, high.
const PERS: [u32; 3] = [1, 4, 8];

/// A scheme in a network.
struct Case {
    name: &'static str,
    scheme: Scheme,
    reading: Reading,
}

/// What can be read otherwise for any scheme.
fn common(scheme: &Scheme) -> Vec<Case> {
    let case = |name, scheme, reading| Case {
        name,
        scheme,
        reading,
    };
    let oracle = |of, remembers| {
        scheme.classified(classifier(
            "oracle",
            &[("of", of), ("remembers", remembers), ("timeouts", 0.0)],
        ))
    };
    let least = |scheme: &Scheme| scheme.with(|options| options.rto.min = Duration::from_secs(1));
    vec![
        case("as taken", scheme.clone(), Reading::Taken),
        case(
            "errors after the queue",
            scheme.clone(),
            Reading::ErrorsAfterQueue,
        ),
        case(
            "errors forward alone",
            scheme.clone(),
            Reading::ErrorsForward,
        ),
        case("200 s", scheme.clone(), Reading::Longer),
        case("least timeout 1 s", least(scheme), Reading::Taken),
        case("LDA forgets upon use", oracle(1.0, 0.0), Reading::Taken),
        case(
            "LDA looks up the segment acknowledged",
            oracle(2.0, 1.0),
            Reading::Taken,
        ),
    ]
}

fn cases() -> Vec<Case> {
    let mut cases = common(&variants::newreno());
    let westwood = variants::westwood();
    cases.extend(common(&westwood));
    let taken = variants::westwood().plain.options;
    cases.push(Case {
        name: "the module's recovery without its factor",
        scheme: variants::westwood_with(taken, ControllerKind::westwood()),
        reading: Reading::Taken,
    });
    for (name, recovery, dialect) in [
        ("Reno of RFC 5681", Recovery::Reno, Dialect::Rfc),
        ("Reno of ns-2", Recovery::Reno, Dialect::Ns2),
        ("NewReno's recovery", Recovery::NewReno, Dialect::Ns2),
        ("SACK", Recovery::Sack, Dialect::Ns2),
    ] {
        cases.push(Case {
            name,
            scheme: variants::westwood_upon(recovery, dialect),
            reading: Reading::Taken,
        });
    }
    cases.extend(common(&variants::vegas()));
    cases
}

/// `mil-sensitivity`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mut cells = Vec::new();
    let mut seeds = u64::MAX;
    for Case {
        name,
        scheme,
        reading,
    } in cases()
    {
        let setting = |topology, per| Setting {
            topology,
            queueing: Queueing::Fifo,
            traffic: Traffic::Alone,
            per,
            reading,
        };
        let settings: Vec<Setting> = Topology::ALL
            .into_iter()
            .flat_map(|topology| PERS.map(|per| setting(topology, per)))
            .collect();
        let variants = [scheme.plain.clone(), scheme.lda.clone()];
        let findings = Findings::measure(context, &settings, &variants)?;
        seeds = seeds.min(findings.seeds());
        for setting in settings {
            let column = format!("{} .0{}", setting.topology.name(), setting.per);
            let row = |what: &str| format!("{}, {what}: {name}", scheme.plain.name);
            let pair = (scheme.plain.id, scheme.lda.id);
            let throughput = |run: &Run| run.throughput;
            let events = |run: &Run| run.events;
            let change = findings.change(throughput, setting, pair);
            cells.push(cell(
                (row("improvement"), column.clone()),
                None,
                "%",
                change,
                None,
            ));
            let mbps = findings.summary(|run| run.throughput / 1e6, setting, pair.0);
            cells.push(cell(
                (row("throughput"), column.clone()),
                None,
                "Mbit/s",
                mbps,
                None,
            ));
            for variant in [&scheme.plain, &scheme.lda] {
                let count = findings.summary(events, setting, variant.id);
                let what = format!("events of {}", variant.name);
                cells.push(cell((row(&what), column.clone()), None, "", count, None));
            }
        }
    }
    let (more, least) = congested(context)?;
    cells.extend(more);
    seeds = seeds.min(least);
    Ok(Outcome {
        id: "mil-sensitivity".into(),
        title: "Figs 3 to 10 under other readings of the paper".into(),
        seeds,
        confidence: CONFIDENCE,
        cells,
        claims: Vec::new(),
        figures: Vec::new(),
        notes: vec!["One thing varies at a time, with FIFO queues.".into()],
    })
}

/// Scenario 2 over three bottlenecks, without and with tcp-eval's cross traffic; and the fewest replications.
fn congested(context: &Context<'_>) -> Result<(Vec<Cell>, u64), ExperimentError> {
    let mut cells = Vec::new();
    let mut seeds = u64::MAX;
    for scheme in [variants::newreno(), variants::vegas()] {
        let variants = [scheme.plain.clone(), scheme.lda.clone()];
        for (name, reading) in [
            ("as taken", Reading::Taken),
            ("cross traffic", Reading::CrossTraffic),
        ] {
            let settings = [2, 4, 6].map(|per| Setting {
                topology: Topology::Multiple,
                queueing: Queueing::Fifo,
                traffic: Traffic::SCENARIO_2,
                per,
                reading,
            });
            let findings = Findings::measure(context, &settings, &variants)?;
            seeds = seeds.min(findings.seeds());
            for setting in settings {
                let pair = (scheme.plain.id, scheme.lda.id);
                let change = findings.change(|run| run.throughput, setting, pair);
                let row = format!("multiple, Scenario 2, improvement of {}", scheme.lda.name);
                cells.push(cell(
                    (row, name.into()),
                    Some(setting.per),
                    "%",
                    change,
                    None,
                ));
            }
        }
    }
    Ok((cells, seeds))
}
