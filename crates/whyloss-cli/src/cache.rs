//! Finds the directory for the scripts of ns-2 and the compiled program of ns-3.

use std::path::PathBuf;

use clap::Args;
use whyloss_validate::peers;

use crate::error::CliError;

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Directory for the ns-2 scripts and the compiled ns-3 program [default: `whyloss` in
    /// `$XDG_CACHE_HOME` or `~/.cache`].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl CacheArgs {
    /// Returns the directory, and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns [`CliError::Peer`] if it cannot be created.
    pub(crate) fn directory(&self) -> Result<PathBuf, CliError> {
        let directory = self.cache.clone().unwrap_or_else(default_directory);
        peers::cache(&directory).map_err(CliError::Peer)
    }
}

/// Returns `whyloss` in `$XDG_CACHE_HOME`, else in `~/.cache`, else in the current directory.
fn default_directory() -> PathBuf {
    let from = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    from("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| from("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .unwrap_or_default()
        .join("whyloss")
}
