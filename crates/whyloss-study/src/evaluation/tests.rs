use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use whyloss_sim::Registry;
use whyloss_sim::recording::{Recording, Trial};

use super::*;
use crate::experiment::{Progress, Unwatched};
use crate::report::json;
use crate::sweep::Share;
use crate::{Look, Mean, Outcome};

fn setting(scheme: &str) -> Setting {
    Setting {
        scheme: Contender::find(scheme, &Registry::new()).expect("registered"),
        carrier: Carrier::Tcp,
        seeds: 1,
        quick: true,
    }
}

fn found(id: &str, scheme: &str) -> Finding {
    let criterion = criteria().into_iter().find(|one| one.id == id);
    let stop = AtomicBool::new(false);
    let found = run(
        &criterion.expect("a criterion"),
        &setting(scheme),
        &Registry::new(),
        None,
        &Unwatched,
        &stop,
    );
    found.expect("runs").expect("not stopped")
}

/// Sections are in the RFC's order, and every criterion's networks accept every contender.
#[test]
fn criteria_are_in_order_and_can_be_run() {
    let sections = criteria().into_iter().map(|one| {
        let numbers = one.section.split('.').map(str::parse);
        numbers.collect::<Result<Vec<u32>, _>>().expect("a section")
    });
    assert!(sections.is_sorted());
    assert!(uncovered(Carrier::Tcp, true).len() > 3);
}

/// If CUBIC takes CUBIC's place, the harm is exactly zero.
#[test]
fn cubic_harms_as_cubic_does() {
    let finding = found("beside-cubic", "cubic+unaware");
    let [own, cubic] = [0, 1].map(|at| finding.values[at][0][0].value);
    assert!(own.abs() < 1e-9 && cubic.abs() < 1e-9, "{own} {cubic}");
}

/// The peer CUBIC is left out of the tables beside the same scheme, but stays their reference.
#[test]
fn plain_cubic_can_be_judged() {
    let criterion = criteria().into_iter().find(|one| one.id == "beside-cubic");
    let mut criterion = criterion.expect("a criterion");
    criterion.cases.truncate(1);
    let setting = Setting {
        quick: false,
        ..setting("cubic")
    };
    let (registry, stop) = (Registry::new(), AtomicBool::new(false));
    let finding = run(&criterion, &setting, &registry, None, &Unwatched, &stop);
    let finding = finding.expect("runs").expect("not stopped");
    assert_eq!(finding.contenders[0].name, "cubic");
    assert!(finding.contenders.iter().all(|one| one.name != "CUBIC"));
    let harm: Vec<f64> = (finding.values.iter()).map(|of| of[0][0].value).collect();
    assert!(
        harm[0].abs() < 1e-9 && harm.iter().all(|harm| harm.is_finite()),
        "{harm:?}"
    );
}

/// A controller with the oracle reaches exactly 1 of its own reference. CUBIC reaches less than
/// half, and less than the scheme.
#[test]
fn who_is_told_receives_its_own_share() {
    let finding = found("loss", "cubic+trees");
    let names: Vec<&str> = finding
        .contenders
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["cubic+trees", "cubic+trees, told", "CUBIC"]);
    // The second case has a loss of 1 %.
    let share = |at: usize| finding.values[at][1][1].value;
    assert!((share(1) - 1.0).abs() < 1e-12);
    assert!(
        share(2) < 0.5 && share(2) < share(0),
        "{} {}",
        share(2),
        share(0)
    );
    let outcome = report::outcome(&finding);
    assert_eq!(outcome.figures[0].panels.len(), 3);
    let text = report::criteria(&[outcome], &setting("cubic+trees"), &[]);
    assert!(text.contains("| 0.1 |"), "{text}");
}

/// A scheme reaches the judged flows of drawn networks, although their own settings take
/// precedence.
#[test]
fn drawn_networks_have_the_scheme() {
    let stop = AtomicBool::new(false);
    let [harm, _] = drawn(2).try_into().expect("two criteria");
    let run = run(
        &harm,
        &setting("bbr"),
        &Registry::new(),
        None,
        &Unwatched,
        &stop,
    );
    let found = run.expect("runs").expect("not stopped");
    let harms: Vec<f64> = (0..2).map(|case| found.values[0][case][0].value).collect();
    assert!(harms.iter().all(|harm| harm.abs() > 0.1), "{harms:?}");
}

/// The document opens with the share and the harm of the scheme, next to the share of CUBIC.
#[test]
fn the_document_opens_with_the_result() {
    let cell = |row: &str, column: &str, value: f64| Mean::of(&[value]).cell(row, column, "");
    let overview = Outcome::new("overview-tcp", "", 1).cells([
        cell("received, share of told", "whyloss", 0.824),
        cell("received, share of told", "CUBIC", 0.731),
        cell("harm, mean", "whyloss", 1.44),
        cell("harm, worst", "whyloss", 8.61),
    ]);
    let text = report::document(&[overview], &setting("whyloss"), "x");
    let result = "```\n\nOver TCP, `whyloss` receives 0.82 times the packets of a `cubic` that knows \
                  every cause (*told*; plain CUBIC: 0.73). Without channel losses, it takes 1.4 % \
                  from a plain flow on average, 8.6 % at worst.\n\n## ";
    assert!(text.contains(result), "{text}");
}

#[test]
fn a_note_of_several_tables_appears_once() {
    let overviews = ["a", "b"].map(|id| Outcome::new(id, id, 1).note("Shared.").note(id));
    let text = report::document(&overviews, &setting("whyloss"), "x");
    assert!(
        text.ends_with("## a\n\nShared.\n\na\n\n## b\n\nb\n\n"),
        "{text}"
    );
}

/// Parts that run beside each other leave the runs of one call, which then runs nothing, and gives
/// the same page.
#[test]
fn parts_make_the_page_of_one_call() {
    let [harm, drawn] = drawn(2).try_into().expect("two criteria");
    let criteria = [harm, drawn];
    let (setting, registry) = (setting("whyloss"), Registry::new());
    let stop = AtomicBool::new(false);
    let page = |kept: &Kept, progress: &Runs| {
        let found = criteria.iter().map(|criterion| {
            let found = run(criterion, &setting, &registry, Some(kept), progress, &stop);
            found.expect("runs").expect("not stopped")
        });
        let findings: Vec<Finding> = found.collect();
        let mut outcomes = vec![report::summary(&findings, Carrier::Tcp)];
        outcomes.extend(report::best(&findings, Carrier::Tcp));
        outcomes.extend(findings.iter().map(report::outcome));
        let json: String = outcomes.iter().map(json::render).collect();
        report::page(&outcomes, &setting, &[], "x") + &json
    };
    let [whole, shared] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let all = Runs::default();
    let expected = page(&Kept::open(whole.path()).expect("free"), &all);

    let parts = ["1/3", "2/3", "3/3"].map(|text| text.parse::<Share>().expect("a share"));
    // All parts are open at once, so that none sees the runs of another.
    let open = parts.map(|part| (part, Kept::join(shared.path()).expect("shared")));
    assert!(
        Kept::open(shared.path()).is_err(),
        "a page of unfinished parts"
    );
    let of_parts = Runs::default();
    let mut counts = Vec::new();
    for (part, kept) in &open {
        let runs = criteria.iter().map(|criterion| {
            let ran = run_share(
                criterion, &setting, &registry, kept, *part, &of_parts, &stop,
            );
            ran.expect("runs").expect("not stopped")
        });
        counts.push(runs.sum::<usize>());
    }
    assert!(counts.iter().all(|&runs| runs > 0), "{counts:?}");
    assert_eq!(
        of_parts.0.load(Ordering::Relaxed),
        all.0.load(Ordering::Relaxed)
    );
    drop(open);
    let none = Runs::default();
    let found = page(&Kept::open(shared.path()).expect("free"), &none);
    assert_eq!((none.0.load(Ordering::Relaxed), found), (0, expected));
}

/// Counts finished runs.
#[derive(Default)]
struct Runs(AtomicU64);

impl Progress for Runs {
    fn expect(&self, _: u64) {}

    fn finish(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns findings of two drawn networks over TCP: for each contender its packets and its harm.
fn of_drawn(contenders: &[(&str, [f64; 2], [f64; 2])]) -> Vec<Finding> {
    let [harm, drawn] = drawn(2).try_into().expect("two criteria");
    let find = |name: &str| {
        let base = name.strip_suffix(", told");
        let mut found = Contender::find("cubic", &Registry::new()).expect("registered");
        found.name = base.unwrap_or(name).to_owned();
        if base.is_some() { found.told() } else { found }
    };
    let finding = |criterion: &Criterion, of: fn(&[f64; 2], &[f64; 2]) -> [f64; 2]| {
        let values = contenders.iter().map(|(_, packets, harm)| {
            let cases =
                of(packets, harm).map(|value| vec![Mean::of(&[value]); criterion.measures.len()]);
            cases.to_vec()
        });
        Finding {
            contenders: contenders.iter().map(|one| find(one.0)).collect(),
            seeds: 1,
            values: values.collect(),
            received: (criterion.id == "drawn")
                .then(|| contenders.iter().map(|one| one.1.to_vec()).collect()),
            criterion: criterion.clone(),
            carrier: Carrier::Tcp,
            failed: None,
        }
    };
    vec![
        finding(&harm, |_, harm| *harm),
        finding(&drawn, |packets, _| *packets),
    ]
}

/// Copa receives most but harms by 15 % on average, although it gains 30 % elsewhere. Vegas is the
/// best of the others: its shares are 0.5 and 1.1, the scheme's 0.8 and 0.4.
#[test]
fn the_best_harmless_peer_is_named() {
    let findings = of_drawn(&[
        ("whyloss", [800.0, 40.0], [12.0, 12.0]),
        ("whyloss, told", [1000.0, 100.0], [0.0, 0.0]),
        ("CUBIC", [600.0, 30.0], [0.0, 0.0]),
        ("Copa", [1000.0, 100.0], [30.0, -30.0]),
        ("Vegas", [500.0, 110.0], [10.0, 10.0]),
    ]);
    let best = report::best(&findings, Carrier::Tcp).expect("drawn networks");
    let value = |row: &str, column: &str| {
        let cell = best
            .cells
            .iter()
            .find(|cell| cell.row == row && cell.column == column);
        cell.and_then(|cell| cell.mean).expect("a value")
    };
    assert!((value("received, share of the best peer", "whyloss") - 0.75).abs() < 1e-12);
    assert!((value("received, share of whyloss, told", "Vegas") - 0.8).abs() < 1e-12);
    assert!((value("harm, mean", "whyloss") - 12.0).abs() < 1e-12);
    let cell = |row: &str, value: f64| Mean::of(&[value]).cell(row, "whyloss", "");
    let overview = Outcome::new("overview-tcp", "", 1).cells([
        cell("received, share of told", 0.6),
        cell("harm, mean", 12.0),
        cell("harm, worst", 12.0),
        Mean::of(&[0.45]).cell("received, share of told", "CUBIC", ""),
    ]);
    let text = report::document(&[overview, best], &setting("whyloss"), "x");
    let told = "its mean share is 0.75 times that of Vegas, the best of all peers that harm by at most 10 %.";
    assert!(text.contains(told), "{text}");
    assert!(report::best(&findings, Carrier::Quic).is_none());
    assert!(report::best(&findings[..1], Carrier::Tcp).is_none());
}

/// Each point of the frontier has a look of its own, and the document links to the picture.
#[test]
fn the_frontier_tells_all_contenders_apart() {
    let names: Vec<String> = Contender::all(&setting("whyloss").scheme)
        .into_iter()
        .map(|one| one.name)
        .collect();
    let rows: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), [1.0; 2], [0.0; 2]))
        .collect();
    let outcome = report::summary(&of_drawn(&rows), Carrier::Tcp);
    let series = &outcome.figures[0].panels[0].series;
    assert_eq!(series.len(), names.len());
    let signs: Vec<Look> = series
        .iter()
        .map(|series| series.look)
        .filter(|&look| look != Look::Points)
        .collect();
    assert!(
        signs.len() == names.len() - 8
            && (1..signs.len()).all(|at| !signs[..at].contains(&signs[at]))
    );
    let text = report::document(&[outcome], &setting("whyloss"), "x");
    assert!(text.contains("](frontier-tcp.svg)\n"), "{text}");
}

/// The page names the criteria that did not run over QUIC.
#[test]
fn what_runs_over_tcp_alone_is_told() {
    let over = |carrier, has_quic| uncovered(carrier, has_quic).pop().expect("a row").what;
    assert!(over(Carrier::Tcp, true).starts_with("Over QUIC: collapse, bufferbloat,"));
    assert_eq!(
        over(Carrier::Quic, true),
        "Over QUIC: ecn, constrained, misbehaving, data-centre"
    );
    assert_eq!(over(Carrier::Tcp, false), "All criteria over QUIC");
}

/// Patterns that another part may be reading stay.
#[test]
fn patterns_of_recordings_stay() {
    let directory = tempfile::tempdir().expect("a directory");
    let link = || Trial {
        lost: vec![true, false, false, false],
        times: Vec::new(),
    };
    for links in [2, 1] {
        let recording = Recording {
            trials: (0..links).map(|_| link()).collect(),
            notes: Vec::new(),
        };
        let criterion = recorded(&recording, directory.path()).expect("room");
        assert_eq!(criterion.expect("links that lose").cases.len(), links);
        let pattern = std::fs::read_to_string(directory.path().join("link-2.txt"));
        assert_eq!(pattern.expect("a pattern"), "1000\n");
    }
}
