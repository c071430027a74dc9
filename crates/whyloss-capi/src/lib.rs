//! The C interface of Whyloss: congestion control, causes of loss, and a bitrate for media.
//! `include/whyloss.h` is its header.
//!
//! | object | takes | returns | file |
//! |---|---|---|---|
//! | `whyloss_scheme` | packets sent, acknowledged, lost, by number | window, pacing rate, causes and odds | `scheme.rs` |
//! | `whyloss_receiver` | packets that arrive | lost packets with their causes | `receiver.rs` |
//! | `whyloss_media` | a receiver's reports | the bitrate to send at | `media.rs` |
//!
//! # Contract
//!
//! - The caller owns the memory of an object. `whyloss_…_size` returns its size; `malloc` gives the
//!   required alignment. `whyloss_…_init` fills the memory. An object must not be copied or moved.
//! - `whyloss_scheme_init` allocates the scheme's ledger, and `whyloss_media_init` 40 KiB of
//!   tables; `whyloss_…_drop` frees them. No other function allocates, and receivers never do.
//! - Every function returns a [`Status`]. With a status other than `OK`, it has set counts to 0 and
//!   changed nothing else, unless its description says otherwise. Null pointers, uninitialised or
//!   dropped objects, and events out of order are errors. An object's memory must be zero before
//!   `init`, so that a call before `init` is detected.
//! - A pointer must be null, or point to aligned memory for the object, the array or the text that
//!   the description names. Until the call returns, only the call may use this memory.
//! - An object serves one thread at a time. Distinct objects share nothing.
//! - A panic of this library is a defect. The call then returns `WHYLOSS_STATUS_BROKEN`, as does
//!   every later call with that object.
//! - [`ABI`] changes whenever programs must be compiled again. `init` rejects any other number, and
//!   the name of the shared library contains it.
#![allow(unsafe_code, reason = "pointers of C; each use says why it is sound")]
#![deny(clippy::undocumented_unsafe_blocks)]

mod held;
pub mod media;
pub mod receiver;
pub mod scheme;
mod text;

use core::ffi::c_char;

pub use held::Status;

/// The version of this interface. `init` rejects any other.
pub const ABI: u32 = 1;

/// The cause of a loss.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The cause is not known.
    Unknown = 0,
    /// A full queue dropped the packet.
    Congestion = 1,
    /// A channel damaged the packet.
    Wireless = 2,
}

impl From<whyloss::Cause> for Why {
    fn from(cause: whyloss::Cause) -> Self {
        match cause {
            whyloss::Cause::Congestion => Self::Congestion,
            whyloss::Cause::Wireless => Self::Wireless,
        }
    }
}

/// Returns the version of the library's interface: `WHYLOSS_ABI` of its header.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_abi() -> u32 {
    ABI
}

/// Returns a sentence that explains a status. The caller must not free it.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_status_text(status: i32) -> *const c_char {
    Status::text(status).as_ptr()
}
