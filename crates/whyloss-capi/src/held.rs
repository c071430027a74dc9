//! Creates, checks and drops objects in the caller's memory, for `scheme.rs`, `receiver.rs` and
//! `media.rs`.

use core::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::ABI;
use crate::text::Message;

/// The outcome of a call.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A pointer is null.
    Null = 1,
    /// The object was not initialised, or was dropped.
    Uninitialised = 2,
    /// The memory is smaller than the object, or not aligned as `malloc` aligns.
    Memory = 3,
    /// The program was compiled with a header of another ABI.
    Abi = 4,
    /// A name or a parameter is unknown or out of its range.
    Name = 5,
    /// A number is out of its range.
    Range = 6,
    /// The packet number or the time is before an earlier one.
    Order = 7,
    /// There is not enough memory for this number of packets.
    Allocation = 8,
    /// The library failed; the object can no longer be used.
    Broken = 9,
}

impl Status {
    /// Returns a sentence about the status with this number.
    pub(crate) fn text(status: i32) -> &'static CStr {
        match status {
            0 => c"done",
            1 => c"a pointer is null",
            2 => c"the object was not initialised, or was dropped; call init first",
            3 => {
                c"the memory is too small or badly aligned; take as many bytes as the size \
                   function says from malloc"
            }
            4 => c"the header is of another version than the library; compile the program again",
            5 => c"a name or parameter is unknown or out of its range; init writes which",
            6 => c"a number is out of its range; the header says the range",
            7 => {
                c"a packet number or a time lies before one told earlier; numbers of sent \
                   packets rise, and times do not fall"
            }
            8 => c"there is no memory for so many packets; take fewer",
            9 => c"the library failed, which is a defect of it; drop the object and report it",
            _ => c"no status has this number",
        }
    }
}

/// An object behind a pointer of C.
pub(crate) trait Object: Sized {
    /// Marks live objects of this kind.
    const LIVE: u64;
}

/// Marks an object in which a call panicked.
const BROKEN: u64 = 0x6272_6f6b_656e_2121;

/// The memory of an object.
#[repr(C)]
struct Held<O> {
    mark: u64,
    object: O,
}

/// Returns the size of an object in bytes.
pub(crate) const fn size<O>() -> usize {
    size_of::<Held<O>>()
}

/// Returns whether `pointer` is aligned for a `T`. Memory from `malloc` always is.
fn aligned<T>(pointer: *const T) -> bool {
    pointer.is_aligned()
}

/// Writes the object that `make` returns to `memory`. On an error, writes a message to `text`.
///
/// # Safety
/// - `memory` must be null, or point to `size` bytes that only this call may write. An object in
///   this memory is overwritten without being dropped.
/// - `text` must be null, or point to `room` bytes that only this call may write.
pub(crate) unsafe fn init<O: Object>(
    memory: *mut u8,
    size: usize,
    (text, room): (*mut c_char, usize),
    abi: Option<u32>,
    make: impl FnOnce(&mut Message) -> Result<O, Status>,
) -> Status {
    // SAFETY: `text` is null or points to `room` writable bytes.
    let mut message = unsafe { Message::new(text, room) };
    let held = memory.cast::<Held<O>>();
    let made = match abi {
        None => Err(Status::Null),
        _ if held.is_null() => Err(Status::Null),
        Some(ABI) if size < size_of::<Held<O>>() || !aligned(held) => Err(Status::Memory),
        Some(ABI) => {
            catch_unwind(AssertUnwindSafe(|| make(&mut message))).unwrap_or(Err(Status::Broken))
        }
        Some(_) => Err(Status::Abi),
    };
    match made {
        Ok(object) => {
            let mark = O::LIVE;
            // SAFETY: the memory is large enough and aligned. An object in it need not be dropped.
            unsafe { held.write(Held { mark, object }) };
            Status::Ok
        }
        Err(status) => {
            message.default(Status::text(status as i32));
            status
        }
    }
}

/// Calls `act` with the object at `memory`. Returns an error if no object is live there.
///
/// # Safety
/// `memory` must be null, misaligned, or point to [`size`] bytes that only this call uses. These
/// bytes must be zero, or as [`init`], [`drop`] or an earlier call left them.
#[inline]
pub(crate) unsafe fn with<O: Object>(
    memory: *mut u8,
    act: impl FnOnce(&mut O) -> Result<(), Status>,
) -> Status {
    let held = memory.cast::<Held<O>>();
    if held.is_null() {
        return Status::Null;
    }
    if !aligned(held) {
        return Status::Memory;
    }
    // SAFETY: the pointer is aligned, not null, and points to the caller's memory. The mark can be
    // read even if the memory holds no object.
    let mark = unsafe { &mut (*held).mark };
    if *mark != O::LIVE {
        return if *mark == BROKEN {
            Status::Broken
        } else {
            Status::Uninitialised
        };
    }
    // SAFETY: the mark shows that `init` wrote an object here, and no other call uses it.
    let object = unsafe { &mut (*held).object };
    match catch_unwind(AssertUnwindSafe(|| act(object))) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(status)) => status,
        Err(_) => {
            *mark = BROKEN;
            Status::Broken
        }
    }
}

/// Empties the memory of an object. Memory that a broken object allocated is not freed.
///
/// # Safety
/// See [`with`].
pub(crate) unsafe fn drop<O: Object>(memory: *mut u8) -> Status {
    let held = memory.cast::<Held<O>>();
    // SAFETY: `memory` is as [`with`] requires. The mark is cleared below, so the object is dropped
    // once.
    let status = unsafe {
        with::<O>(memory, |object| {
            core::ptr::drop_in_place(object);
            Ok(())
        })
    };
    if matches!(status, Status::Ok | Status::Broken) {
        // SAFETY: `with` has read the mark, and this memory holds an object.
        unsafe { (*held).mark = 0 };
    }
    status
}

/// Returns a reference to the value at `pointer`, or the error that it is null or misaligned.
///
/// # Safety
/// `pointer` must be null, misaligned, or valid for reads as long as the borrow lives.
pub(crate) unsafe fn input<'a, T>(pointer: *const T) -> Result<&'a T, Status> {
    // SAFETY: `pointer` is aligned, and null or valid for reads while the borrow lives.
    let value = unsafe { checked(pointer)?.as_ref() };
    value.ok_or(Status::Null)
}

/// Writes `value` to `pointer`; a null or misaligned pointer is an error.
///
/// # Safety
/// `pointer` must be null, misaligned, or valid for writes.
pub(crate) unsafe fn output<T>(pointer: *mut T, value: T) -> Result<(), Status> {
    checked(pointer)?;
    if pointer.is_null() {
        return Err(Status::Null);
    }
    // SAFETY: the pointer is aligned, not null, and, by the contract, valid for writes.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Returns the `count` values at the pointer, which may be null if there are none.
///
/// # Safety
/// `pointer` must be null, misaligned, or valid for reads of `count` values as long as the
/// borrow lives.
pub(crate) unsafe fn inputs<'a, T>(pointer: *const T, count: usize) -> Result<&'a [T], Status> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Status::Null);
    }
    checked(pointer)?;
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Status::Range);
    }
    // SAFETY: the pointer is aligned and not null, and the size is valid. By the contract, the
    // values can be read.
    Ok(unsafe { core::slice::from_raw_parts(pointer, count) })
}

/// Returns the pointer, which may be null, unless it is misaligned.
pub(crate) fn checked<T>(pointer: *const T) -> Result<*const T, Status> {
    if aligned(pointer) {
        Ok(pointer)
    } else {
        Err(Status::Memory)
    }
}
