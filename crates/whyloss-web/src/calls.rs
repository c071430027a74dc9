//! The functions that the WebAssembly exports, and the memory that they share with the page.
//!
//! 1. The page calls [`whyloss_input`] for memory and copies its bytes into it.
//! 2. The page calls one of the functions below. The function returns 0, or 1 if the only part is
//!    an error message.
//! 3. The page reads the parts: [`whyloss_part`] returns the address of a part, and
//!    [`whyloss_part_length`] its length in bytes.
//!
//! Each call drops the input and the parts of the previous call. A number is a `u32`, because
//! WebAssembly has 32-bit addresses.
// The names must reach the page unchanged. Nothing else here is unsafe: only the page uses raw
// addresses.
#![expect(
    unsafe_code,
    reason = "`no_mangle` counts as unsafe, since two functions could share a name"
)]

use std::cell::RefCell;

use crate::{choices, diagnosis, playground};

/// The memory that page and program share.
#[derive(Default)]
struct Shared {
    input: Vec<u8>,
    parts: Vec<Vec<u8>>,
}

thread_local! {
    static SHARED: RefCell<Shared> = RefCell::default();
}

/// Returns the address of `bytes` bytes for the input of the next call.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_input(bytes: u32) -> *mut u8 {
    SHARED.with_borrow_mut(|shared| {
        shared.parts = Vec::new();
        shared.input = vec![0; bytes as usize];
        shared.input.as_mut_ptr()
    })
}

/// Returns the number of parts that the last call returned.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_parts() -> u32 {
    SHARED.with_borrow(|shared| shared.parts.len() as u32)
}

/// Returns the address of a part; null if no part has this number.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_part(number: u32) -> *const u8 {
    SHARED.with_borrow(|shared| {
        let part = shared.parts.get(number as usize);
        part.map_or(std::ptr::null(), Vec::as_ptr)
    })
}

/// Returns the length of a part in bytes; 0 if no part has this number.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_part_length(number: u32) -> u32 {
    SHARED.with_borrow(|shared| {
        let part = shared.parts.get(number as usize);
        part.map_or(0, |part| part.len() as u32)
    })
}

/// Returns the [`choices`] as JSON, in one part.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_choices() -> u32 {
    answer(|_| Ok(vec![choices::render().into_bytes()]))
}

/// Diagnoses the input. Its first `name` bytes are the file's name in UTF-8; the rest is its
/// contents. The parts are alternately the name and the contents of each resulting file.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_diagnose(name: u32) -> u32 {
    answer(|mut input| {
        let file = input.split_off((name as usize).min(input.len()));
        let files = diagnosis::files(&String::from_utf8_lossy(&input), file)?;
        let parts = files.into_iter();
        Ok(parts
            .flat_map(|(name, bytes)| [name.into_bytes(), bytes])
            .collect())
    })
}

/// Runs the input, a scenario, with this seed. The parts are those of
/// [`playground::Play::into_parts`].
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_play(seed: u32) -> u32 {
    answer(|input| {
        let text = String::from_utf8_lossy(&input);
        Ok(playground::play(&text, u64::from(seed))?.into_parts())
    })
}

/// Runs `call` on the input and keeps the parts that it returns.
fn answer(call: impl FnOnce(Vec<u8>) -> Result<Vec<Vec<u8>>, String>) -> u32 {
    let input = SHARED.with_borrow_mut(|shared| std::mem::take(&mut shared.input));
    let (parts, code) = match call(input) {
        Ok(parts) => (parts, 0),
        Err(message) => (vec![message.into_bytes()], 1),
    };
    SHARED.with_borrow_mut(|shared| shared.parts = parts);
    code
}
