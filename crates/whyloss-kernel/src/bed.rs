//! A test bed: the kernel's TCP through `whyloss link`, in network namespaces of its own.
//!
//! Each run is this program again (`whyloss link --both`), with iperf3 at both ends: nothing leaves
//! the namespaces, and no default of the machine is changed. Each says of itself whether the
//! emulator was at fault.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// One direction's link and the flows over it, from the client to the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// `10mbit`.
    pub rate: String,
    /// One way, `50ms`.
    pub delay: String,
    /// Packets that may wait.
    pub queue: u32,
    /// The channel for data, as `whyloss link --loss` has it.
    pub loss: String,
    /// The seed of the channel.
    pub seed: u64,
    /// How long it goes on.
    pub seconds: u32,
    /// Seconds at the start that are not counted.
    pub omit: u32,
    /// The control of each flow, by the kernel's name.
    pub flows: Vec<String>,
    /// Payload of a segment, if it is to be smaller than what fits.
    pub segment: Option<u32>,
    /// Whether there is no SACK, no D-SACK and no other recent help, as far as this kernel lets
    /// that be turned off.
    pub plain: bool,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Transferred {
    /// The goodput of each flow, payload, in Mbit/s.
    pub goodput: Vec<f64>,
    /// Segments that each flow sent again.
    pub retransmitted: Vec<f64>,
    /// Packets that the emulator delivered late or lost by its own fault.
    pub faults: f64,
    /// The emulator's lateness, 99 % of packets, in ms.
    pub late_ms: f64,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    /// Something could not be read, written or started.
    #[error("{what}: {source}")]
    Io {
        /// What.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The run failed.
    #[error("`whyloss link` ended with {code}: {said}")]
    Failed {
        /// Its exit code; −1: it took too long.
        code: i32,
        /// Its message.
        said: String,
    },
    /// A result is not what it should be.
    #[error("{0}")]
    Result(String),
}

/// Where runs are made.
#[derive(Clone, Debug)]
pub struct Bed {
    /// The `whyloss` command.
    pub program: PathBuf,
    /// A directory for what the runs write.
    pub scratch: PathBuf,
}

/// A run that goes on.
#[derive(Debug)]
pub struct Running {
    child: Child,
    directory: PathBuf,
    flows: usize,
    seconds: u32,
}

const POLL: Duration = Duration::from_millis(20);
/// How long a run may take beyond its seconds.
const GRACE: u32 = 30;

impl Bed {
    /// Begins a run. `name` is a directory in the scratch directory; the link's log is in `log`
    /// therein.
    ///
    /// # Errors
    /// If it cannot be begun.
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
    /// The shell commands of server and client.
    fn commands(&self, directory: &Path) -> (String, String) {
        let (mut server, mut client) = (String::new(), String::new());
        if self.plain {
            for end in [&mut server, &mut client] {
                // In this namespace alone; what this kernel does not have stays as it is.
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
            // It ends with its first client, and begins again if that one went wrong.
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
            // Its server may not listen yet: then it is asked again, 200 times in 20 s.
            let _ = write!(
                client,
                "( n=0; until iperf3 -c $WHYLOSS_SERVER -p {port} -t {} -C {control}{segment}{omit} -J >{report} || \
                 [ $n = 200 ] || ! grep -q 'Connection refused' {report}; do n=$((n + 1)); sleep 0.1; done ) & ",
                self.seconds
            );
        }
        (server + "wait", client + "wait")
    }
}

impl Running {
    /// Where the link's log is.
    pub fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    /// Whether it still goes on.
    pub fn goes_on(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end, and reads its results.
    ///
    /// # Errors
    /// If it failed or took too long.
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

/// A path in a shell command.
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
