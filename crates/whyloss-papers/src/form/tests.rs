//! Opens a user's own paper. Faults are reported with their line, key and nearest name.

use std::sync::atomic::AtomicBool;

use whyloss_study::experiment::Unwatched;

use super::*;

const NETWORK: &str = r#"
duration = "5 s"
[[link]]
name = "path"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "20 ms"
queue = { packets = 20 }
[[flow]]
name = "tcp"
from = "a"
to = "b"
transport = "tcp"
"#;

const PAPER: &str = r#"id = "my"
citation = "Somebody, 2026"
seeds = 2
[metric.goodput]
name = "goodput"
unit = "Mbit/s"
of = "mean(delivered * 11680 / window / 1e6)"
[line.reno]
name = "Reno"
flow.scheme = "newreno"
[line.cubic]
name = "CUBIC"
flow.scheme = "cubic"
[axis.loss]
label = "loss, %"
x = [0, 1, 4]
set."link.path.channel" = { kind = "bernoulli", loss = "{x/100}" }
[[over.path]]
id = "near"
name = "20 ms"
[[over.path]]
id = "far"
name = "80 ms"
set."link.path.delay" = "80 ms"
[[figure]]
id = "my-fig-1"
title = "goodput over loss"
network = "path.toml"
flows = ["tcp"]
axis = "loss"
lines = ["reno", "cubic"]
over = ["path"]
metric = "goodput"
let.ratio = { of = "far:reno / near:reno", name = "{line} far over near" }
rows = [{ each = ["path"], row = "goodput, {path}", metric = "goodput" }, { row = "ratio at {x}", of = "ratio", at = [4], paper = [0.4], share = 0.1 }]
stated = [{ row = "goodput, 20 ms", column = "Reno", x = 0, paper = 1.9, tolerance = 0.2 }]
panels = [{ each = ["path"], title = "{path}", metric = "goodput" }]
notes = ["Ours."]
reason.MY-1 = { whose = "open", why = "nothing is known" }
[[figure.claim]]
each = ["path"]
id = "MY-1"
text = "{path}: goodput falls"
holds = "falls(reno) and every(cubic[> 0] < at(cubic, 0))"
[[figure.claim]]
id = "MY-2"
text = "far away losses cost more"
holds = "at(ratio, 4) < at(ratio, 0)"
"#;

fn read(paper: &str) -> Result<&'static Paper, PaperError> {
    let file = |name: &str| match name {
        FILE => Ok(paper.to_owned()),
        "networks/path.toml" => Ok(NETWORK.to_owned()),
        other => Err(format!("no file {other}")),
    };
    let paper: &'static Paper = Box::leak(Box::new(Paper::read("mine", &file)?));
    paper.check()?;
    Ok(paper)
}

#[test]
fn a_paper_of_ones_own() {
    let paper = read(PAPER).unwrap_or_else(|error| panic!("{error}"));
    let stop = AtomicBool::new(false);
    let context = Context::new(&Unwatched, &stop).with_seeds(2);
    let outcome = paper.run("my-fig-1", &context).expect("a run");
    // The results are two lines over three places on two paths, and the ratio.
    assert_eq!(
        (outcome.cells.len(), outcome.claims.len(), outcome.seeds),
        (13, 3, 2)
    );
    let stated = &outcome.cells[0];
    assert_eq!(
        (stated.row.as_str(), stated.within()),
        ("goodput, 20 ms", Some(true))
    );
    let ratio = &outcome.cells[12];
    assert_eq!(
        (ratio.row.as_str(), ratio.column.as_str()),
        ("ratio at 4", "Reno far over near")
    );
    assert!(
        ratio
            .tolerance
            .is_some_and(|tolerance| (tolerance - 0.04).abs() < 1e-12)
    );
    let [near, far, last] = &outcome.claims[..] else {
        panic!("{:?}", outcome.claims)
    };
    assert!(
        near.holds && far.holds && last.holds,
        "{:?}",
        outcome.claims
    );
    assert_eq!(far.text, "80 ms: goodput falls");
    // The evidence consists of the compared lines.
    assert!(
        near.evidence.starts_with("Reno, Mbit/s: 0: ")
            && near.evidence.contains("; CUBIC, Mbit/s: 1: ")
    );
    assert!(last.evidence.starts_with("Reno far over near, Mbit/s: 0: "));
    assert_eq!(outcome.figures[0].panels[1].y_label, "goodput, Mbit/s");
    assert!(
        paper.reason("my-fig-1", "MY-1").is_some() && paper.reason("my-fig-1", "MY-2").is_none()
    );
}

#[test]
fn a_figure_is_a_plan() {
    let paper = read(PAPER).unwrap_or_else(|error| panic!("{error}"));
    let plans = paper.plans("my-fig-1").expect("a figure").expect("plans");
    let [Printed { plan, text, .. }] = &plans[..] else {
        panic!("{plans:?}")
    };
    let [network] = &plan.networks[..] else {
        panic!("{plan:?}")
    };
    assert_eq!(
        (network.file.as_str(), network.text.as_str()),
        ("path.toml", NETWORK)
    );
    for line in [
        "metrics = [\"goodput = mean(delivered * 11680 / window / 1e6)\"]",
        "{ name = 4.0, set = { \"link.path.channel\" = { kind = \"bernoulli\", loss = 0.04 } } },",
        "{ name = \"cubic\", set = { \"flow.tcp.scheme\" = \"cubic\" } },",
        "{ name = \"80 ms\", set = { \"link.path.delay\" = \"80 ms\" } },",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let parsed: toml::Table = toml::from_str(text).expect("TOML");
    assert_eq!(parsed["axis"].as_array().map(Vec::len), Some(3));
}

#[test]
fn slips_are_told() {
    for (right, wrong, told) in [
        (
            "title = \"goodput",
            "titel = \"goodput",
            "mine/paper.toml:27:1: no key is called `titel`; did you mean `title`?",
        ),
        (
            "axis = \"loss\"",
            "axis = \"los\"",
            ":30:8: axis: no axis is called `los`; did you mean `loss`?",
        ),
        (
            "metric = \"goodput\"\nlet",
            "metric = \"godput\"\nlet",
            "no metric is called `godput`; did you mean `goodput`?",
        ),
        (
            "mean(delivered",
            "mean(deliverd",
            ":7:6: of: metric `goodput`: no key is called `deliverd`; did you mean `delivered`?",
        ),
        (
            "falls(reno)",
            "fals(reno)",
            "holds: no function is called `fals`; did you mean `falls`?",
        ),
        (
            "falls(reno)",
            "falls(rено)",
            "holds: no line is called `rено`; expected one of",
        ),
        (
            "far:reno /",
            "fra:reno /",
            "no item or plan is called `fra`; did you mean `far`?",
        ),
        (
            "at(ratio, 0)\"",
            "at(ratio, 0\"",
            "found the end, expected `)`",
        ),
        (
            "network = \"path.toml\"",
            "network = \"../path.toml\"",
            "expected the name of a file in `networks`",
        ),
        (
            "scheme = \"cubic\"",
            "scheme = \"cubik\"",
            "no scheme is called `cubik`; did you mean `cubic`?",
        ),
        (
            "link.path.delay",
            "link.pth.delay",
            "no link is called `pth`; did you mean `path`?",
        ),
        (
            "column = \"Reno\"",
            "column = \"Rено\"",
            "no cell is in row `goodput, 20 ms`, column `Rено`",
        ),
        (
            "id = \"my-fig-1\"",
            "id = \"fig-1\"",
            "the id of a figure begins with `my-`",
        ),
        (
            "seeds = 2",
            "seeds = \"two\"",
            "mine/paper.toml:3:9: seeds: ",
        ),
        (
            "of = \"far:reno / near:reno\"",
            "of = \"ratio\"",
            "`ratio` leads back to itself",
        ),
        (
            "holds = \"at(ratio, 4) < at(ratio, 0)\"",
            "holds = \"ratio < 1\"",
            "this holds at some places; `every`, `any`, `most` or `count` decides it",
        ),
    ] {
        assert!(PAPER.contains(right), "{right}");
        let error = read(&PAPER.replacen(right, wrong, 1)).err();
        let error = error
            .unwrap_or_else(|| panic!("{wrong} is not refused"))
            .to_string();
        assert!(error.contains(told), "{wrong}: {error}");
    }
}
