//! Emulated links for real packets, with the cause of each loss; TFRC and IFTP on real sockets.
//!
//! ```
//! use whyloss::Time;
//! use whyloss_emulate::network::{LinkPlan, Offer, Service};
//! use whyloss_link::LinkSpec;
//!
//! let plan = LinkPlan { name: "air".to_owned(), spec: LinkSpec::default() };
//! let packet = Offer { ticket: 0, flow: 0, size: 1500 };
//! let (waiting, outcome, _) = Service::new(&plan, 1, 0).offer(Time::ZERO, packet);
//! println!("{waiting} packets waited; {outcome:?}");
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`spec`] | the user's input: options or a scenario file |
//! | [`network`] | links and routes, sans-I/O: fates and times of packets |
//! | `run` | hosts in network namespaces, TUN devices, the forwarder (Linux) |
//! | `gateway` | NAT and a name resolver for `--internet`, which end with the run (Linux) |
//! | `init` | the processes that end a command and its children with the run (Linux) |
//! | [`profiles`] | typical links by name, with the sources of their numbers |
//! | [`proxy`] | the links between UDP sockets, without root, on every platform |
//! | [`record`], [`archive`] | the log of a run, and the directory that holds it |
//! | [`packets`] | the log as a Parquet table |
//! | [`replay`] | sends the log through `whyloss-link` again |
//! | [`summary`] | counts, lateness, and the emulator's faults |
//! | `reality` | compares simulations with kernels and sockets, in tables (Linux) |
//! | [`endpoint`] | TFRC and IFTP over UDP |
//!
//! `docs/guides/emulator.md` describes the use of the emulator, and `docs/evidence/reality.md` its
//! accuracy.
#![deny(unsafe_code)]

pub mod addresses;
pub mod archive;
pub mod endpoint;
pub mod header;
pub mod network;
pub mod packets;
pub mod record;
pub mod replay;
pub mod spec;
pub mod summary;

mod clock;
#[cfg(target_os = "linux")]
mod device;
mod forward;
#[cfg(target_os = "linux")]
mod gateway;
#[cfg(target_os = "linux")]
pub mod init;
mod log;
#[cfg(target_os = "linux")]
mod place;
pub mod profiles;
pub mod proxy;
#[cfg(target_os = "linux")]
mod real_time;
#[cfg(target_os = "linux")]
pub mod reality;
mod rests;
#[cfg(target_os = "linux")]
pub mod run;
#[cfg(target_os = "linux")]
mod segments;
mod spacing;

pub use summary::Snapshot;

#[cfg(target_os = "linux")]
pub use place::become_root;
#[cfg(target_os = "linux")]
pub use run::{Done, Options, RunError, run};
