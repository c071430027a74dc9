//! Reads the command line and sets up the command's output.

use std::io::{self, Stdout, Write as _};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Command, Parser};
use whyloss_sim::text::{Printable, printable};

use crate::error::CliError;

/// Returns standard output without the control characters that would change the terminal.
pub(crate) fn output() -> Printable<Stdout> {
    Printable::new(io::stdout())
}

/// Parses the command line. On `--help`, `--version` or an error, prints the text and returns the
/// exit code.
pub(crate) fn parse<T: Parser>() -> Result<T, ExitCode> {
    read::<T>().map_err(|error| {
        if error.use_stderr() {
            // Arguments may be file names, which may contain control characters.
            let text = error.render().to_string();
            let _ = write!(io::stderr(), "{}", printable(&text));
            return ExitCode::from(2);
        }
        let printed = error.print().and_then(|()| io::stdout().flush());
        conclude(printed.map_err(CliError::Output))
    })
}

/// Reads the command line.
fn read<T: Parser>() -> Result<T, clap::Error> {
    let mut command = T::command().mut_subcommands(spacious);
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    T::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Gives each command a long help, so that all are laid out alike.
fn spacious(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long = Resettable::from(about);
    command.long_about(long).mut_subcommands(spacious)
}

/// Returns the exit code of a result, and prints its error.
pub(crate) fn conclude(result: Result<(), CliError>) -> ExitCode {
    // Writing the buffered text may also fail.
    let result = result.and_then(|()| Ok(io::stdout().flush()?));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe on purpose, so this is not an error.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed as well, the exit code is all that is left.
            let _ = writeln!(io::stderr(), "whyloss: {}", printable(&error.to_string()));
            ExitCode::from(error.exit_code())
        }
    }
}
