//! Makes the first tables of `docs/guides/quic.md`, which compare `whyloss` with the stacks' own
//! controllers, with ours, and with the truth.

use std::fmt::Write as _;

use rayon::prelude::*;
use whyloss_sim::{Scenario, Simulation};
use whyloss_study::arena::{LEAST, Network, Setting, Transport, Variant, quantile};
use whyloss_study::statistics;

/// The seed of the drawn networks, which were not used to choose any parameter.
const SEED: u64 = 36_100;
const NETWORKS: u64 = 30;
/// The number of runs over the satellite link, and of each transfer over it.
const SEEDS: u64 = 8;
/// The number of recorded radios, each with two seeds.
const RADIOS: u64 = 5;

/// A row: the stack, the name, the keys of its transport, and those of its flow.
type Row = (&'static str, &'static str, &'static str, &'static str);

const CUBIC: Row = ("quinn", "CUBIC", r#"controller = "cubic""#, "");
const ROWS: [Row; 12] = [
    ("quinn", "**whyloss**", "", r#"scheme = "whyloss""#),
    (
        "quinn",
        "CUBIC, told",
        r#"controller = "cubic""#,
        r#"classifier = "oracle""#,
    ),
    CUBIC,
    ("quinn", "CUBIC, trees", "", r#"scheme = "cubic-trees""#),
    ("quinn", "BBR", "", r#"scheme = "bbr""#),
    (
        "quinn",
        "the stack's NewReno",
        r#"controller = "stack-newreno""#,
        "",
    ),
    (
        "quinn",
        "the stack's CUBIC",
        r#"controller = "stack-cubic""#,
        "",
    ),
    (
        "quinn",
        "the stack's BBR",
        r#"controller = "stack-bbr""#,
        "",
    ),
    ("noq", "**whyloss**", "", r#"scheme = "whyloss""#),
    (
        "noq",
        "CUBIC, told",
        r#"controller = "cubic""#,
        r#"classifier = "oracle""#,
    ),
    (
        "noq",
        "the stack's CUBIC",
        r#"controller = "stack-cubic""#,
        "",
    ),
    ("noq", "the stack's BBR", r#"controller = "stack-bbr""#, ""),
];

const SATELLITE: &str = include_str!("../../../../scenarios/satellite.toml");

/// A download over Wi-Fi without retransmission, with the channel of a recording.
const RADIO: &str = r#"
    duration = "60 s"
    link = [
        { from = "server", to = "client", both_ways = false, rate = "10 Mbit/s", delay = "15 ms", queue = { packets = 50 }, channel = { kind = "recorded", name = "wifi-802.11-loss-CLASS" } },
        { from = "client", to = "server", both_ways = false, rate = "10 Mbit/s", delay = "15 ms", queue = { packets = 50 } },
    ]
    [[flow]]
    from = "server"
    to = "client"
    transport = { kind = "quic", stack = "quinn" }
    scheme = "whyloss"
"#;

/// A path of the tables of rates and transfer times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Satellite,
    /// One of the recorded radios, by seed.
    Radio,
}

const PATHS: [Path; 2] = [Path::Satellite, Path::Radio];

impl Path {
    fn seeds(self) -> u64 {
        match self {
            Self::Satellite => SEEDS,
            Self::Radio => 2 * RADIOS,
        }
    }

    /// Returns the sizes of transfers.
    fn sizes(self) -> &'static [&'static str] {
        match self {
            Self::Satellite => &["100 kB", "1 MB", "20 MB"],
            Self::Radio => &["1 MB", "20 MB"],
        }
    }

    /// Returns the scenario with this row's controller.
    fn scenario(self, row: Row, seed: u64, more: &str) -> Scenario {
        let text = match self {
            Self::Satellite => SATELLITE.to_owned(),
            Self::Radio => {
                let class = 1 + (seed - 1) % RADIOS;
                RADIO
                    .replace("    ", "")
                    .replace("CLASS", &class.to_string())
            }
        };
        let own = "transport = { kind = \"quic\", stack = \"quinn\" }\nscheme = \"whyloss\"";
        assert!(text.contains(own), "the scenario has changed");
        scenario(&format!("{}\n{more}", text.replace(own, &flow(row))))
    }
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "the table", &[])
        .unwrap_or_else(|error| panic!("a scenario of our own is refused: {error}"))
}

fn flow((stack, _, transport, keys): Row) -> String {
    let comma = if transport.is_empty() { "" } else { ", " };
    format!("transport = {{ kind = \"quic\", stack = \"{stack}\"{comma}{transport} }}\n{keys}")
}

/// The results of a line.
#[derive(Clone, Debug)]
struct Found {
    /// The number of packets that the judged flows delivered in each drawn network.
    drawn: Vec<f64>,
    /// The number of packets that a CUBIC flow (TCP) delivered beside them in each network, with
    /// lossless channels.
    plain: Vec<f64>,
    paths: [OverPath; 2],
}

/// The results of a line over one path.
#[derive(Clone, Debug)]
struct OverPath {
    /// The rate in Mbit/s; `None` if a connection closed.
    rate: Option<f64>,
    /// The transfer time of each size, in seconds; `None` if a transfer did not finish.
    transfers: Vec<Option<f64>>,
}

/// One of the runs behind a line.
#[derive(Clone, Copy, Debug)]
enum Job {
    Drawn(u64, Variant),
    Rate(Path, u64),
    Transfer(Path, &'static str, u64),
}

impl Job {
    fn all() -> Vec<Self> {
        let drawn = (0..NETWORKS).flat_map(|index| {
            [Variant::Drawn, Variant::BesideClean].map(|variant| Self::Drawn(index, variant))
        });
        let over = PATHS.into_iter().flat_map(|path| {
            (1..=path.seeds()).flat_map(move |seed| {
                let sizes = path.sizes().iter();
                let transfers = sizes.map(move |size| Self::Transfer(path, size, seed));
                transfers.chain([Self::Rate(path, seed)])
            })
        });
        drawn.chain(over).collect()
    }

    /// Runs the job. Returns the packets delivered by the judged flows or by the CUBIC flow, a rate
    /// in Mbit/s, or a time in seconds.
    fn run(self, row: Row) -> Option<f64> {
        let run = |scenario: &Scenario, seed| {
            Simulation::new(scenario, seed)
                .run()
                .unwrap_or_else(|error| panic!("a scenario of our own does not run: {error}"))
        };
        match self {
            Self::Drawn(index, variant) => {
                let network = Network::draw(SEED, index, &Setting::default());
                let text = network.scenario(Transport::Cubic, variant);
                // The packets have QUIC's smallest size, and a minute is measured.
                let text = text
                    .replace("\"1000 B\"", "\"1228 B\"")
                    .replace("\"130 s\"", "\"70 s\"");
                let own = "transport = { kind = \"tcp\", controller = \"cubic\" }\nclassifier = \"unaware\"";
                assert!(text.contains(own), "the arena's networks have changed");
                let scenario = scenario(&text.replace(own, &flow(row)));
                let flows = run(&scenario, 1).flows;
                let wanted = if variant == Variant::Drawn {
                    "judged"
                } else {
                    "plain"
                };
                let wanted = flows.iter().filter(|flow| flow.name.starts_with(wanted));
                Some(wanted.map(|flow| flow.delivered as f64).sum())
            }
            Self::Rate(path, seed) => {
                let found = run(&path.scenario(row, seed, ""), seed);
                let flow = &found.flows[0];
                let bits = flow.application_bytes as f64 * 8e-6;
                // The mean rate of a connection that closed early does not describe its controller.
                let open = flow.closed.is_none();
                open.then(|| bits / found.window.as_secs_f64())
            }
            Self::Transfer(path, size, seed) => {
                let more = format!("application = {{ kind = \"transfers\", size = \"{size}\" }}");
                let mut scenario = path.scenario(row, seed, &more);
                scenario.end = whyloss::Time::from_secs_f64(3_000.0);
                let found = run(&scenario, seed);
                let transfers = found.flows[0].transfers.as_deref()?;
                transfers.times.mean_ms().map(|ms| ms / 1e3)
            }
        }
    }
}

fn find(row: Row) -> Found {
    let jobs = Job::all();
    let done: Vec<Option<f64>> = jobs.par_iter().map(|job| job.run(row)).collect();
    let of = |wanted: &dyn Fn(Job) -> bool| -> Vec<Option<f64>> {
        let found = jobs.iter().zip(&done);
        let found = found.filter(|(job, _)| wanted(**job));
        found.map(|(_, value)| *value).collect()
    };
    let known = |values: Vec<Option<f64>>| values.into_iter().flatten().collect::<Vec<f64>>();
    let mean_of_all = |values: Vec<Option<f64>>| {
        let all: Option<Vec<f64>> = values.into_iter().collect();
        all.map(|all| mean(&all))
    };
    Found {
        drawn: known(of(&|job| matches!(job, Job::Drawn(_, Variant::Drawn)))),
        plain: known(of(&|job| {
            matches!(job, Job::Drawn(_, Variant::BesideClean))
        })),
        paths: PATHS.map(|path| OverPath {
            rate: mean_of_all(of(&|job| matches!(job, Job::Rate(of, _) if of == path))),
            transfers: (path.sizes().iter())
                .map(|&size| {
                    let own =
                        |job| matches!(job, Job::Transfer(of, own, _) if (of, own) == (path, size));
                    mean_of_all(of(&own))
                })
                .collect(),
        }),
    }
}

fn mean(values: &[f64]) -> f64 {
    statistics::mean(values).unwrap_or(f64::NAN)
}

/// Returns the row of each table: on drawn networks, and over the two paths.
fn text((stack, name, ..): Row, found: &Found, told: &Found, cubic: &Found) -> [String; 2] {
    let shares: Vec<f64> = found
        .drawn
        .iter()
        .zip(&told.drawn)
        .map(|(own, told)| own / told)
        .collect();
    let pairs = found.plain.iter().zip(&cubic.plain);
    let pairs = pairs.filter(|(_, cubic)| **cubic >= LEAST as f64);
    let kept: Vec<f64> = pairs.map(|(own, cubic)| 100.0 * own / cubic).collect();
    let least = kept.iter().copied().fold(f64::INFINITY, f64::min);
    let drawn = format!(
        "| {stack} | {name} | {:.2} | {:.2} | {:.0} % | {least:.0} % |",
        mean(&shares),
        quantile(&shares, 0.1).map_or(f64::NAN, |found| found.0),
        mean(&kept)
    );
    let cell = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let mut paths = format!("| {stack} | {name} |");
    for over in &found.paths {
        let _ = write!(paths, " {} |", cell(over.rate, 2));
        for &seconds in &over.transfers {
            let _ = write!(paths, " {} |", cell(seconds, 1));
        }
    }
    [drawn, paths]
}

/// Returns the tables, or only the lines that `check` makes again: the recommended scheme and the
/// truth.
pub(crate) fn tables(check: bool) -> String {
    let mut drawn = String::from(
        "| stack | controller | received, share of told | 10 % quantile | a CUBIC flow keeps | in the worst network |\n|---|---|---|---|---|---|\n",
    );
    let mut paths = String::from(
        "| stack | controller | Mbit/s | 100 kB (s) | 1 MB (s) | 20 MB (s) | Wi-Fi: Mbit/s | 1 MB (s) | 20 MB (s) |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let cubic = find(CUBIC);
    let told = ROWS.map(|row| row.1.contains("told").then(|| (row.0, find(row))));
    let told: Vec<_> = told.into_iter().flatten().collect();
    for row in ROWS {
        let of_stack = told.iter().find(|(stack, _)| *stack == row.0);
        let (_, told) = of_stack.expect("a line that is told in each stack");
        let is_told = row.1.contains("told");
        if check && !is_told && !(row.1.contains("whyloss") && row.0 == "quinn") {
            continue;
        }
        let own;
        let found = if is_told {
            told
        } else if row == CUBIC {
            &cubic
        } else {
            own = find(row);
            &own
        };
        let [drawn_row, paths_row] = text(row, found, told, &cubic);
        let _ = writeln!(drawn, "{drawn_row}");
        let _ = writeln!(paths, "{paths_row}");
    }
    format!("{drawn}\n{paths}")
}
