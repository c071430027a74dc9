//! The two processes between the emulator and a command, so that nothing outlives the emulator.
//!
//! ```text
//! emulator ── keeper ── first ── command ── …
//! ```
//!
//! The *keeper* creates a process namespace, and the *first* is its process 1. When process 1 ends,
//! the kernel ends all other processes in the namespace, and with them their network namespace.
//! Each of the two asks the kernel to be killed when its parent dies. Therefore a command and all
//! its children end with the emulator, even if the emulator is killed.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use crate::gateway;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{AccessFlags, Pid, access, getpid, getppid};
use signal_hook::consts::{SIGCHLD, SIGTERM};
use signal_hook::iterator::Signals;

/// Names the role of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Creates the process namespace. The number is the process id of its parent.
    Keeper(u32),
    /// Process 1 of the namespace.
    First,
    /// Connects a link to the networks of the machine.
    Gateway,
}

impl Role {
    /// Reads a role from the first argument of the hidden subcommand.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "first" => Some(Self::First),
            "gateway" => Some(Self::Gateway),
            _ => text.parse().ok().map(Self::Keeper),
        }
    }
}

/// Checks that this process may play a role. `First` may run only as process 1 of its process
/// namespace.
///
/// Elsewhere its mounts would affect the whole machine, and its SIGTERM would reach every process.
///
/// # Errors
/// Returns an error if the process may not play the role.
pub fn may_play(role: Role) -> io::Result<()> {
    if role == Role::First && getpid() != Pid::from_raw(1) {
        return Err(io::Error::other(
            "link-init: this is not process 1 of a process namespace; `whyloss link` makes one and starts it there",
        ));
    }
    Ok(())
}

/// Plays a role until the command ends, and returns the command's exit code: 128 plus the signal if
/// a signal ended it. `again` calls this program in another role. `requests` lists the signals that
/// ask the command to end, SIGTERM among them. An ignored signal that is not listed stays ignored,
/// also for the command.
///
/// # Errors
/// Returns an error if the role may not be played here, a namespace cannot be created, or the
/// command cannot be started.
pub fn play(
    role: Role,
    again: &[OsString],
    command: &[OsString],
    requests: impl Iterator<Item = i32>,
) -> io::Result<u8> {
    may_play(role)?;
    if role == Role::Gateway {
        return gateway::play(command).map(|()| 0);
    }
    set_pdeathsig(Signal::SIGKILL)?;
    // SIGINT and SIGHUP go to all processes of the terminal, and the command may handle them. The
    // emulator, which also gets SIGHUP, sends SIGTERM.
    let mut signals = Signals::new(requests.chain([SIGCHLD]))?;
    let child = match role {
        Role::Keeper(parent) => {
            if getppid() != Pid::from_raw(parent as i32) {
                return Err(io::Error::other("the emulator has gone"));
            }
            unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)?;
            let mut words = again.iter();
            let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
            Command::new(program)
                .args(words)
                .arg("first")
                .arg("--")
                .args(command)
                .spawn()?
        }
        // The gateway's role has returned above.
        Role::Gateway => return Ok(0),
        Role::First => {
            own_mounts();
            if let Ok(text) = env::var(gateway::VARIABLE) {
                gateway::show_resolv_conf(&text).map_err(|error| {
                    io::Error::new(
                        error.kind(),
                        format!("cannot give the command its name server: {error}"),
                    )
                })?;
            }
            spawn(command)?
        }
    };
    supervise(role, &child, &mut signals)
}

/// Runs the role that the program's arguments name. Returns `None` if they name none; then `main`
/// continues. `subcommand` is the argument of [`init_by`](crate::run::init_by).
///
/// # Errors
/// Returns the errors of [`play`].
pub fn play_if_asked(subcommand: &str) -> io::Result<Option<u8>> {
    let mut words = env::args_os().skip(1);
    if words.next().is_none_or(|word| word != subcommand) {
        return Ok(None);
    }
    let role = words.next().and_then(|word| Role::parse(word.to_str()?));
    let role = role.ok_or(io::ErrorKind::InvalidInput)?;
    let command: Vec<OsString> = words.skip_while(|word| word == "--").collect();
    let again = [this_program()?, subcommand.into()];
    play(role, &again, &command, [SIGTERM].into_iter()).map(Some)
}

fn spawn(command: &[OsString]) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(arguments)
        .spawn()
        .map_err(|error| {
            let name = program.to_string_lossy();
            io::Error::new(error.kind(), format!("cannot start `{name}`: {error}"))
        })
}

/// Checks that the system finds the program of a command, before a run is made for it.
///
/// # Errors
/// Returns an error that names the program if it is missing or not executable.
pub(crate) fn find(command: &[OsString]) -> io::Result<()> {
    let program = command.first().ok_or(io::ErrorKind::InvalidInput)?;
    let can_run = |path: &Path| {
        let is_file = fs::metadata(path).map_err(|_| Errno::ENOENT)?.is_file();
        let may_run = access(path, AccessFlags::X_OK).is_ok();
        if is_file && may_run {
            Ok(())
        } else {
            Err(Errno::EACCES)
        }
    };
    let found = if program.as_bytes().contains(&b'/') {
        can_run(Path::new(program))
    } else {
        let paths = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        let places = env::split_paths(&paths).map(|place| can_run(&place.join(program)));
        // Of all errors, EACCES says most.
        let best = |a: nix::Result<()>, b| match (a, b) {
            (Ok(()), _) | (Err(Errno::EACCES), Err(_)) => a,
            _ => b,
        };
        places.fold(Err(Errno::ENOENT), best)
    };
    found.map_err(|error| {
        let (name, error) = (program.to_string_lossy(), io::Error::from(error));
        io::Error::new(error.kind(), format!("`{name}`: {error}"))
    })
}

/// Makes mounts private, and mounts a `/proc` that shows the new process namespace. If a step
/// fails, the old mounts stay.
fn own_mounts() {
    const NONE: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    if mount(NONE, "/", NONE, private, NONE).is_ok() {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let _ = mount(Some("proc"), "/proc", Some("proc"), flags, NONE);
    }
}

/// Waits for the child, passes on SIGTERM, and reaps all other processes. Process 1 passes SIGTERM
/// to all processes, because a shell would not pass it on, and then waits for all.
fn supervise(role: Role, child: &Child, signals: &mut Signals) -> io::Result<u8> {
    let child = Pid::from_raw(child.id() as i32);
    let (mut ending, mut code) = (false, None);
    loop {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, exit)) if pid == child => code = Some(exit as u8),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                    code = Some(128 + signal as u8);
                }
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) => {}
                Err(Errno::ECHILD) => return Ok(code.unwrap_or(1)),
                Err(error) => return Err(error.into()),
            }
            if let Some(code) = code.filter(|_| !ending) {
                return Ok(code);
            }
        }
        if signals.wait().any(|signal| signal == SIGTERM) {
            ending = true;
            let whom = if role == Role::First {
                Pid::from_raw(-1)
            } else {
                child
            };
            // The process may have ended already.
            let _ = kill(whom, Signal::SIGTERM);
        }
    }
}

/// Returns the exit code of a process: its own, or 128 and the signal that ended it.
pub(crate) fn code(status: ExitStatus) -> u8 {
    let signal = || 128 + status.signal().unwrap_or(0);
    status.code().unwrap_or_else(signal) as u8
}

/// Returns how the caller's own program is called in a role.
pub(crate) fn this_program() -> io::Result<OsString> {
    env::current_exe().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        for (program, expected) in [
            ("sh", None),
            ("/bin/sh", None),
            ("whyloss-no-such-program", Some("No such file")),
            ("/nonexistent/sh", Some("No such file")),
            ("/dev/null", Some("Permission denied")),
            ("/", Some("Permission denied")),
            ("", Some("")),
        ] {
            let found = find(&[program.into()]);
            let error = found.err().map(|error| error.to_string());
            let has = |text| error.as_deref().is_some_and(|error| error.contains(text));
            assert!(
                expected.map_or(error.is_none(), has),
                "{program}: {error:?}"
            );
        }
    }
}
