//! Links in real time, with real packets and the truth about each of them; TFRC and IFTP on real sockets.
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
//! | module | what |
//! |---|---|
//! | [`spec`] | what a user says: options or a scenario file |
//! | [`network`] | links and routes, sans-I/O: fates and times of packets |
//! | `run` | hosts in network namespaces, TUN devices, the forwarder (Linux) |
//! | `gateway` | NAT and a resolver for `--internet`, which go with the run (Linux) |
//! | `init` | the processes by which nothing outlives a run (Linux) |
//! | [`profiles`] | links by name, with the sources of their numbers |
//! | [`proxy`] | the links between UDP sockets, without root, on every platform |
//! | [`record`], [`archive`] | the log of a run, the directory it is in |
//! | [`packets`] | the log as a table |
//! | [`replay`] | the log, through `whyloss-link` again |
//! | [`summary`] | counts, lateness, the emulator's faults |
//! | `reality` | simulation against reality, in tables (Linux) |
//! | [`endpoint`] | TFRC and IFTP over UDP |
//!
//! `docs/guides/emulator.md` says how to use it, `docs/evidence/reality.md` what was measured with it.
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

pub use summary::Snapshot;

#[cfg(target_os = "linux")]
pub use place::become_root;
#[cfg(target_os = "linux")]
pub use run::{Done, Options, RunError, run};
