//! `whyloss reality`: every table of docs/reality.md, by one command.

use std::io::Write;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;

use clap::Args;
use whyloss_emulate::reality::{Bench, TABLES, flood, page};

use crate::error::CliError;

#[derive(Debug, Args)]
pub(crate) struct RealityArgs {
    /// The tables [default: all of them].
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
    /// Shorter runs, and fewer.
    #[arg(long)]
    quick: bool,
    /// Fail if a check fails; those that a busy machine can spoil do not count with --quick.
    #[arg(long)]
    require: bool,
    /// Write the page into this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where logs go [default: a directory for temporary files].
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Flood a receiver.
    #[arg(long, hide = true, value_name = "HOST:PORT")]
    flood: Option<String>,
    /// With how many packets.
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
            return Err(CliError::Unknown {
                kind: "table of reality",
                name: id.clone(),
                nearest: known().map(str::to_owned).collect(),
            });
        }
    }
    let scratch = args.scratch.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("whyloss-reality-{}", std::process::id()))
    });
    let bench = Bench {
        program: std::env::current_exe().map_err(CliError::Start)?,
        scratch: scratch.clone(),
        quick: args.quick,
    };
    let mut tables = Vec::new();
    let mut broken = Vec::new();
    for (id, make) in TABLES {
        if !args.tables.is_empty() && !args.tables.iter().any(|table| table == id) {
            continue;
        }
        let before = load();
        let table = make(&bench).map_err(|source| CliError::Run {
            id,
            source: source.into(),
        })?;
        writeln!(out, "{}", table.markdown())?;
        out.flush()?;
        let fails = table
            .checks
            .iter()
            .filter(|check| !(check.held || args.quick && check.needs_quiet));
        broken.extend(fails.map(|check| format!("{id}: {}", check.what)));
        tables.push((table, format!("{before}, {}", load())));
    }
    if args.scratch.is_none() {
        // Left for whoever asked for it, only.
        let _ = std::fs::remove_dir_all(&scratch);
    }
    if let Some(path) = &args.out {
        std::fs::write(path, page(&tables)).map_err(CliError::Output)?;
    }
    if args.require && !broken.is_empty() {
        return Err(CliError::Required(broken));
    }
    Ok(())
}

/// The mean number of runnable processes in the last minute.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace()
        .next()
        .unwrap_or("?")
        .to_owned()
}
