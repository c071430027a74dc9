//! Faults of the outside world: killed processes, a full disk, forged packets, and a link that
//! stalls.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::Duration;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::jobs::{Finished, Job};
use super::{Bench, RealityError, Table, failed, last_line, number};

const TICK: Duration = Duration::from_millis(50);

/// Returns the table of a link that sends nothing for 10 s, or 4 s in a quick run.
pub(super) fn outage(bench: &Bench) -> Result<Table, RealityError> {
    let (gap, seconds) = if bench.quick { (4, 10) } else { (10, 25) };
    let mut table = Table::new(
        "traces",
        "A link that stops",
        &format!(
            "A packet-delivery trace of 6 Mbit/s that has no opportunity for {gap} s, three seconds after its start; TFRC with ZigZag runs over it for {seconds} s. \
             In the pause nothing may leave the link, after it data must flow again, and nobody may hang."
        ),
        &[
            "packets sent",
            "arrived",
            "left the link in the pause",
            "arrived after the pause",
            "exit code",
            "fates that differ",
        ],
    );
    let directory = bench.directory("outage")?;
    let trace = directory.join("pause.trace");
    // The trace has an opportunity every 2 ms for three seconds, pauses, and continues.
    let times = (1..=1_500)
        .map(|i| i * 2)
        .chain((0..=10_000).map(|i| 3_000 + gap * 1_000 + i * 2));
    fs::write(
        &trace,
        times
            .map(|time| {
                time.to_string()
                    + "
"
            })
            .collect::<String>(),
    )
    .map_err(failed(&trace))?;
    let (program, log) = (bench.shell(), directory.join("log"));
    let path = |name: &str| super::quoted(&directory.join(name));
    let recv = format!(
        "exec {program} recv 5000 --classifier zigzag --stats {} --arrivals {}",
        path("received.jsonl"),
        path("arrivals.jsonl")
    );
    let send = format!(
        "exec {program} send $WHYLOSS_SERVER:5000 --time {seconds}s --stats {}",
        path("sent.jsonl")
    );
    let job = Job::new(
        &directory,
        &[
            "link",
            "--rate-up",
            &format!("trace:{}", trace.display()),
            "--delay",
            "10ms",
            "--queue",
            "100",
            "--late-bound",
            "100ms",
            "--log",
            &log.to_string_lossy(),
            "--both",
            &recv,
            &send,
        ],
    );
    let finished = job.run(bench, seconds + 60)?;
    let records =
        crate::archive::records(&log).map_err(|error| RealityError::Result(error.to_string()))?;
    let millis = |nanos: u64| nanos / 1_000_000;
    // Packets arrive 10 ms after they left.
    let (from, to) = (3_010, 3_010 + gap * 1_000);
    let up = || {
        records
            .iter()
            .filter(|record| record.link == "up" && !record.fate.is_loss())
    };
    let within = up()
        .filter(|record| millis(record.scheduled) > from && millis(record.scheduled) < to)
        .count();
    let after = up()
        .filter(|record| millis(record.scheduled) > to && record.departed.is_some())
        .count();
    let sent = last_line(&directory.join("sent.jsonl"))?;
    let replayed = crate::archive::replay_run(&log)
        .map_err(|error| RealityError::Result(error.to_string()))?;
    table.rows.push(vec![
        format!("{}", number(&sent, &["packets"])?),
        format!("{}", number(&sent, &["arrived"]).unwrap_or(0.0)),
        within.to_string(),
        after.to_string(),
        finished.code.to_string(),
        format!("{} of {}", replayed.differences, replayed.offers),
    ]);
    table.check(
        format!("nothing leaves in the pause, {after} packets after it, and both ends finish"),
        within == 0 && after > 0 && finished.succeeded(&job).is_ok(),
    );
    table.check(
        "the log replays fate for fate".into(),
        replayed.differences == 0,
    );
    Ok(table)
}

pub(super) fn faults(bench: &Bench) -> Result<Table, RealityError> {
    let mut table = Table::new(
        "faults",
        "Faults",
        "Each fault must end within its time, with a truthful exit code and sentence, with nothing left behind: no process that the run started, \
         no device on the machine, no file with half a record.",
        &["fault", "what happened"],
    );
    for (what, fault) in [
        (
            "kill −9 of the emulator",
            killed_emulator as fn(&Bench) -> Result<(String, bool), RealityError>,
        ),
        ("SIGTERM to the emulator", terminated_emulator),
        ("kill −9 of the sender", killed_sender),
        ("kill −9 of the receiver", killed_receiver),
        (
            "kill −9 of the receiver, and another in its place",
            restarted_receiver,
        ),
        ("a full disk under the log", full_disk),
        ("a flood of forged packets", flooded),
    ] {
        let before = devices();
        let (happened, held) = fault(bench)?;
        // The kernel may remove the device of a process only after the process has been reaped.
        within(5, || devices().is_subset(&before));
        let left: Vec<String> = devices().difference(&before).cloned().collect();
        table
            .rows
            .push(vec![what.into(), happened.replace('\n', " ")]);
        table.check(
            match left.as_slice() {
                [] => format!("{what}: as it must be, and no device is left behind"),
                names => format!("{what}: the devices {} are left behind", names.join(", ")),
            },
            held && left.is_empty(),
        );
    }
    Ok(table)
}

/// Returns the names of the network devices of this namespace.
fn devices() -> BTreeSet<String> {
    let text = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    text.lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect()
}

/// Returns a process and all its descendants.
fn descendants(of: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_string_lossy().parse::<u32>().ok() else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_ascii_whitespace().nth(1)?.parse().ok());
        if let Some(parent) = parent {
            parents.push((pid, parent));
        }
    }
    let mut found = BTreeSet::from([of]);
    loop {
        let more: Vec<u32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Returns whether a process runs. A zombie does not.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_ascii_whitespace().next().map(str::to_owned));
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// Waits up to `seconds` until a condition holds. Returns whether it does.
fn within(seconds: u64, holds: impl Fn() -> bool) -> bool {
    for _ in 0..u128::from(seconds) * 1_000 / TICK.as_millis() {
        if holds() {
            return true;
        }
        thread::sleep(TICK);
    }
    holds()
}

fn signal(pid: u32, signal: Signal) -> Result<(), RealityError> {
    kill(Pid::from_raw(pid as i32), signal).map_err(|error| RealityError::Io {
        what: format!("signal to process {pid}"),
        source: error.into(),
    })
}

/// Starts a run whose commands start processes that ignore SIGTERM or leave the session.
fn stubborn(bench: &Bench, name: &str) -> Result<(Job, Child, BTreeSet<u32>), RealityError> {
    let directory = bench.directory(name)?;
    // With setsid, a process is in a separate session, out of reach of a terminal's signals. Each
    // process requests a connection to the machine again and again, so that there is something to
    // log.
    let command = "setsid sleep 1000 & trap '' TERM; while :; do curl -s -m 1 $WHYLOSS_SERVER:9; sleep 0.02; done";
    let job = Job::new(
        &directory,
        &[
            "link",
            "--log",
            &directory.join("log").to_string_lossy(),
            "--",
            "sh",
            "-c",
            command,
        ],
    );
    let child = job.start(bench)?;
    let log = directory.join("log");
    within(20, || {
        descendants(child.id()).len() >= 5 && whole_log(&log).is_ok_and(|records| records > 0)
    });
    let all = descendants(child.id());
    Ok((job, child, all))
}

fn killed_emulator(bench: &Bench) -> Result<(String, bool), RealityError> {
    let (job, mut child, all) = stubborn(bench, "killed-emulator")?;
    signal(child.id(), Signal::SIGKILL)?;
    let gone = within(5, || all.iter().all(|&pid| !runs(pid)));
    job.wait(&mut child, 5)?;
    let whole = whole_log(&job.directory.join("log"));
    Ok((
        format!("{} processes ended with it; {}", all.len(), said(&whole)),
        gone && all.len() >= 5 && whole.is_ok_and(|records| records > 0),
    ))
}

fn terminated_emulator(bench: &Bench) -> Result<(String, bool), RealityError> {
    let (job, mut child, all) = stubborn(bench, "terminated-emulator")?;
    signal(child.id(), Signal::SIGTERM)?;
    let finished = job.wait(&mut child, 15)?;
    let gone = within(1, || all.iter().all(|&pid| !runs(pid)));
    let whole = whole_log(&job.directory.join("log"));
    Ok((
        format!(
            "{} processes ended, exit code {}; {}",
            all.len(),
            finished.code,
            said(&whole)
        ),
        gone && finished.code == 130 && whole.is_ok_and(|records| records > 0),
    ))
}

fn said(result: &Result<usize, String>) -> String {
    match result {
        Ok(records) => format!("{records} whole records in the log"),
        Err(error) => error.clone(),
    }
}

/// Returns the number of records if every line of a log is one and its captures end with a complete
/// block; otherwise the problem.
fn whole_log(log: &Path) -> Result<usize, String> {
    let records = crate::archive::records(log).map_err(|error| error.to_string())?;
    for entry in fs::read_dir(log)
        .map_err(|error| error.to_string())?
        .flatten()
    {
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "pcapng")
        {
            let bytes = fs::read(entry.path()).map_err(|error| error.to_string())?;
            if !whole_blocks(&bytes) {
                return Err(format!("{} ends inside a block", entry.path().display()));
            }
        }
    }
    Ok(records.len())
}

/// Returns whether a little-endian pcapng file consists of complete blocks.
fn whole_blocks(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some(length) = bytes
            .get(4..8)
            .and_then(|length| length.try_into().ok())
            .map(u32::from_le_bytes)
        else {
            return false;
        };
        let length = length as usize;
        if length < 12 || length > bytes.len() {
            return false;
        }
        bytes = &bytes[length..];
    }
    true
}

/// Runs a session through a link. Its ends write their exit codes to files.
fn session(bench: &Bench, name: &str, client: &str) -> Result<(Job, Finished), RealityError> {
    let directory = bench.directory(name)?;
    let (program, path) = (bench.shell(), |name: &str| {
        super::quoted(&directory.join(name))
    });
    let recv = format!(
        "{program} recv 5000 --patience 3s 2>{}; echo $? >{}",
        path("recv.err"),
        path("recv.code")
    );
    let client = client
        .replace(
            "SEND",
            &format!("{program} send $WHYLOSS_SERVER:5000 --patience 3s"),
        )
        .replace("PROGRAM", &program)
        .replace("DIR", &directory.to_string_lossy());
    let log = directory.join("log");
    let arguments = [
        "link",
        "--rate",
        "5mbit",
        "--delay",
        "10ms",
        "--late-bound",
        "1s",
        "--time",
        "40s",
        "--log",
        &log.to_string_lossy(),
        "--both",
        &recv,
        &client,
    ];
    let job = Job::new(&directory, &arguments);
    let finished = job.run(bench, 60)?;
    Ok((job, finished))
}

fn text(job: &Job, name: &str) -> String {
    fs::read_to_string(job.directory.join(name))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn killed_sender(bench: &Bench) -> Result<(String, bool), RealityError> {
    // The client waits until the receiver has given up.
    let (job, finished) = session(
        bench,
        "killed-sender",
        "SEND & sleep 2; kill -9 $!; for i in $(seq 100); do [ -s 'DIR/recv.code' ] && break; sleep 0.1; done; true",
    )?;
    let (code, error) = (text(&job, "recv.code"), text(&job, "recv.err"));
    Ok((
        format!(
            "the receiver ended with {code}: {error}; the run with {}",
            finished.code
        ),
        code == "1" && error.contains("silent") && finished.code == 0,
    ))
}

/// Finds the receiver, which is in another process namespace, and kills it.
fn without_receiver(
    bench: &Bench,
    name: &str,
    server: &str,
) -> Result<(String, bool), RealityError> {
    let directory = bench.directory(name)?;
    let program = bench.shell();
    let path = |name: &str| super::quoted(&directory.join(name));
    let recv = format!(
        "{program} recv 5000 & echo $! >{}; wait; {}",
        path("recv.pid"),
        server.replace("PROGRAM", &program)
    );
    let send = format!(
        "{program} send $WHYLOSS_SERVER:5000 --patience 3s --time 20s 2>{}; echo $? >{}; true",
        path("send.err"),
        path("send.code")
    );
    let log = directory.join("log");
    let arguments = [
        "link",
        "--rate",
        "5mbit",
        "--delay",
        "10ms",
        "--late-bound",
        "1s",
        "--time",
        "40s",
        "--log",
        &log.to_string_lossy(),
        "--both",
        &recv,
        &send,
    ];
    let job = Job::new(&directory, &arguments);
    let mut child = job.start(bench)?;
    within(5, || {
        descendants(child.id())
            .iter()
            .any(|&pid| is_running(pid, "send"))
    });
    thread::sleep(Duration::from_secs(1));
    let receivers: Vec<u32> = descendants(child.id())
        .into_iter()
        .filter(|&pid| is_running(pid, "recv"))
        .collect();
    for pid in &receivers {
        signal(*pid, Signal::SIGKILL)?;
    }
    let finished = job.wait(&mut child, 60)?;
    let (code, error) = (text(&job, "send.code"), text(&job, "send.err"));
    Ok((
        format!(
            "the sender ended with {code}: {error}; the run with {}",
            finished.code
        ),
        receivers.len() == 1 && code == "1" && !error.is_empty() && finished.code == 0,
    ))
}

/// Returns whether a process is this program with this subcommand, and not a shell that will start
/// it.
fn is_running(pid: u32, subcommand: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|&byte| byte == 0);
    words.nth(1) == Some(subcommand.as_bytes())
}

fn killed_receiver(bench: &Bench) -> Result<(String, bool), RealityError> {
    let (happened, held) = without_receiver(bench, "killed-receiver", "sleep 30")?;
    let held = held && happened.contains("no receiver listens");
    Ok((happened, held))
}

fn restarted_receiver(bench: &Bench) -> Result<(String, bool), RealityError> {
    let (happened, held) = without_receiver(bench, "restarted-receiver", "exec PROGRAM recv 5000")?;
    // The new session may begin before the next packet, or a moment later.
    let held = held
        && (happened.contains("does not know this session")
            || happened.contains("no receiver listens"));
    Ok((happened, held))
}

fn full_disk(bench: &Bench) -> Result<(String, bool), RealityError> {
    let directory = bench.directory("full-disk")?;
    let disk = directory.join("disk");
    fs::create_dir(&disk).map_err(failed(&disk))?;
    mount(
        Some("tmpfs"),
        &disk,
        Some("tmpfs"),
        MsFlags::empty(),
        Some("size=300k"),
    )
    .map_err(|error| failed(&disk)(error.into()))?;
    let run = || {
        let log = disk.join("log");
        let program = bench.shell();
        let recv = format!("exec {program} recv 5000");
        let send = format!("exec {program} send $WHYLOSS_SERVER:5000 --time 20s");
        let job = Job::new(
            &directory,
            &[
                "link",
                "--rate",
                "5mbit",
                "--delay",
                "10ms",
                "--late-bound",
                "1s",
                "--log",
                &log.to_string_lossy(),
                "--both",
                &recv,
                &send,
            ],
        );
        let finished = job.run(bench, 60)?;
        Ok((finished, whole_log(&log)))
    };
    let done: Result<_, RealityError> = run();
    umount2(&disk, MntFlags::MNT_DETACH).map_err(|error| failed(&disk)(error.into()))?;
    let (finished, whole) = done?;
    let error = finished
        .err
        .lines()
        .last()
        .unwrap_or_default()
        .replace(&*directory.to_string_lossy(), "…");
    let held = finished.code == 1
        && error.contains("No space left")
        && whole.as_ref().is_ok_and(|&records| records > 0);
    Ok((
        format!("exit code {}: {error}; {}", finished.code, said(&whole)),
        held,
    ))
}

fn flooded(bench: &Bench) -> Result<(String, bool), RealityError> {
    let directory = bench.directory("flood")?;
    let program = bench.shell();
    let path = |name: &str| super::quoted(&directory.join(name));
    let packets = if bench.quick { 20_000 } else { 200_000 };
    let recv = format!(
        "exec {program} recv 5000 --classifier zigzag --stats {}",
        path("received.jsonl")
    );
    // The flood takes most of the shared link.
    let send = format!(
        "{program} reality --flood $WHYLOSS_SERVER:5000 --packets {packets} >{} & {program} send $WHYLOSS_SERVER:5000 --packet '762 B' --time 6s --stats {}; code=$?; wait; exit $code",
        path("flood.out"),
        path("sent.jsonl")
    );
    let job = Job::new(
        &directory,
        &[
            "link",
            "--rate",
            "100mbit",
            "--delay",
            "10ms",
            "--queue",
            "2000",
            "--late-bound",
            "2s",
            "--both",
            &recv,
            &send,
        ],
    );
    let finished = job.run(bench, 90)?;
    let (received, sent) = (
        last_line(&directory.join("received.jsonl"))?,
        last_line(&directory.join("sent.jsonl"))?,
    );
    let (ignored, arrived) = (
        number(&received, &["ignored"])?,
        number(&received, &["packets"])?,
    );
    let wrong = number(&received, &["wrong"])? + number(&sent, &["wrong"]).unwrap_or(1.0);
    let flood = text(&job, "flood.out");
    let bytes: Vec<u64> = flood
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let amplified = bytes.len() == 3 && bytes[1] >= bytes[2];
    let held = finished.code == 0
        && ignored > 100.0
        && arrived > 50.0
        && wrong == 0.0
        && bytes.len() == 3
        && !amplified;
    Ok((
        format!(
            "{packets} forged packets of {} bytes drew {} bytes of answers; {ignored} were counted and ignored; the session ended with {} and {arrived} packets, {wrong} of them wrong",
            bytes.get(2).unwrap_or(&0),
            bytes.get(1).unwrap_or(&0),
            finished.code
        ),
        held,
    ))
}
