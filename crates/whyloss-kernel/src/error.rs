//! The errors of loading and reading controls, with messages for users.

use std::fs;
use std::sync::Mutex;

use libbpf_rs::{ErrorKind, PrintLevel, set_print};
use nix::unistd::geteuid;

/// The longest name of a control in bytes: `TCP_CA_NAME_MAX` of Linux, without the final zero.
pub(crate) const MOST_NAME: usize = 15;

/// Why the kernel rejects a request.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The process is not root.
    #[error("BPF programs in the kernel need root")]
    NeedsRoot,
    /// The kernel has no type information (BTF).
    #[error(
        "this kernel has no BTF (/sys/kernel/btf/vmlinux): it must be built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoBtf,
    /// The kernel rejects a BPF operation.
    #[error("this kernel refuses to {what}: {why}")]
    Refused {
        /// The rejected operation, in words.
        what: &'static str,
        /// The reason that the kernel gives.
        why: String,
    },
    /// The kernel cannot store the name of a control.
    #[error("a control's name has 1 to {most} bytes, none of them zero, unlike {0:?}", most = MOST_NAME)]
    Name(String),
    /// The kernel does not allow BPF iterators, which list the sockets of a control.
    #[error("this kernel refuses BPF iterators, so the sockets of a control cannot be listed")]
    NoIterators,
    /// A control with this name is already loaded.
    #[error("`{name}` is loaded already{}", holder.map_or(String::new(), |process| format!(", by process {process}")))]
    Loaded {
        /// The name of the control.
        name: String,
        /// The PID of the process that holds the control, if it is known.
        holder: Option<u32>,
    },
    /// No control with this name is loaded.
    #[error("`{0}` is not loaded")]
    NotLoaded(String),
    /// Another process holds the control.
    #[error("`{name}` is held by process {process}; it is unloaded when that process ends")]
    Held {
        /// The name of the control.
        name: String,
        /// The PID of the process that holds the control.
        process: u32,
    },
    /// Another process already watches the control.
    #[error("`{name}` is being watched by process {process}: there can be one at a time")]
    Watched {
        /// The name of the control.
        name: String,
        /// The PID of the process that watches the control.
        process: u32,
    },
    /// There is no BPF file system for pins.
    #[error(
        "nothing can be pinned: no BPF file system is at /sys/fs/bpf (`mount -t bpf bpf /sys/fs/bpf` makes one)"
    )]
    NoFileSystem,
    /// A pin cannot be made or removed.
    #[error("{path}: {source}")]
    Pin {
        /// The path of the pin.
        path: String,
        /// The error of the operating system.
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
    /// Translates an error of libbpf.
    pub(crate) fn bpf(what: &'static str, error: &libbpf_rs::Error) -> Self {
        let said = SAID.lock().map_or(String::new(), |lines| lines.concat());
        let why = if error.kind() == ErrorKind::PermissionDenied && said.is_empty() {
            format!("{error}: is this root the machine's own?")
        } else {
            // The first message is the reason; later ones are its consequences.
            let first = said.lines().find_map(|line| line.strip_prefix("libbpf: "));
            match first {
                Some(first) => format!("{error} ({})", first.trim()),
                None => error.to_string(),
            }
        };
        Self::Refused { what, why }
    }
}

/// Returns the messages of libbpf since the last check of the machine, including the verifier's
/// log.
pub fn said() -> String {
    SAID.lock().map_or(String::new(), |lines| lines.concat())
}

/// Checks whether this process and this kernel can load programs, as far as possible without
/// loading one.
///
/// # Errors
/// Returns an error that names the first missing permission.
pub fn may_load() -> Result<(), KernelError> {
    check_machine()
}

/// Checks whether this process and this kernel can load programs; clears earlier messages of
/// libbpf.
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
