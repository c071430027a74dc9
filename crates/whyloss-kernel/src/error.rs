//! Errors, in sentences.

use std::fs;
use std::sync::Mutex;

use libbpf_rs::{ErrorKind, PrintLevel, set_print};
use nix::unistd::geteuid;

/// Why the kernel does not do as it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Not root.
    #[error("BPF programs in the kernel need root")]
    NeedsRoot,
    /// A kernel without type information.
    #[error(
        "this kernel has no BTF (/sys/kernel/btf/vmlinux): it must be built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf,
    /// A kernel that refuses BPF.
    #[error("this kernel refuses to {what}: {why}")]
    Refused {
        /// The request.
        what: &'static str,
        /// Its message.
        why: String,
    },
    /// The name is taken.
    #[error("`{name}` is loaded already{}", holder.map_or(String::new(), |process| format!(", by process {process}")))]
    Loaded {
        /// The name.
        name: String,
        /// The process that holds it, if that is known.
        holder: Option<u32>,
    },
    /// Nothing of that name.
    #[error("`{0}` is not loaded")]
    NotLoaded(String),
    /// A process holds it.
    #[error("`{name}` is held by process {process}: it goes when that ends")]
    Held {
        /// The control.
        name: String,
        /// The process.
        process: u32,
    },
    /// Somebody watches already.
    #[error("`{name}` is being watched by process {process}: there can be one at a time")]
    Watched {
        /// The control.
        name: String,
        /// The process.
        process: u32,
    },
    /// Pins have no place.
    #[error(
        "nothing can be pinned: no BPF file system is at /sys/fs/bpf (`mount -t bpf bpf /sys/fs/bpf` makes one)"
    )]
    NoFileSystem,
    /// A pin cannot be made or removed.
    #[error("{path}: {source}")]
    Pin {
        /// The pin.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The last messages of libbpf.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
const MOST_SAID: usize = 200;

fn hear(_: PrintLevel, said: String) {
    if let Ok(mut lines) = SAID.lock()
        && lines.len() < MOST_SAID
    {
        lines.push(said);
    }
}

impl KernelError {
    /// Translates a refusal by libbpf.
    pub(crate) fn bpf(what: &'static str, error: &libbpf_rs::Error) -> Self {
        let said = SAID.lock().map_or(String::new(), |lines| lines.concat());
        let why = if error.kind() == ErrorKind::PermissionDenied && said.is_empty() {
            format!("{error}: is this root the machine's own?")
        } else {
            // The first message is the reason, later ones its consequences.
            let first = said.lines().find_map(|line| line.strip_prefix("libbpf: "));
            match first {
                Some(first) => format!("{error} ({})", first.trim()),
                None => error.to_string(),
            }
        };
        Self::Refused { what, why }
    }
}

/// Everything that libbpf said since [`check_machine`], the verifier's log among it.
pub fn said() -> String {
    SAID.lock().map_or(String::new(), |lines| lines.concat())
}

/// Whether this process and this kernel can load programs, as far as can be told without loading
/// one.
///
/// # Errors
/// Returns the first missing right.
pub fn may_load() -> Result<(), KernelError> {
    check_machine()
}

/// Whether this process and this kernel can load programs at all; forgets what libbpf said before.
///
/// # Errors
/// Returns the first missing part of the machine.
pub(crate) fn check_machine() -> Result<(), KernelError> {
    if let Ok(mut lines) = SAID.lock() {
        lines.clear();
    }
    set_print(Some((PrintLevel::Warn, hear)));
    if !geteuid().is_root() {
        return Err(KernelError::NeedsRoot);
    }
    if fs::metadata("/sys/kernel/btf/vmlinux").is_err() {
        return Err(KernelError::NoBtf);
    }
    Ok(())
}
