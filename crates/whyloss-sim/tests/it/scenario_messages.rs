//! Snapshots of the messages about invalid scenario files. Read them as a user would.

use std::fmt::Write as _;

use whyloss_sim::scenario::{Location, ScenarioFile};

/// A valid file; each case below breaks one thing.
const GOOD: &str = r#"title = "test"
duration = "220 s"
measure_from = "20 s"

[[link]]
name = "access"
from = "s{i}"
to = "r1"
count = 2
rate = "10 Mbit/s"
delay = "1 ms"
queue = { packets = 166 }

[[link]]
name = "shared"
from = "r1"
to = "r2"
rate = "800 kbit/s"
delay = "20 ms"
queue = { packets = 13 }
channel = { kind = "bernoulli", loss = 0.078 }

[[flow]]
name = "video"
from = "s{i}"
to = "r2"
count = 2
packet = "762 B"
transport = { kind = "on-off", rate = "75 kbit/s", burst = "500 ms", idle = "500 ms" }
start = ["20 s", "22 s"]

[[flow]]
name = "film"
from = "s1"
to = "r2"
packet = "762 B"
transport = { kind = "tfrc", base = "ns2", loss_threshold = 3 }
classifier = { name = "mbiaz", upper = 1.25 }

[[flow]]
name = "file"
from = "s2"
to = "r2"
transport = { kind = "tcp", recovery = "newreno" }
"#;

fn message(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    match ScenarioFile::parse(text, "test.toml", &overrides) {
        Ok(_) => panic!("no error in\n{text}\nwith {overrides:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_good_file_is_good() {
    let file = ScenarioFile::parse(GOOD, "test.toml", &[]).unwrap();
    let names: Vec<_> = file.scenario.links.iter().map(|l| &*l.name).collect();
    assert_eq!(
        names,
        [
            "access-1",
            "access-1-back",
            "access-2",
            "access-2-back",
            "shared",
            "shared-back"
        ]
    );
    let names: Vec<_> = file.scenario.flows.iter().map(|f| &*f.name).collect();
    assert_eq!(names, ["video-1", "video-2", "film", "file"]);
    assert_eq!(file.scenario.nodes, ["s1", "r1", "s2", "r2"]);
    assert_eq!((file.seed, file.seeds), (1, 1));
}

/// Replacements in the good file.
const SPOILS: &[(&str, &str)] = &[
    // TOML itself.
    ("duration = \"220 s\"", "duration = \"220 s"),
    ("[[link]]\nname = \"access\"", "[[link]\nname = \"access\""),
    ("count = 2\nrate", "count = 2\ncount = 3\nrate"),
    // Keys.
    ("title", "tilte"),
    ("delay = \"20 ms\"", "dealy = \"20 ms\""),
    ("delay = \"20 ms\"\n", ""),
    ("delay = \"20 ms\"", "delay = \"20 ms\"\ncolour = \"blue\""),
    ("packets = 13", "packet = 13"),
    ("[[flow]]", "[[flows]]"),
    ("[[flow]]", "[flow]"),
    ("duration = \"220 s\"\n", ""),
    // Types and units.
    ("\"20 ms\"", "20"),
    ("\"800 kbit/s\"", "\"800 kbps\""),
    ("\"800 kbit/s\"", "\"800\""),
    ("\"800 kbit/s\"", "\"-800 kbit/s\""),
    ("\"762 B\"", "762"),
    ("loss = 0.078", "loss = 7.8"),
    ("loss = 0.078", "loss = \"7.8 %\""),
    ("loss = 0.078", "loss = nan"),
    ("packets = 13", "packets = 0"),
    ("packets = 13", "packets = 13.3"),
    ("{ packets = 13 }", "13"),
    ("packets = 13", "packets = 13, bytes = \"10 kB\""),
    ("{ packets = 13 }", "{ aqm = \"fq-codel\" }"),
    ("packets = 13", "packets = 13, red = 5"),
    ("packets = 13", "packets = 13, red = \"adaptiv\""),
    (
        "packets = 13",
        "packets = 13, red = { kind = \"classic\", min_th = 5 }",
    ),
    (
        "delay = \"20 ms\"",
        "delay = \"20 ms\"\ndelay_changes = [\"50 s\", \"60 ms\"]",
    ),
    (
        "delay = \"20 ms\"",
        "delay = \"20 ms\"\ndelay_changes = [[\"50 s\", 60]]",
    ),
    // Names.
    ("\"bernoulli\"", "\"bernouilli\""),
    ("{ kind = \"bernoulli\", loss = 0.078 }", "\"bernoulli\""),
    ("\"on-off\"", "\"onoff\""),
    ("to = \"r2\"\ncount", "to = \"r22\"\ncount"),
    ("name = \"shared\"", "name = \"the shared link\""),
    ("name = \"shared\"", "name = \"access-2\""),
    (
        "packet = \"762 B\"",
        "packet = \"762 B\"\nroute = [\"access-{i}\", \"shard\"]",
    ),
    ("packet = \"762 B\"", "classifier = \"zbs2\""),
    ("\"mbiaz\"", "\"mbias\""),
    ("\"mbiaz\"", "\"zigzag\""),
    ("upper = 1.25", "uper = 1.25"),
    ("\"newreno\"", "\"cubic\""),
    ("\"newreno\"", "\"rack\", base = \"ns2\""),
    (
        "recovery = \"newreno\" }",
        "controller = \"cubic\" }\nclassifier = \"unaware\"\nscheme = \"whyloss\"",
    ),
    ("\"ns2\"", "\"ns3\""),
    // Impossible values.
    ("upper = 1.25", "upper = 12.5"),
    ("loss_threshold = 3", "loss_threshold = 0"),
    ("\"newreno\"", "\"newreno\", rto_min = \"0 s\""),
    (
        "\"bernoulli\", loss = 0.078",
        "\"burst-renewal\", loss = 0.078, lengths = [0.7, 0.2]",
    ),
    (
        "\"bernoulli\", loss = 0.078",
        "\"gilbert-elliott\", loss = 0.078",
    ),
    (
        "\"bernoulli\", loss = 0.078",
        "\"gilbert-elliott\", loss = 0.9, stay = 0.1",
    ),
    (
        "\"bernoulli\", loss = 0.078",
        "\"gilbert-elliott\", loss = 0.078, stay = 0.3, loss_bad = 1",
    ),
    (
        "\"bernoulli\", loss = 0.078",
        "\"timed-gilbert-elliott\", mean_good = \"1 s\", mean_bad = \"0 s\"",
    ),
    (
        "\"bernoulli\", loss = 0.078",
        "\"pattern\", file = \"no-such-file.txt\"",
    ),
    ("\"bernoulli\", loss = 0.078", "\"pattern\", file = \".\""),
    (
        "packets = 13",
        "packets = 13, red = { kind = \"classic\", max = 5 }",
    ),
    (
        "packets = 13",
        "packets = 13, red = { kind = \"adaptive\", weight = 0 }",
    ),
    (
        "packets = 13",
        "packets = 13, red = { kind = \"adaptive\", mean_packet = \"0 B\" }",
    ),
    (
        "delay = \"20 ms\"",
        "delay = \"20 ms\"\ndelay_changes = [[\"50 s\", \"60 ms\"], [\"40 s\", \"20 ms\"]]",
    ),
    (
        "delay = \"20 ms\"",
        "delay = \"20 ms\"\ndelay_changes = [[\"50 s\", \"61 min\"]]",
    ),
    ("idle = \"500 ms\"", "idle = \"500 ms\", law = \"weibull\""),
    ("idle = \"500 ms\"", "idle = \"500 ms\", shape = 1.2"),
    (
        "idle = \"500 ms\"",
        "idle = \"500 ms\", law = \"pareto\", shape = 1",
    ),
    (
        "kind = \"on-off\", rate = \"75 kbit/s\", burst = \"500 ms\", idle = \"500 ms\"",
        "kind = \"cbr\", rate = \"0 bit/s\"",
    ),
    (
        "kind = \"on-off\", rate = \"75 kbit/s\", burst = \"500 ms\", idle = \"500 ms\"",
        "kind = \"cbr\", rate = \"1 Mbit/s\", rate_changes = [[\"1 s\", \"2 Tbit/s\"]]",
    ),
    (
        "kind = \"tcp\", recovery = \"newreno\"",
        "kind = \"web\", transfers = 5, segments = 10",
    ),
    (
        "kind = \"tcp\", recovery = \"newreno\"",
        "kind = \"web\", transfers = 5, wireless = \"keep\"",
    ),
    ("kind = \"tcp\", recovery = \"newreno\"", "kind = \"web\""),
    (
        "kind = \"tcp\", recovery = \"newreno\"",
        "kind = \"web\", transfers = 0",
    ),
    (
        "kind = \"tcp\", recovery = \"newreno\"",
        "kind = \"web\", transfers = 5, shape = 0.9",
    ),
    ("\"800 kbit/s\"", "\"0 bit/s\""),
    ("\"800 kbit/s\"", "\"800 Tbit/s\""),
    ("\"800 kbit/s\"", "\"80000 Gbit/s\""),
    ("\"762 B\"", "\"0 B\""),
    ("\"762 B\"", "\"70 kB\""),
    ("\"20 ms\"", "\"200 min\""),
    ("measure_from = \"20 s\"", "measure_from = \"220 s\""),
    ("[\"20 s\", \"22 s\"]", "[\"22 s\", \"20 s\"]"),
    ("[\"20 s\", \"22 s\"]", "[\"20 s\", \"220 s\"]"),
    ("start =", "stop = \"21 s\"\nstart ="),
    ("to = \"r2\"\nrate", "to = \"r1\"\nrate"),
    ("to = \"r2\"\nrate", "to = \"r3\"\nrate"),
    ("channel =", "both_ways = false\nchannel ="),
    ("packet = \"762 B\"", "route = [\"shared\"]"),
    ("packet = \"762 B\"", "route = [\"access-1\"]"),
    ("packet = \"762 B\"", "route = []"),
    ("count = 2\nrate", "count = 2000000\nrate"),
    ("count = 2\nrate", "count = 6000\nrate"),
    ("from = \"s{i}\"\nto = \"r1\"", "from = \"s\"\nto = \"r1\""),
    (
        "{ kind = \"tcp\", recovery = \"newreno\" }",
        "{ kind = \"iftp\", window = \"slidng\" }",
    ),
    (
        "{ kind = \"tcp\", recovery = \"newreno\" }",
        "{ kind = \"iftp\", max_window = 2000 }",
    ),
    (
        "{ kind = \"tcp\", recovery = \"newreno\" }",
        "{ kind = \"iftp\", rto_min = \"2 s\", rto_max = \"1 s\" }",
    ),
    (
        "{ kind = \"tcp\", recovery = \"newreno\" }",
        "{ kind = \"iftp\", recovery = \"reno\" }",
    ),
];

#[test]
fn messages() {
    let mut page = String::new();
    for (good, bad) in SPOILS {
        assert!(GOOD.contains(good), "{good}");
        let text = GOOD.replacen(good, bad, 1);
        let _ = writeln!(page, "{}\n", message(&text, &[]));
    }
    for text in ["", "duration = \"1 s\"\n", "duration = \"1 s\"\n[flow]\n"] {
        let _ = writeln!(page, "{}\n", message(text, &[]));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn messages_about_overrides() {
    let mut page = String::new();
    for (key, value) in [
        ("link.shared.rate", "1 Mbps"),
        ("link.shared.rat", "1 Mbit/s"),
        ("link.shard.rate", "1 Mbit/s"),
        ("link.7.rate", "1 Mbit/s"),
        ("link.s*.rat", "1 Mbit/s"),
        ("link.x*.rate", "1 Mbit/s"),
        ("links.shared.rate", "1 Mbit/s"),
        ("link.shared.channel.loss", "1.5"),
        ("link.shared.channel.kind", "none"),
        ("link.shared.queue", "{ packets = 0 }"),
        ("link.shared", "{}"),
        ("link.shared.rate.x", "1"),
        ("flow.video.transport", "sctp-x"),
        ("flow.film.classifier", "zbs4"),
        ("flow.film.classifier.name", "zigzag"),
        ("flow.file.classifier.name", "zigzag"),
        ("flow.file.packet", "40 B"),
        ("duration", "10 s"),
        ("seeds", "0"),
        ("seed", "first"),
        ("rate", ""),
        ("", "3"),
        ("link..rate", "3"),
    ] {
        let _ = writeln!(page, "{}\n", message(GOOD, &[(key, value)]));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn messages_about_applications() {
    let mut page = String::new();
    for value in [
        "radio",
        "video",
        "voise",
        r#"{ kind = "voice", fps = 25 }"#,
        r#"{ kind = "video", rate = "400 kbit/s", fps = 0 }"#,
        r#"{ kind = "video", rate = "900 Tbit/s" }"#,
        r#"{ kind = "voice", interval = "1 ns" }"#,
        r#"{ kind = "voice", playout = "100 ms" }"#,
        r#"{ kind = "voice", playout = [] }"#,
        r#"{ kind = "voice", patience = "100 ms" }"#,
    ] {
        let _ = writeln!(
            page,
            "{}\n",
            message(GOOD, &[("flow.file.application", value)])
        );
    }
    for (flow, transport) in [("video", "on-off"), ("file", "segments"), ("file", "web")] {
        let application = format!("flow.{flow}.application");
        let mut overrides = vec![(&*application, "voice")];
        match transport {
            "segments" => overrides.push(("flow.file.transport.segments", "10")),
            "web" => overrides.push(("flow.file.transport", "{ kind = \"web\", transfers = 1 }")),
            _ => {}
        }
        let _ = writeln!(page, "{}\n", message(GOOD, &overrides));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn messages_about_bit_errors() {
    let mut page = String::new();
    for (key, value) in [
        ("link.shared.channel", "bit-errors"),
        (
            "link.shared.channel",
            r#"{ kind = "bit-errors", rate = 1.5 }"#,
        ),
        (
            "link.shared.channel",
            r#"{ kind = "bit-errors", ber = 1e-5 }"#,
        ),
        (
            "link.shared.channel",
            r#"{ kind = "bit-errors", rate = 1e-5, slots = 2 }"#,
        ),
        ("flow.film.coverage", "795 B"),
        ("flow.video.coverage", "27 B"),
        ("flow.video.coverage", "40"),
        ("flow.video.transport", "poisson"),
        (
            "flow.video.transport",
            r#"{ kind = "poisson", rate = "1 Mbit/s", dither = true }"#,
        ),
        (
            "flow.video.transport",
            r#"{ kind = "poisson", rate = "1 Mbit/s", least = "7 ms" }"#,
        ),
    ] {
        let _ = writeln!(page, "{}\n", message(GOOD, &[(key, value)]));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn overrides_are_applied_in_order() {
    let set = |overrides: &[(&str, &str)]| {
        let overrides: Vec<_> = overrides
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        ScenarioFile::parse(GOOD, "test.toml", &overrides).unwrap()
    };
    let link = |file: &ScenarioFile, name: &str| {
        let position = file.scenario.links.iter().position(|l| l.name == name);
        file.scenario.links[position.unwrap()].link.clone()
    };
    let file = set(&[
        ("link.shared.rate", "1 Mbit/s"),
        ("link[1].rate", "\"2 Mbit/s\""),
        ("link.0.count", "3"),
        ("flow.video.count", "3"),
        ("seeds", "10"),
    ]);
    assert_eq!(link(&file, "shared").rate.as_bps(), 2_000_000);
    assert_eq!(file.scenario.flows.len(), 5);
    assert_eq!(file.seeds, 10);
    let file = set(&[
        ("link.shared.channel", "none"),
        ("link.shared.channel.kind", "bernoulli"),
        ("link.shared.channel.loss", "0.5"),
    ]);
    assert_eq!(
        link(&file, "shared").channel,
        whyloss_link::ChannelSpec::Bernoulli { loss: 0.5 }
    );
    // A kind alone becomes a table when a key below it is set.
    let file = set(&[
        ("link.shared.queue", "{ packets = 9, aqm = \"codel\" }"),
        ("link.shared.queue.aqm.target", "7 ms"),
    ]);
    let queue = format!("{:?}", link(&file, "shared").queue);
    assert!(queue.contains("target: SignedDuration(7000000)"), "{queue}");
    let all = set(&[("link.s*.rate", "3 Mbit/s"), ("link.*.delay", "7 ms")]);
    for at in &all.scenario.links {
        let (link, chosen) = (&at.link, at.name.starts_with('s'));
        assert_eq!(link.rate.as_bps() == 3_000_000, chosen, "{}", at.name);
        assert_eq!(link.delay, whyloss::Duration::from_millis(7));
    }
}

#[test]
fn places_are_exact() {
    for (good, bad, line, column, path) in [
        ("title", "tilte", 1, 1, ""),
        ("\"20 ms\"", "\"20 m\"", 19, 9, "link[1].delay"),
        ("loss = 0.078", "loss = -1", 21, 40, "link[1].channel.loss"),
        ("\"22 s\"", "\"é s\"", 30, 18, "flow[0].start[1]"),
        (
            "idle = \"500 ms\"",
            "idle = 5",
            29,
            77,
            "flow[0].transport.idle",
        ),
    ] {
        let text = GOOD.replacen(good, bad, 1);
        let error = ScenarioFile::parse(&text, "test.toml", &[]).unwrap_err();
        let file = "test.toml".to_owned();
        assert_eq!(error.location, Location::File { file, line, column });
        assert_eq!(error.path, path);
    }
}

/// Settings of a link that are impossible, and the message about each.
#[test]
fn ways_that_cannot_be() {
    let bursts = "{ packets = 4, airtime = \"4 ms\", access = \"1 ms\" }";
    for (overrides, says) in [
        (&[("jitter", "exponential")][..], "needs `mean`"),
        (
            &[("jitter", "{ kind = \"gauss\", mean = \"1 ms\" }")],
            "no law is called `gauss`",
        ),
        (
            &[(
                "aggregation",
                "{ packets = 0, airtime = \"4 ms\", access = \"1 ms\" }",
            )],
            "a whole number from 1 to 1024",
        ),
        (
            &[(
                "aggregation",
                "{ packets = 4, airtime = \"4 ms\", access = \"2 s\" }",
            )],
            "expected 0 s to 1 s",
        ),
        (
            &[("aggregation", bursts), ("arq", "{ tries = 3 }")],
            "`arq` needs `parallel = true`",
        ),
        (
            &[("handovers", "[{ at = \"2 s\" }, { at = \"1 s\" }]")],
            "comes after",
        ),
        (
            &[("handovers", "[{ at = \"2 s\", waiting = \"twice\" }]")],
            "handovers[0].waiting: found \"twice\", expected \"kept\" or \"lost\" or \"copied\"",
        ),
        (
            &[("handovers", "[{ at = \"2 s\", lost = true }]")],
            "unknown key `lost`; expected one of `at`, `pause`, `rate`, `delay`, `channel`, `queue`, `waiting`, `in_order`",
        ),
        (
            &[
                ("handovers", "[{ at = \"2 s\" }]"),
                ("delay_changes", "[[\"1 s\", \"1 ms\"]]"),
            ],
            "found both `handovers` and `delay_changes`",
        ),
        (
            &[(
                "rate",
                "{ rates = [\"1 Mbit/s\"], means = [\"1 s\", \"1 s\"] }",
            )],
            "found 2 times for 1 rates",
        ),
        (
            &[(
                "rate",
                "{ rates = [\"0 bit/s\", \"0 bit/s\"], means = [\"1 s\", \"1 s\"] }",
            )],
            "no state has a rate above 0",
        ),
    ] {
        let keys: Vec<_> = overrides
            .iter()
            .map(|(key, value)| (format!("link.shared.{key}"), *value))
            .collect();
        let overrides: Vec<_> = keys.iter().map(|(key, value)| (&**key, *value)).collect();
        let found = message(GOOD, &overrides);
        assert!(found.contains(says), "{found}");
    }
}
