//! Networks drawn at random, as scenario files.

use std::fmt::{Display, Write};

use proptest::prelude::*;

/// Draws one entry of the list.
fn pick(list: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(list)
}

/// Draws the transport of a flow, with its classifier or application.
fn transport() -> impl Strategy<Value = &'static str> {
    pick(&[
        r#"{ kind = "tcp" }"#,
        r#"{ kind = "tcp", delayed_ack = "5 ms" }, classifier = "oracle""#,
        r#"{ kind = "tcp", recovery = "newreno", delayed_ack = "none" }"#,
        r#"{ kind = "tcp", recovery = "newreno", delayed_ack = "none", window = 1 }"#,
        r#"{ kind = "tcp", recovery = "newreno" }, classifier = "oracle""#,
        r#"{ kind = "tcp", recovery = "sack", delayed_ack = "none", window = 10 }"#,
        r#"{ kind = "tcp", recovery = "sack", delayed_ack = "none" }, classifier = "oracle""#,
        r#"{ kind = "tcp", recovery = "reno", base = "ns2" }"#,
        r#"{ kind = "tcp", recovery = "reno", delayed_ack = "none", segments = 40 }"#,
        r#"{ kind = "tcp", recovery = "vegas" }, classifier = "vegas""#,
        r#"{ kind = "tcp", recovery = "rack" }, classifier = "oracle""#,
        r#"{ kind = "tcp", recovery = "rack", controller = "cubic", delayed_ack = "none", ecn = true }"#,
        r#"{ kind = "tcp", recovery = "rack", controller = "bbr" }, classifier = "episode""#,
        r#"{ kind = "tcp", recovery = "rack", handshake = true }, application = { kind = "video", fps = 25, rate = "200 kbit/s", playout = ["200 ms"] }"#,
        r#"{ kind = "tcp", controller = "cubic" }"#,
        r#"{ kind = "tcp", controller = "westwood", delayed_ack = "none" }, classifier = "veno""#,
        r#"{ kind = "tcp", controller = "bbr" }"#,
        r#"{ kind = "tcp", controller = "bbr", delayed_ack = "none" }, classifier = "oracle""#,
        r#"{ kind = "tcp", controller = "copa" }"#,
        r#"{ kind = "tcp", controller = "scream", recovery = "sack" }"#,
        r#"{ kind = "tcp", recovery = "rack", controller = "copa", delayed_ack = "none", ecn = true }, classifier = "veno""#,
        r#"{ kind = "tfrc" }"#,
        r#"{ kind = "tfrc", base = "ns2" }, classifier = "zbs""#,
        r#"{ kind = "tfrc" }, classifier = "oracle""#,
        r#"{ kind = "iftp" }"#,
        r#"{ kind = "iftp" }, classifier = "oracle""#,
        r#"{ kind = "web", transfers = 5 }"#,
        r#"{ kind = "tcp" }, application = { kind = "transfers", size = "100 kB", arrivals = "in-turn" }"#,
        r#"{ kind = "tcp", recovery = "rack", controller = "bbr" }, application = { kind = "transfers", size = "30 kB", arrivals = "poisson", per_second = 3 }"#,
        r#"{ kind = "tcp", ecn = true, controller = "cubic" }, application = { kind = "transfers", size = "100 kB" }"#,
        r#"{ kind = "cbr", rate = "300 kbit/s" }"#,
        r#"{ kind = "tcp", ecn = true }"#,
        r#"{ kind = "tcp", recovery = "newreno", delayed_ack = "none", ecn = true }, classifier = "oracle""#,
        r#"{ kind = "tcp", recovery = "reno", base = "ns2", ecn = true }"#,
        r#"{ kind = "tcp", recovery = "newreno", base = "ns2", ecn = true }, classifier = "veno""#,
        r#"{ kind = "tcp", recovery = "vegas", ecn = true }"#,
        r#"{ kind = "tcp", controller = "cubic", ecn = true, delayed_ack = "none" }"#,
        r#"{ kind = "tcp", controller = "bbr", ecn = true }"#,
        r#"{ kind = "tfrc", ecn = true }, classifier = "zbs""#,
        r#"{ kind = "tfrc", base = "ns2", ecn = true }, classifier = "oracle""#,
        r#"{ kind = "web", transfers = 5, ecn = true }"#,
        r#"{ kind = "tcp", ecn = true }, application = { kind = "video", fps = 25, rate = "200 kbit/s", playout = ["200 ms"] }"#,
        r#"{ kind = "cbr", rate = "100 kbit/s", dither = true }"#,
        r#"{ kind = "poisson", rate = "400 kbit/s" }"#,
        r#"{ kind = "poisson", rate = "200 kbit/s", least = "2 ms", rate_changes = [["1.5 s", "1 Mbit/s"]] }"#,
        r#"{ kind = "on-off", rate = "2 Mbit/s", burst = "100 ms", idle = "200 ms" }"#,
        r#"{ kind = "on-off", rate = "1 Mbit/s", burst = "50 ms", idle = "150 ms", law = "pareto" }"#,
        r#"{ kind = "on-off", rate = "500 kbit/s", burst = "300 ms", idle = "100 ms", law = "constant" }"#,
        r#"{ kind = "tcp" }, application = { kind = "video", fps = 25, rate = "200 kbit/s", playout = ["200 ms"] }"#,
        r#"{ kind = "cbr", rate = "2 Mbit/s" }, application = { kind = "voice", interval = "20 ms", playout = ["100 ms"] }"#,
    ])
}

/// Draws a queue of any kind, including kinds that may need events.
fn any_queue() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        2 => queue(),
        1 => pick(&[
            r#"{ packets = 30, aqm = "codel" }"#,
            r#"{ packets = 20, aqm = "fq-codel" }"#,
            r#"{ packets = 30, aqm = { kind = "codel", target = "2 ms", interval = "20 ms", ecn = true } }"#,
            r#"{ packets = 20, aqm = { kind = "fq-codel", interval = "20 ms", ecn = true } }"#,
        ]),
    ]
}

fn queue() -> impl Strategy<Value = &'static str> {
    pick(&[
        r#""unlimited""#,
        "{ packets = 3 }",
        "{ packets = 20 }",
        "{ bytes = \"9 kB\" }",
        r#"{ packets = 30, red = "adaptive" }"#,
        r#"{ packets = 30, aqm = "pie" }"#,
        r#"{ packets = 30, aqm = { kind = "pie", ecn = true } }"#,
        r#"{ packets = 30, red = { kind = "adaptive", ecn = true } }"#,
        r#"{ packets = 30, red = { kind = "classic", min = 2, max = 12, weight = 0.2, ecn = true } }"#,
    ])
}

/// Features of links that need events of their own.
const WAYS: &[&str] = &[
    r#"jitter = { kind = "exponential", mean = "3 ms", in_order = false }"#,
    r#"jitter = { kind = "uniform", mean = "5 ms" }"#,
    r#"jitter = { kind = "pareto", mean = "4 ms", shape = 1.5, in_order = false }"#,
    r#"aggregation = { packets = 8, airtime = "4 ms", access = "1 ms" }"#,
    r#"aggregation = { packets = 3, airtime = "50 ms", access = "0 ms" }"#,
    r#"handovers = [{ at = "1 s", pause = "50 ms", waiting = "lost", rate = "2 Mbit/s" }, { at = "2 s", delay = "3 ms", in_order = false }]"#,
    r#"handovers = [{ at = "0.7 s", pause = "200 ms", delay = "90 ms" }, { at = "1.7 s", delay = "0 ms" }]"#,
];

/// Handovers that copy the waiting packets, some in quick succession. A packet that waits twice is
/// copied once.
const COPYING: &[&str] = &[
    r#"handovers = [{ at = "0.6 s", pause = "50 ms", waiting = "copied", rate = "2 Mbit/s" }, { at = "1.2 s", waiting = "copied", in_order = false }, { at = "2 s", waiting = "copied", rate = "300 kbit/s" }]"#,
    r#"handovers = [{ at = "1 s", pause = "300 ms", waiting = "copied", rate = "400 kbit/s" }, { at = "1.2 s", waiting = "copied" }, { at = "1.6 s", waiting = "lost" }, { at = "1.8 s", waiting = "copied", delay = "5 ms", in_order = false }]"#,
];

/// Draws the retransmission of a link.
fn arq() -> impl Strategy<Value = &'static str> {
    pick(&[
        "{ tries = 2 }",
        r#"{ tries = 3, turnaround = "3 ms" }"#,
        r#"{ tries = 4, turnaround = "8 ms", parallel = true }"#,
        r#"{ tries = 4, turnaround = "8 ms", parallel = true, in_order = false }"#,
    ])
}

fn channel() -> impl Strategy<Value = &'static str> {
    pick(&[
        r#""none""#,
        r#""none""#,
        r#""none""#,
        r#"{ kind = "bernoulli", loss = 0.01 }"#,
        r#"{ kind = "bernoulli", loss = 0.001 }"#,
        r#"{ kind = "bit-errors", rate = 2e-6 }"#,
        r#"{ kind = "timed-gilbert-elliott", mean_good = "500 ms", mean_bad = "20 ms" }"#,
        r#"{ kind = "gilbert-elliott", loss = 0.03, stay = 0.6 }"#,
        r#"{ kind = "burst-renewal", loss = 0.02, lengths = [0.7, 0.2, 0.1] }"#,
        r#"{ kind = "pattern", file = "src/engine/tests/losses.csv" }"#,
        r#"{ kind = "pattern", file = "src/engine/tests/losses.csv", next = "same" }"#,
        r#"{ kind = "pattern", file = "src/engine/tests/losses.csv", by = "time" }"#,
    ])
}

/// Draws a line of nodes, with flows of any kind between any two of them. The links are shared in
/// both directions.
pub(super) fn line_of_nodes() -> impl Strategy<Value = String> {
    line(0.2, WAYS)
}

/// Draws a line like [`line_of_nodes`], with many handovers that copy the waiting packets.
pub(super) fn copying_line() -> impl Strategy<Value = String> {
    line(0.7, COPYING)
}

/// Returns the text of a scenario.
fn network(
    head: &str,
    links: impl IntoIterator<Item = String>,
    flows: impl IntoIterator<Item = String>,
) -> String {
    let list = |entries: Vec<String>| entries.join(",\n");
    let [links, flows] = [links.into_iter().collect(), flows.into_iter().collect()].map(list);
    format!("{head}\nlink = [\n{links}\n]\nflow = [\n{flows}\n]\n")
}

/// Returns the text of a link. `more` is empty or holds further keys after a comma.
fn link(
    [from, to]: [&str; 2],
    (rate, delay, queue): (&str, &str, &str),
    more: impl Display,
) -> String {
    let ends = format!(r#"from = "{from}", to = "{to}""#);
    format!(r#"{{ {ends}, rate = {rate}, delay = "{delay}", queue = {queue}{more} }}"#)
}

fn line(share: f64, ways: &'static [&'static str]) -> impl Strategy<Value = String> {
    let drawn = (
        pick(&[
            r#""200 kbit/s""#,
            r#""1 Mbit/s""#,
            r#""4 Mbit/s""#,
            r#""1 Gbit/s""#,
            r#""4 Mbit/s""#,
            r#"{ rates = ["4 Mbit/s", "500 kbit/s", "0 bit/s"], means = ["100 ms", "50 ms", "20 ms"] }"#,
        ]),
        pick(&["0 ms", "1 ms", "20 ms", "200 ms"]),
        any_queue(),
        channel(),
        prop::option::weighted(0.1, (0.0..3.0, 0.0..0.1)),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.15, arq()),
        prop::option::weighted(share, pick(ways)),
    );
    let links = prop::collection::vec(drawn, 1..5);
    let ends = (0usize..8, 0usize..8);
    let flows = prop::collection::vec((ends, any_flow()), 1..6);
    (links, flows).prop_map(|(links, flows)| {
        let nodes = links.len() + 1;
        let links = (0..).zip(links).map(|(node, drawn)| {
            let (rate, delay, queue, channel, change, one_way, arq, way) = drawn;
            // If a link has handovers, only they change its rate and delay.
            let handed = way.is_some_and(|way| way.starts_with("handovers"));
            let rate = if handed { "\"3 Mbit/s\"" } else { rate };
            let mut more = format!(", channel = {channel}");
            if let Some((at, delay)) = change.filter(|_| !handed) {
                let _ = write!(more, r#", delay_changes = [["{at} s", "{delay} s"]]"#);
            }
            if one_way {
                more += r#", reverse_channel = "none""#;
            }
            if let Some(arq) = arq.filter(|arq| way.is_none() || arq.contains("parallel")) {
                let _ = write!(more, ", arq = {arq}");
            }
            if let Some(way) = way {
                let _ = write!(more, ", {way}");
            }
            let (from, to) = (format!("n{node}"), format!("n{}", node + 1));
            link([&from, &to], (rate, delay, queue), more)
        });
        let flows = flows
            .into_iter()
            .enumerate()
            .map(|(index, ((source, steps), flow))| {
                let source = source % nodes;
                let sink = (source + 1 + steps % (nodes - 1)) % nodes;
                format!(r#"{{ name = "f{index}", from = "n{source}", to = "n{sink}", {flow} }}"#)
            });
        network(
            "duration = \"3 s\"\nmeasure_from = \"500 ms\"",
            links,
            flows,
        )
    })
}

/// Draws a flow without its two nodes.
fn any_flow() -> impl Strategy<Value = String> {
    (
        transport(),
        0.0..1.0,
        prop::option::weighted(0.3, 1.5..3.0),
        prop::option::weighted(0.2, pick(&["40", "500"])),
        pick(&["1000 B", "1000 B", "1500 B", "200 B"]),
    )
        .prop_map(|(transport, start, stop, coverage, size)| {
            let mut text =
                format!(r#"packet = "{size}", start = "{start} s", transport = {transport}"#);
            if let Some(stop) = stop {
                let _ = write!(text, r#", stop = "{stop} s""#);
            }
            if let Some(coverage) = coverage.filter(|_| size != "200 B") {
                let _ = write!(text, r#", coverage = "{coverage} B""#);
            }
            text
        })
}

/// Draws a dumbbell with flows of any kind, some of which share hosts. If its branches are alike,
/// the order in which their answers merge can be proved.
pub(super) fn dumbbell() -> impl Strategy<Value = String> {
    let access = || {
        (
            pick(&[
                r#""100 Mbit/s""#,
                r#""100 Mbit/s""#,
                r#""100 Mbit/s""#,
                r#""9 Mbit/s""#,
                r#""1 Mbit/s""#,
            ]),
            pick(&["1 ms", "1 ms", "1 ms", "3 ms"]),
            pick(&[
                r#""none""#,
                r#""none""#,
                r#"{ kind = "bernoulli", loss = 0.02 }"#,
                r#"{ kind = "bit-errors", rate = 2e-6 }"#,
            ]),
        )
    };
    let flows = prop_oneof![
        (any_flow(), 2usize..6).prop_map(|(flow, count)| vec![flow; count]),
        prop::collection::vec(any_flow(), 2..6),
    ];
    let pairs = prop::collection::vec((access(), access()), 3);
    let queue = prop_oneof![1 => queue(), 1 => any_queue()];
    (queue, channel(), pairs, flows, 1usize..4, any::<bool>()).prop_map(
        |(queue, channel, pairs, flows, hosts, alike)| {
            let narrow = (r#""4 Mbit/s""#, "10 ms", queue);
            let narrow = link(["r1", "r2"], narrow, format_args!(", channel = {channel}"));
            let branches = (0..hosts).flat_map(|host| {
                let (left, right) = pairs[if alike { 0 } else { host }];
                let (source, sink) = (format!("s{host}"), format!("d{host}"));
                [([&source[..], "r1"], left), (["r2", &sink[..]], right)].map(
                    |(ends, (rate, delay, channel))| {
                        let more = format_args!(", channel = {channel}");
                        link(ends, (rate, delay, r#""unlimited""#), more)
                    },
                )
            });
            let flows = flows.into_iter().enumerate().map(|(index, flow)| {
                let host = index % hosts;
                format!(r#"{{ name = "f{index}", from = "s{host}", to = "d{host}", {flow} }}"#)
            });
            let links = std::iter::once(narrow).chain(branches);
            network("duration = \"2500 ms\"", links, flows)
        },
    )
}

/// Draws flows that share a link. Each has its own first link and its own way back, so most sources
/// are fused.
pub(super) fn branches() -> impl Strategy<Value = String> {
    let queue = pick(&[
        r#""unlimited""#,
        "{ packets = 2 }",
        "{ packets = 15 }",
        r#"{ packets = 30, red = "adaptive" }"#,
        r#"{ packets = 30, red = { kind = "classic", min = 2, max = 12, weight = 0.2, ecn = true } }"#,
        r#"{ packets = 30, aqm = { kind = "codel", target = "2 ms", interval = "20 ms", ecn = true } }"#,
    ]);
    let channel = pick(&[
        r#""none""#,
        r#""none""#,
        r#"{ kind = "bernoulli", loss = 0.01 }"#,
        r#"{ kind = "timed-gilbert-elliott", mean_good = "500 ms", mean_bad = "20 ms" }"#,
    ]);
    let tcp = (
        pick(&["", r#"base = "ns2", "#]),
        pick(&[
            r#"recovery = "newreno", "#,
            r#"recovery = "sack", "#,
            r#"recovery = "reno", "#,
            r#"recovery = "sack", controller = "bbr", "#,
            r#"recovery = "sack", controller = "copa", "#,
            r#"recovery = "vegas", "#,
        ]),
        pick(&[
            "",
            "",
            "window = 1, ",
            r#"window = 12, ack_every = 5, rtt_tick = "7 ms", "#,
            "segments = 30, ",
            "ecn = true, ",
        ]),
        // Minimum RTOs in ms. Those below a round trip expire although nothing is lost.
        pick(&["", "", "25", "60"]),
        pick(&[r#""none""#, r#""none""#, r#""none""#, r#""40 ms""#]),
    );
    let flow = (
        tcp,
        pick(&[r#""8 Mbit/s""#, r#""80 Mbit/s""#, r#""1000 Gbit/s""#]),
        pick(&["0 ms", "10 ms", "30 ms"]),
        pick(&[r#""800 kbit/s""#, r#""1000 Gbit/s""#]),
        pick(&[
            r#""unaware""#,
            r#""oracle""#,
            r#""vegas""#,
            r#"{ name = "oracle", of = 1, remembers = true }"#,
        ]),
        0.0..1.0,
    );
    let flows = prop::collection::vec(flow, 1..5);
    // Some ways deliver packets, and so their answers, in bunches.
    let way = prop::option::weighted(0.2, pick(WAYS));
    (queue, channel, way, flows).prop_map(|(queue, channel, way, flows)| {
        let way = way.map_or_else(String::new, |way| format!(", {way}"));
        let shared = (r#""2 Mbit/s""#, "10 ms", queue);
        let shared = link(["r", "t"], shared, format_args!(", channel = {channel}{way}"));
        let branches = flows.iter().enumerate().flat_map(|(index, &(_, rate, delay, back, ..))| {
            let (source, queue) = (format!("s{index}"), r#""unlimited""#);
            let named = format_args!(r#", both_ways = false, name = "b{index}""#);
            [
                link([&source, "r"], (rate, delay, queue), ", both_ways = false"),
                link(["t", &source], (back, delay, queue), named),
            ]
        });
        let sources = flows.iter().enumerate().map(|(index, flow)| {
            let ((base, recovery, limits, rto, delayed), .., classifier, start) = flow;
            let rto = match *rto {
                "" => String::new(),
                rto => format!(
                    r#"rto_min = "{rto} ms", rto_initial = "{rto} ms", rto_max = "{rto} ms", rto_tick = "1 ns", "#
                ),
            };
            let ends = format!(r#"from = "s{index}", to = "t", return_route = ["b{index}"]"#);
            let transport = format!("{base}{limits}{rto}{recovery}delayed_ack = {delayed}");
            format!(
                r#"{{ {ends}, packet = "1000 B", start = "{start} s", classifier = {classifier}, transport = {{ kind = "tcp", {transport} }} }}"#
            )
        });
        let links = std::iter::once(shared).chain(branches);
        network("duration = \"2500 ms\"", links, sources)
    })
}

/// Draws a chain of lossy links, the first of which often reorders packets. A TFRC sink or a paced
/// source judges the losses of flows over the whole chain by their true causes.
pub(super) fn chain() -> impl Strategy<Value = String> {
    let first = pick(&[
        "",
        "",
        r#", jitter = { kind = "exponential", mean = "5 ms", in_order = false }"#,
        r#", jitter = { kind = "pareto", mean = "4 ms", shape = 1.5, in_order = false }"#,
        r#", channel = { kind = "bernoulli", loss = 0.1 }, arq = { tries = 4, turnaround = "8 ms", parallel = true, in_order = false }"#,
        r#", handovers = [{ at = "1 s", pause = "50 ms", waiting = "copied" }, { at = "2 s", delay = "3 ms", in_order = false }]"#,
    ]);
    let drawn = (
        pick(&[
            r#""100 Mbit/s""#,
            r#""4 Mbit/s""#,
            r#""1 Mbit/s""#,
            r#""200 kbit/s""#,
        ]),
        pick(&["10 us", "1 ms", "20 ms", "200 ms"]),
        pick(&[r#""unlimited""#, "{ packets = 1 }", "{ packets = 5 }"]),
        prop::option::weighted(0.6, 0.01..0.1),
    );
    let links = prop::collection::vec(drawn, 1..4);
    let transport = pick(&[
        r#"{ kind = "tfrc" }"#,
        r#"{ kind = "tfrc" }"#,
        r#"{ kind = "iftp" }"#,
        r#"{ kind = "tcp", recovery = "rack", controller = "bbr" }"#,
        r#"{ kind = "tcp", recovery = "rack", controller = "cubic" }"#,
    ]);
    // The flows over the whole chain, and whether another flow enters at the last link.
    let flows = (transport, 1..3, any::<bool>());
    (first, links, flows).prop_map(|(first, links, (transport, count, crossed))| {
        let (last, end) = (links.len(), links.len() + 1);
        let entry = (r#""10 Mbit/s""#, "1 ms", r#""unlimited""#);
        let entry = link(["n0", "n1"], entry, first);
        let chain = (1..).zip(links).map(|(node, (rate, delay, queue, loss))| {
            let channel = loss.map_or_else(String::new, |loss: f64| {
                format!(", channel = {{ kind = \"bernoulli\", loss = {loss} }}")
            });
            let (from, to) = (format!("n{node}"), format!("n{}", node + 1));
            link([&from, &to], (rate, delay, queue), channel)
        });
        let whole = format!(
            r#"{{ name = "f{{i}}", from = "n0", to = "n{end}", count = {count}, packet = "1000 B", classifier = "oracle", transport = {transport} }}"#
        );
        let across = format!(
            r#"{{ name = "c", from = "n{last}", to = "n{end}", packet = "1000 B", transport = {{ kind = "cbr", rate = "100 kbit/s" }} }}"#
        );
        let flows = std::iter::once(whole).chain(crossed.then_some(across));
        let links = std::iter::once(entry).chain(chain);
        network("duration = \"8 s\"", links, flows)
    })
}
