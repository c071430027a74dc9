//! TCP of the kernel behind a link, compared with TCP of the simulator.

use whyloss_sim::Scenario;

use super::jobs::{Job, run_all};
use super::{Bench, RealityError, Table, json, mean, number};

/// The payload of a full segment with timestamps, in bytes.
const PAYLOAD: f64 = 1_448.0;
/// The largest allowed difference of the two goodputs, as a share.
const LIMIT: f64 = 0.15;

pub(super) fn tcp(bench: &Bench) -> Result<Table, RealityError> {
    let (seconds, runs) = if bench.quick { (8, 1) } else { (30, 3) };
    let losses: &[f64] = if bench.quick {
        &[0.01]
    } else {
        &[0.0, 0.001, 0.01, 0.05]
    };
    let mut table = Table::new(
        "tcp",
        "The kernel's TCP",
        &format!(
            "Goodput of one connection over 10 Mbit/s, 100 ms there and back, room for 83 packets, random losses towards the \
             receiver: iperf3 with the kernel's controllers through `whyloss link` ({runs} runs of {seconds} s), and our TCP with SACK \
             in the simulator (10 runs of {seconds} s) with an initial window of 10, timeouts from 200 ms and acknowledgements \
             delayed by 40 ms, as Linux has them. The draws of the channel are the same under the same seed. Retransmitted: segments \
             that iperf3 counts."
        ),
        &[
            "controller",
            "loss",
            "kernel, Mbit/s (each run)",
            "mean",
            "simulator, Mbit/s",
            "difference",
            "kernel, retransmitted",
            "emulator's faults",
        ],
    );
    let mut jobs = Vec::new();
    let mut cells = Vec::new();
    for controller in ["reno", "cubic"] {
        for &loss in losses {
            for seed in 1..=runs {
                let directory = bench.directory(&format!("tcp-{controller}-{loss}-{seed}"))?;
                let client = format!(
                    "iperf3 -c $WHYLOSS_SERVER -t {seconds} -C {controller} -J >{}",
                    super::quoted(&directory.join("iperf.json"))
                );
                let loss = if loss > 0.0 {
                    format!("bernoulli:{loss}")
                } else {
                    "none".into()
                };
                jobs.push(Job::new(
                    &directory,
                    &[
                        "link",
                        "--rate",
                        "10mbit",
                        "--delay",
                        "50ms",
                        "--queue",
                        "83",
                        "--loss-up",
                        &loss,
                        "--seed",
                        &seed.to_string(),
                        "--log",
                        &directory.join("log").to_string_lossy(),
                        "--both",
                        "iperf3 -s -1 >/dev/null",
                        &client,
                    ],
                ));
            }
            cells.push((controller, loss));
        }
    }
    let finished = run_all(bench, &jobs, 8, seconds + 40)?;
    for (job, finished) in jobs.iter().zip(finished) {
        finished.succeeded(job)?;
    }
    for ((controller, loss), jobs) in cells.iter().zip(jobs.chunks(runs as usize)) {
        let (mut kernel, mut retransmitted, mut faults) = (Vec::new(), 0.0, 0.0);
        for job in jobs {
            let report = json(&job.directory.join("iperf.json"))?;
            kernel.push(number(&report, &["end", "sum_received", "bits_per_second"])? / 1e6);
            retransmitted += number(&report, &["end", "sum_sent", "retransmits"])?;
            let summary = json(&job.directory.join("log/summary.json"))?;
            faults +=
                number(&summary, &["faults", "late"])? + number(&summary, &["faults", "device"])?;
        }
        let simulated = simulated(controller, *loss, seconds)?;
        let difference = mean(&kernel) / simulated - 1.0;
        let each: Vec<String> = kernel.iter().map(|rate| format!("{rate:.2}")).collect();
        table.rows.push(vec![
            (*controller).into(),
            format!("{} %", loss * 100.0),
            each.join(", "),
            format!("{:.2}", mean(&kernel)),
            format!("{simulated:.2}"),
            format!("{:+.1} %", difference * 100.0),
            format!("{retransmitted}"),
            format!("{faults}"),
        ]);
        let what = format!(
            "{controller} at {} % loss: within ±{} % of the simulator ({:+.1} %)",
            loss * 100.0,
            LIMIT * 100.0,
            difference * 100.0
        );
        table.check_when_quiet(what, difference.abs() <= LIMIT);
    }
    Ok(table)
}

/// Returns the goodput in the simulator, in Mbit/s.
fn simulated(controller: &str, loss: f64, seconds: u64) -> Result<f64, RealityError> {
    let channel = if loss > 0.0 {
        format!("{{ kind = \"bernoulli\", loss = {loss} }}")
    } else {
        "\"none\"".into()
    };
    let text = format!(
        "duration = \"{seconds} s\"\n[[link]]\nname = \"up\"\nfrom = \"client\"\nto = \"server\"\nrate = \"10 Mbit/s\"\ndelay = \"50 ms\"\n\
         queue = {{ packets = 83 }}\nchannel = {channel}\n[[flow]]\nfrom = \"client\"\nto = \"server\"\n\
         transport = {{ kind = \"tcp\", controller = \"{controller}\", initial_window = 10, rto_min = \"200 ms\", delayed_ack = \"40 ms\" }}\n"
    );
    let scenario = Scenario::from_toml(&text, "tcp.toml", &[])
        .map_err(|error| RealityError::Result(error.to_string()))?;
    let mut rates = Vec::new();
    for seed in 1..=10 {
        let run = whyloss_sim::Simulation::new(&scenario, seed)
            .run()
            .map_err(|error| RealityError::Result(error.to_string()))?;
        rates.push(run.flows[0].delivered as f64 * PAYLOAD * 8e-6 / seconds as f64);
    }
    Ok(mean(&rates))
}
