//! Tests `whyloss reproduce` with experiments that simulate nothing.

use std::fs;

use clap::{CommandFactory, Parser};
use whyloss_study::Cell;

use super::*;
use crate::args::{Args as AllArgs, Command};

fn outcome(id: &str, seeds: u64) -> Outcome {
    Outcome {
        id: id.into(),
        title: "synthetic".into(),
        seeds,
        confidence: 0.95,
        without_interval: None,
        cells: vec![Cell {
            row: "threads".into(),
            column: "here".into(),
            x: None,
            unit: "",
            paper: None,
            mean: Some(rayon::current_num_threads() as f64),
            half_width: None,
            tolerance: None,
            ..Cell::default()
        }],
        claims: vec![],
        figures: vec![],
        notes: vec![],
    }
}

/// An experiment that runs every requested seed.
const WHOLE: Experiment = Experiment {
    id: "syn-whole",
    paper: "syn",
    title: "synthetic",
    seeds: 7,
    run: &|context: &Context<'_>| {
        context.progress().expect(context.seeds());
        (0..context.seeds()).for_each(|_| context.progress().finish());
        Ok(outcome("syn-whole", context.seeds()))
    },
};

/// Runs one seed less, as if interrupted.
const CUT: Experiment = Experiment {
    id: "syn-cut",
    run: &|context: &Context<'_>| Ok(outcome("syn-cut", context.seeds() - 1)),
    ..WHOLE
};

/// Is interrupted before its first result.
const STOPPED: Experiment = Experiment {
    id: "syn-stopped",
    run: &|_: &Context<'_>| Err(ExperimentError::Stopped),
    ..WHOLE
};

const FAILING: Experiment = Experiment {
    id: "other-failing",
    paper: "other",
    run: &|_: &Context<'_>| Err(ExperimentError::Failed("no route to the sink".into())),
    ..WHOLE
};

const KNOWN: [&Experiment; 4] = [&WHOLE, &CUT, &STOPPED, &FAILING];

fn parse(line: &str) -> ReproduceArgs {
    let words = ["whyloss", "reproduce"]
        .into_iter()
        .chain(line.split_whitespace());
    let args = AllArgs::try_parse_from(words).expect("valid arguments");
    let Command::Reproduce(args) = args.command else {
        panic!("`{line}` is not for reproduce");
    };
    args
}

/// Returns the result, and the printed text.
fn reproduced(line: &str) -> (Result<(), CliError>, String) {
    let (args, mut out) = (parse(line), Vec::new());
    let result = args
        .which
        .of(&KNOWN)
        .and_then(|wanted| reproduce(&wanted, &args, &AtomicBool::new(false), &mut out));
    (result, String::from_utf8(out).expect("text"))
}

#[test]
fn the_command_line_is_consistent() {
    AllArgs::command().debug_assert();
    for wrong in [
        "",
        "a --all",
        "a --paper b",
        "a --seeds 0",
        "a --jobs 0",
        "a --format xml",
    ] {
        let words = ["whyloss", "reproduce"]
            .into_iter()
            .chain(wrong.split_whitespace());
        let error = AllArgs::try_parse_from(words).expect_err(wrong);
        assert_eq!(error.exit_code(), 2, "{wrong}");
    }
}

#[test]
fn seeds_are_the_papers_unless_given() {
    assert!(reproduced("syn-whole").1.contains("(7 seeds,"));
    assert!(reproduced("syn-whole --seeds 2").1.contains("(2 seeds,"));
}

#[test]
fn jobs_are_the_threads_of_the_pool() {
    for jobs in [1, 3] {
        let (result, text) = reproduced(&format!("syn-whole --jobs {jobs} --format csv"));
        result.expect("a result");
        assert!(text.contains(&format!(",{jobs},")), "{text}");
    }
}

#[test]
fn repeated_ids_run_once() {
    let (_, text) = reproduced("syn-whole syn-whole --format json");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn an_unknown_name_is_an_input_error_with_the_nearest_names() {
    for (line, nearest) in [
        ("syn-whole syn-hole", "`syn-whole`"),
        ("--paper sin", "no paper is called `sin`; there are syn"),
    ] {
        let (result, text) = reproduced(line);
        let error = result.expect_err(line);
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(nearest), "{error}");
        assert_eq!(text, "", "nothing may run");
    }
}

#[test]
fn csv_has_one_header() {
    let (_, text) = reproduced("syn-whole syn-cut --format csv");
    assert_eq!(text.matches("experiment,row").count(), 1);
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn an_interrupt_keeps_what_finished_and_names_what_did_not() {
    let (result, text) = reproduced("--paper syn");
    let error = result.expect_err("two of three are incomplete");
    assert_eq!(error.exit_code(), 130);
    assert_eq!(
        error.to_string(),
        "interrupted with part of the seeds: syn-cut (6 of 7); not run: syn-stopped"
    );
    assert!(text.contains("(7 seeds,") && text.contains("(6 seeds,"));
}

#[test]
fn no_experiment_starts_after_the_flag_is_set() {
    let (args, mut out) = (parse("--all --format json"), Vec::new());
    let stop = AtomicBool::new(true);
    let error = reproduce(&KNOWN, &args, &stop, &mut out).expect_err("interrupted");
    assert_eq!(error.exit_code(), 130);
    let text = String::from_utf8(out).expect("text");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_failing_run_is_exit_one_and_keeps_the_report_of_the_others() {
    let dir = std::env::temp_dir().join(format!("whyloss-failing-{}", std::process::id()));
    report::prepare(&dir).expect("a directory");
    let line = format!("syn-whole other-failing --out {}", dir.display());
    let error = reproduced(&line).0.expect_err("the second fails");
    assert_eq!(error.exit_code(), 1);
    assert_eq!(error.to_string(), "other-failing: no route to the sink");
    assert!(dir.join("syn-whole.csv").exists());
    fs::remove_dir_all(&dir).expect("the directory");
}

#[test]
fn the_first_interrupt_sets_the_flag_and_the_process_lives_on() {
    let stop = stop_on_interrupt().expect("handlers");
    signal_hook::low_level::raise(signal_hook::consts::SIGINT).expect("a signal");
    assert!(stop.load(Ordering::Relaxed));
}

/// A pipe without a reader.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_pipe_is_quiet_and_does_not_cost_the_report() {
    let run = |line: &str| {
        let args = parse(line);
        reproduce(&[&WHOLE], &args, &AtomicBool::new(false), &mut Closed)
    };
    assert!(run("syn-whole").expect_err("closed").is_broken_pipe());

    let dir = std::env::temp_dir().join(format!("whyloss-pipe-{}", std::process::id()));
    report::prepare(&dir).expect("a directory");
    run(&format!("syn-whole --out {}", dir.display())).expect("the report is written");
    assert!(dir.join("index.html").exists());
    fs::remove_dir_all(&dir).expect("the directory");
}
