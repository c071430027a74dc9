//! `whyloss completions` and `whyloss man`: generate shell completions and the man page from the
//! command's definition.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args;
use crate::error::CliError;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// Shell to write the script for.
    #[arg(value_enum)]
    shell: Shell,
}

const HELP: &str = "bash: whyloss completions bash > ~/.local/share/bash-completion/completions/whyloss\n\
                    zsh:  whyloss completions zsh > DIR/_whyloss, where DIR is a directory in $fpath\n\
                    fish: whyloss completions fish > ~/.config/fish/completions/whyloss.fish";

/// Prints the script for a shell.
pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut args::Args::command(),
        "whyloss",
        &mut script,
    );
    Ok(out.write_all(&script)?)
}

/// Prints one page with every subcommand.
pub(crate) fn man(out: &mut dyn Write) -> Result<(), CliError> {
    let mut command = args::Args::command();
    command.build();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        if subcommand.get_name() == "help" {
            continue;
        }
        writeln!(
            page,
            ".SH \"WHYLOSS {}\"",
            subcommand.get_name().to_uppercase()
        )?;
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_description_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    Ok(out.write_all(&page)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_and_the_manual_know_every_subcommand() {
        let mut pages = vec![Vec::new()];
        man(&mut pages[0]).expect("memory does not fail");
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            completions(&CompletionsArgs { shell }, &mut script).expect("memory does not fail");
            pages.push(script);
        }
        let command = args::Args::command();
        for page in pages {
            let page = String::from_utf8(page).expect("text");
            for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
                let name = subcommand.get_name();
                assert!(page.to_lowercase().contains(name), "{name}");
            }
            assert!(page.contains("trace"));
        }
    }
}
