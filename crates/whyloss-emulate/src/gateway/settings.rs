//! The kernel's settings that a gateway changes, and the values to restore when the last gateway
//! ends.
//!
//! Gateways of one network namespace share a file in `/run`. Each holds a shared lock on it, and
//! each change adds a line with the old value. A gateway that gets an exclusive lock is the last:
//! it restores the values and removes the file. A file without locks remains only when gateways are
//! killed themselves; the next gateway adopts it.
//!
//! The file also has the machine's own switch, `ip_forward`, as the first gateway found it. If
//! another program, such as Docker, switches it on meanwhile, devices must forward afterwards too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use nix::libc;

use super::DEVICES;

/// The directory of the file with the changed settings. A lock on this directory keeps gateways
/// from starting or ending at the same time.
const RUN: &str = "/run";
/// The directory of the kernel's network settings.
const NET: &str = "/proc/sys/net";
/// The setting that makes all devices forward, which gateways do not change.
const MACHINE: &str = "ipv4/ip_forward";
/// The first part of the names of settings that make one device forward.
const DEVICE: &str = "ipv4/conf/";

/// The changes of all gateways here.
pub(super) struct Settings {
    file: File,
    path: PathBuf,
}

impl Settings {
    /// Joins the gateways of this network namespace.
    pub(super) fn begin() -> io::Result<Self> {
        let _alone = alone()?;
        let namespace = fs::metadata("/proc/self/ns/net")?.ino();
        let path = PathBuf::from(format!("{RUN}/whyloss-gateway-{namespace}"));
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let file = options
            .custom_flags(libc::O_NOFOLLOW)
            .mode(0o600)
            .open(&path)?;
        file.lock_shared()?;
        Ok(Self { file, path })
    }

    /// Enables forwarding of packets of runs. Returns the devices that forward because of this or
    /// another gateway.
    pub(super) fn forward(&mut self, device: &str) -> io::Result<Vec<String>> {
        let _alone = alone()?;
        // This setting disappears with the device.
        fs::write(format!("{NET}/{DEVICE}{device}/forwarding"), "1")?;
        if self.changes()?.iter().all(|(key, _)| key != MACHINE) {
            let value = fs::read_to_string(format!("{NET}/{MACHINE}"))?;
            writeln!(self.file, "{MACHINE} {}", value.trim())?;
        }
        for name in devices("ipv4")? {
            self.set(&format!("{DEVICE}{name}/forwarding"), "0", "1")?;
        }
        // Without IPv6 in the kernel, IPv4 alone is forwarded.
        for name in devices("ipv6").unwrap_or_default() {
            // Without this setting, a forwarding device would ignore announced routers.
            self.set(&format!("ipv6/conf/{name}/accept_ra"), "1", "2")?;
        }
        if fs::exists(format!("{NET}/ipv6/conf/all/forwarding"))? {
            self.set("ipv6/conf/all/forwarding", "0", "1")?;
        }
        let changes = self.changes()?;
        let opened = changes.iter().filter_map(|(key, _)| {
            Some(
                key.strip_prefix(DEVICE)?
                    .strip_suffix("/forwarding")?
                    .to_owned(),
            )
        });
        Ok(opened.collect())
    }

    /// Ends this gateway's use of the settings. The last gateway restores the old values.
    pub(super) fn end(mut self) -> io::Result<()> {
        let _alone = alone()?;
        match self.file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        let forwards = fs::read_to_string(format!("{NET}/{MACHINE}"));
        let forwards = forwards.is_ok_and(|value| value.trim() == "1");
        for (key, value) in to_restore(&self.changes()?, forwards) {
            // A device, and its settings, may no longer exist.
            let _ = fs::write(format!("{NET}/{key}"), value);
        }
        fs::remove_file(&self.path)
    }

    /// Changes a setting that has the value `from`.
    fn set(&mut self, key: &str, from: &str, to: &str) -> io::Result<()> {
        let path = format!("{NET}/{key}");
        if fs::read_to_string(&path)?.trim() == from {
            // Record the old value first, because the process may be killed before the next line.
            writeln!(self.file, "{key} {from}")?;
            fs::write(path, to)?;
        }
        Ok(())
    }

    /// Returns the keys and old values of the changed settings, and of `ip_forward`.
    fn changes(&mut self) -> io::Result<Vec<(String, String)>> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.read_to_string(&mut text)?;
        let pair = |line: &str| {
            let (key, value) = line.split_once(' ')?;
            Some((key.to_owned(), value.to_owned()))
        };
        Ok(text.lines().filter_map(pair).collect())
    }
}

/// Returns the settings to restore, the last change first. `forwards` says whether `ip_forward` is
/// on. If another program switched it on since the first gateway began, devices keep forwarding.
fn to_restore(
    changes: &[(String, String)],
    forwards: bool,
) -> impl Iterator<Item = &(String, String)> {
    let was_off = |(key, value): &(String, String)| key == MACHINE && value == "0";
    let keep = forwards && changes.iter().any(was_off);
    let restores = move |key: &str| key != MACHINE && !(keep && key.starts_with(DEVICE));
    changes.iter().rev().filter(move |(key, _)| restores(key))
}

/// Waits until no other gateway starts or stops. Other gateways wait until the returned lock is
/// dropped.
fn alone() -> io::Result<File> {
    let directory = File::open(RUN)?;
    directory.lock()?;
    Ok(directory)
}

/// Returns the devices of this namespace, except loopback and the devices of runs.
fn devices(family: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(format!("{NET}/{family}/conf"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_other = ["all", "default", "lo"].contains(&name.as_str());
        if !is_other && !name.starts_with(DEVICES) && !name.contains([' ', '"']) {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_keep_forwarding_if_the_machine_began_to() {
        let own = ["ipv6/conf/all/forwarding", "ipv4/conf/eth0/forwarding"];
        for (before, now, restored) in [
            ("0", false, &own[..]),
            ("0", true, &own[..1]),
            // The machine forwarded before, except from this device.
            ("1", true, &own[..]),
        ] {
            let lines = [(MACHINE, before), (own[1], "0"), (own[0], "0")];
            let changes = lines.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let keys: Vec<_> = to_restore(&changes, now).map(|(key, _)| key).collect();
            assert_eq!(keys, restored, "{before}, {now}");
        }
    }
}
