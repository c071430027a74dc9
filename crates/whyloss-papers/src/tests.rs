//! Checks properties of the files of all papers.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use whyloss_sim::Scenario;
use whyloss_study::experiment::Unwatched;
use whyloss_study::{Context, Network, Plan, statistics, sweep};

use super::*;

#[test]
fn every_paper_is_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("papers");
    for (name, files) in FILES {
        let paper = Paper::open(&folder.join(name));
        let paper = paper.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(paper.id(), *name);
        assert!(citation(name).is_some(), "{name} is not among the papers");
        // The compiled list is complete.
        let mut there: Vec<String> = vec![FILE.into()];
        for entry in std::fs::read_dir(folder.join(name).join("networks"))
            .into_iter()
            .flatten()
        {
            let file = entry.expect("a file").file_name();
            there.push(format!("networks/{}", file.to_string_lossy()));
        }
        let listed: BTreeSet<String> = files.iter().map(|(file, _)| (*file).to_owned()).collect();
        assert_eq!(listed, there.into_iter().collect(), "{name}");
    }
}

#[test]
fn an_id_stands_in_one_place() {
    for experiment in all() {
        assert_eq!(find(experiment.id).map(|e| e.paper), Some(experiment.paper));
        assert!(experiment.seeds > 0, "{}", experiment.id);
        let entry = format!("id = \"{}\"", experiment.id);
        let files = FILES.iter().flat_map(|(_, files)| *files);
        let count: usize = files.map(|(_, text)| text.matches(&entry).count()).sum();
        assert_eq!(count, 1, "{}", experiment.id);
    }
    let ids: BTreeSet<&str> = all().map(|experiment| experiment.id).collect();
    assert_eq!(ids.len(), all().count());
    assert!(find("no-such-id").is_none());
}

/// A printed plan has all scenarios of its figure, except those that only a program makes.
#[test]
fn a_plan_is_its_figure() {
    let (mut compared, mut several) = (0, 0);
    for paper in papers() {
        for (id, ..) in paper.figures() {
            let Some(Ok(plans)) = paper.plans(id) else {
                continue;
            };
            for Printed { file, text, plan } in plans {
                let whole = !text.contains("is left out");
                // The printed plan is read again, as by `whyloss sweep`.
                let folder = tempfile::tempdir().expect("a folder");
                for network in &plan.networks {
                    let path = folder.path().join(&network.file);
                    std::fs::write(path, &network.text).expect("written");
                }
                let path = folder.path().join(&file).to_string_lossy().into_owned();
                let read = Plan::parse(&text, &path).unwrap_or_else(|error| panic!("{error}"));
                let points = (0..read.points()).map(|point| {
                    let point = read.point(point);
                    let network = &read.networks[point.network];
                    let read = Scenario::from_toml(&network.text, &network.file, &point.set);
                    let mut read = read.unwrap_or_else(|error| panic!("{file}: {error}"));
                    read.title.clear();
                    format!("{read:?}")
                });
                let points: BTreeSet<String> = points.collect();
                let own = paper.scenarios(id, file.trim_end_matches(".toml"));
                assert!(points.is_subset(&own), "{file}");
                assert!(!whole || points == own, "{file}");
                several += usize::from(read.networks.len() > 1);
                compared += 1;
            }
        }
    }
    assert!(compared > 60 && several > 10, "{compared}, {several}");
}

/// A sweep of the main job gives the same numbers as the table, seed by seed.
#[test]
fn a_sweep_gives_the_numbers_of_a_table() {
    let plans = plans("cen-table-2").expect("a table").expect("a plan");
    let Network { file, text } = plans[0].plan.networks[0].clone();
    let plan = plans[0].text.replace("seeds = 10", "seeds = 2");
    let plan = plan.replace(&format!("scenario = {file:?}\n"), "");
    let plan = Plan::of_scenario(&plan, "plan", text, file).expect("a plan");
    let mut sweep = sweep::Sweep::new(plan).expect("a sweep");
    let (stop, every) = (AtomicBool::new(false), Duration::from_mins(1));
    let run = sweep.run(None, every, &Unwatched, &stop);
    run.expect("runs");
    let rows = sweep.rows();
    let metric = |name: &str| {
        let mut metrics = rows.metrics.iter();
        let found = metrics.find(|(column, _)| column.id == name);
        &found.expect("a metric").1
    };
    let table = find("cen-table-2").expect("a table");
    let context = Context::new(&Unwatched, &stop).with_seeds(2);
    let table = (table.run)(&context).expect("an outcome");
    // The level varies fastest, then the seed. The first three lines are TCP, TFRC, and Omni.
    for (line, column, of) in [
        (0, "TCP", "received"),
        (1, "TFRC", "throughput"),
        (2, "Omni", "throughput"),
    ] {
        for (level, row) in [
            "throughput",
            "throughput, medium loss",
            "throughput, low loss",
        ]
        .iter()
        .enumerate()
        {
            let cell = table
                .cells
                .iter()
                .find(|cell| cell.row == *row && cell.column == column);
            let at = 2 * (3 * line + level);
            let of_seeds = &metric(of)[at..at + 2];
            let mean = statistics::mean(of_seeds);
            let shown = cell.and_then(|cell| cell.mean);
            assert!(
                mean.is_some() && mean == shown,
                "{row}, {column}: {mean:?}, {shown:?}"
            );
        }
    }
}

/// Section 9.1 of ElAarag et al.: "a simulation with IFTP is equivalent to an IFTP-W simulation run
/// with an error-sensitive section length equal to the packet size".
#[test]
fn iftp_is_iftp_w_with_everything_sensitive() {
    let run = |ber: f64, coverage: Option<&str>| {
        let keys = ["channel", "reverse_channel"];
        let set = keys.map(|key| (format!("link.radio.{key}.rate"), ber.to_string()));
        let covered = coverage.map(|of| ("flow.iftp.coverage".to_owned(), of.to_owned()));
        let set: Vec<_> = set.into_iter().chain(covered).collect();
        let text = file("ela", "networks/section-6.toml");
        let scenario = Scenario::from_toml(text, "section-6.toml", &set).expect("a scenario");
        let run = whyloss_sim::Simulation::new(&scenario, 7).run();
        run.expect("it can be run")
    };
    for ber in [1e-4, 1e-5, 1e-6] {
        let whole = run(ber, None);
        assert_eq!(
            format!("{whole:?}"),
            format!("{:?}", run(ber, Some("1024 B")))
        );
        // The comparison detects a real difference.
        assert_ne!(
            format!("{whole:?}"),
            format!("{:?}", run(ber, Some("40 B")))
        );
        assert!(whole.flows[2].lost.wireless > 5);
    }
}

#[test]
fn reasons_are_of_what_is_claimed() {
    for paper in papers() {
        for (figure, what) in paper.reasons() {
            let known = figure.is_none_or(|figure| find(figure).is_some());
            assert!(known && !what.is_empty(), "{figure:?} {what}");
        }
    }
}
