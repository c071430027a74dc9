use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::experiment::Unwatched;
use crate::{Point, Setting};
use whyloss_sim::Registry;

const SCENARIO: &str = include_str!("../../tests/two-hosts.toml");

const AXES: &str = r#"
seeds = 2
metrics = ["total.throughput_bps", "flow.video.mw", "flow.video.sent", "flow.video.delay.p95_ms"]
[set]
duration = "2 s"
[[axis]]
name = "classifier"
key = "flow.video.classifier"
values = ["zigzag", "unaware"]
[[axis]]
name = "rate"
keys = ["link.air.rate", "link.air.queue.packets"]
values = [["1 Mbit/s", 5], ["3 Mbit/s", 15]]
[[axis]]
name = "loss"
key = "link.air.channel.loss"
draw = { low = 0.001, high = 0.1, log = true }
[draws]
count = 3
seed = 7
"#;

fn plan(text: &str) -> Plan {
    Plan::of_scenario(text, "plan.toml", SCENARIO.into(), "two.toml".into()).expect("a plan")
}

fn complaint(text: &str) -> String {
    let plan = Plan::of_scenario(text, "plan.toml", SCENARIO.into(), "two.toml".into());
    plan.map_err(SweepError::from)
        .and_then(Sweep::new)
        .expect_err("a complaint")
        .to_string()
}

fn run(sweep: &mut Sweep, threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let (stop, every) = (AtomicBool::new(false), Duration::from_secs(10));
    pool.expect("threads")
        .install(|| sweep.run(None, every, &Unwatched, &stop))
        .expect("runs");
}

#[test]
fn points_are_the_product_of_the_axes() {
    let plan = plan(AXES);
    assert_eq!(plan.points(), 12);
    let Point { shown, set, .. } = plan.point(0);
    assert_eq!(
        shown[..2],
        [
            Setting::Text("zigzag".into()),
            Setting::Text("1 Mbit/s".into())
        ]
    );
    assert_eq!(set[0], ("duration".into(), "\"2 s\"".into()));
    assert_eq!(set[3], ("link.air.queue.packets".into(), "5".into()));
    // The draws vary fastest, then the last grid axis; drawn values are the same at all grid
    // points.
    assert_eq!(plan.point(3).shown[1], Setting::Text("3 Mbit/s".into()));
    assert_eq!(plan.point(6).shown[0], Setting::Text("unaware".into()));
    assert_eq!(plan.point(1).shown[2], plan.point(10).shown[2]);
    assert_ne!(plan.point(1).shown[2], plan.point(2).shown[2]);
    for point in 0..12 {
        let Setting::Real(loss) = plan.point(point).shown[2] else {
            panic!("no real")
        };
        assert!((0.001..0.1).contains(&loss), "{loss}");
    }
}

#[test]
fn rows_do_not_depend_on_who_ran_them() {
    let mut one = Sweep::new(plan(AXES)).expect("valid");
    run(&mut one, 1);
    let mut two = Sweep::new(plan(AXES)).expect("valid");
    // Half of the runs are done as tasks, through JSON and Parquet.
    for batch in two.missing(5).into_iter().step_by(2) {
        let json = serde_json::to_string(&two.task(&batch)).expect("plain data");
        let task: Task = serde_json::from_str(&json).expect("the same");
        let part = task
            .run(&Registry::new(), &AtomicBool::new(false), || ())
            .expect("runs");
        let read = Part::from_parquet(part.to_parquet().expect("written")).expect("read");
        assert_eq!((read.name(), read.rows.len()), (part.name(), batch.len()));
        two.learn(&read);
    }
    assert!((1..24).contains(&two.count().0));
    run(&mut two, 3);
    assert_eq!(two.count(), (24, 24));
    assert_eq!(
        one.rows().to_parquet().expect("written"),
        two.rows().to_parquet().expect("written")
    );
    // The rows equal the results of `whyloss run`.
    let rows = one.rows();
    let set: Vec<(String, String)> = serde_json::from_str(&rows.sets[23]).expect("pairs");
    let scenario =
        whyloss_sim::Scenario::from_toml(&rows.networks[0].text, &rows.networks[0].file, &set)
            .expect("valid");
    let again = whyloss_sim::Simulation::new(&scenario, rows.seeds[23])
        .run()
        .expect("runs");
    assert_eq!(
        rows.metrics[0].1[23].to_bits(),
        again.flows[0].throughput_bps(again.window).to_bits()
    );
    assert!(rows.metrics[3].1[23] > 10.0);
}

#[test]
fn a_changed_plan_runs_what_is_new() {
    let mut sweep = Sweep::new(plan(AXES)).expect("valid");
    let batches = sweep.missing(100);
    let part = sweep
        .task(&batches[0])
        .run(&Registry::new(), &AtomicBool::new(false), || ())
        .expect("runs");
    let missing = |text: &str| {
        let mut changed = Sweep::new(plan(text)).expect("valid");
        changed.learn(&part);
        changed.missing(1).len()
    };
    assert_eq!(missing(AXES), 0);
    assert_eq!(missing(&AXES.replace("seeds = 2", "seeds = 3")), 12);
    assert_eq!(
        missing(&AXES.replace("[\"zigzag\", ", "[\"zbs\", \"zigzag\", ")),
        12
    );
    assert_eq!(missing(&AXES.replace("count = 3", "count = 4")), 8);
    // The metrics are part of the key.
    assert_eq!(missing(&AXES.replace("\"flow.video.mw\", ", "")), 24);
    // A scenario in different notation has the same key, even twice in one plan.
    assert_eq!(
        missing(&AXES.replace("\"unaware\"]", "{ name = \"unaware\" }, \"zigzag\"]")),
        0
    );
}

#[test]
fn seeds_are_added_until_the_mean_is_precise() {
    let text = |within: f64| {
        format!(
            "seeds = 3\nmetrics = [\"total.throughput_bps\"]\n[until]\nmetric = \"total.throughput_bps\"\nwithin = {within}\nmost = 9\n[set]\nduration = \"1 s\"\n[[axis]]\nname = \"loss\"\nkey = \"link.air.channel.loss\"\nvalues = [0, 0.2]\n"
        )
    };
    let count = |within: f64| {
        let mut sweep = Sweep::new(plan(&text(within))).expect("valid");
        run(&mut sweep, 2);
        sweep.count()
    };
    assert_eq!(count(10.0), (6, 6));
    assert_eq!(count(1e-9), (18, 18));
}

#[test]
fn complaints_say_where_and_what_would_be_right() {
    let with = |from: &str, to: &str| complaint(&AXES.replace(from, to));
    assert!(with("seeds = 2", "seeds = \"2\"").starts_with("plan.toml:2:9: seeds: "));
    assert_eq!(
        with("seeds = 2", "seed = 2"),
        "plan.toml:2:1: no key is called `seed`; did you mean `seeds`?"
    );
    let key = with("values = [\"zig", "value = [\"zig");
    assert!(
        key.contains("no key is called `value`; did you mean `values`?"),
        "{key}"
    );
    assert!(with("video.mw", "video.mq").contains("no key is called `mq`; did you mean `m"));
    assert!(with("video.mw", "vide.mw").contains("no point's scenario has what it is about"));
    assert!(with("[draws]\ncount = 3\nseed = 7", "").contains("`[draws]` is missing"));
    assert!(with(", 15]", "]").contains("a value for each of the 2 `keys`"));
    assert!(with("low = 0.001", "low = 0").contains("above zero since `log` is set"));
    assert!(
        with("low = 0.001", "whole = true, low = 0.01")
            .contains("draw: found 0.01, expected a whole")
    );
    assert!(with("count = 3", "count = 300000000").contains("expected from 1 to 100000000"));
    let unknown = with("\"unaware\"", "\"unawares\"");
    assert!(
        unknown.starts_with("point 6 (classifier unawares, rate 1 Mbit/s, loss 0.0"),
        "{unknown}"
    );
    assert!(unknown.contains("did you mean `unaware`?"));
}

#[test]
fn columns_have_different_names() {
    let with = |metrics: &str, axis: &str| {
        complaint(&format!(
            "metrics = [{metrics}]\n[[axis]]\nname = \"{axis}\"\nkey = \"link.air.rate\"\nvalues = [1e6]\n"
        ))
    };
    let share = "\"share = total.sent\"";
    for (metrics, axis, expected) in [
        (
            "\"share = total.sent\", \"share=total.mw\"",
            "rate",
            "a column `share`",
        ),
        (
            "\"seed = total.sent\"",
            "rate",
            "a column `seed` is there already",
        ),
        (
            "\"point = total.sent\"",
            "rate",
            "a column `point` is there already",
        ),
        ("\" = total.sent\"", "rate", "expected a name before `=`"),
        (
            share,
            "share",
            "axis \"share\": a column of that name is there",
        ),
        (share, "set", "axis \"set\": a column of that name is there"),
    ] {
        let said = with(metrics, axis);
        assert!(said.contains(expected), "{metrics}, {axis}: {said}");
    }
    // Columns of flows count as well.
    let sweep = |metrics: &str| {
        let text = format!("metrics = [{metrics}]\nset = {{ duration = \"1 s\" }}\n");
        let plan = Plan::of_scenario(&text, "plan.toml", two_flows(), "two.toml".into());
        Sweep::new(plan.expect("a plan"))
    };
    let flows = sweep("\"x = delivered\", \"x@video = mean(received)\"");
    let said = flows.expect_err("one name twice").to_string();
    assert!(
        said.contains("a column `x@video` is there already"),
        "{said}"
    );
    // The same column is there once.
    let same = sweep("\"x@video = delivered\", \"x = delivered\"").expect("valid");
    let names: Vec<String> = same.rows().metrics.into_iter().map(|of| of.0.id).collect();
    assert_eq!(names, ["x@video", "x@voice"]);
}

#[test]
fn no_axis_discards_the_settings_of_another() {
    let with = |axes: &str| {
        let text = format!("metrics = [\"total.sent\"]\n{axes}");
        let plan = Plan::of_scenario(&text, "plan.toml", SCENARIO.into(), "two.toml".into());
        plan.err().map(|error| error.to_string())
    };
    let axis = |name: &str, key: &str, value: &str| {
        format!("[[axis]]\nname = \"{name}\"\nkey = \"{key}\"\nvalues = [{value}]\n")
    };
    let loss = "link.air.channel.loss";
    let channel = "{ kind = \"bernoulli\", loss = 0.1 }";
    let (of_loss, of_channel) = (
        axis("loss", loss, "0.1"),
        axis("channel", "link.air.channel", channel),
    );
    let twice = with(&format!("{of_loss}{}", axis("again", loss, "0.2")));
    let expected = "axis \"loss\": `link.air.channel.loss` has no effect, because axis \"again\" sets `link.air.channel.loss` after it";
    assert_eq!(twice, Some(format!("plan.toml: {expected}")));
    let table = with(&format!("{of_loss}{of_channel}")).expect("refused");
    assert!(
        table.ends_with("sets `link.air.channel` after it"),
        "{table}"
    );
    assert_eq!(with(&format!("{of_channel}{of_loss}")), None);
    assert_eq!(
        with(&format!(
            "{of_loss}{}",
            axis("delay", "link.air.delay", "1")
        )),
        None
    );
    // A choice may replace a setting at some places, not at all.
    let choices = |set: &str| {
        with(&format!(
            "{of_loss}[[axis]]\nname = \"radio\"\nchoices = [{{ name = \"a\", set = {{ \"{loss}\" = 0.3 }} }}, {{ name = \"b\", set = {{ {set} }} }}]\n"
        ))
    };
    assert_eq!(choices(""), None);
    assert!(choices("\"link.air.channel.loss\" = 0.4").is_some());
    let keys = with(
        "[[axis]]\nname = \"rate\"\nkeys = [\"link.air.rate\", \"link.air.rate\"]\nvalues = [[1, 2]]\n",
    );
    assert!(keys.is_some_and(|said| said.contains("because `link.air.rate` follows it")));
}

#[test]
fn settings_apply_in_the_order_of_a_list() {
    let text = |set: &str| format!("metrics = [\"total.sent\"]\n{set}\n");
    let (packets, queue) = (
        "\"link.air.queue.packets\" = 3",
        "\"link.air.queue\" = { packets = 40 }",
    );
    let listed = plan(&text(&format!("set = [{{ {packets} }}, {{ {queue} }}]")));
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let in_order = [
        pair("link.air.queue.packets", "3"),
        pair("link.air.queue", "{ packets = 40 }"),
    ];
    assert_eq!(listed.point(0).set, in_order);
    let again = plan(&listed.to_toml());
    assert_eq!(again.point(0).set, in_order);
    let table = plan(&text(&format!("set = {{ {packets}, {queue} }}")));
    assert_eq!(table.point(0).set[0], in_order[1]);
    let said = complaint(&text("set = 3"));
    assert!(
        said.contains("found 3, expected a table of settings"),
        "{said}"
    );
}

#[test]
fn places_that_look_alike_have_different_labels() {
    let text = "metrics = [\"total.sent\"]\n[[axis]]\nname = \"path\"\nkeys = [\"link.air.delay\", \"link.air.rate\"]\nvalues = [[\"10 ms\", 1], [\"10 ms\", 2], [\"20 ms\", 1]]\n[[axis]]\nname = \"flow\"\nkey = \"flow.video.classifier\"\nvalues = [\"zbs\", \"unaware\"]\n[[axis]]\nname = \"loss\"\nkey = \"link.air.channel.loss\"\ndraw = { low = 0.1, high = 0.1 }\n[draws]\ncount = 1\n";
    assert_eq!(
        plan(text).labels(&[1, 2, 4]),
        [
            [
                "10 ms (link.air.delay=\"10 ms\", link.air.rate=1)",
                "unaware",
                "0.1"
            ],
            [
                "10 ms (link.air.delay=\"10 ms\", link.air.rate=2)",
                "zbs",
                "0.1"
            ],
            ["20 ms", "zbs", "0.1"],
        ]
    );
}

#[test]
fn a_part_is_whole_or_none() {
    let mut sweep = Sweep::new(plan(AXES)).expect("valid");
    let batch = sweep.missing(2).swap_remove(0);
    let part = sweep
        .task(&batch)
        .run(&Registry::new(), &AtomicBool::new(false), || ())
        .expect("runs");
    let bytes = part.to_parquet().expect("written");
    for end in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        assert!(Part::from_parquet(bytes[..end].to_vec()).is_err(), "{end}");
    }
    // Damage to any byte leads at most to an error, without a printed panic or excessive memory.
    for at in 0..bytes.len() {
        for byte in [0x00, 0x7f, 0xff, bytes[at] ^ 1] {
            let mut damaged = bytes.clone();
            damaged[at] = byte;
            let _ = Part::from_parquet(damaged);
        }
    }
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path()).expect("free");
    assert!(matches!(
        Store::open(directory.path()),
        Err(SweepError::Busy(_))
    ));
    store.put(&part).expect("room");
    let unfinished = directory.path().join("parts/.part-0.parquet.1.tmp");
    std::fs::write(&unfinished, &bytes[..20]).expect("room");
    drop(store);
    let store = Store::open(directory.path()).expect("free again");
    let mut read = Vec::new();
    store.parts(|part| read.push(part.clone())).expect("whole");
    assert_eq!(format!("{read:?}"), format!("{:?}", [part]));
    assert!(!unfinished.exists());
}

#[test]
fn a_run_is_kept_before_its_batch_ends() {
    let text = "seeds = 1000\nmetrics = [\"total.sent\"]\nset = { duration = \"1 s\" }\n";
    let mut sweep = Sweep::new(plan(text)).expect("valid");
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path()).expect("free");
    let stop = AtomicBool::new(false);
    // A batch has ten runs. The first one ends the sweep.
    let watch = |part: &Part| {
        assert_eq!(part.rows.len(), 1);
        stop.store(true, Ordering::Relaxed);
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let every = Duration::from_secs(10);
    let ran = pool
        .expect("a thread")
        .install(|| sweep.run_watched(Some(&store), every, &Unwatched, &watch, &stop));
    ran.expect("room");
    assert_eq!(sweep.count().0, 1);
    let mut stored = 0;
    let read = store.parts(|part| stored += part.rows.len());
    read.expect("whole");
    assert_eq!(stored, 1);
}

#[test]
fn a_store_keeps_the_files_of_the_user() {
    let directory = tempfile::tempdir().expect("a directory");
    drop(Store::open(directory.path()).expect("free"));
    let ours = [
        ".rows.parquet.17.tmp",
        "rows.parquet.17.unfinished",
        "parts/.part-00ff.parquet.17.tmp",
        "parts/part-00ff.parquet.17.unfinished",
    ];
    let theirs = [
        "notes.tmp",
        "list.unfinished",
        ".rows.parquet.tmp",
        ".rows.parquet.old.tmp",
        ".mine.parquet.17.tmp",
        "parts/.part-.parquet.17.tmp",
        "parts/part-of-a-song.parquet.17.unfinished",
    ];
    for name in ours.iter().chain(&theirs) {
        std::fs::write(directory.path().join(name), "precious").expect("room");
    }
    let folders = ["cache.tmp", ".rows.parquet.18.tmp"];
    for name in folders {
        std::fs::create_dir(directory.path().join(name)).expect("room");
    }
    drop(Store::open(directory.path()).expect("free again"));
    let is_there = |name: &&str| directory.path().join(name).exists();
    assert!(!ours.iter().any(&is_there));
    assert!(theirs.iter().chain(&folders).all(is_there));
}

#[test]
fn changed_rows_remove_the_page_of_the_earlier_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path()).expect("free");
    let mut sweep = Sweep::new(plan("metrics = [\"total.sent\"]\n")).expect("valid");
    store.renew_rows(&sweep.rows()).expect("room");
    for name in ["index.html", "sweep.json"] {
        crate::report::write(directory.path(), name, "of no run").expect("room");
    }
    let notes = directory.path().join("notes.txt");
    std::fs::write(&notes, "mine").expect("room");
    let pages = || {
        ["index.html", "sweep.json", "notes.txt", "rows.parquet"]
            .map(|name| directory.path().join(name).exists())
    };
    store.renew_rows(&sweep.rows()).expect("room");
    assert_eq!(pages(), [true; 4]);
    run(&mut sweep, 1);
    store.renew_rows(&sweep.rows()).expect("room");
    assert_eq!(pages(), [false, false, true, true]);
}

/// Returns the scenario with a second flow.
fn two_flows() -> String {
    format!(
        "{SCENARIO}\n[[flow]]\nname = \"voice\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\n"
    )
}

#[test]
fn a_metric_of_each_flow_is_a_column_for_each() {
    let text = |metrics: &str| {
        format!(
            "metrics = [{metrics}]\n[set]\nduration = \"1 s\"\n[[axis]]\nname = \"rate\"\nkey = \"link.air.rate\"\nvalues = [\"1 Mbit/s\", \"2 Mbit/s\"]\n"
        )
    };
    let plan = |metrics: &str| {
        Plan::of_scenario(&text(metrics), "plan.toml", two_flows(), "two.toml".into())
    };
    let metrics = "\"kbit = delivered * 8 / window\", \"delivered\", \"all = sum(delivered)\", \"some@vo = delivered\"";
    let mut sweep = Sweep::new(plan(metrics).expect("a plan")).expect("a sweep");
    run(&mut sweep, 2);
    let rows = sweep.rows();
    let column = |id: &str| {
        let mut metrics = rows.metrics.iter();
        let found = metrics.find(|(metric, _)| metric.id == id);
        &found.unwrap_or_else(|| panic!("{id}")).1
    };
    let names: Vec<&str> = rows.metrics.iter().map(|of| of.0.id.as_str()).collect();
    assert_eq!(
        names,
        [
            "kbit@video",
            "kbit@voice",
            "delivered@video",
            "delivered@voice",
            "all",
            "some@vo"
        ]
    );
    for point in 0..2 {
        let of_flows = column("delivered@video")[point] + column("delivered@voice")[point];
        assert!(of_flows > 0.0);
        assert_eq!(column("all")[point].to_bits(), of_flows.to_bits());
        assert_eq!(
            column("some@vo")[point].to_bits(),
            column("delivered@voice")[point].to_bits()
        );
    }
    // The flows of a column replace those that the metric selects.
    let selected = Sweep::new(plan("\"some@v = delivered\"").expect("a plan"));
    let mut selected = selected.expect("a sweep");
    run(&mut selected, 2);
    let some = selected.rows().metrics;
    let names: Vec<&str> = some.iter().map(|of| of.0.id.as_str()).collect();
    assert_eq!(names, ["some@video", "some@voice"]);
    assert_eq!(&some[1].1, column("delivered@voice"));
    // Flows named in the expression get no columns.
    let both = Sweep::new(plan("\"x = delivered@v\"").expect("a plan"));
    let both = both.expect_err("two flows").to_string();
    assert!(
        both.contains("`@v` stands for 2 flows; expected `mean(…)`"),
        "{both}"
    );
}

#[test]
fn a_point_with_a_single_flow_has_its_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    // `video` also begins the names of the copies.
    let copies = SCENARIO.replace("[[flow]]", "[[flow]]\ncount = 2");
    write("one.toml", SCENARIO).expect("room");
    write("two.toml", &copies).expect("room");
    let text = |choices: &str| {
        format!(
            "scenario = \"one.toml\"\nmetrics = [\"delivered\", \"x = delivered / 2\"]\nset = {{ duration = \"1 s\" }}\n[[axis]]\nname = \"network\"\nchoices = [{choices}]\n"
        )
    };
    let file = folder.path().join("plan.toml");
    let rows = |choices: &str| {
        let plan = Plan::parse(&text(choices), &file.to_string_lossy()).expect("a plan");
        let mut sweep = Sweep::new(plan).expect("a sweep");
        run(&mut sweep, 1);
        sweep.rows().metrics
    };
    let one = "{ name = \"one\" }";
    let both = rows(&format!(
        "{one}, {{ name = \"two\", scenario = \"two.toml\" }}"
    ));
    let names: Vec<&str> = both.iter().map(|of| of.0.id.as_str()).collect();
    assert_eq!(
        names,
        [
            "delivered@video-1",
            "delivered@video-2",
            "delivered@video",
            "x@video-1",
            "x@video-2",
            "x@video",
        ]
    );
    let there = both.iter().map(|of| [0, 1].map(|row| of.1[row] > 0.0));
    let [copy, single] = [[false, true], [true, false]];
    let expected = [copy, copy, single, copy, copy, single];
    assert_eq!(there.collect::<Vec<_>>(), expected);
    // A plan whose points have one flow each has one column.
    let single = rows(one);
    let names: Vec<&str> = single.iter().map(|of| of.0.id.as_str()).collect();
    assert_eq!(names, ["delivered", "x"]);
    assert_eq!(single[0].1[0].to_bits(), both[2].1[0].to_bits());
}

#[test]
fn an_axis_has_places_with_scenarios_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("one.toml", SCENARIO).expect("room");
    write("two.toml", &two_flows()).expect("room");
    let text = "scenario = \"one.toml\"\nseeds = 3\nmetrics = [\"flow.voice.sent\", \"total.sent\"]\nset = { duration = \"1 s\" }\n[[axis]]\nname = \"network\"\nchoices = [{ name = \"one\" }, { name = \"two\", scenario = \"two.toml\" }]\n";
    let file = folder
        .path()
        .join("plan.toml")
        .to_string_lossy()
        .into_owned();
    let plan = Plan::parse(text, &file).expect("a plan");
    // The plan survives a round trip through TOML.
    assert_eq!(
        Plan::parse(&plan.to_toml(), &file)
            .expect("a plan")
            .to_toml(),
        plan.to_toml()
    );
    let mut sweep = Sweep::new(plan).expect("a sweep");
    // Each task has one scenario.
    let batches = sweep.missing(100);
    let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    assert_eq!(sizes, [3, 3]);
    run(&mut sweep, 2);
    let rows = sweep.rows();
    let files: Vec<bool> = rows
        .files(0..6)
        .map(|file| file.ends_with("two.toml"))
        .collect();
    assert_eq!(files, [false, false, false, true, true, true]);
    let sent = &rows.metrics[0].1;
    assert!(sent[..3].iter().all(|sent| sent.is_nan()) && sent[3..].iter().all(|&sent| sent > 0.0));
    // The file's metadata holds the scenarios.
    let bytes = rows.to_parquet().expect("written");
    let found = |text: &str| {
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(found("two.toml") && found("scenario"));
    let missing = Plan::parse(&text.replace("\"two.toml\"", "\"three.toml\""), &file);
    let missing = missing.expect_err("no such file").to_string();
    assert!(missing.contains("three.toml: "), "{missing}");
}
