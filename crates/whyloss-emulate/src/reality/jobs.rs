//! Runs commands side by side, each for a bounded time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::{Bench, RealityError, failed};

/// Arguments for a run of this program.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) arguments: Vec<String>,
    /// The directory to which the output is written, in the files `out` and `err`.
    pub(super) directory: PathBuf,
}

/// The result of a job.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    /// The exit code; −1 if a signal or the time limit ended the job.
    pub(super) code: i32,
    pub(super) err: String,
}

const POLL: Duration = Duration::from_millis(20);

impl Job {
    pub(super) fn new(directory: &Path, arguments: &[&str]) -> Self {
        Self {
            arguments: arguments.iter().map(ToString::to_string).collect(),
            directory: directory.to_owned(),
        }
    }

    pub(super) fn start(&self, bench: &Bench) -> Result<Child, RealityError> {
        let file = |name: &str| {
            let path = self.directory.join(name);
            File::create(&path).map_err(failed(&path))
        };
        Command::new(&bench.program)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(file("out")?)
            .stderr(file("err")?)
            .spawn()
            .map_err(failed(&bench.program))
    }

    /// Waits up to `seconds` until a child of this job ends.
    pub(super) fn wait(&self, child: &mut Child, seconds: u64) -> Result<Finished, RealityError> {
        let mut code = -1;
        for round in 0.. {
            if let Some(status) = child.try_wait().map_err(failed(&self.directory))? {
                code = status.code().unwrap_or(-1);
                break;
            }
            if round > u128::from(seconds) * 1_000 / POLL.as_millis() {
                child.kill().map_err(failed(&self.directory))?;
                child.wait().map_err(failed(&self.directory))?;
                break;
            }
            thread::sleep(POLL);
        }
        let read = |name: &str| {
            let path = self.directory.join(name);
            std::fs::read(&path)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(failed(&path))
        };
        Ok(Finished {
            code,

            err: read("err")?,
        })
    }

    pub(super) fn run(&self, bench: &Bench, seconds: u64) -> Result<Finished, RealityError> {
        let mut child = self.start(bench)?;
        self.wait(&mut child, seconds)
    }
}

/// Runs jobs, at most `at_once` at the same time.
pub(super) fn run_all(
    bench: &Bench,
    jobs: &[Job],
    at_once: usize,
    seconds: u64,
) -> Result<Vec<Finished>, RealityError> {
    let mut finished = Vec::new();
    for batch in jobs.chunks(at_once.max(1)) {
        let mut children = Vec::new();
        for job in batch {
            children.push(job.start(bench)?);
        }
        for (job, child) in batch.iter().zip(&mut children) {
            finished.push(job.wait(child, seconds)?);
        }
    }
    Ok(finished)
}

impl Finished {
    /// Returns an error if the job failed. A fault of the emulator is not an error here, because
    /// the tables count such faults.
    pub(super) fn succeeded(self, job: &Job) -> Result<Self, RealityError> {
        if self.code == 0 || self.err.contains("EMULATOR'S FAULTS") {
            return Ok(self);
        }
        Err(RealityError::Command {
            command: job.arguments.join(" "),
            code: self.code,
            said: self.err.trim().to_owned(),
        })
    }
}
