//! The C interface of loss tracking at a receiver, `whyloss::losses`: finds lost packets by their
//! sequence numbers and determines their causes.

use core::ffi::c_char;

use whyloss::losses::{self, HOLES, LossTracker, Seen};
use whyloss::receiver::{Arrival, Classifier, REGISTRY};
use whyloss::{Duration, Time};

use crate::Why;
use crate::held::{self, Object, Status};
use crate::text::{self, Message, Parameters};

/// The maximum number of losses that one call reports.
pub const MOST_LOSSES: usize = 17;
const _: () = assert!(MOST_LOSSES == HOLES + 1);

/// The time of a timeout that is never due.
pub const NEVER: u64 = u64::MAX;

/// A receiver's loss tracker in the caller's memory.
pub struct Receiver {
    _private: [u8; 0],
}

/// The options of `whyloss_receiver_init`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReceiverOptions {
    /// Must be `WHYLOSS_ABI`, the version of this interface.
    pub abi: u32,
    /// The width of sequence numbers in bits, 2 to 64; 16 for RTP.
    pub bits: u32,
    /// The name of a receiver classifier, such as `"trees"`.
    pub name: *const c_char,
    /// The parameters of the classifier, such as `"upper=1.3"`, separated by commas. May be null.
    pub parameters: *const c_char,
    /// The number of later packets after whose arrival a missing packet counts as lost; 0 for no
    /// limit.
    pub wait_packets: u32,
    /// The time after which a missing packet counts as lost, in nanoseconds; 0 for no limit. If
    /// both limits are 0, a missing packet immediately counts as lost.
    pub wait_ns: u64,
}

/// A packet that arrived.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// The packet's sequence number.
    pub number: u64,
    /// The departure time on the sender's clock, in nanoseconds.
    pub sent_ns: u64,
    /// The arrival time on the receiver's clock, in nanoseconds.
    pub received_ns: u64,
    /// The size, in bytes.
    pub bytes: u32,
}

/// A run of consecutive lost packets.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The number of the first lost packet, extended past every wrap-around.
    pub first: u64,
    /// The number of consecutive lost packets.
    pub count: u64,
    /// When the gap was revealed on the receiver's clock, in nanoseconds.
    pub revealed_ns: u64,
    /// The cause of the loss.
    pub cause: Why,
}

/// Tells how an arriving packet was classified.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// The first packet of the stream.
    First = 0,
    /// A new packet.
    New = 1,
    /// A packet for which the tracker was waiting: it was reordered, not lost.
    Late = 2,
    /// A packet that was already reported lost, or is older than the tracker remembers.
    TooLate = 3,
    /// A packet that had arrived before.
    Duplicate = 4,
    /// A number outside the expected range. If its successor follows, the sender has restarted.
    Suspect = 5,
    /// The second packet since the sender restarted.
    Restart = 6,
}

/// The object behind [`Receiver`].
struct Live(LossTracker<Classifier>);

impl Object for Live {
    const LIVE: u64 = 0x7768_795f_7265_6365;
}

/// The caller's array of losses, and the number written to it.
struct Told {
    losses: *mut Loss,
    count: usize,
}

impl Told {
    /// Checks the array for the losses of a call.
    ///
    /// # Safety
    /// `losses` must be null, misaligned, or point to room for `room` losses that may be written.
    unsafe fn new(losses: *mut Loss, room: usize) -> Result<Self, Status> {
        if losses.is_null() {
            return Err(Status::Null);
        }
        if !losses.is_aligned() {
            return Err(Status::Memory);
        }
        if room < MOST_LOSSES {
            return Err(Status::Memory);
        }
        Ok(Self { losses, count: 0 })
    }

    fn tell(&mut self, loss: losses::Loss) {
        debug_assert!(self.count < MOST_LOSSES);
        if self.count < MOST_LOSSES {
            let told = Loss {
                first: loss.first,
                count: loss.count,
                revealed_ns: loss.revealed.as_nanos(),
                cause: loss.cause.into(),
            };
            // SAFETY: `new` checked the alignment, and its contract requires this room.
            unsafe { self.losses.add(self.count).write(told) };
            self.count += 1;
        }
    }
}

/// Returns the size of a receiver in bytes. Its memory must be aligned as by `malloc`.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_receiver_size() -> usize {
    held::size::<Live>()
}

/// Writes the name of the receiver classifier at `index`, counted from 0, into `room` bytes.
/// Returns `RANGE` after the last one, and `MEMORY` if the name does not fit. A room of 64 bytes is
/// enough for any name.
///
/// # Safety
/// `name` must be null, or point to `room` bytes that only this call may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_name(
    index: usize,
    name: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: `name` is null or points to `room` writable bytes.
    unsafe { text::name(REGISTRY, index, (name, room)) }
}

/// Initialises a receiver in `size` bytes at `receiver`, which must hold no live object. If the
/// status is not `OK`, writes the reason into `room` bytes at `text`, which may be null.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_init(
    receiver: *mut Receiver,
    size: usize,
    options: *const ReceiverOptions,
    text: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: options of any ABI begin with this number, and `options` is null or points to them.
    let abi = unsafe { held::input(options.cast::<u32>()) };
    let make = |message: &mut Message| {
        // SAFETY: the ABI matches, so `options` is null or points to all options, whose texts are
        // null or end with a zero.
        let (options, name, parameters) = unsafe {
            let options = held::input(options)?;
            if options.name.is_null() {
                return Err(Status::Null);
            }
            let name = text::read(options.name, message)?;
            (options, name, text::read(options.parameters, message)?)
        };
        let (bits, wait_ns) = (options.bits, options.wait_ns);
        if !(2..=64).contains(&bits) {
            let what = format_args!("bits is {bits}; sequence numbers have 2 to 64");
            return Err(message.say(Status::Range, what));
        }
        let parameters = Parameters::parse(parameters, message)?;
        let classifier = parameters.build(REGISTRY, ("receiver classifier", name), message)?;
        let mut tracker = LossTracker::new(classifier, bits);
        if options.wait_packets > 0 {
            tracker = tracker.wait_for_packets(options.wait_packets.into());
        }
        if wait_ns > 0 {
            let span = i64::try_from(wait_ns).unwrap_or(i64::MAX);
            tracker = tracker.wait_for(Duration::from_nanos(span));
        }
        Ok(Live(tracker))
    };
    // SAFETY: `receiver` and `text` are null or have the stated sizes, for this call alone.
    unsafe { held::init(receiver.cast(), size, (text, room), abi.ok().copied(), make) }
}

/// Marks the receiver as dropped. A receiver allocates nothing, so there is nothing to free.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_drop(receiver: *mut Receiver) -> Status {
    // SAFETY: `receiver` is null or the memory of an object that only this call uses.
    unsafe { held::drop::<Live>(receiver.cast()) }
}

/// Processes the arrival of a packet. Writes the losses that are now certain to `losses` and their
/// number to `count`. `room` is the length of `losses`, at least `WHYLOSS_MOST_LOSSES`. `seen` may
/// be null.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_on_packet(
    receiver: *mut Receiver,
    packet: *const Arrived,
    losses: *mut Loss,
    room: usize,
    count: *mut usize,
    seen: *mut Packet,
) -> Status {
    // SAFETY: `count` is null or points to memory for the result.
    let zeroed = unsafe { held::output(count, 0) };
    let act = |live: &mut Live| {
        // SAFETY: `losses` is null or points to memory for `room` losses.
        let mut told = unsafe { Told::new(losses, room)? };
        held::checked(seen)?;
        zeroed?;
        // SAFETY: `packet` is null or points to a packet that outlives the call.
        let packet = unsafe { held::input(packet)? };
        let sent = Time::from_nanos(packet.sent_ns);
        let received = Time::from_nanos(packet.received_ns);
        let packet = Arrival::new(packet.number, sent, received, packet.bytes);
        let was = match live.0.on_packet(&packet, |loss| told.tell(loss)) {
            Seen::First => Packet::First,
            Seen::Late => Packet::Late,
            Seen::TooLate => Packet::TooLate,
            Seen::Duplicate => Packet::Duplicate,
            Seen::Suspect => Packet::Suspect,
            Seen::Restart => Packet::Restart,
            _ => Packet::New,
        };
        // SAFETY: `count` and `seen` are null or point to memory for the results.
        unsafe {
            held::output(count, told.count)?;
            if !seen.is_null() {
                held::output(seen, was)?;
            }
        }
        Ok(())
    };
    // SAFETY: `receiver` is null or the memory of an object that only this call uses.
    unsafe { held::with(receiver.cast(), act) }
}

/// Writes the losses that are certain by `now_ns` on the receiver's clock, like `on_packet`.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_on_timeout(
    receiver: *mut Receiver,
    now_ns: u64,
    losses: *mut Loss,
    room: usize,
    count: *mut usize,
) -> Status {
    // SAFETY: `count` is null or points to memory for the result.
    let zeroed = unsafe { held::output(count, 0) };
    let act = |live: &mut Live| {
        // SAFETY: `losses` is null or points to memory for `room` losses.
        let mut told = unsafe { Told::new(losses, room)? };
        zeroed?;
        let now = Time::from_nanos(now_ns);
        live.0.on_timeout(now, |loss| told.tell(loss));
        // SAFETY: `count` is null or points to memory for the result.
        unsafe { held::output(count, told.count) }
    };
    // SAFETY: `receiver` is null or the memory of an object that only this call uses.
    unsafe { held::with(receiver.cast(), act) }
}

/// Ends the stream at `now_ns` and writes the packets that are still missing as losses, like
/// `on_packet`. `last` points to the sequence number of the last packet sent, or is null if it is
/// unknown. The next packet begins another stream; the classifier keeps its knowledge of the path.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_finish(
    receiver: *mut Receiver,
    last: *const u64,
    now_ns: u64,
    losses: *mut Loss,
    room: usize,
    count: *mut usize,
) -> Status {
    // SAFETY: `count` is null or points to memory for the result.
    let zeroed = unsafe { held::output(count, 0) };
    let act = |live: &mut Live| {
        // SAFETY: `losses` is null or points to memory for `room` losses.
        let mut told = unsafe { Told::new(losses, room)? };
        zeroed?;
        let last = if last.is_null() {
            None
        } else {
            // SAFETY: `last` is null or points to a number that outlives the call.
            Some(*unsafe { held::input(last)? })
        };
        let now = Time::from_nanos(now_ns);
        live.0.finish(last, now, |loss| told.tell(loss));
        // SAFETY: `count` is null or points to memory for the result.
        unsafe { held::output(count, told.count) }
    };
    // SAFETY: `receiver` is null or the memory of an object that only this call uses.
    unsafe { held::with(receiver.cast(), act) }
}

/// Writes when to call `on_timeout` unless a packet arrives first, or `WHYLOSS_NEVER`.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_next_timeout(
    receiver: *mut Receiver,
    due_ns: *mut u64,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: `due_ns` is null or points to memory for the result.
        unsafe { held::output(due_ns, live.0.next_timeout().as_nanos()) }
    };
    // SAFETY: `receiver` is null or the memory of an object that only this call uses.
    unsafe { held::with(receiver.cast(), act) }
}
