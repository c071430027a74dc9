//! `whyloss kernel load` and `unload`: keep congestion controls in the kernel, and remove them.

use std::io::Write;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use whyloss_kernel::control::Control;
use whyloss_kernel::load;

use super::LoadArgs;
use crate::error::CliError;
use crate::interrupt::stop_on_interrupt;

/// The time between two checks whether to stop.
const POLL: Duration = Duration::from_millis(50);

pub(super) fn load(
    controls: &[&Control],
    args: &LoadArgs,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if args.pin {
        load::load_pinned(controls)?;
        for control in controls {
            writeln!(
                out,
                "{} is loaded as {}, until `whyloss kernel unload {}`",
                control.id, control.name, control.id
            )?;
        }
        return Ok(());
    }
    let stop = stop_on_interrupt().map_err(CliError::Signal)?;
    let mut held = Vec::new();
    for control in controls {
        held.push(load::load(control, control.name)?);
        if args.command.is_empty() {
            writeln!(
                out,
                "{} is loaded as {}, until this ends",
                control.id, control.name
            )?;
        }
    }
    out.flush()?;
    let Some((program, arguments)) = args.command.split_first() else {
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(POLL);
        }
        return Ok(());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .spawn()
        .map_err(|source| CliError::NoProgram {
            command: program.to_string_lossy().into_owned(),
            source,
        })?;
    // Ctrl-C also reaches the command. The controls stay until the command has ended.
    let status = child.wait().map_err(CliError::Start)?;
    drop(held);
    if stop.load(Ordering::Relaxed) {
        return Err(CliError::Interrupted {
            cut_short: Vec::new(),
            not_run: Vec::new(),
        });
    }
    match status.code() {
        Some(0) => Ok(()),
        code => Err(CliError::Command {
            host: "this machine".into(),
            code: code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        }),
    }
}

pub(super) fn unload(controls: &[&Control], out: &mut dyn Write) -> Result<(), CliError> {
    for control in controls {
        load::unload(control)?;
        writeln!(
            out,
            "{} is unloaded; sockets that use it keep it until they close",
            control.id
        )?;
    }
    Ok(())
}
