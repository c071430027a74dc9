//! `whyloss reality`: measures every table of docs/evidence/data/reality.txt.

use std::io::{self, Write};
use std::net::ToSocketAddrs as _;
use std::path::{Path, PathBuf};

use clap::Args;
use whyloss_emulate::reality::{Bench, Maker, TABLES, flood, page};
use whyloss_sim::output;
use whyloss_study::report::{self, ReportError};

use crate::error::CliError;

const HELP: &str = "Tables:\n  \
                      timing       lateness of packets on a full emulated link\n  \
                      proxy        rate and lateness of `whyloss link --udp`\n  \
                      tcp          goodput of the kernel's TCP and of simulated TCP\n  \
                      diagnosis    verdicts of `whyloss diagnose` on captures of the kernel's TCP\n  \
                      classifiers  receiver classifiers over sockets and in the simulator\n  \
                      tolerance    lateness of arrivals that each classifier tolerates\n  \
                      clocks       verdicts with clocks that are offset or drift\n  \
                      damage       damaged payloads over UDP and UDP-Lite\n  \
                      web          downloads with curl\n  \
                      ways         modes of `whyloss link`: without root, with several clients, nested, and with --live\n  \
                      traces       a link whose rate trace stalls for seconds\n  \
                      faults       killed processes, full disks, forged packets\n\n\
                    Needs root, iperf3, curl and python3.\n\n\
                    Example: whyloss reality diagnosis timing --out reality.txt";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RealityArgs {
    /// Tables to measure, from the list below [default: all].
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
    /// Run fewer and shorter measurements.
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if a check fails. With --quick, checks that need an idle machine do not count.
    #[arg(long)]
    require: bool,
    /// Write the results to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Directory for the logs of the emulated links [default: a temporary directory].
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Flood a receiver with packets.
    #[arg(long, hide = true, value_name = "HOST:PORT")]
    flood: Option<String>,
    /// Number of packets of --flood.
    #[arg(long, hide = true, default_value_t = 10_000)]
    packets: u32,
}

pub(crate) fn run(args: &RealityArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let Some(peer) = &args.flood {
        let peer = peer.to_socket_addrs().map_err(CliError::Start)?.next();
        let peer = peer.ok_or(CliError::NoCommand)?;
        let (replies, bytes, sent) = flood::flood(peer, args.packets).map_err(CliError::Start)?;
        writeln!(out, "{replies} {bytes} {sent}")?;
        return Ok(());
    }
    let known = || TABLES.iter().map(|(id, _)| *id);
    for id in &args.tables {
        if !known().any(|known| known == id) {
            return Err(CliError::UnknownTable {
                name: id.clone(),
                known: known().map(str::to_owned).collect(),
            });
        }
    }
    let page_at = args.out.as_deref().map(writable).transpose()?;
    let scratch = args.scratch.clone().map_or_else(own_scratch, Ok)?;
    let bench = Bench {
        program: std::env::current_exe().map_err(CliError::Start)?,
        scratch: scratch.clone(),
        quick: args.quick,
    };
    let chosen = TABLES
        .iter()
        .filter(|(id, _)| args.tables.is_empty() || args.tables.iter().any(|table| table == id));
    let made = &|id: &'static str, make: Maker| {
        let before = load();
        let bench = Bench {
            // The table of clocks reads the files that the table of classifiers wrote.
            scratch: if args.quick {
                scratch.join(id)
            } else {
                scratch.clone()
            },
            ..bench.clone()
        };
        let table = make(&bench).map_err(|source| CliError::Run {
            id,
            source: source.into(),
        })?;
        Ok::<_, CliError>((table, format!("{before}, {}", load())))
    };
    let mut tables = Vec::new();
    if args.quick {
        // These run in parallel, because their results do not depend on the load.
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = chosen
                .map(|&(id, make)| scope.spawn(move || made(id, make)))
                .collect();
            threads
                .into_iter()
                .map(std::thread::ScopedJoinHandle::join)
                .collect()
        });
        for table in all {
            match table {
                Ok(table) => tables.push(table?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        for (table, _) in &tables {
            writeln!(out, "{}", table.markdown())?;
        }
    } else {
        for &(id, make) in chosen {
            let table = made(id, make)?;
            writeln!(out, "{}", table.0.markdown())?;
            out.flush()?;
            tables.push(table);
        }
    }
    let mut broken = Vec::new();
    for (table, _) in &tables {
        let fails = table
            .checks
            .iter()
            .filter(|check| !(check.held || args.quick && check.needs_quiet));
        broken.extend(fails.map(|check| format!("{}: {}", table.id, check.what)));
    }
    if args.scratch.is_none() {
        // The logs are kept only with `--scratch`.
        let _ = std::fs::remove_dir_all(&scratch);
    }
    if let Some((directory, name)) = page_at {
        // The page is among other files, so this directory is not cleared.
        let path = directory.join(name);
        output::write(&path, page(&tables).as_bytes())
            .map_err(|source| CliError::Report(ReportError::Write { path, source }))?;
    }
    if args.require && !broken.is_empty() {
        return Err(CliError::Required(broken));
    }
    Ok(())
}

/// Creates a temporary directory, and returns its path.
fn own_scratch() -> Result<PathBuf, CliError> {
    let path = std::env::temp_dir().join(format!("whyloss-reality-{}", std::process::id()));
    // Create the directory, never reuse one: in a shared place, an existing one may belong to an
    // attacker.
    match std::fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(CliError::Directory {
            option: "--scratch",
            source: ReportError::Directory { path, source },
        }),
    }
}

/// Returns the directory and the name of a file after a check that it can be written. Otherwise a
/// long run would fail only at its end.
fn writable(path: &Path) -> Result<(&Path, &str), CliError> {
    let refuse = |kind: io::ErrorKind| {
        CliError::Out(ReportError::Write {
            path: path.to_owned(),
            source: kind.into(),
        })
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| refuse(io::ErrorKind::InvalidFilename))?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let directory = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    if path.is_dir() {
        return Err(refuse(io::ErrorKind::IsADirectory));
    }
    if !directory.is_dir() {
        return Err(refuse(io::ErrorKind::NotFound));
    }
    report::prepare(directory).map_err(CliError::Out)?;
    Ok((directory, name))
}

/// Returns the mean number of runnable processes in the last minute.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace()
        .next()
        .unwrap_or("?")
        .to_owned()
}
