//! Finds all loaded controls and their sockets in every network namespace.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::fd::AsFd as _;

use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{ErrorKind, Iter, MapHandle, ObjectBuilder};

use crate::control::Algorithm;
use crate::error::{KernelError, check_machine};
use crate::event::{Counts, Ends, Event, INTRODUCTION, STATE};
use crate::shared::{CONTROL, Shared};

/// A control that is loaded, or that still has sockets after it was unloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The control's name in the kernel.
    pub name: String,
    /// The algorithm of the control.
    pub algorithm: Algorithm,
    /// The id of the process that holds the control; `None` if the control is pinned.
    pub holder: Option<u32>,
    /// Whether new sockets can use the control.
    pub registered: bool,
    /// The id of the process that watches the control, if there is one.
    pub watcher: Option<u32>,
    /// The kernel's id of the control's map.
    pub(crate) map: u32,
    pub(crate) shared: Shared,
}

/// A socket under a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The ends of the connection.
    pub ends: Ends,
    /// The latest state of the socket.
    pub now: Event,
    /// The counters of the control's program for this socket.
    pub counts: Counts,
}

/// Returns all controls of this project in the kernel.
///
/// # Errors
/// Returns an error if this process does not have the permission.
pub fn loaded() -> Result<Vec<Loaded>, KernelError> {
    check_machine()?;
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    // If several controls have the same name, only the latest is still loaded.
    let mut latest = BTreeMap::new();
    let mut found = Vec::new();
    for info in MapInfoIter::default().filter(|info| info.name == CONTROL) {
        let Ok(map) = MapHandle::from_map_id(info.id) else {
            // The control was unloaded in the meantime.
            continue;
        };
        let Some(shared) = Shared::of(&map).filter(|shared| !shared.name.is_empty()) else {
            continue;
        };
        let Some(algorithm) = Algorithm::of_number(shared.algorithm) else {
            continue;
        };
        latest.insert(shared.name.clone(), info.id);
        let watched = shared.watched_until_us > crate::shared::now_us();
        found.push(Loaded {
            name: shared.name.clone(),
            algorithm,
            holder: (shared.holder > 0).then_some(shared.holder),
            registered: false,
            watcher: watched.then_some(shared.watcher),
            map: info.id,
            shared,
        });
    }
    for loaded in &mut found {
        let known = available.split_whitespace().any(|name| name == loaded.name);
        loaded.registered = known && latest.get(&loaded.name) == Some(&loaded.map);
    }
    Ok(found)
}

/// Returns the sockets of a control; an empty list if it has been unloaded.
///
/// # Errors
/// Returns [`KernelError::NoIterators`] if the kernel refuses to list sockets, as hardened kernels
/// do. Returns another error if listing fails.
pub fn sockets(loaded: &Loaded) -> Result<Vec<Socket>, KernelError> {
    let refused = |error: libbpf_rs::Error| KernelError::bpf("walk sockets", &error);
    let states = match MapHandle::from_map_id(loaded.shared.states) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        states => states.map_err(refused)?,
    };
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/status.bpf.o")).to_vec();
    let open = ObjectBuilder::default()
        .open_memory(&bytes)
        .map_err(refused)?;
    let object = open.load().map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => KernelError::NoIterators,
        _ => refused(error),
    })?;
    let Some(walk) = object.progs_mut().next() else {
        return Ok(Vec::new());
    };
    let link = walk.attach_iter(states.as_fd()).map_err(refused)?;
    let mut walked = Vec::new();
    Iter::new(&link)
        .map_err(refused)?
        .read_to_end(&mut walked)
        .map_err(|error| KernelError::bpf("walk sockets", &error.into()))?;
    let socket = |bytes: &[u8]| {
        let (who, state) = bytes.split_at_checked(INTRODUCTION)?;
        let (now, ends) = Event::read(who)?;
        Some(Socket {
            ends: ends?,
            now,
            counts: Counts::read(state)?,
        })
    };
    Ok(walked
        .chunks_exact(INTRODUCTION + STATE)
        .filter_map(socket)
        .collect())
}
