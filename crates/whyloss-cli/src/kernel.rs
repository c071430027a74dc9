//! `whyloss kernel`: congestion controls of ours in this machine's kernel.

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

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Name the controls.
    List,
    /// Load controls, and keep them until the command ends or this is interrupted.
    Load(LoadArgs),
    /// Unload controls that were loaded with --pin.
    Unload {
        /// The controls, as `whyloss kernel list` names them.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Show the loaded controls, the sockets that use them, and their estimates.
    Status,
    /// Print each loss of the sockets under loaded controls, with the verdict.
    Watch(WatchArgs),
    /// Compare every decision of controls with the library's, on real transfers in isolated
    /// networks.
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// The controls, as `whyloss kernel list` names them.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Leave them loaded until `whyloss kernel unload`, or until the machine restarts.
    #[arg(long, conflicts_with = "command")]
    pin: bool,
    /// Command to run meanwhile [default: nothing, until Ctrl-C].
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The controls [default: all that are loaded].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The log of the emulated link (`whyloss link --log DIR`) that the losses happen on: prints
    /// the truth beside the verdict.
    #[arg(long, value_name = "DIR")]
    truth: Option<PathBuf>,
    /// Stop after this time.
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Wait for controls that are not loaded yet.
    #[arg(long)]
    wait: bool,
    /// Print acknowledgements, changes of the recovery's state and reductions taken back as well.
    #[arg(long)]
    every: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The controls [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Seconds of transfers for each.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Go on, with the next seeds, until this many events were compared; fail if that takes more
    /// than eight rounds.
    #[arg(long, default_value_t = 0, value_name = "N")]
    events: u64,
    /// The seed of the channels.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// The controls of these names, each once.
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

/// The part that this build lacks.
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
