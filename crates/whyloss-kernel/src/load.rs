//! Loads controls into the kernel, and takes them out again.
//!
//! A control is registered by a BPF link. It goes with the process that holds the link, however that ends, unless the link
//! is pinned. Sockets that use a control which goes keep it until they close.

use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::{ErrorKind, Link, MapCore, MapType, Object, ObjectBuilder};

use crate::control::{Algorithm, Control};
use crate::error::{KernelError, check_machine};
use crate::find;
use crate::shared::{CONTROL, EVENTS, STATES, Shared};

/// Where links are pinned.
const PINS: &str = "/sys/fs/bpf/whyloss";

/// The programs, as compiled.
fn program(algorithm: Algorithm) -> &'static [u8] {
    macro_rules! object {
        ($name:literal) => {
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o"))
        };
    }
    match algorithm {
        Algorithm::NewRenoLp => object!("newreno_lp"),
        Algorithm::CubicLp => object!("cubic_lp"),
        Algorithm::Westwood => object!("westwood"),
        Algorithm::WestwoodLp => object!("westwood_lp"),
        Algorithm::Tibet => object!("tibet"),
        Algorithm::Balde => object!("balde"),
        Algorithm::Veno => object!("veno"),
        Algorithm::VenoEnhanced => object!("veno_enhanced"),
    }
}

/// A control in the kernel, which goes when this does.
#[derive(Debug)]
pub struct Held {
    name: String,
    link: Link,
    _object: Object,
}

impl Held {
    /// What the kernel calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Loads a control under a name, which is at most 15 bytes long.
///
/// # Errors
/// If this process may not, the kernel cannot, or the name is taken.
pub fn load(control: &Control, name: &str) -> Result<Held, KernelError> {
    load_for(control, name, std::process::id())
}

/// Loads controls so that they stay until they are [unloaded](unload): all of them, or none.
///
/// # Errors
/// As [`load`], and if there is no place for pins, which is found before anything is loaded.
pub fn load_pinned(controls: &[&Control]) -> Result<(), KernelError> {
    check_machine()?;
    // The BPF file system's number (linux/magic.h).
    let types = nix::sys::statfs::statfs("/sys/fs/bpf").map(|stat| stat.filesystem_type());
    if types != Ok(nix::sys::statfs::BPF_FS_MAGIC) {
        return Err(KernelError::NoFileSystem);
    }
    // What is not pinned goes when this returns.
    let mut held = Vec::new();
    for control in controls {
        held.push((pin(control), load_for(control, control.name, 0)?));
    }
    fs::create_dir_all(PINS).map_err(|source| pin_error(Path::new(PINS), source))?;
    for index in 0..held.len() {
        let (path, control) = &mut held[index];
        if let Err(error) = control.link.pin(&*path) {
            for (path, _) in &held[..index] {
                // The first error is the one to tell of.
                let _ = fs::remove_file(path);
            }
            let _ = fs::remove_dir(PINS);
            return Err(KernelError::bpf("pin a control", &error));
        }
    }
    Ok(())
}

fn load_for(control: &Control, name: &str, holder: u32) -> Result<Held, KernelError> {
    check_machine()?;
    let refused = |error: libbpf_rs::Error| KernelError::bpf("load a congestion control", &error);
    // A copy, since the loader wants it aligned.
    let bytes = program(control.algorithm).to_vec();
    let mut open = ObjectBuilder::default()
        .open_memory(&bytes)
        .map_err(refused)?;
    for mut map in open.maps_mut() {
        if map.map_type() == MapType::StructOps
            && let Some(value) = map.initial_value_mut()
        {
            rename(value, control.name, name);
        }
    }
    let mut object = open.load().map_err(refused)?;
    let number = |wanted: &str| {
        let map = object.maps().find(|map| map.name() == wanted);
        map.map_or(Ok(0), |map| map.info().map(|info| info.info.id))
            .map_err(refused)
    };
    let shared = Shared {
        holder,
        states: number(STATES)?,
        events: number(EVENTS)?,
        algorithm: control.algorithm.number(),
        name: name.into(),
        ..Shared::default()
    };
    if let Some(map) = object.maps().find(|map| map.name() == CONTROL) {
        shared.write(&map)?;
    }
    let link = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .map(|mut map| map.attach_struct_ops());
    match link {
        Some(Ok(link)) => Ok(Held {
            name: name.into(),
            link,
            _object: object,
        }),
        Some(Err(error)) if error.kind() == ErrorKind::AlreadyExists => {
            drop(object);
            let holder = find::loaded()?.into_iter().find(|other| other.name == name);
            Err(KernelError::Loaded {
                name: name.into(),
                holder: holder.and_then(|other| other.holder),
            })
        }
        Some(Err(error)) => Err(refused(error)),
        None => Err(KernelError::NotLoaded(name.into())),
    }
}

/// Writes another name in the place of the control's own.
fn rename(value: &mut [u8], own: &str, name: &str) {
    const LENGTH: usize = 16;
    let at = value
        .windows(own.len() + 1)
        .position(|window| window.strip_prefix(own.as_bytes()) == Some(&[0]));
    if let Some(place) = at.and_then(|at| value.get_mut(at..at + LENGTH)) {
        place.fill(0);
        let length = name.len().min(LENGTH - 1);
        place[..length].copy_from_slice(&name.as_bytes()[..length]);
    }
}

/// Takes a pinned control out.
///
/// # Errors
/// If it is not loaded, or another process holds it.
pub fn unload(control: &Control) -> Result<(), KernelError> {
    check_machine()?;
    let path = pin(control);
    match fs::remove_file(&path) {
        Ok(()) => {
            // The last one out; others keep the directory.
            let _ = fs::remove_dir(PINS);
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let loaded = find::loaded()?;
            let held = loaded
                .iter()
                .find(|other| other.name == control.name && other.registered);
            Err(match held.and_then(|held| held.holder) {
                Some(process) => KernelError::Held {
                    name: control.id.into(),
                    process,
                },
                None => KernelError::NotLoaded(control.id.into()),
            })
        }
        Err(source) => Err(pin_error(&path, source)),
    }
}

/// Where the link of a control is pinned.
pub(crate) fn pin(control: &Control) -> PathBuf {
    Path::new(PINS).join(control.id)
}

fn pin_error(path: &Path, source: std::io::Error) -> KernelError {
    KernelError::Pin {
        path: path.display().to_string(),
        source,
    }
}
