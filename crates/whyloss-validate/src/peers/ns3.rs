//! Runs ns-3 for a comparison. Its program is compiled once and cached; one process does several
//! runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::description::Asked;
use super::{Missing, Peer, PeerError, keep, process, unfinished};
use crate::case::Observed;

const SOURCE: &str = include_str!("../../peers/ns3.cc");
/// The time limit for the compiler, which takes seconds on an idle machine.
const COMPILE: Duration = Duration::from_mins(5);
/// The time limit of a run, which takes some seconds.
const LIMIT: Duration = Duration::from_mins(5);
const PROBE: Duration = Duration::from_mins(1);
const MODULES: [&str; 6] = [
    "core",
    "network",
    "internet",
    "point-to-point",
    "applications",
    "traffic-control",
];
/// A Python program that prints the path of the package `ns3`, without importing it.
const WHEEL: &str = "import importlib.util as u; s = u.find_spec('ns3'); \
                     print(*(s.submodule_search_locations if s else []))";

/// An ns-3 on this machine, with the compiled program for it.
#[derive(Clone, Debug)]
pub struct Ns3 {
    program: PathBuf,
}

/// The places of headers and libraries.
struct Place {
    /// The directory that holds `ns3/core-module.h`.
    headers: PathBuf,
    /// The directory of the libraries, if the linker does not know it.
    libraries: Option<PathBuf>,
    /// The prefix of the libraries' names: `ns3-`, `ns3.44-`.
    prefix: String,
}

impl Ns3 {
    /// Looks for `peer`, and compiles the program for it unless the cache has it. `cache` is the
    /// path from [`cache`](super::cache).
    ///
    /// # Errors
    /// Returns an outer error if the cache cannot be written, and an inner error if this ns-3 is
    /// missing.
    pub fn find(peer: Peer, cache: &Path) -> Result<Result<Self, Missing>, PeerError> {
        let missing = |why| Ok(Err(Missing { peer, why }));
        let place = match peer {
            Peer::Ns3Wheel => wheel(),
            _ => packaged(),
        };
        let place = match place {
            Ok(place) => place,
            Err(why) => return missing(why),
        };
        let (name, source) = (format!("ns3-{:016x}", fingerprint(&place)), "ns3.cc");
        let source = keep(cache, source, SOURCE)?;
        let program = cache.join(&name);
        if !program.exists() {
            let temporary = unfinished(cache, &name);
            if let Err(error) = compile(&place, &source, &temporary) {
                return missing(error.to_string());
            }
            fs::rename(&temporary, &program).map_err(|source| PeerError::Cache {
                path: program.clone(),
                source,
            })?;
        }
        Ok(Ok(Self { program }))
    }

    /// Returns the command that runs the program; `peers/ns3.cc` documents its input and output.
    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// Returns the results of the runs.
    ///
    /// # Errors
    /// Returns an error if ns-3 fails or prints an unexpected output.
    pub(crate) fn run(&self, asked: &Asked<'_>) -> Result<Vec<Observed>, PeerError> {
        let answer = process::run(&mut self.command(), &asked.description()?, LIMIT)?;
        asked.observed(&answer)
    }
}

/// Returns the directories in which the system's package manager installed ns-3.
fn packaged() -> Result<Place, String> {
    let headers = PathBuf::from("/usr/include");
    if !headers.join("ns3/core-module.h").exists() {
        return Err("there is no /usr/include/ns3/core-module.h".into());
    }
    Ok(Place {
        headers,
        libraries: None,
        prefix: "ns3-".into(),
    })
}

/// Returns the directories of the Python package `ns3`.
fn wheel() -> Result<Place, String> {
    let found = process::run(Command::new("python3").args(["-c", WHEEL]), "", PROBE)
        .map_err(|error| error.to_string())?;
    let package = PathBuf::from(found.trim());
    let headers = package.join("include");
    if found.trim().is_empty() || !headers.join("ns3/core-module.h").exists() {
        return Err("`python3` has no package `ns3` with headers".into());
    }
    let libraries = package.join("lib64");
    let names = fs::read_dir(&libraries).map_err(|error| error.to_string())?;
    let prefix = names.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let module = name.strip_prefix("lib")?.strip_suffix("-core.so")?;
        Some(format!("{module}-"))
    });
    Ok(Place {
        headers,
        libraries: Some(libraries),
        prefix: prefix.ok_or("the Python package `ns3` has no library `core`")?,
    })
}

fn compile(place: &Place, source: &Path, program: &Path) -> Result<(), PeerError> {
    let attempt = |standard: &str| {
        let mut command = Command::new("g++");
        command.args(["-O2", standard, "-w"]).arg(source);
        command.arg("-o").arg(program);
        if let Some(libraries) = &place.libraries {
            command.arg("-I").arg(&place.headers);
            command.arg("-L").arg(libraries);
            command.arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        command.args(MODULES.map(|module| format!("-l{}{module}", place.prefix)));
        process::run(&mut command, "", COMPILE)
    };
    // ns-3.37 compiles as C++17 but not as C++20, and ns-3.44 only as C++20.
    attempt("-std=c++17").or_else(|error| match error {
        PeerError::Failed { .. } => attempt("-std=c++20"),
        other => Err(other),
    })?;
    Ok(())
}

/// Hashes our program and the version of ns-3 (FNV-1a). A new version of either needs a new
/// build.
fn fingerprint(place: &Place) -> u64 {
    let library = match &place.libraries {
        Some(libraries) => format!("{}{}", libraries.display(), place.prefix),
        None => dpkg_version(),
    };
    let bytes = SOURCE.bytes().chain(library.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the version of Debian's package; empty where Debian's tools are missing.
fn dpkg_version() -> String {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "libns3-dev"]);
    process::run(&mut query, "", PROBE).unwrap_or_default()
}
