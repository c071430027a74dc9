//! Formats results for people and programs.

use core::fmt::Write;

use serde_json::{Map, Value as Json, json};

use super::results::{Results, Row, Side, Simulator, Spread};

/// A metric: its name in JSON and CSV, its unit, and its value. The value has no spread, because
/// all repetitions agree or only one run measures it.
type Metric = (&'static str, &'static str, Value);
type Value = fn(&Side) -> Option<f64>;

const METRICS: [Metric; 6] = [
    ("packets", "", |side| side.packets),
    ("packets_of_whyloss", "", |side| side.expected),
    ("simulated", "s", |side| side.packets.map(|_| side.seconds)),
    ("instructions_per_packet", "", |side| side.instructions),
    ("events_per_packet", "", Side::events),
    ("peak_memory", "B", |side| {
        side.peak_bytes().map(|bytes| bytes as f64)
    }),
];
/// The name of the metric that each repetition measures: packets delivered per CPU second.
const RATE: &str = "packets_per_cpu_second";
const RATIO: &str = "ratio";

fn exactly(value: Option<f64>) -> Option<Spread> {
    Spread::of(value)
}

/// Returns one table per metric, then the results that do not belong to a network.
pub(crate) fn table(results: &Results) -> String {
    let mut text = networks(results);
    if let Some((few, many, growth)) = results.growth() {
        let _ = writeln!(
            text,
            "a packet costs {} times as much among {many} flows as with {few}",
            spread(&growth, 1.0, 2)
        );
    }
    if let Some(bytes) = results.memory.per_flow {
        let _ = writeln!(
            text,
            "memory: {bytes:.0} bytes per flow (peaks of 10000 flows in 10 s and 1000 in 1 s, same links)"
        );
    }
    if let Some(bytes) = results.memory.per_packet {
        let _ = writeln!(
            text,
            "memory: {bytes:.0} bytes per packet in flight (peaks with 1 Gbit/s over 4.1 s and over 0.1 s)"
        );
    }
    if let Some(sweep) = &results.sweep
        && let (Some(one), Some(all), Some(speedup)) =
            (sweep.on_one(), sweep.on_all(), sweep.speedup())
    {
        let _ = writeln!(
            text,
            "sweep: {} replications of WLH, {} runs per second on one core, {} on {}: {} times",
            sweep.replications,
            spread(&one, 1.0, 0),
            spread(&all, 1.0, 0),
            sweep.threads,
            spread(&speedup, 1.0, 2)
        );
    }
    for missing in &results.missing {
        let _ = writeln!(text, "not on this machine: {missing}");
    }
    for failure in &results.failures {
        let _ = writeln!(text, "failed: {failure}");
    }
    for gap in &results.gaps {
        let _ = writeln!(text, "not measured by this command: {gap}");
    }
    text
}

/// Renders a table per metric, with a row for each network.
fn networks(results: &Results) -> String {
    use Simulator::{Ns2, Ns3, Whyloss};
    let title = format!(
        "packets delivered per CPU second in millions: median of {}, lowest–highest in brackets",
        repetitions(results.repetitions)
    );
    let heads = ["whyloss", "ns-2", "whyloss/ns-2", "ns-3", "whyloss/ns-3"];
    let mut text = grid(&title, &heads, &results.rows, |row| {
        let rate = |simulator| row.side(simulator).rate().map(|rate| millions(&rate));
        let ratio = |peer| row.ratio(peer).map(|ratio| spread(&ratio, 1.0, 1));
        vec![rate(Whyloss), rate(Ns2), ratio(Ns2), rate(Ns3), ratio(Ns3)]
    });
    let tables: [(&str, Value, usize); 3] = [
        (
            "instructions per delivered packet",
            |side| side.instructions,
            0,
        ),
        ("events per delivered packet", Side::events, 2),
        (
            "peak of the process's resident memory in MiB",
            |side| Some(side.peak_bytes()? as f64 / f64::from(1 << 20)),
            1,
        ),
    ];
    for (title, value, digits) in tables {
        let heads = Simulator::ALL.map(Simulator::name);
        text.push_str(&grid(title, &heads, &results.rows, |row| {
            let cell = |simulator| number(value(row.side(simulator)), digits);
            Simulator::ALL.map(cell).into()
        }));
    }
    let title = "packets delivered in the same simulated seconds";
    let heads = [
        "seconds",
        "whyloss",
        "ns-2",
        "seconds",
        "whyloss, SACK",
        "ns-3",
    ];
    text.push_str(&grid(title, &heads, &results.rows, |row| {
        let [ours, ns2, ns3] = Simulator::ALL.map(|simulator| row.side(simulator));
        let seconds = |side: &Side| side.packets.map(|_| side.seconds);
        let with_ns2 = [seconds(ours), ours.packets, ns2.packets];
        let with_ns3 = [seconds(ns3), ns3.expected, ns3.packets];
        let numbers = with_ns2.into_iter().chain(with_ns3);
        numbers.map(|value| number(value, 0)).collect()
    }));
    text
}

fn number(value: Option<f64>, digits: usize) -> Option<String> {
    value.map(|value| format!("{value:.digits$}"))
}

fn repetitions(count: u32) -> String {
    match count {
        1 => "one repetition".into(),
        count => format!("{count} repetitions"),
    }
}

/// Returns a table with a title and a row for each network that has a value; empty if none has.
fn grid(
    title: &str,
    heads: &[&str],
    rows: &[Row],
    cells: impl Fn(&Row) -> Vec<Option<String>>,
) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let cells = cells(row);
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or("-".into()));
            lines.push(core::iter::once(row.name.clone()).chain(cells).collect());
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let heads = core::iter::once("").chain(heads.iter().copied());
    lines.insert(0, heads.map(str::to_owned).collect());
    format!("{title}\n\n{}\n", aligned(&lines))
}

/// Formats a rate in millions, with four decimals below 0.1 million and two otherwise.
fn millions(rate: &Spread) -> String {
    spread(rate, 1e-6, if rate.median < 1e5 { 4 } else { 2 })
}

fn spread(spread: &Spread, scale: f64, digits: usize) -> String {
    let [min, median, max] = [spread.min, spread.median, spread.max].map(|v| v * scale);
    if spread.min < spread.max {
        format!("{median:.digits$} ({min:.digits$}–{max:.digits$})")
    } else {
        format!("{median:.digits$}")
    }
}

/// Formats lines as columns: the first aligned left, the others right.
pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
    let mut text = String::new();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}

/// Returns the results as one JSON object on one line.
pub(crate) fn json(results: &Results) -> String {
    let side = |row: &Row, simulator: Simulator| {
        let side = row.side(simulator);
        if side.runs.is_empty() {
            return Json::Null;
        }
        let mut object = Map::new();
        for (name, _, value) in METRICS {
            object.insert(name.into(), json!(value(side)));
        }
        object.insert(RATE.into(), json_of(side.rate()));
        if Simulator::PEERS.contains(&simulator) {
            object.insert(RATIO.into(), json_of(row.ratio(simulator)));
        }
        Json::Object(object)
    };
    let workloads: Vec<Json> = results
        .rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "flows": row.flows,
                "whyloss": side(row, Simulator::Whyloss),
                "ns2": side(row, Simulator::Ns2),
                "ns3": side(row, Simulator::Ns3),
            })
        })
        .collect();
    let growth = results.growth().map(|(from, to, growth)| {
        json!({ "from_flows": from, "to_flows": to, "cost_per_packet": json_of(Some(growth)) })
    });
    let sweep = results.sweep.as_ref().map(|sweep| {
        json!({
            "replications": sweep.replications,
            "threads": sweep.threads,
            "runs_per_second_one": json_of(sweep.on_one()),
            "runs_per_second_all": json_of(sweep.on_all()),
            "speedup": json_of(sweep.speedup()),
        })
    });
    let object = json!({
        "repetitions": results.repetitions,
        "workloads": workloads,
        "growth": growth,
        "memory": {
            "bytes_per_flow": results.memory.per_flow,
            "bytes_per_packet": results.memory.per_packet,
        },
        "sweep": sweep,
        "missing": results.missing,
        "failures": results.failures,
        "gaps": results.gaps,
    });
    format!("{object}\n")
}

fn json_of(spread: Option<Spread>) -> Json {
    spread.map_or(
        Json::Null,
        |s| json!({ "min": s.min, "median": s.median, "max": s.max }),
    )
}

/// Returns the results as CSV, a row per value. Names contain no commas.
pub(crate) fn csv(results: &Results) -> String {
    let mut text = "workload,simulator,metric,unit,min,median,max\n".to_owned();
    let mut push = |workload: &str, simulator: &str, metric: &str, unit: &str, value| {
        let Some(Spread { min, median, max }) = value else {
            return;
        };
        let _ = writeln!(
            text,
            "{workload},{simulator},{metric},{unit},{min},{median},{max}"
        );
    };
    for row in &results.rows {
        for simulator in Simulator::ALL {
            for (metric, unit, value) in METRICS {
                let value = exactly(value(row.side(simulator)));
                push(&row.name, simulator.name(), metric, unit, value);
            }
            let rate = row.side(simulator).rate();
            push(&row.name, simulator.name(), RATE, "1/s", rate);
        }
        for peer in Simulator::PEERS {
            push(&row.name, peer.name(), RATIO, "", row.ratio(peer));
        }
    }
    let growth = results.growth().map(|(.., growth)| growth);
    push("flows", "whyloss", "growth_of_cost", "", growth);
    let memory = results.memory;
    let per = [
        ("bytes_per_flow", memory.per_flow),
        ("bytes_per_packet", memory.per_packet),
    ];
    for (metric, bytes) in per {
        push("memory", "whyloss", metric, "B", exactly(bytes));
    }
    if let Some(sweep) = &results.sweep {
        let (one, all) = (sweep.on_one(), sweep.on_all());
        push("sweep", "whyloss", "runs_per_second_one", "1/s", one);
        push("sweep", "whyloss", "runs_per_second_all", "1/s", all);
        push("sweep", "whyloss", "speedup", "", sweep.speedup());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::child::Measured;
    use super::*;

    fn results() -> Results {
        let side = |packets: u64, cpu_seconds: f64, events: u64| Side {
            runs: vec![Measured {
                packets,
                cpu_seconds,
                events,
                peak_bytes: 3 << 20,
                wall_seconds: cpu_seconds,
            }],
            instructions: Some(1200.4),
            seconds: 20.0,
            packets: Some(packets as f64),
            expected: None,
        };
        let mut dumbbell = Row::new("dumbbell", None);
        *dumbbell.side_mut(Simulator::Whyloss) = side(160_000, 0.01, 320_000);
        *dumbbell.side_mut(Simulator::Ns2) = side(160_100, 0.1, 0);
        *dumbbell.side_mut(Simulator::Ns3) = Side {
            expected: Some(161_000.0),
            instructions: None,
            ..side(162_000, 4.0, 2_400_000)
        };
        let mut alone = Row::new("parking lot", None);
        *alone.side_mut(Simulator::Whyloss) = Side {
            instructions: None,
            ..side(1_000, 0.01, 2_500)
        };
        Results {
            repetitions: 1,
            rows: vec![dumbbell, alone],
            failures: vec!["parking lot in ns-2: stopped".into()],
            gaps: vec!["the parking lot in ns-3".into()],
            ..Results::default()
        }
    }

    #[test]
    fn a_table_per_metric() {
        let expected = "\
packets delivered per CPU second in millions: median of one repetition, lowest–highest in brackets

             whyloss  ns-2  whyloss/ns-2    ns-3  whyloss/ns-3
dumbbell       16.00  1.60          10.0  0.0405         395.1
parking lot     0.10     -             -       -             -

instructions per delivered packet

          whyloss  ns-2  ns-3
dumbbell     1200  1200     -

events per delivered packet

             whyloss  ns-2   ns-3
dumbbell        2.00     -  14.81
parking lot     2.50     -      -

peak of the process's resident memory in MiB

             whyloss  ns-2  ns-3
dumbbell         3.0   3.0   3.0
parking lot      3.0     -     -

packets delivered in the same simulated seconds

             seconds  whyloss    ns-2  seconds  whyloss, SACK    ns-3
dumbbell          20   160000  160100       20         161000  162000
parking lot       20     1000       -        -              -       -

failed: parking lot in ns-2: stopped
not measured by this command: the parking lot in ns-3
";
        assert_eq!(table(&results()), expected);
    }

    #[test]
    fn a_row_per_value() {
        let text = csv(&results());
        for row in [
            "dumbbell,ns-3,packets_per_cpu_second,1/s,40500,40500,40500",
            "dumbbell,ns-3,packets_of_whyloss,,161000,161000,161000",
            "dumbbell,ns-2,instructions_per_packet,,1200.4,1200.4,1200.4",
            "parking lot,whyloss,events_per_packet,,2.5,2.5,2.5",
        ] {
            assert!(text.lines().any(|line| line == row), "{row}\n{text}");
        }
        assert!(!text.contains("parking lot,ns-"), "{text}");
    }
}
