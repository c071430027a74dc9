//! Scenario 1 (and Scenario 2 over three bottlenecks) under other readings of what the paper leaves open, one at a time.

use whyloss::Duration;
use whyloss_sim::host::tcp::{Dialect, Recovery};

use whyloss_study::{Cell, Context, ExperimentError, Outcome};

use super::findings::{EVENTS, Findings, THROUGHPUT, cells, place, scored};
use super::network::{Queueing, Reading, Setting, Topology, Traffic};
use super::variants::{self, Pair};
use crate::variant::classifier;

/// Low, middle, high.
const PERS: [u32; 3] = [1, 4, 8];

/// A scheme in a network.
struct Case {
    name: &'static str,
    scheme: Pair,
    reading: Reading,
}

/// What can be read otherwise for any scheme.
fn common(scheme: &Pair) -> Vec<Case> {
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
    let least = |scheme: &Pair| scheme.with(|options| options.rto.min = Duration::from_secs(1));
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
    cases.push(Case {
        name: "the module's recovery without its factor",
        scheme: variants::westwood_upon(None),
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
            scheme: variants::westwood_upon(Some((recovery, dialect))),
            reading: Reading::Taken,
        });
    }
    cases.extend(common(&variants::vegas()));
    cases
}

/// `mil-sensitivity`.
pub(crate) fn all(context: &Context<'_>) -> Result<Outcome, ExperimentError> {
    let mut of_all = Vec::new();
    let mut seeds = u64::MAX;
    for Case {
        name,
        scheme,
        reading,
    } in cases()
    {
        let places = Topology::ALL.map(|topology| Setting {
            reading,
            ..place(topology, Queueing::Fifo, Traffic::Alone)
        });
        let (plain, lda) = (&scheme.plain, &scheme.lda);
        let findings = Findings::measure(context, &places, &PERS, &[plain, lda])?;
        seeds = seeds.min(findings.seeds());
        for place in places {
            let improvement = findings.improvement(place, (plain, lda));
            let lines = [
                ("improvement".to_owned(), improvement),
                (
                    "throughput".to_owned(),
                    findings.line(place, plain, &THROUGHPUT),
                ),
                (
                    format!("events of {}", plain.name),
                    findings.line(place, plain, &EVENTS),
                ),
                (
                    format!("events of {}", lda.name),
                    findings.line(place, lda, &EVENTS),
                ),
            ];
            for per in PERS {
                let column = format!("{} .0{per}", place.topology.name());
                for (what, line) in &lines {
                    let row = format!("{}, {what}: {name}", plain.name);
                    let mean = line.at(f64::from(per));
                    of_all.push(scored(mean.cell(&row, &column, line.unit)));
                }
            }
        }
    }
    let (more, least) = congested(context)?;
    let (marks, fewest) = marked(context)?;
    let title = "Figs 3 to 10 under other readings of the paper";
    Ok(
        Outcome::new("mil-sensitivity", title, seeds.min(least).min(fewest))
            .cells(of_all)
            .cells(more)
            .cells(marks)
            .note("One thing varies at a time, with FIFO queues where RED is not named."),
    )
}

/// Scenario 2 over three bottlenecks, without and with tcp-eval's cross traffic; and the fewest replications.
fn congested(context: &Context<'_>) -> Result<(Vec<Cell>, u64), ExperimentError> {
    let mut of_all = Vec::new();
    let mut seeds = u64::MAX;
    for scheme in [variants::newreno(), variants::vegas()] {
        for (name, reading) in [
            ("as taken", Reading::Taken),
            ("cross traffic", Reading::CrossTraffic),
        ] {
            let place = Setting {
                reading,
                ..place(Topology::Multiple, Queueing::Fifo, Traffic::SCENARIO_2)
            };
            let pair = (&scheme.plain, &scheme.lda);
            let findings = Findings::measure(context, &[place], &[2, 4, 6], &[pair.0, pair.1])?;
            seeds = seeds.min(findings.seeds());
            let row = format!("multiple, Scenario 2, improvement of {}", scheme.lda.name);
            of_all.extend(cells(&findings.improvement(place, pair).named(name), &row));
        }
    }
    Ok((of_all, seeds))
}

/// Scenario 2 under RED that drops, as taken, and under RED that marks (tcp-eval's `setbit_`); and the fewest replications.
fn marked(context: &Context<'_>) -> Result<(Vec<Cell>, u64), ExperimentError> {
    let mut of_all = Vec::new();
    let mut seeds = u64::MAX;
    for scheme in [variants::newreno(), variants::westwood(), variants::vegas()] {
        for (name, reading) in [("RED drops", Reading::Taken), ("RED marks", Reading::Marks)] {
            for topology in Topology::ALL {
                let place = Setting {
                    reading,
                    ..place(topology, Queueing::Red, Traffic::SCENARIO_2)
                };
                let (plain, lda) = (&scheme.plain, &scheme.lda);
                let findings = Findings::measure(context, &[place], &[2, 4, 6], &[plain, lda])?;
                seeds = seeds.min(findings.seeds());
                let of = |what: &str| format!("{}, Scenario 2, {what}", topology.name());
                let improvement = findings.improvement(place, (plain, lda)).named(name);
                of_all.extend(cells(
                    &improvement,
                    &of(&format!("improvement of {}", lda.name)),
                ));
                let line = findings.line(place, plain, &THROUGHPUT).named(name);
                of_all.extend(cells(&line, &of(&format!("throughput of {}", plain.name))));
            }
        }
    }
    Ok((of_all, seeds))
}
