//! Loss classifiers in the Linux kernel: congestion controls in BPF, and what holds them to the
//! core.
//!
//! ```
//! use whyloss_kernel::control::CONTROLS;
//!
//! for control in CONTROLS {
//!     println!("{} ({}): {}", control.id, control.name, control.summary);
//! }
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`control`] | the controls, by name |
//! | [`event`] | what the programs tell: acknowledgements, and what they decided at each loss |
//! | [`judge`] | the core's algorithms, fed with the same events: the same decisions? |
//! | `load` | loads, pins and unloads controls (feature `bpf`, Linux) |
//! | `find` | controls that are loaded, and the sockets under them (likewise) |
//! | `watch` | listens to what the programs tell (likewise) |
//! | `bed` | transfers of the kernel's TCP through `whyloss link` (likewise) |
//! | `test_bed` | the figures of Martignon and Fratta's test bed, with this kernel (likewise) |
//! | `check` | every control held to the core over such transfers (likewise) |
//!
//! The programs are in C (`src/bpf`), compiled where the feature `bpf` is on; without it nothing
//! here needs clang, libelf or zlib. `docs/guides/kernel.md` says how to use them and what was
//! measured.

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
