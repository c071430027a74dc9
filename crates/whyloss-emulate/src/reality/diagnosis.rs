//! Compares the findings of `whyloss diagnose` in captures of the kernel's TCP with the link's log.

use std::process::Command;

use super::jobs::{Job, run_all};
use super::{Bench, RealityError, Table, failed, number};

/// The links: the table's text, the options, and the channel towards the receiver.
const LINKS: [(&str, [&str; 6], &str); 4] = [
    (
        "10 Mbit/s, 50 ms, 40 packets",
        ["--rate", "10mbit", "--delay", "25ms", "--queue", "40"],
        "none",
    ),
    (
        "the same, 1 % lost at random",
        ["--rate", "10mbit", "--delay", "25ms", "--queue", "40"],
        "bernoulli:0.01",
    ),
    (
        "4 Mbit/s, 100 ms, 30 packets, 0.3 % lost at random",
        ["--rate", "4mbit", "--delay", "50ms", "--queue", "30"],
        "bernoulli:0.003",
    ),
    (
        "20 Mbit/s, 20 ms, 60 packets, bad for 50 ms every second, 20 % lost then",
        ["--rate", "20mbit", "--delay", "10ms", "--queue", "60"],
        "gilbert:1s,50ms,0.2",
    ),
];
/// The places of capture. The client sends the data.
const PLACES: [(&str, &str); 2] = [("client", "at the sender"), ("server", "at the receiver")];
/// The minimum share of losses that must be found, and of findings that must be losses.
const LIMIT: f64 = 0.99;

/// The counts of one diagnosis, or the sums of several.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    lost: f64,
    found: f64,
    again: [f64; 2],
    unfounded: f64,
    silent: f64,
    /// The counts by true cause, then by verdict; congestion comes first.
    verdicts: [[f64; 2]; 2],
}

impl Sums {
    fn read(value: &serde_json::Value) -> Result<Self, RealityError> {
        let of = |path: &[&str]| number(value, path);
        let names = ["congestion", "wireless"];
        let mut sums = Self {
            lost: of(&["score", "lost", "first"])?,
            found: of(&["score", "found", "first"])?,
            again: [
                of(&["score", "lost", "again"])?,
                of(&["score", "found", "again"])?,
            ],
            unfounded: of(&["score", "unfounded"])?,
            silent: of(&["score", "silent"])?,
            verdicts: [[0.0; 2]; 2],
        };
        for (truth, row) in names.iter().zip(&mut sums.verdicts) {
            for (verdict, count) in names.iter().zip(row) {
                *count = of(&["score", "combined", truth, verdict])?;
            }
        }
        Ok(sums)
    }

    fn add(&mut self, other: &Self) {
        self.lost += other.lost;
        self.found += other.found;
        self.unfounded += other.unfounded;
        self.silent += other.silent;
        for index in 0..2 {
            self.again[index] += other.again[index];
            for verdict in 0..2 {
                self.verdicts[index][verdict] += other.verdicts[index][verdict];
            }
        }
    }

    fn recall(&self) -> f64 {
        self.found / self.lost
    }

    fn precision(&self) -> f64 {
        let true_ = self.found + self.again[1];
        true_ / (true_ + self.unfounded)
    }

    fn cells(&self) -> Vec<String> {
        let [[cc, cw], [wc, ww]] = self.verdicts;
        let told = cc + cw + wc + ww;
        let percent = |part: f64, whole: f64| {
            if whole > 0.0 {
                format!("{:.1}", 100.0 * part / whole)
            } else {
                "–".to_owned()
            }
        };
        vec![
            self.lost.to_string(),
            percent(self.found, self.lost),
            self.again[0].to_string(),
            percent(self.again[1], self.again[0]),
            percent(self.precision(), 1.0),
            percent(told, told + self.silent),
            percent(cc + ww, told),
            percent(cw, cc + cw),
            percent(wc, wc + ww),
        ]
    }
}

pub(super) fn diagnosis(bench: &Bench) -> Result<Table, RealityError> {
    let (seconds, links) = if bench.quick {
        (8, &LINKS[1..2])
    } else {
        (30, &LINKS[..])
    };
    let mut table = Table::new(
        "diagnosis",
        "Diagnosis of captures",
        &format!(
            "`whyloss diagnose HOST.pcapng --truth LOG` on captures of the kernel's Reno and CUBIC (iperf3, {seconds} s each) through \
             `whyloss link`. Lost: data packets that the link lost, first transmissions, and again: retransmissions (which leave no \
             trace at the receiver). Verdicts: the combined one's; Mc and Mw: the shares of losses by congestion and by the channel \
             that it calls the other."
        ),
        &[
            "link",
            "capture",
            "lost",
            "found %",
            "lost again",
            "found %",
            "precision %",
            "verdicts %",
            "accuracy %",
            "Mc %",
            "Mw %",
        ],
    );
    let mut jobs = Vec::new();
    for (index, (_, options, channel)) in links.iter().enumerate() {
        for controller in ["reno", "cubic"] {
            let directory = bench.directory(&format!("diagnosis-{index}-{controller}"))?;
            let client =
                format!("iperf3 -c $WHYLOSS_SERVER -t {seconds} -C {controller} >/dev/null");
            let log = directory.join("log");
            let log = log.to_string_lossy();
            let mut arguments = vec!["link"];
            arguments.extend(options);
            arguments.extend(["--loss-up", channel, "--seed", "7", "--log", &log]);
            arguments.extend(["--both", "iperf3 -s -1 >/dev/null", &client]);
            jobs.push(Job::new(&directory, &arguments));
        }
    }
    let finished = run_all(bench, &jobs, 4, seconds + 40)?;
    for (job, finished) in jobs.iter().zip(finished) {
        finished.succeeded(job)?;
    }
    let mut all = [Sums::default(); PLACES.len()];
    for ((name, ..), jobs) in links.iter().zip(jobs.chunks(2)) {
        for ((host, place), all) in PLACES.iter().zip(&mut all) {
            let mut sums = Sums::default();
            for job in jobs {
                sums.add(&diagnose(bench, job, host)?);
            }
            all.add(&sums);
            let mut row = vec![(*name).to_owned(), (*place).to_owned()];
            row.extend(sums.cells());
            table.rows.push(row);
        }
    }
    for ((_, place), all) in PLACES.iter().zip(&all) {
        let mut row = vec!["all".to_owned(), (*place).to_owned()];
        row.extend(all.cells());
        table.rows.push(row);
        let said = |what: &str, share: f64| {
            let (limit, percent) = (LIMIT * 100.0, share * 100.0);
            format!("{place}: {what} at least {limit} % ({percent:.2} %)")
        };
        // A short run loses some forty packets: one that its end cuts off is more than a hundredth
        // of them.
        table.check_when_quiet(said("found", all.recall()), all.recall() >= LIMIT);
        table.check(said("precision", all.precision()), all.precision() >= LIMIT);
    }
    Ok(table)
}

fn diagnose(bench: &Bench, job: &Job, host: &str) -> Result<Sums, RealityError> {
    let log = job.directory.join("log");
    let capture = log.join(format!("{host}.pcapng"));
    let output = Command::new(&bench.program)
        .args(["diagnose", "--format", "json", "--truth"])
        .args([&log, &capture])
        .output()
        .map_err(failed(&bench.program))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let value = serde_json::from_str(&printed).map_err(|_| RealityError::Command {
        command: format!("whyloss diagnose {}", capture.display()),
        code: output.status.code().unwrap_or(-1),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })?;
    Sums::read(&value)
}
