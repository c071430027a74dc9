//! Modes of an emulated link: without root, with several clients, one behind another, on a
//! terminal.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::jobs::Job;
use super::{Bench, RealityError, Table, failed, quoted};
use crate::record::Fate;

/// The time limit of a run, in seconds.
const LIMIT: u64 = 60;
/// Options that allow any lateness, because these runs check what works, not how fast.
const PATIENT: [&str; 2] = ["--late-bound", "10s"];
/// The size of the file that each client fetches, in bytes.
const SIZE: usize = 400_000;

pub(super) fn ways(bench: &Bench) -> Result<Table, RealityError> {
    let mut table = Table::new(
        "ways",
        "Ways to run it",
        "curl fetches from Python's web server behind links of 8 Mbit/s, run in each of these ways.",
        &["way", "what happened"],
    );
    for (way, run) in [
        (
            "in a user namespace, without the machine's root",
            unprivileged as fn(&Bench) -> Result<(String, bool), RealityError>,
        ),
        ("three clients share a link", shared),
        ("a link of 20 ms behind one of 10 ms", nested),
        ("with `--live`, on a terminal", live),
    ] {
        let (happened, held) = run(bench)?;
        table.rows.push(vec![way.into(), happened]);
        table.check(format!("{way}: as it must be"), held);
    }
    Ok(table)
}

/// Returns two shell commands: one serves a file of [`SIZE`] bytes, the other fetches it and prints
/// the number of bytes received.
fn server_and_client(directory: &Path) -> Result<(String, String), RealityError> {
    let root = directory.join("root");
    fs::create_dir(&root).map_err(failed(&root))?;
    fs::write(root.join("file"), vec![b'.'; SIZE]).map_err(failed(&root))?;
    let server = format!(
        "exec python3 -m http.server 8000 --directory {} >/dev/null 2>&1",
        quoted(&root)
    );
    let client = "curl -sf --retry 20 --retry-delay 1 --retry-connrefused -o /dev/null -w '%{size_download}\\n' \
                  http://$WHYLOSS_SERVER:8000/file";
    Ok((server, client.into()))
}

/// Runs a command to its end. Returns its exit code and its output on both streams.
fn run(command: &mut Command) -> Result<(i32, String), RealityError> {
    let what = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| RealityError::Io { what, source })?;
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok((output.status.code().unwrap_or(-1), said))
}

/// Returns a command that runs this program and ends it after [`LIMIT`].
fn bounded(bench: &Bench, before: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg(LIMIT.to_string()).args(before);
    command.arg(&bench.program);
    command
}

/// Runs a link as root of a user namespace. This root has no rights on the machine, so the link
/// must create its namespaces.
fn unprivileged(bench: &Bench) -> Result<(String, bool), RealityError> {
    let directory = bench.directory("unprivileged")?;
    let (server, client) = server_and_client(&directory)?;
    let mut command = bounded(bench, &["unshare", "--user", "--map-root-user"]);
    command.args(["link", "--rate", "8mbit", "--quiet"]);
    command.args(PATIENT).arg("--both");
    let (code, said) = run(command.args([server, client]))?;
    let whole = said.lines().any(|line| line == SIZE.to_string());
    let happened = if whole {
        format!("exit code {code}; {SIZE} bytes came")
    } else {
        format!("exit code {code}; {}", said.trim())
    };
    Ok((happened, code == 0 && whole))
}

fn shared(bench: &Bench) -> Result<(String, bool), RealityError> {
    let directory = bench.directory("shared")?;
    let (server, client) = server_and_client(&directory)?;
    let log = directory.join("log");
    let arguments = ["link", "--rate", "8mbit", "--clients", "3"];
    let mut job = Job::new(&directory, &arguments);
    job.arguments.extend(PATIENT.map(ToString::to_string));
    let more = ["--log", &log.to_string_lossy(), "--both", &server, &client];
    job.arguments.extend(more.map(ToString::to_string));
    let finished = job.run(bench, LIMIT)?;
    let out = directory.join("out");
    let out = fs::read_to_string(&out).map_err(failed(&out))?;
    let whole = out.lines().filter(|line| **line == SIZE.to_string());
    let whole = whole.count();
    let records = crate::archive::records(&log);
    let records = records.map_err(|error| RealityError::Result(error.to_string()))?;
    let down = records.iter().filter(|record| record.link == "down");
    let delivered = down.filter(|record| record.fate == Fate::Delivered);
    let clients: BTreeSet<_> = delivered.map(|record| record.headers.destination).collect();
    let happened = format!(
        "exit code {}; {whole} files came to {} addresses over the one link",
        finished.code,
        clients.len()
    );
    let whole = finished.code == 0 && whole == 3;
    Ok((happened, whole && clients.len() == 3))
}

/// Runs a link behind a link. A refused connection takes one round trip: 60 ms through both.
fn nested(bench: &Bench) -> Result<(String, bool), RealityError> {
    let program = bench.shell();
    let patient = PATIENT.join(" ");
    let inner = format!(
        "OUTER=$WHYLOSS_SERVER exec {program} link --quiet --delay 20ms {patient} -- \
         sh -c 'curl -s -o /dev/null -w \"%{{time_total}}\\n\" $OUTER:9; true'"
    );
    let mut command = bounded(bench, &[]);
    command.args(["link", "--quiet", "--delay", "10ms"]);
    command.args(PATIENT).args(["--", "sh", "-c"]);
    let (code, said) = run(command.arg(&inner))?;
    let seconds: Option<f64> = said.lines().find_map(|line| line.trim().parse().ok());
    let Some(seconds) = seconds else {
        return Ok((format!("exit code {code}; {}", said.trim()), false));
    };
    let happened = format!(
        "exit code {code}; a connection is refused after {:.1} ms",
        1e3 * seconds
    );
    // The time is never less than the links' delays, and more on a busy machine.
    Ok((happened, code == 0 && (0.060..5.0).contains(&seconds)))
}

fn live(bench: &Bench) -> Result<(String, bool), RealityError> {
    let directory = bench.directory("live")?;
    let (server, client) = server_and_client(&directory)?;
    let line = format!(
        "timeout {LIMIT} {} link --rate 1mbit --live {} --both {} {}",
        bench.shell(),
        PATIENT.join(" "),
        quoted(Path::new(&server)),
        quoted(Path::new(&client))
    );
    let mut command = Command::new("script");
    let (code, said) = run(command.args(["-qec", &line, "/dev/null"]))?;
    // A redraw moves back over the last lines and writes them again.
    let views = said.matches("lateness p50").count();
    let rates = said.matches("Mbit/s").count();
    let happened = format!("exit code {code}; drawn {views} times");
    Ok((happened, code == 0 && views >= 3 && rates >= 3))
}
