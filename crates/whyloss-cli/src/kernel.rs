//! `whyloss kernel`: loads congestion controls of this project into the machine's kernel.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use whyloss_kernel::control::{CONTROLS, Control, find};

use crate::error::CliError;
use crate::nearest::nearest;

#[cfg(all(feature = "kernel", target_os = "linux"))]
mod check;
#[cfg(all(feature = "kernel", target_os = "linux"))]
mod hold;
#[cfg(all(feature = "kernel", target_os = "linux"))]
pub(crate) mod reproduce;
#[cfg(all(feature = "kernel", target_os = "linux"))]
mod status;
#[cfg(all(feature = "kernel", target_os = "linux"))]
mod truth;
#[cfg(all(feature = "kernel", target_os = "linux"))]
mod watch;

const HELP: &str = "Needs root, and a build with `--features kernel`.\n\n\
                    Example: whyloss kernel load whyloss -- iperf3 -c example.net -C wl_whyloss";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the congestion controls that `load` can load.
    List,
    /// Load congestion controls for the duration of COMMAND, or until Ctrl-C.
    Load(LoadArgs),
    /// Unload controls that were loaded with `load --pin`.
    Unload {
        /// Controls to unload, by their names in `whyloss kernel list`.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Show loaded controls, and the window, round-trip times and verdicts of each of their
    /// sockets.
    Status,
    /// Print each loss on the sockets of loaded controls, with its verdict, until Ctrl-C.
    Watch(WatchArgs),
    /// Run transfers in network namespaces, and compare each decision that the controls make in the
    /// kernel with the library's.
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Controls to load, by their names in `whyloss kernel list`.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Keep the controls loaded after exit, until `whyloss kernel unload` or a reboot.
    #[arg(long, conflicts_with = "command")]
    pin: bool,
    /// Command to run while the controls are loaded [default: wait for Ctrl-C].
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Controls to watch [default: all loaded ones].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Also print the true cause of each loss, from the log that `whyloss link --log` writes to
    /// this directory.
    #[arg(long, value_name = "DIR")]
    truth: Option<PathBuf>,
    /// Stop after this time, such as `10s`.
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Wait until the controls are loaded, instead of failing.
    #[arg(long)]
    wait: bool,
    /// Also print acknowledgements, changes of the recovery state and undone window reductions.
    #[arg(long)]
    every: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Controls to check [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Duration of the transfers of each control, in seconds.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Repeat with more seeds until at least this many events have been compared. Fail if eight
    /// seeds are not enough.
    #[arg(long, default_value_t = 0, value_name = "N")]
    events: u64,
    /// First seed for the losses of the emulated links.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// Returns the controls with these names, without duplicates.
///
/// # Errors
/// Returns an error if a name is unknown.
fn controls(names: &[String]) -> Result<Vec<&'static Control>, CliError> {
    let control = |name: &String| {
        find(name).ok_or_else(|| CliError::UnknownControl {
            name: name.clone(),
            nearest: nearest(name, CONTROLS.iter().map(|control| control.id)),
        })
    };
    let mut controls: Vec<&Control> = Vec::new();
    for control in names.iter().map(control) {
        let control = control?;
        if !controls.contains(&control) {
            controls.push(control);
        }
    }
    Ok(controls)
}

pub(crate) fn run(args: &KernelArgs, out: &mut dyn Write) -> Result<(), CliError> {
    match &args.what {
        What::List => list(out),
        What::Load(args) => {
            let controls = controls(&args.names)?;
            load(&controls, args, out)
        }
        What::Unload { names } => {
            let controls = controls(names)?;
            unload(&controls, out)
        }
        What::Status => status(out),
        What::Watch(args) => {
            let controls = controls(&args.names)?;
            watch(&controls, args, out)
        }
        What::Check(args) => {
            let controls = controls(&args.names)?;
            check(&controls, args, out)
        }
    }
}

fn list(out: &mut dyn Write) -> Result<(), CliError> {
    for control in CONTROLS {
        writeln!(
            out,
            "{:<14} {:<15} {} ({})",
            control.id, control.name, control.summary, control.source
        )?;
    }
    Ok(())
}

#[cfg(all(feature = "kernel", target_os = "linux"))]
use self::{
    check::check,
    hold::{load, unload},
    status::status,
    watch::watch,
};

/// Replaces the subcommands in builds without the kernel programs.
#[cfg(not(all(feature = "kernel", target_os = "linux")))]
mod without {
    use super::{CheckArgs, CliError, Control, LoadArgs, WatchArgs, Write};

    pub(super) fn check(
        _: &[&Control],
        args: &CheckArgs,
        _: &mut dyn Write,
    ) -> Result<(), CliError> {
        let _ = (args.seconds, args.events, args.seed);
        Err(CliError::NoKernel)
    }

    pub(super) fn load(_: &[&Control], args: &LoadArgs, _: &mut dyn Write) -> Result<(), CliError> {
        let _ = (args.pin, &args.command);
        Err(CliError::NoKernel)
    }

    pub(super) fn unload(_: &[&Control], _: &mut dyn Write) -> Result<(), CliError> {
        Err(CliError::NoKernel)
    }

    pub(super) fn status(_: &mut dyn Write) -> Result<(), CliError> {
        Err(CliError::NoKernel)
    }

    pub(super) fn watch(
        _: &[&Control],
        args: &WatchArgs,
        _: &mut dyn Write,
    ) -> Result<(), CliError> {
        let _ = (&args.truth, &args.time, args.wait, args.every);
        Err(CliError::NoKernel)
    }
}
#[cfg(not(all(feature = "kernel", target_os = "linux")))]
use without::{check, load, status, unload, watch};
