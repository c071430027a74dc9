//! The lateness of packets, and the capacity of the emulator.

use std::path::Path;

use super::jobs::Job;
use super::{Bench, RealityError, Table, failed, json, number};

/// The rate of full packets that the emulator must sustain, in Mbit/s, and the lateness that 99 %
/// of them must not exceed, in ms.
const PROMISE: (u32, f64) = (1_000, 1.0);

/// A rate in Mbit/s, and the number of cores that must stay idle at this rate.
const FREE: (u32, f64) = (300, 0.5);
/// A command that prints the time that the machine has spent on each kind of work (proc_stat(5)).
const LOOK: &str = "head -n 1 /proc/stat";

pub(super) fn timing(bench: &Bench) -> Result<Table, RealityError> {
    let mut table = Table::new(
        "timing",
        "Timing",
        "TCP (CUBIC, iperf3) and UDP in packets of 1500 bytes fill a link with 10 ms of delay each way and room for 1000 \
         packets, with the log on. Lateness is how much later than scheduled a packet left. Faults are packets that left more \
         than 10 ms late or that the kernel dropped on their way. Processor: of `whyloss link` alone, its log included. Idle cores: while iperf3 ran, \
         with all else that the machine did.",
        &[
            "traffic",
            "rate, Mbit/s",
            "seconds",
            "packets",
            "carried, Mbit/s",
            "late p50, ms",
            "late p99, ms",
            "most, ms",
            "faults",
            "processor, s",
            "idle cores",
            "log replayed: fates that differ",
        ],
    );
    let rates: &[u32] = if bench.quick {
        &[50]
    } else {
        &[10, 100, 300, 1_000]
    };
    let seconds = if bench.quick { 3 } else { 8 };
    let mut promised = Vec::new();
    for (traffic, flags) in [("TCP", "-C cubic"), ("UDP", "-u -l 1472")] {
        for &rate in rates {
            let name = format!("timing-{traffic}-{rate}");
            let directory = bench.directory(&name)?;
            let log = directory.join("log");
            // The load is a little more than the link carries.
            let load = if traffic == "UDP" {
                format!("-b {}M", rate + rate / 100)
            } else {
                String::new()
            };
            let client =
                format!("iperf3 -c $WHYLOSS_SERVER -t {seconds} {flags} {load} >/dev/null");
            let idle = super::quoted(&directory.join("idle"));
            let client = format!("{LOOK} >{idle}; {client}; code=$?; {LOOK} >>{idle}; exit $code");
            let job = Job::new(
                &directory,
                &[
                    "link",
                    "--rate",
                    &format!("{rate}mbit"),
                    "--delay",
                    "10ms",
                    "--queue",
                    "1000",
                    "--log",
                    &log.to_string_lossy(),
                    "--both",
                    "iperf3 -s -1 >/dev/null",
                    &client,
                ],
            );
            job.run(bench, 60)?.succeeded(&job)?;
            let summary = json(&log.join("summary.json"))?;
            let replayed = crate::archive::replay_run(&log)
                .map_err(|error| RealityError::Result(error.to_string()))?;
            let up = summary["links"]
                .as_array()
                .and_then(|links| links.iter().find(|link| link["name"] == "up"))
                .cloned();
            let up = up.ok_or_else(|| RealityError::Result("no link is called up".into()))?;
            let idle = idle_cores(&directory.join("idle"))?;
            let lateness = |key| number(&summary, &["lateness", key]).map(|nanos| nanos / 1e6);
            let faults =
                number(&summary, &["faults", "late"])? + number(&summary, &["faults", "device"])?;
            let (p50, p99, most) = (
                lateness("p50_ns")?,
                lateness("p99_ns")?,
                lateness("max_ns")?,
            );
            table.rows.push(vec![
                traffic.into(),
                rate.to_string(),
                seconds.to_string(),
                format!("{}", number(&summary, &["lateness", "packets"])?),
                format!("{:.1}", number(&up, &["bytes"])? * 8e-6 / span(&log)?),
                format!("{p50:.3}"),
                format!("{p99:.3}"),
                format!("{most:.3}"),
                format!("{faults}"),
                format!("{:.2}", number(&summary, &["cpu_seconds"])?),
                format!("{idle:.2}"),
                format!("{} of {}", replayed.differences, replayed.offers),
            ]);
            table.check(
                format!("{traffic} at {rate} Mbit/s: the log replays fate for fate"),
                replayed.differences == 0 && replayed.offers > 0,
            );
            if rate == FREE.0 {
                table.check_when_quiet(
                    format!(
                        "{traffic} at {rate} Mbit/s leaves {} cores free ({idle:.2})",
                        FREE.1
                    ),
                    idle >= FREE.1,
                );
            }
            if rate == PROMISE.0 {
                promised.push((traffic, p99, faults));
            }
            // The log is large, and no longer needed.
            let _ = std::fs::remove_dir_all(&directory);
        }
    }
    for (traffic, p99, faults) in promised {
        table.check_when_quiet(format!("{traffic} at {} Mbit/s: 99 % leave within {} ms ({p99:.3} ms), without a fault ({faults})", PROMISE.0, PROMISE.1), p99 < PROMISE.1 && faults == 0.0);
    }
    Ok(table)
}

/// Returns the number of cores that were idle between two readings of `/proc/stat`.
fn idle_cores(looks: &Path) -> Result<f64, RealityError> {
    let text = std::fs::read_to_string(looks).map_err(failed(looks))?;
    // The fields are user nice system idle iowait irq softirq steal; guests are part of the first
    // two.
    let times = |line: &str| -> Vec<f64> {
        let words = line.split_ascii_whitespace().skip(1).take(8);
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let looks: Vec<Vec<f64>> = text.lines().map(times).collect();
    let [before, after] = &looks[..] else {
        return Err(RealityError::Result("no two looks at /proc/stat".into()));
    };
    let passed: Vec<f64> = before.iter().zip(after).map(|(a, b)| b - a).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let idle: f64 = passed.iter().skip(3).take(2).sum();
    Ok(cores as f64 * idle / passed.iter().sum::<f64>().max(1.0))
}

/// Returns the time in seconds between the first and the last packet that left the link `up`.
fn span(log: &Path) -> Result<f64, RealityError> {
    let records =
        crate::archive::records(log).map_err(|error| RealityError::Result(error.to_string()))?;
    let up = records.iter().filter(|record| record.link == "up");
    let times = up
        .filter(|record| !record.fate.is_loss())
        .map(|record| record.scheduled);
    let (first, last) = times.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
    Ok((last.saturating_sub(first).max(1)) as f64 * 1e-9)
}
