//! Runs loss classifiers in the Linux kernel, as congestion controls in BPF, and compares them with
//! the core.
//!
//! ```
//! use whyloss_kernel::control::CONTROLS;
//!
//! for control in CONTROLS {
//!     println!("{} ({}): {}", control.id, control.name, control.summary);
//! }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`control`] | the controls, by name |
//! | [`event`] | the programs' events: acknowledgements, and the decision at each loss |
//! | [`judge`] | compares decisions with those of the core's algorithms on the same events |
//! | `load` | loads, pins and unloads controls (feature `bpf`, Linux) |
//! | `find` | loaded controls and their sockets (feature `bpf`, Linux) |
//! | `watch` | reads the programs' events (feature `bpf`, Linux) |
//! | `bed` | transfers of the kernel's TCP through `whyloss link` (feature `bpf`, Linux) |
//! | `test_bed` | the figures of Martignon and Fratta's test bed, with this kernel (`bpf`, Linux) |
//! | `check` | compares every control with the core over such transfers (feature `bpf`, Linux) |
//!
//! The programs are in C (`src/bpf`) and compiled with the feature `bpf`; without it, nothing here
//! needs clang, libelf or zlib. `docs/guides/kernel.md` explains their use;
//! `docs/evidence/kernel.md` has measurements.

pub mod control;
pub mod event;
pub mod judge;

#[cfg(all(feature = "bpf", target_os = "linux"))]
pub mod bed;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub mod check;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod error;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub mod find;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub mod load;
#[cfg(all(feature = "bpf", target_os = "linux"))]
mod shared;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub mod test_bed;
#[cfg(all(feature = "bpf", target_os = "linux"))]
pub mod watch;

#[cfg(all(feature = "bpf", target_os = "linux"))]
pub use error::{KernelError, may_load, said};
