//! Results for people and programs.

use core::fmt::Write;

use serde_json::{Value, json};

use super::results::{Results, Row, Side, Spread};

/// A metric's place and name in JSON and CSV, its unit, and its value for a network and one of the two simulators.
type Metric = (
    &'static str,
    &'static str,
    fn(&Row, &Side) -> Option<Spread>,
);

const METRICS: [Metric; 3] = [
    ("packets_per_cpu_second", "1/s", |_, side| side.rate()),
    ("instructions_per_packet", "", |_, side| {
        exactly(side.instructions)
    }),
    ("peak_memory", "B", |_, side| {
        exactly(side.peak_bytes().map(|bytes| bytes as f64))
    }),
];

fn exactly(value: Option<f64>) -> Option<Spread> {
    Spread::of(value)
}

/// Aligned columns, then what is not per network.
pub(crate) fn table(results: &Results) -> String {
    let mut text = String::new();
    if !results.rows.is_empty() {
        let _ = writeln!(
            text,
            "packets delivered per CPU second in millions: median of {}, least–most in brackets\n",
            repetitions(results.repetitions)
        );
        let head = ["", "whyloss", "ns-2", "whyloss/ns-2", "events"].map(str::to_owned);
        let more = ["instructions", "ns-2's", "peak MiB", "ns-2's"].map(str::to_owned);
        let mut lines: Vec<Vec<String>> = vec![head.into_iter().chain(more).collect()];
        lines.extend(results.rows.iter().map(line));
        text.push_str(&aligned(&lines));
        text.push_str(
            "\nevents, instructions: per delivered packet; peak: resident memory of the process\n",
        );
    }
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
            "memory: {bytes:.0} bytes per flow (peaks of 10000 and 1000 flows over the same links)"
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
    for gap in &results.gaps {
        let _ = writeln!(text, "not measured by this command: {gap}");
    }
    text
}

fn repetitions(count: u32) -> String {
    match count {
        1 => "one repetition".into(),
        count => format!("{count} repetitions"),
    }
}

fn line(row: &Row) -> Vec<String> {
    let dash = || "-".to_owned();
    let or_dash = |value: Option<String>| value.unwrap_or_else(dash);
    let rate = |side: &Side| or_dash(side.rate().map(|rate| spread(&rate, 1e-6, 2)));
    let count = |side: &Side| or_dash(side.instructions.map(|count| format!("{count:.0}")));
    let peak = |side: &Side| {
        let bytes = side.peak_bytes().filter(|&bytes| bytes > 0);
        or_dash(bytes.map(|bytes| format!("{:.1}", bytes as f64 / f64::from(1 << 20))))
    };
    vec![
        row.name.clone(),
        rate(&row.ours),
        rate(&row.ns2),
        or_dash(row.ratio().map(|ratio| spread(&ratio, 1.0, 1))),
        or_dash(row.events().map(|events| format!("{events:.2}"))),
        count(&row.ours),
        count(&row.ns2),
        peak(&row.ours),
        peak(&row.ns2),
    ]
}

fn spread(spread: &Spread, scale: f64, digits: usize) -> String {
    let [min, median, max] = [spread.min, spread.median, spread.max].map(|v| v * scale);
    if spread.min < spread.max {
        format!("{median:.digits$} ({min:.digits$}–{max:.digits$})")
    } else {
        format!("{median:.digits$}")
    }
}

/// The first column to the left, the others to the right.
fn aligned(lines: &[Vec<String>]) -> String {
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

/// One object on one line.
pub(crate) fn json(results: &Results) -> String {
    let side = |row: &Row, side: &Side| {
        let mut object = serde_json::Map::new();
        object.insert("packets".into(), json!(side.packets()));
        for (name, _, value) in METRICS {
            object.insert(name.into(), json_of(value(row, side)));
        }
        Value::Object(object)
    };
    let workloads: Vec<Value> = results
        .rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "flows": row.flows,
                "events_per_packet": row.events(),
                "whyloss": side(row, &row.ours),
                "ns2": if row.ns2.runs.is_empty() { Value::Null } else { side(row, &row.ns2) },
                "ratio": json_of(row.ratio()),
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
        "gaps": results.gaps,
    });
    format!("{object}\n")
}

fn json_of(spread: Option<Spread>) -> Value {
    spread.map_or(
        Value::Null,
        |s| json!({ "min": s.min, "median": s.median, "max": s.max }),
    )
}

/// One row per value. Names have no commas.
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
        for (simulator, side) in [("whyloss", &row.ours), ("ns-2", &row.ns2)] {
            for (metric, unit, value) in METRICS {
                push(&row.name, simulator, metric, unit, value(row, side));
            }
        }
        let events = exactly(row.events());
        push(&row.name, "whyloss", "events_per_packet", "", events);
        push(&row.name, "both", "ratio", "", row.ratio());
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
