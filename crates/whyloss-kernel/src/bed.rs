//! A test bed: runs the kernel's TCP through `whyloss link`, in separate network namespaces.
//!
//! Each run starts this program again (`whyloss link --both`), with iperf3 at both ends. No traffic
//! leaves the namespaces, and no default of the machine changes. Each run reports how many packets
//! the emulator delivered too late or lost by a fault.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// The link from the client to the server, and the flows over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The rate of the link, such as `10mbit`.
    pub rate: String,
    /// The one-way delay, such as `50ms`.
    pub delay: String,
    /// The maximum number of packets in the queue.
    pub queue: u32,
    /// The channel for data, in the syntax of `whyloss link --loss`.
    pub loss: String,
    /// The seed of the channel.
    pub seed: u64,
    /// The length of the transfer, in seconds.
    pub seconds: u32,
    /// The warm-up, which is not measured, in seconds.
    pub omit: u32,
    /// The congestion control of each flow, by its name in the kernel.
    pub flows: Vec<String>,
    /// The payload of a segment in bytes; `None` for the largest that fits.
    pub segment: Option<u32>,
    /// Whether SACK, D-SACK and other features newer than Linux 2.2 are off, as far as this kernel
    /// allows.
    pub plain: bool,
}

/// The outcome of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Transferred {
    /// The goodput of each flow in Mbit/s of payload.
    pub goodput: Vec<f64>,
    /// The number of segments that each flow retransmitted.
    pub retransmitted: Vec<f64>,
    /// The number of packets that the emulator delivered too late or lost by a fault.
    pub faults: f64,
    /// The 99th percentile of the emulator's lateness, in ms.
    pub late_ms: f64,
}

/// Why a transfer has no result.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    /// A file or process failed.
    #[error("{what}: {source}")]
    Io {
        /// The file or process that failed.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A run of `whyloss link` failed.
    #[error("`whyloss link` ended with {code}: {said}")]
    Failed {
        /// The exit code; −1 if the run took too long.
        code: i32,
        /// The message of the run.
        said: String,
    },
    /// A result has an unexpected form.
    #[error("{0}")]
    Result(String),
}

/// The command and the directory that transfers use.
#[derive(Clone, Debug)]
pub struct Bed {
    /// The path of the `whyloss` command.
    pub program: PathBuf,
    /// The directory for the files of runs.
    pub scratch: PathBuf,
}

/// A transfer in progress.
#[derive(Debug)]
pub struct Running {
    child: Child,
    directory: PathBuf,
    flows: usize,
    seconds: u32,
}

const POLL: Duration = Duration::from_millis(20);
/// How much longer than its duration a run may take, in seconds.
const GRACE: u32 = 30;

impl Bed {
    /// Begins a run. `name` is a directory in the scratch directory; its subdirectory `log` gets
    /// the link's log.
    ///
    /// # Errors
    /// Returns an error if the run cannot start.
    pub fn start(&self, name: &str, transfer: &Transfer) -> Result<Running, BedError> {
        let directory = self.scratch.join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(failed(&directory))?;
        }
        fs::create_dir_all(&directory).map_err(failed(&directory))?;
        let (server, client) = transfer.commands(&directory);
        let file = |name: &str| {
            let path = directory.join(name);
            File::create(&path).map_err(failed(&path))
        };
        let seed = transfer.seed.to_string();
        let queue = transfer.queue.to_string();
        let child = Command::new(&self.program)
            .args(["link", "--rate", &transfer.rate, "--delay", &transfer.delay])
            .args(["--queue", &queue, "--loss-up", &transfer.loss])
            .args(["--seed", &seed, "--log"])
            .arg(directory.join("log"))
            .args(["--both", &server, &client])
            .stdin(Stdio::null())
            .stdout(file("out")?)
            .stderr(file("err")?)
            .spawn()
            .map_err(failed(&self.program))?;
        Ok(Running {
            child,
            directory,
            flows: transfer.flows.len(),
            seconds: transfer.seconds + transfer.omit,
        })
    }
}

impl Transfer {
    /// Returns the shell commands of server and client.
    fn commands(&self, directory: &Path) -> (String, String) {
        let (mut server, mut client) = (String::new(), String::new());
        if self.plain {
            for end in [&mut server, &mut client] {
                // Only this namespace changes. Settings that this kernel does not have are skipped.
                for (key, value) in [
                    ("tcp_sack", 0),
                    ("tcp_dsack", 0),
                    ("tcp_recovery", 0),
                    ("tcp_early_retrans", 0),
                    ("tcp_frto", 0),
                ] {
                    let _ = write!(end, "echo {value} >/proc/sys/net/ipv4/{key}; ");
                }
            }
        }
        for (index, control) in self.flows.iter().enumerate() {
            let port = 5201 + index;
            // The server ends with its first client, and restarts if that client failed.
            let _ = write!(
                server,
                "( until iperf3 -s -1 -p {port} >/dev/null; do sleep 0.1; done ) & "
            );
            let segment = self
                .segment
                .map_or(String::new(), |bytes| format!(" -M {bytes}"));
            let omit = match self.omit {
                0 => String::new(),
                seconds => format!(" -O {seconds}"),
            };
            let report = quoted(&directory.join(format!("flow-{index}.json")));
            // The server may not listen yet, so the client tries 200 times in 20 s. With `-J`, some
            // versions of iperf3 exit with 0 even then.
            let _ = write!(
                client,
                "( n=0; while iperf3 -c $WHYLOSS_SERVER -p {port} -t {} -C {control}{segment}{omit} -J >{report}; \
                 grep -q 'Connection refused' {report} && [ $n != 200 ]; do n=$((n + 1)); sleep 0.1; done ) & ",
                self.seconds
            );
        }
        (server + "wait", client + "wait")
    }
}

impl Running {
    /// Returns the directory of the link's log.
    pub fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Returns whether the run is still in progress.
    pub fn goes_on(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end of the run and reads its results.
    ///
    /// # Errors
    /// Returns an error if the run failed or took too long.
    pub fn finish(mut self) -> Result<Transferred, BedError> {
        let err = self.directory.join("err");
        let mut code = None;
        for _ in 0..u128::from(self.seconds + GRACE) * 1_000 / POLL.as_millis() {
            if let Some(status) = self.child.try_wait().map_err(failed(&self.directory))? {
                code = Some(status.code().unwrap_or(-1));
                break;
            }
            thread::sleep(POLL);
        }
        let code = if let Some(code) = code {
            code
        } else {
            self.child.kill().map_err(failed(&self.directory))?;
            self.child.wait().map_err(failed(&self.directory))?;
            -1
        };
        let said = fs::read_to_string(&err).map_err(failed(&err))?;
        if code != 0 && !said.contains("EMULATOR'S FAULTS") {
            return Err(BedError::Failed {
                code,
                said: said.trim().into(),
            });
        }
        let summary = json(&self.directory.join("log/summary.json"))?;
        let mut done = Transferred {
            goodput: Vec::new(),
            retransmitted: Vec::new(),
            faults: number(&summary, &["faults", "late"])?
                + number(&summary, &["faults", "device"])?,
            late_ms: number(&summary, &["lateness", "p99_ns"])? / 1e6,
        };
        for index in 0..self.flows {
            let report = json(&self.directory.join(format!("flow-{index}.json")))?;
            if let Some(error) = report["error"].as_str() {
                return Err(BedError::Result(format!("iperf3: {error}")));
            }
            let rate = number(&report, &["end", "sum_received", "bits_per_second"])?;
            done.goodput.push(rate / 1e6);
            let again = number(&report, &["end", "sum_sent", "retransmits"])?;
            done.retransmitted.push(again);
        }
        Ok(done)
    }
}

/// Quotes a path for a shell command.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> BedError {
    let what = path.display().to_string();
    move |source| BedError::Io { what, source }
}

fn json(path: &Path) -> Result<Value, BedError> {
    let text = fs::read_to_string(path).map_err(failed(path))?;
    serde_json::from_str(&text).map_err(|error| failed(path)(error.into()))
}

fn number(value: &Value, path: &[&str]) -> Result<f64, BedError> {
    let found = path.iter().fold(value, |value, key| &value[*key]);
    found
        .as_f64()
        .ok_or_else(|| BedError::Result(format!("no number at {}", path.join("."))))
}
