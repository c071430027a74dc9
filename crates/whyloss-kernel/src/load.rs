//! Loads controls into the kernel and unloads them.
//!
//! A BPF link registers a control. The control is unloaded when the process that holds the link
//! ends, for any reason, unless the link is pinned. Sockets keep an unloaded control until they
//! close.

use std::fs;
use std::path::{Path, PathBuf};

use whyloss::congestion::evidence;
use whyloss::sender::trees;

use libbpf_rs::{ErrorKind, Link, MapCore, MapType, Object, ObjectBuilder};

use crate::control::{Algorithm, Control};
use crate::error::{KernelError, MOST_NAME, check_machine};
use crate::find;
use crate::shared::{CONTROL, EVENTS, STATES, Shared};

/// The directory of pinned links.
const PINS: &str = "/sys/fs/bpf/whyloss";

/// Returns the compiled program of an algorithm.
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
        Algorithm::Whyloss => object!("whyloss"),
    }
}

/// A control in the kernel. Dropping this value unloads it.
#[derive(Debug)]
pub struct Held {
    name: String,
    link: Link,
    _object: Object,
}

impl Held {
    /// Returns the control's name in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Loads a control under a name of 1 to 15 bytes.
///
/// # Errors
/// Returns an error if the name has another length or a zero byte, this process has no permission,
/// the kernel has no support, or the name is taken.
pub fn load(control: &Control, name: &str) -> Result<Held, KernelError> {
    load_for(control, name, std::process::id())
}

/// Loads controls that stay until they are [unloaded](unload). Loads all of them or none.
///
/// # Errors
/// Returns the errors of [`load`]. If pins cannot be stored, returns an error before it loads any
/// control.
pub fn load_pinned(controls: &[&Control]) -> Result<(), KernelError> {
    check_machine()?;
    // Pinning needs a BPF file system at this path.
    let types = nix::sys::statfs::statfs("/sys/fs/bpf").map(|stat| stat.filesystem_type());
    if types != Ok(nix::sys::statfs::BPF_FS_MAGIC) {
        return Err(KernelError::NoFileSystem);
    }
    // Programs that are not pinned are unloaded when this function returns.
    let mut held = Vec::new();
    for control in controls {
        held.push((pin(control), load_for(control, control.name, 0)?));
    }
    fs::create_dir_all(PINS).map_err(|source| pin_error(Path::new(PINS), source))?;
    for index in 0..held.len() {
        let (path, control) = &mut held[index];
        if let Err(error) = control.link.pin(&*path) {
            for (path, _) in &held[..index] {
                // Only the first error is reported.
                let _ = fs::remove_file(path);
            }
            let _ = fs::remove_dir(PINS);
            return Err(KernelError::bpf("pin a control", &error));
        }
    }
    Ok(())
}

fn load_for(control: &Control, name: &str, holder: u32) -> Result<Held, KernelError> {
    // The kernel would cut such names, and take two names with the same beginning for one.
    if name.is_empty() || name.len() > MOST_NAME || name.contains('\0') {
        return Err(KernelError::Name(name.into()));
    }
    check_machine()?;
    let refused = |error: libbpf_rs::Error| KernelError::bpf("load a congestion control", &error);
    // Copy the program, because the loader needs it aligned.
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
        if map.name() == FORESTS
            && let Some(value) = map.initial_value_mut()
        {
            plant(value);
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

/// The section of `trees.h` that holds the tables of trees.
const FORESTS: &str = ".rodata.wl_forests";

/// `MOST_TREES` of `trees.h`, and the size of its `struct tree` in bytes.
const ROOM: usize = 64;
const TREE: usize = 80;
const _: () = assert!(trees::GROWN <= ROOM && evidence::GROWN <= ROOM);

/// Writes the trees of the library into both `struct forest` of `trees.h`.
fn plant(place: &mut [u8]) {
    let (classifier, scheme) = place.split_at_mut(place.len() / 2);
    let threshold = trees::Trees::default().threshold();
    plant_one(classifier, threshold, trees::table());
    plant_one(scheme, evidence::FIRST_CUT, evidence::table());
}

fn plant_one(
    place: &mut [u8],
    threshold: i32,
    table: impl Iterator<Item = (&'static [(u8, i16); 15], &'static [i16; 16])>,
) {
    let mut trees = Vec::new();
    let mut count = 0_u32;
    for (questions, leaves) in table {
        count += 1;
        let bounds = questions.iter().map(|(_, bound)| bound);
        trees.extend(bounds.chain(leaves).flat_map(|number| number.to_ne_bytes()));
        trees.extend(questions.iter().map(|(asked, _)| asked));
        trees.resize(count as usize * TREE, 0);
    }
    let head = [count.to_ne_bytes(), threshold.to_ne_bytes()];
    for (byte, value) in place
        .iter_mut()
        .zip(head.into_iter().flatten().chain(trees))
    {
        *byte = value;
    }
}

/// Replaces the name of the control by one that fits.
fn rename(value: &mut [u8], own: &str, name: &str) {
    const LENGTH: usize = MOST_NAME + 1;
    let at = value
        .windows(own.len() + 1)
        .position(|window| window.strip_prefix(own.as_bytes()) == Some(&[0]));
    if let Some(place) = at.and_then(|at| value.get_mut(at..at + LENGTH)) {
        place.fill(0);
        place[..name.len()].copy_from_slice(name.as_bytes());
    }
}

/// Unloads a pinned control.
///
/// # Errors
/// Returns an error if the control is not loaded, or another process holds it.
pub fn unload(control: &Control) -> Result<(), KernelError> {
    check_machine()?;
    let path = pin(control);
    match fs::remove_file(&path) {
        Ok(()) => {
            // This succeeds only for the last control, because others keep the directory non-empty.
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

/// Returns the path of a control's pinned link.
pub(crate) fn pin(control: &Control) -> PathBuf {
    Path::new(PINS).join(control.id)
}

fn pin_error(path: &Path, source: std::io::Error) -> KernelError {
    KernelError::Pin {
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::CONTROLS;

    /// Reads a table as `trees.h` does.
    fn leaf(place: &[u8], tree: usize, values: &[i16]) -> i32 {
        let tree = &place[8 + 80 * tree..][..80];
        let number = |at: usize| i16::from_ne_bytes([tree[2 * at], tree[2 * at + 1]]);
        let mut at = 0;
        for half in [8, 4, 2, 1] {
            let question = at + half - 1;
            let asked = usize::from(tree[62 + question]);
            at += half * usize::from(values[asked] > number(question));
        }
        i32::from(number(15 + at))
    }

    /// Draws values, and compares the sums over a forest with the library's.
    fn agree<const COUNT: usize>(
        place: &[u8],
        (grown, threshold): (usize, i32),
        log_odds: fn(&[i16; COUNT]) -> i32,
    ) {
        let word = |at: usize| i32::from_ne_bytes([0, 1, 2, 3].map(|byte| place[at + byte]));
        assert_eq!([word(0), word(4)], [grown as i32, threshold]);
        let mut state = 1_u32;
        for _ in 0..1_000 {
            let values = [(); COUNT].map(|()| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16) as i16 % 1_000
            });
            let sum: i32 = (0..grown).map(|tree| leaf(place, tree, &values)).sum();
            assert_eq!(sum, log_odds(&values));
        }
    }

    #[test]
    fn names_that_the_kernel_would_cut_are_refused() {
        for name in ["", "sixteen_bytes_it", "wl\0"] {
            // Only the name is checked before the permission.
            let refused = load(&CONTROLS[0], name);
            assert!(matches!(refused, Err(KernelError::Name(ref said)) if said == name));
        }
        let error = KernelError::Name(String::new()).to_string();
        assert_eq!(
            error,
            "a control's name has 1 to 15 bytes, none of them zero, unlike \"\""
        );
    }

    #[test]
    fn a_name_of_fifteen_bytes_replaces_the_own() {
        let mut value = [b"..wl_whyloss\0\0\0\0\0\0".as_slice(), &[7; 4]].concat();
        rename(&mut value, "wl_whyloss", "fifteen_bytes__");
        assert_eq!(value, b"..fifteen_bytes__\0\x07\x07\x07\x07");
    }

    #[test]
    fn the_program_finds_the_librarys_trees() {
        let mut place = vec![0; 2 * (8 + 64 * 80)];
        plant(&mut place);
        let (classifier, scheme) = place.split_at(8 + 64 * 80);
        let threshold = (1e3 * trees::Trees::THRESHOLD) as i32;
        agree(classifier, (trees::GROWN, threshold), trees::log_odds);
        let own = (evidence::GROWN, evidence::FIRST_CUT);
        agree(scheme, own, evidence::log_odds);
    }
}
